//! The objects of the store: written here through [`Disk`], and read from files of their own by
//! [`super::loose`], from packs by [`super::packs`].

mod whole;

use crate::disk::atomic_write::{make_new_named, replace_file, write_new_named};
use crate::disk::{Disk, Kind as FileKind, Stat, Stream, folder};
use crate::error::{Context, Error, Result};
use crate::store::loose;
use crate::store::mark::Mark;
use crate::store::object::{self, Found, Kind, Named, id_of};
use crate::store::pack;
use crate::store::packed::Pack;
use crate::store::packs::Packs;
use crate::store::repack::Repack;
use flate2::read;
use flate2::write::ZlibEncoder;
use git2::Oid;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Fewer new objects than this are stored in files of their own.
const PACK_OBJECTS_MIN: usize = 64;
/// New objects are stored before they take more memory than this, in bytes.
const PENDING_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The id of an empty folder, which git knows without storing it.
const EMPTY_FOLDER: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// The objects of one store, as they were when it was opened and with what was added since.
pub struct Objects<'a> {
    disk: &'a dyn Disk,
    directory: PathBuf,
    packs: Packs<'a>,
    looked: Cell<bool>,
    /// Where objects were whole that were looked at or stored.
    marks: RefCell<HashMap<Oid, Mark>>,
    added: HashSet<Oid>,
    pending: Vec<(Oid, Kind, Vec<u8>)>,
    pending_bytes: usize,
    written: u64,
}

impl<'a> Objects<'a> {
    /// The folder of objects at `directory`.
    pub fn new(disk: &'a dyn Disk, directory: PathBuf) -> Self {
        Objects {
            disk,
            // rule: isolation/self-contained
            packs: Packs::new(disk, directory.join("pack")),
            directory,
            looked: Cell::new(false),
            marks: RefCell::default(),
            added: HashSet::new(),
            pending: Vec::new(),
            pending_bytes: 0,
            written: 0,
        }
    }

    /// Whether something stands where the object would, or it was added already. Whether that is
    /// the object, only [`Objects::is_whole`] says.
    ///
    /// # Errors
    /// The disk fails.
    pub fn has(&self, id: Oid) -> Result<bool> {
        if self.added.contains(&id) {
            return Ok(true);
        }
        let own = folder::stat(self.disk, &loose::path_of(&self.directory, id))?;
        Ok(own.is_some_and(|stat| stat.kind == FileKind::File) || self.packs.have(id))
    }

    /// The bytes of an object of that kind.
    ///
    /// # Errors
    /// An object that is missing, damaged or of another kind; a disk that fails.
    pub fn read(&self, kind: Kind, id: Oid) -> Result<Vec<u8>> {
        self.read_up_to(kind, id, u64::MAX)?.ok_or_else(|| Self::damaged(id, "is too large"))
    }

