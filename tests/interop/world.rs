//! The fixture of the interoperability tests: projects, their states, and a store that the core and
//! hermes-agent share.

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

/// A home, a store below it, and both tools that use it.
pub struct InteropFixture {
    fixture: maintenance::StoreFixture,
    /// The running hermes-agent.
    pub hermes: Hermes,
}

impl InteropFixture {
    /// A fixture with an empty store; `None` if hermes-agent cannot be installed.
    pub fn new() -> Option<Self> {
        let fixture = maintenance::StoreFixture::new();
        // hermes-agent always uses the system clock.
        fixture.set_clock(SystemClock.seconds());
        let home = fixture.root.join("home");
        let hermes = Hermes::start(&home, &home.join(".hermes"))?;
        Some(InteropFixture { fixture, hermes })
    }

    /// The directory of a project, created if necessary.
    pub fn project(&self, name: &str) -> PathBuf {
        let project = self.fixture.project(name);
        fs::create_dir_all(&project).unwrap();
        project
    }

    /// The git repository of all checkpoints.
    pub fn store(&self) -> PathBuf {
        self.fixture.store()
    }

    /// The core with a limit on the checkpoints of a project.
    pub fn core(&self, max_snapshots: usize) -> Manager {
        let config = Config { enabled: true, max_snapshots, ..Config::default() };
        self.fixture.manager_on(SystemDisk, config)
    }

    /// Takes a checkpoint with the core, in its own turn.
    pub fn take_with_core(&self, dir: &Path, reason: &str) {
        let taken = self.core(MANY).ensure_checkpoint(dir, reason).unwrap();
        assert!(matches!(taken.outcome, Outcome::Created { .. }), "{taken:?}");
        assert!(taken.skipped.is_empty(), "{taken:?}");
    }

    /// The list, newest first; asserts that both tools return the same.
    pub fn list(&mut self, max_snapshots: usize, dir: &Path) -> Vec<Checkpoint> {
        let read = |listed: herma_core::Listed| Checkpoint {
            id: listed.id,
            time: listed.time,
            reason: listed.reason,
        };
        let by_core: Vec<_> =
            self.core(max_snapshots).list(dir).unwrap().into_iter().map(read).collect();
        // hermes-agent shows the subject of a commit message, the first paragraph on one line.
        let with_subject = |checkpoint: &Checkpoint| {
            let subject = checkpoint.reason.split("\n\n").next().unwrap();
            Checkpoint { reason: subject.replace('\n', " "), ..checkpoint.clone() }
        };
        let expected: Vec<_> = by_core.iter().map(with_subject).collect();
        assert_eq!(self.hermes.list(max_snapshots, dir), expected);
        by_core
    }

    /// Restores a checkpoint exactly with the core, and asserts the files of the project.
    pub fn assert_core_restores(&self, dir: &Path, id: &str, files: &Files) {
        let options = RestoreOptions { exact: true, force: false };
        let restored = self.core(MANY).restore(dir, id.as_bytes(), options).unwrap();
        assert!(restored.failed.is_empty() && restored.kept.is_empty(), "{restored:?}");
        assert_eq!(&read(dir), files, "the core restored {id} otherwise");
    }

    /// Restores a checkpoint with hermes-agent, which leaves files that the checkpoint does not contain.
    pub fn assert_hermes_restores(&mut self, dir: &Path, id: &str, files: &Files) {
        self.hermes.restore(MANY, dir, id);
        let mut found = read(dir);
        found.retain(|path, _| files.contains_key(path));
        assert_eq!(&found, files, "hermes-agent restored {id} otherwise");
    }

    /// Runs plain git on the store; it must succeed without any output but notices.
    pub fn git(&self, arguments: &[&str]) {
        let output = maintenance::git(&self.store()).args(arguments).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        // A store has no branch, so its HEAD points at nothing, for which git prints a notice.
        let complaints: Vec<_> =
            text.lines().filter(|line| !line.starts_with("notice: ")).collect();
        assert!(output.status.success() && complaints.is_empty(), "git {arguments:?}: {text}");
    }

    /// Asserts that `git fsck` finds nothing wrong with the store.
    pub fn assert_sound(&self) {
        self.git(&["fsck", "--full", "--no-dangling", "--no-progress"]);
    }
}

/// Makes the project contain exactly these files.
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

/// The current files of the project.
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
