//! What a request must not change: files and their times, the user's repositories and home, and the
//! store where nothing is to be stored.

use super::external;
use crate::allowed::{Allowed, CheckpointKind};
use crate::answer::{Answer, Changed};
use crate::bytes::{ByteString, below, file_name};
use crate::files::{Files, Node};
use crate::observation::{Observation, is_stored};
use crate::plain::plain;
use crate::request::Request;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Kind, Mismatch, shown, symptom};
use crate::world::World;
use std::collections::BTreeSet;

/// The most differing paths that are reported.
const TREE_LINES_MAX: usize = 12;

/// Compares the files and the store after a request that may change no file.
///
/// Implements [`rules::CAPTURE_READ_ONLY`], [`rules::RESTORE_REFUSAL_CHANGES_NOTHING`],
/// [`rules::DIFF_LEAVES_STORE`], [`rules::TURN_DISABLED`], [`rules::ISOLATION_HOME`] and
/// [`rules::RESTORE_CONTAINED`].
pub(super) fn compare(world: &World, allowed: &Allowed, seen: &Observation, checks: &mut Checks) {
    let restores = seen.request.restores();
    let refused = matches!(allowed, Allowed::Refused(_) | Allowed::Restore(_));
    if let Some(changes) = &seen.base_changes {
        // A refusal may change the bookkeeping, such as when a project was last used, and a list may keep
        // the figures that it computed; neither may change the stored data.
        let keeps_books =
            refused || matches!(seen.request, Request::List { .. } | Request::PrintList { .. });
        let paths: Vec<_> = changes.iter().filter(|path| !keeps_books || is_stored(path)).collect();
        let rule: RuleRef = match allowed {
            Allowed::Refused(_) | Allowed::Restore(_) => &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
            Allowed::Checkpoint(checkpoint) if checkpoint.kind == CheckpointKind::Disabled => {
                &rules::TURN_DISABLED
            }
            Allowed::Protected(protection) if protection.disabled => &rules::TURN_DISABLED,
            Allowed::WithoutBackend => &rules::TURN_NO_BACKEND,
            _ => &rules::DIFF_LEAVES_STORE,
        };
        checks.check(Judge::Disk, rule, paths.is_empty(), || {
            let found = format!("changed in the store: {paths}", paths = plain(&paths));
            Mismatch::new("the store changed", "the store as it was", found).kind(blame(seen))
        });
    }
    let rule: RuleRef =
        if restores { &rules::RESTORE_REFUSAL_CHANGES_NOTHING } else { &rules::CAPTURE_READ_ONLY };
    let project = seen.request.dir().and_then(|dir| world.canonical(dir)).filter(|_| restores);
    let rule_against = |path: &ByteString| match (rule_outside(world, path), &project) {
        _ if world.is_compensation_log(path) => external::rule_of_log(seen),
        (Some(outside), _) => outside,
        // Whatever should have been refused, a write outside the project is worse.
        (None, Some(project)) if below(project, path).is_none() && path != project => {
            &rules::RESTORE_CONTAINED
        }
        (None, _) => rule,
    };
    // The lines that compensations append are judged with the compensations.
    let is_appended = |path: &ByteString| {
        seen.request == Request::Compensate && world.appended_lines(path, seen).is_some()
    };
    let differing = differing(world, &seen.files).into_iter();
    let differing =
        differing.filter(|path| !(world.is_compensation_log(path) && is_appended(path)));
    let broken: Vec<(RuleRef, ByteString)> =
        differing.map(|path| (rule_against(&path), path)).collect();
    report(&broken, &|path| world.files.get(path).cloned(), seen, checks);
    checks.check(Judge::Disk, rule, seen.touched.is_empty(), || {
        let found = format!("touched: {}", plain(&seen.touched));
        Mismatch::new("timestamps changed", "timestamps as they were", found).kind(blame(seen))
    });
    checks.held(&rules::ISOLATION_HOME, 1);
    let repository = world.files.iter().any(|(path, _)| file_name(path) == b".git");
    checks.held(&rules::ISOLATION_USER_REPOSITORY, u64::from(repository));
}

