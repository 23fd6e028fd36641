//! A pack with some of the objects of another one, each as it is stored there: what is compressed stays
//! so, and what is made of another object stays that, while that one stays too. So what is left of a
//! pack takes no more space than before.
//!
//! It is read as a stream, so that no object has to fit into memory but those that are made of one that
//! goes.

use crate::disk::Disk;
use crate::error::{Context, Result};
use crate::store::object::Found;
use crate::store::pack::{self, CHECKSUM_BYTES, Placed, write_header};
use crate::store::packed::{Form, Pack, Place};
use flate2::Crc;
use git2::Oid;
use sha1::{Digest, Sha1};
use std::collections::{HashMap, HashSet};
use std::io::{self, Cursor, Read};
use std::vec;

/// Git's number in a pack for what is made of an object that is named.
const CHANGE_OF_NAMED: u8 = 7;

/// One object on its way.
struct Due {
    id: Oid,
    /// What stands before its compressed bytes.
    head: Vec<u8>,
    body: Body,
}

/// The compressed bytes of an object.
enum Body {
    /// So many from there on in the other pack.
    Copied(u64, u64),
    /// They are made anew.
    Anew,
}

/// The new pack, to be read once from its begin to its end.
pub struct Repack<'a> {
    disk: &'a dyn Disk,
    from: &'a Pack,
    due: vec::IntoIter<Due>,
    /// What is being read.
    now: Box<dyn Read + 'a>,
    /// The object that it is, and where it begins.
    open: Option<(Oid, u64)>,
    crc: Crc,
    hash: Sha1,
    written: u64,
    placed: Vec<Placed>,
    checksum: Option<[u8; 20]>,
}

impl<'a> Repack<'a> {
    /// The objects of `from` that stay, which are whole there.
    ///
    /// # Errors
    /// A disk that fails. None where the pack or its index is not what the objects were found in.
    pub fn of(disk: &'a dyn Disk, from: &'a Pack, stays: &HashSet<Oid>) -> Result<Option<Self>> {
        let Some(mut all) = from.index.entries() else { return Ok(None) };
        all.sort_unstable_by_key(|(_, offset)| *offset);
        let bytes = disk.stat(&from.path).context("looking at", &from.path)?.size;
        let ends = all.iter().skip(1).map(|(_, offset)| *offset);
        let ends: Vec<u64> = ends.chain(bytes.checked_sub(CHECKSUM_BYTES)).collect();
        let ids: HashMap<u64, Oid> = all.iter().map(|(id, offset)| (*offset, *id)).collect();
        let mut due = Vec::new();
        for ((id, offset), end) in all.into_iter().zip(ends) {
            if !stays.contains(&id) {
                continue;
            }
            let Found::Whole(place) = from.place(disk, offset)? else { return Ok(None) };
            let base = match &place.form {
                Form::Whole(_) => None,
                Form::ChangeOf(base) => ids.get(base).copied(),
                Form::ChangeOfNamed(base) => Some(*base),
            };
            let Some(length) = end.checked_sub(place.begins) else { return Ok(None) };
            due.push(Due::of(id, &place, base.filter(|base| stays.contains(base)), length));
        }
        Ok(Some(Repack {
            disk,
            from,
            now: Box::new(Cursor::new(pack::begin(due.len()))),
            due: due.into_iter(),
            open: None,
            crc: Crc::new(),
            hash: Sha1::new(),
            written: 0,
            placed: Vec::new(),
            checksum: None,
        }))
    }

    /// What the new pack is called, and the bytes of its index; none before it was read to its end.
    pub fn index(mut self) -> Option<(String, Vec<u8>)> {
        let checksum = self.checksum?;
        self.placed.sort_unstable_by_key(|object| object.id);
        Some((pack::name_of(&checksum), pack::index(&self.placed, &checksum)))
    }

    /// Goes on to the next object, or to the checksum behind them; false where that was read.
    fn go_on(&mut self) -> io::Result<bool> {
        if let Some((id, offset)) = self.open.take() {
            let crc = std::mem::take(&mut self.crc).sum();
            self.placed.push(Placed { id, crc, offset });
        }
        let Some(Due { id, head, body }) = self.due.next() else {
            let checksum = self.checksum.is_none().then(|| self.hash.clone().finalize());
            let Some(checksum) = checksum.map(Into::<[u8; 20]>::into) else { return Ok(false) };
            self.checksum = Some(checksum);
            self.now = Box::new(Cursor::new(checksum.to_vec()));
            return Ok(true);
        };
        self.open = Some((id, self.written));
        self.now = match body {
            Body::Copied(begins, length) => {
                let (stream, _) = self.disk.open_at(&self.from.path, begins)?;
                Box::new(Cursor::new(head).chain(stream.take(length)))
            }
            Body::Anew => Box::new(Cursor::new(self.anew(id)?)),
        };
        Ok(true)
    }

    /// An object that stands for itself from now on.
    fn anew(&self, id: Oid) -> io::Result<Vec<u8>> {
        let found = self.from.read(self.disk, id, u64::MAX);
        let Ok(Found::Whole((kind, Some(bytes)))) = found else {
            return Err(io::Error::other(format!("{id} was whole, and is not any more")));
        };
        let mut anew = Vec::new();
        pack::write_whole(&mut anew, kind, &bytes)?;
        Ok(anew)
    }
}

impl Read for Repack<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let read = self.now.read(buffer)?;
            if read > 0 {
                // The checksum is of all that stands before it.
                if self.checksum.is_none() {
                    self.hash.update(&buffer[..read]);
                    self.crc.update(&buffer[..read]);
                }
                self.written += read as u64;
                return Ok(read);
            }
            if self.open.is_none() {
                // What the head of the pack added is of no object.
                self.crc.reset();
            }
            if !self.go_on()? {
                return Ok(0);
            }
        }
    }
}

impl Due {
    /// An object at that place, which is made of `base` if that stays; `length` compressed bytes.
    fn of(id: Oid, place: &Place, base: Option<Oid>, length: u64) -> Due {
        let mut head = Vec::new();
        let copied = Body::Copied(place.begins, length);
        match (&place.form, base) {
            (Form::Whole(kind), _) => write_header(&mut head, kind.number(), place.bytes),
            (_, Some(base)) => {
                write_header(&mut head, CHANGE_OF_NAMED, place.bytes);
                head.extend_from_slice(base.as_bytes());
            }
            (_, None) => return Due { id, head, body: Body::Anew },
        }
        Due { id, head, body: copied }
    }
}
