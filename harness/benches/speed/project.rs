//! A project of source files, and its changes. Every tool gets the same.

use herma_harness::history::History;
use herma_harness::sandbox::{Sandbox, Scratch};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files in one folder.
const FOLDER_SIZE: usize = 16;

/// A project in a sandbox of its own.
pub struct SourceTree {
    /// The sandbox: a home and the project.
    pub sandbox: Sandbox,
    files: usize,
}

impl SourceTree {
    /// A new project of so many files.
    pub fn new(scratch: &Scratch, files: usize) -> io::Result<Self> {
        let history = History { plain_home: true, ..History::default() };
        let sandbox = Sandbox::new(scratch, &history)?;
        let project = SourceTree { sandbox, files };
        // What the project has already is the repository of its user.
        fs::remove_dir_all(project.directory().join(".git"))?;
        for number in 0..files {
            let path = project.directory().join(name(number));
            fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
            fs::write(path, content(number, 0))?;
        }
        Ok(project)
    }

    /// Its directory.
    pub fn directory(&self) -> PathBuf {
        self.sandbox.root().join("work/alpha")
    }

    /// Gives `changes` of its files another content, which differs for each `version`.
    pub fn change(&self, changes: usize, version: usize) -> io::Result<()> {
        let step = self.files.checked_div(changes).unwrap_or(1).max(1);
        for number in (0..self.files).step_by(step).take(changes) {
            fs::write(self.directory().join(name(number)), content(number, version))?;
        }
        Ok(())
    }
}

/// The path of the first file, which every change changes.
pub fn first_name() -> String {
    name(0)
}

fn name(number: usize) -> String {
    let folder = number / FOLDER_SIZE;
    format!("src/part{:02}/module{folder:04}/file{number:05}.rs", folder % 40)
}

/// Between 2 and 5 kilobytes of text that compresses as source does.
fn content(number: usize, version: usize) -> String {
    let lines = 40 + number * 7919 % 61;
    let line = |line| {
        let value = (number * 31 + line * 17 + version * 101) % 9973;
        format!("    let value_{line} = compute({value}, {number}); // step {version}\n")
    };
    (0..lines).map(line).collect()
}
