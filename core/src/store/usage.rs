//! An estimate of the total size of the objects in a store. It is the sum of the numbers in a file, to
//! which every checkpoint that stores objects adds the size of these objects.
//!
//! The estimate only decides when the objects are really measured.

use crate::disk::atomic_write::write_soon;
use crate::disk::folder;
use crate::error::{Context, Result};
use crate::store::repository::{Store, make_private};

/// Size limit of the file in bytes; a longer file is restarted.
const USAGE_BYTES_MAX: usize = 32 * 1024;

/// Adds the bytes that a checkpoint stored.
pub fn add(store: &Store<'_>, bytes: u64) -> Result<()> {
    let path = store.path.join("usage");
    store.disk.append(&path, &entry(bytes)).context("appending to", &path)
}

/// The estimate in bytes. If the file is missing or invalid, or git packed since it was written, the
/// objects are measured.
pub fn estimate(store: &Store<'_>) -> Result<u64> {
    let packed = store.disk.stat(&store.path.join("objects/pack")).map(|stat| stat.modified);
    let read = store.disk.read(&store.path.join("usage"), USAGE_BYTES_MAX as u64 + 1);
    let read = read.ok().filter(|(_, stat)| packed.is_ok_and(|packed| packed <= stat.modified));
    if let Some(sum) = read.and_then(|(entries, _)| sum(&entries)) {
        return Ok(sum);
    }
    let bytes = folder::bytes(store.disk, &store.path.join("objects"))?;
    restart(store, bytes)?;
    Ok(bytes)
}

fn sum(entries: &[u8]) -> Option<u64> {
    let (entries, rest) = entries.as_chunks::<8>();
    let fits = rest.is_empty() && entries.len() * 8 <= USAGE_BYTES_MAX;
    let sum =
        entries.iter().fold(0i64, |sum, entry| sum.saturating_add(i64::from_be_bytes(*entry)));
    u64::try_from(sum).ok().filter(|_| fits && !entries.is_empty())
}

/// Restarts the file with the size of the objects in bytes. On a full disk the file is removed, so that
/// the objects are measured next time.
pub fn restart(store: &Store<'_>, bytes: u64) -> Result<()> {
    make_private(store.disk, &store.path.join("fresh"))?;
    let path = store.path.join("usage");
    match write_soon(store.disk, &store.path, "usage", &entry(bytes)) {
        Err(error) if error.is_full_disk() => folder::remove_file(store.disk, &path),
        written => written,
    }
}

fn entry(bytes: u64) -> [u8; 8] {
    i64::try_from(bytes).unwrap_or(i64::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use std::fs;
    use std::time::{Duration, SystemTime};

    #[test]
    fn estimate_measures_the_objects_if_git_packed_since_the_file_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&SystemDisk, folder.path(), 0).unwrap();
        fs::write(store.path.join("objects/pack/one"), [0; 100]).unwrap();
        restart(&store, 7).unwrap();
        assert_eq!(estimate(&store).unwrap(), 7);
        add(&store, 2).unwrap();
        assert_eq!(estimate(&store).unwrap(), 9);
        let later = SystemTime::now() + Duration::from_secs(1);
        let packs = fs::File::open(store.path.join("objects/pack")).unwrap();
        packs.set_modified(later).unwrap();
        assert_eq!(estimate(&store).unwrap(), 100);
    }

    #[test]
    fn sum_adds_up_entries_and_refuses_anything_else() {
        assert_eq!(sum(&[entry(5), entry(7)].concat()), Some(12));
        assert_eq!(sum(&[entry(5), (-2i64).to_be_bytes()].concat()), Some(3));
        assert_eq!(sum(&(-2i64).to_be_bytes()), None);
        assert_eq!(sum(&[]), None);
        assert_eq!(sum(&entry(5)[..7]), None);
        assert_eq!(sum(&[0; 9]), None);
        assert_eq!(sum(&vec![0; USAGE_BYTES_MAX + 8]), None);
    }
}
