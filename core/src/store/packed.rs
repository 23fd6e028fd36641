//! Reads objects from a pack in git's pack format, version 2, where an object is stored completely
//! or as a delta against another object of the same pack. [`rebuild`] reads what is left of a damaged
//! pack.
//!
//! No library is used for this: libgit2 trusts the index of a pack, so that one wrong byte in an index
//! ends the process, and gix maps the pack into memory.

mod rebuild;

use crate::disk::{Disk, ReadAt, Stream};
use crate::error::{Context, Result};
use crate::shared::Shared;
use crate::store::delta;
use crate::store::mark::Mark;
use crate::store::object::{
    Found, HashingReader, Kind, TRUNCATED, classify_opened, classify_read, id_of, verify_id,
};
use crate::store::oid::Oid;
use crate::store::pack::CHECKSUM_BYTES;
use crate::store::pack_index::{PACK_HEAD_BYTES, PackIndex};
use flate2::bufread::ZlibDecoder;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Git writes no longer chains of deltas.
const CHAIN_MAX: usize = 4095;
/// Size of the read buffer in bytes: most objects are read in one step.
const STEP_BYTES: usize = 4096;

/// Size limit of the cache in bytes: a delta is mostly against an object that was read just before.
const CACHED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Why an object counts as damaged that is whole itself.
pub const REFUSED_BY_GIT: &str = "is in a pack that git refuses";

/// A pack with its index.
pub struct Pack {
    /// The file of the pack.
    pub path: PathBuf,
    /// The ids of its objects and their offsets.
    pub index: PackIndex,
    /// The mark of the pack and its index, taken before either was read.
    pub mark: Mark,
    is_read_by_git: OnceLock<bool>,
    /// Filled once it is needed, for a damaged pack.
    ids_by_offset: OnceLock<HashMap<u64, Oid>>,
    cache: Shared<Cache>,
    /// The file of the pack once it was opened.
    file: OnceLock<Arc<dyn ReadAt>>,
}

/// The bytes of a file from an offset on.
struct FromOffset {
    file: Arc<dyn ReadAt>,
    offset: u64,
}

impl Read for FromOffset {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read_at(buffer, self.offset)?;
        self.offset += bytes as u64;
        Ok(bytes)
    }
}

/// The objects that were read last.
#[derive(Default)]
struct Cache {
    /// By offset.
    objects: HashMap<u64, (Kind, Arc<Vec<u8>>)>,
    bytes: usize,
}

/// How an object is stored in a pack.
pub enum Form {
    /// Completely.
    Full(Kind),
    /// As a delta against the object at that offset.
    OffsetDelta(u64),
    /// As a delta against the object with that id.
    RefDelta(Oid),
}

/// The header of an entry of a pack.
pub struct EntryHeader {
    /// How the object is stored.
    pub form: Form,
    /// The stated size of the uncompressed object or delta, in bytes.
    pub bytes: u64,
    /// The offset in the pack at which its compressed bytes begin.
    pub data_offset: u64,
}

/// An entry of a pack, whose compressed bytes are not read yet.
struct PackEntry {
    form: Form,
    /// The stated size of the uncompressed object or delta, in bytes.
    bytes: u64,
    /// The length of the header before the compressed bytes, in bytes.
    header_bytes: u64,
    /// Boxed, since its tables are large.
    inflated: Box<ZlibDecoder<BufReader<Stream>>>,
}

/// The base object of a chain of deltas, and the deltas in the order in which they were read, the
/// reverse of the order in which they apply, each with its offset.
struct Chain {
    kind: Kind,
    base_offset: u64,
    base: Base,
    deltas: Vec<(u64, Vec<u8>)>,
}

/// An object that is not stored as a delta.
enum Base {
    /// It is not read yet.
    Stored(PackEntry),
    /// It was read before.
    Cached(Arc<Vec<u8>>),
}

