//! Simpler names for the files of a history. A name is changed in all operations at once, because several
//! edits of a file must still edit the same file.

use crate::history::{Event, History, Operation, StoreEvent};
use herma_model::bytes::below;
use herma_model::{ByteString, Edit, Piece, Request};
use std::collections::BTreeSet;

/// The history with one of its files renamed, once for every simpler name.
pub fn renamed(history: &History) -> Vec<History> {
    let mut used: BTreeSet<ByteString> = BTreeSet::new();
    for operation in &history.operations {
        match operation {
            Operation::Edit(edit) => used.extend(edit.paths().into_iter().cloned()),
            Operation::Event(Event::Inject(injection)) => {
                used.extend(injection.edits().flat_map(Edit::paths).cloned());
            }
            _ => {}
        }
    }
    let mut candidates = Vec::new();
    for path in &used {
        for simpler in super::values::paths(path) {
            let is_simpler = (simpler.len(), &simpler) < (path.len(), path);
            if is_simpler && !used.contains(&simpler) {
                candidates.push(with_name(history, path, &simpler));
            }
        }
    }
    candidates
}

fn with_name(history: &History, path: &ByteString, new_path: &ByteString) -> History {
    let mut renamed = history.clone();
    for operation in &mut renamed.operations {
        let rename = |edit: &mut Edit| {
            let renamed_paths = edit.paths_mut().into_iter().filter(|edited| *edited == path);
            renamed_paths.for_each(|edited| edited.clone_from(new_path));
        };
        match operation {
            Operation::Edit(edit) => rename(edit),
            Operation::Event(Event::Inject(injection)) => {
                let meanwhile = injection.meanwhile.iter_mut();
                meanwhile
                    .filter_map(|operation| match operation {
                        Operation::Edit(edit) => Some(edit),
                        _ => None,
                    })
                    .for_each(rename);
            }
            Operation::Ask(Request::RestoreFile { dir, path: relative, .. })
            | Operation::Event(Event::Store(StoreEvent::Stored {
                dir,
                piece: Piece::File(relative),
                ..
            })) => {
                let is_renamed = below(dir, path) == Some(relative);
                if let (true, Some(new_relative)) = (is_renamed, below(dir, new_path)) {
                    *relative = ByteString::from(new_relative);
                }
            }
            _ => {}
        }
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Target;
    use herma_model::Settings;

    #[test]
    fn renamed_changes_the_name_of_a_file_everywhere_or_nowhere() {
        let history = |name: &str| {
            let path = ByteString::from(&*format!("work/alpha/{name}"));
            let file = Request::RestoreFile {
                dir: "work/alpha".into(),
                target: Target::Number(1),
                path: name.into(),
            };
            let operations = vec![
                Edit::MakeDirectory { path: "work/alpha/b".into() }.into(),
                Edit::Remove { path: path.clone() }.into(),
                Edit::SetPermissions { path, bits: 0o600 }.into(),
                file.into(),
            ];
            let settings = Settings::default();
            History { settings, workspace: None, plain_home: false, operations }
        };
        let found = renamed(&history("src/x"));
        assert!(found.contains(&history("a")));
        // The name of another file is not used.
        assert!(!found.contains(&history("b")));
        assert!(renamed(&history("a")).iter().all(|candidate| candidate.operations.len() == 4));
    }
}
