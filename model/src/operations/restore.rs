//! What must hold after a restore.
//!
//! This module does not plan a restore. Each property is about the state before, the checkpoint, what
//! the store really holds of the state before, and the state afterwards; how a subject restores is its
//! own choice. Empty directories are not judged.

use super::restore_units::{self, AffectedUnit};
use super::{external, restore_files, untouched};
use crate::allowed::AllowedRestore;
use crate::answer::{Answer, Restored};
use crate::bytes::{self, ByteString, below};
use crate::capture;
use crate::files::{Files, Node};
use crate::observation::Observation;
use crate::rules::{self, RuleRef};
use crate::store::explain;
use crate::tree::{Entry, Tree};
use crate::unit::Unit;
use crate::verdict::Checks;
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// The state before and after one restore; paths are relative to its project.
pub(super) struct RestoreOutcome<'a> {
    pub(super) world: &'a World,
    pub(super) allowed: &'a AllowedRestore,
    after: &'a Files,
    /// What the store holds of the state before.
    stored: &'a Tree,
    /// The paths that are reported not to be as recorded.
    pub(super) reported: BTreeSet<&'a ByteString>,
    /// The paths that are reported as kept or failed, with the reason.
    pub(super) remarks: BTreeMap<&'a ByteString, &'a str>,
    /// The units that are judged as units.
    pub(super) units: Vec<AffectedUnit>,
    /// Every unit.
    pub(super) all_units: Vec<Unit>,
}

impl<'a> RestoreOutcome<'a> {
    pub(super) fn new(
        world: &'a World,
        allowed: &'a AllowedRestore,
        seen: &'a Observation,
    ) -> Self {
        let stored = seen.held.as_deref().unwrap_or(&allowed.before.tree);
        let mut reported = BTreeSet::new();
        let mut remarks = BTreeMap::new();
        if let Answer::Restored(restored) = &seen.answer {
            let kept = restored.kept.iter().chain(&restored.failed);
            remarks.extend(kept.map(|remark| (&remark.path, &remark.why[..])));
            reported.extend(remarks.keys().copied().chain(&restored.left));
        }
        let is_requested = |path: &[u8]| names(allowed, path);
        let units = restore_units::affected(world, allowed, &seen.files, &is_requested);
        let all_units = restore_units::units(world, &allowed.target, &allowed.before);
        let after = &seen.files;
        RestoreOutcome { world, allowed, after, stored, reported, remarks, units, all_units }
    }

    /// The node at a path before.
    pub(super) fn node_before(&self, path: &[u8]) -> Option<&Node> {
        self.world.files.get(&bytes::join(&self.allowed.project, path))
    }

    /// The node at a path afterwards.
    pub(super) fn node_after(&self, path: &[u8]) -> Option<&Node> {
        self.after.get(&bytes::join(&self.allowed.project, path))
    }

    pub(super) fn changed(&self, path: &[u8]) -> bool {
        self.node_before(path) != self.node_after(path)
    }

    /// Every path that the checkpoint records and that was requested.
    pub(super) fn recorded(&self) -> impl Iterator<Item = (&ByteString, &Entry)> {
        self.allowed.target.tree.iter().filter(|(path, _)| self.is_requested(path))
    }

    /// Whether a path was requested, or belongs to a unit of which any path was.
    pub(super) fn is_requested(&self, path: &[u8]) -> bool {
        names(self.allowed, path) || self.is_in_unit(&ByteString::from(path))
    }

    pub(super) fn is_as_recorded(&self, path: &[u8]) -> bool {
        let entry = self.allowed.target.tree.get(&ByteString::from(path));
        entry.is_some_and(|entry| self.node_after(path) == Some(&entry.node()))
    }

    fn was_captured(&self, path: &[u8]) -> bool {
        self.allowed.before.tree.contains_key(&ByteString::from(path))
    }

    /// Whether a path can be restored from a checkpoint as it was before. A forced restore continues
    /// without a pre-restore checkpoint, so that nothing need be held.
    pub(super) fn is_held(&self, path: &[u8]) -> bool {
        let path = ByteString::from(path);
        let before = self.allowed.before.tree.get(&path);
        before.is_some() && (self.allowed.is_forced() || self.stored.get(&path) == before)
    }

    /// Whether the store holds the node at a path before, whether or not it should.
    fn is_stored(&self, path: &[u8]) -> bool {
        let entry = self.stored.get(&ByteString::from(path));
        entry.is_some_and(|entry| Some(&entry.node()) == self.node_before(path))
    }

    /// Whether a path that the checkpoint does not have may be removed: it can be restored, and the
    /// checkpoint's own ignore files do not cover it.
    pub(super) fn is_expendable(&self, path: &[u8]) -> bool {
        let capturer = &self.world.capturer;
        let tree = &self.allowed.target.tree;
        let is_ignored = match self.all_units.iter().any(|unit| unit.has(path)) {
            true => capturer.member_ignored_by(tree, path),
            false => capturer.ignored_by(tree, path),
        };
        self.is_held(path) && !is_ignored
    }

