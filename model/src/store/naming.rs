//! The names of projects in the store. They are judged first, because a history under a wrong name looks
//! missing to all other checks.

use super::{BESIDE, HISTORIES};
use crate::observation::Histories;
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;
use std::collections::BTreeSet;

/// Compares whether projects are stored under their own names.
///
/// Implements [`rules::SCOPE_IDENTITY`] and [`rules::SCOPE_HASH`].
pub(super) fn compare(world: &World, stored: &Histories, checks: &mut Checks) {
    if let Some((canonical, alias)) = aliased(world, stored) {
        checks.check(Judge::Git, &rules::SCOPE_IDENTITY, false, || {
            let found = format!("a history of {alias}");
            Mismatch::new("taken for another project", format!("one of {canonical}"), found)
        });
        return;
    }
    let is_known = |project: &[u8]| !world.is_history_unknown(project);
    for (project, history) in world.histories().filter(|(project, _)| is_known(project)) {
        let expected = format!("{HISTORIES}{}", world.hash(project));
        let Some(newest) = history.last().filter(|_| !stored.refs.contains_key(&expected)) else {
            continue;
        };
        let Some((name, _)) = stored.refs.iter().find(|(_, tip)| **tip == newest.id) else {
            continue;
        };
        let rule: RuleRef =
            if name.starts_with(HISTORIES) { &rules::SCOPE_HASH } else { &rules::LAYOUT_STORE };
        checks.check(Judge::Git, rule, false, || {
            Mismatch::new("under another name", format!("{expected} for {project}"), name)
        });
    }
}

/// A project that is stored under an alias: its canonical path, and the alias.
fn aliased(world: &World, stored: &Histories) -> Option<(String, String)> {
    let known_hashes: BTreeSet<String> =
        world.histories().map(|(project, _)| world.hash(project)).collect();
    stored.refs.keys().find_map(|name| {
        let hash = name.strip_prefix(HISTORIES)?;
        // A separate project may have become a link to another project since.
        if known_hashes.contains(hash) {
            return None;
        }
        let path = stored.workdirs.get(hash)?;
        let project = world.canonical(path.as_bytes())?;
        let canonical = world.absolute(&project);
        let is_alias = *canonical != *path.as_bytes() && world.hash(&project) != hash;
        is_alias.then(|| (canonical.to_string(), path.clone()))
    })
}

/// Compares the targets of refs with the newest checkpoints of all projects.
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
        let newest = history.last().map(|checkpoint| checkpoint.id.clone()).unwrap_or_default();
        checks.held(&rules::SCOPE_HASH, 1);
        if world.is_partially_corrupted(project) {
            expected.insert(name);
            continue;
        }
        match stored.refs.get(&name) {
            None => checks.check(Judge::Git, &rules::LAYOUT_STORE, false, || {
                let found = plain(&stored.refs);
                Mismatch::new("no such ref", format!("{name} for {project}"), found)
            }),
            Some(tip) => {
                let symptom = "newest checkpoint";
                checks.same(Judge::Git, &rules::LAYOUT_STORE, symptom, &newest, tip);
            }
        }
        expected.insert(name);
    }
    // A ref alongside a history belongs to the same project.
    let history = |name: &str| {
        let alongside = BESIDE.iter().find_map(|prefix| name.strip_prefix(prefix));
        let hash = alongside.and_then(|rest| rest.split('/').next());
        hash.map_or_else(|| name.to_owned(), |hash| format!("{HISTORIES}{hash}"))
    };
    // An interrupted checkpoint may leave refs alongside the history, which the next sweep removes.
    let is_leftover = |name: &str| world.is_size_uncertain() && !name.starts_with(HISTORIES);
    let is_phantom = |name: &&String| !expected.contains(&history(name)) && !is_leftover(name);
    let phantom = stored.refs.keys().find(is_phantom);
    checks.check(Judge::Git, &rules::SCOPE_NO_DIRECTORY, phantom.is_none(), || {
        let expected = "only histories of projects with checkpoints";
        Mismatch::new("a history without a project", expected, plain(&phantom))
    });
}
