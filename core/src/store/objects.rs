//! The objects of the store: this file stores new ones through [`Disk`], as loose files or as a pack;
//! [`read`] reads them, [`intact`] determines whether they are intact, and [`fold`] stores versions of a file as
//! differences.

mod fold;
mod intact;
mod read;

pub use fold::FileVersion;

use crate::disk::atomic_write::{make_new_named, move_file, write_new_named};
use crate::disk::{Disk, Kind as FileKind, Stat};
use crate::error::{Context, Error, Result};
use crate::shared::Shared;
use crate::store::compressor::Compressor;
use crate::store::loose;
use crate::store::mark::{Mark, MarkDigest, RecordedMark};
use crate::store::object::{self, Found, HashingReader, Kind, id_of};
use crate::store::oid::Oid;
use crate::store::pack::{self, EncodedObject};
use crate::store::packed::Pack;
use crate::store::packs::Packs;
use crate::store::repack::Repack;
use flate2::Compression;
use flate2::read::ZlibEncoder;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Fewer new objects than this are stored as loose files, not as a pack.
const PACK_OBJECTS_MIN: usize = 64;
/// How often a loose object is moved into its folder, which git may remove meanwhile.
const PLACE_ATTEMPTS_MAX: usize = 16;
/// New objects are stored before they take more memory than this, in bytes.
const PENDING_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The objects of one store: those that existed when it was opened, and those added since.
pub struct Objects<'a> {
    disk: &'a dyn Disk,
    directory: PathBuf,
    packs: Packs<'a>,
    has_looked: AtomicBool,
    /// The marks of the files in which objects were verified or stored.
    marks: Shared<HashMap<Oid, Mark>>,
    /// Where trees were intact when the last checkpoint was taken.
    recorded_trees: HashMap<Oid, RecordedMark>,
    /// The trees that were added, stored already or not.
    trees: Vec<Oid>,
    added: HashSet<Oid>,
    pending: Vec<(Oid, Kind, Vec<u8>)>,
    compressor: Compressor,
    pending_bytes: usize,
    written: u64,
}

/// A durable file that holds a loose object and is not in place yet.
struct LooseFile {
    id: Oid,
    fresh: PathBuf,
}

impl<'a> Objects<'a> {
    /// The folder of objects at `directory`.
    pub fn new(disk: &'a dyn Disk, directory: PathBuf) -> Self {
        Objects {
            disk,
            // rule: isolation/self-contained
            packs: Packs::new(disk, directory.join("pack")),
            directory,
            has_looked: AtomicBool::new(false),
            marks: Shared::default(),
            recorded_trees: HashMap::new(),
            trees: Vec::new(),
            added: HashSet::new(),
            pending: Vec::new(),
            compressor: Compressor::default(),
            pending_bytes: 0,
            written: 0,
        }
    }

    /// The number of bytes written to the disk for objects.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Closes the packs, so that one that is removed takes no more space.
    pub fn close_packs(&self) {
        self.packs.close();
    }

    /// From now on a tree need not be read to know that it is intact, if nothing touched the file with its mark.
    // rule: cost/unchanged
    pub fn recall(&mut self, recorded_trees: HashMap<Oid, RecordedMark>) {
        self.recorded_trees = recorded_trees;
    }

    /// The trees that were added, stored already or not, each with the digest of the mark of the files in which
    /// it is intact.
    pub fn trees(&self) -> impl Iterator<Item = (Oid, MarkDigest)> {
        let recorded = |id| self.recorded_trees.get(id).and_then(|recorded| recorded.digest);
        self.trees.iter().filter_map(move |id| Some((*id, self.mark(*id, recorded(id))?)))
    }

