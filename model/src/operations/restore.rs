//! Judges the state after a restore.
//!
//! This module does not plan a restore, since a subject may restore in any way. Each property relates some
//! of four things: the state before, the part of that state which the store really contains, the
//! checkpoint, and the state afterwards. Empty directories are not judged.

use super::restore_outcome::RestoreOutcome;
use super::{external, restore_files, untouched};
use crate::allowed::AllowedRestore;
use crate::answer::{Answer, Restored};
use crate::bytes::{self, ByteString, below};
use crate::capture;
use crate::excuse::Excuse;
use crate::files::Node;
use crate::observation::Observation;
use crate::rules::{self, RuleRef};
use crate::store::explain;
use crate::tree::Entry;
use crate::verdict::Checks;
use crate::world::World;
use std::collections::BTreeSet;

impl RestoreOutcome<'_> {
    /// The paths that are not as expected, each with the rule that it breaks.
    ///
    /// Implements [`rules::RESTORE_BYTES`], [`rules::RESTORE_EXACT`], [`rules::RESTORE_LEAVES_NEW`],
    /// [`rules::RESTORE_LEFT_OUT`] and [`rules::RESTORE_FILE_ONLY`].
    fn violations(&self) -> Vec<(RuleRef, ByteString)> {
        let mut violations: Vec<(RuleRef, ByteString)> = Vec::new();
        let is_single = |path: &ByteString| !self.is_in_unit(path);
        for (path, entry) in self.recorded().filter(|(path, _)| is_single(path)) {
            if !self.is_as_recorded(path) && self.must_be_restored(path) {
                violations.push((self.not_restored(path, entry), path.clone()));
            }
        }
        let removed_obstacles: BTreeSet<ByteString> = self
            .recorded()
            .filter(|(path, _)| self.is_as_recorded(path))
            .flat_map(|(path, _)| self.obstacles(path))
            .collect();
        for path in self.paths().filter(|path| is_single(path)) {
            let is_gone = matches!(self.node_after(path), None | Some(Node::Directory));
            let is_removed_obstacle = is_gone && removed_obstacles.contains(path);
            if let Some(rule) = self.rule_against(path, is_gone, is_removed_obstacle) {
                violations.push((rule, path.clone()));
            }
        }
        violations
    }

    /// Counts the recorded paths that are not as recorded and need not be.
    fn count_excused(&self, checks: &mut Checks) {
        for (path, entry) in self.recorded().filter(|(path, _)| !self.is_as_recorded(path)) {
            let excuse = match () {
                () if self.is_in_unit(path) => Excuse::Unit,
                () if self.must_be_restored(path) => continue,
                () if self.would_lose(path) => Excuse::Uncaptured,
                () if self.is_lost(path) => Excuse::Damage,
                () => Excuse::NoRule,
            };
            let rule: RuleRef = match entry {
                Entry::File { .. } => &rules::RESTORE_BYTES,
                Entry::Link { .. } => &rules::RESTORE_TYPE,
            };
            checks.excused(rule, excuse, 1);
        }
    }

    /// The rule broken by a recorded path that is not as recorded.
    ///
    /// Implements [`rules::RESTORE_EXECUTABLE`], [`rules::RESTORE_TYPE`] and, where it is damaged,
    /// [`rules::RESTORE_HONEST`].
    fn not_restored(&self, path: &[u8], entry: &Entry) -> RuleRef {
        // A store of which only the folder is known may report nothing of a restore.
        let reports = self.world.has("restore.report") || !self.world.may_damage_affect_all();
        if self.is_lost(path) && reports {
            return &rules::RESTORE_HONEST;
        }
        let is_obstacle =
            |above: &[u8]| !matches!(self.node_after(above), None | Some(Node::Directory));
        match (entry, self.node_after(path)) {
            (Entry::File { content, .. }, Some(Node::File { content: found, .. })) => {
                if content == found { &rules::RESTORE_EXECUTABLE } else { &rules::RESTORE_BYTES }
            }
            (Entry::File { .. }, None) if !bytes::ancestors(path).any(is_obstacle) => {
                &rules::RESTORE_BYTES
            }
            _ => &rules::RESTORE_TYPE,
        }
    }

    /// The rule that a path breaks which need not be restored, if any. `is_obstacle` is whether the path
    /// had to be removed for a restored one.
    fn rule_against(&self, path: &ByteString, gone: bool, is_obstacle: bool) -> Option<RuleRef> {
        let recorded = self.allowed.target.tree.contains_key(path);
        if let Some(only) = self.allowed.only.as_ref().filter(|_| !self.is_requested(path)) {
            // A path that is a pattern to git may have been used as one.
            let is_pattern =
                only.starts_with(b":") || only.iter().any(|byte| b"*?[".contains(byte));
            let rule: RuleRef =
                if is_pattern { &rules::RESTORE_FILE_LITERAL } else { &rules::RESTORE_FILE_ONLY };
            let is_removed_with_database = gone && self.is_held(path) && self.is_derived(path);
            let may_change = is_obstacle || is_removed_with_database;
            return (self.changed(path) && !may_change).then_some(rule);
        }
        if !self.changed(path) {
            let stays = self.removes_path(path)
                && !recorded
                && !self.was_left_out(path)
                && self.is_expendable(path);
            return stays.then(|| self.rule_of_new_files(&rules::RESTORE_EXACT));
        }
        let created_since = self.was_captured(path) && !recorded;
        let held_nothing = matches!(self.node_before(path), None | Some(Node::Directory));
        // A path that did not exist, and that a capture leaves out, comes from a capture that did not
        // leave it out.
        let was_created = held_nothing && self.node_after(path).is_some();
        let left_out = explain::why_left_out(&self.allowed.target, path).filter(|_| was_created);
        match () {
            () if recorded && self.is_as_recorded(path) && self.is_stored(path) => None,
            () if left_out.is_some() => left_out,
            () if recorded && (self.was_captured(path) || held_nothing) => None,
            () if created_since
                && self.was_left_out(path)
                && self.world.has("checkpoint.left_out") =>
            {
                Some(&rules::RESTORE_LEFT_OUT)
            }
            () if created_since && gone && (is_obstacle || self.removes_path(path)) => {
                (!self.is_expendable(path)).then_some(&rules::RESTORE_PROTECTS)
            }
            () if gone && self.is_held(path) && self.is_derived(path) => None,
            () if created_since && self.is_held(path) => {
                Some(self.rule_of_new_files(&rules::RESTORE_LEAVES_NEW))
            }
            // A nested repository that is lost is content that no checkpoint holds.
            () if self.is_in_repository(path) && !(gone && is_nested(path)) => {
                Some(&rules::ISOLATION_USER_REPOSITORY)
            }
            // Nothing is lost by it: a recorded file was restored under another name, or too many were.
            () if was_created && !recorded => Some(&rules::RESTORE_BYTES),
            () => Some(&rules::RESTORE_PROTECTS),
        }
    }

    /// The rule about files created since, with one of its own where a restore is undone.
    fn rule_of_new_files(&self, otherwise: RuleRef) -> RuleRef {
        if self.allowed.made.is_some() { &rules::RESTORE_UNDO_REDO } else { otherwise }
    }

    /// Whether every wrong path is as in another checkpoint.
    ///
    /// Implements [`rules::RESTORE_TARGET`] and [`rules::RESTORE_SAFETY_KEEPS_TARGET`].
    fn matches_other_checkpoint(&self, wrong: &[(RuleRef, ByteString)], answer: &Restored) -> bool {
        // A path that did not change although it is reported as restored was only missed; so was a path
        // with an obstacle of another type. A link that was not restored may never have been captured: a
        // store of files only loses it at once. The change of a file that kept its time may have been
        // missed when the checkpoint was taken.
        let is_evidence = |path: &ByteString| {
            let Some(entry) = self.allowed.target.tree.get(path) else { return false };
            let lost_link = matches!(entry, Entry::Link { .. }) && self.node_after(path).is_none();
            let is_unreported = self.world.has("restore.report")
                && !answer.restored.contains(path)
                && !answer.failed.iter().any(|remark| remark.path == *path);
            let in_place = is_of_type(entry, self.node_after(path));
            let differs = self.changed(path) || is_unreported && in_place;
            let was_rewritten = self.world.was_rewritten(&bytes::join(&self.allowed.project, path));
            !self.would_lose(path) && !lost_link && !was_rewritten && differs
        };
        let listed = self.world.listed(&self.allowed.project).iter();
        let other_trees = listed.filter_map(|checkpoint| checkpoint.captured.as_ref());
        let other_trees = other_trees.map(|captured| &captured.tree);
        !self.allowed.damaged
            && wrong.iter().any(|(_, path)| is_evidence(path))
            && other_trees.filter(|tree| **tree != self.allowed.target.tree).any(|tree| {
                wrong.iter().all(|(_, path)| match tree.get(path) {
                    Some(entry) => self.node_after(path) == Some(&entry.node()),
                    // A directory may exist for the paths that the other checkpoint has below it.
                    None => {
                        matches!(self.node_after(path), None | Some(Node::Directory))
                            || !self.changed(path)
                    }
                })
            })
    }
}

