//! Writes many objects as one pack: two files to make durable instead of one for each object.
//!
//! The format is git's pack version 2, with an index of version 2.

use crate::disk::parallel;
use crate::store::compressor::Compressor;
use crate::store::object::Kind;
use crate::store::oid::Oid;
use crate::store::pack_index::IS_LARGE;
use flate2::Crc;
use rayon::prelude::*;
use sha1::{Digest, Sha1};
use std::io;

/// The contents of the two files of a pack, and the name that both share.
pub struct Pack {
    /// The files are named `pack-<name>.pack` and `pack-<name>.idx`.
    pub name: String,
    /// The bytes of the pack.
    pub pack: Vec<u8>,
    /// The bytes of its index.
    pub index: Vec<u8>,
}

/// The entry of an object in the index of a pack.
pub struct IndexEntry {
    /// The id of the object.
    pub id: Oid,
    /// The checksum of its compressed entry in the pack.
    pub crc: u32,
    /// The offset of that entry in the pack, in bytes.
    pub offset: u64,
}

/// The length of the checksum at the end of a pack, in bytes.
pub const CHECKSUM_BYTES: u64 = 20;
/// Git's number in a pack for a delta that names its base object by id.
const REF_DELTA: u8 = 7;
/// With fewer objects for each, other threads would come too late to help.
const SHARE_MIN: usize = 256;
/// The smallest offset that does not fit in the small table of the index.
const LARGE_OFFSET: u64 = 1 << 31;

/// An object as an entry of a pack.
pub struct EncodedObject {
    /// The id of the object.
    pub id: Oid,
    crc: u32,
    /// The entry.
    pub entry: Vec<u8>,
}

impl EncodedObject {
    /// The object of that entry.
    pub fn new(id: Oid, entry: Vec<u8>) -> Self {
        let mut crc = Crc::new();
        crc.update(&entry);
        EncodedObject { id, crc: crc.sum(), entry }
    }
}

/// Packs these objects, whose ids must be distinct.
pub fn pack(objects: &[(Oid, Kind, Vec<u8>)]) -> io::Result<Pack> {
    let encode = |compressor: &mut Compressor, (id, kind, bytes): &(Oid, Kind, Vec<u8>)| {
        full_entry(*kind, bytes, compressor).map(|entry| EncodedObject::new(*id, entry))
    };
    let encoded: io::Result<Vec<_>> = if parallel::has_threads() {
        let shares = objects.par_iter().with_min_len(SHARE_MIN);
        shares.map_init(Compressor::default, encode).collect()
    } else {
        let mut compressor = Compressor::default();
        objects.iter().map(|object| encode(&mut compressor, object)).collect()
    };
    Ok(of_encoded(encoded?))
}

/// The pack with these distinct objects, among which the base object of each delta is.
pub fn of_encoded(objects: Vec<EncodedObject>) -> Pack {
    let mut pack = begin(objects.len());
    let mut entries = Vec::with_capacity(objects.len());
    for EncodedObject { id, crc, entry } in objects {
        entries.push(IndexEntry { id, crc, offset: pack.len() as u64 });
        pack.extend(entry);
    }
    let checksum = Sha1::digest(&pack);
    pack.extend_from_slice(&checksum);
    entries.sort_unstable_by_key(|entry| entry.id);
    let index = index(&entries, &checksum);
    Pack { name: name_of(&checksum), pack, index }
}

/// The head of a pack with that number of objects.
pub fn begin(objects: usize) -> Vec<u8> {
    let mut pack = b"PACK".to_vec();
    pack.extend_from_slice(&2u32.to_be_bytes());
    pack.extend_from_slice(&(objects as u32).to_be_bytes());
    pack
}