    /// Stores objects of that pack again, so that the pack can be removed. They are durable when this
    /// returns.
    ///
    /// # Errors
    /// An object that is not intact anywhere; a disk that fails.
    pub fn add_again(&mut self, pack: &Path, ids: &[Oid]) -> Result<()> {
        let mut intact = HashSet::new();
        let source = self.packs.at(pack)?;
        for id in ids.iter().copied() {
            match &source {
                Some(source) if matches!(source.check(self.disk, id)?, Found::Intact(_)) => {
                    intact.insert(id);
                }
                _ => self.add_from_elsewhere(id)?,
            }
        }
        let is_copied = match &source {
            Some(source) if !intact.is_empty() => self.copy(source, &intact)?,
            _ => intact.is_empty(),
        };
        if !is_copied {
            intact.into_iter().try_for_each(|id| self.add_from_elsewhere(id))?;
        }
        self.flush()
    }

    fn add_from_elsewhere(&mut self, id: Oid) -> Result<()> {
        let (kind, _) = self.header(id)?;
        let bytes = self.read(kind, id)?;
        self.put(id, kind, bytes)
    }

    /// Stores these objects of a pack, which are intact there, as a new pack; `false` if that is not
    /// possible.
    // rule: cost/memory
    fn copy(&mut self, source: &Pack, ids: &HashSet<Oid>) -> Result<bool> {
        let Some(mut repack) = Repack::of(self.disk, source, ids)? else { return Ok(false) };
        let fresh = make_new_named(&self.directory, "tmp_obj_repack", |path| {
            self.disk.write_from(path, &mut repack, 0o400)
        })?;
        self.disk.sync_file(&fresh).context("waiting for", &fresh)?;
        let Some((name, index)) = repack.index() else { return Ok(false) };
        let bytes = self.disk.stat(&fresh).context("looking at", &fresh)?.size;
        let is_stored = self.store_pack(&name, &fresh, &index, ids.iter().copied())?;
        if is_stored {
            self.written += bytes + index.len() as u64;
        }
        Ok(is_stored)
    }

    /// Adds an object, unless it is already stored and intact. The next [`Objects::flush`] stores it.
    // rule: capture/stored: decides
    pub fn add(&mut self, kind: Kind, bytes: &[u8]) -> Result<Oid> {
        let id = id_of(kind, bytes);
        if kind == Kind::Tree {
            self.trees.push(id);
        }
        let is_intact = match self.recorded_trees.get(&id) {
            Some(recorded) => self.is_still_intact(id, recorded)?,
            None => self.is_intact(id)?,
        };
        if !is_intact {
            self.put(id, kind, bytes.to_vec())?;
        }
        Ok(id)
    }

    /// Stores a file of `bytes` bytes as a blob, compressed in that way, without reading it into memory completely;
    /// it is durable when this returns. Returns `false` if the caller should try again: the bytes no longer
    /// have that id, or git removed the folder for the object.
    // rule: cost/memory: decides
    pub fn add_stream(
        &mut self,
        blob: Oid,
        bytes: u64,
        stream: impl Read,
        compression: Compression,
    ) -> Result<bool> {
        let mut hashed = HashingReader::new(Kind::Blob, bytes, stream);
        let header = object::header(Kind::Blob, bytes);
        let object = header.as_bytes().chain(&mut hashed);
        let mut compressed = ZlibEncoder::new(object, compression);
        let fresh = make_new_named(&self.directory, &format!("tmp_obj_{blob}"), |path| {
            self.disk.write_from(path, &mut compressed, 0o400)
        })?;
        let written = compressed.total_out();
        if hashed.id() != Some(blob) {
            self.disk.remove_file(&fresh).context("removing", &fresh)?;
            return Ok(false);
        }
        self.disk.sync_file(&fresh).context("waiting for", &fresh)?;
        let file = LooseFile { id: blob, fresh };
        let placed = self.place(std::slice::from_ref(&file));
        if placed.is_err() {
            self.discard(&file.fresh);
        }
        if placed.as_ref().is_err_and(Error::is_missing) {
            return Ok(false);
        }
        placed?;
        self.added.insert(blob);
        self.written += written;
        Ok(true)
    }

    /// Adds an object that was not intact when it was looked for, unless it was added since.
    pub fn add_absent(&mut self, id: Oid, kind: Kind, bytes: Vec<u8>) -> Result<()> {
        if self.added.contains(&id) { Ok(()) } else { self.put(id, kind, bytes) }
    }

