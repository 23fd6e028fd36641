//! The same history with plain names. Every name that some tool may interpret as more than a name, such as
//! an option or a pattern, is replaced. A failure is blamed on a name only if the history with plain names
//! passes.

use super::{Event, History, Operation, StoreEvent};
use herma_model::{ByteString, Piece, Request};

/// The history with all names replaced by plain ones; `None` if all names are plain.
pub(crate) fn with_plain_names(history: &History) -> Option<History> {
    let mut plain = history.clone();
    for operation in &mut plain.operations {
        for path in paths(operation) {
            *path = plain_path(path);
        }
    }
    (plain != *history).then_some(plain)
}

/// The paths in an operation, except the target of a link.
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

/// The path with unusual bytes replaced by hexadecimal digits, so that names stay distinct and keep their
/// endings, which ignore files may contain.
fn plain_path(path: &[u8]) -> ByteString {
    let mut plain = Vec::new();
    for (index, byte) in path.iter().enumerate() {
        let begins_name = index == 0 || path[index - 1] == b'/';
        let is_plain = byte.is_ascii_alphanumeric() || b"._/".contains(byte);
        if is_plain || *byte == b'-' && !begins_name {
            plain.push(*byte);
        } else {
            plain.extend(format!("_{byte:02x}").bytes());
        }
    }
    ByteString::from(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use herma_model::Edit;
    use herma_model::bytes::is_plain;

    #[test]
    fn plain_path_makes_unusual_names_plain_and_distinct() {
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
    fn with_plain_names_returns_none_for_a_history_of_plain_names() {
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
