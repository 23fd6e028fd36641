//! What a request for a restore may come to: which checkpoint and path it means, whether it must be
//! refused, and which pre-rollback checkpoint it takes.

use super::checkpoint::TOO_MANY_FILES;
use super::restore_units;
use super::target::{NOT_A_DIRECTORY, UNLISTED};
use crate::allowed::{Allowed, AllowedRestore, CheckpointKind};
use crate::answer::Code;
use crate::bytes::{self, ByteString};
use crate::capture::Captured;
use crate::files::Node;
use crate::place::{Place, Standing};
use crate::refusal::Refusal;
use crate::request::Request;
use crate::rules::{self, RuleRef};
use crate::tree::Tree;
use crate::world::{Checkpoint, World};
use std::sync::Arc;

/// The refusal of a path that the checkpoint does not have.
const NOT_IN_CHECKPOINT: Refusal =
    Refusal { codes: &[Code::NotInCheckpoint], rule: &rules::RESTORE_FILE_LITERAL };

impl World {
    /// Implements [`rules::RESTORE_TARGET`] together with [`World::find`].
    pub(super) fn allows_restore(
        &self,
        dir: &[u8],
        text: &[u8],
        exact: bool,
        force: bool,
    ) -> Allowed {
        self.prepare(dir, text, None, (exact, force)).unwrap_or_else(Allowed::Refused)
    }

    /// The same of the most recent checkpoint.
    pub(super) fn allows_restore_latest(
        &self,
        request: &Request,
        dir: &[u8],
        exact: bool,
    ) -> Allowed {
        match self.target_of(request) {
            Some(newest) => self.allows_restore(dir, &newest, exact, false),
            None if self.canonical(dir).is_some_and(|dir| !self.listed(&dir).is_empty()) => {
                Allowed::Unknown
            }
            None => self.allows_restore(dir, b"", exact, false),
        }
    }

    /// Implements [`rules::RESTORE_FILE_LITERAL`]: the path is taken as it stands.
    pub(super) fn allows_restore_file(&self, dir: &[u8], text: &[u8], typed: &[u8]) -> Allowed {
        self.prepare(dir, text, Some(typed), (false, false)).unwrap_or_else(Allowed::Refused)
    }

    /// Finds the target, judges the path, and says which pre-rollback checkpoint is due.
    ///
    /// Implements [`rules::RESTORE_DELETED_PROJECT`].
    fn prepare(
        &self,
        dir: &[u8],
        text: &[u8],
        typed: Option<&[u8]>,
        (exact, force): (bool, bool),
    ) -> Result<Allowed, Vec<Refusal>> {
        let place = self.locate(dir);
        if self.is_doubtful(&place, text) {
            return Ok(Allowed::Unknown);
        }
        let found = self.find(&place, text);
        let project = self.canonical(dir).unwrap_or_default();
        let path = typed.map(|typed| self.literal_path(&project, typed)).transpose();
        let (found, path) = match (found, path) {
            (Ok(found), Ok(path)) => (found, path),
            (found, path) => {
                let through_link = path.as_ref().is_ok_and(|path| {
                    path.as_ref().is_some_and(|path| self.leads_through_link(&project, path))
                });
                // Where it leads is for nobody to say before there is a checkpoint to look in.
                let led = through_link.then(|| bad_path(&[Code::BadPath]));
                let of_place = self.refuses_place(&place);
                let refusals = [found.err(), path.err(), led, of_place];
                return Err(refusals.into_iter().flatten().collect());
            }
        };
        let ((index, checkpoint), Place::Inside(project, standing)) = (found, place) else {
            // Only a place inside the world has checkpoints.
            return Err(vec![]);
        };
        if standing == Standing::NoDirectory {
            let target = checkpoint.captured.as_ref().map(|target| &target.tree);
            let has = |path| target.is_some_and(|target| self.is_in(target, path));
            let absent = path.as_ref().is_some_and(|path| !has(path)).then_some(NOT_IN_CHECKPOINT);
            return Err([NOT_A_DIRECTORY].into_iter().chain(absent).collect());
        }
        let Some(target) = checkpoint.captured.clone() else { return Ok(Allowed::Unknown) };
        let damaged = self.is_damaged(checkpoint);
        let before = match standing {
            Standing::Directory => Arc::new(self.capture(&project)),
            _ => Arc::default(),
        };
        let mut may_refuse = Vec::new();
        if let Some(path) = &path {
            let of_unit = restore_units::units(self, &target, &before);
            if of_unit.iter().any(|unit| unit.has(path)) {
                let codes = &[Code::WouldOverwrite];
                may_refuse.push(Refusal { codes, rule: &rules::UNIT_RESTORED });
            }
            match self.judge_file(&project, &target.tree, &before, path) {
                // Which of the two is said is free.
                Err(_) if damaged => return Ok(Allowed::Unknown),
                judged => may_refuse.extend(judged?),
            }
        }
        // Where both stand in the way, either may be said.
        let safety = self.due_safety(&project, &before, standing, (path.is_some(), force));
        if damaged && safety.is_err() {
            return Ok(Allowed::Unknown);
        }
        let safety = safety.map_err(|refusals| [may_refuse.clone(), refusals].concat())?;
        // The limit is about checkpoints; a restore that takes none may mind it as well.
        let crowded = before.tree.len() > self.settings.max_files && !force;
        may_refuse.extend(crowded.then_some(TOO_MANY_FILES));
        let history = self.history(&project);
        let room = history.len() < self.settings.max_snapshots;
        // Where only permissions changed, the newest checkpoint may stand for this state.
        let may_stand = |newest: &Option<Arc<Captured>>| {
            newest.as_ref().is_none_or(|newest| {
                newest.tree == before.tree || newest.tree == before.but_what_lacks(newest).tree
            })
        };
        let doubtful = self.newest(&project).is_some_and(|newest| self.is_damaged(newest));
        // A single file leaves the agent's state alone, so that nothing of that need be held.
        let may_stand_for = |newest: &Checkpoint| {
            let is_another = path.is_none() && self.is_state_of(newest) == Some(false);
            may_stand(&newest.captured) && !is_another
        };
        let may_skip_safety = self.newest(&project).is_some_and(may_stand_for)
            || doubtful && history.iter().any(|one| may_stand(&one.captured));
        Ok(Allowed::Restore(Box::new(AllowedRestore {
            spared: self.is_spared(&project, index),
            unlisted: index == UNLISTED,
            project,
            only: path,
            exact,
            target,
            before,
            safety,
            may_skip_safety,
            may_take_safety: doubtful,
            may_refuse,
            undo: checkpoint.safety,
            deleted: standing == Standing::Nothing,
            evicting: safety.0 && !room && index == 0,
            damaged,
            lost: self.lost_paths(checkpoint),
        })))
    }