/// Whether no node of another type is at the path of an entry.
fn is_of_type(entry: &Entry, node: Option<&Node>) -> bool {
    match node {
        None => true,
        Some(Node::File { .. }) => matches!(entry, Entry::File { .. }),
        Some(Node::Link { .. }) => matches!(entry, Entry::Link { .. }),
        Some(_) => false,
    }
}

/// Compares the files after a restore with what must hold of them.
pub(super) fn compare(
    world: &World,
    allowed: &AllowedRestore,
    seen: &Observation,
    checks: &mut Checks,
) {
    let Answer::Restored(answer) = &seen.answer else { return };
    let outcome = RestoreOutcome::new(world, allowed, seen);
    let violations = outcome.violations();
    let full = |path: &ByteString| ByteString::from(bytes::join(&allowed.project, path));
    let mut broken: Vec<(RuleRef, ByteString)> =
        violations.iter().map(|(rule, path)| (*rule, full(path))).collect();
    if outcome.matches_other_checkpoint(&violations, answer) {
        let rule: RuleRef = match allowed.made {
            Some(_) => &rules::RESTORE_UNDO_REDO,
            None if allowed.evicting => &rules::RESTORE_SAFETY_KEEPS_TARGET,
            None => &rules::RESTORE_TARGET,
        };
        broken.push((rule, full(&violations[0].1)));
    }
    for path in untouched::differing(world, &seen.files) {
        if below(&allowed.project, &path).is_none() && !is_made_for(allowed, world, seen, &path) {
            broken.push((rule_outside_project(allowed, world, seen, &path), path));
        }
    }
    broken.extend(outcome.unit_violations().into_iter().map(|(rule, path)| (rule, full(&path))));
    restore_files::blame_other_names(&outcome, seen, &mut broken);
    let expected = |path: &ByteString| {
        let relative = below(&allowed.project, path).map(ByteString::from);
        let entry = relative.as_ref().and_then(|path| allowed.target.tree.get(path));
        let removed = relative.is_some_and(|path| {
            outcome.is_in_unit(&path)
                || outcome.removes_path(&path)
                    && outcome.is_expendable(&path)
                    && !outcome.was_left_out(&path)
        });
        match entry.map(Entry::node) {
            // Where a path is wrong because it was restored, it should have been left as it was.
            Some(node) if seen.files.get(path) != Some(&node) => Some(node),
            Some(_) => world.files.get(path).cloned(),
            None if removed => None,
            None => world.files.get(path).cloned(),
        }
    };
    untouched::report(&broken, &expected, seen, checks);
    outcome.count_excused(checks);
    restore_files::compare(&outcome, seen, checks);
    outcome.compare_units(checks);
    outcome.compare_rows(seen, checks);
    count(&outcome, checks);
}

