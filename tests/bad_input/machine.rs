//! A machine for one test: a home, a base and one project, on a disk that may do something wrong.

use herma_core::disk::Disk;
use herma_core::{Clock, Config, Environment, Error, Manager, Outcome};
use herma_harness::sandbox::Scratch;
use herma_harness::subject::HookedDisk;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

struct Noon;

impl Clock for Noon {
    fn seconds(&self) -> i64 {
        1_773_662_400
    }
}

/// A home, a base and one project, and managers over them.
pub struct Machine {
    folder: TempDir,
}

impl Machine {
    pub fn new() -> Self {
        // In memory where there is one: much is written here, and waited for until it is durable.
        let machine = Machine { folder: Scratch::default_place().temporary().unwrap() };
        fs::create_dir_all(machine.project().join("src")).unwrap();
        machine.write("a.txt", "one\n");
        machine.write("src/b.txt", "two\n");
        machine
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub fn base(&self) -> PathBuf {
        self.root().join("home/.hermes/checkpoints")
    }

    pub fn write(&self, path: &str, content: &str) {
        fs::write(self.project().join(path), content).unwrap();
    }

    pub fn on(&self, disk: impl Disk + 'static) -> Manager {
        self.with(disk, Config::default())
    }

    pub fn with(&self, disk: impl Disk + 'static, config: Config) -> Manager {
        let environment = Environment {
            home: self.root().join("home"),
            current_directory: self.root(),
            base: self.base(),
        };
        let config = Config { enabled: true, ..config };
        Manager::new(Arc::new(disk), Arc::new(Noon), environment, config)
    }

    pub fn manager(&self) -> Manager {
        self.on(HookedDisk::of_an_ordinary_user())
    }

    pub fn take(&self) -> String {
        match self.manager().checkpoint(&self.project(), "taken").unwrap().outcome {
            Outcome::Created { id } => id,
            outcome => panic!("{outcome:?}"),
        }
    }

    pub fn git_finds_nothing_broken(&self) -> bool {
        let mut git = std::process::Command::new("git");
        git.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        git.env("HOME", self.root()).arg("--git-dir").arg(self.base().join("store"));
        git.args(["fsck", "--full"]).output().unwrap().status.success()
    }
}

/// The code of what was refused.
pub fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    result.unwrap_err().code()
}
