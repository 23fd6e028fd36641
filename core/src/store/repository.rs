//! The store on disk: one bare git repository below the base, made on first use, completed if parts of
//! it are missing, and locked while it is used.

use crate::disk::atomic_write::write_soon;
use crate::disk::{Disk, Kind, Sharing, is_absence, is_unreadable};
use crate::error::{Context, Error, Result};
use crate::ignore::{DEFAULT_EXCLUDES, SECRETS};
use crate::store::compatibility;
use crate::store::figures;
use crate::store::lock::{self, Lock};
use crate::store::migration::archive_v1;
use crate::store::objects::Objects;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Folders of the store; parents first.
const FOLDERS: &[&str] = &[
    "objects",
    "objects/info",
    "objects/pack",
    "refs",
    "refs/heads",
    "refs/hermes",
    "indexes",
    figures::FOLDER,
    "projects",
    "info",
    "locks",
    "fresh",
];

/// Plain git must neither sign, nor collect garbage, nor see a working tree here. With a user in this
/// file git does not look for the real user. And `git fsck` must not report the content of project
/// files that have a meaning to git.
// rule: layout/fsck
// rule: isolation/no-signing
const CONFIG: &str = "\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
[user]
\tname = Herma
\temail = herma@localhost
[commit]
\tgpgsign = false
[tag]
\tgpgSign = false
[gc]
\tauto = 0
[fsck]
\tgitattributesBlob = ignore
\tgitattributesLarge = ignore
\tgitattributesLineLength = ignore
\tgitmodulesBlob = ignore
\tgitmodulesLarge = ignore
\tgitmodulesName = ignore
\tgitmodulesParse = ignore
\tgitmodulesPath = ignore
\tgitmodulesSymlink = ignore
\tgitmodulesUpdate = ignore
\tgitmodulesUrl = ignore
";

/// Keeps plain git, and other tools that use it on this store, from changing bytes.
// rule: capture/no-conversion
const ATTRIBUTES: &str = "* -text -eol -ident -filter -working-tree-encoding\n";

/// An open store, whose lock is held while this value lives.
pub struct Store<'a> {
    /// The disk it is on.
    pub disk: &'a dyn Disk,
    /// The bare repository.
    pub path: PathBuf,
    /// `None` if another tool made the store and this tool has not written to it yet.
    _lock: Option<Lock>,
}

impl<'a> Store<'a> {
    /// Opens the store below `base` for reading; `None` if there is no store.
    pub fn open(disk: &'a dyn Disk, base: &Path) -> Result<Option<Self>> {
        let path = base.join("store");
        if !is_directory(disk, &path)? {
            return Ok(None);
        }
        let lock = if is_directory(disk, &path.join("locks"))? {
            Some(lock::take(disk, &path.join("locks/store"), Sharing::Shared)?)
        } else {
            None
        };
        Ok(Some(Store { disk, path, _lock: lock }))
    }

    /// Opens the store below `base`, making the parts that are missing. Before the store is first made,
    /// the repositories of v1 are archived under the time `seconds` since the epoch.
    // rule: isolation/home
    pub fn open_or_create(disk: &'a dyn Disk, base: &Path, seconds: i64) -> Result<Self> {
        make_directories(disk, base)?;
        Store { disk, path: base.join("store"), _lock: None }.completed(base, seconds)
    }

    /// The store below `base` with the parts that are missing, as [`Store::open_or_create`] makes them; its
    /// lock stays held, or is taken.
    pub fn completed(self, base: &Path, seconds: i64) -> Result<Self> {
        let Store { disk, path, _lock: held } = self;
        if disk.stat(&path.join("HEAD")).is_err_and(|error| is_absence(&error)) {
            archive_v1(disk, base, seconds);
        }
        // rule: concurrent/keeps
        // The lock is held before anything is written: a process that collects space holds it
        // exclusively, and removes the files in `fresh`.
        let is_new = disk.stat(&path).is_err();
        for folder in ["", "locks"] {
            make_private(disk, &path.join(folder))?;
        }
        let take = || lock::take(disk, &path.join("locks/store"), Sharing::Shared);
        let lock = held.map_or_else(take, Ok)?;
        compatibility::check_ref_format(disk, &path)?;
        // rule: layout/store
        // rule: maintenance/heals
        for folder in FOLDERS {
            make_private(disk, &path.join(folder))?;
        }
        if is_new {
            // rule: crash/power-loss
            for folder in [base, &path, &path.join("refs")] {
                disk.sync_directory(folder).context("making a folder in", folder)?;
            }
        }
        close_store(disk, &path)?;
        let excludes: Vec<&str> = DEFAULT_EXCLUDES.iter().chain(SECRETS).copied().collect();
        let excludes = excludes.join("\n") + "\n";
        let files: [(&str, &str); 4] = [
            ("config", CONFIG),
            ("info/exclude", &excludes),
            ("info/attributes", ATTRIBUTES),
            // HEAD is last, since to git a folder with a HEAD is a repository.
            ("HEAD", "ref: refs/heads/main\n"),
        ];
        let mut written = Vec::new();
        for (name, content) in files {
            let file = path.join(name);
            if !compatibility::is_usable(disk, &file) {
                // A file cannot replace a folder; a folder that is not empty stays.
                let _ = disk.remove_directory(&file);
                write_soon(disk, &path, name, content.as_bytes())?;
                written.push(file);
            }
        }
        // rule: crash/power-loss
        if !written.is_empty() {
            let files: Vec<&Path> = written.iter().map(PathBuf::as_path).collect();
            disk.sync_files(&files).context("waiting for files in", &path)?;
            for folder in [&path, &path.join("info")] {
                disk.sync_directory(folder).context("making files in", folder)?;
            }
        }
        Ok(Store { disk, path, _lock: Some(lock) })
    }