impl Pack {
    /// A pack with that index and mark.
    pub fn new(path: PathBuf, index: PackIndex, mark: Mark) -> Self {
        Pack {
            path,
            index,
            mark,
            is_read_by_git: OnceLock::new(),
            ids_by_offset: OnceLock::new(),
            cache: Shared::default(),
            file: OnceLock::new(),
        }
    }

    /// Returns the kind and bytes of an object and verifies its id. If its stated size is more than
    /// `limit` bytes, returns the stated kind only and verifies nothing.
    ///
    /// # Errors
    /// A disk that fails; then it is unknown whether the object is intact.
    // rule: maintenance/damage
    pub fn read(
        &self,
        disk: &dyn Disk,
        id: Oid,
        limit: u64,
    ) -> Result<Found<(Kind, Option<Vec<u8>>)>> {
        self.chain(disk, id)?.and_then(|chain| match chain.bytes() {
            None => Ok(Found::Damaged(TRUNCATED)),
            Some(bytes) if bytes > limit => Ok(Found::Intact((chain.kind, None))),
            Some(_) => Ok(self
                .verified(id, chain)?
                .then(|(kind, bytes)| Found::Intact((kind, Some(Arc::unwrap_or_clone(bytes)))))),
        })
    }

    /// Verifies all bytes of an object and returns its kind. An object that is not stored as a delta
    /// is not read into memory completely. An object that git does not find is damaged; [`Pack::read`]
    /// reads it.
    ///
    /// # Errors
    /// As [`Pack::read`].
    // rule: cost/memory
    pub fn check(&self, disk: &dyn Disk, id: Oid) -> Result<Found<Kind>> {
        let checked = self.check_object(disk, id)?;
        checked.and_then(|kind| match self.is_read_by_git(disk)? {
            true => Ok(Found::Intact(kind)),
            false => Ok(Found::Damaged(REFUSED_BY_GIT)),
        })
    }

    /// Whether git reads the pack with its index.
    fn is_read_by_git(&self, disk: &dyn Disk) -> Result<bool> {
        if let Some(known) = self.is_read_by_git.get() {
            return Ok(*known);
        }
        let read = || -> io::Result<(Vec<u8>, Vec<u8>)> {
            let (head, stat) = disk.read(&self.path, PACK_HEAD_BYTES)?;
            let end = stat.size.saturating_sub(CHECKSUM_BYTES);
            let mut checksum = Vec::new();
            disk.open_at(&self.path, end)?.0.take(CHECKSUM_BYTES).read_to_end(&mut checksum)?;
            Ok((head, checksum))
        };
        let (head, checksum) = read().context("reading", &self.path)?;
        Ok(*self.is_read_by_git.get_or_init(|| self.index.is_read_by_git(&head, &checksum)))
    }

    fn check_object(&self, disk: &dyn Disk, id: Oid) -> Result<Found<Kind>> {
        self.chain(disk, id)?.and_then(|chain| match chain {
            Chain { kind, base: Base::Stored(entry), deltas, .. } if deltas.is_empty() => {
                let read = HashingReader::new(kind, entry.bytes, entry.inflated).copy(|_| {});
                Ok(classify_read(read, &self.path)?.then(|found| verify_id(id, found, kind)))
            }
            chain => Ok(self.verified(id, chain)?.then(|(kind, _)| Found::Intact(kind))),
        })
    }

    /// The stated kind of an object and its stated size in bytes.
    ///
    /// # Errors
    /// As [`Pack::read`].
    pub fn header(&self, disk: &dyn Disk, id: Oid) -> Result<Found<(Kind, u64)>> {
        Ok(self.chain(disk, id)?.then(|chain| match chain.bytes() {
            Some(bytes) => Found::Intact((chain.kind, bytes)),
            None => Found::Damaged(TRUNCATED),
        }))
    }

