//! Simpler names for the files of a history, each changed everywhere at once: what several edits do
//! to one file they may as well do to another.

use crate::history::{Event, History, Operation, StoreEvent};
use herma_model::bytes::below;
use herma_model::{ByteString, Edit, Piece, Request};
use std::collections::BTreeSet;

/// The history with one of its files called otherwise, in every way that is simpler.
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
    let mut all = Vec::new();
    for path in &used {
        for simpler in super::values::paths(path) {
            let is_simpler = (simpler.len(), &simpler) < (path.len(), path);
            if is_simpler && !used.contains(&simpler) {
                all.push(with_name(history, path, &simpler));
            }
        }
    }
    all
}

fn with_name(history: &History, path: &ByteString, other: &ByteString) -> History {
    let mut renamed = history.clone();
    for operation in &mut renamed.operations {
        let rename = |edit: &mut Edit| {
            let own = edit.paths_mut().into_iter().filter(|one| *one == path);
            own.for_each(|one| one.clone_from(other));
        };
        match operation {
            Operation::Edit(edit) => rename(edit),
            Operation::Event(Event::Inject(injection)) => {
                let meanwhile = injection.meanwhile.iter_mut();
                meanwhile
                    .filter_map(|one| match one {
                        Operation::Edit(edit) => Some(edit),
                        _ => None,
                    })
                    .for_each(rename);
            }
            Operation::Ask(Request::RestoreFile { dir, path: asked, .. })
            | Operation::Event(Event::Store(StoreEvent::Stored {
                dir,
                piece: Piece::File(asked),
                ..
            })) => {
                if let (true, Some(other)) = (below(dir, path) == Some(asked), below(dir, other)) {
                    *asked = ByteString::from(other);
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
    fn a_file_gets_a_simpler_name_everywhere_or_nowhere() {
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
        // A name that another file has is none of its own.
        assert!(!found.contains(&history("b")));
        assert!(renamed(&history("a")).iter().all(|one| one.operations.len() == 4));
    }
}
