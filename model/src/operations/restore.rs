//! What must hold once something was restored.
//!
//! No plan of a restore is made here. Each property is about the state before, the checkpoint, what
//! the store really holds of the state before, and the state afterwards; how a subject gets from
//! the one to the other is its own affair. Empty directories are nobody's concern.

use super::restore_units::{self, Affected};
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
pub(super) struct Outcome<'a> {
    pub(super) world: &'a World,
    pub(super) due: &'a AllowedRestore,
    after: &'a Files,
    /// What the store holds of the state before.
    held: &'a Tree,
    /// What is said not to be as recorded.
    pub(super) said: BTreeSet<&'a ByteString>,
    /// What is kept or failed, with the reason.
    pub(super) remarks: BTreeMap<&'a ByteString, &'a str>,
    /// The units that are judged as such.
    pub(super) units: Vec<Affected>,
    /// Every unit.
    pub(super) known_units: Vec<Unit>,
}

impl<'a> Outcome<'a> {
    pub(super) fn new(world: &'a World, due: &'a AllowedRestore, seen: &'a Observation) -> Self {
        let held = seen.held.as_deref().unwrap_or(&due.before.tree);
        let (mut said, mut remarks) = (BTreeSet::new(), BTreeMap::new());
        if let Answer::Restored(restored) = &seen.answer {
            let kept = restored.kept.iter().chain(&restored.failed);
            remarks.extend(kept.map(|remark| (&remark.path, &remark.why[..])));
            said.extend(remarks.keys().copied().chain(&restored.left));
        }
        let is_asked = |path: &[u8]| names(due, path);
        let units = restore_units::affected(world, due, &seen.files, &is_asked);
        let known_units = restore_units::units(world, &due.target, &due.before);
        Outcome { world, due, after: &seen.files, held, said, remarks, units, known_units }
    }

    /// What stood at a path before.
    pub(super) fn was(&self, path: &[u8]) -> Option<&Node> {
        self.world.files.get(&bytes::join(&self.due.project, path))
    }

    /// What stands there now.
    pub(super) fn is(&self, path: &[u8]) -> Option<&Node> {
        self.after.get(&bytes::join(&self.due.project, path))
    }

    pub(super) fn changed(&self, path: &[u8]) -> bool {
        self.was(path) != self.is(path)
    }

    /// Every path that the checkpoint records and that was asked for.
    pub(super) fn recorded(&self) -> impl Iterator<Item = (&ByteString, &Entry)> {
        self.due.target.tree.iter().filter(|(path, _)| self.is_asked(path))
    }

    /// Whether a path was asked for, or belongs to a unit of which any path was.
    pub(super) fn is_asked(&self, path: &[u8]) -> bool {
        names(self.due, path) || self.is_of_unit(&ByteString::from(path))
    }

    pub(super) fn is_as_recorded(&self, path: &[u8]) -> bool {
        let entry = self.due.target.tree.get(&ByteString::from(path));
        entry.is_some_and(|entry| self.is(path) == Some(&entry.node()))
    }

    fn was_captured(&self, path: &[u8]) -> bool {
        self.due.before.tree.contains_key(&ByteString::from(path))
    }

    /// Whether a path can be brought back from a checkpoint as it was before. A forced restore goes
    /// on without a pre-rollback checkpoint, so that nothing need be held.
    pub(super) fn is_held(&self, path: &[u8]) -> bool {
        let path = ByteString::from(path);
        let before = self.due.before.tree.get(&path);
        before.is_some() && (self.due.is_forced() || self.held.get(&path) == before)
    }

    /// Whether the store holds what stood at a path before, whether or not it should.
    fn is_stored(&self, path: &[u8]) -> bool {
        let entry = self.held.get(&ByteString::from(path));
        entry.is_some_and(|entry| Some(&entry.node()) == self.was(path))
    }

    /// Whether a path that the checkpoint does not have may be removed: it can be brought back, and
    /// the checkpoint's own ignore files do not cover it.
    pub(super) fn is_expendable(&self, path: &[u8]) -> bool {
        let (capturer, tree) = (&self.world.capturer, &self.due.target.tree);
        let is_ignored = match self.known_units.iter().any(|unit| unit.has(path)) {
            true => capturer.member_ignored_by(tree, path),
            false => capturer.ignored_by(tree, path),
        };
        self.is_held(path) && !is_ignored
    }

