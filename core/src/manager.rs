//! The public interface: checkpoints of any number of projects in one store, for one process.

use crate::atomic_write::{replace_file, write_fresh};
use crate::capture::Capture;
use crate::commit::{self, Checkpoint};
use crate::disk::{Disk, Stat};
use crate::environment::{Clock, Config, Environment};
use crate::error::{Context, Error, Result};
use crate::index::Index;
use crate::object::Kind;
use crate::objects::Objects;
use crate::patch::{self, Compared};
use crate::path::{on_disk, shown};
use crate::project::{Project, canonical};
use crate::report::{Diff, Listed, Outcome, Stats, Status, Taken};
use crate::snapshot::{self, Item, Mode, Snapshot};
use crate::store::Store;
use crate::{limits, metadata, ref_recovery, refs, shallow, status, target, usage};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Takes, lists, compares and restores checkpoints. It remembers which projects had their
/// automatic checkpoint in this turn, and nothing else.
pub struct Manager {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) clock: Arc<dyn Clock>,
    environment: Environment,
    pub(crate) config: Config,
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

    /// How the store is kept.
    pub fn config(&self) -> &Config {
        &self.config
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
        let lock = || store.lock_project(&project.hash);
        if let Err(error) = ref_recovery::mend(&store, &objects, &project.hash, lock) {
            // It is listed all the same, and mended by whoever comes next.
            log::debug!("the lost ref of {} stays lost: {error}", project.hash);
        }
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
        let new = self.look(&store, &project)?;
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

    /// Every project of the store, and what the store costs.
    ///
    /// # Errors
    /// A damaged or busy store.
    pub fn status(&self) -> Result<Status> {
        status::of(self.disk.as_ref(), &self.base(), self.config.max_snapshots.max(1))
    }
}

/// Taking a checkpoint.
impl Manager {
    fn take(&self, project: &Project, reason: &str) -> Result<Taken> {
        let disk = self.disk.as_ref();
        project.check_scope(disk, &self.environment)?;
        let (taken, due) = {
            let store = Store::open_or_create(disk, &self.base(), self.clock.seconds())?;
            let _lock = store.lock_project(&project.hash)?;
            let mut objects = store.objects()?;
            let (taken, _) = self.take_locked(&store, &mut objects, project, reason)?;
            let is_new = matches!(taken.outcome, Outcome::Created { .. });
            (taken, is_new.then(|| self.keep_newest(&store, &objects, project)))
        };
        self.after_take(due);
        Ok(taken)
    }

    /// Takes a checkpoint while the project's lock is held, and answers what it read as well.
    pub(crate) fn take_locked(
        &self,
        store: &Store<'_>,
        objects: &mut Objects<'_>,
        project: &Project,
        reason: &str,
    ) -> Result<(Taken, Snapshot)> {
        let known = self.load_index(store, project);
        let started = self.file_system_time(store, project)?;
        let captured = self.capture(project, &known, Some(started)).run(Some(objects))?;
        let tip = ref_recovery::newest_locked(store, objects, &project.hash)?;
        let newest = tip.map(|tip| commit::read(objects, tip)).transpose()?;
        let (outcome, newest) = match &newest {
            None if captured.snapshot.is_empty() => (Outcome::Unchanged, None),
            _ => {
                let tree = snapshot::write(objects, &captured.snapshot)?;
                if newest.is_some_and(|newest| newest.tree == tree) {
                    (Outcome::Unchanged, tip)
                } else {
                    let (hash, now) = (&project.hash, self.clock.seconds());
                    let id = commit::write(objects, hash, tree, tip, now, reason)?;
                    objects.flush()?;
                    refs::advance(store.disk, &store.path, &project.hash, tip, id)?;
                    (Outcome::Created { id: id.to_string() }, Some(id))
                }
            }
        };
        if objects.written() > 0 {
            let _ = usage::add(store, objects.written());
        }
        if let Some(newest) = newest {
            // The checkpoint is there by now. Both of these are made again by the next take, so
            // failing to write them is no failure of this one.
            let _ = metadata::touch(store.disk, &store.path, project, self.clock.seconds(), newest);
            if captured.index != known {
                let _ = self.save_index(store, project, &captured.index);
            }
        }
        Ok((Taken { outcome, skipped: captured.skipped }, captured.snapshot))
    }