impl World {
    /// Compares whether nothing changed that the request may not change, where its effect inside the
    /// project is unknown.
    pub(super) fn compare_files(&self, allowed: &Allowed, seen: &Observation, checks: &mut Checks) {
        if !seen.request.restores() {
            compare(self, allowed, seen, checks);
            return;
        }
        let Some(project) = seen.request.dir().and_then(|dir| self.canonical(dir)) else { return };
        let is_outside = |path: &ByteString| below(&project, path).is_none() && *path != project;
        let outside: Vec<_> = differing(self, &seen.files).into_iter().filter(is_outside).collect();
        checks.check(Judge::Disk, &rules::RESTORE_CONTAINED, outside.is_empty(), || {
            let found = format!("changed: {}", plain(&outside));
            Mismatch::new("changes outside", "nothing outside the project changed", found)
        });
    }

    /// Compares the files after a subject was opened, before its first request.
    pub fn compare_opening(&self, files: &Files) -> Checks {
        let mut checks = Checks::default();
        let differing = differing(self, files);
        checks.check(Judge::Disk, &rules::ISOLATION_HOME, differing.is_empty(), || {
            let found = plain(&differing);
            Mismatch::new("opening leaves files", "no file but in the store", found)
        });
        checks
    }
}

/// The kind of an unexpected change: dishonest where the answer reports that nothing changed.
fn blame(seen: &Observation) -> Kind {
    let unchanged = matches!(seen.answer, Answer::Refused { changed: Changed::None, .. });
    if unchanged { Kind::Dishonest } else { Kind::Fail }
}

/// Whether a path is a repository or is in a repository.
pub(super) fn is_in_repository(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| name == b".git")
}

/// The rule broken by a change of a path that no request may change, whatever its project.
///
/// Implements [`rules::ISOLATION_USER_REPOSITORY`], [`rules::ISOLATION_NO_SIGNING`] and
/// [`rules::ISOLATION_USER_CONFIG`].
pub(super) fn rule_outside(world: &World, path: &[u8]) -> Option<RuleRef> {
    match path {
        _ if is_in_repository(path) => return Some(&rules::ISOLATION_USER_REPOSITORY),
        b"hostile/mark-left" => return Some(&rules::ISOLATION_NO_SIGNING),
        b"hostile/hook-ran" => return Some(&rules::ISOLATION_USER_CONFIG),
        _ => {}
    }
    below(world.home(), path).is_some().then_some(&rules::ISOLATION_HOME)
}

/// Every path that changed.
pub(super) fn differing(world: &World, files: &Files) -> Vec<ByteString> {
    world.files.differences(files).into_iter().map(|found| found.path.clone()).collect()
}

/// Reports each broken rule once, with all paths that break it.
pub(super) fn report(
    broken: &[(RuleRef, ByteString)],
    expected: &dyn Fn(&ByteString) -> Option<Node>,
    seen: &Observation,
    checks: &mut Checks,
) {
    let mut reported: BTreeSet<&str> = BTreeSet::new();
    for (rule, first) in broken {
        if !reported.insert(rule.id) {
            continue;
        }
        checks.check(Judge::Disk, rule, false, || {
            let expected_node = expected(first);
            let found = seen.files.get(first);
            let mut tree = Vec::new();
            let same_rule = broken.iter().filter(|(broken_rule, _)| broken_rule == rule);
            for path in same_rule.map(|(_, path)| path).take(TREE_LINES_MAX) {
                let expected_node = expected(path);
                for (side, node) in [('-', expected_node.as_ref()), ('+', seen.files.get(path))] {
                    if node.is_some() {
                        tree.push(format!("{side} {path}: {}", shown(node)));
                    }
                }
            }
            let text = |node: Option<&Node>| format!("{first}: {}", shown(node));
            let symptom = symptom(expected_node.as_ref(), found);
            Mismatch::new(symptom, text(expected_node.as_ref()), text(found))
                .kind(blame(seen))
                .tree(tree)
        });
    }
}