    /// What stood where a file at `path` leaves no room for it: a file in the place of a directory
    /// above it, or everything in a directory at its own.
    pub(super) fn obstacles(&self, path: &[u8]) -> Vec<ByteString> {
        let above =
            bytes::ancestors(path).find(|above| !matches!(self.was(above), Some(Node::Directory)));
        match above {
            Some(above) if self.was(above).is_some() => vec![ByteString::from(above)],
            Some(_) => Vec::new(),
            None => {
                let full = bytes::join(&self.due.project, path);
                let content = self.world.files.below(&full);
                let content = content.filter(|(_, node)| **node != Node::Directory);
                content
                    .filter_map(|(full, _)| below(&self.due.project, full))
                    .map(ByteString::from)
                    .collect()
            }
        }
    }

    /// Whether a path could not be brought back without losing something that no checkpoint holds.
    ///
    /// Implements [`rules::RESTORE_PROTECTS`].
    pub(super) fn would_lose(&self, path: &[u8]) -> bool {
        let at_the_path = match self.was(path) {
            None | Some(Node::Directory) => false,
            Some(_) => !self.was_captured(path) && !self.is_stored(path),
        };
        at_the_path || self.obstacles(path).iter().any(|obstacle| !self.is_expendable(obstacle))
    }

    /// Whether a recorded path must be as recorded afterwards.
    fn must_come_back(&self, path: &[u8]) -> bool {
        !self.would_lose(path) && !self.may_leave(path) && !self.is_lost_and_said(path)
    }

    /// Whether a path cannot be brought back from a damaged checkpoint, and that is said of it or of
    /// a folder that it is in.
    fn is_lost_and_said(&self, path: &[u8]) -> bool {
        let covers = |said: &&ByteString| ***said == *path || below(said, path).is_some();
        self.is_lost(path) && self.said.iter().any(covers)
    }

    pub(super) fn is_lost(&self, path: &[u8]) -> bool {
        self.due.lost.contains(&ByteString::from(path))
    }

    /// Whether files created since may as well be left, where they would have to go for a path: no
    /// checkpoint before the restore holds them.
    fn may_leave(&self, path: &[u8]) -> bool {
        let kept_nowhere = !self.world.has("restore.safety") && !self.removes();
        kept_nowhere && !self.obstacles(path).is_empty()
    }

    /// Paths without a directory at them, before or after, inside the project.
    fn paths(&self) -> BTreeSet<ByteString> {
        let relative = |files: &'a Files| {
            let below_project = files.below(&self.due.project);
            let counts = move |(full, node): &(&ByteString, &Node)| {
                **node != Node::Directory || self.is_in_repository(full)
            };
            below_project.filter(counts).filter_map(|(full, _)| below(&self.due.project, full))
        };
        let both = relative(&self.world.files).chain(relative(self.after));
        both.map(ByteString::from).collect()
    }

    /// Repositories are nobody's to tidy, unless they are captured like everything else.
    fn is_in_repository(&self, path: &[u8]) -> bool {
        self.world.has("capture.no_repositories") && untouched::is_in_repository(path)
    }

    /// Captured paths that the checkpoint does not have, and did not leave out.
    fn created_since(&self) -> impl Iterator<Item = &ByteString> {
        let target = &self.due.target.tree;
        let before = self.due.before.tree.keys();
        before.filter(|path| !target.contains_key(*path) && !self.was_left_out(path))
    }

    /// Whether the checkpoint left a path out, though no pattern excludes it.
    pub(super) fn was_left_out(&self, path: &[u8]) -> bool {
        self.due.target.has_unrecorded(path)
    }

    /// What the checkpoint left out and is certainly something else now, or gone.
    pub(super) fn differs_from_left_out(&self) -> impl Iterator<Item = &ByteString> {
        let unrecorded = self.due.target.unrecorded.iter();
        let unrecorded = unrecorded.filter(|(path, then)| self.differs_from(path, then));
        unrecorded.map(|(path, _)| path).filter(|path| !self.is_of_unit(path))
    }

    /// Whether something that was left out is certainly something else now. Who may read a file is no
    /// difference.
    pub(super) fn differs_from(&self, path: &ByteString, then: &Node) -> bool {
        match (then, self.was(path)) {
            (Node::File { content: then, .. }, Some(Node::File { content: now, .. })) => {
                // Of a file that kept its size and time nobody knows that it changed.
                let kept_its_time = self.world.was_rewritten(&bytes::join(&self.due.project, path));
                then != now && !kept_its_time
            }
            (Node::Special(_), Some(Node::Special(_))) => false,
            (then, now) => Some(then) != now,
        }
    }

    /// Whether files created since are to be removed.
    pub(super) fn removes(&self) -> bool {
        self.due.exact && !self.due.is_forced()
    }
}