    /// The nodes that prevented a file at `path`: a file in place of a directory above it, or everything
    /// in a directory at the path itself.
    pub(super) fn obstacles(&self, path: &[u8]) -> Vec<ByteString> {
        let above = bytes::ancestors(path)
            .find(|above| !matches!(self.node_before(above), Some(Node::Directory)));
        match above {
            Some(above) if self.node_before(above).is_some() => vec![ByteString::from(above)],
            Some(_) => Vec::new(),
            None => {
                let full = bytes::join(&self.allowed.project, path);
                let content = self.world.files.below(&full);
                let content = content.filter(|(_, node)| **node != Node::Directory);
                content
                    .filter_map(|(full, _)| below(&self.allowed.project, full))
                    .map(ByteString::from)
                    .collect()
            }
        }
    }

    /// Whether a path could not be restored without losing something that no checkpoint holds.
    ///
    /// Implements [`rules::RESTORE_PROTECTS`].
    pub(super) fn would_lose(&self, path: &[u8]) -> bool {
        let at_the_path = match self.node_before(path) {
            None | Some(Node::Directory) => false,
            Some(_) => !self.was_captured(path) && !self.is_stored(path),
        };
        at_the_path || self.obstacles(path).iter().any(|obstacle| !self.is_expendable(obstacle))
    }

    /// Whether a recorded path must be as recorded afterwards.
    fn must_be_restored(&self, path: &[u8]) -> bool {
        !self.would_lose(path) && !self.may_leave(path) && !self.is_lost_and_reported(path)
    }

    /// Whether a path cannot be restored from a damaged checkpoint, and it or a folder above it is
    /// reported.
    fn is_lost_and_reported(&self, path: &[u8]) -> bool {
        let covers =
            |reported: &&ByteString| ***reported == *path || below(reported, path).is_some();
        self.is_lost(path) && self.reported.iter().any(covers)
    }

    pub(super) fn is_lost(&self, path: &[u8]) -> bool {
        self.allowed.lost.contains(&ByteString::from(path))
    }

    /// Whether files created since that prevent a path may be left as well: no pre-restore checkpoint
    /// holds them.
    fn may_leave(&self, path: &[u8]) -> bool {
        let kept_nowhere = !self.world.has("restore.safety") && !self.removes();
        kept_nowhere && !self.obstacles(path).is_empty()
    }

    /// Paths without a directory at them, before or after, inside the project.
    fn paths(&self) -> BTreeSet<ByteString> {
        let relative = |files: &'a Files| {
            let below_project = files.below(&self.allowed.project);
            let counts = move |(full, node): &(&ByteString, &Node)| {
                **node != Node::Directory || self.is_in_repository(full)
            };
            below_project.filter(counts).filter_map(|(full, _)| below(&self.allowed.project, full))
        };
        let paths = relative(&self.world.files).chain(relative(self.after));
        paths.map(ByteString::from).collect()
    }

    /// Whether a path is in a repository and repositories are not captured: then no restore may change it.
    fn is_in_repository(&self, path: &[u8]) -> bool {
        self.world.has("capture.no_repositories") && untouched::is_in_repository(path)
    }

    /// Captured paths that the checkpoint does not have, and did not leave out.
    fn created_since(&self) -> impl Iterator<Item = &ByteString> {
        let target = &self.allowed.target.tree;
        let before = self.allowed.before.tree.keys();
        before.filter(|path| !target.contains_key(*path) && !self.was_left_out(path))
    }

    /// Whether the checkpoint left out a path that no pattern excludes.
    pub(super) fn was_left_out(&self, path: &[u8]) -> bool {
        self.allowed.target.has_unrecorded(path)
    }

    /// The paths that the checkpoint left out and that certainly changed since, or are gone.
    pub(super) fn differs_from_left_out(&self) -> impl Iterator<Item = &ByteString> {
        let unrecorded = self.allowed.target.unrecorded.iter();
        let unrecorded = unrecorded.filter(|(path, node)| self.differs_from(path, node));
        unrecorded.map(|(path, _)| path).filter(|path| !self.is_in_unit(path))
    }

    /// Whether the node at a path before the restore certainly differs from one that was left out. The
    /// right to read a file is not compared.
    pub(super) fn differs_from(&self, path: &ByteString, left_out: &Node) -> bool {
        match (left_out, self.node_before(path)) {
            (Node::File { content: left_out, .. }, Some(Node::File { content: current, .. })) => {
                // A change of a file that kept its size and time cannot be detected.
                let kept_its_time =
                    self.world.was_rewritten(&bytes::join(&self.allowed.project, path));
                left_out != current && !kept_its_time
            }
            (Node::Special(_), Some(Node::Special(_))) => false,
            (left_out, current) => Some(left_out) != current,
        }
    }

    /// Whether files created since are to be removed.
    pub(super) fn removes(&self) -> bool {
        self.allowed.exact && !self.allowed.is_forced()
    }
}