/// The name of a pack that ends with that checksum.
pub fn name_of(checksum: &[u8]) -> String {
    checksum.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The entry of an object that is stored completely.
pub fn full_entry(kind: Kind, bytes: &[u8], compressor: &mut Compressor) -> io::Result<Vec<u8>> {
    let mut entry = full_head(kind, bytes.len() as u64);
    entry.extend(compressor.stream(kind, &[bytes])?);
    Ok(entry)
}

/// The beginning of such an entry, before the compressed object of so many bytes.
pub fn full_head(kind: Kind, bytes: u64) -> Vec<u8> {
    let mut head = Vec::new();
    write_header(&mut head, kind.number(), bytes);
    head
}

/// The entry of a blob that is stored as a delta against an object of the same pack.
pub fn delta_entry(base: Oid, delta: &[u8], compressor: &mut Compressor) -> io::Result<Vec<u8>> {
    let mut entry = delta_head(base, delta.len() as u64);
    entry.extend(compressor.stream(Kind::Blob, &[delta])?);
    Ok(entry)
}

/// The beginning of such an entry, before the compressed delta of so many bytes.
pub fn delta_head(base: Oid, delta_bytes: u64) -> Vec<u8> {
    let mut head = Vec::new();
    write_header(&mut head, REF_DELTA, delta_bytes);
    head.extend_from_slice(base.as_bytes());
    head
}

/// Writes the header of an entry: three bits for the number of the kind or form, four bits of the
/// size, and then its other bits, seven at a time.
fn write_header(pack: &mut Vec<u8>, number: u8, size: u64) {
    let mut byte = (number << 4) + (size & 0x0f) as u8;
    let mut rest = size >> 4;
    while rest > 0 {
        pack.push(byte + 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    pack.push(byte);
}

/// The bytes of the index of a pack that ends with that checksum. The entries are sorted by id.
pub fn index(entries: &[IndexEntry], pack_checksum: &[u8]) -> Vec<u8> {
    let mut index = b"\xfftOc".to_vec();
    index.extend_from_slice(&2u32.to_be_bytes());
    for first in 0..=255u8 {
        let up_to = entries.partition_point(|entry| entry.id.as_bytes()[0] <= first);
        index.extend_from_slice(&(up_to as u32).to_be_bytes());
    }
    entries.iter().for_each(|entry| index.extend_from_slice(entry.id.as_bytes()));
    entries.iter().for_each(|entry| index.extend_from_slice(&entry.crc.to_be_bytes()));
    let mut large: Vec<u8> = Vec::new();
    for entry in entries {
        let small = if entry.offset < LARGE_OFFSET {
            entry.offset as u32
        } else {
            let position = (large.len() / 8) as u32;
            large.extend_from_slice(&entry.offset.to_be_bytes());
            position + IS_LARGE
        };
        index.extend_from_slice(&small.to_be_bytes());
    }
    index.extend_from_slice(&large);
    index.extend_from_slice(pack_checksum);
    let checksum = Sha1::digest(&index);
    index.extend_from_slice(&checksum);
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::object::id_of;
    use crate::store::pack_index::PackIndex;

    #[test]
    fn index_writes_large_offsets_to_a_table_of_their_own() {
        let offsets = [12, LARGE_OFFSET - 1, LARGE_OFFSET, 5 << 32, u64::from(u32::MAX)];
        let entries = offsets.iter().zip(1u8..).map(|(offset, first)| {
            let id = Oid([first; 20]);
            IndexEntry { id, crc: 0, offset: *offset }
        });
        let entries: Vec<IndexEntry> = entries.collect();
        let index = PackIndex::of(index(&entries, &[0; 20])).unwrap();
        let found = index.entries().unwrap();
        assert!(found.iter().map(|(_, offset)| offset).eq(&offsets));
        assert!(found.iter().map(|(id, _)| id).eq(entries.iter().map(|entry| &entry.id)));
    }
    #[test]
    fn pack_index_reads_what_pack_wrote_and_refuses_a_truncated_index() {
        let object = |text: String| {
            let bytes = text.into_bytes();
            (id_of(Kind::Blob, &bytes), Kind::Blob, bytes)
        };
        let objects: Vec<_> = (0..100).map(|number| object(format!("{number}"))).collect();
        let packed = pack(&objects).unwrap();
        let index = PackIndex::of(packed.index.clone()).unwrap();
        let found = index.entries().unwrap();
        assert_eq!(found.len(), 100);
        assert_eq!(found.iter().map(|(_, offset)| *offset).min(), Some(12));
        for (id, ..) in &objects {
            let (_, offset) = found.iter().find(|(found_id, _)| found_id == id).unwrap();
            assert_eq!(index.offset(*id), Some(*offset));
        }
        assert_eq!(index.offset(Oid::ZERO), None);
        for length in 0..packed.index.len() {
            assert!(PackIndex::of(packed.index[..length].to_vec()).is_none(), "{length}");
        }
    }
}
