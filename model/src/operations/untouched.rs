//! What a request leaves as it is: files and their times, the user's repositories and home, and the
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

/// As many differing paths are told.
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
        // A refusal may leave its mark in the bookkeeping, such as when a project was last used,
        // but not in what is stored.
        let paths: Vec<_> = changes.iter().filter(|path| !refused || is_stored(path)).collect();
        let rule: RuleRef = match allowed {
            Allowed::Refused(_) | Allowed::Restore(_) => &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
            Allowed::Checkpoint(due) if due.kind == CheckpointKind::Disabled => {
                &rules::TURN_DISABLED
            }
            Allowed::Protected(due) if due.disabled => &rules::TURN_DISABLED,
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
    let against = |path: &ByteString| match (rule_outside(world, path), &project) {
        _ if world.is_log(path) => external::rule_of_log(seen),
        (Some(outside), _) => outside,
        // Whatever was to be refused, what is written beside the project is the worst of it.
        (None, Some(project)) if below(project, path).is_none() && path != project => {
            &rules::RESTORE_CONTAINED
        }
        (None, _) => rule,
    };
    // What compensations write is judged with them.
    let is_theirs = |path: &ByteString| {
        seen.request == Request::Compensate && world.appended(path, seen).is_some()
    };
    let differing = differing(world, &seen.files).into_iter();
    let differing = differing.filter(|path| !(world.is_log(path) && is_theirs(path)));
    let broken: Vec<(RuleRef, ByteString)> = differing.map(|path| (against(&path), path)).collect();
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
    /// Compares the files once a subject was opened, before anything was asked of it.
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

/// What a change is where there should be none.
fn blame(seen: &Observation) -> Kind {
    let unchanged = matches!(seen.answer, Answer::Refused { changed: Changed::None, .. });
    if unchanged { Kind::Dishonest } else { Kind::Fail }
}

/// Whether a path is that of a repository or lies in one.
pub(super) fn is_in_repository(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| name == b".git")
}

/// The rule broken by a change of a path that no request may change, wherever it is asked.
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

/// Every path that is not as it was.
pub(super) fn differing(world: &World, files: &Files) -> Vec<ByteString> {
    if world.files == *files {
        return Vec::new();
    }
    let paths: BTreeSet<&ByteString> =
        world.files.iter().chain(files.iter()).map(|(path, _)| path).collect();
    let differs = |path: &&ByteString| world.files.get(path) != files.get(path);
    paths.into_iter().filter(differs).cloned().collect()
}

/// Tells of each rule that is broken by some paths, with all of those.
pub(super) fn report(
    broken: &[(RuleRef, ByteString)],
    expected: &dyn Fn(&ByteString) -> Option<Node>,
    seen: &Observation,
    checks: &mut Checks,
) {
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for (rule, first) in broken {
        if !told.insert(rule.id) {
            continue;
        }
        checks.check(Judge::Disk, rule, false, || {
            let (due, found) = (expected(first), seen.files.get(first));
            let mut tree = Vec::new();
            let paths = broken.iter().filter(|(other, _)| other == rule).map(|(_, path)| path);
            for path in paths.take(TREE_LINES_MAX) {
                let due = expected(path);
                for (side, node) in [('-', due.as_ref()), ('+', seen.files.get(path))] {
                    if node.is_some() {
                        tree.push(format!("{side} {path}: {}", shown(node)));
                    }
                }
            }
            let told = |node: Option<&Node>| format!("{first}: {}", shown(node));
            Mismatch::new(symptom(due.as_ref(), found), told(due.as_ref()), told(found))
                .kind(blame(seen))
                .tree(tree)
        });
    }
}