/// Whether a path is a new directory at or above the project.
fn is_made_for(allowed: &AllowedRestore, world: &World, seen: &Observation, path: &[u8]) -> bool {
    let is_above = *path == *allowed.project || below(path, &allowed.project).is_some();
    is_above && world.files.get(path).is_none() && seen.files.is_directory(path)
}

/// The rule broken by a change outside the project: a restored file may have been written there, or
/// another rule forbids the change.
///
/// Implements [`rules::RESTORE_CONTAINED`].
fn rule_outside_project(
    allowed: &AllowedRestore,
    world: &World,
    seen: &Observation,
    path: &[u8],
) -> RuleRef {
    if world.is_compensation_log(path) {
        return external::rule_of_log(seen);
    }
    let found = seen.files.get(path);
    let is_misplaced = allowed.target.tree.values().any(|entry| found == Some(&entry.node()));
    let rule = untouched::rule_outside(world, path).filter(|_| !is_misplaced);
    rule.unwrap_or(&rules::RESTORE_CONTAINED)
}

/// Counts the rules that a restore tests.
fn count(outcome: &RestoreOutcome<'_>, checks: &mut Checks) {
    let allowed = outcome.allowed;
    for path in outcome.restored() {
        checks.held(&rules::RESTORE_BYTES, 1);
        let entry = &allowed.target.tree[&path];
        // A file that is restored as it was had been captured as it was.
        let despite = allowed.target.despite.get(&path).into_iter().flatten().copied();
        for rule in capture::content_rules(&path, entry).into_iter().chain(despite) {
            checks.held(rule, 1);
        }
        let before = allowed.before.tree.get(&path);
        if let (
            Entry::File { executable: executable_now, .. },
            Some(Entry::File { executable: executable_before, .. }),
        ) = (entry, before)
            && executable_now != executable_before
        {
            checks.held(&rules::RESTORE_EXECUTABLE, 1);
        }
        let is_link = |entry: &Entry| matches!(entry, Entry::Link { .. });
        let was_directory = outcome.node_before(&path) == Some(&Node::Directory);
        if is_link(entry) || before.is_some_and(is_link) || was_directory {
            checks.held(&rules::RESTORE_TYPE, 1);
        }
    }
    // A file that was left out, is gone and is not restored was really left out.
    let is_nowhere =
        |path: &[u8]| outcome.node_before(path).is_none() && outcome.node_after(path).is_none();
    for (path, rule) in &allowed.target.left_out {
        checks.held(rule, u64::from(outcome.is_requested(path) && is_nowhere(path)));
    }
    checks.held(&rules::RESTORE_PROTECTS, outcome.kept().len() as u64);
    checks.held(&rules::RESTORE_LEAVES_NEW, outcome.left().len() as u64);
    checks.held(&rules::RESTORE_CONTAINED, 1);
    let removed = if allowed.exact { outcome.removed().len() as u64 } else { 0 };
    checks.held(&rules::RESTORE_EXACT, removed);
    for (holds, rule) in [
        (allowed.only.is_some(), &rules::RESTORE_FILE_ONLY),
        (allowed.undo, &rules::RESTORE_UNDO),
        (allowed.deleted, &rules::RESTORE_DELETED_PROJECT),
        (allowed.damaged, &rules::RESTORE_HONEST),
        (allowed.evicting, &rules::RESTORE_SAFETY_KEEPS_TARGET),
    ] {
        checks.held(rule, u64::from(holds));
    }
}

/// Whether a path is not in the project's own repository.
fn is_nested(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').next() != Some(b".git")
}
