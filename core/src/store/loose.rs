//! Reads and verifies loose objects, each of which has a file of its own.
//!
//! No library is used for this: libgit2 reads a truncated file without end and waits for a writer if
//! the file is a fifo, and gix maps the file into memory.

use crate::disk::{Disk, Stream};
use crate::error::Result;
use crate::store::object::{Found, HashingReader, Kind, classify_read, open_at, verify_id};
use crate::store::oid::Oid;
use flate2::bufread::ZlibDecoder;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The header of an object is shorter than this, in bytes.
const HEADER_BYTES_MAX: u64 = 64;

/// An object that is read from its file.
pub struct Opened {
    /// The stated kind.
    pub kind: Kind,
    /// The stated size in bytes.
    pub bytes: u64,
    // Buffered again, because a decoder at the end of its input reads from the disk on every call.
    inflated: BufReader<ZlibDecoder<BufReader<Stream>>>,
    /// Whether nothing may follow the compressed bytes: `git fsck` calls such a file corrupt.
    is_strict: bool,
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inflated.read(buffer)?;
        let file = self.inflated.get_mut().get_mut();
        let has_ended = bytes == 0 && !buffer.is_empty();
        if has_ended && self.is_strict && !file.fill_buf()?.is_empty() {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(bytes)
    }
}

/// The path of the object's own file below `objects`.
pub fn path_of(objects: &Path, id: Oid) -> PathBuf {
    let digits = id.to_string();
    objects.join(&digits[..2]).join(&digits[2..])
}

/// Returns the kind and bytes of an object and verifies its id. If its stated size is more than
/// `limit` bytes, returns the stated kind only and reads no further.
///
/// # Errors
/// A disk that fails; then it is unknown whether the object is intact.
// rule: maintenance/damage
pub fn read(
    disk: &dyn Disk,
    objects: &Path,
    id: Oid,
    limit: u64,
) -> Result<Found<(Kind, Option<Vec<u8>>)>> {
    let opened = match open(disk, objects, id)? {
        Found::Intact(opened) if opened.bytes > limit => {
            return Ok(Found::Intact((opened.kind, None)));
        }
        opened => opened,
    };
    let mut content = Vec::new();
    // The stated size may be wrong, so that no memory is allocated for it.
    let kind = copy(opened, objects, id, |bytes| content.extend_from_slice(bytes))?;
    Ok(kind.then(|kind| Found::Intact((kind, Some(content)))))
}

/// Verifies all bytes of an object, however many, and returns its kind. A file with the right bytes and more is
/// damaged, as it is for `git fsck`; [`read`] reads it.
///
/// # Errors
/// As [`read`].
pub fn check(disk: &dyn Disk, objects: &Path, id: Oid) -> Result<Found<Kind>> {
    copy(open_as(true, disk, objects, id)?, objects, id, |_| {})
}

/// Opens an object with its stated kind and size; its bytes are not read yet.
///
/// # Errors
/// As [`read`].
pub fn open(disk: &dyn Disk, objects: &Path, id: Oid) -> Result<Found<Opened>> {
    open_as(false, disk, objects, id)
}

fn open_as(is_strict: bool, disk: &dyn Disk, objects: &Path, id: Oid) -> Result<Found<Opened>> {
    let path = path_of(objects, id);
    open_at(disk, &path, 0)?.and_then(|stream| classify_read(open_stream(stream, is_strict), &path))
}

fn copy(
    opened: Found<Opened>,
    objects: &Path,
    id: Oid,
    into: impl FnMut(&[u8]),
) -> Result<Found<Kind>> {
    opened.and_then(|opened| {
        let kind = opened.kind;
        let bytes = opened.bytes;
        let read = HashingReader::new(kind, bytes, opened).copy(into);
        Ok(classify_read(read, &path_of(objects, id))?.then(|found| verify_id(id, found, kind)))
    })
}

