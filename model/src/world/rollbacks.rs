//! The restores of each project that can be undone or redone, oldest first.

use super::World;
use crate::answer::Answer;
use crate::bytes::{self, ByteString};
use crate::capture::Captured;
use crate::files::{Files, Node};
use crate::observation::Observation;
use crate::request::Request;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A restore that ended.
#[derive(Clone, Debug)]
pub(crate) struct Rollback {
    /// The checkpoint that holds the state before it; `None` where no checkpoint does.
    pub(crate) before: Option<String>,
    /// What the restored checkpoint holds, without the files that were already as they are in it.
    pub(crate) made: Arc<Captured>,
    /// The path, if only one was restored.
    pub(crate) only: Option<ByteString>,
}

/// The restores of one project.
#[derive(Clone, Debug, Default)]
struct ProjectRollbacks {
    undo: Vec<Rollback>,
    redo: Vec<Rollback>,
}

/// The restores of all projects.
#[derive(Clone, Debug, Default)]
pub(super) struct Rollbacks {
    by_project: BTreeMap<ByteString, ProjectRollbacks>,
    /// The projects of which it is not known which restores were recorded.
    unknown: BTreeSet<ByteString>,
}

impl Rollbacks {
    pub(super) fn forget(&mut self, project: &ByteString) {
        self.by_project.remove(project);
        self.unknown.remove(project);
    }

    /// From now on it is not known which restores of the project were recorded.
    pub(super) fn doubt(&mut self, project: ByteString) {
        self.unknown.insert(project);
    }
}

impl World {
    /// The restore that a request undoes, if there is any; the error is that this is not known.
    pub(crate) fn undone(&self, request: &Request) -> Result<Option<&Rollback>, ()> {
        let Some(project) = request.dir().and_then(|dir| self.canonical(dir)) else {
            return Ok(None);
        };
        if self.rollbacks.unknown.contains(&project) {
            return Err(());
        }
        let rollbacks = self.rollbacks.by_project.get(&project);
        Ok(rollbacks.and_then(|rollbacks| match request {
            Request::Undo { .. } => rollbacks.undo.last(),
            Request::Redo { .. } => rollbacks.redo.last(),
            _ => None,
        }))
    }

    /// Whether a restore is of a complete checkpoint.
    pub(crate) fn restores_all(&self, request: &Request) -> bool {
        match request {
            Request::RestoreFile { .. } => false,
            request => {
                self.undone(request).ok().flatten().is_none_or(|undone| undone.only.is_none())
            }
        }
    }

    /// From now on it is not known which restores of any project were recorded.
    pub(super) fn doubt_rollbacks(&mut self) {
        self.rollbacks.unknown.extend(self.histories.keys().cloned());
    }

    /// Records a restore that ended, and whether it changed any file.
    ///
    /// Implements [`crate::rules::RESTORE_UNDO_REDO`].
    pub(super) fn learn_rollback(
        &mut self,
        project: &ByteString,
        seen: &Observation,
        ended: Option<(bool, Rollback)>,
    ) {
        if !matches!(seen.answer, Answer::Restored(_)) {
            return;
        }
        let Some((changed, rollback)) = ended else {
            return self.rollbacks.doubt(project.clone());
        };
        let rollbacks = self.rollbacks.by_project.entry(project.clone()).or_default();
        let rollback = changed.then_some(rollback);
        match seen.request {
            Request::Undo { .. } => {
                rollbacks.undo.pop();
                rollbacks.redo.extend(rollback);
            }
            Request::Redo { .. } => {
                rollbacks.redo.pop();
                rollbacks.undo.extend(rollback);
            }
            _ if changed => {
                rollbacks.redo.clear();
                rollbacks.undo.extend(rollback);
            }
            _ => {}
        }
    }

    /// Whether a restore changed any file, and how it is undone; `None` where that is not certain. The world is
    /// that before the restore.
    pub(super) fn ended_rollback(
        &self,
        project: &ByteString,
        seen: &Observation,
    ) -> Option<(bool, Rollback)> {
        let Answer::Restored(restored) = &seen.answer else { return None };
        let only = match &seen.request {
            Request::RestoreFile { path, .. } => Some(self.literal_path(project, path).ok()?),
            request => self.undone(request).ok()?.and_then(|undone| undone.only.clone()),
        };
        let mut made = self.target_checkpoint(&seen.request)?.captured.clone()?;
        Arc::make_mut(&mut made).tree.retain(|path, _| {
            let full = bytes::join(project, path);
            self.files.get(&full) != seen.files.get(&full)
        });
        let nodes = |files: &'_ Files| {
            let nodes = files.below(project).filter(|(_, node)| **node != Node::Directory);
            nodes.map(|(path, node)| (path.clone(), node.clone())).collect::<Vec<_>>()
        };
        let changed = nodes(&self.files) != nodes(&seen.files);
        let reported = !restored.restored.is_empty() || !restored.removed.is_empty();
        if !restored.failed.is_empty() || self.has("restore.report") && reported != changed {
            return None;
        }
        let before = match &restored.safety {
            Some(id) => Some(id.clone()),
            None if restored.forced_past || !self.files.is_directory(project) => None,
            None => {
                Some(self.newest(project).filter(|newest| !self.is_damaged(newest))?.id.clone())
            }
        };
        Some((changed, Rollback { before, made, only }))
    }
}
