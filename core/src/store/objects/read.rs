//! Reads objects: from a loose file or a pack, each verified unless a function states otherwise.

use super::Objects;
use crate::disk::{Kind as FileKind, Stream, folder};
use crate::error::{Error, Result};
use crate::store::loose;
use crate::store::mark::Mark;
use crate::store::object::{Found, Kind};
use crate::store::oid::Oid;
use crate::store::packed::Pack;
use std::io::Cursor;
use std::path::Path;

/// The id of the empty tree, which git knows without storing it.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

impl Objects<'_> {
    /// Whether the object was added, or a file or pack index has its id. [`Objects::is_intact`] also
    /// verifies it.
    ///
    /// # Errors
    /// The disk fails.
    pub fn has(&self, id: Oid) -> Result<bool> {
        if self.added.contains(&id) {
            return Ok(true);
        }
        let stat = folder::stat(self.disk, &loose::path_of(&self.directory, id))?;
        Ok(stat.is_some_and(|stat| stat.kind == FileKind::File) || self.packs.have(id))
    }

    /// Reads and verifies an object of that kind.
    ///
    /// # Errors
    /// An object that is missing, damaged or of another kind; a disk that fails.
    pub fn read(&self, kind: Kind, id: Oid) -> Result<Vec<u8>> {
        self.read_up_to(kind, id, u64::MAX)?.ok_or_else(|| Self::damaged(id, "is too large"))
    }

    /// As [`Objects::read`], but `None` if the stated size is more than `limit` bytes; then nothing is
    /// verified.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub fn read_up_to(&self, kind: Kind, id: Oid, limit: u64) -> Result<Option<Vec<u8>>> {
        let read_loose = || loose::read(self.disk, &self.directory, id, limit);
        let found = self.find(id, read_loose, |pack| pack.read(self.disk, id, limit))?;
        let found = self.or_rebuilt(id, found, |kind, bytes| {
            (kind, (bytes.len() as u64 <= limit).then_some(bytes))
        })?;
        let (found_kind, bytes) = match found {
            Found::Absent if id.to_string() == EMPTY_TREE => (Kind::Tree, Some(Vec::new())),
            found => Self::require_intact(id, found)?,
        };
        if found_kind == kind { Ok(bytes) } else { Err(Self::wrong_kind(id, kind)) }
    }

    /// As [`Objects::read`], with the mark of the pack in which the object is intact, if it was read from one.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub fn read_marked(&self, kind: Kind, id: Oid) -> Result<(Vec<u8>, Option<Mark>)> {
        let read_loose = || {
            let read = loose::read(self.disk, &self.directory, id, u64::MAX)?;
            Ok(read.then(|read| Found::Intact((read, None))))
        };
        let read_packed = |pack: &Pack| {
            let read = pack.read(self.disk, id, u64::MAX)?;
            Ok(read.then(|read| Found::Intact((read, Some(pack.mark)))))
        };
        match self.find(id, read_loose, read_packed)? {
            Found::Intact(((found, Some(bytes)), mark)) if found == kind => Ok((bytes, mark)),
            _ => Ok((self.read(kind, id)?, None)),
        }
    }

    /// Verifies an object of that kind, however many bytes it has.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub fn check(&self, kind: Kind, id: Oid) -> Result<()> {
        let found = self.or_rebuilt(id, self.verify(id)?, |kind, _| kind)?;
        let found_kind = Self::require_intact(id, found)?;
        if found_kind == kind { Ok(()) } else { Err(Self::wrong_kind(id, kind)) }
    }

    /// A stream of the bytes of an object. Its id is not verified.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub fn stream(&self, id: Oid) -> Result<Stream> {
        let open_loose = || {
            let opened = loose::open(self.disk, &self.directory, id)?;
            Ok(opened.then(|opened| Found::Intact(Box::new(opened) as Stream)))
        };
        let found = self.find(id, open_loose, |pack| pack.stream(self.disk, id))?;
        let stream = |_, bytes| Box::new(Cursor::new(bytes)) as Stream;
        Self::require_intact(id, self.or_rebuilt(id, found, stream)?)
    }

    fn wrong_kind(id: Oid, kind: Kind) -> Error {
        Self::damaged(id, &format!("is not a {}", kind.name()))
    }

    /// The stated kind of an object and its stated size in bytes.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub fn header(&self, id: Oid) -> Result<(Kind, u64)> {
        let open_loose = || {
            let opened = loose::open(self.disk, &self.directory, id)?;
            Ok(opened.then(|opened| Found::Intact((opened.kind, opened.bytes))))
        };
        let found = self.find(id, open_loose, |pack| pack.header(self.disk, id))?;
        let header = |kind, bytes: Vec<u8>| (kind, bytes.len() as u64);
        Self::require_intact(id, self.or_rebuilt(id, found, header)?)
    }

    /// The stated size of an object in bytes, or that of the delta as which a pack stores it.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub fn stored_bytes(&self, id: Oid) -> Result<u64> {
        let open_loose = || {
            let opened = loose::open(self.disk, &self.directory, id)?;
            Ok(opened.then(|opened| Found::Intact(opened.bytes)))
        };
        let packed = |pack: &Pack| match pack.index.offset(id) {
            Some(offset) => {
                let entry = pack.entry_header(self.disk, offset)?;
                Ok(entry.then(|entry| Found::Intact(entry.bytes)))
            }
            None => Ok(Found::Absent),
        };
        match self.find(id, open_loose, packed)? {
            Found::Intact(bytes) => Ok(bytes),
            Found::Absent | Found::Damaged(_) => self.header(id).map(|(_, bytes)| bytes),
        }
    }

    /// Verifies an object and returns its kind.
    fn verify(&self, id: Oid) -> Result<Found<Kind>> {
        let check_loose = || loose::check(self.disk, &self.directory, id);
        self.find(id, check_loose, |pack| pack.check(self.disk, id))
    }

    /// Looks an object up in its loose file, then in the packs, and then in its loose file again,
    /// because git may move an object from one to the other meanwhile.
    pub(super) fn find<T>(
        &self,
        id: Oid,
        from_loose: impl Fn() -> Result<Found<T>>,
        from_pack: impl Fn(&Pack) -> Result<Found<T>>,
    ) -> Result<Found<T>> {
        from_loose()?.or_else(|| self.packs.find(id, from_pack))?.or_else(from_loose)
    }

    /// What was found of an object, or `of` its kind and bytes where it can be rebuilt from a damaged
    /// pack, since an intact copy of what its delta is against is stored elsewhere.
    // rule: maintenance/damage
    fn or_rebuilt<T>(
        &self,
        id: Oid,
        found: Found<T>,
        of: impl FnOnce(Kind, Vec<u8>) -> T,
    ) -> Result<Found<T>> {
        if !matches!(found, Found::Damaged(_)) {
            return Ok(found);
        }
        found.or_else(|| {
            let rebuilt = self.packs.find(id, |pack| {
                pack.rebuild(self.disk, id, &|base| self.read_outside(base, &pack.path))
            })?;
            Ok(rebuilt.then(|(kind, bytes)| Found::Intact(of(kind, bytes))))
        })
    }

    /// The kind and bytes of an object that is intact anywhere but in that pack.
    fn read_outside(&self, id: Oid, pack: &Path) -> Result<Option<(Kind, Vec<u8>)>> {
        let read_loose = || loose::read(self.disk, &self.directory, id, u64::MAX);
        let read_packed = |candidate: &Pack| match candidate.path == pack {
            true => Ok(Found::Absent),
            false => candidate.read(self.disk, id, u64::MAX),
        };
        Ok(match self.find(id, read_loose, read_packed)? {
            Found::Intact((kind, bytes)) => bytes.map(|bytes| (kind, bytes)),
            Found::Absent | Found::Damaged(_) => None,
        })
    }

    fn require_intact<T>(id: Oid, found: Found<T>) -> Result<T> {
        match found {
            Found::Intact(found) => Ok(found),
            Found::Damaged(why) => Err(Self::damaged(id, why)),
            Found::Absent => Err(Self::damaged(id, "is missing")),
        }
    }

    fn damaged(id: Oid, why: &str) -> Error {
        Error::DamagedObject { id: id.to_string(), why: why.to_owned() }
    }
}
