//! The correct behaviour of a restore: which checkpoint and path it means, whether it must be refused,
//! and whether it takes a pre-restore checkpoint.

use super::checkpoint::TOO_MANY_FILES;
use super::restore_units;
use super::target::{NOT_A_DIRECTORY, UNLISTED};
use crate::allowed::{Allowed, AllowedRestore, CheckpointKind};
use crate::answer::Code;
use crate::bytes::{self, ByteString};
use crate::capture::Captured;
use crate::excuse::Excuse;
use crate::files::Node;
use crate::place::{Location, PathKind};
use crate::refusal::Refusal;
use crate::request::Request;
use crate::rules::{self, RuleRef};
use crate::tree::Tree;
use crate::world::{Checkpoint, World};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The refusal of a path that the checkpoint does not have.
const NOT_IN_CHECKPOINT: Refusal =
    Refusal { codes: &[Code::NotInCheckpoint], rule: &rules::RESTORE_FILE_LITERAL };

/// The refusal of an undo or a redo.
const NOTHING_TO_UNDO: Refusal =
    Refusal { codes: &[Code::NothingToUndo], rule: &rules::RESTORE_UNDO_REDO };

/// The options of a restore.
#[derive(Clone, Default)]
struct RestoreOptions {
    exact: bool,
    force: bool,
    /// What the undone restore restored, if one is undone.
    made: Option<Arc<Captured>>,
}

/// A restore as requested.
struct RequestedRestore<'a> {
    checkpoint: &'a Checkpoint,
    /// The position of the checkpoint, oldest first, or [`UNLISTED`].
    index: usize,
    project: ByteString,
    /// What is at the path of the project.
    kind: PathKind,
    /// The path of a single file, if that is requested.
    only: Option<ByteString>,
}

impl World {
    /// Implements [`rules::RESTORE_TARGET`] together with [`World::find`].
    pub(super) fn allows_restore(
        &self,
        dir: &[u8],
        text: &[u8],
        exact: bool,
        force: bool,
    ) -> Allowed {
        let options = RestoreOptions { exact, force, made: None };
        self.prepare(dir, text, None, options).unwrap_or_else(Allowed::Refused)
    }

    /// The same for the most recent checkpoint.
    pub(super) fn allows_restore_latest(
        &self,
        request: &Request,
        dir: &[u8],
        exact: bool,
    ) -> Allowed {
        match self.target_of(request) {
            Some(newest) => self.allows_restore(dir, &newest, exact, false),
            None if self.canonical(dir).is_some_and(|dir| !self.listed(&dir).is_empty()) => {
                Allowed::Unknown(Excuse::Damage)
            }
            None => self.allows_restore(dir, b"", exact, false),
        }
    }

    /// Implements [`rules::RESTORE_FILE_LITERAL`]: the path is taken literally.
    pub(super) fn allows_restore_file(&self, dir: &[u8], text: &[u8], typed: &[u8]) -> Allowed {
        let options = RestoreOptions::default();
        self.prepare(dir, text, Some(typed), options).unwrap_or_else(Allowed::Refused)
    }

    /// An undo or a redo: a restore of the state before another restore.
    ///
    /// Implements [`rules::RESTORE_UNDO_REDO`] (decides).
    pub(super) fn allows_step(&self, request: &Request, dir: &[u8]) -> Allowed {
        let location = self.locate(dir);
        let undone = match self.undone(request) {
            Err(()) => return Allowed::Unknown(Excuse::Unobserved),
            Ok(undone) => undone.and_then(|undone| Some((undone, undone.before.as_ref()?))),
        };
        let Some((undone, before)) = undone else {
            return self.refuses_target(&location, NOTHING_TO_UNDO);
        };
        let options = RestoreOptions { exact: true, force: false, made: Some(undone.made.clone()) };
        let only = undone.only.as_deref();
        self.prepare(dir, before.as_bytes(), only, options).unwrap_or_else(|mut refusals| {
            refusals.push(NOTHING_TO_UNDO);
            Allowed::Refused(refusals)
        })
    }