    fn put(&mut self, id: Oid, kind: Kind, bytes: Vec<u8>) -> Result<()> {
        self.added.insert(id);
        self.pending_bytes += bytes.len();
        self.pending.push((id, kind, bytes));
        if self.pending_bytes > PENDING_BYTES_MAX { self.flush() } else { Ok(()) }
    }

    /// Stores the added objects; they are durable when this returns. Nothing may refer to them before.
    // rule: crash/power-loss
    pub fn flush(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        // A file cannot replace a folder; a pack has a path of its own.
        let is_obstructed = |id: Oid| {
            let stat = self.disk.stat(&loose::path_of(&self.directory, id));
            stat.is_ok_and(|stat| stat.kind == FileKind::Directory)
        };
        let is_packed =
            pending.len() >= PACK_OBJECTS_MIN || pending.iter().any(|(id, ..)| is_obstructed(*id));
        if is_packed && self.store_packed(&pending)? {
            return Ok(());
        }
        let mut stored = self.store_loose(&pending);
        // While git packs, it removes empty folders.
        for _ in 1..PLACE_ATTEMPTS_MAX {
            if stored.as_ref().is_err_and(Error::is_missing) {
                stored = self.store_loose(&pending);
            }
        }
        stored
    }

    /// Stores objects as one pack; `false` if a folder is at its path, or the folder of the packs is
    /// missing or not a folder.
    fn store_packed(&mut self, pending: &[(Oid, Kind, Vec<u8>)]) -> Result<bool> {
        let packed = pack::pack(pending).context("packing objects in", &self.directory)?;
        self.store_complete(&packed, pending.iter().map(|(id, ..)| *id))
    }

    /// Stores these objects as one pack; they are durable when this returns. `false` as above.
    fn store_encoded(&mut self, objects: Vec<EncodedObject>) -> Result<bool> {
        let ids: Vec<Oid> = objects.iter().map(|object| object.id).collect();
        self.store_complete(&pack::of_encoded(objects), ids.into_iter())
    }

    fn store_complete(
        &mut self,
        packed: &pack::Pack,
        ids: impl Iterator<Item = Oid>,
    ) -> Result<bool> {
        let fresh = self.write_temporary(&format!("{}_pack", packed.name), &packed.pack)?;
        let is_stored = self.store_pack(&packed.name, &fresh, &packed.index, ids)?;
        if is_stored {
            self.written += (packed.pack.len() + packed.index.len()) as u64;
        }
        Ok(is_stored)
    }

    /// Moves a pack of these objects from `fresh` into place and writes its index; `false` as above,
    /// and then the pack is removed.
    fn store_pack(
        &self,
        name: &str,
        fresh: &Path,
        index: &[u8],
        ids: impl Iterator<Item = Oid>,
    ) -> Result<bool> {
        let folder = self.directory.join("pack");
        let is_directory =
            |path: &Path| self.disk.stat(path).is_ok_and(|stat| stat.kind == FileKind::Directory);
        let path_of = |name: &str, extension: &str| folder.join(format!("pack-{name}.{extension}"));
        let is_free = |name: &String| {
            !["pack", "idx"].iter().any(|extension| is_directory(&path_of(name, extension)))
        };
        // Git accepts any name for a pack.
        let names = [name.to_owned(), id_of(Kind::Blob, name.as_bytes()).to_string()];
        let name = names.into_iter().find(is_free).filter(|_| is_directory(&folder));
        let Some(name) = name else {
            return self.disk.remove_file(fresh).context("removing", fresh).map(|()| false);
        };
        let path = |extension: &str| path_of(&name, extension);
        let pack = self.move_into_place(fresh, &path("pack"))?;
        self.sync(&folder)?;
        // Git reads a pack once its index exists, so that the index comes last.
        let fresh = self.write_temporary(&format!("{name}_idx"), index)?;
        let index = self.move_into_place(&fresh, &path("idx"))?;
        self.sync(&folder)?;
        if let (Some(pack), Some(index)) = (pack, index) {
            let mark = Mark::of(format!("pack-{name}.pack").as_bytes(), &[pack, index]);
            ids.for_each(|id| self.remember(id, Some(mark)));
        }
        Ok(true)
    }

