//! The objects of the store: written here through [`Disk`], read by libgit2.
//!
//! libgit2 is given nothing but the folder of objects, no repository, so that it has no
//! configuration to read and none of the user's can reach the store.

use crate::disk::Disk;
use crate::error::{Context, Error, Result};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use git2::{Odb, OdbLookupFlags, Oid};
use std::collections::HashSet;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The kinds of object that a checkpoint is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of a file or a link's target.
    Blob,
    /// One directory.
    Tree,
    /// One checkpoint.
    Commit,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Blob => "blob",
            Kind::Tree => "tree",
            Kind::Commit => "commit",
        }
    }

    fn in_git(self) -> git2::ObjectType {
        match self {
            Kind::Blob => git2::ObjectType::Blob,
            Kind::Tree => git2::ObjectType::Tree,
            Kind::Commit => git2::ObjectType::Commit,
        }
    }
}

/// The id that git gives to these bytes.
pub fn id_of(kind: Kind, bytes: &[u8]) -> Result<Oid> {
    Oid::hash_object(kind.in_git(), bytes).map_err(|error| unusable(Path::new(""), &error))
}

fn unusable(path: &Path, error: &git2::Error) -> Error {
    Error::StoreUnusable { path: path.to_owned(), why: error.message().to_owned() }
}

/// How many names are tried for a new object's temporary file: more than processes that died
/// over the same object.
const TEMPORARY_NAMES_MAX: usize = 1_000;

/// The objects of one store, as they were when it was opened and with what was written since.
pub struct Objects<'a> {
    disk: &'a dyn Disk,
    directory: PathBuf,
    stored: Odb<'static>,
    written: HashSet<Oid>,
}

impl<'a> Objects<'a> {
    /// Opens the folder of objects at `directory`.
    pub fn open(disk: &'a dyn Disk, directory: PathBuf) -> Result<Self> {
        let stored = Odb::new().map_err(|error| unusable(&directory, &error))?;
        let text = directory.to_str().ok_or_else(|| Error::StoreUnusable {
            path: directory.clone(),
            why: "its path is not UTF-8".into(),
        })?;
        stored.add_disk_alternate(text).map_err(|error| unusable(&directory, &error))?;
        Ok(Objects { disk, directory, stored, written: HashSet::new() })
    }

    /// Whether the object is stored already.
    pub fn has(&self, id: Oid) -> bool {
        self.written.contains(&id) || self.stored.exists_ext(id, OdbLookupFlags::NO_REFRESH)
    }

    /// The bytes of an object of that kind.
    pub fn read(&self, kind: Kind, id: Oid) -> Result<Vec<u8>> {
        let object = self.stored.read(id).map_err(|error| unusable(&self.directory, &error))?;
        if object.kind() != kind.in_git() {
            let why = format!("object {id} is no {}", kind.name());
            return Err(Error::StoreUnusable { path: self.directory.clone(), why });
        }
        Ok(object.data().to_vec())
    }

    /// Stores an object unless it is there already; it is durable when this returns.
    pub fn write(&mut self, kind: Kind, bytes: &[u8]) -> Result<Oid> {
        let id = id_of(kind, bytes)?;
        if !self.has(id) {
            self.write_loose(id, kind, bytes)?;
            self.written.insert(id);
        }
        Ok(id)
    }

    fn write_loose(&self, id: Oid, kind: Kind, bytes: &[u8]) -> Result<()> {
        let digits = id.to_string();
        let folder = self.directory.join(&digits[..2]);
        let path = folder.join(&digits[2..]);
        let compressed = compress(kind, bytes).context("compressing an object for", &path)?;
        let temporary = self.write_temporary(&digits, &compressed)?;
        match self.disk.rename(&temporary, &path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                match self.disk.make_directory(&folder, 0o700) {
                    Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
                    _ => self.disk.rename(&temporary, &path),
                }
            }
            renamed => renamed,
        }
        .context("storing an object as", &path)?;
        self.disk.sync_directory(&folder).context("storing an object in", &folder)
    }

    /// Git takes files of this name for leftovers and sweeps them up.
    fn write_temporary(&self, digits: &str, content: &[u8]) -> Result<PathBuf> {
        for attempt in 0..TEMPORARY_NAMES_MAX {
            let path = self.directory.join(format!("tmp_obj_{digits}_{attempt}"));
            match self.disk.write_new(&path, content, 0o400) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    // The half of a file is of no use to anyone; failing to remove it is no news.
                    let _ = self.disk.remove_file(&path);
                    return Err(error).context("writing an object to", &path);
                }
                Ok(()) => return Ok(path),
            }
        }
        Err(Error::Busy(self.directory.clone()))
    }
}

fn compress(kind: Kind, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(format!("{} {}\0", kind.name(), bytes.len()).as_bytes())?;
    encoder.write_all(bytes)?;
    encoder.finish()
}