/// The paths that an honest report of a restore names.
impl RestoreOutcome<'_> {
    pub(super) fn restored(&self) -> BTreeSet<ByteString> {
        let is_restored = |(path, entry): &(&ByteString, &Entry)| {
            self.node_before(path) != Some(&entry.node()) && self.is_as_recorded(path)
        };
        self.recorded().filter(is_restored).map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn removed(&self) -> BTreeSet<ByteString> {
        let is_gone = |path: &ByteString| {
            !matches!(self.node_before(path), None | Some(Node::Directory))
                && matches!(self.node_after(path), None | Some(Node::Directory))
        };
        self.paths().into_iter().filter(is_gone).collect()
    }

    /// Whether a recorded path is not as recorded, and could be.
    pub(super) fn has_failed(&self, path: &ByteString) -> bool {
        self.allowed.target.tree.contains_key(path)
            && !self.is_as_recorded(path)
            && self.must_be_restored(path)
    }

    pub(super) fn kept(&self) -> BTreeSet<ByteString> {
        let missed =
            self.recorded().filter(|(path, _)| !self.is_as_recorded(path) && self.would_lose(path));
        let missed = missed.map(|(path, _)| path.clone());
        let ignored = |path: &&ByteString| {
            self.removes() && self.world.capturer.ignored_by(&self.allowed.target.tree, path)
        };
        missed.chain(self.created_since().filter(ignored).cloned()).collect()
    }

    /// Whether a path may be reported as kept: an uncaptured file already was as recorded, so that nothing
    /// is lost.
    pub(super) fn may_be_kept(&self, path: &ByteString) -> bool {
        let entry = self.allowed.target.tree.get(path);
        !self.was_captured(path)
            && entry.is_some_and(|entry| self.node_before(path) == Some(&entry.node()))
    }

    pub(super) fn left(&self) -> BTreeSet<ByteString> {
        // A hard link becomes executable with the other names of its file.
        let is_left = |path: &&ByteString| match (self.node_before(path), self.node_after(path)) {
            (Some(Node::File { content, .. }), Some(Node::File { content: current, .. })) => {
                content == current
            }
            _ => !self.changed(path),
        };
        self.created_since().filter(|path| !self.removes() && is_left(path)).cloned().collect()
    }
}

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
        for path in self.paths().into_iter().filter(is_single) {
            let is_gone = matches!(self.node_after(&path), None | Some(Node::Directory));
            let is_removed_obstacle = is_gone && removed_obstacles.contains(&path);
            if let Some(rule) = self.rule_against(&path, is_gone, is_removed_obstacle) {
                violations.push((rule, path));
            }
        }
        violations
    }

    /// The rule broken by a recorded path that is not as recorded.
    ///
    /// Implements [`rules::RESTORE_EXECUTABLE`], [`rules::RESTORE_TYPE`] and, where it is damaged,
    /// [`rules::RESTORE_HONEST`].
    fn not_restored(&self, path: &[u8], entry: &Entry) -> RuleRef {
        if self.is_lost(path) {
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
            return (self.changed(path) && !is_obstacle).then_some(rule);
        }
        if !self.changed(path) {
            let stays =
                self.removes() && !recorded && !self.was_left_out(path) && self.is_expendable(path);
            return stays.then_some(&rules::RESTORE_EXACT);
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
            () if created_since && gone && (is_obstacle || self.removes()) => {
                (!self.is_expendable(path)).then_some(&rules::RESTORE_PROTECTS)
            }
            () if gone && self.is_held(path) && self.is_derived(path) => None,
            () if created_since && self.is_held(path) => Some(&rules::RESTORE_LEAVES_NEW),
            () if self.is_in_repository(path) => Some(&rules::ISOLATION_USER_REPOSITORY),
            // Nothing is lost by it: a recorded file was restored under another name, or too many were.
            () if was_created && !recorded => Some(&rules::RESTORE_BYTES),
            () => Some(&rules::RESTORE_PROTECTS),
        }
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
            let unsaid = self.world.has("restore.report")
                && !answer.restored.contains(path)
                && !answer.failed.iter().any(|remark| remark.path == *path);
            let in_place = is_of_type(entry, self.node_after(path));
            let differs = self.changed(path) || unsaid && in_place;
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

/// Whether a request names a path: a request without a path names all; otherwise also those below it.
fn names(allowed: &AllowedRestore, path: &[u8]) -> bool {
    let names = |only: &ByteString| **only == *path || below(only, path).is_some();
    allowed.only.as_ref().is_none_or(names)
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
    let full = |path: &ByteString| ByteString(bytes::join(&allowed.project, path));
    let mut broken: Vec<(RuleRef, ByteString)> =
        violations.iter().map(|(rule, path)| (*rule, full(path))).collect();
    if outcome.matches_other_checkpoint(&violations, answer) {
        let rule: RuleRef = if allowed.evicting {
            &rules::RESTORE_SAFETY_KEEPS_TARGET
        } else {
            &rules::RESTORE_TARGET
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
                || outcome.removes() && outcome.is_expendable(&path) && !outcome.was_left_out(&path)
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
