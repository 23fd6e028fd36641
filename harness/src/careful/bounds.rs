//! Careful subjects with a file size limit: which files a checkpoint leaves out, and which files a restore
//! keeps since no checkpoint has them.

use super::snapshot::{CapturedSnapshot, Snapshot};
use super::units::Plan;
use herma_model::bytes::below;
use herma_model::{ByteString, Node};
use std::collections::BTreeSet;

/// The part of a snapshot that is captured: no file larger than `max_file_bytes`.
pub(super) fn captured(mut snapshot: Snapshot, max_file_bytes: u64) -> CapturedSnapshot {
    let is_large = |node: &Node| match node {
        Node::File { content, .. } => content.len() as u64 > max_file_bytes,
        _ => false,
    };
    let large = snapshot.iter().filter(|(_, (node, _))| is_large(node));
    let left_out: BTreeSet<ByteString> = large.map(|(path, _)| path.clone()).collect();
    snapshot.retain(|path, _| !left_out.contains(path));
    CapturedSnapshot { snapshot, left_out }
}

/// Removes from the restored part of a checkpoint every path whose restore would replace a file that is not
/// captured. The plan keeps these paths and, in a full restore, the paths that the checkpoint left out.
pub(super) fn plan(
    target: &CapturedSnapshot,
    before: &CapturedSnapshot,
    part: &mut Snapshot,
) -> Plan {
    let is_full = part.len() == target.snapshot.len();
    let is_at_or_below =
        |path: &ByteString, folder: &ByteString| folder == path || below(folder, path).is_some();
    let replaces_uncaptured = |path: &ByteString| {
        let uncaptured = &before.left_out;
        uncaptured.iter().any(|file| is_at_or_below(path, file) || is_at_or_below(file, path))
    };
    let mut kept: BTreeSet<ByteString> =
        part.keys().filter(|path| replaces_uncaptured(path)).cloned().collect();
    part.retain(|path, _| !kept.contains(path));
    if is_full {
        kept.extend(target.left_out.iter().cloned());
    }
    Plan { remove: BTreeSet::new(), kept }
}