    /// Finds the target, judges the path, and decides whether a pre-restore checkpoint is expected.
    ///
    /// Implements [`rules::RESTORE_DELETED_PROJECT`].
    fn prepare(
        &self,
        dir: &[u8],
        text: &[u8],
        typed: Option<&[u8]>,
        options: RestoreOptions,
    ) -> Result<Allowed, Vec<Refusal>> {
        let RestoreOptions { exact, force, made } = options;
        if let Some(excuse) = self.doubt(&self.locate(dir), text) {
            return Ok(Allowed::Unknown(excuse));
        }
        let requested = self.requested_restore(dir, text, typed)?;
        let RequestedRestore { checkpoint, index, ref project, kind, .. } = requested;
        let Some(target) = checkpoint.captured.clone() else {
            return Ok(Allowed::Unknown(Excuse::Unobserved));
        };
        let lost = self.lost_paths(checkpoint);
        let damaged = self.is_damaged_for(&requested, &target, &lost);
        let before = match kind {
            PathKind::Directory => self.capture(project),
            _ => Arc::default(),
        };
        let mut may_refuse = Vec::new();
        let brings = |path: &ByteString| made.is_none() || self.is_in(&target.tree, path);
        if let Some(path) = requested.only.as_ref().filter(|path| brings(path)) {
            let units = restore_units::units(self, &target, &before);
            if units.iter().any(|unit| unit.has(path)) {
                let codes = &[Code::WouldOverwrite];
                may_refuse.push(Refusal { codes, rule: &rules::UNIT_RESTORED });
            }
            match self.judge_file(project, &target.tree, &before, path) {
                // Either of the two reasons is correct.
                Err(_) if damaged => return Ok(Allowed::Unknown(Excuse::Damage)),
                judged => may_refuse.extend(judged?),
            }
        }
        // Where both prevent the restore, either reason is correct.
        let safety = self.expected_safety(&requested, &before, force);
        if damaged && safety.is_err() {
            return Ok(Allowed::Unknown(Excuse::Damage));
        }
        let safety = safety.map_err(|refusals| [may_refuse.clone(), refusals].concat())?;
        // The limit is about checkpoints; a restore without a pre-restore checkpoint may obey it as well.
        let crowded = before.tree.len() > self.settings.max_files && !force;
        may_refuse.extend(crowded.then_some(TOO_MANY_FILES));
        let has_room = self.history(project).len() < self.settings.max_snapshots;
        Ok(Allowed::Restore(Box::new(AllowedRestore {
            exceeds_limit: self.is_over_limit(project, index),
            unlisted: index == UNLISTED,
            exact,
            made,
            target,
            safety,
            may_skip_pre_restore: self.may_skip_pre_restore(&requested, &before),
            may_take_pre_restore: self.is_newest_damaged(project),
            before,
            may_refuse,
            undo: checkpoint.safety,
            deleted: kind == PathKind::Missing,
            evicting: safety.0 && !has_room && index == 0,
            damaged,
            lost,
            project: requested.project,
            only: requested.only,
        })))
    }

    /// Whether a restore needs anything that is lost. A single file needs nothing that is lost elsewhere in its
    /// checkpoint; it need not be known that a damaged checkpoint does not hold it.
    fn is_damaged_for(
        &self,
        requested: &RequestedRestore<'_>,
        target: &Captured,
        lost: &BTreeSet<ByteString>,
    ) -> bool {
        match &requested.only {
            Some(only) if self.is_in(&target.tree, only) => {
                let units = restore_units::units(self, target, &Captured::default());
                let is_with_it = |path: &ByteString| {
                    path == only
                        || bytes::below(only, path).is_some()
                        || units.iter().any(|unit| unit.has(path) && unit.has(only))
                };
                lost.iter().any(is_with_it)
            }
            _ => self.is_damaged(requested.checkpoint),
        }
    }

