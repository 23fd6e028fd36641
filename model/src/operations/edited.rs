//! A request beside which somebody edited the project: at one of its calls files became others.
//!
//! A checkpoint holds one version of each file, and nothing from outside; a restore loses nothing that
//! was saved meanwhile. Which of the versions it is, nobody decides.

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

/// A request, and the files of its project around it.
struct Beside<'a> {
    project: ByteString,
    before: &'a Files,
    /// Once they were edited.
    edited: &'a Files,
    /// Paths below which a folder came or went.
    moved: Vec<ByteString>,
}

impl World {
    /// What edits made these files of the world's during a request are to it.
    pub fn beside(&self, request: &Request, edited: &Files) -> Injected {
        match self.moves_folder(request, edited) {
            _ if request.restores() => Injected::EditedRestore,
            true => Injected::Moved,
            false => Injected::Saved,
        }
    }

    /// Whether a folder or a link comes or goes where a request's files become these.
    pub(crate) fn moves_folder(&self, request: &Request, edited: &Files) -> bool {
        self.around_request(request, edited).is_some_and(|beside| !beside.moved.is_empty())
    }

    fn around_request<'a>(&'a self, request: &Request, edited: &'a Files) -> Option<Beside<'a>> {
        let project = self.canonical(request.dir()?)?;
        let before = &self.files;
        let paths: BTreeSet<&ByteString> =
            before.iter().chain(edited.iter()).map(|(path, _)| path).collect();
        let is_place =
            |node: Option<&Node>| matches!(node, Some(Node::Directory | Node::Link { .. }));
        let moves = |path: &&&ByteString| {
            let (was, is) = (before.get(path), edited.get(path));
            was != is && (is_place(was) || is_place(is))
        };
        let moved = paths.iter().filter(moves).map(|path| (**path).clone()).collect();
        Some(Beside { project, before, edited, moved })
    }