    /// Moves a file that was just written to `path` and returns its stat; `None` if another process
    /// touched it meanwhile, so that it has to be verified. A file that cannot be moved is removed.
    // rule: capture/stored
    fn move_into_place(&self, fresh: &Path, path: &Path) -> Result<Option<Stat>> {
        let written = self.disk.stat(fresh).ok();
        move_file(self.disk, fresh, path)?;
        let placed = self.disk.stat(path).ok();
        let content = |stat: Stat| (stat.size, stat.modified);
        Ok(placed.filter(|placed| written.map(content) == Some(content(*placed))))
    }

    /// Removes a temporary file. If it stays, it only costs space until the next prune.
    fn discard(&self, fresh: &Path) {
        let _ = self.disk.remove_file(fresh);
    }

    /// Waits until the entries of a folder are durable.
    fn sync(&self, folder: &Path) -> Result<()> {
        self.disk.sync_directory(folder).context("replacing a file in", folder)
    }

    /// Stores each object in a file of its own; they are durable when this returns.
    fn store_loose(&mut self, pending: &[(Oid, Kind, Vec<u8>)]) -> Result<()> {
        let mut files = Vec::with_capacity(pending.len());
        let stored = self.write_loose(pending, &mut files).and_then(|()| self.place(&files));
        stored.inspect_err(|_| files.iter().for_each(|file| self.discard(&file.fresh)))
    }

    /// Writes objects to files that are to be moved into place, and adds these to `files`. They are waited for
    /// together, which a file system does as fast as for one of them.
    fn write_loose(
        &mut self,
        pending: &[(Oid, Kind, Vec<u8>)],
        files: &mut Vec<LooseFile>,
    ) -> Result<()> {
        for (id, kind, bytes) in pending {
            let header = object::header(*kind, bytes.len() as u64);
            let compressed = self.compressor.stream(*kind, &[header.as_bytes(), bytes]);
            let compressed = compressed.context("compressing an object in", &self.directory)?;
            let fresh = make_new_named(&self.directory, &format!("tmp_obj_{id}"), |path| {
                self.disk.write_soon(path, &compressed, 0o400)
            })?;
            files.push(LooseFile { id: *id, fresh });
            self.written += compressed.len() as u64;
        }
        let fresh: Vec<&Path> = files.iter().map(|file| file.fresh.as_path()).collect();
        self.disk.sync_files(&fresh).context("writing objects in", &self.directory)
    }

    /// Moves durable files of loose objects into place, and waits once until that is durable. Each folder is made
    /// directly before, so that git has hardly any time to remove it while it is empty.
    fn place(&self, files: &[LooseFile]) -> Result<()> {
        let mut folders = BTreeSet::new();
        let mut marks = Vec::with_capacity(files.len());
        for LooseFile { id, fresh } in files {
            let path = loose::path_of(&self.directory, *id);
            let folder = path.parent().unwrap_or(&self.directory);
            if self.make_folder(folder)? {
                folders.insert(self.directory.clone());
            }
            folders.insert(folder.to_owned());
            marks.push(self.move_into_place(fresh, &path)?);
        }
        folders.iter().try_for_each(|folder| self.sync(folder))?;
        for (file, stat) in files.iter().zip(marks) {
            self.remember(file.id, stat.map(|stat| Mark::of(b"", &[stat])));
        }
        Ok(())
    }

    /// Makes the folder of a loose object; returns whether it was missing.
    fn make_folder(&self, folder: &Path) -> Result<bool> {
        match self.disk.make_directory(folder, 0o700) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            made => made.context("making", folder).map(|()| true),
        }
    }

    /// Writes a temporary file with a name that git removes as a leftover.
    fn write_temporary(&self, name: &str, content: &[u8]) -> Result<PathBuf> {
        write_new_named(self.disk, &self.directory, &format!("tmp_obj_{name}"), content, 0o400)
    }
}

#[cfg(test)]
mod tests;
