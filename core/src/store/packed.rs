//! Reading an object at its place in a pack, as git's format of packs, version 2, has it: as it is,
//! or as what was changed in another one of the same pack.
//!
//! Own code and not libgit2's, which believes what the index of a pack says: one wrong byte there
//! ends the process.

use crate::disk::{Disk, Stream};
use crate::error::Result;
use crate::store::delta;
use crate::store::mark::Mark;
use crate::store::object::{CUT, Found, Kind, Named, id_of, is_that, judged, open_at};
use crate::store::pack_index::PackIndex;
use flate2::bufread::ZlibDecoder;
use git2::Oid;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::PathBuf;
use std::rc::Rc;

/// Git makes no longer chains of objects that are each made of the next.
const CHAIN_MAX: usize = 4095;
/// Most objects are read in one step of so many bytes.
const STEP_BYTES: usize = 4096;

/// Others are mostly made of what was read just before; so many bytes of that are kept in memory.
const KEPT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A pack, and what its index says of it.
pub struct Pack {
    /// Its file.
    pub path: PathBuf,
    /// What it holds and where.
    pub index: PackIndex,
    /// What the file system said of it and its index before anything was read of them.
    pub mark: Mark,
    kept: RefCell<Kept>,
}

/// What was read last.
#[derive(Default)]
struct Kept {
    /// By offset.
    objects: HashMap<u64, (Kind, Rc<Vec<u8>>)>,
    bytes: usize,
}

/// What an object in a pack is made of.
pub enum Form {
    /// All its bytes.
    Whole(Kind),
    /// What is to be changed in the object at that offset.
    ChangeOf(u64),
    /// What is to be changed in that object.
    ChangeOfNamed(Oid),
}

/// What a pack says of what stands at an offset of it.
pub struct Place {
    /// What the object is made of.
    pub form: Form,
    /// How many bytes it says it has, or the change of another one.
    pub bytes: u64,
    /// Where its compressed bytes begin.
    pub begins: u64,
}

/// What stands at an offset of a pack.
struct Entry {
    form: Form,
    /// How many bytes it says it has.
    bytes: u64,
    /// How many stand before its compressed bytes.
    head: u64,
    inflated: ZlibDecoder<BufReader<Stream>>,
}

/// The end of a chain, and what is to be changed in it, the last change first, each with the offset
/// that it was read at.
struct Chain {
    kind: Kind,
    offset: u64,
    end: End,
    changes: Vec<(u64, Vec<u8>)>,
}

/// An object that is made of no other.
enum End {
    /// It is to be read.
    Stored(Entry),
    /// It was read before.
    Kept(Rc<Vec<u8>>),
}

impl Pack {
    /// A pack with that index and mark.
    pub fn new(path: PathBuf, index: PackIndex, mark: Mark) -> Self {
        Pack { path, index, mark, kept: RefCell::default() }
    }

    /// The kind and bytes of an object, which are those that its id stands for; only its kind where it
    /// says that it has more bytes than `most`, and then nothing else is known of it.
    ///
    /// # Errors
    /// A disk that fails; then nothing is known of the object.
    // rule: maintenance/damage
    pub fn read(
        &self,
        disk: &dyn Disk,
        id: Oid,
        most: u64,
    ) -> Result<Found<(Kind, Option<Vec<u8>>)>> {
        self.chain(disk, id)?.and_then(|chain| match chain.bytes() {
            None => Ok(Found::Damaged(CUT)),
            Some(bytes) if bytes > most => Ok(Found::Whole((chain.kind, None))),
            Some(_) => Ok(self
                .whole(id, chain)?
                .then(|(kind, bytes)| Found::Whole((kind, Some(Rc::unwrap_or_clone(bytes)))))),
        })
    }