    /// The restore that a request means, or the refusals of which any is correct.
    fn requested_restore(
        &self,
        dir: &[u8],
        text: &[u8],
        typed: Option<&[u8]>,
    ) -> Result<RequestedRestore<'_>, Vec<Refusal>> {
        let location = self.locate(dir);
        let found = self.find(&location, text);
        let project = self.canonical(dir).unwrap_or_default();
        let path = typed.map(|typed| self.literal_path(&project, typed)).transpose();
        let (found, only) = match (found, path) {
            (Ok(found), Ok(path)) => (found, path),
            (found, path) => {
                let through_link = path.as_ref().is_ok_and(|path| {
                    path.as_ref().is_some_and(|path| self.leads_through_link(&project, path))
                });
                // The target of the link is not judged before a checkpoint is found.
                let link_refusal = through_link.then(|| bad_path(&[Code::BadPath]));
                let location_refusal = self.refuses_location(&location);
                let refusals = [found.err(), path.err(), link_refusal, location_refusal];
                return Err(refusals.into_iter().flatten().collect());
            }
        };
        let ((index, checkpoint), Location::Inside(project, kind)) = (found, location) else {
            // Only a location inside the world has checkpoints.
            return Err(vec![]);
        };
        if kind == PathKind::NotADirectory {
            let target = checkpoint.captured.as_ref().map(|target| &target.tree);
            let has = |path| target.is_some_and(|target| self.is_in(target, path));
            let absent = only.as_ref().is_some_and(|path| !has(path)).then_some(NOT_IN_CHECKPOINT);
            return Err([NOT_A_DIRECTORY].into_iter().chain(absent).collect());
        }
        Ok(RequestedRestore { checkpoint, index, project, kind, only })
    }

    fn is_newest_damaged(&self, project: &[u8]) -> bool {
        self.newest(project).is_some_and(|newest| self.is_damaged(newest))
    }

    /// Whether an existing checkpoint may represent the state before a restore, so that no pre-restore
    /// checkpoint is needed.
    fn may_skip_pre_restore(&self, requested: &RequestedRestore<'_>, before: &Captured) -> bool {
        // Where only permissions changed, the newest checkpoint may represent this state.
        let may_represent = |newest: &Option<Arc<Captured>>| {
            newest.as_ref().is_none_or(|newest| {
                newest.tree == before.tree
                    || newest.tree == before.without_units_left_out_by(newest).tree
            })
        };
        // A restore of a single file does not change the agent's state, which need not be held then.
        let may_represent_state = |newest: &Checkpoint| {
            let differs = requested.only.is_none() && self.is_state_of(newest) == Some(false);
            may_represent(&newest.captured) && !differs
        };
        let mut history = self.history(&requested.project).iter();
        self.newest(&requested.project).is_some_and(may_represent_state)
            || self.is_newest_damaged(&requested.project)
                && history.any(|checkpoint| may_represent(&checkpoint.captured))
    }

    /// Whether a pre-restore checkpoint is taken, and the rule that says so.
    ///
    /// Implements [`rules::RESTORE_SAFETY_CHECKPOINT`], [`rules::RESTORE_SAFETY_SKIPPED`] and
    /// [`rules::RESTORE_SAFETY_REQUIRED`].
    fn expected_safety(
        &self,
        requested: &RequestedRestore<'_>,
        before: &Captured,
        force: bool,
    ) -> Result<(bool, RuleRef), Vec<Refusal>> {
        let RequestedRestore { project, only, kind, .. } = requested;
        let skipped: (bool, RuleRef) = (false, &rules::RESTORE_SAFETY_SKIPPED);
        let takes_checkpoint =
            self.has("restore.safety") && (only.is_none() || self.has("restore.file_safety"));
        if *kind == PathKind::Missing || !takes_checkpoint {
            return Ok(skipped);
        }
        if before.tree.len() > self.settings.max_files {
            let codes = &[Code::NoSafetyCheckpoint, Code::TooManyFiles];
            let refusal = Refusal { codes, rule: &rules::RESTORE_SAFETY_REQUIRED };
            return if force { Ok((false, refusal.rule)) } else { Err(vec![refusal]) };
        }
        // Where the newest checkpoint already holds this state, it undoes the restore.
        Ok(match self.expected_kind(project, before, true).0 {
            CheckpointKind::Created => (true, &rules::RESTORE_SAFETY_CHECKPOINT),
            _ => skipped,
        })
    }

    /// The project-relative path that a typed one names, without meaningless components.
    ///
    /// Implements [`rules::RESTORE_BAD_PATH`].
    pub(crate) fn literal_path(&self, project: &[u8], typed: &[u8]) -> Result<ByteString, Refusal> {
        let refused = bad_path(&[Code::BadPath]);
        if typed.is_empty() || typed.starts_with(b"/") || typed.contains(&0) {
            return Err(refused);
        }
        let is_name = |name: &&[u8]| !matches!(*name, b"" | b".");
        let mut names: Vec<&[u8]> = typed.split(|byte| *byte == b'/').filter(is_name).collect();
        // `name/..` is the folder of `name`, except where `name` is a link, which leads elsewhere.
        while let Some(index) = names.iter().position(|name| *name == b"..") {
            let before = bytes::join(project, &names[..index].join(&b'/'));
            if index == 0 || matches!(self.files.get(&before), Some(Node::Link { .. })) {
                return Err(refused);
            }
            names.drain(index - 1..=index);
        }
        if names.is_empty() {
            return Err(bad_path(&[Code::BadPath, Code::NotInCheckpoint]));
        }
        Ok(ByteString::from(names.join(&b'/')))
    }

    /// Whether a link at a path of the project leads out of the project.
    fn leads_out(&self, project: &[u8], path: &[u8]) -> bool {
        let full = self.absolute(&bytes::join(project, path));
        let is_inside =
            |target: &ByteString| **target == *project || bytes::below(project, target).is_some();
        !self.canonical(&full).as_ref().is_some_and(is_inside)
    }

    /// Whether a path is a directory of the checkpoint, and the implementation restores those.
    fn is_directory_of(&self, target: &Tree, path: &[u8]) -> bool {
        self.has("restore.directory")
            && target.keys().any(|recorded| bytes::below(path, recorded).is_some())
    }

    /// Whether a checkpoint has something to restore at a path.
    fn is_in(&self, target: &Tree, path: &ByteString) -> bool {
        target.contains_key(path) || self.is_directory_of(target, path)
    }

    /// Whether a link is at a path or above it.
    fn leads_through_link(&self, project: &[u8], path: &[u8]) -> bool {
        let is_link = |path: &[u8]| {
            matches!(self.files.get(&bytes::join(project, path)), Some(Node::Link { .. }))
        };
        is_link(path) || bytes::ancestors(path).any(is_link)
    }

    /// Whether a single file can be restored without changing any other path. Where an uncaptured file
    /// would be lost, a refusal for that is allowed as well.
    ///
    /// Implements [`rules::RESTORE_BAD_PATH`] where links are concerned.
    fn judge_file(
        &self,
        project: &[u8],
        target: &Tree,
        before: &Captured,
        path: &ByteString,
    ) -> Result<Option<Refusal>, Vec<Refusal>> {
        let refused = |codes, rule| Err(vec![Refusal { codes, rule }]);
        let node = |path: &[u8]| self.files.get(&bytes::join(project, path));
        for ancestor in bytes::ancestors(path) {
            match node(ancestor) {
                None => break,
                Some(Node::Directory) => {}
                // A link that stays in the project does not lead out, but is an obstacle.
                Some(Node::Link { .. }) if self.leads_out(project, ancestor) => {
                    return Err(vec![bad_path(&[Code::BadPath, Code::NotInCheckpoint])]);
                }
                Some(Node::Link { .. }) if !target.contains_key(path) => {
                    let codes = &[Code::NotInCheckpoint, Code::BadPath];
                    return refused(codes, &rules::RESTORE_FILE_LITERAL);
                }
                Some(_) => {
                    let codes = &[Code::WouldOverwrite, Code::NotInCheckpoint, Code::BadPath];
                    return refused(codes, &rules::RESTORE_FILE_ONLY);
                }
            }
        }
        if !self.is_in(target, path) {
            return Err(vec![NOT_IN_CHECKPOINT]);
        }
        let codes = &[Code::WouldOverwrite];
        match node(path) {
            Some(Node::Directory) if target.contains_key(path) => {
                let mut below = self.files.below(&bytes::join(project, path));
                match below.any(|(_, node)| *node != Node::Directory) {
                    true => refused(codes, &rules::RESTORE_FILE_ONLY),
                    false => Ok(None),
                }
            }
            Some(_) if !before.tree.contains_key(path) => {
                Ok(Some(Refusal { codes, rule: &rules::RESTORE_PROTECTS }))
            }
            _ => Ok(None),
        }
    }
}

fn bad_path(codes: &'static [Code]) -> Refusal {
    Refusal { codes, rule: &rules::RESTORE_BAD_PATH }
}
