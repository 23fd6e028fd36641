//! What careful subjects with a limit on the size of a file make of it: what they leave out, and what a
//! restore keeps since nothing holds it.

use super::store::Copy;
use super::units::{Captured, Plan};
use herma_model::bytes::below;
use herma_model::{ByteString, Node};
use std::collections::BTreeSet;

/// What is captured of a copy of everything: no file of more than so many bytes.
pub(super) fn captured(mut copy: Copy, max_file_bytes: u64) -> Captured {
    let is_large = |node: &Node| match node {
        Node::File { content, .. } => content.len() as u64 > max_file_bytes,
        _ => false,
    };
    let large = copy.iter().filter(|(_, (node, _))| is_large(node));
    let left_out: BTreeSet<ByteString> = large.map(|(path, _)| path.clone()).collect();
    copy.retain(|path, _| !left_out.contains(path));
    Captured { copy, left_out }
}

/// Takes from the part of a checkpoint that is restored what would cost a file that nothing holds. Keeps
/// that and, where all of it is restored, what it left out.
pub(super) fn plan(
    (whole, left_out): (&Copy, &BTreeSet<ByteString>),
    before: &Captured,
    part: &mut Copy,
) -> Plan {
    let is_full = part.len() == whole.len();
    let is_at = |one: &ByteString, path: &ByteString| one == path || below(one, path).is_some();
    let costs = |path: &ByteString| {
        let unheld = &before.left_out;
        unheld.iter().any(|unheld| is_at(unheld, path) || is_at(path, unheld))
    };
    let mut kept: BTreeSet<ByteString> = part.keys().filter(|path| costs(path)).cloned().collect();
    part.retain(|path, _| !kept.contains(path));
    if is_full {
        kept.extend(left_out.iter().cloned());
    }
    Plan { remove: BTreeSet::new(), kept }
}
