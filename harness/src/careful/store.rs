//! The store of every careful subject: complete snapshots of projects in memory, oldest first.

use super::Careful;
use super::agent::{Agent, Parts};
use super::bounds;
use super::units::{self, Captured, Present};
use crate::protocol::capabilities::Capabilities;
use crate::sandbox::{Sandbox, edits, manifest};
use crate::subject::{Identity, Subject};
use herma_model::answer::{Changed, CheckpointOutcome, Listed, Remark, Restored};
use herma_model::bytes::{ancestors, below, join};
use herma_model::edit::Change;
use herma_model::{Answer, ByteString, Code, Files, Node, Request, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::ffi::OsStrExt;

/// All files and links of a project, with the permission bits of files.
pub(super) type Snapshot = BTreeMap<ByteString, (Node, Option<u32>)>;

/// A checkpoint of a project.
struct Checkpoint {
    id: String,
    time: i64,
    reason: String,
    snapshot: Snapshot,
    /// The files that the snapshot lacks.
    left_out: BTreeSet<ByteString>,
    label: Option<String>,
    /// Whether it is a pre-restore checkpoint.
    is_pre_restore: bool,
    parts: Parts,
    /// The number of external actions when it was taken.
    actions: usize,
}

/// The files of the checkpoint that is restored.
pub(super) struct Target {
    id: String,
    pub(super) snapshot: Snapshot,
    pub(super) left_out: BTreeSet<ByteString>,
}

impl Target {
    fn of(Checkpoint { id, snapshot, left_out, .. }: &Checkpoint) -> Target {
        Target { id: id.clone(), snapshot: snapshot.clone(), left_out: left_out.clone() }
    }
}

/// A store with the habits of one careful subject.
pub(super) struct Store {
    habits: &'static Careful,
    sandbox: Sandbox,
    settings: Settings,
    seconds: i64,
    /// The checkpoints of each project, oldest first.
    histories: BTreeMap<ByteString, Vec<Checkpoint>>,
    /// The number of ids given out.
    ids: usize,
    /// The projects that had their automatic checkpoint in this turn.
    used: BTreeSet<ByteString>,
    agent: Agent,
}

/// The code and the message of a refusal.
type Refusal = (Code, &'static str);

const BAD_PATH: Refusal = (Code::BadPath, "the path leads out of the project");
const NOT_IN_CHECKPOINT: Refusal = (Code::NotInCheckpoint, "the checkpoint has no such path");
const IN_THE_WAY: Refusal = (Code::WouldOverwrite, "something else is in the way");

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
            used: BTreeSet::new(),
            agent: Agent::default(),
        }
    }

    fn answer(&mut self, request: &Request) -> Result<Answer, Refusal> {
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
                return self.restore_all(&project, index, *exact);
            }
            Request::RestoreLatest { exact, .. } => {
                let count = self.histories.get(&project).map_or(0, Vec::len);
                let index =
                    count.checked_sub(1).ok_or((self.habits.unknown_target, "there is none"))?;
                return self.restore_all(&project, index, *exact);
            }
            Request::RestoreFile { target, path, .. } => {
                let index = self.index_of(&project, target)?;
                let target = Target::of(&self.histories[&project][index]);
                let part = self.part(&project, &target.snapshot, path)?;
                let report = self.restore(&project, &target, &part, false);
                return report.map(Answer::Restored);
            }
            _ => return Err((Code::Internal, "this is not offered")),
        }
        Ok(Answer::Done)
    }

    /// The project at an absolute path, relative to the root of the sandbox.
    fn project(&self, dir: &[u8]) -> ByteString {
        let root = self.sandbox.root().as_os_str().as_bytes();
        let rest = dir.strip_prefix(root).unwrap_or_default();
        ByteString::from(rest.strip_prefix(b"/").unwrap_or(rest))
    }

    fn files(&self) -> Result<Files, Refusal> {
        let files = manifest::read(self.sandbox.root(), &self.sandbox.base(), None);
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
    fn captured(&self, snapshot: Snapshot) -> Captured {
        if self.habits.can("capture.units") {
            units::captured(snapshot, self.habits.leaves_out_journalled)
        } else if self.habits.can("settings.max_file_bytes") && self.settings.max_file_bytes > 0 {
            bounds::captured(snapshot, self.settings.max_file_bytes)
        } else {
            Captured { snapshot, left_out: BTreeSet::new() }
        }
    }

    /// Captures the present files of a project.
    fn capture(&self, project: &[u8]) -> Result<Captured, Refusal> {
        let files = self.files()?;
        match files.get(project) {
            Some(Node::Directory) => Ok(self.captured(snapshot_of(&files, project))),
            Some(_) => Err((Code::NotADirectory, "the project is no directory")),
            None => Err((Code::MissingDirectory, "the project is not there")),
        }
    }

    fn take(&mut self, project: &ByteString, reason: &str) -> Result<Answer, Refusal> {
        let captured = self.capture(project)?;
        let snapshot = &captured.snapshot;
        let skipped = self.remarks(&captured.left_out);
        if self.habits.can("settings.max_files") && snapshot.len() > self.settings.max_files {
            return Err((Code::TooManyFiles, "there are too many files"));
        }
        let newest = self.histories.get(project).and_then(|checkpoints| checkpoints.last());
        let declines = match newest {
            Some(newest) => {
                let same = newest.snapshot == *snapshot && newest.parts == self.agent.parts;
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
        captured: Captured,
    ) -> String {
        let Captured { snapshot, left_out } = captured;
        self.ids += 1;
        let id = (self.habits.id)(self.ids, self.seconds);
        let checkpoint = Checkpoint {
            id: id.clone(),
            time: self.seconds,
            reason: reason.to_owned(),
            snapshot,
            left_out,
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
        captured: Captured,
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
        let is_evictable = |checkpoint: &Checkpoint| match restored {
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
    fn label(&mut self, project: &ByteString, label: &str) -> Result<Answer, Refusal> {
        let answer = self.take(project, label)?;
        let newest = self.histories.get_mut(project).and_then(|checkpoints| checkpoints.last_mut());
        newest.into_iter().for_each(|newest| newest.label = Some(label.to_owned()));
        Ok(answer)
    }

    /// Restores all files and parts of a checkpoint, and reports the external actions since.
    fn restore_all(
        &mut self,
        project: &ByteString,
        index: usize,
        exact: bool,
    ) -> Result<Answer, Refusal> {
        let checkpoint = &self.histories[project][index];
        let parts = checkpoint.parts.clone();
        let actions = checkpoint.actions;
        let target = Target::of(checkpoint);
        let mut report = self.restore(project, &target, &target.snapshot, exact)?;
        // Parts that were not set then are unset again.
        self.agent.parts = parts;
        if self.habits.can("external") {
            report.external = Some(self.agent.roll_back(actions));
        }
        Ok(Answer::Restored(report))
    }

    fn list(&self, project: &ByteString) -> Answer {
        let newest_first = self.histories.get(project).into_iter().flatten().rev().enumerate();
        let listed = |(index, checkpoint): (usize, &Checkpoint)| Listed {
            number: index + 1,
            id: checkpoint.id.clone(),
            time: checkpoint.time,
            reason: checkpoint.reason.clone(),
            stats: None,
        };
        Answer::Listed(newest_first.map(listed).collect())
    }

    /// The index of the checkpoint that a target names, oldest first.
    fn index_of(&self, project: &ByteString, target: &[u8]) -> Result<usize, Refusal> {
        if self.habits.checks_project_first {
            self.check_project(project)?;
        }
        let checkpoints = self.histories.get(project).map_or(&[][..], Vec::as_slice);
        let unknown_target = (self.habits.unknown_target, "there is no such checkpoint");
        let text = std::str::from_utf8(target).map_err(|_| unknown_target)?;
        if let Some(number) = text.parse::<usize>().ok().filter(|number| number.to_string() == text)
            && self.habits.can("target.number")
            && (1..=checkpoints.len()).contains(&number)
        {
            return Ok(checkpoints.len() - number);
        }
        let mut labelled = checkpoints
            .iter()
            .enumerate()
            .filter(|(_, checkpoint)| checkpoint.label.as_deref() == Some(text));
        if let Some((index, _)) = labelled.next() {
            let is_only = labelled.next().is_none();
            return is_only.then_some(index).ok_or((Code::AmbiguousCheckpoint, "several have it"));
        }
        if let Some(index) = checkpoints.iter().position(|checkpoint| checkpoint.id == text) {
            return Ok(index);
        }
        let is_short = self.habits.can("target.short") && text.len() >= 4;
        let has_prefix = |checkpoint: &&Checkpoint| {
            let prefix = checkpoint.id.get(..text.len());
            is_short && prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(text))
        };
        let mut found =
            checkpoints.iter().enumerate().filter(|(_, checkpoint)| has_prefix(checkpoint));
        match (found.next(), found.next()) {
            (Some((only, _)), None) => Ok(only),
            (None, _) => Err(unknown_target),
            _ => Err((Code::AmbiguousCheckpoint, "several begin so")),
        }
    }

    /// Refuses a directory that cannot be a project; a deleted directory is one if it has checkpoints.
    fn check_project(&self, project: &ByteString) -> Result<(), Refusal> {
        if *project == self.sandbox.layout().home {
            return Err((Code::ScopeHome, "the home is no project"));
        }
        match self.capture(project) {
            Err((Code::MissingDirectory, _)) if self.histories.contains_key(project) => Ok(()),
            captured => captured.map(drop),
        }
    }

    /// The part of a snapshot that a single path means: a file, or everything in a folder.
    fn part(&self, project: &[u8], snapshot: &Snapshot, typed: &[u8]) -> Result<Snapshot, Refusal> {
        let mut names: Vec<&[u8]> = Vec::new();
        if typed.is_empty() || typed.starts_with(b"/") || typed.contains(&0) {
            return Err(BAD_PATH);
        }
        let files = self.files()?;
        for name in typed.split(|byte| *byte == b'/') {
            let parent = join(project, &names.join(&b'/'));
            match name {
                b"" | b"." => {}
                b".." if matches!(files.get(&parent), Some(Node::Link { .. })) => {
                    return Err(BAD_PATH);
                }
                b".." => drop(names.pop().ok_or(BAD_PATH)?),
                name => names.push(name),
            }
        }
        let path = names.join(&b'/');
        let above = || ancestors(&path).map(|ancestor| files.get(&join(project, ancestor)));
        if path.is_empty() || above().any(|node| matches!(node, Some(Node::Link { .. }))) {
            return Err(BAD_PATH);
        }
        let is_requested = |file: &[u8]| *file == *path || below(&path, file).is_some();
        let part: Snapshot = snapshot
            .iter()
            .filter(|(file, _)| is_requested(file))
            .map(|(file, content)| (file.clone(), content.clone()))
            .collect();
        if part.is_empty() {
            return Err(NOT_IN_CHECKPOINT);
        }
        let path_in_sandbox = join(project, &path);
        let blocked = above().any(|node| !matches!(node, None | Some(Node::Directory)))
            || part.contains_key(&ByteString::from(&*path))
                && !snapshot_of(&files, &path_in_sandbox).is_empty();
        if blocked { Err(IN_THE_WAY) } else { Ok(part) }
    }

    fn restore(
        &mut self,
        project: &ByteString,
        target: &Target,
        part: &Snapshot,
        exact: bool,
    ) -> Result<Restored, Refusal> {
        let files = self.files()?;
        let before = match files.get(project) {
            None => None,
            Some(Node::Directory) => Some(snapshot_of(&files, project)),
            Some(_) => return Err((Code::NotADirectory, "the project is no directory")),
        };
        let newest = self.histories.get(project).and_then(|checkpoints| checkpoints.last());
        let is_present_state = |newest: &Checkpoint| {
            let captured = before.clone().map(|present| self.captured(present).snapshot);
            captured.as_ref() == Some(&newest.snapshot) && newest.parts == self.agent.parts
        };
        let is_stored = newest.is_some_and(is_present_state);
        let saves = self.habits.can("restore.safety") && before.is_some() && !is_stored;
        let present = before.unwrap_or_default();
        let captured = self.captured(present.clone());
        let mut part = part.clone();
        let mut plan = units::Plan::default();
        if self.habits.can("settings.max_file_bytes") {
            plan = bounds::plan(target, &captured, &mut part);
        } else if self.habits.can("capture.units") {
            let before = Present { snapshot: &present, captured: &captured };
            plan = units::plan(target, before, &mut part, exact);
        }
        let before = captured.snapshot.clone();
        let safety =
            saves.then(|| self.store_pre_restore_checkpoint(project, &target.id, captured));
        let in_sandbox = |path: &ByteString| ByteString(join(project, path));
        let is_new =
            |path: &&ByteString| !target.snapshot.contains_key(*path) && !plan.kept.contains(*path);
        let new_files = || before.keys().filter(is_new);
        let not_written = |_| (Code::Io, "the project cannot be written");
        // Files are removed first, since they may be in the way of restored ones.
        if exact {
            self.remove(new_files().map(in_sandbox)).map_err(not_written)?;
        }
        self.remove(plan.remove.iter().map(in_sandbox)).map_err(not_written)?;
        self.write(part.iter().map(|(path, file)| (in_sandbox(path), file)))
            .map_err(not_written)?;
        let after = snapshot_of(&self.files()?, project);
        let node =
            |files: &Snapshot, path: &ByteString| files.get(path).map(|(node, _)| node.clone());
        let changed = |path: &&ByteString| node(&present, path) != node(&part, path);
        Ok(Restored {
            safety,
            restored: part.keys().filter(changed).cloned().collect(),
            removed: present.keys().filter(|path| !after.contains_key(*path)).cloned().collect(),
            left: new_files().filter(|path| after.contains_key(*path)).cloned().collect(),
            kept: self.remarks(&plan.kept),
            ..Restored::default()
        })
    }

    /// Writes each node after removing what is in its way. A replaced file keeps its permissions.
    fn write<'a>(
        &self,
        nodes: impl Iterator<Item = (ByteString, &'a (Node, Option<u32>))>,
    ) -> io::Result<()> {
        let root = self.sandbox.root();
        let mut files = manifest::read(root, &self.sandbox.base(), None)?.files;
        for (path, (node, recorded_bits)) in nodes {
            if files.get(&path) == Some(node) {
                continue;
            }
            let blocked = files.obstacle(&path).is_some() || !snapshot_of(&files, &path).is_empty();
            if blocked && self.habits.leaves_obstacles {
                continue;
            }
            let obstacle = files.obstacle(&path).map(|(obstacle, _)| ByteString::from(obstacle));
            let present_bits = files.permissions(&path).map(|bits| match node {
                Node::File { executable: true, .. } => bits | 0o100,
                _ => bits & !0o111,
            });
            let removed = obstacle.or_else(|| files.get(&path).map(|_| path.clone()));
            if let Some(removed) = removed {
                edits::apply(root, &Change::Remove(removed.clone()))?;
                files.remove(&removed);
            }
            for directory in ancestors(&path).filter(|ancestor| !files.is_directory(ancestor)) {
                edits::apply(root, &Change::Make(directory.into(), Node::Directory))?;
            }
            files.make_parents(&path);
            edits::apply(root, &Change::Make(path.clone(), node.clone()))?;
            if let (Some(bits), Node::File { .. }) = (present_bits.or(*recorded_bits), node) {
                edits::apply(root, &Change::SetPermissions(path.clone(), bits))?;
            }
            files.insert(&path, node.clone());
        }
        Ok(())
    }

    /// Removes those of the paths that still exist.
    fn remove(&self, mut paths: impl Iterator<Item = ByteString>) -> io::Result<()> {
        let root = self.sandbox.root();
        paths.try_for_each(|path| match edits::apply(root, &Change::Remove(path)) {
            Err(error)
                if error.kind() != io::ErrorKind::NotFound
                    && error.kind() != io::ErrorKind::NotADirectory =>
            {
                Err(error)
            }
            _ => Ok(()),
        })
    }
}

fn taken(outcome: CheckpointOutcome) -> Answer {
    Answer::Taken { outcome, skipped: Vec::new() }
}

/// All files and links below a directory.
fn snapshot_of(files: &Files, project: &[u8]) -> Snapshot {
    let inside = files.below(project).filter(|(_, node)| **node != Node::Directory);
    let relative = |(path, node): (&ByteString, &Node)| {
        let file = (node.clone(), files.permissions(path));
        below(project, path).map(|inside| (ByteString::from(inside), file))
    };
    inside.filter_map(relative).collect()
}
