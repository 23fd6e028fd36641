//! The state before and after one restore, the properties of its paths, and the paths that an honest
//! report names. Which rules a path breaks is decided in [`super::restore`] and [`super::restore_units`].

use super::restore_units::{self, AffectedUnit};
use super::untouched;
use crate::allowed::AllowedRestore;
use crate::answer::Answer;
use crate::bytes::{self, ByteString, below};
use crate::capture::Captured;
use crate::files::{Files, Node};
use crate::observation::Observation;
use crate::tree::{Entry, Tree};
use crate::unit::Unit;
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The state before and after one restore; paths are relative to its project.
pub(super) struct RestoreOutcome<'a> {
    pub(super) world: &'a World,
    pub(super) allowed: &'a AllowedRestore,
    after: &'a Files,
    /// What the store holds of the state before.
    stored: &'a Tree,
    /// Every path at which any two differ of the checkpoint, the state before, what the store holds of it
    /// and the state afterwards. At every other path nothing was to be done, and nothing was done.
    differing: BTreeSet<ByteString>,
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
        let changed = world.files.differences(after).into_iter();
        let changed = changed.filter_map(|found| below(&allowed.project, found.path));
        let of_tree = |tree: &'a Tree| tree.differences(&allowed.before.tree).into_iter();
        let of_trees = of_tree(&allowed.target.tree).chain(of_tree(stored));
        let of_trees = of_trees.map(|found| found.path.clone());
        let differing = changed.map(ByteString::from).chain(of_trees).collect();
        RestoreOutcome {
            world,
            allowed,
            after,
            stored,
            differing,
            reported,
            remarks,
            units,
            all_units,
        }
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

    /// Every differing path that the checkpoint records and that was requested.
    pub(super) fn recorded(&self) -> impl Iterator<Item = (&ByteString, &Entry)> {
        let target = &self.allowed.target.tree;
        let recorded = self.differing.iter().filter_map(|path| Some((path, target.get(path)?)));
        recorded.filter(|(path, _)| self.is_requested(path))
    }

    /// Whether a path was requested, or belongs to a unit of which any path was.
    pub(super) fn is_requested(&self, path: &[u8]) -> bool {
        names(self.allowed, path) || self.is_in_unit(&ByteString::from(path))
    }

    pub(super) fn is_as_recorded(&self, path: &[u8]) -> bool {
        let entry = self.allowed.target.tree.get(path);
        entry.is_some_and(|entry| self.node_after(path) == Some(&entry.node()))
    }

    pub(super) fn was_captured(&self, path: &[u8]) -> bool {
        self.allowed.before.tree.contains_key(path)
    }

    /// Whether a path can be restored from a checkpoint as it was before. A forced restore continues
    /// without a pre-restore checkpoint, so that nothing need be held.
    pub(super) fn is_held(&self, path: &[u8]) -> bool {
        let before = self.allowed.before.tree.get(path);
        before.is_some() && (self.allowed.is_forced() || self.stored.get(path) == before)
    }

    /// Whether the store holds the node at a path before, whether or not it should.
    pub(super) fn is_stored(&self, path: &[u8]) -> bool {
        let entry = self.stored.get(path);
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
    /// Implements [`crate::rules::RESTORE_PROTECTS`].
    pub(super) fn would_lose(&self, path: &[u8]) -> bool {
        let at_the_path = match self.node_before(path) {
            None | Some(Node::Directory) => false,
            Some(_) => !self.was_captured(path) && !self.is_stored(path),
        };
        at_the_path || self.obstacles(path).iter().any(|obstacle| !self.is_expendable(obstacle))
    }

    /// Whether a recorded path must be as recorded afterwards.
    pub(super) fn must_be_restored(&self, path: &[u8]) -> bool {
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
        self.allowed.lost.contains(path)
    }

    /// Whether files created since that prevent a path may be left as well: no pre-restore checkpoint
    /// holds them.
    fn may_leave(&self, path: &[u8]) -> bool {
        let kept_nowhere = !self.world.has("restore.safety") && !self.removes();
        kept_nowhere && !self.obstacles(path).is_empty()
    }

    /// Differing paths without a directory at them, before or after, inside the project.
    pub(super) fn paths(&self) -> impl Iterator<Item = &ByteString> {
        let counts = |path: &ByteString, node: Option<&Node>| match node {
            Some(Node::Directory) => {
                self.is_in_repository(&bytes::join(&self.allowed.project, path))
            }
            node => node.is_some(),
        };
        self.differing.iter().filter(move |path| {
            counts(path, self.node_before(path)) || counts(path, self.node_after(path))
        })
    }

    /// Whether a path is in a repository and repositories are not captured: then no restore may change it.
    pub(super) fn is_in_repository(&self, path: &[u8]) -> bool {
        self.world.has("capture.no_repositories") && untouched::is_in_repository(path)
    }

    /// Captured paths that the checkpoint does not have, and did not leave out.
    fn created_since(&self) -> impl Iterator<Item = &ByteString> {
        let target = &self.allowed.target.tree;
        let before = self.differing.iter().filter(|path| self.was_captured(path));
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

    /// Whether a file created since is to be removed: where a restore is undone, one that it brought and that
    /// did not change since.
    pub(super) fn removes_path(&self, path: &[u8]) -> bool {
        let AllowedRestore { made, before, .. } = self.allowed;
        let is_as_made = |made: &Arc<Captured>| made.tree.get(path) == before.tree.get(path);
        self.removes() && made.as_ref().is_none_or(is_as_made)
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
        self.paths().filter(|path| is_gone(path)).cloned().collect()
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
            self.removes_path(path)
                && self.world.capturer.ignored_by(&self.allowed.target.tree, path)
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
        self.created_since()
            .filter(|path| !self.removes_path(path) && is_left(path))
            .cloned()
            .collect()
    }
}

/// Whether a request names a path: a request without a path names all; otherwise also those below it.
pub(super) fn names(allowed: &AllowedRestore, path: &[u8]) -> bool {
    let names = |only: &ByteString| **only == *path || below(only, path).is_some();
    allowed.only.as_ref().is_none_or(names)
}
