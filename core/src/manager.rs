//! The public interface: checkpoints of any number of projects in one store, for one process.

use crate::capture::{Capture, Captured};
use crate::commit::{self, Checkpoint};
use crate::disk::Disk;
use crate::environment::{Clock, Config, Environment};
use crate::error::{Context, Error, Result};
use crate::index::Index;
use crate::objects::{Kind, Objects};
use crate::patch::{self, Compared};
use crate::path::{on_disk, shown};
use crate::project::{Project, canonical};
use crate::report::{Diff, Listed, Outcome, Restored, Stats, Status, Taken};
use crate::restore::Restore;
use crate::snapshot::{self, Item, Mode, Snapshot};
use crate::store::{Store, replace_file, write_fresh};
use crate::{metadata, refs, status, target};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a full restore goes about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreOptions {
    /// Also remove files created since the checkpoint, those that the pre-rollback one holds.
    pub exact: bool,
    /// Go on when no pre-rollback checkpoint can be taken.
    pub force: bool,
}

/// Takes, lists, compares and restores checkpoints. It remembers which projects had their
/// automatic checkpoint in this turn, and nothing else.
pub struct Manager {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    environment: Environment,
    config: Config,
    slots_used: BTreeSet<String>,
}

/// More bytes than the index of any project takes.
const INDEX_BYTES_MAX: u64 = 1024 * 1024 * 1024;

impl Manager {
    /// A manager over these; it touches nothing yet.
    pub fn new(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        environment: Environment,
        config: Config,
    ) -> Self {
        Manager { disk, clock, environment, config, slots_used: BTreeSet::new() }
    }

    /// A conversation turn begins: every project may have one automatic checkpoint again.
    pub fn new_turn(&mut self) {
        self.slots_used.clear();
    }

    /// Takes the automatic checkpoint of this turn, unless the project has it already.
    ///
    /// # Errors
    /// Whatever is out of scope or cannot be stored; then the turn's slot stays free.
    pub fn ensure_checkpoint(&mut self, dir: &Path, reason: &str) -> Result<Taken> {
        let settled = |outcome| Ok(Taken { outcome, skipped: Vec::new() });
        if !self.config.enabled {
            return settled(Outcome::Disabled);
        }
        let project = self.project(dir);
        if self.slots_used.contains(&project.hash) {
            return settled(Outcome::Deduped);
        }
        let taken = self.take(&project, reason)?;
        self.slots_used.insert(project.hash);
        Ok(taken)
    }

    /// Takes a checkpoint that a person asked for, whatever `enabled` and the turn say.
    ///
    /// # Errors
    /// Whatever is out of scope or cannot be stored.
    pub fn checkpoint(&self, dir: &Path, reason: &str) -> Result<Taken> {
        self.take(&self.project(dir), reason)
    }

    /// The checkpoints of a project, newest first.
    ///
    /// # Errors
    /// A damaged or busy store.
    pub fn list(&self, dir: &Path) -> Result<Vec<Listed>> {
        let project = self.project(dir);
        let Some(store) = Store::open(self.disk.as_ref(), &self.base())? else {
            return Ok(Vec::new());
        };
        let objects = store.objects()?;
        let history = self.history(&store, &objects, &project)?;
        let mut listed = Vec::with_capacity(history.len());
        for (index, checkpoint) in history.iter().enumerate() {
            let before = history.get(index + 1);
            listed.push(Listed {
                number: index + 1,
                id: checkpoint.id.to_string(),
                time: checkpoint.seconds,
                reason: checkpoint.reason.clone(),
                stats: before.map(|before| stats(&objects, before, checkpoint)).transpose()?,
            });
        }
        Ok(listed)
    }

