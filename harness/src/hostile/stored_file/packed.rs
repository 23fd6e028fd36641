//! Objects of the starting state: reads its loose objects, and writes them as a pack with its index, as git
//! would.

use super::super::memory_disk::Tree;
use super::super::{BASE, hexadecimal};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use sha1::{Digest, Sha1};
use std::io::{Read, Write};
use std::path::Path;

/// An object of the store.
pub struct Object {
    id: String,
    kind: String,
    pub content: Vec<u8>,
}

/// Every loose object, by id.
fn objects(tree: &Tree) -> Vec<Object> {
    let folder = Path::new(BASE).join("store/objects");
    let files = tree.iter().filter_map(|(key, node)| {
        let id = key.path().strip_prefix(&folder).ok()?.to_str()?.replace('/', "");
        (id.len() == 40).then_some((id, node))
    });
    files
        .filter_map(|(id, node)| {
            let mut object = Vec::new();
            ZlibDecoder::new(&node.content[..]).read_to_end(&mut object).ok()?;
            let end = object.iter().position(|byte| *byte == 0)?;
            let kind = String::from_utf8_lossy(&object[..end]).split(' ').next()?.to_owned();
            Some(Object { id, kind, content: object.split_off(end + 1) })
        })
        .collect()
}

/// The loose object with this id.
pub fn object(tree: &Tree, id: &str) -> Option<Object> {
    objects(tree).into_iter().find(|object| object.id == id)
}

/// The content of the root tree of a commit.
pub fn root_tree(tree: &Tree, commit: &str) -> Option<Vec<u8>> {
    let commit = String::from_utf8(object(tree, commit)?.content).ok()?;
    let id = commit.lines().find_map(|line| line.strip_prefix("tree "))?;
    Some(object(tree, id)?.content)
}

/// The text of an envelope.
pub fn envelope(tree: &Tree) -> Option<Vec<u8>> {
    let is_envelope = |object: &Object| {
        object.kind == "blob" && String::from_utf8_lossy(&object.content).contains("\"taken_at\"")
    };
    objects(tree).into_iter().find(is_envelope).map(|object| object.content)
}

/// A pack with every loose object, and its index.
pub fn pack(tree: &Tree) -> (Vec<u8>, Vec<u8>) {
    let objects = objects(tree);
    let mut pack = [&b"PACK\0\0\0\x02"[..], &(objects.len() as u32).to_be_bytes()].concat();
    let mut entries = Vec::new();
    for object in &objects {
        let offset = pack.len() as u32;
        let entry = entry(object);
        let mut crc = flate2::Crc::new();
        crc.update(&entry);
        entries.push((object.id.clone(), crc.sum(), offset));
        pack.extend(entry);
    }
    let checksum = Sha1::digest(&pack);
    pack.extend_from_slice(&checksum);
    let index = index(&entries, &checksum);
    (pack, index)
}

/// The header of an entry, and its compressed content.
fn entry(object: &Object) -> Vec<u8> {
    let number = match &object.kind[..] {
        "commit" => 1,
        "tree" => 2,
        _ => 3,
    };
    let mut size = object.content.len();
    let mut entry = vec![(number << 4) | (size & 15) as u8];
    size >>= 4;
    while size > 0 {
        *entry.last_mut().expect("a first byte") |= 0x80;
        entry.push((size & 127) as u8);
        size >>= 7;
    }
    let mut encoder = ZlibEncoder::new(entry, Compression::fast());
    let written = encoder.write_all(&object.content).and_then(|()| encoder.finish());
    written.expect("memory takes every byte")
}

/// The index, version 2, of entries sorted by id: id, CRC-32 and offset of each.
fn index(entries: &[(String, u32, u32)], checksum: &[u8]) -> Vec<u8> {
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=255_u8 {
        let is_counted = |entry: &&(String, u32, u32)| entry.0[..2] <= *hexadecimal(&[first]);
        let count = entries.iter().filter(is_counted).count() as u32;
        index.extend(count.to_be_bytes());
    }
    for (id, ..) in entries {
        let bytes = (0..40).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16));
        index.extend(bytes.map(Result::unwrap_or_default));
    }
    for (_, crc, _) in entries {
        index.extend(crc.to_be_bytes());
    }
    for (.., offset) in entries {
        index.extend(offset.to_be_bytes());
    }
    index.extend_from_slice(checksum);
    let own = Sha1::digest(&index);
    index.extend_from_slice(&own);
    index
}
