//! The line `scratch`: the session continues in an empty temporary project with a home and a store of its
//! own, so that a demonstration leaves nothing behind.

use super::Session;
use crate::commands::Herma;
use herma_core::Environment;
use herma_core::agent::CheckpointManager;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// Automatic checkpoints are what a demonstration shows.
const CONFIGURATION: &str = "checkpoints:\n  enabled: true\n";

/// A temporary folder, removed when this is dropped.
pub(super) struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    fn create() -> io::Result<(Self, Environment)> {
        let folder = fs::canonicalize(std::env::temp_dir())?;
        let folder = folder.join(format!("herma-scratch-{}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&folder)?;
        let scratch = Scratch { folder };
        let environment = Environment {
            home: scratch.folder.join("home"),
            current_directory: scratch.folder.join("project"),
            base: scratch.folder.join("hermes/checkpoints"),
        };
        for folder in [&environment.home, &environment.current_directory, &environment.base] {
            fs::create_dir_all(folder)?;
        }
        fs::write(environment.configuration_file(), CONFIGURATION)?;
        // Compensations run in the current directory of the process.
        std::env::set_current_dir(&environment.current_directory)?;
        Ok((scratch, environment))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // There is no user to tell: the folder is in the temporary folder, which the system empties.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl<W: Write> Session<W> {
    /// Continues in a temporary project, and returns whether the session may go on: otherwise its next
    /// lines would change the user's files.
    pub(super) fn enter_scratch(&mut self) -> io::Result<bool> {
        if self.scratch.is_some() || self.turns_begun > 0 {
            let late = "scratch can only be the first line of a session; the session ends here";
            return self.failed(late).map(|()| false);
        }
        let environment = match Scratch::create() {
            Ok((scratch, environment)) => {
                self.scratch = Some(scratch);
                environment
            }
            Err(error) => {
                let message =
                    format!("no temporary project was created ({error}); the session ends here");
                return self.failed(&message).map(|()| false);
            }
        };
        self.directory = environment.current_directory.clone();
        self.checkpoints = CheckpointManager::configured(environment.clone());
        self.herma = Herma::new(environment.clone(), false, self.style);
        self.environment = environment;
        self.print("in an empty temporary project, which is removed when the session ends")?;
        Ok(true)
    }
}