/// What a true report of a restore names.
impl Outcome<'_> {
    pub(super) fn restored(&self) -> BTreeSet<ByteString> {
        let came_back = |(path, entry): &(&ByteString, &Entry)| {
            self.was(path) != Some(&entry.node()) && self.is_as_recorded(path)
        };
        self.recorded().filter(came_back).map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn removed(&self) -> BTreeSet<ByteString> {
        let is_gone = |path: &ByteString| {
            !matches!(self.was(path), None | Some(Node::Directory))
                && matches!(self.is(path), None | Some(Node::Directory))
        };
        self.paths().into_iter().filter(is_gone).collect()
    }

    /// Whether a recorded path is not as recorded, and could be.
    pub(super) fn has_failed(&self, path: &ByteString) -> bool {
        self.due.target.tree.contains_key(path)
            && !self.is_as_recorded(path)
            && self.must_come_back(path)
    }

    pub(super) fn kept(&self) -> BTreeSet<ByteString> {
        let missed =
            self.recorded().filter(|(path, _)| !self.is_as_recorded(path) && self.would_lose(path));
        let missed = missed.map(|(path, _)| path.clone());
        let ignored = |path: &&ByteString| {
            self.removes() && self.world.capturer.ignored_by(&self.due.target.tree, path)
        };
        missed.chain(self.created_since().filter(ignored).cloned()).collect()
    }

    /// Uncaptured content that already was what it should be is lost neither way.
    pub(super) fn may_be_kept(&self, path: &ByteString) -> bool {
        let entry = self.due.target.tree.get(path);
        !self.was_captured(path) && entry.is_some_and(|one| self.was(path) == Some(&one.node()))
    }

    pub(super) fn left(&self) -> BTreeSet<ByteString> {
        // A file whose other name became executable became so, too.
        let stands = |path: &&ByteString| match (self.was(path), self.is(path)) {
            (Some(Node::File { content, .. }), Some(Node::File { content: now, .. })) => {
                content == now
            }
            _ => !self.changed(path),
        };
        self.created_since().filter(|path| !self.removes() && stands(path)).cloned().collect()
    }
}

