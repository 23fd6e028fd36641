//! The store of every careful subject: complete snapshots of projects in memory, oldest first. [`target`]
//! finds what a request names, and [`restore`] restores it.

mod restore;
mod target;
mod undo;

use super::agent::{AgentRecord, Parts};
use super::snapshot::{CapturedSnapshot, FolderPermissions, Snapshot, folders_of, snapshot_of};
use super::{Careful, bounds, units};
use crate::protocol::capabilities::Capabilities;
use crate::sandbox::{Sandbox, manifest};
use crate::subject::{Identity, Subject};
use herma_model::answer::{Changed, CheckpointOutcome, Listed, Remark};
use herma_model::{Answer, ByteString, Code, Files, Node, Request, Settings};
use std::collections::{BTreeMap, BTreeSet};
use undo::AllEnded;

/// A checkpoint of a project.
struct StoredCheckpoint {
    id: String,
    time: i64,
    reason: String,
    captured: CapturedSnapshot,
    folders: FolderPermissions,
    label: Option<String>,
    /// Whether it is a pre-restore checkpoint.
    is_pre_restore: bool,
    parts: Parts,
    /// The number of external actions when it was taken.
    actions: usize,
}

/// A store with the habits of one careful subject.
pub(super) struct Store {
    habits: &'static Careful,
    sandbox: Sandbox,
    settings: Settings,
    seconds: i64,
    /// The checkpoints of each project, oldest first.
    histories: BTreeMap<ByteString, Vec<StoredCheckpoint>>,
    /// The number of ids given out.
    ids: usize,
    /// The restores of each project that can be undone.
    ended: BTreeMap<ByteString, AllEnded>,
    /// What the restore brought that is being undone: only that is removed.
    made: Option<Snapshot>,
    /// The projects that had their automatic checkpoint in this turn.
    used: BTreeSet<ByteString>,
    agent: AgentRecord,
}

