//! What careful subjects that know units make of them: which files they copy, and which of those that
//! belong together a restore writes, removes and keeps.

use super::store::Copy;
use herma_model::unit::{Content, Paths, Role, Unit, units};
use herma_model::{ByteString, Node};
use std::collections::BTreeSet;

/// A copy without what is made anew, and without what is taken to be in use.
pub(super) struct Captured {
    pub(super) copy: Copy,
    pub(super) left_out: BTreeSet<ByteString>,
}

fn paths(copy: &Copy) -> Paths<'_> {
    copy.iter()
        .map(|(path, (node, _))| match node {
            Node::File { content, .. } => (&path[..], Content::Bytes(content)),
            _ => (&path[..], Content::NotRegular),
        })
        .collect()
}

/// What is captured of a copy of everything.
pub(super) fn captured(mut copy: Copy, is_shy: bool) -> Captured {
    let mut left_out = BTreeSet::new();
    for unit in units(&paths(&copy)) {
        copy.retain(|path, _| unit.role(path) != Some(Role::Derived));
        let members: Vec<ByteString> = copy.keys().filter(|path| unit.has(path)).cloned().collect();
        if is_shy && members.len() > 1 {
            copy.retain(|path, _| !unit.has(path));
            left_out.extend(members);
        }
    }
    Captured { copy, left_out }
}

/// What a restore does to what it writes none of.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) remove: BTreeSet<ByteString>,
    pub(super) kept: BTreeSet<ByteString>,
}

/// Completes the part of a checkpoint that is restored: units come back as a whole, or are kept.
pub(super) fn plan(
    (whole, left_out): (&Copy, &BTreeSet<ByteString>),
    (now, before): (&Copy, &Captured),
    part: &mut Copy,
    exact: bool,
) -> Plan {
    let mut plan = Plan::default();
    let is_full = part.len() == whole.len();
    // What was left out may be no unit any more.
    let lacking = left_out.iter().filter(|path| is_full && now.contains_key(*path));
    plan.kept.extend(lacking.cloned());
    let mut all: Vec<Unit> = units(&paths(whole));
    for unit in units(&paths(now)) {
        if !all.contains(&unit) {
            all.push(unit);
        }
    }
    for unit in all {
        let recorded: Vec<&ByteString> = whole.keys().filter(|path| unit.has(path)).collect();
        let of_unit = |path: &&ByteString| unit.role(path).is_some();
        let present: Vec<&ByteString> = now.keys().filter(of_unit).collect();
        let is_asked = is_full || part.keys().any(|path| unit.has(path));
        let is_decided =
            exact || !recorded.is_empty() || left_out.iter().any(|path| unit.has(path));
        if !is_asked || !is_decided {
            continue;
        }
        let is_kept = left_out.iter().chain(&before.left_out).any(|path| unit.has(path))
            || !recorded.is_empty() && !unit.is_complete(&paths(whole));
        if is_kept {
            part.retain(|path, _| !unit.has(path));
            let members = present.into_iter().filter(|path| unit.has(path)).chain(recorded);
            plan.kept.extend(members.cloned());
            continue;
        }
        let node = |copy: &Copy, path: &ByteString| copy.get(path).map(|(node, _)| node.clone());
        let members = present.iter().copied().filter(|path| unit.has(path));
        let is_as_recorded = members
            .chain(recorded.iter().copied())
            .all(|path| node(now, path) == node(whole, path));
        if !is_as_recorded {
            part.extend(recorded.iter().map(|path| ((*path).clone(), whole[*path].clone())));
            let extra = present.into_iter().filter(|path| !recorded.contains(path));
            plan.remove.extend(extra.cloned());
        }
    }
    plan
}
