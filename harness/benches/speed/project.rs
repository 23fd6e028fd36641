//! A project of source files or of large ones, and its changes. Every tool gets the same.

use crate::plan::Shape;
use herma_harness::history::History;
use herma_harness::sandbox::{Sandbox, Scratch, bytes_below};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files in one folder.
const FOLDER_SIZE: usize = 16;
/// The lines of a large file, of about 16 bytes each: it is below the limit that a checkpoint has by default.
const LARGE_LINES: usize = 450_000;

/// A project in a sandbox of its own.
pub struct SourceTree {
    /// The sandbox: a home and the project.
    pub sandbox: Sandbox,
    shape: Shape,
}

impl SourceTree {
    /// A new project of that shape.
    pub fn new(scratch: &Scratch, shape: Shape) -> io::Result<Self> {
        let history = History { plain_home: true, ..History::default() };
        let sandbox = Sandbox::new(scratch, &history)?;
        let project = SourceTree { sandbox, shape };
        // What the project has already is the repository of its user.
        fs::remove_dir_all(project.directory().join(".git"))?;
        for number in 0..shape.files() {
            let path = project.directory().join(name(number));
            fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
            fs::write(path, project.content(number, 0))?;
        }
        Ok(project)
    }

    /// Its directory.
    pub fn directory(&self) -> PathBuf {
        self.sandbox.root().join("work/alpha")
    }

    /// Gives `changes` of its files another content, which differs for each `version`.
    pub fn change(&self, changes: usize, version: usize) -> io::Result<()> {
        let files = self.shape.files();
        let step = files.checked_div(changes).unwrap_or(1).max(1);
        for number in (0..files).step_by(step).take(changes) {
            fs::write(self.directory().join(name(number)), self.content(number, version))?;
        }
        Ok(())
    }

    /// The size of its files in bytes.
    pub fn bytes(&self) -> io::Result<u64> {
        bytes_below(&self.directory())
    }

    fn content(&self, number: usize, version: usize) -> String {
        let text = text(number, version);
        match self.shape {
            Shape::Source(_) => text,
            // Its start differs between two versions, the rest stays.
            Shape::Large(_) => {
                let line = |line| format!("{line},{},{number}\n", line * 7919 % 104_729);
                text + &(0..LARGE_LINES).map(line).collect::<String>()
            }
        }
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
fn text(number: usize, version: usize) -> String {
    let lines = 40 + number * 7919 % 61;
    let line = |line| {
        let value = (number * 31 + line * 17 + version * 101) % 9973;
        format!("    let value_{line} = compute({value}, {number}); // step {version}\n")
    };
    (0..lines).map(line).collect()
}
