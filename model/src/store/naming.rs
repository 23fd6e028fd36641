//! By what the store knows a project: what is kept under another name than its own is missed
//! everywhere else.

use super::{BESIDE, HISTORIES};
use crate::observation::Histories;
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;
use std::collections::BTreeSet;

/// Looks for projects that are known by another name than their own.
///
/// Implements [`rules::SCOPE_IDENTITY`] and [`rules::SCOPE_HASH`].
pub(super) fn compare(world: &World, stored: &Histories, checks: &mut Checks) {
    if let Some((own, other)) = aliased(world, stored) {
        checks.check(Judge::Git, &rules::SCOPE_IDENTITY, false, || {
            let found = format!("a history of {other}");
            Mismatch::new("taken for another project", format!("one of {own}"), found)
        });
        return;
    }
    for (project, history) in world.histories().filter(|(project, _)| !world.is_adrift(project)) {
        let own = format!("{HISTORIES}{}", world.hash(project));
        let Some(newest) = history.last().filter(|_| !stored.refs.contains_key(&own)) else {
            continue;
        };
        let Some((name, _)) = stored.refs.iter().find(|(_, tip)| **tip == newest.id) else {
            continue;
        };
        let rule: RuleRef =
            if name.starts_with(HISTORIES) { &rules::SCOPE_HASH } else { &rules::LAYOUT_STORE };
        checks.check(Judge::Git, rule, false, || {
            Mismatch::new("under another name", format!("{own} for {project}"), name)
        });
    }
}

/// A project that was taken for another because of how its path was written: what it is, and what it
/// was taken for.
fn aliased(world: &World, stored: &Histories) -> Option<(String, String)> {
    let known: BTreeSet<String> =
        world.histories().map(|(project, _)| world.hash(project)).collect();
    stored.refs.keys().find_map(|name| {
        let other = name.strip_prefix(HISTORIES)?;
        // What was a project of its own may have become a link to another one since.
        if known.contains(other) {
            return None;
        }
        let path = stored.workdirs.get(other)?;
        let project = world.canonical(path.as_bytes())?;
        let own = world.absolute(&project);
        let is_alias = *own != *path.as_bytes() && world.hash(&project) != other;
        is_alias.then(|| (own.to_string(), path.clone()))
    })
}

/// Compares where refs point with the newest checkpoints of all projects.
///
/// Implements [`rules::LAYOUT_STORE`].
pub(super) fn compare_refs(world: &World, stored: &Histories, checks: &mut Checks) {
    checks.check(Judge::Git, &rules::LAYOUT_STORE, stored.unreadable.is_none(), || {
        let complaint = stored.unreadable.clone().unwrap_or_default();
        Mismatch::new("git reads nothing", "a repository that plain git reads", complaint)
    });
    let mut expected: BTreeSet<String> = BTreeSet::new();
    for (project, history) in world.histories() {
        let name = format!("{HISTORIES}{}", world.hash(project));
        let newest = history.last().map(|one| one.id.clone()).unwrap_or_default();
        checks.held(&rules::SCOPE_HASH, 1);
        if world.is_disturbed(project) {
            expected.insert(name);
            continue;
        }
        match stored.refs.get(&name) {
            None => checks.check(Judge::Git, &rules::LAYOUT_STORE, false, || {
                let found = plain(&stored.refs);
                Mismatch::new("no such ref", format!("{name} for {project}"), found)
            }),
            Some(tip) => {
                let what = "newest checkpoint";
                checks.same(Judge::Git, &rules::LAYOUT_STORE, what, &newest, tip);
            }
        }
        expected.insert(name);
    }
    // What stands beside a history is one of the same project.
    let history = |name: &str| {
        let beside = BESIDE.iter().find_map(|folder| name.strip_prefix(folder));
        let beside = beside.and_then(|rest| rest.split('/').next());
        beside.map_or_else(|| name.to_owned(), |hash| format!("{HISTORIES}{hash}"))
    };
    // A checkpoint that came to no end may have left what it carries, which the next sweep removes.
    let is_left = |name: &str| world.is_uncounted() && !name.starts_with(HISTORIES);
    let is_phantom = |name: &&String| !expected.contains(&history(name)) && !is_left(name);
    let phantom = stored.refs.keys().find(is_phantom);
    checks.check(Judge::Git, &rules::SCOPE_NO_DIRECTORY, phantom.is_none(), || {
        let expected = "no history but those of checkpointed projects";
        Mismatch::new("a history of nothing", expected, plain(&phantom))
    });
}