    /// The kind of an object, all of whose bytes are looked at; where it is stored as it is, however
    /// many they are.
    ///
    /// # Errors
    /// As [`Pack::read`].
    // rule: cost/memory
    pub fn check(&self, disk: &dyn Disk, id: Oid) -> Result<Found<Kind>> {
        self.chain(disk, id)?.and_then(|chain| match chain {
            Chain { kind, end: End::Stored(entry), changes, .. } if changes.is_empty() => {
                let read = Named::new(kind, entry.bytes, entry.inflated).copy(|_| {});
                Ok(judged(read, &self.path)?.then(|found| is_that(id, found, kind)))
            }
            chain => Ok(self.whole(id, chain)?.then(|(kind, _)| Found::Whole(kind))),
        })
    }

    /// What kind of object that is and how many bytes it says it has.
    ///
    /// # Errors
    /// As [`Pack::read`].
    pub fn header(&self, disk: &dyn Disk, id: Oid) -> Result<Found<(Kind, u64)>> {
        Ok(self.chain(disk, id)?.then(|chain| match chain.bytes() {
            Some(bytes) => Found::Whole((chain.kind, bytes)),
            None => Found::Damaged(CUT),
        }))
    }

    /// The bytes of an object, one after the other. Whether they are those of its id is not looked at.
    ///
    /// # Errors
    /// As [`Pack::read`].
    // rule: cost/memory
    pub fn stream(&self, disk: &dyn Disk, id: Oid) -> Result<Found<Stream>> {
        self.chain(disk, id)?.and_then(|chain| match chain {
            Chain { end: End::Stored(entry), changes, .. } if changes.is_empty() => {
                Ok(Found::Whole(Box::new(entry.inflated) as Stream))
            }
            chain => Ok(self.resolve(chain)?.then(|(_, bytes)| {
                Found::Whole(Box::new(Cursor::new(Rc::unwrap_or_clone(bytes))) as Stream)
            })),
        })
    }

    /// What the pack says of what stands at that offset.
    ///
    /// # Errors
    /// As [`Pack::read`].
    pub fn place(&self, disk: &dyn Disk, offset: u64) -> Result<Found<Place>> {
        Ok(self.entry(disk, offset)?.then(|Entry { form, bytes, head, .. }| {
            Found::Whole(Place { form, bytes, begins: offset + head })
        }))
    }

    /// What an object is made of.
    fn chain(&self, disk: &dyn Disk, id: Oid) -> Result<Found<Chain>> {
        let Some(mut offset) = self.index.offset(id) else {
            return Ok(Found::Absent);
        };
        let mut changes = Vec::new();
        while changes.len() <= CHAIN_MAX {
            if let Some((kind, bytes)) = self.kept.borrow().objects.get(&offset) {
                let (kind, end) = (*kind, End::Kept(Rc::clone(bytes)));
                return Ok(Found::Whole(Chain { kind, offset, end, changes }));
            }
            let entry = match self.entry(disk, offset)? {
                Found::Whole(entry) => entry,
                other => return Ok(other.then(|_| Found::Damaged(CUT))),
            };
            let base = match entry.form {
                Form::Whole(kind) => {
                    let end = End::Stored(entry);
                    return Ok(Found::Whole(Chain { kind, offset, end, changes }));
                }
                Form::ChangeOf(base) => Some(base),
                Form::ChangeOfNamed(base) => self.index.offset(base),
            };
            match (base, judged(entry.all(), &self.path)?) {
                (Some(base), Found::Whole(change)) => {
                    changes.push((offset, change));
                    offset = base;
                }
                _ => return Ok(Found::Damaged(CUT)),
            }
        }
        Ok(Found::Damaged("is made of too many others"))
    }

    fn entry(&self, disk: &dyn Disk, offset: u64) -> Result<Found<Entry>> {
        open_at(disk, &self.path, offset)?
            .and_then(|stream| judged(Entry::read(stream, offset), &self.path))
    }

    /// The object, if its bytes are those of its id.
    fn whole(&self, id: Oid, chain: Chain) -> Result<Found<(Kind, Rc<Vec<u8>>)>> {
        self.resolve(chain)?.and_then(|(kind, bytes)| {
            let is = is_that(id, Some(id_of(kind, &bytes)?), kind);
            Ok(is.then(|kind| Found::Whole((kind, bytes))))
        })
    }

