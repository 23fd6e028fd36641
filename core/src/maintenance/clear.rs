//! Removes the store and the files that v1 left in the base, on request. Third-party entries of the
//! base stay.

use crate::disk::{Disk, Kind, Sharing, folder};
use crate::error::{Error, Result};
use crate::report::{Cleared, ClearedLegacy, Holdings};
use crate::store::base::{self, BaseEntry};
use crate::store::{Store, lock, ref_recovery};
use std::ffi::OsStr;
use std::path::Path;

/// As [`crate::Manager::holdings`].
pub fn holdings(disk: &dyn Disk, base: &Path) -> Result<Holdings> {
    let mut holdings = Holdings { projects: projects(disk, base), ..Holdings::default() };
    for (name, entry) in base::entries(disk, base)? {
        let bytes = bytes_seen(disk, &base.join(name));
        holdings.entries += 1;
        holdings.bytes += bytes;
        match entry {
            BaseEntry::Archive => {
                holdings.archives += 1;
                holdings.archive_bytes += bytes;
            }
            BaseEntry::Repository => holdings.repositories += 1,
            BaseEntry::Store | BaseEntry::Marker | BaseEntry::Leftover => {}
        }
    }
    Ok(holdings)
}

/// As [`crate::Manager::clear`].
pub fn clear(disk: &dyn Disk, base: &Path) -> Result<Cleared> {
    let entries = base::entries(disk, base)?;
    let before = bytes_seen(disk, base);
    // A store that another tool made has no locks.
    let locks = base.join("store/locks");
    let has_locks = disk.stat(&locks).is_ok_and(|stat| stat.kind == Kind::Directory);
    let _store_lock = has_locks
        .then(|| lock::take(disk, &locks.join("store"), Sharing::Exclusive))
        .transpose()?;
    let names = entries.iter().map(|(name, entry)| (name.as_os_str(), *entry));
    remove_all(disk, base, names)?;
    // Fails if the base contains something else, which then stays.
    let _ = disk.remove_directory(base);
    Ok(Cleared { bytes_freed: before.saturating_sub(bytes_seen(disk, base)) })
}

/// As [`crate::Manager::clear_legacy`].
pub fn clear_legacy(disk: &dyn Disk, base: &Path) -> Result<ClearedLegacy> {
    let archives = base::named(disk, base, BaseEntry::Archive)?;
    let before = bytes_seen(disk, base);
    remove_all(disk, base, archives.iter().map(|name| (name.as_os_str(), BaseEntry::Archive)))?;
    let bytes_freed = before.saturating_sub(bytes_seen(disk, base));
    Ok(ClearedLegacy { archives: archives.len(), bytes_freed })
}

/// How many projects have checkpoints; `None` if the store is too damaged to count them, since it
/// can be cleared nevertheless.
fn projects(disk: &dyn Disk, base: &Path) -> Option<usize> {
    let counted = Store::open(disk, base).and_then(|store| match store {
        Some(store) => ref_recovery::projects(&store, &store.objects()).map(|hashes| hashes.len()),
        None => Ok(0),
    });
    counted.ok()
}

/// The size of a folder; 0 if it cannot be read, since it can be removed nevertheless.
fn bytes_seen(disk: &dyn Disk, path: &Path) -> u64 {
    folder::bytes(disk, path).unwrap_or_default()
}

/// Removes as many of these entries as possible, and returns the first error.
fn remove_all<'a>(
    disk: &dyn Disk,
    base: &Path,
    names: impl Iterator<Item = (&'a OsStr, BaseEntry)>,
) -> Result<()> {
    let mut first_error = None;
    for (name, entry) in names {
        let removed = match entry {
            BaseEntry::Leftover | BaseEntry::Marker => folder::remove(disk, &base.join(name)),
            BaseEntry::Archive => base::discard_archive(disk, base, name),
            BaseEntry::Store | BaseEntry::Repository => base::discard(disk, base, Path::new(name)),
        };
        if let Err(error) = removed {
            tracing::debug!("{name:?} was not removed: {error}");
            first_error.get_or_insert(error);
        }
    }
    first_error.map_or(Ok(()), |error| Err(Error::PartlyCleared(Box::new(error))))
}