fn open_stream(stream: Stream, is_strict: bool) -> io::Result<Opened> {
    let mut inflated = BufReader::new(ZlibDecoder::new(BufReader::new(stream)));
    let mut text = Vec::new();
    inflated.by_ref().take(HEADER_BYTES_MAX).read_until(0, &mut text)?;
    let (kind, bytes) =
        text.strip_suffix(&[0]).and_then(parse_header).ok_or(ErrorKind::InvalidData)?;
    Ok(Opened { kind, bytes, inflated, is_strict })
}

fn parse_header(text: &[u8]) -> Option<(Kind, u64)> {
    let (kind, bytes) = std::str::from_utf8(text).ok()?.split_once(' ')?;
    Some((Kind::of_name(kind)?, bytes.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use crate::store::object::TRUNCATED;
    use crate::store::objects::Objects;
    use std::fs;

    /// Noise, so that a large part of the file is compressed bytes.
    fn content() -> Vec<u8> {
        (0..600u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
    }

    fn stored(folder: &Path) -> (Oid, PathBuf) {
        let mut objects = Objects::new(&SystemDisk, folder.to_owned());
        let id = objects.add(Kind::Blob, &content()).unwrap();
        objects.flush().unwrap();
        (id, path_of(folder, id))
    }

    #[test]
    fn read_reports_damage_or_the_right_bytes_for_every_truncated_or_flipped_file() {
        let folder = tempfile::tempdir().unwrap();
        let (id, path) = stored(folder.path());
        let read_object = || read(&SystemDisk, folder.path(), id, u64::MAX).unwrap();
        let expected = (Kind::Blob, Some(content()));
        assert_eq!(read_object(), Found::Intact(expected.clone()));
        let intact = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(read_object(), Found::Absent);
        for length in 0..intact.len() {
            fs::write(&path, &intact[..length]).unwrap();
            // Only the zlib checksum follows the content; the id makes it unnecessary.
            let is_intact = matches!(read_object(), Found::Intact(_));
            assert!(!is_intact || length + 4 >= intact.len(), "cut to {length}");
            let _ = open(&SystemDisk, folder.path(), id).unwrap();
        }
        fs::write(&path, [&intact[..], b"garbage"].concat()).unwrap();
        assert_eq!(read_object(), Found::Intact(expected.clone()));
        let checked = check(&SystemDisk, folder.path(), id).unwrap();
        assert!(matches!(checked, Found::Damaged(_)), "{checked:?}");
        for position in 0..intact.len() - 4 {
            let mut flipped = intact.clone();
            flipped[position] ^= 0x10;
            fs::write(&path, &flipped).unwrap();
            // A few bits of the format have no meaning: then the content is unchanged.
            match read_object() {
                Found::Intact(found) => assert_eq!(found, expected),
                found => {
                    assert!(matches!(found, Found::Damaged(_)), "byte {position}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn read_and_check_report_damage_where_an_object_is_not_a_regular_file() {
        let folder = tempfile::tempdir().unwrap();
        let (id, path) = stored(folder.path());
        let copy = folder.path().join("copy");
        fs::rename(&path, &copy).unwrap();
        let assert_damaged = || {
            let found = read(&SystemDisk, folder.path(), id, u64::MAX).unwrap();
            assert!(matches!(found, Found::Damaged(_)), "{found:?}");
            let found = check(&SystemDisk, folder.path(), id).unwrap();
            assert!(matches!(found, Found::Damaged(_)), "{found:?}");
        };
        fs::create_dir(&path).unwrap();
        assert_damaged();
        fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink(&copy, &path).unwrap();
        assert_damaged();
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_damaged();
    }

    #[test]
    fn check_allocates_no_memory_for_a_stated_size_that_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let (id, path) = stored(folder.path());
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, b"blob 18446744073709551615\0x").unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, encoder.finish().unwrap()).unwrap();
        assert_eq!(check(&SystemDisk, folder.path(), id).unwrap(), Found::Damaged(TRUNCATED));
    }
}
