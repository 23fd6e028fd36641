//! What a restore does to files beside what they hold: to those that need not be written, to
//! permissions, and to the other names of a file.
//!
//! All of it is judged by what a file system says before and after. Which permissions a file had
//! when it was captured is known of checkpoints that were seen taken, and of no others.

use super::restore::Outcome;
use crate::bytes::{ByteString, below, join};
use crate::files::Node;
use crate::observation::{Names, Observation};
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};

/// What group and others may do.
const OPEN: u32 = 0o077;
/// All bits but those for executing.
const NOT_EXECUTE: u32 = 0o666;

/// Compares what became of files beside what they hold.
pub(super) fn compare(outcome: &Outcome<'_>, seen: &Observation, checks: &mut Checks) {
    untouched(outcome, seen, checks);
    for (path, _) in outcome.recorded() {
        permissions(outcome, seen, path, checks);
        if names(&seen.names.0, &outcome.full(path)).next().is_some() && outcome.changed(path) {
            checks.held(&rules::RESTORE_HARD_LINKS, 1);
        }
    }
}

/// Implements [`rules::RESTORE_UNTOUCHED`].
fn untouched(outcome: &Outcome<'_>, seen: &Observation, checks: &mut Checks) {
    let stays = |path: &&ByteString| {
        let stays = outcome.was(path) == outcome.is(path) && outcome.is_as_recorded(path);
        stays && !outcome.is_of_restored_unit(path)
    };
    let paths: Vec<&ByteString> = outcome.due.target.tree.keys().filter(stays).collect();
    let what = |path: &ByteString| seen.rewritten.get(&outcome.full(path));
    let found = paths.iter().find_map(|path| what(path).map(|what| (path, what)));
    if found.is_none() && paths.is_empty() {
        return;
    }
    checks.check(Judge::Disk, &rules::RESTORE_UNTOUCHED, found.is_none(), || {
        let (path, what) =
            found.map(|(path, what)| (outcome.full(path), *what)).unwrap_or_default();
        let due = format!("{path}, which was as recorded, left alone");
        Mismatch::new(format!("another {what}"), due, format!("{path}: another {what}"))
    });
}

/// Implements [`rules::RESTORE_PERMISSIONS`].
fn permissions(outcome: &Outcome<'_>, seen: &Observation, path: &ByteString, checks: &mut Checks) {
    let full = outcome.full(path);
    let is_restored = outcome.changed(path) && outcome.is_as_recorded(path);
    let Some(now) = seen.files.permissions(&full).filter(|_| is_restored) else { return };
    let (holds, symptom, due) = match outcome.was(path) {
        Some(Node::File { readable: true, .. }) => {
            let before = outcome.world.files.permissions(&full).unwrap_or(now);
            let holds = now & NOT_EXECUTE == before & NOT_EXECUTE;
            (holds, "a replaced file has other permissions", before)
        }
        // What nobody could read was not replaced by right.
        Some(Node::File { .. }) => return,
        _ => {
            let Some(captured) = outcome.due.target.permissions.get(path) else { return };
            (now & OPEN & !captured == 0, "a file came back wider", *captured)
        }
    };
    checks.check(Judge::Disk, &rules::RESTORE_PERMISSIONS, holds, || {
        Mismatch::new(symptom, format!("{path}: {due:03o}"), format!("{path}: {now:03o}"))
    });
}

/// Blames what became of other names of a restored file on that, where before and afterwards both
/// are names of one file: then it was written where it stood.
///
/// Implements [`rules::RESTORE_HARD_LINKS`].
pub(super) fn blame_other_names(
    outcome: &Outcome<'_>,
    seen: &Observation,
    broken: &mut Vec<(RuleRef, ByteString)>,
) {
    let shares = |path: &ByteString| {
        let still = |name: &&ByteString| names(&seen.names.1, path).any(|other| other == *name);
        let is_restored = |name: &ByteString| {
            let inside = below(&outcome.due.project, name).map(ByteString::from);
            inside.is_some_and(|name| {
                let recorded = outcome.due.target.tree.contains_key(&name);
                recorded && outcome.is_asked(&name) && outcome.is_as_recorded(&name)
            })
        };
        names(&seen.names.0, path).filter(still).any(is_restored)
    };
    // The rule is about bytes, and a file has one set of permissions under all its names.
    let content = |node: Option<&Node>| match node {
        Some(Node::File { content, .. }) => Some(content.clone()),
        _ => None,
    };
    let files = &outcome.world.files;
    let keeps_bytes = |path: &ByteString| content(files.get(path)) == content(seen.files.get(path));
    broken.retain(|(_, path)| !(shares(path) && keeps_bytes(path)) || outcome.is_due(path));
    for (rule, path) in broken {
        if shares(path) && !keeps_bytes(path) {
            *rule = &rules::RESTORE_HARD_LINKS;
        }
    }
}

/// The other names of a file that has several.
fn names<'a>(names: &'a Names, path: &ByteString) -> impl Iterator<Item = &'a ByteString> {
    names.get(path).into_iter().flatten()
}

impl Outcome<'_> {
    /// A path of the project, relative to the world's root.
    fn full(&self, path: &[u8]) -> ByteString {
        ByteString(join(&self.due.project, path))
    }

    /// Whether a path of the world is to be brought back.
    fn is_due(&self, full: &[u8]) -> bool {
        let inside = below(&self.due.project, full).map(ByteString::from);
        inside.is_some_and(|path| self.due.target.tree.contains_key(&path) && self.is_asked(&path))
    }
}
