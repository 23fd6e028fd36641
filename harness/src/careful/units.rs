//! Careful subjects that support units: which files of a database they capture, and which of them a restore
//! writes, removes and keeps.

use super::snapshot::{CapturedSnapshot, Snapshot};
use herma_model::unit::{PathContent, Paths, Role, Unit, units};
use herma_model::{ByteString, Node};
use std::collections::BTreeSet;

fn paths(snapshot: &Snapshot) -> Paths<'_> {
    snapshot
        .iter()
        .map(|(path, (node, _))| match node {
            Node::File { content, .. } => (&path[..], PathContent::Bytes(content)),
            _ => (&path[..], PathContent::NotRegular),
        })
        .collect()
}

/// The part of a snapshot that is captured: no derived files, and with `leaves_out_journalled` no database
/// that has a journal.
pub(super) fn captured(mut snapshot: Snapshot, leaves_out_journalled: bool) -> CapturedSnapshot {
    let mut left_out = BTreeSet::new();
    for unit in units(&paths(&snapshot)) {
        snapshot.retain(|path, _| unit.role(path) != Some(Role::Derived));
        let members: Vec<ByteString> =
            snapshot.keys().filter(|path| unit.has(path)).cloned().collect();
        if leaves_out_journalled && members.len() > 1 {
            snapshot.retain(|path, _| !unit.has(path));
            left_out.extend(members);
        }
    }
    CapturedSnapshot { snapshot, left_out }
}

/// What a restore does to paths that it does not write.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) remove: BTreeSet<ByteString>,
    pub(super) kept: BTreeSet<ByteString>,
}

/// The files of a project before a restore.
pub(super) struct Present<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) captured: &'a CapturedSnapshot,
}

/// Completes the restored part of a checkpoint: each unit is either restored completely or kept.
pub(super) fn plan(
    target: &CapturedSnapshot,
    present: Present<'_>,
    part: &mut Snapshot,
    exact: bool,
) -> Plan {
    let recorded_files = &target.snapshot;
    let present_files = present.snapshot;
    let mut plan = Plan::default();
    let is_full = part.len() == recorded_files.len();
    // The files that were left out may not be a unit any more.
    let lacking =
        target.left_out.iter().filter(|path| is_full && present_files.contains_key(*path));
    plan.kept.extend(lacking.cloned());
    let mut all_units: Vec<Unit> = units(&paths(recorded_files));
    for unit in units(&paths(present_files)) {
        if !all_units.contains(&unit) {
            all_units.push(unit);
        }
    }
    for unit in all_units {
        let recorded: Vec<&ByteString> =
            recorded_files.keys().filter(|path| unit.has(path)).collect();
        let is_in_unit = |path: &&ByteString| unit.role(path).is_some();
        let existing: Vec<&ByteString> = present_files.keys().filter(is_in_unit).collect();
        let is_asked = is_full || part.keys().any(|path| unit.has(path));
        let is_decided =
            exact || !recorded.is_empty() || target.left_out.iter().any(|path| unit.has(path));
        if !is_asked || !is_decided {
            continue;
        }
        let mut left_out = target.left_out.iter().chain(&present.captured.left_out);
        let is_kept = left_out.any(|path| unit.has(path))
            || !recorded.is_empty() && !unit.is_complete(&paths(recorded_files));
        if is_kept {
            part.retain(|path, _| !unit.has(path));
            let members = existing.into_iter().filter(|path| unit.has(path)).chain(recorded);
            plan.kept.extend(members.cloned());
            continue;
        }
        let node =
            |files: &Snapshot, path: &ByteString| files.get(path).map(|(node, _)| node.clone());
        let members = existing.iter().copied().filter(|path| unit.has(path));
        let is_as_recorded = members
            .chain(recorded.iter().copied())
            .all(|path| node(present_files, path) == node(recorded_files, path));
        if !is_as_recorded {
            part.extend(
                recorded.iter().map(|path| ((*path).clone(), recorded_files[*path].clone())),
            );
            let extra = existing.into_iter().filter(|path| !recorded.contains(path));
            plan.remove.extend(extra.cloned());
        }
    }
    plan
}
