//! Fragments about the permissions of folders: a folder that only some users may enter is captured, and
//! restored after it was deleted, opened or replaced.
//!
//! They are generated and appended last, for stores that keep these permissions, so that no other history
//! changes.

use super::content::SizeLimits;
use super::idiom::{ProjectFile, checkpoint, last_restore, project_file, write};
use super::names::join;
use crate::history::Operation;
use herma_model::{ByteString, Edit};
use proptest::prelude::*;
use proptest::sample::select;

/// Folders of a project; the empty name is the project itself.
const FOLDERS: &[&str] = &["src", "src", "d", "d/e", "src/deep", ""];

/// What becomes of the folder after the checkpoint.
#[derive(Clone, Copy, Debug)]
enum FolderChange {
    Removed,
    OuterRemoved,
    Replaced,
    Moved,
    /// It gets these permissions, and its file is changed.
    Permitted(u32),
}

/// A checkpoint of a project that has a folder with chosen permissions, an edit, and a restore.
pub fn fragment(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    let since = prop_oneof![
        4 => Just(FolderChange::Removed),
        2 => Just(FolderChange::OuterRemoved),
        1 => Just(FolderChange::Replaced),
        1 => Just(FolderChange::Moved),
        2 => bits().prop_map(FolderChange::Permitted),
    ];
    (project_file(limits), select(FOLDERS), bits(), since, 0..4u32)
        .prop_map(|(file, folder, bits, since, ending)| {
            let ProjectFile { project, content, .. } = file;
            let name = join(&folder.into(), &"x.txt".into());
            let folder =
                if folder.is_empty() { project.clone() } else { join(&project, &folder.into()) };
            let path = join(&project, &name);
            let mut operations = vec![
                write(&path, &content, false),
                Edit::SetFolderPermissions { path: folder.clone(), bits }.into(),
                checkpoint(&project),
            ];
            operations.extend(edits(since, &folder, &path));
            operations.push(last_restore(&project, name, ending));
            operations
        })
        .boxed()
}

/// Permissions with which the owner may read, write and enter a folder.
fn bits() -> BoxedStrategy<u32> {
    select(vec![0o700, 0o700, 0o750, 0o711, 0o755, 0o770, 0o777]).boxed()
}

fn edits(since: FolderChange, folder: &ByteString, path: &ByteString) -> Vec<Operation> {
    let folder = folder.clone();
    match since {
        FolderChange::Removed => vec![Edit::Remove { path: folder }.into()],
        FolderChange::OuterRemoved => {
            let outer = herma_model::bytes::parent(&folder);
            // Above the project are other projects.
            let removed = if outer == b"work" { folder } else { ByteString::from(outer) };
            vec![Edit::Remove { path: removed }.into()]
        }
        FolderChange::Replaced => vec![write(&folder, &"a file\n".into(), false)],
        FolderChange::Moved => {
            let to = ByteString::from([&folder[..], b"-moved"].concat());
            vec![Edit::Rename { from: folder, to }.into()]
        }
        FolderChange::Permitted(bits) => vec![
            write(path, &"changed since\n".into(), false),
            Edit::SetFolderPermissions { path: folder, bits }.into(),
        ],
    }
}