    /// The same; none where it says that it has more bytes than `most`, and then nothing is known of
    /// what it holds.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub fn read_up_to(&self, kind: Kind, id: Oid, most: u64) -> Result<Option<Vec<u8>>> {
        let own = || loose::read(self.disk, &self.directory, id, most);
        let found = self.find(id, own, |pack| pack.read(self.disk, id, most))?;
        let (found, bytes) = match found {
            Found::Absent if id.to_string() == EMPTY_FOLDER => (Kind::Tree, Some(Vec::new())),
            found => Self::whole(id, found)?,
        };
        if found == kind { Ok(bytes) } else { Err(Self::other_kind(id, kind)) }
    }

    /// Whether an object of that kind is whole, however many bytes it has.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub fn check(&self, kind: Kind, id: Oid) -> Result<()> {
        let found = Self::whole(id, self.look_at(id)?)?;
        if found == kind { Ok(()) } else { Err(Self::other_kind(id, kind)) }
    }

    /// The bytes of an object, one after the other. Whether they are those of its id is not looked at.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub fn stream(&self, id: Oid) -> Result<Stream> {
        let own = || {
            let opened = loose::open(self.disk, &self.directory, id)?;
            Ok(opened.then(|opened| Found::Whole(Box::new(opened) as Stream)))
        };
        Self::whole(id, self.find(id, own, |pack| pack.stream(self.disk, id))?)
    }

    fn other_kind(id: Oid, kind: Kind) -> Error {
        Self::damaged(id, &format!("is no {}", kind.name()))
    }

    /// What kind of object that is and how many bytes it says it has.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub fn header(&self, id: Oid) -> Result<(Kind, u64)> {
        let own = || {
            let opened = loose::open(self.disk, &self.directory, id)?;
            Ok(opened.then(|opened| Found::Whole((opened.kind, opened.bytes))))
        };
        Self::whole(id, self.find(id, own, |pack| pack.header(self.disk, id))?)
    }

    /// What kind of object that is, if it is whole; or what is wrong with it.
    fn look_at(&self, id: Oid) -> Result<Found<Kind>> {
        let own = || loose::check(self.disk, &self.directory, id);
        self.find(id, own, |pack| pack.check(self.disk, id))
    }

    /// What is found in the object's own file, or else in a pack; and then once more in its own file,
    /// since git may have moved it from the one to the other meanwhile.
    fn find<T>(
        &self,
        id: Oid,
        own: impl Fn() -> Result<Found<T>>,
        packed: impl Fn(&Pack) -> Result<Found<T>>,
    ) -> Result<Found<T>> {
        own()?.or_else(|| self.packs.find(id, packed))?.or_else(own)
    }

    fn whole<T>(id: Oid, found: Found<T>) -> Result<T> {
        match found {
            Found::Whole(found) => Ok(found),
            Found::Damaged(why) => Err(Self::damaged(id, why)),
            Found::Absent => Err(Self::damaged(id, "is missing")),
        }
    }

    fn damaged(id: Oid, why: &str) -> Error {
        Error::DamagedObject { id: id.to_string(), why: why.to_owned() }
    }

    /// Bytes that were written to the disk for objects.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Adds objects of that pack once more, so that they stay without it. They are durable when this
    /// returns.
    ///
    /// # Errors
    /// One that is whole nowhere; a disk that fails.
    pub fn add_again(&mut self, pack: &Path, ids: &[Oid]) -> Result<()> {
        let mut whole = HashSet::new();
        let from = self.packs.at(pack)?;
        for id in ids.iter().copied() {
            match &from {
                Some(from) if matches!(from.check(self.disk, id)?, Found::Whole(_)) => {
                    whole.insert(id);
                }
                _ => self.add_from_elsewhere(id)?,
            }
        }
        let is_copied = match &from {
            Some(from) if !whole.is_empty() => self.copy(from, &whole)?,
            _ => whole.is_empty(),
        };
        if !is_copied {
            whole.into_iter().try_for_each(|id| self.add_from_elsewhere(id))?;
        }
        self.flush()
    }

    fn add_from_elsewhere(&mut self, id: Oid) -> Result<()> {
        let (kind, _) = self.header(id)?;
        let bytes = self.read(kind, id)?;
        self.put(id, kind, bytes)
    }

    /// Stores these objects of a pack, which are whole there, as one of their own; false where that
    /// cannot be.
    // rule: cost/memory
    fn copy(&mut self, from: &Pack, ids: &HashSet<Oid>) -> Result<bool> {
        let Some(mut repack) = Repack::of(self.disk, from, ids)? else { return Ok(false) };
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

    /// Adds an object unless it is there already, and whole. It is stored by the next
    /// [`Objects::flush`].
    // rule: capture/stored
    pub fn add(&mut self, kind: Kind, bytes: &[u8]) -> Result<Oid> {
        let id = id_of(kind, bytes)?;
        if !self.is_whole(id)? {
            self.put(id, kind, bytes.to_vec())?;
        }
        Ok(id)
    }

    /// Adds a file of that many bytes, which are read once more and never all in memory; it is durable
    /// when this returns. False where it is to be tried again: they are not those of that id any more,
    /// or git removed the folder that the object was to be put in.
    // rule: cost/memory
    pub fn add_stream(&mut self, blob: Oid, bytes: u64, stream: impl Read) -> Result<bool> {
        let path = loose::path_of(&self.directory, blob);
        let mut named = Named::new(Kind::Blob, bytes, stream);
        let header = object::header(Kind::Blob, bytes);
        let object = header.as_bytes().chain(&mut named);
        let mut compressed = read::ZlibEncoder::new(object, Kind::Blob.compression());
        let fresh = make_new_named(&self.directory, &format!("tmp_obj_{blob}"), |path| {
            self.disk.write_from(path, &mut compressed, 0o400)
        })?;
        let written = compressed.total_out();
        if named.id() != Some(blob) {
            self.disk.remove_file(&fresh).context("removing", &fresh)?;
            return Ok(false);
        }
        self.disk.sync_file(&fresh).context("waiting for", &fresh)?;
        let folder = path.parent().unwrap_or(&self.directory);
        self.make_folder(folder)?;
        let placed = self.place(&fresh, &path);
        if placed.is_err() && self.is_gone(folder) {
            return Ok(false);
        }
        self.remember(blob, placed?.map(|stat| Mark::of(b"", &[stat])));
        self.added.insert(blob);
        self.written += written;
        Ok(true)
    }

    fn put(&mut self, id: Oid, kind: Kind, bytes: Vec<u8>) -> Result<()> {
        self.added.insert(id);
        self.pending_bytes += bytes.len();
        self.pending.push((id, kind, bytes));
        if self.pending_bytes > PENDING_BYTES_MAX { self.flush() } else { Ok(()) }
    }

    /// Stores what was added; it is durable when this returns. Nothing may refer to it before.
    pub fn flush(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        // A file cannot take the place of a folder; a pack has a place of its own.
        let is_obstructed = |id: Oid| {
            let stat = self.disk.stat(&loose::path_of(&self.directory, id));
            stat.is_ok_and(|stat| stat.kind == FileKind::Directory)
        };
        let is_packed =
            pending.len() >= PACK_OBJECTS_MIN || pending.iter().any(|(id, ..)| is_obstructed(*id));
        if is_packed && self.store_packed(&pending)? {
            return Ok(());
        }
        pending.iter().try_for_each(|(id, kind, bytes)| self.store_loose(*id, *kind, bytes))
    }

    /// Stores them as one pack; false where something that is no file is in its place, or no folder in
    /// that of all packs.
    fn store_packed(&mut self, pending: &[(Oid, Kind, Vec<u8>)]) -> Result<bool> {
        let packed = pack::pack(pending).context("packing objects in", &self.directory)?;
        let fresh = self.write_temporary(&format!("{}_pack", packed.name), &packed.pack)?;
        let ids = pending.iter().map(|(id, ..)| *id);
        let is_stored = self.store_pack(&packed.name, &fresh, &packed.index, ids)?;
        if is_stored {
            self.written += (packed.pack.len() + packed.index.len()) as u64;
        }
        Ok(is_stored)
    }

    /// Gives a pack of these objects, which waits at `fresh`, its place and its index; false as above,
    /// and then the pack is gone.
    fn store_pack(
        &self,
        name: &str,
        fresh: &Path,
        index: &[u8],
        ids: impl Iterator<Item = Oid>,
    ) -> Result<bool> {
        let folder = self.directory.join("pack");
        let is = |path: &Path, kind| self.disk.stat(path).is_ok_and(|stat| stat.kind == kind);
        let path = |name: &str, extension: &str| folder.join(format!("pack-{name}.{extension}"));
        let is_free = |name: &String| {
            !["pack", "idx"].iter().any(|one| is(&path(name, one), FileKind::Directory))
        };
        // Git does not mind which of its names a pack has.
        let names = [name.to_owned(), id_of(Kind::Blob, name.as_bytes())?.to_string()];
        let name = names.into_iter().find(is_free).filter(|_| is(&folder, FileKind::Directory));
        let Some(name) = name else {
            return self.disk.remove_file(fresh).context("removing", fresh).map(|()| false);
        };
        let path = |extension: &str| path(&name, extension);
        let pack = self.place(fresh, &path("pack"))?;
        // Git reads a pack once its index is there, so that comes last.
        let fresh = self.write_temporary(&format!("{name}_idx"), index)?;
        let index = self.place(&fresh, &path("idx"))?;
        if let (Some(pack), Some(index)) = (pack, index) {
            let mark = Mark::of(format!("pack-{name}.pack").as_bytes(), &[pack, index]);
            ids.for_each(|id| self.remember(id, Some(mark)));
        }
        Ok(true)
    }

    /// Moves what was just written to its place, and answers what it is there; none where anybody
    /// touched it on the way, so that it has to be looked at.
    // rule: capture/stored
    fn place(&self, fresh: &Path, place: &Path) -> Result<Option<Stat>> {
        let written = self.disk.stat(fresh).ok();
        replace_file(self.disk, fresh, place)?;
        let placed = self.disk.stat(place).ok();
        let content = |stat: Stat| (stat.size, stat.modified);
        Ok(placed.filter(|placed| written.map(content) == Some(content(*placed))))
    }

    fn store_loose(&mut self, id: Oid, kind: Kind, bytes: &[u8]) -> Result<()> {
        let (digits, path) = (id.to_string(), loose::path_of(&self.directory, id));
        let folder = self.directory.join(&digits[..2]);
        let compressed = compress(kind, bytes).context("compressing an object for", &path)?;
        let place = || {
            let fresh = self.write_temporary(&digits, &compressed)?;
            self.make_folder(&folder)?;
            self.place(&fresh, &path)
        };
        let placed =
            place().or_else(|error| if self.is_gone(&folder) { place() } else { Err(error) })?;
        self.remember(id, placed.map(|stat| Mark::of(b"", &[stat])));
        self.written += compressed.len() as u64;
        Ok(())
    }

    /// Git removes a folder that is empty while it packs.
    fn is_gone(&self, folder: &Path) -> bool {
        self.disk.stat(folder).is_err()
    }

    fn make_folder(&self, folder: &Path) -> Result<()> {
        match self.disk.make_directory(folder, 0o700) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            made => {
                made.context("making", folder)?;
                let parent = &self.directory;
                self.disk.sync_directory(parent).context("making a folder in", parent)
            }
        }
    }

    /// Git removes files of this name as leftovers.
    fn write_temporary(&self, name: &str, content: &[u8]) -> Result<PathBuf> {
        write_new_named(self.disk, &self.directory, &format!("tmp_obj_{name}"), content, 0o400)
    }
}

