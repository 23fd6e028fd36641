//! The fixture of the bad-input tests: a home, a base and one project, on a disk whose calls may fail.

use crate::maintenance::world::{StoreFixture, git, take_checkpoint};
use herma_core::disk::Disk;
use herma_core::{Config, Error, Manager, RestoreOptions, Restored};
use herma_harness::sandbox::Scratch;
use herma_harness::subject::HookedDisk;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

/// A home, a base and one project, and managers over them.
pub struct Machine {
    fixture: StoreFixture,
}

impl Machine {
    pub fn new() -> Self {
        let machine = Machine { fixture: StoreFixture::new() };
        fs::create_dir_all(machine.project().join("src")).unwrap();
        machine.write("a.txt", "one\n");
        machine.write("src/b.txt", "two\n");
        machine
    }

    pub fn root(&self) -> PathBuf {
        self.fixture.root.clone()
    }

    pub fn project(&self) -> PathBuf {
        self.fixture.project("project")
    }

    /// The hash of the only project in the store.
    pub fn hash(&self) -> String {
        let refs: Vec<_> = fs::read_dir(self.base().join("store/refs/hermes")).unwrap().collect();
        assert_eq!(refs.len(), 1, "{refs:?}");
        refs[0].as_ref().unwrap().file_name().into_string().unwrap()
    }

    pub fn base(&self) -> PathBuf {
        self.fixture.base()
    }

    pub fn write(&self, path: &str, content: &str) {
        fs::write(self.project().join(path), content).unwrap();
    }

    pub fn manager_on(&self, disk: impl Disk + 'static) -> Manager {
        self.manager_with(disk, Config::default())
    }

    pub fn manager_with(&self, disk: impl Disk + 'static, config: Config) -> Manager {
        self.fixture.manager_on(disk, config)
    }

    pub fn manager(&self) -> Manager {
        self.manager_on(HookedDisk::of_an_ordinary_user())
    }

    /// A copy of everything, for [`Machine::put_back`].
    pub fn copied(&self) -> TempDir {
        let copied = Scratch::in_default_directory().temporary().unwrap();
        copy_folder(&self.root(), copied.path());
        copied
    }

    /// Puts everything back as it was when it was copied, which is faster than to do again what led there.
    pub fn put_back(&self, copied: &TempDir) {
        for entry in fs::read_dir(self.root()).unwrap() {
            fs::remove_dir_all(entry.unwrap().path()).unwrap();
        }
        copy_folder(copied.path(), &self.root());
    }

    #[track_caller]
    pub fn take(&self) -> String {
        take_checkpoint(&self.manager(), &self.project(), "taken")
    }

    /// Restores the newest checkpoint on that disk.
    #[track_caller]
    pub fn restore_on(&self, disk: impl Disk + 'static) -> Restored {
        self.manager_on(disk).restore(&self.project(), b"1", RestoreOptions::default()).unwrap()
    }

    pub fn git_finds_nothing_broken(&self) -> bool {
        self.git().args(["fsck", "--full"]).output().unwrap().status.success()
    }

    /// Git on the store, isolated from the configuration of the machine.
    pub fn git(&self) -> Command {
        git(&self.fixture.store())
    }
}

/// Copies folders and files with their permissions.
fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy_folder(&entry.path(), &target);
            fs::set_permissions(&target, entry.metadata().unwrap().permissions()).unwrap();
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// One call to the disk, before which an action runs.
pub struct Step {
    /// The number of earlier calls.
    pub number: usize,
    calls: Arc<AtomicUsize>,
}

impl Step {
    /// A disk on which `action` runs before that call; an error of the action fails the call.
    pub fn disk(&self, action: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> HookedDisk {
        self.disk_among(|_| true, action)
    }

    /// A disk on which `action` runs before each call, with the number of the call; an error of the action fails
    /// the call.
    pub fn counting_disk(
        &self,
        action: impl Fn(usize) -> io::Result<()> + Send + Sync + 'static,
    ) -> HookedDisk {
        self.counting_disk_among(|_| true, action)
    }

    /// The same, but only for calls whose path is counted.
    pub fn counting_disk_among(
        &self,
        is_counted: impl Fn(&Path) -> bool + Send + Sync + 'static,
        action: impl Fn(usize) -> io::Result<()> + Send + Sync + 'static,
    ) -> HookedDisk {
        let calls = Arc::clone(&self.calls);
        HookedDisk::new(move |_, path| match is_counted(path) {
            true => action(calls.fetch_add(1, Ordering::Relaxed)),
            false => Ok(()),
        })
    }

    /// Whether that call was made.
    pub fn was_made(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > self.number
    }

    /// A disk on which `action` runs before the call of that number among the calls whose path is counted; an
    /// error of the action fails the call.
    pub fn disk_among(
        &self,
        is_counted: impl Fn(&Path) -> bool + Send + Sync + 'static,
        action: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> HookedDisk {
        let number = self.number;
        self.counting_disk_among(
            is_counted,
            move |call| if call == number { action() } else { Ok(()) },
        )
    }

    /// A disk that fails the call of that number among the calls whose path is counted. The number of other calls
    /// varies, because very recent files are read again.
    pub fn failing_disk_among(
        &self,
        is_counted: impl Fn(&Path) -> bool + Send + Sync + 'static,
        kind: io::ErrorKind,
    ) -> HookedDisk {
        self.disk_among(is_counted, move || Err(kind.into()))
    }

    /// A disk on which that call fails with this error.
    pub fn failing_disk(&self, kind: io::ErrorKind) -> HookedDisk {
        self.disk(move || Err(kind.into()))
    }
}

/// Runs one round for each call to the disk, until a round does not make its call; returns the number of
/// calls.
pub fn at_each_call(mut round: impl FnMut(&Step)) -> usize {
    let mut number = 0;
    loop {
        let step = Step { number, calls: Arc::default() };
        round(&step);
        if !step.was_made() {
            return number;
        }
        number += 1;
    }
}

/// The error code of a refused request.
pub fn error_code<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    result.unwrap_err().code()
}
