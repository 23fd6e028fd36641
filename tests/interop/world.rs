//! The project, its states and the store that the core and hermes-agent share.

use super::Checkpoint;
use super::hermes::Hermes;
use crate::maintenance::world as maintenance;
use herma_core::disk::SystemDisk;
use herma_core::{Clock, Config, Manager, Outcome, RestoreOptions, SystemClock};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// More checkpoints than any test takes.
pub const MANY: usize = 50;

/// Files by their path in the project, each with its bytes and whether it is executable.
pub type Files = BTreeMap<String, (Vec<u8>, bool)>;

/// The project as it is at a step. Every step changes bytes, an executable bit and which files
/// there are.
pub fn files_at(step: u8) -> Files {
    let text = |text: String| (text.into_bytes(), false);
    Files::from([
        ("read me.txt".into(), text(format!("always\r\nstep {step}\r\nno end of line"))),
        ("größe/ß.txt".into(), text("the same at every step\n".into())),
        ("src/data.bin".into(), (vec![0, step, 0xff, b'\r', b'\n', 0x80], false)),
        ("src/run.sh".into(), (b"#!/bin/sh\n".to_vec(), step % 2 == 1)),
        ("src/empty".into(), text(String::new())),
        (format!("only/at-{step}.txt"), text(format!("{step}\n"))),
    ])
}

/// A home, a store below it, and both who use it.
pub struct World {
    world: maintenance::World,
    /// The other one.
    pub hermes: Hermes,
}

impl World {
    /// An empty one; none where hermes-agent cannot be had.
    pub fn new() -> Option<Self> {
        let world = maintenance::World::new();
        // The other one has no clock of its own.
        world.set_clock(SystemClock.seconds());
        let home = world.root.join("home");
        let hermes = Hermes::start(&home, &home.join(".hermes"))?;
        Some(World { world, hermes })
    }

    /// The directory of a project, made if it must be.
    pub fn project(&self, name: &str) -> PathBuf {
        let project = self.world.project(name);
        fs::create_dir_all(&project).unwrap();
        project
    }

    /// The git repository of all checkpoints.
    pub fn store(&self) -> PathBuf {
        self.world.store()
    }

    /// The core with a limit.
    pub fn core(&self, most: usize) -> Manager {
        let config = Config { enabled: true, max_snapshots: most, ..Config::default() };
        self.world.on(SystemDisk, config)
    }

    /// Takes a checkpoint with the core, in a turn of its own.
    pub fn core_takes(&self, dir: &Path, reason: &str) {
        let taken = self.core(MANY).ensure_checkpoint(dir, reason).unwrap();
        assert!(matches!(taken.outcome, Outcome::Created { .. }), "{taken:?}");
        assert!(taken.skipped.is_empty(), "{taken:?}");
    }

    /// The list, which is one and the same for both, newest first.
    pub fn list(&mut self, most: usize, dir: &Path) -> Vec<Checkpoint> {
        let read =
            |one: herma_core::Listed| Checkpoint { id: one.id, time: one.time, reason: one.reason };
        let by_core: Vec<_> = self.core(most).list(dir).unwrap().into_iter().map(read).collect();
        // hermes-agent shows the subject of a commit message, the first paragraph on one line.
        let folded = |one: &Checkpoint| {
            let subject = one.reason.split("\n\n").next().unwrap();
            Checkpoint { reason: subject.replace('\n', " "), ..one.clone() }
        };
        let folded: Vec<_> = by_core.iter().map(folded).collect();
        assert_eq!(self.hermes.list(most, dir), folded);
        by_core
    }

    /// Brings a checkpoint back with the core, with no file left that it does not hold.
    pub fn core_restores(&self, dir: &Path, id: &str, files: &Files) {
        let options = RestoreOptions { exact: true, force: false };
        let restored = self.core(MANY).restore(dir, id.as_bytes(), options).unwrap();
        assert!(restored.failed.is_empty() && restored.kept.is_empty(), "{restored:?}");
        assert_eq!(&read(dir), files, "the core restored {id} otherwise");
    }

    /// Brings a checkpoint back with hermes-agent, which leaves files that it does not hold.
    pub fn hermes_restores(&mut self, dir: &Path, id: &str, files: &Files) {
        self.hermes.restore(MANY, dir, id);
        let mut found = read(dir);
        found.retain(|path, _| files.contains_key(path));
        assert_eq!(&found, files, "hermes-agent restored {id} otherwise");
    }

    /// Runs plain git on the store, which must succeed and complain of nothing.
    pub fn git(&self, arguments: &[&str]) {
        let output = maintenance::git(&self.store()).args(arguments).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        // A store has no branch, so that nothing is where its HEAD points, which git remarks.
        let complaints: Vec<_> =
            said.lines().filter(|line| !line.starts_with("notice: ")).collect();
        assert!(output.status.success() && complaints.is_empty(), "git {arguments:?}: {said}");
    }

    /// Plain git finds nothing wrong with the store.
    pub fn is_sound(&self) {
        self.git(&["fsck", "--full", "--no-dangling", "--no-progress"]);
    }
}

/// Makes the project hold these files and no others.
pub fn write(dir: &Path, files: &Files) {
    for path in read(dir).keys().filter(|path| !files.contains_key(*path)) {
        fs::remove_file(dir.join(path)).unwrap();
    }
    for (path, (bytes, executable)) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let mode = if *executable { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// The files of the project as they are.
pub fn read(dir: &Path) -> Files {
    let mut found = Files::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let executable = path.metadata().unwrap().permissions().mode() & 0o100 != 0;
        let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
        found.insert(name, (fs::read(&path).unwrap(), executable));
    }
    found
}