/// The code and the message of a refusal.
type CodedMessage = (Code, &'static str);

impl Subject for Store {
    fn identity(&self) -> Identity {
        Identity::new(self.habits.name, env!("CARGO_PKG_VERSION"))
    }

    fn capabilities(&self) -> Capabilities {
        self.habits
            .capabilities
            .iter()
            .fold(Capabilities::none(), |claimed, name| claimed.with(name))
    }

    fn ask(&mut self, request: &Request) -> Answer {
        self.answer(request).unwrap_or_else(|(code, message)| Answer::Refused {
            code,
            message: message.to_owned(),
            changed: Changed::None,
        })
    }
}

impl Store {
    pub(super) fn new(
        habits: &'static Careful,
        sandbox: &Sandbox,
        settings: &Settings,
        seconds: i64,
    ) -> Store {
        let settings = settings.clone();
        let sandbox = Sandbox::adopt(sandbox.root().to_owned());
        Store {
            habits,
            sandbox,
            settings,
            seconds,
            histories: BTreeMap::new(),
            ids: 0,
            ended: BTreeMap::new(),
            made: None,
            used: BTreeSet::new(),
            agent: AgentRecord::default(),
        }
    }

    fn answer(&mut self, request: &Request) -> Result<Answer, CodedMessage> {
        let project = request.dir().map(|dir| self.project(dir)).unwrap_or_default();
        if let Some(answer) = self.agent.answer(request) {
            return Ok(answer);
        }
        match request {
            Request::Spawn => self.agent.spawn(&mut self.used),
            Request::Join => self.agent.join(&mut self.used),
            Request::Label { label, .. } => return self.label(&project, label),
            // Without eviction, a pin only has to find its checkpoint.
            Request::Pin { target, .. } | Request::Unpin { target, .. } => {
                self.index_of(&project, target)?;
            }
            Request::Event { event, .. } => {
                return match self.agent.is_due(event) {
                    true => self.take(&project, "an event"),
                    false => Ok(taken(CheckpointOutcome::NotDue)),
                };
            }
            Request::NewTurn | Request::Reopen => self.used.clear(),
            Request::SetClock { seconds } => self.seconds = *seconds,
            Request::EnsureCheckpoint { .. } if self.used.contains(&project) => {
                return Ok(taken(CheckpointOutcome::Deduped));
            }
            Request::EnsureCheckpoint { reason, .. } => {
                let answer = self.take(&project, reason)?;
                self.used.insert(project);
                return Ok(answer);
            }
            Request::Checkpoint { reason, .. } => return self.take(&project, reason),
            Request::List { .. } => return Ok(self.list(&project)),
            Request::Restore { target, exact, .. } => {
                let index = self.index_of(&project, target)?;
                return self.restore_recorded(&project, index, *exact, None);
            }
            Request::Undo { .. } | Request::Redo { .. } => return self.step(&project, request),
            Request::RestoreLatest { exact, .. } => {
                let count = self.histories.get(&project).map_or(0, Vec::len);
                let index =
                    count.checked_sub(1).ok_or((self.habits.unknown_target, "there is none"))?;
                return self.restore_recorded(&project, index, *exact, None);
            }
            Request::RestoreFile { target, path, .. } => {
                let index = self.index_of(&project, target)?;
                let snapshot = &self.histories[&project][index].captured.snapshot;
                let part = self.part(&project, snapshot, path)?;
                let report = self.restore(&project, index, part, false);
                return report.map(Answer::Restored);
            }
            _ => return Err((Code::Internal, "this is not offered")),
        }
        Ok(Answer::Done)
    }

    fn files(&self) -> Result<Files, CodedMessage> {
        let files = manifest::read_all(&self.sandbox);
        files.map(|manifest| manifest.files).map_err(|_| (Code::Io, "the project cannot be read"))
    }

    /// The remarks on files that are left out or kept.
    fn remarks(&self, paths: &BTreeSet<ByteString>) -> Vec<Remark> {
        let why = match self.habits.can("capture.units") {
            true => "part of a database in use",
            false => "too large",
        };
        paths.iter().map(|path| Remark { path: path.clone(), why: why.into() }).collect()
    }

    /// The part of a snapshot that is captured.
    fn captured(&self, snapshot: Snapshot) -> CapturedSnapshot {
        if self.habits.can("capture.units") {
            units::captured(snapshot, self.habits.leaves_out_journalled)
        } else if self.habits.can("settings.max_file_bytes") && self.settings.max_file_bytes > 0 {
            bounds::captured(snapshot, self.settings.max_file_bytes)
        } else {
            CapturedSnapshot { snapshot, left_out: BTreeSet::new() }
        }
    }

    /// Captures the present files of a project.
    fn capture(&self, project: &[u8]) -> Result<CapturedSnapshot, CodedMessage> {
        let files = self.files()?;
        match files.get(project) {
            Some(Node::Directory) => Ok(self.captured(snapshot_of(&files, project))),
            Some(_) => Err((Code::NotADirectory, "the project is no directory")),
            None => Err((Code::MissingDirectory, "the project is not there")),
        }
    }

    fn take(&mut self, project: &ByteString, reason: &str) -> Result<Answer, CodedMessage> {
        let captured = self.capture(project)?;
        let snapshot = &captured.snapshot;
        let skipped = self.remarks(&captured.left_out);
        if self.habits.can("settings.max_files") && snapshot.len() > self.settings.max_files {
            return Err((Code::TooManyFiles, "there are too many files"));
        }
        let newest = self.histories.get(project).and_then(|checkpoints| checkpoints.last());
        let declines = match newest {
            Some(newest) => {
                let same =
                    newest.captured.snapshot == *snapshot && newest.parts == self.agent.parts;
                !self.habits.keeps_unchanged && same
            }
            None => !self.habits.keeps_empty && snapshot.is_empty(),
        };
        if declines {
            return Ok(taken(CheckpointOutcome::Unchanged));
        }
        let id = self.store_checkpoint(project, reason, captured);
        self.evict(project, None);
        Ok(Answer::Taken { outcome: CheckpointOutcome::Created { id }, skipped })
    }

    /// Stores a checkpoint and returns its id.
    fn store_checkpoint(
        &mut self,
        project: &ByteString,
        reason: &str,
        captured: CapturedSnapshot,
    ) -> String {
        self.ids += 1;
        let id = (self.habits.id)(self.ids, self.seconds);
        let folders = self.files().map(|files| folders_of(&files, project)).unwrap_or_default();
        let checkpoint = StoredCheckpoint {
            id: id.clone(),
            time: self.seconds,
            reason: reason.to_owned(),
            captured,
            folders,
            label: None,
            is_pre_restore: false,
            parts: self.agent.parts.clone(),
            actions: self.agent.actions(),
        };
        self.histories.entry(project.clone()).or_default().push(checkpoint);
        id
    }

    /// Stores the pre-restore checkpoint of a restore of `target`.
    fn store_pre_restore_checkpoint(
        &mut self,
        project: &ByteString,
        target: &str,
        captured: CapturedSnapshot,
    ) -> String {
        let id = self.store_checkpoint(project, "before a restore", captured);
        let newest = self.histories.get_mut(project).and_then(|checkpoints| checkpoints.last_mut());
        newest.into_iter().for_each(|newest| newest.is_pre_restore = true);
        self.evict(project, Some(target));
        id
    }

    /// Evicts checkpoints beyond the limit, oldest first. The pre-restore checkpoint of a restore of `restored`
    /// evicts only other pre-restore checkpoints, and not `restored`.
    fn evict(&mut self, project: &ByteString, restored: Option<&str>) {
        let Some(checkpoints) = self.histories.get_mut(project) else { return };
        let is_evictable = |checkpoint: &StoredCheckpoint| match restored {
            Some(restored) => checkpoint.is_pre_restore && checkpoint.id != restored,
            None => true,
        };
        let is_limited = self.habits.can("settings.max_snapshots");
        while is_limited && checkpoints.len() > self.settings.max_snapshots.max(1) {
            let older = &checkpoints[..checkpoints.len() - 1];
            let Some(index) = older.iter().position(is_evictable) else { break };
            checkpoints.remove(index);
        }
    }

    /// Takes a checkpoint with a label; if nothing changed, the newest checkpoint gets the label.
    fn label(&mut self, project: &ByteString, label: &str) -> Result<Answer, CodedMessage> {
        let answer = self.take(project, label)?;
        let newest = self.histories.get_mut(project).and_then(|checkpoints| checkpoints.last_mut());
        newest.into_iter().for_each(|newest| newest.label = Some(label.to_owned()));
        Ok(answer)
    }

    /// Whether a checkpoint has a number in the list.
    fn has_number(&self, checkpoint: &StoredCheckpoint) -> bool {
        !(self.habits.can("target.stable_number") && checkpoint.is_pre_restore)
    }

    fn list(&self, project: &ByteString) -> Answer {
        let newest_first = self.histories.get(project).into_iter().flatten().rev();
        let mut numbered = 0;
        let mut number = |checkpoint: &StoredCheckpoint| {
            let has_number = self.has_number(checkpoint);
            numbered += usize::from(has_number);
            if has_number { numbered } else { 0 }
        };
        let listed = |checkpoint: &StoredCheckpoint| Listed {
            number: number(checkpoint),
            id: checkpoint.id.clone(),
            time: checkpoint.time,
            reason: checkpoint.reason.clone(),
            stats: None,
        };
        Answer::Listed(newest_first.map(listed).collect())
    }
}

fn taken(outcome: CheckpointOutcome) -> Answer {
    Answer::Taken { outcome, skipped: Vec::new() }
}
