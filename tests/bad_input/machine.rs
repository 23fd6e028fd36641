//! A machine for one test: a home, a base and one project, on a disk that may do something wrong.

use crate::maintenance::world::{World, created, git};
use herma_core::disk::Disk;
use herma_core::{Config, Error, Manager, RestoreOptions, Restored};
use herma_harness::subject::HookedDisk;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A home, a base and one project, and managers over them.
pub struct Machine {
    world: World,
}

impl Machine {
    pub fn new() -> Self {
        let machine = Machine { world: World::new() };
        fs::create_dir_all(machine.project().join("src")).unwrap();
        machine.write("a.txt", "one\n");
        machine.write("src/b.txt", "two\n");
        machine
    }

    pub fn root(&self) -> PathBuf {
        self.world.root.clone()
    }

    pub fn project(&self) -> PathBuf {
        self.world.project("project")
    }

    /// What the store calls its project, the only one.
    pub fn hash(&self) -> String {
        let refs: Vec<_> = fs::read_dir(self.base().join("store/refs/hermes")).unwrap().collect();
        assert_eq!(refs.len(), 1, "{refs:?}");
        refs[0].as_ref().unwrap().file_name().into_string().unwrap()
    }

    pub fn base(&self) -> PathBuf {
        self.world.base()
    }

    pub fn write(&self, path: &str, content: &str) {
        fs::write(self.project().join(path), content).unwrap();
    }

    pub fn on(&self, disk: impl Disk + 'static) -> Manager {
        self.with(disk, Config::default())
    }

    pub fn with(&self, disk: impl Disk + 'static, config: Config) -> Manager {
        self.world.on(disk, config)
    }

    pub fn manager(&self) -> Manager {
        self.on(HookedDisk::of_an_ordinary_user())
    }

    #[track_caller]
    pub fn take(&self) -> String {
        created(&self.manager(), &self.project(), "taken")
    }

    /// Brings the newest checkpoint back on that disk.
    #[track_caller]
    pub fn restore_on(&self, disk: impl Disk + 'static) -> Restored {
        self.on(disk).restore(&self.project(), b"1", RestoreOptions::default()).unwrap()
    }

    pub fn git_finds_nothing_broken(&self) -> bool {
        self.git().args(["fsck", "--full"]).output().unwrap().status.success()
    }

    /// Git on the store, far from any settings of the machine.
    pub fn git(&self) -> Command {
        git(&self.world.store())
    }
}

/// One call to the disk, before which something happens.
pub struct Step {
    /// How many calls come before it.
    pub number: usize,
    calls: Arc<AtomicUsize>,
}

impl Step {
    /// A disk on which `happening` comes before that call, and fails it by failing.
    pub fn disk(
        &self,
        happening: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> HookedDisk {
        let number = self.number;
        self.counting_disk(move |call| if call == number { happening() } else { Ok(()) })
    }

    /// A disk that gives `happening` the number of each call before it, and fails it by failing.
    pub fn counting_disk(
        &self,
        happening: impl Fn(usize) -> io::Result<()> + Send + Sync + 'static,
    ) -> HookedDisk {
        let calls = Arc::clone(&self.calls);
        HookedDisk::new(move |_, _| happening(calls.fetch_add(1, Ordering::Relaxed)))
    }

    /// Whether that call was made.
    pub fn came(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > self.number
    }

    /// A disk on which `happening` comes before that call among those at `places`, and fails it by failing.
    pub fn disk_among(
        &self,
        places: impl Fn(&Path) -> bool + Send + Sync + 'static,
        happening: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> HookedDisk {
        let (calls, number) = (Arc::clone(&self.calls), self.number);
        HookedDisk::new(move |_, path| {
            match places(path) && calls.fetch_add(1, Ordering::Relaxed) == number {
                true => happening(),
                false => Ok(()),
            }
        })
    }

    /// A disk that fails that call among those at `places`: of others there are more where a file is
    /// so young that it is read again.
    pub fn failing_among(
        &self,
        places: impl Fn(&Path) -> bool + Send + Sync + 'static,
        kind: io::ErrorKind,
    ) -> HookedDisk {
        self.disk_among(places, move || Err(kind.into()))
    }

    /// A disk on which that call fails so.
    pub fn failing(&self, kind: io::ErrorKind) -> HookedDisk {
        self.disk(move || Err(kind.into()))
    }
}

/// Goes through the calls to the disk, one round for each, until a round has no such call any more;
/// answers how many there were.
pub fn at_each_call(mut round: impl FnMut(&Step)) -> usize {
    let mut number = 0;
    loop {
        let step = Step { number, calls: Arc::default() };
        round(&step);
        if !step.came() {
            return number;
        }
        number += 1;
    }
}

/// The code of what was refused.
pub fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    result.unwrap_err().code()
}
