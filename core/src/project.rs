//! Which directory is a project: its canonical path, its hash, and what is out of scope.

use crate::disk::{Disk, Kind, canonical, is_absence, is_same};
use crate::environment::Environment;
use crate::error::{Context, Error, Result};
use crate::own_folders::OwnFolders;
use sha2::{Digest, Sha256};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Each of these marks a directory as the root of a project.
const MARKERS: &[&str] = &[
    ".git",
    ".hg",
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
    "pom.xml",
    "Gemfile",
];

/// A project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its canonical absolute directory, which need not exist.
    pub directory: PathBuf,
    /// The first 16 hex digits of the SHA-256 of that path.
    pub hash: String,
}

impl Project {
    /// The project that a path typed by the user refers to.
    pub fn resolve(disk: &dyn Disk, environment: &Environment, typed: &Path) -> Self {
        // rule: scope/identity
        let directory = canonical(disk, &environment.absolute(typed));
        let hash = hash_of(&directory);
        Project { directory, hash }
    }

    /// The project whose directory was at that path before the path, or part of it, became a link.
    pub fn before_link(environment: &Environment, typed: &Path) -> Self {
        let directory = environment.absolute(typed);
        let hash = hash_of(&directory);
        Project { directory, hash }
    }

    /// The prefix of the names of the temporary files that a restore of this project creates; no other
    /// program uses such names.
    pub fn temporary_name(&self) -> String {
        temporary_name(&self.hash)
    }

    /// Refuses a directory of which no checkpoint may be taken, whatever it contains.
    pub fn check_scope(&self, disk: &dyn Disk, environment: &Environment) -> Result<()> {
        // rule: scope/never-root
        if self.directory == Path::new("/") {
            return Err(Error::ScopeRoot);
        }
        // rule: scope/never-home
        let home = canonical(disk, &environment.home);
        if self.directory == home || is_same(disk, &self.directory, &home) {
            return Err(Error::ScopeHome(self.directory.clone()));
        }
        if OwnFolders::of(disk, environment).has_any(disk, self.directory.ancestors()) {
            return Err(Error::ScopeBase(self.directory.clone()));
        }
        self.check_directory(disk)
    }

    /// Checks that the directory exists and is a directory.
    // rule: scope/no-directory
    pub fn check_directory(&self, disk: &dyn Disk) -> Result<()> {
        match disk.stat(&self.directory) {
            Ok(stat) if stat.kind == Kind::Directory => Ok(()),
            Ok(_) => Err(Error::NotADirectory(self.directory.clone())),
            // Only this error means that the directory is gone; others may be temporary.
            Err(error) if is_absence(&error) => {
                Err(Error::MissingDirectory(self.directory.clone()))
            }
            Err(error) => Err(error).context("looking at", &self.directory),
        }
    }
}

/// The directory of the project that a file belongs to: the nearest ancestor with a marker, else
/// its parent. `None` for a file directly in the home directory or the root.
pub fn project_of_file(disk: &dyn Disk, environment: &Environment, file: &Path) -> Option<PathBuf> {
    let path = canonical(disk, &environment.absolute(file));
    let home = canonical(disk, &environment.home);
    let is_broad = |directory: &Path| directory == Path::new("/") || directory == home;
    let is_directory = disk.stat(&path).is_ok_and(|stat| stat.kind == Kind::Directory);
    let start = if is_directory { path.as_path() } else { path.parent()? };
    if is_broad(start) {
        return None;
    }
    // rule: scope/root-never-broad
    let candidates = start.ancestors().take_while(|directory| !is_broad(directory));
    // rule: scope/root-of-file
    Some(
        candidates
            .into_iter()
            .find(|directory| is_marked(disk, directory))
            .unwrap_or(start)
            .to_owned(),
    )
}

/// Whether a canonical directory contains a marker of a project root.
fn is_marked(disk: &dyn Disk, directory: &Path) -> bool {
    let exists = |marker| match disk.stat(&directory.join(marker)) {
        // A dangling link is no marker, so the link is followed.
        Ok(stat) if stat.kind == Kind::Link => {
            disk.stat(&canonical(disk, &directory.join(marker))).is_ok()
        }
        found => found.is_ok(),
    };
    MARKERS.iter().any(exists)
}

/// The project of a file that a tool in that directory is about to change. Without a marker it is the
/// project of the tool's directory, so that file tools and a terminal share one history.
// rule: turn/shared-history
pub fn project_of_tool(
    disk: &dyn Disk,
    environment: &Environment,
    directory: &Path,
    file: &Path,
) -> Option<PathBuf> {
    let of_file = project_of_file(disk, environment, file)?;
    let of_directory = project_of_file(disk, environment, directory);
    let shared = of_directory.filter(|shared| of_file.starts_with(shared));
    match shared {
        Some(shared) if !is_marked(disk, &of_file) => Some(shared),
        _ => Some(of_file),
    }
}

/// The canonical directory of the project that a path typed by the user refers to, as answers report it.
pub fn project_directory(disk: &dyn Disk, environment: &Environment, typed: &Path) -> PathBuf {
    Project::resolve(disk, environment, typed).directory
}

/// The prefix of the names of the temporary files of all restores, whatever the project.
pub const TEMPORARY: &str = ".herma-restore-";

/// The first 16 hex digits of the SHA-256 of a canonical path.
// rule: scope/hash
pub fn hash_of(directory: &Path) -> String {
    let digest = Sha256::digest(directory.as_os_str().as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// As [`Project::temporary_name`], for the project with that hash.
pub fn temporary_name(hash: &str) -> String {
    format!("{TEMPORARY}{hash}")
}
