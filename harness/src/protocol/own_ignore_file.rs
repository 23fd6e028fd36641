//! The name of a store's own ignore file in the operations of a history. Histories use the name of the model; a
//! store that declared another name gets the same operations with its own name.

use crate::history::Operation;
use herma_model::ignore::OWN_IGNORE_FILE;
use serde_json::Value;

/// The operation with files of this name in place of [`OWN_IGNORE_FILE`].
pub fn renamed(operation: &Operation, name: &str) -> Operation {
    let written = serde_json::to_value(operation).map(|mut value| {
        rename(&mut value, name);
        value
    });
    let renamed = written.and_then(serde_json::from_value);
    renamed.expect("an operation is plain data, also with another name in its paths")
}

fn rename(value: &mut Value, name: &str) {
    match value {
        Value::String(text) => {
            let folder = text.strip_suffix(OWN_IGNORE_FILE);
            let folder = folder.filter(|folder| folder.is_empty() || folder.ends_with('/'));
            if let Some(folder) = folder {
                *text = format!("{folder}{name}");
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, name)),
        Value::Object(fields) => fields.values_mut().for_each(|value| rename(value, name)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use herma_model::{ByteString, Edit, Request};

    #[test]
    fn renamed_renames_the_last_component_of_paths_alone() {
        let write = |path: &str| -> Operation {
            let content = ByteString::from("*.hermaignore\n");
            Edit::Write { path: path.into(), content, executable: false }.into()
        };
        for (path, expected) in [
            ("work/alpha/.hermaignore", "work/alpha/.other"),
            ("work/alpha/a.hermaignore", "work/alpha/a.hermaignore"),
            ("work/.hermaignore/a", "work/.hermaignore/a"),
        ] {
            assert_eq!(renamed(&write(path), ".other"), write(expected));
        }
        let restore = |path: &str| -> Operation {
            let target = crate::history::Target::Number(1);
            Request::RestoreFile { dir: "work/alpha".into(), target, path: path.into() }.into()
        };
        assert_eq!(renamed(&restore(".hermaignore"), ".other"), restore(".other"));
    }
}
