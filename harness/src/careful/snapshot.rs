//! Snapshots of a project: what a checkpoint of a careful subject holds.

use herma_model::bytes::below;
use herma_model::{ByteString, Files, Node};
use std::collections::{BTreeMap, BTreeSet};

/// All files and links of a project, with the permission bits of files.
pub(super) type Snapshot = BTreeMap<ByteString, (Node, Option<u32>)>;

/// The permission bits of the folders of a project, by their paths in the sandbox.
pub(super) type FolderPermissions = BTreeMap<ByteString, u32>;

/// The captured part of a snapshot, and the paths that were left out of it.
#[derive(Clone)]
pub(super) struct CapturedSnapshot {
    pub(super) snapshot: Snapshot,
    pub(super) left_out: BTreeSet<ByteString>,
}

/// The permission bits of a project and of all folders in it.
pub(super) fn folders_of(files: &Files, project: &ByteString) -> FolderPermissions {
    let paths = files.below(project).map(|(path, _)| path).chain([project]);
    paths.filter_map(|path| Some((path.clone(), files.folder_permissions(path)?))).collect()
}

/// All files and links below a directory.
pub(super) fn snapshot_of(files: &Files, project: &[u8]) -> Snapshot {
    let inside = files.below(project).filter(|(_, node)| **node != Node::Directory);
    let relative = |(path, node): (&ByteString, &Node)| {
        let file = (node.clone(), files.permissions(path));
        below(project, path).map(|inside| (ByteString::from(inside), file))
    };
    inside.filter_map(relative).collect()
}
