//! Fragments about a folder that its owner may not list while a checkpoint is taken, but again before a restore: its
//! content was left out, and is not new.
//!
//! They are generated and appended last, so that no other part of a history changes. No other operation uses these
//! folders.

use super::idiom::{checkpoint, last_restore, write};
use super::names::{join, project};
use crate::history::Operation;
use herma_model::{ByteString, Edit};
use proptest::prelude::*;
use proptest::sample::select;

const FOLDERS: &[&str] = &["vault", "vaults/inner"];

/// What happens to the folder after the checkpoint.
#[derive(Clone, Copy, Debug)]
enum FolderChange {
    Unchanged,
    FileChanged,
    FileRemoved,
    Filled,
    Removed,
}

const CHANGES: &[FolderChange] = &[
    FolderChange::Unchanged,
    FolderChange::FileChanged,
    FolderChange::FileRemoved,
    FolderChange::Filled,
    FolderChange::Removed,
];

/// A checkpoint that leaves out a folder, which becomes readable and is changed, and a restore.
pub fn fragment() -> BoxedStrategy<Vec<Operation>> {
    let change = select(CHANGES);
    let choices = (project(), select(FOLDERS), any::<bool>(), change, 0..1_000u32, 0..4u32);
    choices
        .prop_map(|(project, folder, was_captured, change, number, ending)| {
            let name = join(&folder.into(), &"x.txt".into());
            let folder = join(&project, &folder.into());
            let path = join(&project, &name);
            let beside = join(&project, &"a.txt".into());
            let content = ByteString::from(&*format!("{number}\n"));
            let mut operations = vec![write(&path, &"1\n".into(), false)];
            operations.extend(was_captured.then(|| checkpoint(&project)));
            operations.push(write(&beside, &content, false));
            operations.push(readable(&folder, false));
            operations.push(checkpoint(&project));
            operations.push(readable(&folder, true));
            operations.extend(edit(change, &folder, &path).map(Operation::from));
            operations.push(last_restore(&project, name, ending));
            operations
        })
        .boxed()
}

fn readable(folder: &ByteString, readable: bool) -> Operation {
    Edit::SetFolderReadable { path: folder.clone(), readable }.into()
}

fn edit(change: FolderChange, folder: &ByteString, path: &ByteString) -> Option<Edit> {
    let folder = folder.clone();
    let path = path.clone();
    match change {
        FolderChange::Unchanged => None,
        FolderChange::FileChanged => {
            Some(Edit::Write { path, content: "2\n".into(), executable: false })
        }
        FolderChange::FileRemoved => Some(Edit::Remove { path }),
        FolderChange::Filled => Some(Edit::Fill { path: folder, files: 2 }),
        FolderChange::Removed => Some(Edit::Remove { path: folder }),
    }
}
