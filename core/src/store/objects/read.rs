//! Reads objects: from a loose file or a pack, each verified unless a function states otherwise.

use super::Objects;
use crate::disk::{Kind as FileKind, Stream, folder};
use crate::error::{Error, Result};
use crate::store::loose;
use crate::store::object::{Found, Kind};
use crate::store::oid::Oid;
use crate::store::packed::Pack;

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
        let (found_kind, bytes) = match found {
            Found::Absent if id.to_string() == EMPTY_TREE => (Kind::Tree, Some(Vec::new())),
            found => Self::require_intact(id, found)?,
        };
        if found_kind == kind { Ok(bytes) } else { Err(Self::wrong_kind(id, kind)) }
    }

    /// Verifies an object of that kind, however many bytes it has.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub fn check(&self, kind: Kind, id: Oid) -> Result<()> {
        let found_kind = Self::require_intact(id, self.verify(id)?)?;
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
        Self::require_intact(id, found)
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
        Self::require_intact(id, found)
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