    /// What changed in the project since a checkpoint.
    ///
    /// # Errors
    /// A target that names no checkpoint of the project; a project that cannot be read.
    pub fn diff(&self, dir: &Path, target: &[u8]) -> Result<Diff> {
        let project = self.project(dir);
        let none = || no_checkpoint(target);
        let store = Store::open(self.disk.as_ref(), &self.base())?.ok_or_else(none)?;
        let objects = store.objects()?;
        let history = self.history(&store, &objects, &project)?;
        let checkpoint = target::find(&history, target)?;
        let old = snapshot::read(&objects, checkpoint.id, checkpoint.tree)?;
        let new = self.look(&store, &project)?.snapshot;
        let stored = |_: &[u8], item: &Item| objects.read(Kind::Blob, item.blob);
        let on_disk = |path: &[u8], item: &Item| self.read_again(&project, path, item);
        let mut compared: Vec<Compared> = Vec::new();
        for (path, difference) in snapshot::differences(&old, &new) {
            compared.push(patch::compare(path, &difference, &stored, &on_disk)?);
        }
        Ok(Diff {
            id: checkpoint.id.to_string(),
            stats: patch::total(compared.iter().map(|one| &one.entry)),
            patch: compared.iter().flat_map(|one| one.patch.iter().copied()).collect(),
            entries: compared.into_iter().map(|one| one.entry).collect(),
        })
    }

    /// Brings a checkpoint back, after taking one of the state that this changes.
    ///
    /// # Errors
    /// A refusal changes nothing; what goes wrong after the first change is in the answer.
    pub fn restore(&self, dir: &Path, target: &[u8], options: RestoreOptions) -> Result<Restored> {
        self.bring_back(dir, target, Extent::All(options))
    }

    /// Brings one file of a checkpoint back and touches no other path.
    ///
    /// # Errors
    /// As [`Manager::restore`], and a path that is not in the checkpoint or cannot be written
    /// without touching another.
    pub fn restore_file(&self, dir: &Path, target: &[u8], path: &[u8]) -> Result<Restored> {
        self.bring_back(dir, target, Extent::One(&literal_path(path)?))
    }

    /// Every project of the store, and what the store costs.
    ///
    /// # Errors
    /// A damaged or busy store.
    pub fn status(&self) -> Result<Status> {
        status::of(self.disk.as_ref(), &self.base())
    }
}

/// How much of a checkpoint is brought back.
enum Extent<'a> {
    All(RestoreOptions),
    One(&'a [u8]),
}

/// Taking a checkpoint.
impl Manager {
    fn take(&self, project: &Project, reason: &str) -> Result<Taken> {
        let disk = self.disk.as_ref();
        project.check_scope(disk, &self.environment)?;
        let store = Store::open_or_create(disk, &self.base())?;
        let _lock = store.lock_project(&project.hash)?;
        let mut objects = store.objects()?;
        self.take_locked(&store, &mut objects, project, reason).map(|(taken, _)| taken)
    }

    /// Takes a checkpoint while the project's lock is held, and answers what it read as well.
    fn take_locked(
        &self,
        store: &Store<'_>,
        objects: &mut Objects<'_>,
        project: &Project,
        reason: &str,
    ) -> Result<(Taken, Snapshot)> {
        let known = self.load_index(store, project);
        let started = self.file_system_time(store, project)?;
        let captured = self.capture(project, &known, Some(started)).run(Some(objects))?;
        let tip = refs::read(store.disk, &store.path, &project.hash)?;
        let newest = tip.map(|tip| commit::read(objects, tip)).transpose()?;
        let outcome = match &newest {
            None if captured.snapshot.is_empty() => Outcome::Unchanged,
            _ => {
                let tree = snapshot::write(objects, &captured.snapshot)?;
                if newest.is_some_and(|newest| newest.tree == tree) {
                    Outcome::Unchanged
                } else {
                    let id = commit::write(objects, tree, tip, self.clock.seconds(), reason)?;
                    refs::advance(store.disk, &store.path, &project.hash, tip, id)?;
                    Outcome::Created { id: id.to_string() }
                }
            }
        };
        if tip.is_some() || matches!(outcome, Outcome::Created { .. }) {
            // The checkpoint is there by now. Both of these are made again by the next take, so
            // failing to write them is no failure of this one.
            let _ = metadata::touch(store.disk, &store.path, project, self.clock.seconds());
            if captured.index != known {
                let _ = self.save_index(store, project, &captured.index);
            }
        }
        Ok((Taken { outcome, skipped: captured.skipped }, captured.snapshot))
    }