    /// A stream of the bytes of an object. Its id is not verified.
    ///
    /// # Errors
    /// As [`Pack::read`].
    // rule: cost/memory
    pub fn stream(&self, disk: &dyn Disk, id: Oid) -> Result<Found<Stream>> {
        self.chain(disk, id)?.and_then(|chain| match chain {
            Chain { base: Base::Stored(entry), deltas, .. } if deltas.is_empty() => {
                Ok(Found::Intact(Box::new(entry.inflated) as Stream))
            }
            chain => Ok(self.resolve(chain)?.then(|(_, bytes)| {
                Found::Intact(Box::new(Cursor::new(Arc::unwrap_or_clone(bytes))) as Stream)
            })),
        })
    }

    /// The header of the entry at that offset.
    ///
    /// # Errors
    /// As [`Pack::read`].
    pub fn entry_header(&self, disk: &dyn Disk, offset: u64) -> Result<Found<EntryHeader>> {
        Ok(self.entry(disk, offset)?.then(|PackEntry { form, bytes, header_bytes, .. }| {
            Found::Intact(EntryHeader { form, bytes, data_offset: offset + header_bytes })
        }))
    }

    /// Reads the deltas of an object, back to its base object.
    fn chain(&self, disk: &dyn Disk, id: Oid) -> Result<Found<Chain>> {
        let Some(mut offset) = self.index.offset(id) else {
            return Ok(Found::Absent);
        };
        let mut deltas = Vec::new();
        while deltas.len() <= CHAIN_MAX {
            if let Some((kind, bytes)) = self.cache.lock().objects.get(&offset) {
                let kind = *kind;
                let base = Base::Cached(Arc::clone(bytes));
                return Ok(Found::Intact(Chain { kind, base_offset: offset, base, deltas }));
            }
            let entry = match self.entry(disk, offset)? {
                Found::Intact(entry) => entry,
                missing => return Ok(missing.then(|_| Found::Damaged(TRUNCATED))),
            };
            let next_offset = match entry.form {
                Form::Full(kind) => {
                    let base = Base::Stored(entry);
                    return Ok(Found::Intact(Chain { kind, base_offset: offset, base, deltas }));
                }
                Form::OffsetDelta(base_offset) => Some(base_offset),
                Form::RefDelta(base_id) => self.index.offset(base_id),
            };
            match (next_offset, classify_read(entry.read_all(), &self.path)?) {
                (Some(next_offset), Found::Intact(delta)) => {
                    deltas.push((offset, delta));
                    offset = next_offset;
                }
                _ => return Ok(Found::Damaged(TRUNCATED)),
            }
        }
        Ok(Found::Damaged("is a delta of too many other objects"))
    }

    fn entry(&self, disk: &dyn Disk, offset: u64) -> Result<Found<PackEntry>> {
        let file = match self.file.get() {
            Some(file) => Found::Intact(file),
            None => classify_opened(disk.open_to_read_at(&self.path), &self.path)?
                .then(|file| Found::Intact(self.file.get_or_init(|| file))),
        };
        file.and_then(|file| {
            let stream = Box::new(FromOffset { file: Arc::clone(file), offset });
            classify_read(PackEntry::read(stream, offset), &self.path)
        })
    }

    /// Resolves the deltas of an object and verifies its id.
    fn verified(&self, id: Oid, chain: Chain) -> Result<Found<(Kind, Arc<Vec<u8>>)>> {
        Ok(self.resolve(chain)?.then(|(kind, bytes)| {
            let verified = verify_id(id, Some(id_of(kind, &bytes)), kind);
            verified.then(|kind| Found::Intact((kind, bytes)))
        }))
    }

    fn resolve(&self, chain: Chain) -> Result<Found<(Kind, Arc<Vec<u8>>)>> {
        let Chain { kind, base_offset, base, deltas } = chain;
        let base = match base {
            Base::Cached(bytes) => Found::Intact(bytes),
            Base::Stored(entry) => classify_read(entry.read_all(), &self.path)?
                .then(|bytes| Found::Intact(self.cache(base_offset, kind, bytes))),
        };
        Ok(base.then(|mut bytes| {
            for (offset, delta) in deltas.iter().rev() {
                match delta::apply(&bytes, delta) {
                    Some(resolved) => bytes = self.cache(*offset, kind, resolved),
                    None => return Found::Damaged(TRUNCATED),
                }
            }
            Found::Intact((kind, bytes))
        }))
    }