impl Outcome<'_> {
    /// The paths that are not as they must be, each with the rule that says so.
    ///
    /// Implements [`rules::RESTORE_BYTES`], [`rules::RESTORE_EXACT`], [`rules::RESTORE_LEAVES_NEW`],
    /// [`rules::RESTORE_LEFT_OUT`] and [`rules::RESTORE_FILE_ONLY`].
    fn wrong(&self) -> Vec<(RuleRef, ByteString)> {
        let mut wrong: Vec<(RuleRef, ByteString)> = Vec::new();
        let by_itself = |path: &ByteString| !self.is_of_unit(path);
        for (path, entry) in self.recorded().filter(|(path, _)| by_itself(path)) {
            if !self.is_as_recorded(path) && self.must_come_back(path) {
                wrong.push((self.not_restored(path, entry), path.clone()));
            }
        }
        let makes_room: BTreeSet<ByteString> = self
            .recorded()
            .filter(|(path, _)| self.is_as_recorded(path))
            .flat_map(|(path, _)| self.obstacles(path))
            .collect();
        for path in self.paths().into_iter().filter(by_itself) {
            let gone = matches!(self.is(&path), None | Some(Node::Directory));
            let room = gone && makes_room.contains(&path);
            if let Some(rule) = self.rule_against(&path, gone, room) {
                wrong.push((rule, path));
            }
        }
        wrong
    }

    /// The rule broken where a recorded path is not as recorded.
    ///
    /// Implements [`rules::RESTORE_EXECUTABLE`], [`rules::RESTORE_TYPE`] and, where it is damaged,
    /// [`rules::RESTORE_HONEST`].
    fn not_restored(&self, path: &[u8], entry: &Entry) -> RuleRef {
        if self.is_lost(path) {
            return &rules::RESTORE_HONEST;
        }
        let in_the_way = |above: &[u8]| !matches!(self.is(above), None | Some(Node::Directory));
        match (entry, self.is(path)) {
            (Entry::File { content, .. }, Some(Node::File { content: other, .. })) => {
                if content == other { &rules::RESTORE_EXECUTABLE } else { &rules::RESTORE_BYTES }
            }
            (Entry::File { .. }, None) if !bytes::ancestors(path).any(in_the_way) => {
                &rules::RESTORE_BYTES
            }
            _ => &rules::RESTORE_TYPE,
        }
    }

    /// The rule that a path breaks which is not to be brought back, if any.
    fn rule_against(&self, path: &ByteString, gone: bool, makes_room: bool) -> Option<RuleRef> {
        let recorded = self.due.target.tree.contains_key(path);
        if let Some(only) = self.due.only.as_ref().filter(|_| !self.is_asked(path)) {
            // A path that means more to git may have been taken for that.
            let is_pattern = only.starts_with(b":") || only.iter().any(|one| b"*?[".contains(one));
            let rule: RuleRef =
                if is_pattern { &rules::RESTORE_FILE_LITERAL } else { &rules::RESTORE_FILE_ONLY };
            return (self.changed(path) && !makes_room).then_some(rule);
        }
        if !self.changed(path) {
            let stays =
                self.removes() && !recorded && !self.was_left_out(path) && self.is_expendable(path);
            return stays.then_some(&rules::RESTORE_EXACT);
        }
        let created_since = self.was_captured(path) && !recorded;
        let held_nothing = matches!(self.was(path), None | Some(Node::Directory));
        // What was not there, and was left out when the rest was captured, comes from a capture that
        // did not leave it out.
        let came = held_nothing && self.is(path).is_some();
        let left_out = explain::why_left_out(&self.due.target, path).filter(|_| came);
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
            () if created_since && gone && (makes_room || self.removes()) => {
                (!self.is_expendable(path)).then_some(&rules::RESTORE_PROTECTS)
            }
            () if gone && self.is_held(path) && self.is_derived(path) => None,
            () if created_since && self.is_held(path) => Some(&rules::RESTORE_LEAVES_NEW),
            () if self.is_in_repository(path) => Some(&rules::ISOLATION_USER_REPOSITORY),
            // Nothing is lost by it: what was recorded came back under another name, or more did.
            () if came && !recorded => Some(&rules::RESTORE_BYTES),
            () => Some(&rules::RESTORE_PROTECTS),
        }
    }

    /// Whether all that is wrong is as another checkpoint has it.
    ///
    /// Implements [`rules::RESTORE_TARGET`] and [`rules::RESTORE_SAFETY_KEEPS_TARGET`].
    fn is_of_another(&self, wrong: &[(RuleRef, ByteString)], said: &Restored) -> bool {
        // A path that did not change although it is reported as restored was missed, nothing more;
        // so was one that something of another type still stands in the way of. A link that did not
        // come back may never have been captured: a store that keeps files alone loses it at once. Of a
        // file that kept its time the change may have been missed when the checkpoint was taken.
        let tells = |path: &ByteString| {
            let Some(entry) = self.due.target.tree.get(path) else { return false };
            let lost_link = matches!(entry, Entry::Link { .. }) && self.is(path).is_none();
            let unsaid = self.world.has("restore.report")
                && !said.restored.contains(path)
                && !said.failed.iter().any(|one| one.path == *path);
            let in_place = is_of_type(entry, self.is(path));
            let differs = self.changed(path) || unsaid && in_place;
            let was_rewritten = self.world.was_rewritten(&bytes::join(&self.due.project, path));
            !self.would_lose(path) && !lost_link && !was_rewritten && differs
        };
        let listed = self.world.listed(&self.due.project).iter();
        let others = listed.filter_map(|one| one.captured.as_ref()).map(|one| &one.tree);
        !self.due.damaged
            && wrong.iter().any(|(_, path)| tells(path))
            && others.filter(|tree| **tree != self.due.target.tree).any(|tree| {
                wrong.iter().all(|(_, path)| match tree.get(path) {
                    Some(entry) => self.is(path) == Some(&entry.node()),
                    // A directory may stand there for what the other has below it.
                    None => {
                        matches!(self.is(path), None | Some(Node::Directory)) || !self.changed(path)
                    }
                })
            })
    }
}

/// Whether a request names a path: all are where none is named, and those below one that is.
fn names(due: &AllowedRestore, path: &[u8]) -> bool {
    let names = |only: &ByteString| **only == *path || below(only, path).is_some();
    due.only.as_ref().is_none_or(names)
}

