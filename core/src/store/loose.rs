//! Reading an object that has a file of its own, and telling whether that is whole.
//!
//! Own code and not libgit2's, whose zlib stream never ends on a file that was cut short, and which
//! waits for a writer where a fifo stands.

use crate::disk::{Disk, is_absence, is_unreadable};
use crate::error::{Context, Result};
use crate::store::object::{Kind, id_of};
use flate2::read::ZlibDecoder;
use git2::Oid;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The header of an object is shorter than this, in bytes.
const HEADER_BYTES_MAX: usize = 64;
/// So many bytes of a file hold the header, however badly it is compressed.
const HEADER_FILE_BYTES: u64 = 4_096;

/// What stands where an object would.
#[derive(Debug, PartialEq, Eq)]
pub enum Loose<T> {
    /// Nothing.
    Absent,
    /// Something that is not the object: the words say what is wrong with it.
    Damaged(&'static str),
    /// The object.
    Whole(T),
}

impl<T> Loose<T> {
    fn of(read: std::result::Result<T, &'static str>) -> Self {
        read.map_or_else(Loose::Damaged, Loose::Whole)
    }
}

/// Where the object has its file below `objects`.
pub fn path_of(objects: &Path, id: Oid) -> PathBuf {
    let digits = id.to_string();
    objects.join(&digits[..2]).join(&digits[2..])
}

/// The kind and bytes of an object, which are those that its id stands for.
///
/// # Errors
/// A disk that fails; then nothing is known of the object.
// rule: maintenance/damage
pub fn read(disk: &dyn Disk, objects: &Path, id: Oid) -> Result<Loose<(Kind, Vec<u8>)>> {
    let file = match file(disk, objects, id, u64::MAX)? {
        Loose::Whole(file) => file,
        Loose::Absent => return Ok(Loose::Absent),
        Loose::Damaged(why) => return Ok(Loose::Damaged(why)),
    };
    Ok(Loose::of(parse(&file).and_then(|(kind, bytes)| {
        let is_meant = id_of(kind, &bytes).is_ok_and(|found| found == id);
        if is_meant { Ok((kind, bytes)) } else { Err("holds other bytes than its id says") }
    })))
}

/// The kind and size in bytes that an object says it has; the rest of it is not read.
///
/// # Errors
/// As [`read`].
pub fn header(disk: &dyn Disk, objects: &Path, id: Oid) -> Result<Loose<(Kind, u64)>> {
    Ok(match file(disk, objects, id, HEADER_FILE_BYTES)? {
        Loose::Whole(file) => Loose::of(parse_header(&mut ZlibDecoder::new(&file[..]))),
        Loose::Absent => Loose::Absent,
        Loose::Damaged(why) => Loose::Damaged(why),
    })
}

fn file(disk: &dyn Disk, objects: &Path, id: Oid, limit: u64) -> Result<Loose<Vec<u8>>> {
    let path = path_of(objects, id);
    match disk.read(&path, limit) {
        Ok((file, _)) => Ok(Loose::Whole(file)),
        Err(error) if is_absence(&error) => Ok(Loose::Absent),
        // That it may not be read says nothing of what it holds.
        Err(error) if is_unreadable(&error) && error.kind() != ErrorKind::PermissionDenied => {
            Ok(Loose::Damaged("is no regular file"))
        }
        Err(error) => Err(error).context("reading", &path),
    }
}

const CUT: &str = "is cut short, or no object at all";

fn parse(file: &[u8]) -> std::result::Result<(Kind, Vec<u8>), &'static str> {
    let mut inflated = ZlibDecoder::new(file);
    let (kind, size) = parse_header(&mut inflated)?;
    let mut bytes = Vec::new();
    // What it says of its size may be wrong, so that no memory is taken by it.
    inflated.take(size.saturating_add(1)).read_to_end(&mut bytes).map_err(|_| CUT)?;
    if bytes.len() as u64 == size { Ok((kind, bytes)) } else { Err(CUT) }
}

fn parse_header(inflated: &mut impl Read) -> std::result::Result<(Kind, u64), &'static str> {
    let mut text = Vec::new();
    let mut byte = [0];
    while text.len() < HEADER_BYTES_MAX {
        inflated.read_exact(&mut byte).map_err(|_| CUT)?;
        if byte == [0] {
            let text = std::str::from_utf8(&text).map_err(|_| CUT)?;
            let (kind, size) = text.split_once(' ').ok_or(CUT)?;
            let kind = Kind::of_name(kind).ok_or(CUT)?;
            return size.parse().map(|size| (kind, size)).map_err(|_| CUT);
        }
        text.push(byte[0]);
    }
    Err(CUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use crate::store::objects::Objects;
    use std::fs;

    /// Noise, so that a good part of the file is compressed bytes.
    fn content() -> Vec<u8> {
        (0..600u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
    }

    fn stored(folder: &Path) -> (Oid, PathBuf) {
        let mut objects = Objects::open(&SystemDisk, folder.to_owned()).unwrap();
        let id = objects.add(Kind::Blob, &content()).unwrap();
        objects.flush().unwrap();
        (id, path_of(folder, id))
    }

    #[test]
    fn every_cut_and_every_flipped_byte_is_damage_and_none_of_them_hangs() {
        let folder = tempfile::tempdir().unwrap();
        let (id, path) = stored(folder.path());
        let look = || read(&SystemDisk, folder.path(), id).unwrap();
        assert_eq!(look(), Loose::Whole((Kind::Blob, content())));
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(look(), Loose::Absent);
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            // Behind the content comes only its checksum, which the id makes needless.
            let is_whole = matches!(look(), Loose::Whole(_));
            assert!(!is_whole || length + 4 >= whole.len(), "cut to {length}");
            let _ = header(&SystemDisk, folder.path(), id).unwrap();
        }
        for at in 0..whole.len() - 4 {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            fs::write(&path, &flipped).unwrap();
            // A few bits of the format say nothing: then the content is what it was.
            match look() {
                Loose::Whole((kind, bytes)) => assert_eq!((kind, bytes), (Kind::Blob, content())),
                other => assert!(matches!(other, Loose::Damaged(_)), "byte {at}: {other:?}"),
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
            let found = read(&SystemDisk, folder.path(), id).unwrap();
            assert!(matches!(found, Loose::Damaged(_)), "{found:?}");
            let found = header(&SystemDisk, folder.path(), id).unwrap();
            assert!(matches!(found, Loose::Damaged(_)), "{found:?}");
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
        assert_eq!(read(&SystemDisk, folder.path(), id).unwrap(), Loose::Damaged(CUT));
    }
}
