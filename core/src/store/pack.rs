//! Many objects as one pack: two files made durable at once instead of one for each object.
//!
//! The format is git's pack version 2 without deltas, and its index version 2.

use flate2::Crc;
use flate2::write::ZlibEncoder;
use git2::Oid;
use sha1::{Digest, Sha1};
use std::io::{self, Write};

use crate::store::object::Kind;
use crate::store::pack_index::IS_LARGE;

/// The two files of a pack, and the name that both share.
pub struct Pack {
    /// What the files are called, `pack-<name>.pack` and `pack-<name>.idx`.
    pub name: String,
    /// The bytes of the pack.
    pub pack: Vec<u8>,
    /// The bytes of its index.
    pub index: Vec<u8>,
}

/// Where an object is in a pack, for the index.
pub struct Placed {
    /// Its id.
    pub id: Oid,
    /// The checksum of what stands in the pack for it.
    pub crc: u32,
    /// Where that begins, in bytes.
    pub offset: u64,
}

/// Bytes of the checksum that a pack ends with.
pub const CHECKSUM_BYTES: u64 = 20;
/// Offsets from here on do not fit the index's small table.
const LARGE_OFFSET: u64 = 1 << 31;

/// Packs these objects, which are all different.
pub fn pack(objects: &[(Oid, Kind, Vec<u8>)]) -> io::Result<Pack> {
    let mut pack = begin(objects.len());
    let mut placed = Vec::with_capacity(objects.len());
    for (id, kind, bytes) in objects {
        let offset = pack.len();
        write_whole(&mut pack, *kind, bytes)?;
        let mut crc = Crc::new();
        crc.update(&pack[offset..]);
        placed.push(Placed { id: *id, crc: crc.sum(), offset: offset as u64 });
    }
    let checksum = Sha1::digest(&pack);
    pack.extend_from_slice(&checksum);
    placed.sort_unstable_by_key(|object| object.id);
    let index = index(&placed, &checksum);
    Ok(Pack { name: name_of(&checksum), pack, index })
}

/// What a pack of so many objects begins with.
pub fn begin(objects: usize) -> Vec<u8> {
    let mut pack = b"PACK".to_vec();
    pack.extend_from_slice(&2u32.to_be_bytes());
    pack.extend_from_slice(&(objects as u32).to_be_bytes());
    pack
}

/// What a pack that ends with that checksum is called.
pub fn name_of(checksum: &[u8]) -> String {
    checksum.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Appends an object that is made of no other.
pub fn write_whole(pack: &mut Vec<u8>, kind: Kind, bytes: &[u8]) -> io::Result<()> {
    write_header(pack, kind.number(), bytes.len() as u64);
    let mut encoder = ZlibEncoder::new(pack, kind.compression());
    encoder.write_all(bytes)?;
    encoder.finish().map(drop)
}

/// The number of what it is in three bits, the size in four and then seven bits at a time.
pub fn write_header(pack: &mut Vec<u8>, number: u8, size: u64) {
    let mut byte = (number << 4) + (size & 0x0f) as u8;
    let mut rest = size >> 4;
    while rest > 0 {
        pack.push(byte + 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    pack.push(byte);
}

/// The bytes of the index of a pack that ends with that checksum; these are in the order of their ids.
pub fn index(placed: &[Placed], pack_checksum: &[u8]) -> Vec<u8> {
    let mut index = b"\xfftOc".to_vec();
    index.extend_from_slice(&2u32.to_be_bytes());
    for first in 0..=255u8 {
        let up_to = placed.partition_point(|object| object.id.as_bytes()[0] <= first);
        index.extend_from_slice(&(up_to as u32).to_be_bytes());
    }
    placed.iter().for_each(|object| index.extend_from_slice(object.id.as_bytes()));
    placed.iter().for_each(|object| index.extend_from_slice(&object.crc.to_be_bytes()));
    let mut large: Vec<u8> = Vec::new();
    for object in placed {
        let small = if object.offset < LARGE_OFFSET {
            object.offset as u32
        } else {
            let place = (large.len() / 8) as u32;
            large.extend_from_slice(&object.offset.to_be_bytes());
            place + IS_LARGE
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
    fn offsets_that_are_too_large_for_the_index_have_a_table_of_their_own() {
        let offsets = [12, LARGE_OFFSET - 1, LARGE_OFFSET, 5 << 32, u64::from(u32::MAX)];
        let placed = offsets.iter().zip(1u8..).map(|(offset, first)| {
            let id = Oid::from_bytes(&[first; 20]).unwrap();
            Placed { id, crc: 0, offset: *offset }
        });
        let placed: Vec<Placed> = placed.collect();
        let index = PackIndex::of(index(&placed, &[0; 20])).unwrap();
        let found = index.entries().unwrap();
        assert!(found.iter().map(|(_, offset)| offset).eq(&offsets));
        assert!(found.iter().map(|(id, _)| id).eq(placed.iter().map(|object| &object.id)));
    }
    #[test]
    fn an_index_is_read_as_it_was_written_and_none_that_is_cut() {
        let object = |text: String| {
            let bytes = text.into_bytes();
            (id_of(Kind::Blob, &bytes).unwrap(), Kind::Blob, bytes)
        };
        let objects: Vec<_> = (0..100).map(|number| object(format!("{number}"))).collect();
        let packed = pack(&objects).unwrap();
        let index = PackIndex::of(packed.index.clone()).unwrap();
        let found = index.entries().unwrap();
        assert_eq!(found.len(), 100);
        assert_eq!(found.iter().map(|(_, offset)| *offset).min(), Some(12));
        for (id, ..) in &objects {
            let place = found.iter().find(|(one, _)| one == id).unwrap();
            assert_eq!(index.offset(*id), Some(place.1));
        }
        assert_eq!(index.offset(Oid::ZERO_SHA1), None);
        for length in 0..packed.index.len() {
            assert!(PackIndex::of(packed.index[..length].to_vec()).is_none(), "{length}");
        }
    }
}
