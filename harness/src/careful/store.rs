//! The store of every careful subject: whole copies of a project in memory, oldest first.

use super::Careful;
use super::agent::{Agent, Parts};
use super::bounds;
use super::units::{self, Captured};
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

/// Everything of a project but its directories, with the permission bits of files.
pub(super) type Copy = BTreeMap<ByteString, (Node, Option<u32>)>;

struct Kept {
    id: String,
    time: i64,
    reason: String,
    copy: Copy,
    /// The files that it lacks.
    left_out: BTreeSet<ByteString>,
    label: Option<String>,
    /// Whether it was taken before a restore.
    is_safety: bool,
    parts: Parts,
    /// How many external actions there were.
    actions: usize,
}

/// What a restore goes by.
struct Target {
    id: String,
    copy: Copy,
    left_out: BTreeSet<ByteString>,
}

impl Target {
    fn of(Kept { id, copy, left_out, .. }: &Kept) -> Target {
        Target { id: id.clone(), copy: copy.clone(), left_out: left_out.clone() }
    }
}

/// A store with the habits of one careful subject.
pub(super) struct Store {
    habits: &'static Careful,
    sandbox: Sandbox,
    settings: Settings,
    seconds: i64,
    kept: BTreeMap<ByteString, Vec<Kept>>,
    /// How many ids were given out.
    ids: usize,
    /// Projects that had their automatic checkpoint in this turn.
    used: BTreeSet<ByteString>,
    agent: Agent,
}

