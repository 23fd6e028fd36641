//! Subjects whose adapters come with this suite: real packages, installed from their public
//! registries at pinned versions into a cache folder.
//!
//! The program contains the adapters, but nothing of the packages.

mod catalogue;
mod install;

pub use catalogue::CATALOGUE;
pub use install::{InstallError, PACKAGES, install, node};

use crate::subject::AdapterCommand;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One package at one version, and the adapter that drives it.
#[derive(Debug)]
pub struct Bundled {
    /// Its name on a command line, without the version.
    pub name: &'static str,
    /// The pinned version.
    pub version: &'static str,
    /// A short description.
    pub what: &'static str,
    /// The adapter's file name and text.
    pub adapter: (&'static str, &'static str),
    /// The text of its expectations file.
    pub expectations: &'static str,
    /// Where the package comes from.
    pub packages: Packages,
    /// The source files of the package that take and restore checkpoints, below its folder; empty if no
    /// source can be changed.
    pub sources: &'static [&'static str],
}

/// The registry and the packages.
#[derive(Debug)]
pub enum Packages {
    /// Python packages by `pip`, each pinned; with a hash where one file serves every machine.
    Python(&'static [(&'static str, Option<&'static str>)]),
    /// A Node package by `npm`, pinned, whose install scripts do not run.
    Node(&'static str),
    /// A Rust crate by `cargo`, with the manifest and the lock file of the adapter that is built
    /// against it.
    Crate {
        /// The adapter's `Cargo.toml`.
        manifest: &'static str,
        /// Its `Cargo.lock`, which pins everything.
        lock: &'static str,
    },
    /// Debian packages by `apt-get download`, each pinned and unpacked; nothing is installed.
    Debian(&'static [&'static str]),
}

impl Bundled {
    /// `name@version`.
    pub fn full_name(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// The folder below `cache` that the package is installed in.
    pub fn folder(&self, cache: &Path) -> PathBuf {
        cache.join(format!("{}-{}", self.name, self.version))
    }

    /// Whether the subject is installed; a built adapter must be from the same source text.
    pub fn is_installed(&self, cache: &Path) -> bool {
        let folder = self.folder(cache);
        let is_current = !self.is_built() || self.is_written(&folder);
        is_current && folder.join(install::DONE).exists()
    }

    /// Whether the adapter is built when it is installed.
    fn is_built(&self) -> bool {
        matches!(self.packages, Packages::Crate { .. })
    }

    /// Whether the adapter in the folder has the text of the adapter in this program.
    fn is_written(&self, folder: &Path) -> bool {
        let written = fs::read_to_string(folder.join(self.adapter.0)).ok();
        written.as_deref() == Some(self.adapter.1)
    }

    /// The command that starts its adapter.
    ///
    /// # Errors
    /// The adapter cannot be written to the folder, or its interpreter cannot be found.
    pub fn command(&self, cache: &Path) -> io::Result<AdapterCommand> {
        let folder = self.folder(cache);
        let adapter = folder.join(self.adapter.0);
        if !self.is_built() && !self.is_written(&folder) {
            fs::write(&adapter, self.adapter.1)?;
        }
        let packages = folder.join(install::PACKAGES);
        let mut command: Vec<OsString> = match adapter.extension().and_then(OsStr::to_str) {
            Some("rs") => vec![adapter.with_extension("").into()],
            Some("py") => in_python(&adapter)?,
            _ => in_node(&adapter)?,
        };
        command.extend([self.version.into(), packages.into()]);
        Ok(AdapterCommand { command, directory: folder, ..AdapterCommand::default() })
    }
}

/// The command that starts a Python file, with the interpreter itself: a wrapper script that finds the
/// interpreter would take longer than the interpreter.
///
/// # Errors
/// There is no `python3`, or it does not report its path.
pub fn in_python(file: &Path) -> io::Result<Vec<OsString>> {
    let print_path = ["-I", "-c", "import sys; print(sys.executable)"];
    Ok(vec![interpreter("python3", &print_path)?, "-I".into(), "-S".into(), file.into()])
}

/// The command that starts a file for Node.
///
/// # Errors
/// There is no `node`, or it does not report its path.
pub fn in_node(file: &Path) -> io::Result<Vec<OsString>> {
    Ok(vec![interpreter("node", &["-p", "process.execPath"])?, file.into()])
}

/// The real path of an interpreter, as it reports it.
fn interpreter(name: &str, arguments: &[&str]) -> io::Result<OsString> {
    let output = Command::new(name).args(arguments).output().map_err(|error| {
        io::Error::new(error.kind(), format!("`{name}` cannot be started: {error}"))
    })?;
    if !output.status.success() {
        return Err(io::Error::other(format!("`{name}` does not say where it is")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

/// The bundled subject with that name and version, or the newest version if the name has no version.
///
/// # Errors
/// There is no such subject; the text lists the existing ones.
pub fn find(name: &str) -> Result<&'static Bundled, String> {
    let exact = CATALOGUE.iter().find(|subject| subject.full_name() == name);
    // The catalogue is in order of the versions.
    let newest = || CATALOGUE.iter().rev().find(|subject| subject.name == name);
    exact.or_else(newest).ok_or_else(|| {
        let names: Vec<String> = CATALOGUE.iter().map(Bundled::full_name).collect();
        format!("there is no bundled subject `{name}`; there is `core`, {}", names.join(", "))
    })
}