    /// Compares what was stored, and what became of files, beside edits that made these of them.
    ///
    /// Implements [`rules::CAPTURE_STEADY`], [`rules::CAPTURE_CONTAINED`] and
    /// [`rules::RESTORE_KEEPS_SAVES`].
    pub fn compare_beside(&self, allowed: &Allowed, seen: &Observation, edited: &Files) -> Checks {
        let mut checks = Checks::default();
        let Some(beside) = self.around_request(&seen.request, edited) else { return checks };
        if let Answer::Crashed(_) = seen.answer {
            return self.compare(allowed, seen);
        }
        match &seen.answer {
            _ if seen.request.restores() => self.compare_saves(&beside, seen, &mut checks),
            Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } => {
                let stored = seen.readable_histories();
                if let Some(commit) = stored.and_then(|stored| stored.commits.get(id)) {
                    self.compare_versions(&beside, seen, &commit.tree, &mut checks);
                }
            }
            _ => {}
        }
        beside.compare_outside(seen, &mut checks);
        checks
    }

    /// Every captured file is one of its versions, or left out and named.
    fn compare_versions(
        &self,
        beside: &Beside<'_>,
        seen: &Observation,
        tree: &Tree,
        checks: &mut Checks,
    ) {
        let Answer::Taken { skipped, .. } = &seen.answer else { return };
        let mut then = self.clone();
        then.files.clone_from(beside.edited);
        let captured = self.capture(&beside.project);
        let (before, after) = (&captured.tree, then.capture(&beside.project).tree);
        let is_version = |path: &ByteString, entry: Option<&Entry>| {
            before.get(path) == entry || after.get(path) == entry
        };
        let comes_from_outside = |(path, entry): &(&ByteString, &Entry)| {
            !is_version(path, Some(entry)) && beside.is_outside(entry)
        };
        let outside = tree.iter().find(comes_from_outside).map(|(path, _)| path);
        checks.check(Judge::Git, &rules::CAPTURE_CONTAINED, outside.is_none(), || {
            let found = format!("what stands outside the project: {}", plain(&outside));
            Mismatch::new("captured from outside", "nothing from outside the project", found)
        });
        let is_said = |path: &ByteString| skipped.iter().any(|remark| remark.path == *path);
        let paths: BTreeSet<&ByteString> =
            before.keys().chain(after.keys()).chain(tree.keys()).collect();
        let is_torn = |path: &&&ByteString| {
            let entry = tree.get(**path);
            let is_left_out = entry.is_none() && is_said(path);
            !(beside.is_moved(path) || is_version(path, entry) || is_left_out)
        };
        let is_alike = |path: &&&ByteString| before.get(**path) == after.get(**path);
        let mut torn: Vec<&ByteString> = paths.iter().filter(is_torn).copied().collect();
        // What no edit concerns may be wrong for a reason of its own.
        let entry = |path: &&ByteString| ((*path).clone(), tree.get(*path).cloned());
        let wrong: Vec<Wrong> = torn.iter().filter(is_alike).map(entry).collect();
        let own = explain::rule_for(&captured, &wrong);
        if !wrong.is_empty() && explain::is_specific(own) {
            checks.check(Judge::Git, own, false, || content::mismatch(&captured, &wrong));
            torn.retain(|path| !is_alike(&path));
        }
        checks.check(Judge::Git, &rules::CAPTURE_STEADY, torn.is_empty(), || {
            let found = format!("neither, and not left out: {}", plain(&torn.first()));
            Mismatch::new("no version", "each file as it was, or as it was saved", found)
        });
    }

    /// What was saved is there, or held by a checkpoint.
    fn compare_saves(&self, beside: &Beside<'_>, seen: &Observation, checks: &mut Checks) {
        if !self.has("restore.safety") {
            return;
        }
        let stored = seen.histories.as_ref().filter(|stored| stored.unreadable.is_none());
        let Some(stored) = stored else { return };
        let is_saved = |(path, node): &(&ByteString, &Node)| {
            let saved = matches!(node, Node::File { .. }) && beside.before.get(path) != Some(*node);
            saved && below(&beside.project, path).is_some()
        };
        // Under whatever name: the folder that it is in may have been moved meanwhile.
        let is_held = |node: &Node| {
            let holds = |tree: &Tree| tree.values().any(|one| one.node() == *node);
            seen.files.iter().any(|(_, one)| one == node)
                || stored.commits.values().any(|one| holds(&one.tree))
        };
        let saved = beside.edited.iter().filter(is_saved);
        let lost: Vec<&ByteString> =
            saved.filter(|(_, node)| !is_held(node)).map(|(path, _)| path).collect();
        checks.check(Judge::Disk, &rules::RESTORE_KEEPS_SAVES, lost.is_empty(), || {
            let found = format!("neither there nor in a checkpoint: {}", plain(&lost));
            Mismatch::new("a save is lost", "what was saved is there, or in a checkpoint", found)
                .kind(Kind::Fail)
        });
    }
}

impl Beside<'_> {
    fn is_moved(&self, inside: &[u8]) -> bool {
        let path = join(&self.project, inside);
        self.moved.iter().any(|moved| moved[..] == path[..] || below(moved, &path).is_some())
    }

    /// Whether that stands in a file outside the project.
    fn is_outside(&self, entry: &Entry) -> bool {
        let Entry::File { content, .. } = entry else { return false };
        let holds = |(path, node): (&ByteString, &Node)| {
            let is_it = matches!(node, Node::File { content: other, .. } if other == content);
            is_it && below(&self.project, path).is_none()
        };
        !content.is_empty() && self.edited.iter().any(holds)
    }

    /// Nothing outside the project changes but by the edits.
    fn compare_outside(&self, seen: &Observation, checks: &mut Checks) {
        let paths: BTreeSet<&ByteString> =
            self.edited.iter().chain(seen.files.iter()).map(|(path, _)| path).collect();
        let differs = |path: &&ByteString| {
            let is_inside = below(&self.project, path).is_some() || **path == self.project;
            !is_inside && self.edited.get(path) != seen.files.get(path)
        };
        let outside: Vec<&ByteString> = paths.into_iter().filter(differs).collect();
        checks.check(Judge::Disk, &rules::RESTORE_CONTAINED, outside.is_empty(), || {
            let found = format!("changed: {}", plain(&outside));
            Mismatch::new("changes outside", "nothing outside the project changed", found)
        });
    }
}