/// Why something is not done.
type Refusal = (Code, &'static str);

const BAD_PATH: Refusal = (Code::BadPath, "the path leads out of the project");
const NOT_THERE: Refusal = (Code::NotInCheckpoint, "the checkpoint has no such path");
const IN_THE_WAY: Refusal = (Code::WouldOverwrite, "something else is in the way");

impl Subject for Store {
    fn identity(&self) -> Identity {
        Identity::new(self.habits.name, env!("CARGO_PKG_VERSION"))
    }

    fn capabilities(&self) -> Capabilities {
        self.habits.capabilities.iter().fold(Capabilities::none(), |all, one| all.with(one))
    }

    fn ask(&mut self, request: &Request) -> Answer {
        self.served(request).unwrap_or_else(|(code, message)| Answer::Refused {
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
        let (kept, used) = (BTreeMap::new(), BTreeSet::new());
        Store { habits, sandbox, settings, seconds, kept, ids: 0, used, agent: Agent::default() }
    }

    fn served(&mut self, request: &Request) -> Result<Answer, Refusal> {
        let project = request.dir().map(|dir| self.inside(dir)).unwrap_or_default();
        if let Some(answer) = self.agent.served(request) {
            return Ok(answer);
        }
        match request {
            Request::Spawn => self.agent.spawn(&mut self.used),
            Request::Join => self.agent.join(&mut self.used),
            Request::Label { label, .. } => return self.label(&project, label),
            // It drops nothing.
            Request::Pin { target, .. } | Request::Unpin { target, .. } => {
                self.found(&project, target)?;
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
                let at = self.found(&project, target)?;
                return self.restore_whole(&project, at, *exact);
            }
            Request::RestoreLatest { exact, .. } => {
                let count = self.kept.get(&project).map_or(0, Vec::len);
                let at = count.checked_sub(1).ok_or((self.habits.no_such, "there is none"))?;
                return self.restore_whole(&project, at, *exact);
            }
            Request::RestoreFile { target, path, .. } => {
                let at = self.found(&project, target)?;
                let target = Target::of(&self.kept[&project][at]);
                let part = self.part(&project, &target.copy, path)?;
                let said = self.restore(&project, &target, &part, false);
                return said.map(Answer::Restored);
            }
            _ => return Err((Code::Internal, "this is not offered")),
        }
        Ok(Answer::Done)
    }

    /// The project at an absolute path, relative to the root of the sandbox.
    fn inside(&self, dir: &[u8]) -> ByteString {
        let root = self.sandbox.root().as_os_str().as_bytes();
        let rest = dir.strip_prefix(root).unwrap_or_default();
        ByteString::from(rest.strip_prefix(b"/").unwrap_or(rest))
    }

    fn files(&self) -> Result<Files, Refusal> {
        let files = manifest::read(self.sandbox.root(), &self.sandbox.base(), None);
        files.map(|seen| seen.files).map_err(|_| (Code::Io, "the project cannot be read"))
    }

    /// What is said of files that are left out or kept.
    fn remarks(&self, paths: &BTreeSet<ByteString>) -> Vec<Remark> {
        let why = match self.habits.can("capture.units") {
            true => "part of a database in use",
            false => "too large",
        };
        paths.iter().map(|path| Remark { path: path.clone(), why: why.into() }).collect()
    }

    /// What is captured of everything that is there.
    fn captured(&self, copy: Copy) -> Captured {
        if self.habits.can("capture.units") {
            units::captured(copy, self.habits.shy)
        } else if self.habits.can("settings.max_file_bytes") && self.settings.max_file_bytes > 0 {
            bounds::captured(copy, self.settings.max_file_bytes)
        } else {
            Captured { copy, left_out: BTreeSet::new() }
        }
    }

    fn copy(&self, project: &[u8]) -> Result<Captured, Refusal> {
        let files = self.files()?;
        match files.get(project) {
            Some(Node::Directory) => Ok(self.captured(copy_of(&files, project))),
            Some(_) => Err((Code::NotADirectory, "the project is no directory")),
            None => Err((Code::MissingDirectory, "the project is not there")),
        }
    }

    fn take(&mut self, project: &ByteString, reason: &str) -> Result<Answer, Refusal> {
        let captured = self.copy(project)?;
        let (copy, skipped) = (&captured.copy, self.remarks(&captured.left_out));
        if self.habits.can("settings.max_files") && copy.len() > self.settings.max_files {
            return Err((Code::TooManyFiles, "there are too many files"));
        }
        let newest = self.kept.get(project).and_then(|all| all.last());
        let declines = match newest {
            Some(newest) => {
                let same = newest.copy == *copy && newest.parts == self.agent.parts;
                !self.habits.keeps_unchanged && same
            }
            None => !self.habits.keeps_empty && copy.is_empty(),
        };
        if declines {
            return Ok(taken(CheckpointOutcome::Unchanged));
        }
        let id = self.keep(project, reason, captured);
        self.make_room(project, None);
        Ok(Answer::Taken { outcome: CheckpointOutcome::Created { id }, skipped })
    }

    fn keep(&mut self, project: &ByteString, reason: &str, captured: Captured) -> String {
        let Captured { copy, left_out } = captured;
        self.ids += 1;
        let id = (self.habits.id)(self.ids, self.seconds);
        let kept = Kept {
            id: id.clone(),
            time: self.seconds,
            reason: reason.to_owned(),
            copy,
            left_out,
            label: None,
            is_safety: false,
            parts: self.agent.parts.clone(),
            actions: self.agent.actions(),
        };
        self.kept.entry(project.clone()).or_default().push(kept);
        id
    }

    /// Keeps what is there before the checkpoint with that id is restored.
    fn keep_before(&mut self, project: &ByteString, target: &str, captured: Captured) -> String {
        let id = self.keep(project, "before a restore", captured);
        let newest = self.kept.get_mut(project).and_then(|all| all.last_mut());
        newest.into_iter().for_each(|newest| newest.is_safety = true);
        self.make_room(project, Some(target));
        id
    }

    /// Drops what is beyond the limit, oldest first. A checkpoint that was taken before the restore of
    /// another one pushes out no work and not that one, only what was taken before other restores.
    fn make_room(&mut self, project: &ByteString, restored: Option<&str>) {
        let Some(all) = self.kept.get_mut(project) else { return };
        let may_go = |one: &Kept| match restored {
            Some(restored) => one.is_safety && one.id != restored,
            None => true,
        };
        let is_limited = self.habits.can("settings.max_snapshots");
        while is_limited && all.len() > self.settings.max_snapshots.max(1) {
            let older = &all[..all.len() - 1];
            let Some(at) = older.iter().position(may_go) else { break };
            all.remove(at);
        }
    }

    /// Where nothing changed, the newest gets the label.
    fn label(&mut self, project: &ByteString, label: &str) -> Result<Answer, Refusal> {
        let answer = self.take(project, label)?;
        let newest = self.kept.get_mut(project).and_then(|all| all.last_mut());
        newest.into_iter().for_each(|newest| newest.label = Some(label.to_owned()));
        Ok(answer)
    }

    /// All files and parts, and what is left behind.
    fn restore_whole(
        &mut self,
        project: &ByteString,
        at: usize,
        exact: bool,
    ) -> Result<Answer, Refusal> {
        let kept = &self.kept[project][at];
        let (parts, actions) = (kept.parts.clone(), kept.actions);
        let target = Target::of(kept);
        let mut said = self.restore(project, &target, &target.copy, exact)?;
        // What was never set is not there again.
        self.agent.parts = parts;
        if self.habits.can("external") {
            said.external = Some(self.agent.roll_back(actions));
        }
        Ok(Answer::Restored(said))
    }

    fn list(&self, project: &ByteString) -> Answer {
        let all = self.kept.get(project).into_iter().flatten().rev().enumerate();
        let listed = |(at, one): (usize, &Kept)| Listed {
            number: at + 1,
            id: one.id.clone(),
            time: one.time,
            reason: one.reason.clone(),
            stats: None,
        };
        Answer::Listed(all.map(listed).collect())
    }

    /// The place of the checkpoint that a target names, oldest first.
    fn found(&self, project: &ByteString, target: &[u8]) -> Result<usize, Refusal> {
        if self.habits.place_first {
            self.judge_place(project)?;
        }
        let all = self.kept.get(project).map_or(&[][..], Vec::as_slice);
        let no_such = (self.habits.no_such, "there is no such checkpoint");
        let text = std::str::from_utf8(target).map_err(|_| no_such)?;
        if let Some(number) = text.parse::<usize>().ok().filter(|one| one.to_string() == text)
            && self.habits.can("target.number")
            && (1..=all.len()).contains(&number)
        {
            return Ok(all.len() - number);
        }
        let mut labelled =
            all.iter().enumerate().filter(|(_, one)| one.label.as_deref() == Some(text));
        if let Some((at, _)) = labelled.next() {
            let is_only = labelled.next().is_none();
            return is_only.then_some(at).ok_or((Code::AmbiguousCheckpoint, "several have it"));
        }
        if let Some(whole) = all.iter().position(|one| one.id == text) {
            return Ok(whole);
        }
        let is_short = self.habits.can("target.short") && text.len() >= 4;
        let begins = |one: &&Kept| {
            let part = one.id.get(..text.len());
            is_short && part.is_some_and(|part| part.eq_ignore_ascii_case(text))
        };
        let mut found = all.iter().enumerate().filter(|(_, one)| begins(one));
        match (found.next(), found.next()) {
            (Some((only, _)), None) => Ok(only),
            (None, _) => Err(no_such),
            _ => Err((Code::AmbiguousCheckpoint, "several begin so")),
        }
    }

    /// Refuses what can be no project; what was deleted is one if anything is kept of it.
    fn judge_place(&self, project: &ByteString) -> Result<(), Refusal> {
        if *project == self.sandbox.layout().home {
            return Err((Code::ScopeHome, "the home is no project"));
        }
        match self.copy(project) {
            Err((Code::MissingDirectory, _)) if self.kept.contains_key(project) => Ok(()),
            copy => copy.map(drop),
        }
    }

    /// What a single path of a checkpoint stands for: a file, or all that is in a folder.
    fn part(&self, project: &[u8], copy: &Copy, typed: &[u8]) -> Result<Copy, Refusal> {
        let mut names: Vec<&[u8]> = Vec::new();
        if typed.is_empty() || typed.starts_with(b"/") || typed.contains(&0) {
            return Err(BAD_PATH);
        }
        let files = self.files()?;
        for name in typed.split(|byte| *byte == b'/') {
            let so_far = join(project, &names.join(&b'/'));
            match name {
                b"" | b"." => {}
                b".." if matches!(files.get(&so_far), Some(Node::Link { .. })) => {
                    return Err(BAD_PATH);
                }
                b".." => drop(names.pop().ok_or(BAD_PATH)?),
                name => names.push(name),
            }
        }
        let path = names.join(&b'/');
        let above = || ancestors(&path).map(|one| files.get(&join(project, one)));
        if path.is_empty() || above().any(|node| matches!(node, Some(Node::Link { .. }))) {
            return Err(BAD_PATH);
        }
        let is_asked = |one: &[u8]| *one == *path || below(&path, one).is_some();
        let part: Copy = copy.iter().filter(|(one, _)| is_asked(one)).map(owned).collect();
        if part.is_empty() {
            return Err(NOT_THERE);
        }
        let full = join(project, &path);
        let blocked = above().any(|node| !matches!(node, None | Some(Node::Directory)))
            || part.contains_key(&ByteString::from(&*path)) && !copy_of(&files, &full).is_empty();
        if blocked { Err(IN_THE_WAY) } else { Ok(part) }
    }

    fn restore(
        &mut self,
        project: &ByteString,
        target: &Target,
        part: &Copy,
        exact: bool,
    ) -> Result<Restored, Refusal> {
        let Target { id: target, copy: whole, left_out } = target;
        let files = self.files()?;
        let before = match files.get(project) {
            None => None,
            Some(Node::Directory) => Some(copy_of(&files, project)),
            Some(_) => return Err((Code::NotADirectory, "the project is no directory")),
        };
        let newest = self.kept.get(project).and_then(|all| all.last());
        let stands = |newest: &Kept| {
            let captured = before.clone().map(|now| self.captured(now).copy);
            captured.as_ref() == Some(&newest.copy) && newest.parts == self.agent.parts
        };
        let is_held = newest.is_some_and(stands);
        let saves = self.habits.can("restore.safety") && before.is_some() && !is_held;
        let now = before.unwrap_or_default();
        let captured = self.captured(now.clone());
        let (mut part, mut plan) = (part.clone(), units::Plan::default());
        if self.habits.can("settings.max_file_bytes") {
            plan = bounds::plan((whole, left_out), &captured, &mut part);
        } else if self.habits.can("capture.units") {
            plan = units::plan((whole, left_out), (&now, &captured), &mut part, exact);
        }
        let before = captured.copy.clone();
        let safety = saves.then(|| self.keep_before(project, target, captured));
        let full = |path: &ByteString| ByteString(join(project, path));
        let is_since =
            |path: &&ByteString| !whole.contains_key(*path) && !plan.kept.contains(*path);
        let since = || before.keys().filter(is_since);
        let unwritten = |_| (Code::Io, "the project cannot be written");
        // What is removed may be in the way of what comes back.
        if exact {
            self.remove(since().map(full)).map_err(unwritten)?;
        }
        self.remove(plan.remove.iter().map(full)).map_err(unwritten)?;
        self.write(part.iter().map(|(path, kept)| (full(path), kept))).map_err(unwritten)?;
        let after = copy_of(&self.files()?, project);
        let node = |copy: &Copy, path: &ByteString| copy.get(path).map(|(node, _)| node.clone());
        let changed = |path: &&ByteString| node(&now, path) != node(&part, path);
        Ok(Restored {
            safety,
            restored: part.keys().filter(changed).cloned().collect(),
            removed: now.keys().filter(|path| !after.contains_key(*path)).cloned().collect(),
            left: since().filter(|path| after.contains_key(*path)).cloned().collect(),
            kept: self.remarks(&plan.kept),
            ..Restored::default()
        })
    }

    /// Writes each node, after it made room for it. A file that is replaced keeps its permissions.
    fn write<'a>(
        &self,
        nodes: impl Iterator<Item = (ByteString, &'a (Node, Option<u32>))>,
    ) -> io::Result<()> {
        let root = self.sandbox.root();
        let mut files = manifest::read(root, &self.sandbox.base(), None)?.files;
        for (path, (node, kept)) in nodes {
            if files.get(&path) == Some(node) {
                continue;
            }
            let blocked = files.obstacle(&path).is_some() || !copy_of(&files, &path).is_empty();
            if blocked && self.habits.modest {
                continue;
            }
            let obstacle = files.obstacle(&path).map(|(obstacle, _)| ByteString::from(obstacle));
            let own = files.permissions(&path).map(|own| match node {
                Node::File { executable: true, .. } => own | 0o100,
                _ => own & !0o111,
            });
            let room = obstacle.or_else(|| files.get(&path).map(|_| path.clone()));
            if let Some(room) = room {
                edits::apply(root, &Change::Remove(room.clone()))?;
                files.remove(&room);
            }
            for directory in ancestors(&path).filter(|one| !files.is_directory(one)) {
                edits::apply(root, &Change::Make(directory.into(), Node::Directory))?;
            }
            files.make_parents(&path);
            edits::apply(root, &Change::Make(path.clone(), node.clone()))?;
            if let (Some(bits), Node::File { .. }) = (own.or(*kept), node) {
                edits::apply(root, &Change::SetPermissions(path.clone(), bits))?;
            }
            files.insert(&path, node.clone());
        }
        Ok(())
    }

    /// Removes what is still there.
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

fn owned<T: Clone>((path, kept): (&ByteString, &T)) -> (ByteString, T) {
    (path.clone(), kept.clone())
}

/// Everything below a directory but directories.
fn copy_of(files: &Files, project: &[u8]) -> Copy {
    let inside = files.below(project).filter(|(_, node)| **node != Node::Directory);
    let relative = |(full, node): (&ByteString, &Node)| {
        let kept = (node.clone(), files.permissions(full));
        below(project, full).map(|path| (ByteString::from(path), kept))
    };
    inside.filter_map(relative).collect()
}
