//! The same history with other names: what a tool on the way may take for more than a name becomes
//! one that nothing does, so that a failure may be held against a name only where this one holds.

use super::{Event, History, Operation, StoreEvent};
use herma_model::{ByteString, Piece, Request};

/// The history with plain names in the place of others; `None` if all of them are plain.
pub(crate) fn with_plain_names(history: &History) -> Option<History> {
    let mut plain = history.clone();
    for operation in &mut plain.operations {
        for path in paths(operation) {
            *path = plain_path(path);
        }
    }
    (plain != *history).then_some(plain)
}

/// The paths that an operation names, but for what a link points at.
fn paths(operation: &mut Operation) -> Vec<&mut ByteString> {
    match operation {
        Operation::Ask(Request::RestoreFile { dir, path, .. }) => vec![dir, path],
        Operation::Ask(request) => request.dir_mut().into_iter().collect(),
        Operation::Event(Event::RestoreEach { dir }) => vec![dir],
        Operation::Event(Event::Store(StoreEvent::Stored { dir, piece, .. })) => match piece {
            Piece::File(path) | Piece::Folder(path) => vec![dir, path],
            Piece::Checkpoint | Piece::PackIndex => vec![dir],
        },
        Operation::Event(Event::Store(
            StoreEvent::Repository { dir, .. }
            | StoreEvent::Metadata { dir, .. }
            | StoreEvent::Index { dir, .. }
            | StoreEvent::Ref { dir, .. },
        )) => vec![dir],
        Operation::Event(Event::Database(database)) => vec![&mut database.path],
        Operation::Event(Event::Inject(injection)) => {
            injection.meanwhile.iter_mut().flat_map(paths).collect()
        }
        Operation::Event(_) => Vec::new(),
        Operation::Edit(edit) => edit.paths_mut(),
    }
}

/// A path whose unusual bytes are written as hexadecimal digits, so that names stay different and
/// keep their endings, which ignore files may name.
fn plain_path(path: &[u8]) -> ByteString {
    let mut plain = Vec::new();
    for (at, byte) in path.iter().enumerate() {
        let begins = at == 0 || path[at - 1] == b'/';
        let is_plain = byte.is_ascii_alphanumeric() || b"._/".contains(byte);
        if is_plain || *byte == b'-' && !begins {
            plain.push(*byte);
        } else {
            plain.extend(format!("_{byte:02x}").bytes());
        }
    }
    ByteString(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use herma_model::Edit;
    use herma_model::bytes::is_plain;

    #[test]
    fn unusual_names_become_plain_and_stay_different() {
        for (name, plain) in [
            ("work/a-b_1.txt", "work/a-b_1.txt"),
            ("work/-n/a b.txt", "work/_2dn/a_20b.txt"),
            ("*", "_2a"),
            ("ü", "_c3_bc"),
        ] {
            assert_eq!(plain_path(name.as_bytes()), plain.into());
            assert!(is_plain(plain.as_bytes()));
        }
    }

    #[test]
    fn a_history_of_plain_names_has_no_other_form() {
        let write = |path: &str| Edit::Write {
            path: path.into(),
            content: "* ?".into(),
            executable: false,
        };
        let history = |path: &str| History {
            operations: vec![write(path).into(), Request::List { dir: path.into() }.into()],
            ..History::default()
        };
        assert_eq!(with_plain_names(&history("work/a")), None);
        assert_eq!(with_plain_names(&history("work/?")), Some(history("work/_3f")));
    }
}