    /// Caches an object, unless it would take a large part of the cache.
    fn cache(&self, offset: u64, kind: Kind, bytes: Vec<u8>) -> Arc<Vec<u8>> {
        let bytes = Arc::new(bytes);
        if bytes.len() > CACHED_BYTES_MAX / 16 {
            return bytes;
        }
        let mut cache = self.cache.lock();
        if cache.bytes + bytes.len() > CACHED_BYTES_MAX {
            *cache = Cache::default();
        }
        cache.bytes += bytes.len();
        cache.objects.insert(offset, (kind, Arc::clone(&bytes)));
        bytes
    }
}

impl Chain {
    /// The stated size of the object in bytes.
    fn bytes(&self) -> Option<u64> {
        match (self.deltas.first(), &self.base) {
            (Some((_, delta)), _) => delta::result_size(delta),
            (None, Base::Stored(entry)) => Some(entry.bytes),
            (None, Base::Cached(bytes)) => Some(bytes.len() as u64),
        }
    }
}

impl PackEntry {
    fn read(stream: Stream, offset: u64) -> io::Result<Self> {
        let mut stream = BufReader::with_capacity(STEP_BYTES, stream);
        let mut byte = read_byte(&mut stream)?;
        let number = byte >> 4 & 7;
        let mut bytes = u64::from(byte & 0x0f);
        let mut shift = 4;
        let mut header_bytes = 1;
        while byte & 0x80 > 0 {
            header_bytes += 1;
            byte = read_byte(&mut stream)?;
            bytes |= delta::varint_bits(byte, shift).ok_or(ErrorKind::InvalidData)?;
            shift += 7;
        }
        let form = match number {
            6 => {
                let (distance, length) = read_base_distance(&mut stream)?;
                header_bytes += length;
                let base_offset = distance.and_then(|distance| offset.checked_sub(distance));
                Form::OffsetDelta(base_offset.ok_or(ErrorKind::InvalidData)?)
            }
            7 => {
                let mut id = [0; 20];
                stream.read_exact(&mut id)?;
                header_bytes += id.len() as u64;
                Form::RefDelta(Oid(id))
            }
            _ => Form::Full(Kind::of_number(number).ok_or(ErrorKind::InvalidData)?),
        };
        Ok(PackEntry { form, bytes, header_bytes, inflated: Box::new(ZlibDecoder::new(stream)) })
    }

    /// Reads all bytes. Memory is allocated for the bytes read, not for the stated size.
    fn read_all(self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.inflated.take(self.bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        let is_complete = bytes.len() as u64 == self.bytes;
        if is_complete { Ok(bytes) } else { Err(ErrorKind::InvalidData.into()) }
    }
}

fn read_byte(stream: &mut impl BufRead) -> io::Result<u8> {
    let mut byte = [0];
    stream.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// Reads the distance from a delta back to its base object, which is never 0; also returns how many
/// bytes the distance takes in the pack.
fn read_base_distance(stream: &mut impl BufRead) -> io::Result<(Option<u64>, u64)> {
    let mut byte = read_byte(stream)?;
    let mut distance = u64::from(byte & 0x7f);
    let mut length = 1;
    while byte & 0x80 > 0 {
        byte = read_byte(stream)?;
        length += 1;
        match (distance + 1).checked_mul(0x80) {
            Some(shifted) => distance = shifted | u64::from(byte & 0x7f),
            None => return Ok((None, length)),
        }
    }
    Ok((Some(distance).filter(|distance| *distance > 0), length))
}

#[cfg(test)]
mod tests;