    /// Opens the store below `base` with its lock held exclusively, waiting briefly; `None` if there is
    /// no store.
    pub fn open_alone(disk: &'a dyn Disk, base: &Path) -> Result<Option<Self>> {
        let path = base.join("store");
        if !is_directory(disk, &path)? {
            return Ok(None);
        }
        make_private(disk, &path.join("locks"))?;
        let lock = lock::take_briefly(disk, &path.join("locks/store"), Sharing::Exclusive)?;
        Ok(Some(Store { disk, path, _lock: Some(lock) }))
    }

    /// Takes the lock of a project, so that no other process changes its history.
    pub fn lock_project(&self, hash: &str) -> Result<Lock> {
        lock::take(self.disk, &self.project_lock(hash)?, Sharing::Exclusive)
    }

    /// As [`Store::lock_project`], waiting briefly.
    pub fn try_lock_project(&self, hash: &str) -> Result<Lock> {
        lock::take_briefly(self.disk, &self.project_lock(hash)?, Sharing::Exclusive)
    }

    /// Waits while another process changes the history of a project.
    pub fn wait_for_project(&self, hash: &str) -> Result<()> {
        let lock = self.path.join("locks").join(hash);
        if self.disk.stat(&lock).is_ok() {
            lock::take(self.disk, &lock, Sharing::Shared)?;
        }
        Ok(())
    }

    fn project_lock(&self, hash: &str) -> Result<PathBuf> {
        let locks = self.path.join("locks");
        make_private(self.disk, &locks)?;
        Ok(locks.join(hash))
    }

    /// The objects of the store as they are now.
    pub fn objects(&self) -> Objects<'a> {
        Objects::new(self.disk, self.path.join("objects"))
    }
}

/// Whether a folder exists at `path`; an error if anything else does.
pub fn is_directory(disk: &dyn Disk, path: &Path) -> Result<bool> {
    let unusable = || Err(Error::unusable(path, "it is not a directory"));
    match disk.stat(path) {
        Ok(stat) if stat.kind == Kind::Directory => Ok(true),
        Ok(_) => unusable(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == ErrorKind::NotADirectory => unusable(),
        Err(error) => Err(error).context("looking at", path),
    }
}

/// Makes a folder of the store, readable by its owner only.
// rule: isolation/private
pub fn make_private(disk: &dyn Disk, path: &Path) -> Result<()> {
    if is_directory(disk, path)? {
        return Ok(());
    }
    match disk.make_directory(path, 0o700) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made.context("making", path),
    }
}

/// Makes the store readable by its owner only: another tool may have made it readable by everyone.
// rule: isolation/private
fn close_store(disk: &dyn Disk, store: &Path) -> Result<()> {
    let stat = disk.stat(store).context("looking at", store)?;
    if stat.mode & 0o077 != 0 {
        disk.permit_directory(store, 0o700).context("setting the mode of", store)?;
    }
    Ok(())
}

/// Makes a folder and those that it lies in.
pub fn make_directories(disk: &dyn Disk, path: &Path) -> Result<()> {
    let ancestors: Vec<&Path> = path.ancestors().collect();
    for ancestor in ancestors.into_iter().rev() {
        // Anything that exists is kept, such as a link that the user made.
        if disk.stat(ancestor).is_err() {
            make_private(disk, ancestor)?;
            let parent = ancestor.parent().unwrap_or(ancestor);
            match disk.sync_directory(parent) {
                // A folder in which names may be made, but not listed, cannot be opened.
                Err(error) if is_unreadable(&error) => {}
                synced => synced.context("making a folder in", parent)?,
            }
        }
    }
    Ok(())
}