    fn capture<'a>(
        &'a self,
        project: &'a Project,
        index: &'a Index,
        started: Option<(i64, i64)>,
    ) -> Capture<'a> {
        Capture {
            disk: self.disk.as_ref(),
            root: &project.directory,
            base: self.base(),
            config: &self.config,
            index,
            started,
        }
    }

    /// What is in the project now, without storing anything of it; nothing where it is gone.
    fn look(&self, store: &Store<'_>, project: &Project) -> Result<Captured> {
        match project.check_directory(self.disk.as_ref()) {
            Err(Error::MissingDirectory(_)) => Ok(Captured::default()),
            Err(error) => Err(error),
            Ok(()) => self.capture(project, &self.load_index(store, project), None).run(None),
        }
    }

    /// An index that cannot be read only costs time.
    fn load_index(&self, store: &Store<'_>, project: &Project) -> Index {
        let path = index_path(store, project);
        let read = self.disk.read(&path, INDEX_BYTES_MAX);
        read.map(|(bytes, stat)| Index::parse(&bytes, stat.modified)).unwrap_or_default()
    }

    fn save_index(&self, store: &Store<'_>, project: &Project, index: &Index) -> Result<()> {
        let name = format!("index-{}", project.hash);
        let fresh = write_fresh(store.disk, &store.path, &name, &index.to_bytes())?;
        replace_file(store.disk, &fresh, &index_path(store, project))
    }

    /// The time by the clock that stamps files, which need not be the clock of the process.
    fn file_system_time(&self, store: &Store<'_>, project: &Project) -> Result<(i64, i64)> {
        let name = format!("clock-{}", project.hash);
        let path = write_fresh(store.disk, &store.path, &name, b"")?;
        let stat = store.disk.stat(&path).context("looking at", &path);
        store.disk.remove_file(&path).context("removing", &path)?;
        stat.map(|stat| stat.modified)
    }
}

fn index_path(store: &Store<'_>, project: &Project) -> PathBuf {
    store.path.join("indexes").join(&project.hash)
}

/// Bringing one back.
impl Manager {
    fn bring_back(&self, dir: &Path, target: &[u8], extent: Extent<'_>) -> Result<Restored> {
        let disk = self.disk.as_ref();
        let project = self.project(dir);
        let store = Store::open(disk, &self.base())?.ok_or_else(|| no_checkpoint(target))?;
        let mut objects = store.objects()?;
        let history = self.history(&store, &objects, &project)?;
        // Found before the pre-rollback checkpoint is taken, so that this cannot evict it.
        let checkpoint = target::find(&history, target)?;
        let wanted = snapshot::read(&objects, checkpoint.id, checkpoint.tree)?;
        let gone = match project.check_directory(disk) {
            Err(Error::MissingDirectory(_)) => true,
            Err(error) => return Err(error),
            Ok(()) => false,
        };
        let _lock = store.lock_project(&project.hash)?;
        if let Extent::One(path) = extent {
            // Looked at before anything is stored, since a refusal must change nothing.
            let current = if gone { Snapshot::new() } else { self.look_at_all(&project)? };
            self.restore_into(&project, &objects, &current, &wanted).check_one(path)?;
        }
        let reason = format!("before rollback to {}", &checkpoint.id.to_string()[..7]);
        let safety = if gone {
            Ok((None, Snapshot::new()))
        } else {
            self.take_safety(&store, &mut objects, &project, &reason)
        };
        let force = matches!(extent, Extent::All(RestoreOptions { force: true, .. }));
        let (safety, current, forced_past) = match safety {
            Ok((safety, current)) => (safety, current, None),
            Err(error) if force => (None, self.look_at_all(&project)?, Some(error.to_string())),
            Err(error) => return Err(Error::NoSafetyCheckpoint(Box::new(error))),
        };
        // The objects of the pre-rollback checkpoint are not needed to restore another.
        let restore = self.restore_into(&project, &objects, &current, &wanted);
        let report = match extent {
            // Without a pre-rollback checkpoint nothing is held that could be removed.
            Extent::All(options) => restore.all(options.exact && forced_past.is_none())?,
            Extent::One(path) => restore.one(path)?,
        };
        Ok(Restored { id: checkpoint.id.to_string(), safety, forced_past, ..report })
    }

