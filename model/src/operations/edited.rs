//! Judges a request during which a user edited the project: files changed at one of its calls.
//!
//! A checkpoint must contain one version of each file, no matter which, and no file from outside the
//! project. A restore must lose nothing that was saved while it ran.

use crate::allowed::Allowed;
use crate::answer::{Answer, CheckpointOutcome};
use crate::bytes::{ByteString, below, join};
use crate::files::{Files, Node};
use crate::injected::Injected;
use crate::observation::Observation;
use crate::plain::plain;
use crate::request::Request;
use crate::rules;
use crate::store::content;
use crate::store::explain::{self, Wrong};
use crate::tree::{Entry, Tree};
use crate::verdict::{Checks, Judge, Kind, Mismatch};
use crate::world::World;
use std::collections::BTreeSet;

/// The edits of a project during a request.
struct ConcurrentEdits<'a> {
    project: ByteString,
    /// The files before the edits.
    before: &'a Files,
    /// The files after the edits.
    edited: &'a Files,
    /// Paths of folders and links that were added, moved or removed.
    moved: Vec<ByteString>,
}

impl World {
    /// The injection into a request of edits that changed the world's files to these.
    pub fn injection_of_edits(&self, request: &Request, edited: &Files) -> Injected {
        match self.moves_folder(request, edited) {
            _ if request.restores() => Injected::EditedRestore,
            true => Injected::Moved,
            false => Injected::Saved,
        }
    }

    /// Whether edits to these files add, move or remove a folder or a link during a request.
    pub(crate) fn moves_folder(&self, request: &Request, edited: &Files) -> bool {
        self.concurrent_edits(request, edited).is_some_and(|edits| !edits.moved.is_empty())
    }