/// Whether nothing of another type stands where an entry belongs.
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
    due: &AllowedRestore,
    seen: &Observation,
    checks: &mut Checks,
) {
    let Answer::Restored(said) = &seen.answer else { return };
    let outcome = Outcome::new(world, due, seen);
    let wrong = outcome.wrong();
    let full = |path: &ByteString| ByteString(bytes::join(&due.project, path));
    let mut broken: Vec<(RuleRef, ByteString)> =
        wrong.iter().map(|(rule, path)| (*rule, full(path))).collect();
    if outcome.is_of_another(&wrong, said) {
        let rule: RuleRef =
            if due.evicting { &rules::RESTORE_SAFETY_KEEPS_TARGET } else { &rules::RESTORE_TARGET };
        broken.push((rule, full(&wrong[0].1)));
    }
    for path in untouched::differing(world, &seen.files) {
        if below(&due.project, &path).is_none() && !is_made_for(due, world, seen, &path) {
            broken.push((outside(due, world, seen, &path), path));
        }
    }
    broken.extend(outcome.wrong_units().into_iter().map(|(rule, path)| (rule, full(&path))));
    restore_files::blame_other_names(&outcome, seen, &mut broken);
    let expected = |path: &ByteString| {
        let inside = below(&due.project, path).map(ByteString::from);
        let entry = inside.as_ref().and_then(|path| due.target.tree.get(path));
        let removed = inside.is_some_and(|path| {
            outcome.is_of_unit(&path)
                || outcome.removes() && outcome.is_expendable(&path) && !outcome.was_left_out(&path)
        });
        match entry.map(Entry::node) {
            // Where a path is wrong because it came back, it should have stayed what it was.
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

/// Whether a path is a directory that the project needs to stand in.
fn is_made_for(due: &AllowedRestore, world: &World, seen: &Observation, path: &[u8]) -> bool {
    let leads_there = *path == *due.project || below(path, &due.project).is_some();
    leads_there && world.files.get(path).is_none() && seen.files.is_directory(path)
}

/// The rule broken by a change outside the project: what was meant for the project may have gone
/// astray, whatever else may not change there.
///
/// Implements [`rules::RESTORE_CONTAINED`].
fn outside(due: &AllowedRestore, world: &World, seen: &Observation, path: &[u8]) -> RuleRef {
    if world.is_log(path) {
        return external::rule_of_log(seen);
    }
    let found = seen.files.get(path);
    let astray = due.target.tree.values().any(|entry| found == Some(&entry.node()));
    let rule = untouched::rule_outside(world, path).filter(|_| !astray);
    rule.unwrap_or(&rules::RESTORE_CONTAINED)
}

/// Counts what a restore has put to the test.
fn count(outcome: &Outcome<'_>, checks: &mut Checks) {
    let due = outcome.due;
    for path in outcome.restored() {
        checks.held(&rules::RESTORE_BYTES, 1);
        let entry = &due.target.tree[&path];
        // What comes back as it was had been captured as it was.
        let despite = due.target.despite.get(&path).into_iter().flatten().copied();
        for rule in capture::content_rules(&path, entry).into_iter().chain(despite) {
            checks.held(rule, 1);
        }
        let before = due.before.tree.get(&path);
        if let (Entry::File { executable: now, .. }, Some(Entry::File { executable: was, .. })) =
            (entry, before)
            && now != was
        {
            checks.held(&rules::RESTORE_EXECUTABLE, 1);
        }
        let is_link = |entry: &Entry| matches!(entry, Entry::Link { .. });
        let was_directory = outcome.was(&path) == Some(&Node::Directory);
        if is_link(entry) || before.is_some_and(is_link) || was_directory {
            checks.held(&rules::RESTORE_TYPE, 1);
        }
    }
    // What was left out, is gone and does not come back was really left out.
    let is_nowhere = |path: &[u8]| outcome.was(path).is_none() && outcome.is(path).is_none();
    for (path, rule) in &due.target.left_out {
        checks.held(rule, u64::from(outcome.is_asked(path) && is_nowhere(path)));
    }
    checks.held(&rules::RESTORE_PROTECTS, outcome.kept().len() as u64);
    checks.held(&rules::RESTORE_LEAVES_NEW, outcome.left().len() as u64);
    checks.held(&rules::RESTORE_CONTAINED, 1);
    let removed = if due.exact { outcome.removed().len() as u64 } else { 0 };
    checks.held(&rules::RESTORE_EXACT, removed);
    for (holds, rule) in [
        (due.only.is_some(), &rules::RESTORE_FILE_ONLY),
        (due.undo, &rules::RESTORE_UNDO),
        (due.deleted, &rules::RESTORE_DELETED_PROJECT),
        (due.damaged, &rules::RESTORE_HONEST),
        (due.evicting, &rules::RESTORE_SAFETY_KEEPS_TARGET),
    ] {
        checks.held(rule, u64::from(holds));
    }
}