fn compress(kind: Kind, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), kind.compression());
    encoder.write_all(object::header(kind, bytes.len() as u64).as_bytes())?;
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use crate::disk::folder;
    use std::fs;

    #[test]
    fn a_commit_takes_the_same_whatever_is_in_it_and_a_blob_what_it_needs() {
        let (even, varied): (Vec<u8>, Vec<u8>) = (vec![b'a'; 256], (0..=255).collect());
        let takes = |kind, bytes: &[u8]| compress(kind, bytes).unwrap().len();
        assert_eq!(takes(Kind::Commit, &even), takes(Kind::Commit, &varied));
        assert!(takes(Kind::Blob, &even) < takes(Kind::Blob, &varied));
    }

    #[test]
    fn what_stands_in_the_place_of_an_object_and_of_its_pack_stops_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let packs = folder.path().join("pack");
        fs::create_dir(&packs).unwrap();
        let id = id_of(Kind::Blob, b"one").unwrap();
        fs::create_dir_all(loose::path_of(folder.path(), id)).unwrap();
        for stored in 1..=2 {
            let mut objects = Objects::new(&SystemDisk, folder.path().to_owned());
            objects.add(Kind::Blob, b"one").unwrap();
            objects.flush().unwrap();
            let names = folder::text_names(&SystemDisk, &packs).unwrap();
            let indexes: Vec<_> = names.iter().filter(|name| name.ends_with(".idx")).collect();
            assert_eq!(indexes.len(), stored);
            let objects = Objects::new(&SystemDisk, folder.path().to_owned());
            assert_eq!(objects.read(Kind::Blob, id).unwrap(), b"one");
            let pack = packs.join(indexes[0]).with_extension("pack");
            let _ = fs::remove_file(&pack);
            let _ = fs::create_dir(&pack);
        }
    }

    #[test]
    fn what_takes_too_much_memory_is_stored_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut objects = Objects::new(&SystemDisk, folder.path().to_owned());
        objects.add(Kind::Blob, &vec![0; PENDING_BYTES_MAX]).unwrap();
        assert_eq!(objects.written(), 0);
        objects.add(Kind::Blob, b"x").unwrap();
        assert!(objects.written() > 0);
    }

    #[test]
    fn what_was_written_is_what_the_disk_takes() {
        for count in [1, PACK_OBJECTS_MIN - 1, PACK_OBJECTS_MIN] {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("pack")).unwrap();
            let mut objects = Objects::new(&SystemDisk, folder.path().to_owned());
            for number in 0..count {
                objects.add(Kind::Blob, format!("{number}").as_bytes()).unwrap();
            }
            assert_eq!(objects.written(), 0);
            objects.flush().unwrap();
            let once = folder::bytes(&SystemDisk, folder.path()).unwrap();
            assert_eq!(objects.written(), once, "{count}");
            let packs = fs::read_dir(folder.path().join("pack")).unwrap().count();
            assert_eq!(packs, if count < PACK_OBJECTS_MIN { 0 } else { 2 });
            (0..count).for_each(|number| {
                objects.add(Kind::Blob, format!("another {number}").as_bytes()).unwrap();
            });
            objects.flush().unwrap();
            let twice = folder::bytes(&SystemDisk, folder.path()).unwrap();
            assert_eq!(objects.written(), twice, "{count}");
        }
    }
}
