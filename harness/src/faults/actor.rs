//! Somebody else at work in the project while a call is held: an editor that saves a file, or a folder
//! that becomes a link to a place outside.

use super::operation::{ONE, Operation};
use crate::damage::plan::{file, noise};
use herma_model::{ByteString, Entry, Tree};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::{fs, io};

/// A file of several pieces, which nobody reads or writes in one step.
const LARGE: &str = "large.bin";
const LARGE_BYTES: usize = 600_000;
/// The folder that becomes a link, what it is called then, and a name in it that the place outside
/// has, too.
const FOLDER: &str = "src";
const ASIDE: &str = "src.aside";
const IN_IT: [&str; 3] = ["main.rs", "new.txt", "deep/one.txt"];
/// Where the link leads, below the sandbox.
const OUTSIDE: &str = "outside/twin";
/// What the files there hold.
pub(super) const SECRET: &str = "nobody's business\n";

/// What somebody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// Saves a file under another name, and renames it.
    Save,
    /// Writes a file anew, in its place.
    SaveOver,
    /// Puts a link to a place outside where a folder was.
    Swap,
}

impl Actor {
    /// Which file is saved while this operation runs; where nothing is, the link.
    pub(super) fn place(self, operation: Operation) -> &'static str {
        match self {
            Actor::Swap => FOLDER,
            Actor::Save | Actor::SaveOver if operation.restores() => ONE,
            Actor::Save | Actor::SaveOver => LARGE,
        }
    }

    /// What is saved.
    pub(super) fn saved() -> Entry {
        file(noise("saved meanwhile", LARGE_BYTES))
    }

    /// What the project holds before, where it holds that tree otherwise.
    pub(super) fn before(self, operation: Operation, mut tree: Tree) -> Tree {
        if self.place(operation) == LARGE {
            tree.insert(LARGE.into(), file(noise("before it is saved", LARGE_BYTES)));
        }
        tree
    }

    /// Makes the place outside that a link may lead to.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn prepare(self, sandbox: &Path) -> io::Result<()> {
        if self != Actor::Swap {
            return Ok(());
        }
        for name in IN_IT {
            let path = sandbox.join(OUTSIDE).join(name);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, SECRET)?;
        }
        Ok(())
    }

    /// Does it, in one project.
    ///
    /// # Errors
    /// It cannot be done.
    pub(super) fn act(self, operation: Operation, sandbox: &Path, root: &Path) -> io::Result<()> {
        let place = root.join(self.place(operation));
        let bytes = match Actor::saved() {
            Entry::File { content, .. } => content.to_vec(),
            Entry::Link { .. } => Vec::new(),
        };
        match self {
            Actor::Save => {
                // An editor's own file is never seen: nobody looks while this runs.
                let beside = sandbox.join("saved");
                fs::write(&beside, bytes)?;
                fs::rename(beside, place)
            }
            Actor::SaveOver => fs::write(place, bytes),
            Actor::Swap => {
                if place.exists() {
                    fs::rename(&place, root.join(ASIDE))?;
                }
                symlink(sandbox.join(OUTSIDE), place)
            }
        }
    }

    /// Whether what is below the link, or was, is nobody's to judge.
    pub(super) fn is_moved(path: &ByteString) -> bool {
        [FOLDER, ASIDE].iter().any(|folder| path.starts_with(folder.as_bytes()))
    }
}
