//! The tools of an agent that may change files, and the files that each may change.

use crate::triggers::{patch, reasons};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A tool that is about to run. Relative paths start from the directory where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool<'a> {
    /// A file is written.
    WriteFile {
        /// The file.
        path: &'a Path,
        /// Where the tool runs.
        directory: &'a Path,
    },
    /// A patch is applied.
    Patch {
        /// Its body: a unified diff, a git diff, or the form that begins with `*** Begin Patch`.
        body: &'a [u8],
        /// Where the tool runs.
        directory: &'a Path,
    },
    /// A command runs in a terminal.
    Terminal {
        /// The command, a line of shell.
        command: &'a str,
        /// Where it runs.
        directory: &'a Path,
    },
}

impl Tool<'_> {
    /// Files that identify the projects that the tool may change; empty if it changes no file, as far
    /// as its words tell.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            Tool::WriteFile { path, directory } => vec![directory.join(path)],
            Tool::Patch { body, directory } => {
                let path = |path: Vec<u8>| directory.join(OsStr::from_bytes(&path));
                patch::paths(body).into_iter().map(path).collect()
            }
            Tool::Terminal { command, directory } => match reasons(command).is_empty() {
                true => Vec::new(),
                // rule: turn/shared-history
                false => vec![directory.to_path_buf()],
            },
        }
    }

    /// The files that the tool names: all that a file tool may change, and none for a terminal, whose
    /// changes only a comparison of the project shows.
    pub(super) fn named_files(&self) -> Vec<PathBuf> {
        match self {
            Tool::WriteFile { .. } | Tool::Patch { .. } => self.files(),
            Tool::Terminal { .. } => Vec::new(),
        }
    }

    /// Where it runs.
    pub fn directory(&self) -> &Path {
        match self {
            Tool::WriteFile { directory, .. }
            | Tool::Patch { directory, .. }
            | Tool::Terminal { directory, .. } => directory,
        }
    }

    /// The reason that the list shows.
    pub fn reason(&self) -> String {
        match self {
            Tool::WriteFile { .. } => "before write_file".to_owned(),
            Tool::Patch { .. } => "before patch".to_owned(),
            Tool::Terminal { command, .. } => format!("before terminal: {command}"),
        }
    }
}