    fn take_safety(
        &self,
        store: &Store<'_>,
        objects: &mut Objects<'_>,
        project: &Project,
        reason: &str,
    ) -> Result<(Option<String>, Snapshot)> {
        let (taken, current) = self.take_locked(store, objects, project, reason)?;
        match taken.outcome {
            Outcome::Created { id } => Ok((Some(id), current)),
            _ => Ok((None, current)),
        }
    }

    /// What is in the project now, however many files that are.
    fn look_at_all(&self, project: &Project) -> Result<Snapshot> {
        let boundless = Config { max_files: usize::MAX, ..self.config.clone() };
        let nothing_known = Index::default();
        let capture = self.capture(project, &nothing_known, None);
        Capture { config: &boundless, ..capture }.run(None).map(|captured| captured.snapshot)
    }

    fn restore_into<'a>(
        &'a self,
        project: &'a Project,
        objects: &'a Objects<'a>,
        current: &'a Snapshot,
        target: &'a Snapshot,
    ) -> Restore<'a> {
        Restore {
            disk: self.disk.as_ref(),
            root: &project.directory,
            base: self.base(),
            objects,
            current,
            target,
        }
    }

    /// The bytes of a captured path as they are on the disk now.
    fn read_again(&self, project: &Project, path: &[u8], item: &Item) -> Result<Vec<u8>> {
        let full = on_disk(&project.directory, path);
        match item.mode {
            Mode::Link => self.disk.read_link(&full),
            _ => self.disk.read(&full, u64::MAX).map(|(content, _)| content),
        }
        .context("reading", &full)
    }
}

/// What the public operations share.
impl Manager {
    fn base(&self) -> PathBuf {
        canonical(self.disk.as_ref(), &self.environment.base)
    }

    fn project(&self, dir: &Path) -> Project {
        Project::resolve(self.disk.as_ref(), &self.environment, dir)
    }

    fn history(
        &self,
        store: &Store<'_>,
        objects: &Objects<'_>,
        project: &Project,
    ) -> Result<Vec<Checkpoint>> {
        let tip = refs::read(self.disk.as_ref(), &store.path, &project.hash)?;
        commit::history(objects, tip, self.config.max_snapshots.max(1))
    }
}

fn no_checkpoint(target: &[u8]) -> Error {
    // The same refusals as with an empty list, so that a malformed target is told apart.
    target::find(&[], target).err().unwrap_or_else(|| Error::UnknownCheckpoint(shown(target)))
}

fn literal_path(typed: &[u8]) -> Result<Vec<u8>> {
    let refused = |why| Err(Error::BadPath { path: shown(typed), why });
    if typed.is_empty() {
        return refused("is empty");
    }
    if typed.starts_with(b"/") {
        return refused("is absolute");
    }
    if typed.contains(&0) {
        return refused("holds a NUL");
    }
    let mut components: Vec<&[u8]> = Vec::new();
    for component in typed.split(|byte| *byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." if components.pop().is_none() => return refused("leaves the project"),
            b".." => {}
            name => components.push(name),
        }
    }
    if components.is_empty() {
        return refused("names the project itself");
    }
    Ok(components.join(&b'/'))
}

fn stats(objects: &Objects<'_>, before: &Checkpoint, after: &Checkpoint) -> Result<Stats> {
    let old = snapshot::read(objects, before.id, before.tree)?;
    let new = snapshot::read(objects, after.id, after.tree)?;
    let content = |_: &[u8], item: &Item| objects.read(Kind::Blob, item.blob);
    let mut entries = Vec::new();
    for (path, difference) in snapshot::differences(&old, &new) {
        entries.push(patch::compare(path, &difference, &content, &content)?.entry);
    }
    Ok(patch::total(entries.iter()))
}
