//! Reading an object that has a file of its own, and telling whether that is whole.
//!
//! Own code and not libgit2's, whose zlib stream never ends on a file that was cut short, and which
//! waits for a writer where a fifo stands.

use crate::disk::{Disk, Stream};
use crate::error::Result;
use crate::store::object::{Found, Kind, Named, is_that, judged, open_at};
use flate2::read::ZlibDecoder;
use git2::Oid;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The header of an object is shorter than this, in bytes.
const HEADER_BYTES_MAX: u64 = 64;

/// An object that is read from its file.
pub struct Opened {
    /// What it says that it is.
    pub kind: Kind,
    /// How many bytes it says it has.
    pub bytes: u64,
    // Buffered once more: each small read of a stream that gave all it has asks the disk again.
    inflated: BufReader<ZlibDecoder<Stream>>,
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inflated.read(buffer)
    }
}

/// Where the object has its file below `objects`.
pub fn path_of(objects: &Path, id: Oid) -> PathBuf {
    let digits = id.to_string();
    objects.join(&digits[..2]).join(&digits[2..])
}

/// The kind and bytes of an object, which are those that its id stands for; only its kind where it
/// says that it has more bytes than `most`, and then nothing else is read.
///
/// # Errors
/// A disk that fails; then nothing is known of the object.
// rule: maintenance/damage
pub fn read(
    disk: &dyn Disk,
    objects: &Path,
    id: Oid,
    most: u64,
) -> Result<Found<(Kind, Option<Vec<u8>>)>> {
    let opened = match open(disk, objects, id)? {
        Found::Whole(opened) if opened.bytes > most => {
            return Ok(Found::Whole((opened.kind, None)));
        }
        opened => opened,
    };
    let mut all = Vec::new();
    // What it says of its size may be wrong, so that no memory is taken by it.
    let kind = copy(opened, objects, id, |bytes| all.extend_from_slice(bytes))?;
    Ok(kind.then(|kind| Found::Whole((kind, Some(all)))))
}

/// The kind of an object, all of whose bytes are looked at, however many.
///
/// # Errors
/// As [`read`].
pub fn check(disk: &dyn Disk, objects: &Path, id: Oid) -> Result<Found<Kind>> {
    copy(open(disk, objects, id)?, objects, id, |_| {})
}

/// An object as its file says that it is; the rest of that is not read yet.
///
/// # Errors
/// As [`read`].
pub fn open(disk: &dyn Disk, objects: &Path, id: Oid) -> Result<Found<Opened>> {
    let path = path_of(objects, id);
    open_at(disk, &path, 0)?.and_then(|stream| judged(open_stream(stream), &path))
}

fn copy(
    opened: Found<Opened>,
    objects: &Path,
    id: Oid,
    into: impl FnMut(&[u8]),
) -> Result<Found<Kind>> {
    opened.and_then(|opened| {
        let (kind, bytes) = (opened.kind, opened.bytes);
        let read = Named::new(kind, bytes, opened).copy(into);
        Ok(judged(read, &path_of(objects, id))?.then(|found| is_that(id, found, kind)))
    })
}

fn open_stream(stream: Stream) -> io::Result<Opened> {
    let mut inflated = BufReader::new(ZlibDecoder::new(stream));
    let mut text = Vec::new();
    inflated.by_ref().take(HEADER_BYTES_MAX).read_until(0, &mut text)?;
    let (kind, bytes) =
        text.strip_suffix(&[0]).and_then(parse_header).ok_or(ErrorKind::InvalidData)?;
    Ok(Opened { kind, bytes, inflated })
}

fn parse_header(text: &[u8]) -> Option<(Kind, u64)> {
    let (kind, bytes) = std::str::from_utf8(text).ok()?.split_once(' ')?;
    Some((Kind::of_name(kind)?, bytes.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use crate::store::object::CUT;
    use crate::store::objects::Objects;
    use std::fs;

    /// Noise, so that a good part of the file is compressed bytes.
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
    fn every_cut_and_every_flipped_byte_is_damage_and_none_of_them_hangs() {
        let folder = tempfile::tempdir().unwrap();
        let (id, path) = stored(folder.path());
        let look = || read(&SystemDisk, folder.path(), id, u64::MAX).unwrap();
        let as_it_was = (Kind::Blob, Some(content()));
        assert_eq!(look(), Found::Whole(as_it_was.clone()));
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(look(), Found::Absent);
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            // Behind the content comes only its checksum, which the id makes needless.
            let is_whole = matches!(look(), Found::Whole(_));
            assert!(!is_whole || length + 4 >= whole.len(), "cut to {length}");
            let _ = open(&SystemDisk, folder.path(), id).unwrap();
        }
        for at in 0..whole.len() - 4 {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            fs::write(&path, &flipped).unwrap();
            // A few bits of the format say nothing: then the content is what it was.
            match look() {
                Found::Whole(found) => assert_eq!(found, as_it_was),
                other => assert!(matches!(other, Found::Damaged(_)), "byte {at}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_regular_file_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let (id, path) = stored(folder.path());
        let copy = folder.path().join("copy");
        fs::rename(&path, &copy).unwrap();
        let damaged = || {
            let found = read(&SystemDisk, folder.path(), id, u64::MAX).unwrap();
            assert!(matches!(found, Found::Damaged(_)), "{found:?}");
            let found = check(&SystemDisk, folder.path(), id).unwrap();
            assert!(matches!(found, Found::Damaged(_)), "{found:?}");
        };
        fs::create_dir(&path).unwrap();
        damaged();
        fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink(&copy, &path).unwrap();
        damaged();
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        damaged();
    }

    #[test]
    fn a_size_that_is_a_lie_takes_no_memory() {
        let folder = tempfile::tempdir().unwrap();
        let (id, path) = stored(folder.path());
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, b"blob 18446744073709551615\0x").unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, encoder.finish().unwrap()).unwrap();
        assert_eq!(check(&SystemDisk, folder.path(), id).unwrap(), Found::Damaged(CUT));
    }
}