    fn concurrent_edits<'a>(
        &'a self,
        request: &Request,
        edited: &'a Files,
    ) -> Option<ConcurrentEdits<'a>> {
        let project = self.canonical(request.dir()?)?;
        let before = &self.files;
        let is_folder_or_link =
            |node: Option<&Node>| matches!(node, Some(Node::Directory | Node::Link { .. }));
        let differences = before.differences(edited).into_iter();
        let moved = differences
            .filter(|found| is_folder_or_link(found.older) || is_folder_or_link(found.newer));
        let moved = moved.map(|found| found.path.clone()).collect();
        Some(ConcurrentEdits { project, before, edited, moved })
    }

    /// Compares the stored checkpoint and the files of a request during which files were edited to these.
    ///
    /// Implements [`rules::CAPTURE_STEADY`], [`rules::CAPTURE_CONTAINED`] and
    /// [`rules::RESTORE_KEEPS_SAVES`].
    pub fn compare_with_concurrent_edits(
        &self,
        allowed: &Allowed,
        seen: &Observation,
        edited: &Files,
    ) -> Checks {
        let mut checks = Checks::default();
        let Some(edits) = self.concurrent_edits(&seen.request, edited) else { return checks };
        if let Answer::Crashed(_) = seen.answer {
            return self.compare(allowed, seen);
        }
        match &seen.answer {
            _ if seen.request.restores() => self.compare_saves(&edits, seen, &mut checks),
            Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } => {
                let stored = seen.readable_histories();
                if let Some(commit) = stored.and_then(|stored| stored.commits.get(id)) {
                    self.compare_versions(&edits, seen, &commit.tree, &mut checks);
                }
            }
            _ => {}
        }
        edits.compare_outside(seen, &mut checks);
        checks
    }

    /// Compares whether every captured file is one of its versions, or left out and reported.
    fn compare_versions(
        &self,
        edits: &ConcurrentEdits<'_>,
        seen: &Observation,
        tree: &Tree,
        checks: &mut Checks,
    ) {
        let Answer::Taken { skipped, .. } = &seen.answer else { return };
        let mut edited_world = self.clone();
        edited_world.files.clone_from(edits.edited);
        let captured = self.capture(&edits.project);
        let before = &captured.tree;
        let after = &edited_world.capture(&edits.project).tree;
        let is_version = |path: &ByteString, entry: Option<&Entry>| {
            before.get(path) == entry || after.get(path) == entry
        };
        let comes_from_outside = |(path, entry): &(&ByteString, &Entry)| {
            !is_version(path, Some(entry)) && edits.is_outside(entry)
        };
        let outside = tree.iter().find(comes_from_outside).map(|(path, _)| path);
        checks.check(Judge::Git, &rules::CAPTURE_CONTAINED, outside.is_none(), || {
            let found = format!("a file from outside the project: {}", plain(&outside));
            Mismatch::new("captured from outside", "no file from outside the project", found)
        });
        let is_reported = |path: &ByteString| skipped.iter().any(|remark| remark.path == *path);
        let paths: BTreeSet<&ByteString> =
            before.keys().chain(after.keys()).chain(tree.keys()).collect();
        let is_torn = |path: &&&ByteString| {
            let entry = tree.get(**path);
            let is_left_out = entry.is_none() && is_reported(path);
            !(edits.is_moved(path) || is_version(path, entry) || is_left_out)
        };
        let is_unedited = |path: &&&ByteString| before.get(**path) == after.get(**path);
        let mut torn: Vec<&ByteString> = paths.iter().filter(is_torn).copied().collect();
        // A path without an edit may be wrong for another reason.
        let entry = |path: &&ByteString| ((*path).clone(), tree.get(*path).cloned());
        let wrong: Vec<Wrong> = torn.iter().filter(is_unedited).map(entry).collect();
        let other_rule = explain::rule_for(&captured, &wrong);
        if !wrong.is_empty() && explain::is_specific(other_rule) {
            checks.check(Judge::Git, other_rule, false, || content::mismatch(&captured, &wrong));
            torn.retain(|path| !is_unedited(&path));
        }
        checks.check(Judge::Git, &rules::CAPTURE_STEADY, torn.is_empty(), || {
            let found = format!("neither, and not left out: {}", plain(&torn.first()));
            Mismatch::new("neither version", "each file as it was, or as it was saved", found)
        });
    }

    /// Compares whether every saved file exists, or is held by a checkpoint.
    fn compare_saves(&self, edits: &ConcurrentEdits<'_>, seen: &Observation, checks: &mut Checks) {
        if !self.has("restore.safety") {
            return;
        }
        let stored = seen.histories.as_ref().filter(|stored| stored.unreadable.is_none());
        let Some(stored) = stored else { return };
        let is_inside = |path: &ByteString| below(&edits.project, path).is_some();
        let saved = edits.before.differences(edits.edited).into_iter();
        let saved = saved.filter(|found| is_inside(found.path));
        let saved = saved.filter_map(|found| Some((found.path, found.newer?)));
        // Under any name: its folder may have been moved meanwhile.
        let is_held = |node: &Node| {
            let holds = |tree: &Tree| tree.values().any(|entry| entry.node() == *node);
            seen.files.iter().any(|(_, found)| found == node)
                || stored.commits.values().any(|commit| holds(&commit.tree))
        };
        let is_lost =
            |(_, node): &(&ByteString, &Node)| matches!(node, Node::File { .. }) && !is_held(node);
        let lost: Vec<&ByteString> = saved.filter(is_lost).map(|(path, _)| path).collect();
        checks.check(Judge::Disk, &rules::RESTORE_KEEPS_SAVES, lost.is_empty(), || {
            let found = format!("neither on the disk nor in a checkpoint: {}", plain(&lost));
            Mismatch::new(
                "a save is lost",
                "every saved file on the disk, or in a checkpoint",
                found,
            )
            .kind(Kind::Fail)
        });
    }
}

impl ConcurrentEdits<'_> {
    fn is_moved(&self, path: &[u8]) -> bool {
        let full = join(&self.project, path);
        self.moved.iter().any(|moved| moved[..] == full[..] || below(moved, &full).is_some())
    }

    /// Whether a file outside the project has the content of the entry.
    fn is_outside(&self, entry: &Entry) -> bool {
        let Entry::File { content, .. } = entry else { return false };
        let holds = |(path, node): (&ByteString, &Node)| {
            let has_content = matches!(node, Node::File { content: found, .. } if found == content);
            has_content && below(&self.project, path).is_none()
        };
        !content.is_empty() && self.edited.iter().any(holds)
    }

    /// Compares whether the request changed nothing outside the project.
    fn compare_outside(&self, seen: &Observation, checks: &mut Checks) {
        let is_outside =
            |path: &&ByteString| below(&self.project, path).is_none() && **path != self.project;
        let changed = self.edited.differences(&seen.files).into_iter().map(|found| found.path);
        let outside: Vec<&ByteString> = changed.filter(is_outside).collect();
        checks.check(Judge::Disk, &rules::RESTORE_CONTAINED, outside.is_empty(), || {
            let found = format!("changed: {}", plain(&outside));
            Mismatch::new("changes outside", "nothing outside the project changed", found)
        });
    }
}