    /// Whether a pre-rollback checkpoint is taken, and the rule that says so.
    ///
    /// Implements [`rules::RESTORE_SAFETY_CHECKPOINT`], [`rules::RESTORE_SAFETY_SKIPPED`] and
    /// [`rules::RESTORE_SAFETY_REQUIRED`].
    fn due_safety(
        &self,
        project: &ByteString,
        before: &Captured,
        standing: Standing,
        (single, force): (bool, bool),
    ) -> Result<(bool, RuleRef), Vec<Refusal>> {
        let skipped: (bool, RuleRef) = (false, &rules::RESTORE_SAFETY_SKIPPED);
        let takes_one = self.has("restore.safety") && (!single || self.has("restore.file_safety"));
        if standing == Standing::Nothing || !takes_one {
            return Ok(skipped);
        }
        if before.tree.len() > self.settings.max_files {
            let codes = &[Code::NoSafetyCheckpoint, Code::TooManyFiles];
            let refusal = Refusal { codes, rule: &rules::RESTORE_SAFETY_REQUIRED };
            return if force { Ok((false, refusal.rule)) } else { Err(vec![refusal]) };
        }
        // Where the newest checkpoint already holds this state, that one undoes the restore.
        Ok(match self.due(project, before, true).0 {
            CheckpointKind::Created => (true, &rules::RESTORE_SAFETY_CHECKPOINT),
            _ => skipped,
        })
    }

    /// The project-relative path that a typed one names, without meaningless components.
    ///
    /// Implements [`rules::RESTORE_BAD_PATH`].
    fn literal_path(&self, project: &[u8], typed: &[u8]) -> Result<ByteString, Refusal> {
        let refused = bad_path(&[Code::BadPath]);
        if typed.is_empty() || typed.starts_with(b"/") || typed.contains(&0) {
            return Err(refused);
        }
        let is_name = |name: &&[u8]| !matches!(*name, b"" | b".");
        let mut names: Vec<&[u8]> = typed.split(|byte| *byte == b'/').filter(is_name).collect();
        // `name/..` is the folder that `name` is in, but where `name` is a link: what that leads to is elsewhere.
        while let Some(up) = names.iter().position(|name| *name == b"..") {
            let before = bytes::join(project, &names[..up].join(&b'/'));
            if up == 0 || matches!(self.files.get(&before), Some(Node::Link { .. })) {
                return Err(refused);
            }
            names.drain(up - 1..=up);
        }
        if names.is_empty() {
            return Err(bad_path(&[Code::BadPath, Code::NotInCheckpoint]));
        }
        Ok(ByteString(names.join(&b'/')))
    }

    /// Whether what stands at a path of the project, a link, leads out of it.
    fn leads_out(&self, project: &[u8], path: &[u8]) -> bool {
        let place = self.absolute(&bytes::join(project, path));
        let inside =
            |place: &ByteString| **place == *project || bytes::below(project, place).is_some();
        !self.canonical(&place).as_ref().is_some_and(inside)
    }

    /// Whether a path is a directory of the checkpoint, and the implementation restores those.
    fn is_directory_of(&self, target: &Tree, path: &[u8]) -> bool {
        self.has("restore.directory") && target.keys().any(|one| bytes::below(path, one).is_some())
    }

    /// Whether a checkpoint has what can be restored at a path.
    fn is_in(&self, target: &Tree, path: &ByteString) -> bool {
        target.contains_key(path) || self.is_directory_of(target, path)
    }

    /// Whether a link stands at a path or on the way to it.
    fn leads_through_link(&self, project: &[u8], path: &[u8]) -> bool {
        let is_link = |path: &[u8]| {
            matches!(self.files.get(&bytes::join(project, path)), Some(Node::Link { .. }))
        };
        is_link(path) || bytes::ancestors(path).any(is_link)
    }

    /// Whether a single file can be restored without touching any other path. Where one would be
    /// lost that is not captured, that is as good a reason to refuse.
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
                // A link that stays in the project is no way out, but something in the way.
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
