//! The packs of a store: finds and reads objects in them.
//!
//! If a pack is unreadable, only objects that no other pack contains are lost. Git may move objects to
//! other packs at any time, so the folder is listed again when an object is not found.

use crate::disk::{Disk, is_absence, is_another_kind};
use crate::error::{Context, Error, Result};
use crate::shared::Shared;
use crate::store::mark::{Mark, RecordedMark};
use crate::store::object::Found;
use crate::store::oid::Oid;
use crate::store::pack_index::PackIndex;
use crate::store::packed::Pack;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The packs in one folder.
pub struct Packs<'a> {
    disk: &'a dyn Disk,
    folder: PathBuf,
    /// The packs at the last listing, if there was one.
    listed: Shared<Option<Arc<PackMap>>>,
}

/// Packs by the names of their indexes.
type PackMap = BTreeMap<OsString, Arc<Pack>>;

impl<'a> Packs<'a> {
    /// The packs in `folder`, which may not exist.
    pub fn new(disk: &'a dyn Disk, folder: PathBuf) -> Self {
        Packs { disk, folder, listed: Shared::default() }
    }

    /// Whether the index of a listed pack contains the object.
    pub fn have(&self, id: Oid) -> bool {
        holding(&self.listed(), id).next().is_some()
    }

    /// The mark of a listed pack that nothing touched since this was recorded. What was in the pack then is in it
    /// now, so that its index need not be searched.
    pub fn unchanged(&self, recorded: &RecordedMark) -> Option<Mark> {
        let packs = self.listed();
        packs.values().map(|pack| pack.mark).find(|mark| mark.is_unchanged_since(recorded))
    }

    /// Returns what `read` finds of an object in the first pack in which it is intact.
    ///
    /// # Errors
    /// A disk that fails, so that it is unknown whether the object is intact.
    // rule: maintenance/damage
    pub fn find<T>(&self, id: Oid, read: impl Fn(&Pack) -> Result<Found<T>>) -> Result<Found<T>> {
        let find_in = |packs: &PackMap| {
            holding(packs, id).try_fold(Found::Absent, |found, pack| found.or_else(|| read(pack)))
        };
        match find_in(&self.listed())? {
            Found::Absent => {}
            found => return Ok(found),
        }
        let (packs, unread) = self.list(&self.listed());
        let found = find_in(&packs)?;
        *self.listed.lock() = Some(Arc::new(packs));
        match (found, unread) {
            (Found::Absent, Some(error)) => Err(error),
            (found, _) => Ok(found),
        }
    }

    /// Closes all packs, so that one that is removed takes no more space; they are listed again when needed.
    pub fn close(&self) {
        *self.listed.lock() = None;
    }

    /// The pack at that path; `None` if the pack or its index cannot be used.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn at(&self, path: &Path) -> Result<Option<Arc<Pack>>> {
        self.open(&path.with_extension("idx"))
    }

    fn listed(&self) -> Arc<PackMap> {
        let mut listed = self.listed.lock();
        // An index that could not be read matters only once an object is not found.
        Arc::clone(listed.get_or_insert_with(|| Arc::new(self.list(&PackMap::new()).0)))
    }

    /// Lists the packs in the folder, reusing those of `previous`; also returns the error where an
    /// index that may be intact could not be read.
    fn list(&self, previous: &PackMap) -> (PackMap, Option<Error>) {
        let mut packs = PackMap::new();
        let mut unread = None;
        let names = match self.disk.list(&self.folder) {
            Err(error) if is_absence(&error) => Vec::new(),
            names => names.context("reading the directory", &self.folder).unwrap_or_else(|error| {
                unread = Some(error);
                Vec::new()
            }),
        };
        for name in names.into_iter().filter(|name| name.as_bytes().ends_with(b".idx")) {
            let path = self.folder.join(&name);
            let reused = previous.get(&name).cloned();
            match reused.map_or_else(|| self.open(&path), |pack| Ok(Some(pack))) {
                Ok(Some(pack)) => drop(packs.insert(name, pack)),
                Ok(None) => tracing::debug!("{} is not the index of a pack", path.display()),
                Err(error) => unread = Some(error),
            }
        }
        (packs, unread)
    }

    /// The pack with that index; `None` if the file is not an index, or its pack is missing.
    fn open(&self, index: &Path) -> Result<Option<Arc<Pack>>> {
        let path = index.with_extension("pack");
        let read = || {
            let pack = self.disk.stat(&path)?;
            let (bytes, stat) = self.disk.read(index, u64::MAX)?;
            let name = path.file_name().unwrap_or_default();
            Ok((bytes, Mark::of(name.as_bytes(), &[pack, stat])))
        };
        let (bytes, mark) = match read() {
            Err(error) if is_absence(&error) || is_another_kind(&error) => return Ok(None),
            read => read.context("reading", index)?,
        };
        Ok(PackIndex::of(bytes).map(|index| Arc::new(Pack::new(path, index, mark))))
    }
}

/// The packs whose index contains the object.
fn holding(packs: &PackMap, id: Oid) -> impl Iterator<Item = &Arc<Pack>> {
    packs.values().filter(move |pack| pack.index.offset(id).is_some())
}