    /// Drops what is too many once a checkpoint was added, and answers whether the space of that
    /// is to be freed now. The project's lock is held.
    pub(crate) fn keep_newest(
        &self,
        store: &Store<'_>,
        objects: &Objects<'_>,
        project: &Project,
    ) -> bool {
        limits::keep_newest(store, objects, &project.hash, self.config.max_snapshots.max(1))
    }

    /// What follows a checkpoint that was added, once nothing of the store is held any more.
    pub(crate) fn after_take(&self, due: Option<bool>) {
        if let Some(due) = due {
            limits::after_take(self.disk.as_ref(), &self.base(), &self.config, due);
        }
    }

    pub(crate) fn capture<'a>(
        &'a self,
        project: &'a Project,
        index: &'a Index,
        started: Option<Stat>,
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

    /// What is in the project now, however many files that are, without storing anything of it;
    /// nothing where it is gone.
    pub(crate) fn look(&self, store: &Store<'_>, project: &Project) -> Result<Snapshot> {
        match project.check_directory(self.disk.as_ref()) {
            Err(Error::MissingDirectory(_)) => Ok(Snapshot::new()),
            Err(error) => Err(error),
            Ok(()) => {
                let boundless = Config { max_files: usize::MAX, ..self.config.clone() };
                let known = self.load_index(store, project);
                let capture = self.capture(project, &known, None);
                Capture { config: &boundless, ..capture }.run(None).map(|found| found.snapshot)
            }
        }
    }

    /// An index that cannot be read only costs time.
    pub(crate) fn load_index(&self, store: &Store<'_>, project: &Project) -> Index {
        let path = index_path(store, project);
        let read = self.disk.read(&path, INDEX_BYTES_MAX);
        read.map(|(bytes, _)| Index::parse(&bytes)).unwrap_or_default()
    }

    fn save_index(&self, store: &Store<'_>, project: &Project, index: &Index) -> Result<()> {
        let name = format!("index-{}", project.hash);
        let fresh = write_fresh(store.disk, &store.path, &name, &index.to_bytes())?;
        replace_file(store.disk, &fresh, &index_path(store, project))
    }

    /// A file made now, for the time by the clock that stamps files, which need not be the clock
    /// of the process.
    fn file_system_time(&self, store: &Store<'_>, project: &Project) -> Result<Stat> {
        let name = format!("clock-{}", project.hash);
        let path = write_fresh(store.disk, &store.path, &name, b"")?;
        let stat = store.disk.stat(&path).context("looking at", &path);
        store.disk.remove_file(&path).context("removing", &path)?;
        stat
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

fn index_path(store: &Store<'_>, project: &Project) -> PathBuf {
    store.path.join("indexes").join(&project.hash)
}

/// What the public operations share.
impl Manager {
    pub(crate) fn base(&self) -> PathBuf {
        canonical(self.disk.as_ref(), &self.environment.base)
    }

    pub(crate) fn project(&self, dir: &Path) -> Project {
        Project::resolve(self.disk.as_ref(), &self.environment, dir)
    }

    pub(crate) fn history(
        &self,
        store: &Store<'_>,
        objects: &Objects<'_>,
        project: &Project,
    ) -> Result<Vec<Checkpoint>> {
        let tip = ref_recovery::newest(store, objects, &project.hash)?;
        let boundaries = shallow::read(store.disk, &store.path)?;
        commit::history(objects, tip, &boundaries, self.config.max_snapshots.max(1))
    }
}

pub(crate) fn no_checkpoint(target: &[u8]) -> Error {
    // The same refusals as with an empty list, so that a malformed target is told apart.
    target::find(&[], target).err().unwrap_or_else(|| Error::UnknownCheckpoint(shown(target)))
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
