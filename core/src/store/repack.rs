//! Writes a pack with some of the objects of another pack. Their compressed bytes are copied, and a
//! delta stays a delta if its base object is kept too, so that the kept objects take no more space
//! than before.
//!
//! The new pack is read as a stream, so that only an object whose base object is not kept has to fit
//! in memory.

use crate::disk::Disk;
use crate::error::{Context, Result};
use crate::store::compressor::Compressor;
use crate::store::object::Found;
use crate::store::oid::Oid;
use crate::store::pack::{self, CHECKSUM_BYTES, IndexEntry};
use crate::store::packed::{EntryHeader, Form, Pack};
use flate2::Crc;
use sha1::{Digest, Sha1};
use std::collections::{HashMap, HashSet};
use std::io::{self, Cursor, Read};
use std::vec;

/// An entry of the new pack that is still to be read.
struct PendingEntry {
    id: Oid,
    /// The header before the compressed bytes.
    head: Vec<u8>,
    body: Body,
}

/// The compressed bytes of an object.
enum Body {
    /// They are copied from the source pack.
    Copied { offset: u64, length: u64 },
    /// The object is compressed again, completely.
    Rewritten,
}

/// The new pack, to be read once from start to end.
pub struct Repack<'a> {
    disk: &'a dyn Disk,
    source: &'a Pack,
    pending: vec::IntoIter<PendingEntry>,
    /// The part that is being read.
    current: Box<dyn Read + 'a>,
    /// The object that is being read, and its offset in the new pack.
    current_entry: Option<(Oid, u64)>,
    crc: Crc,
    hash: Sha1,
    written: u64,
    entries: Vec<IndexEntry>,
    checksum: Option<[u8; 20]>,
    compressor: Compressor,
}

impl<'a> Repack<'a> {
    /// A pack with the objects `kept` of `source`, which are intact there.
    ///
    /// # Errors
    /// A disk that fails. `None` if the pack or its index changed since the objects were found there.
    pub fn of(disk: &'a dyn Disk, source: &'a Pack, kept: &HashSet<Oid>) -> Result<Option<Self>> {
        let Some(mut entries) = source.index.entries() else { return Ok(None) };
        entries.sort_unstable_by_key(|(_, offset)| *offset);
        let bytes = disk.stat(&source.path).context("looking at", &source.path)?.size;
        let ends = entries.iter().skip(1).map(|(_, offset)| *offset);
        let ends: Vec<u64> = ends.chain(bytes.checked_sub(CHECKSUM_BYTES)).collect();
        let ids: HashMap<u64, Oid> = entries.iter().map(|(id, offset)| (*offset, *id)).collect();
        let mut pending = Vec::new();
        for ((id, offset), end) in entries.into_iter().zip(ends) {
            if !kept.contains(&id) {
                continue;
            }
            let Found::Intact(header) = source.entry_header(disk, offset)? else {
                return Ok(None);
            };
            let base = match &header.form {
                Form::Full(_) => None,
                Form::OffsetDelta(base_offset) => ids.get(base_offset).copied(),
                Form::RefDelta(base_id) => Some(*base_id),
            };
            let Some(length) = end.checked_sub(header.data_offset) else { return Ok(None) };
            let base = base.filter(|base| kept.contains(base));
            pending.push(PendingEntry::of(id, &header, base, length));
        }
        Ok(Some(Repack {
            disk,
            source,
            current: Box::new(Cursor::new(pack::begin(pending.len()))),
            pending: pending.into_iter(),
            current_entry: None,
            crc: Crc::new(),
            hash: Sha1::new(),
            written: 0,
            entries: Vec::new(),
            checksum: None,
            compressor: Compressor::default(),
        }))
    }

    /// The name of the new pack and the bytes of its index; `None` before it was read to its end.
    pub fn index(mut self) -> Option<(String, Vec<u8>)> {
        let checksum = self.checksum?;
        self.entries.sort_unstable_by_key(|entry| entry.id);
        Some((pack::name_of(&checksum), pack::index(&self.entries, &checksum)))
    }

    /// Advances to the next entry, or to the checksum after them; `false` if the checksum was read.
    fn advance(&mut self) -> io::Result<bool> {
        if let Some((id, offset)) = self.current_entry.take() {
            let crc = std::mem::take(&mut self.crc).sum();
            self.entries.push(IndexEntry { id, crc, offset });
        }
        let Some(PendingEntry { id, head, body }) = self.pending.next() else {
            let checksum = self.checksum.is_none().then(|| self.hash.clone().finalize());
            let Some(checksum) = checksum.map(Into::<[u8; 20]>::into) else { return Ok(false) };
            self.checksum = Some(checksum);
            self.current = Box::new(Cursor::new(checksum.to_vec()));
            return Ok(true);
        };
        self.current_entry = Some((id, self.written));
        self.current = match body {
            Body::Copied { offset, length } => {
                let (stream, _) = self.disk.open_at(&self.source.path, offset)?;
                Box::new(Cursor::new(head).chain(stream.take(length)))
            }
            Body::Rewritten => Box::new(Cursor::new(self.rewrite(id)?)),
        };
        Ok(true)
    }

    /// The entry of an object that is no longer stored as a delta.
    fn rewrite(&mut self, id: Oid) -> io::Result<Vec<u8>> {
        let found = self.source.read(self.disk, id, u64::MAX);
        let Ok(Found::Intact((kind, Some(bytes)))) = found else {
            return Err(io::Error::other(format!("object {id} was damaged during the repack")));
        };
        pack::full_entry(kind, &bytes, &mut self.compressor)
    }
}

impl Read for Repack<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let read = self.current.read(buffer)?;
            if read > 0 {
                // The checksum covers everything before it.
                if self.checksum.is_none() {
                    self.hash.update(&buffer[..read]);
                    self.crc.update(&buffer[..read]);
                }
                self.written += read as u64;
                return Ok(read);
            }
            if self.current_entry.is_none() {
                // The head of the pack belongs to no object.
                self.crc.reset();
            }
            if !self.advance()? {
                return Ok(0);
            }
        }
    }
}

impl PendingEntry {
    /// The entry of an object with that header in the source pack, of `length` compressed bytes. It
    /// stays a delta only if its base object is given.
    fn of(id: Oid, header: &EntryHeader, base: Option<Oid>, length: u64) -> PendingEntry {
        let copied = Body::Copied { offset: header.data_offset, length };
        match (&header.form, base) {
            (Form::Full(kind), _) => {
                PendingEntry { id, head: pack::full_head(*kind, header.bytes), body: copied }
            }
            (_, Some(base)) => {
                PendingEntry { id, head: pack::delta_head(base, header.bytes), body: copied }
            }
            (_, None) => PendingEntry { id, head: Vec::new(), body: Body::Rewritten },
        }
    }
}
