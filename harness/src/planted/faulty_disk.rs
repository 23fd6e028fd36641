//! A disk that does one thing wrong: what is read or written passes through functions that may
//! change it on the way. So a planted bug sits inside the core, where a real one would be.

use crate::sandbox::Sandbox;
use crate::subject::HookedDisk;
use herma_core::disk::{Disk, LockGuard, Sharing, Stat};
use herma_core::ignore::IGNORE_BYTES_MAX;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the text of an ignore file is read as, where there is one.
type Ignores = fn(&Sandbox, &Path, Option<Vec<u8>>) -> Option<Vec<u8>>;

/// What becomes of each call; the functions are told the sandbox and the path.
#[derive(Clone, Copy)]
pub struct DiskFaults {
    /// What a look at a path answers.
    pub stat: fn(&Sandbox, &Path, Stat) -> Stat,
    /// The names that a directory is said to hold.
    pub list: fn(&Sandbox, &Path, Vec<OsString>) -> Vec<OsString>,
    /// Why looking at a path, or reading what is there, fails.
    pub fails: fn(&Sandbox, &Path) -> Option<ErrorKind>,
    /// Where a path leads that is looked at or read.
    pub place: fn(&Sandbox, &Path) -> Option<PathBuf>,
    /// What an ignore file is read as where it decides what is captured; none where there is none.
    pub ignores: Ignores,
    /// What a file is said to hold.
    pub read: fn(&Sandbox, &Path, Vec<u8>) -> Vec<u8>,
    /// What a link is said to point at.
    pub read_link: fn(&Sandbox, &Path, Vec<u8>) -> Vec<u8>,
    /// What is written into a new file.
    pub write_new: fn(&Sandbox, &Path, Vec<u8>) -> Vec<u8>,
    /// The permission bits of what is made or changed.
    pub mode: fn(&Sandbox, &Path, u32) -> u32,
    /// What a new link points at.
    pub make_link: fn(&Sandbox, &Path, Vec<u8>) -> Vec<u8>,
    /// Whether removing does nothing, and says that it did.
    pub keeps: fn(&Sandbox, &Path) -> bool,
    /// What happens before any call that changes something.
    pub before_change: fn(&Sandbox, &Path),
}

impl DiskFaults {
    /// A disk that does everything right.
    pub const NONE: DiskFaults = DiskFaults {
        stat: |_, _, stat| stat,
        list: |_, _, names| names,
        fails: |_, _| None,
        place: |_, _| None,
        ignores: |_, _, text| text,
        read: |_, _, content| content,
        read_link: |_, _, target| target,
        write_new: |_, _, content| content,
        mode: |_, _, mode| mode,
        make_link: |_, _, target| target,
        keeps: |_, _| false,
        before_change: |_, _| {},
    };
}

/// The disk of an ordinary user, bent.
pub struct FaultyDisk {
    disk: HookedDisk,
    sandbox: Sandbox,
    bends: DiskFaults,
    /// Whether it does anything wrong now.
    bent: AtomicBool,
}

impl FaultyDisk {
    /// The disk of that sandbox.
    pub fn new(sandbox: &Sandbox, bends: DiskFaults) -> Self {
        let sandbox = Sandbox::adopt(sandbox.root().to_owned());
        FaultyDisk {
            disk: HookedDisk::of_an_ordinary_user(),
            sandbox,
            bends,
            bent: AtomicBool::new(true),
        }
    }
}

impl FaultyDisk {
    /// Whether it does anything wrong from now on.
    pub fn bend(&self, bent: bool) {
        self.bent.store(bent, Ordering::Relaxed);
    }

    fn bends(&self) -> &DiskFaults {
        if self.bent.load(Ordering::Relaxed) { &self.bends } else { &DiskFaults::NONE }
    }

    fn look(&self, path: &Path) -> io::Result<PathBuf> {
        if let Some(kind) = (self.bends().fails)(&self.sandbox, path) {
            return Err(kind.into());
        }
        Ok((self.bends().place)(&self.sandbox, path).unwrap_or_else(|| path.to_owned()))
    }

    /// An ignore file that is read to learn what is captured.
    fn ignores(
        &self,
        path: &Path,
        read: io::Result<(Vec<u8>, Stat)>,
    ) -> io::Result<(Vec<u8>, Stat)> {
        let text = read.as_ref().ok().map(|(text, _)| text.clone());
        match (self.bends().ignores)(&self.sandbox, path, text) {
            Some(text) => {
                let beside = path.parent().unwrap_or(path);
                let stat = read.map_or_else(|_| self.disk.stat(beside), |(_, stat)| Ok(stat))?;
                Ok((text, stat))
            }
            None => Err(read.err().unwrap_or_else(|| ErrorKind::NotFound.into())),
        }
    }
}

impl Disk for FaultyDisk {
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let place = self.look(path)?;
        Ok((self.bends().stat)(&self.sandbox, path, self.disk.stat(&place)?))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        Ok((self.bends().list)(&self.sandbox, path, self.disk.list(path)?))
    }

    fn read(&self, path: &Path, limit: u64) -> io::Result<(Vec<u8>, Stat)> {
        let place = self.look(path)?;
        let read = self.disk.read(&place, limit);
        if limit == IGNORE_BYTES_MAX && path.ends_with(".gitignore") {
            return self.ignores(path, read);
        }
        let (content, stat) = read?;
        let stat = (self.bends().stat)(&self.sandbox, path, stat);
        Ok(((self.bends().read)(&self.sandbox, path, content), stat))
    }

    fn read_link(&self, path: &Path) -> io::Result<Vec<u8>> {
        Ok((self.bends().read_link)(&self.sandbox, path, self.disk.read_link(path)?))
    }

    fn write_new(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        (self.bends().before_change)(&self.sandbox, path);
        let content = (self.bends().write_new)(&self.sandbox, path, content.to_vec());
        self.disk.write_new(path, &content, (self.bends().mode)(&self.sandbox, path, mode))
    }

    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        (self.bends().before_change)(&self.sandbox, path);
        self.disk.append(path, content)
    }

    fn make_link(&self, target: &[u8], path: &Path) -> io::Result<()> {
        (self.bends().before_change)(&self.sandbox, path);
        self.disk.make_link(&(self.bends().make_link)(&self.sandbox, path, target.to_vec()), path)
    }

    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        (self.bends().before_change)(&self.sandbox, path);
        self.disk.make_directory(path, (self.bends().mode)(&self.sandbox, path, mode))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        (self.bends().before_change)(&self.sandbox, to);
        self.disk.rename(from, to)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        (self.bends().before_change)(&self.sandbox, path);
        self.disk.set_mode(path, (self.bends().mode)(&self.sandbox, path, mode))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        if (self.bends().keeps)(&self.sandbox, path) {
            return Ok(());
        }
        (self.bends().before_change)(&self.sandbox, path);
        self.disk.remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        if (self.bends().keeps)(&self.sandbox, path) {
            return Ok(());
        }
        (self.bends().before_change)(&self.sandbox, path);
        self.disk.remove_directory(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_directory(path)
    }

    fn try_lock(&self, path: &Path, sharing: Sharing) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.disk.try_lock(path, sharing)
    }
}
