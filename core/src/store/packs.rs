//! The packs of a store: which objects are in one, and reading them there.
//!
//! One that cannot be read costs what only it holds. Git may put objects into other packs at any
//! time, so that what is not found is looked for in the packs of that moment.

use crate::disk::{Disk, is_absence, is_another_kind};
use crate::error::{Context, Error, Result};
use crate::store::mark::Mark;
use crate::store::object::Found;
use crate::store::pack_index::PackIndex;
use crate::store::packed::Pack;
use git2::Oid;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The packs in one folder.
pub struct Packs<'a> {
    disk: &'a dyn Disk,
    folder: PathBuf,
    /// Those that were there at the last look, if there was one.
    seen: RefCell<Option<Rc<Seen>>>,
}

/// Packs by the names of their indexes.
type Seen = BTreeMap<OsString, Rc<Pack>>;

impl<'a> Packs<'a> {
    /// The packs in `folder`, which may not be there.
    pub fn new(disk: &'a dyn Disk, folder: PathBuf) -> Self {
        Packs { disk, folder, seen: RefCell::new(None) }
    }

    /// Whether a pack that was seen says that it holds the object.
    pub fn have(&self, id: Oid) -> bool {
        self.mark(id, |_| true).is_some()
    }

    /// The mark of a pack that was seen and says that it holds the object, where `is_so` of it.
    pub fn mark(&self, id: Oid, is_so: impl Fn(&Mark) -> bool) -> Option<Mark> {
        let seen = self.seen();
        holding(&seen, id).map(|pack| pack.mark).find(is_so)
    }

    /// What `read` finds of an object in the first pack where it is whole.
    ///
    /// # Errors
    /// A disk that fails, so that nobody can say.
    // rule: maintenance/damage
    pub fn find<T>(&self, id: Oid, read: impl Fn(&Pack) -> Result<Found<T>>) -> Result<Found<T>> {
        let among = |seen: &Seen| {
            holding(seen, id).try_fold(Found::Absent, |found, pack| found.or_else(|| read(pack)))
        };
        match among(&self.seen())? {
            Found::Absent => {}
            found => return Ok(found),
        }
        let (seen, unread) = self.look(&self.seen());
        let found = among(&seen)?;
        *self.seen.borrow_mut() = Some(Rc::new(seen));
        match (found, unread) {
            (Found::Absent, Some(error)) => Err(error),
            (found, _) => Ok(found),
        }
    }

    /// The pack at that path; none where it or its index cannot be used.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn at(&self, path: &Path) -> Result<Option<Rc<Pack>>> {
        self.open(&path.with_extension("idx"))
    }

    fn seen(&self) -> Rc<Seen> {
        let mut seen = self.seen.borrow_mut();
        // Which index could not be read matters once something is not found.
        Rc::clone(seen.get_or_insert_with(|| Rc::new(self.look(&Seen::new()).0)))
    }

    /// What is in the folder now, of which the packs `before` were looked into already; and why an
    /// index could not be read that may be whole.
    fn look(&self, before: &Seen) -> (Seen, Option<Error>) {
        let (mut seen, mut unread) = (Seen::new(), None);
        let names = match self.disk.list(&self.folder) {
            Err(error) if is_absence(&error) => Vec::new(),
            names => names.context("reading the directory", &self.folder).unwrap_or_else(|error| {
                unread = Some(error);
                Vec::new()
            }),
        };
        for name in names.into_iter().filter(|name| name.as_bytes().ends_with(b".idx")) {
            let path = self.folder.join(&name);
            let known = before.get(&name).cloned();
            match known.map_or_else(|| self.open(&path), |known| Ok(Some(known))) {
                Ok(Some(pack)) => drop(seen.insert(name, pack)),
                Ok(None) => tracing::debug!("{} is no index of a pack", path.display()),
                Err(error) => unread = Some(error),
            }
        }
        (seen, unread)
    }

    /// The pack with that index; none where that is no index, or has no pack.
    fn open(&self, index: &Path) -> Result<Option<Rc<Pack>>> {
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
        Ok(PackIndex::of(bytes).map(|index| Rc::new(Pack::new(path, index, mark))))
    }
}

fn holding(seen: &Seen, id: Oid) -> impl Iterator<Item = &Rc<Pack>> {
    seen.values().filter(move |pack| pack.index.offset(id).is_some())
}