    fn resolve(&self, chain: Chain) -> Result<Found<(Kind, Rc<Vec<u8>>)>> {
        let Chain { kind, offset, end, changes } = chain;
        let end = match end {
            End::Kept(bytes) => Found::Whole(bytes),
            End::Stored(entry) => judged(entry.all(), &self.path)?
                .then(|bytes| Found::Whole(self.keep(offset, kind, bytes))),
        };
        Ok(end.then(|mut bytes| {
            for (offset, change) in changes.iter().rev() {
                match delta::changed(&bytes, change) {
                    Some(next) => bytes = self.keep(*offset, kind, next),
                    None => return Found::Damaged(CUT),
                }
            }
            Found::Whole((kind, bytes))
        }))
    }

    /// Keeps an object, unless that takes a large part of what may be kept.
    fn keep(&self, offset: u64, kind: Kind, bytes: Vec<u8>) -> Rc<Vec<u8>> {
        let bytes = Rc::new(bytes);
        if bytes.len() > KEPT_BYTES_MAX / 16 {
            return bytes;
        }
        let mut kept = self.kept.borrow_mut();
        if kept.bytes + bytes.len() > KEPT_BYTES_MAX {
            *kept = Kept::default();
        }
        kept.bytes += bytes.len();
        kept.objects.insert(offset, (kind, Rc::clone(&bytes)));
        bytes
    }
}

impl Chain {
    /// How many bytes it says that the object has.
    fn bytes(&self) -> Option<u64> {
        match (self.changes.first(), &self.end) {
            (Some((_, change)), _) => delta::size_after(change),
            (None, End::Stored(entry)) => Some(entry.bytes),
            (None, End::Kept(bytes)) => Some(bytes.len() as u64),
        }
    }
}

impl Entry {
    fn read(stream: Stream, offset: u64) -> io::Result<Self> {
        let mut stream = BufReader::with_capacity(STEP_BYTES, stream);
        let mut byte = next(&mut stream)?;
        let number = byte >> 4 & 7;
        let (mut bytes, mut shift, mut head) = (u64::from(byte & 0x0f), 4, 1);
        while byte & 0x80 > 0 {
            head += 1;
            byte = next(&mut stream)?;
            bytes |= delta::shifted(byte, shift).ok_or(ErrorKind::InvalidData)?;
            shift += 7;
        }
        let form = match number {
            6 => {
                let (far, length) = distance(&mut stream)?;
                head += length;
                let base = far.and_then(|far| offset.checked_sub(far));
                Form::ChangeOf(base.ok_or(ErrorKind::InvalidData)?)
            }
            7 => {
                let mut id = [0; 20];
                stream.read_exact(&mut id)?;
                head += id.len() as u64;
                Form::ChangeOfNamed(Oid::from_bytes(&id).map_err(|_| ErrorKind::InvalidData)?)
            }
            _ => Form::Whole(Kind::of_number(number).ok_or(ErrorKind::InvalidData)?),
        };
        Ok(Entry { form, bytes, head, inflated: ZlibDecoder::new(stream) })
    }

    /// All its bytes, for which no more memory is taken than there are.
    fn all(self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        self.inflated.take(self.bytes.saturating_add(1)).read_to_end(&mut all)?;
        if all.len() as u64 == self.bytes { Ok(all) } else { Err(ErrorKind::InvalidData.into()) }
    }
}

fn next(stream: &mut impl BufRead) -> io::Result<u8> {
    let mut byte = [0];
    stream.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// How far before an object the one is that it is made of, which is never nothing; and in how many
/// bytes that is said.
fn distance(stream: &mut impl BufRead) -> io::Result<(Option<u64>, u64)> {
    let mut byte = next(stream)?;
    let (mut far, mut length) = (u64::from(byte & 0x7f), 1);
    while byte & 0x80 > 0 {
        byte = next(stream)?;
        length += 1;
        match (far + 1).checked_mul(0x80) {
            Some(more) => far = more | u64::from(byte & 0x7f),
            None => return Ok((None, length)),
        }
    }
    Ok((Some(far).filter(|far| *far > 0), length))
}

#[cfg(test)]
mod tests;
