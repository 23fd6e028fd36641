//! Stores objects as a pack in which they are differences from each other.

use super::Objects;
use crate::error::{Context, Result};
use crate::store::compressor::Compressor;
use crate::store::delta;
use crate::store::object::Kind;
use crate::store::oid::Oid;
use crate::store::pack::{EncodedObject, delta_entry, full_entry};
use std::collections::HashSet;
use std::io;

/// A pack is stored before it takes more memory than this, in bytes.
const PACK_BYTES_MAX: usize = 32 * 1024 * 1024;

/// A version of a file.
pub struct FileVersion {
    /// The blob.
    pub id: Oid,
    /// The bytes that it takes on the disk now.
    pub bytes: u64,
    /// The next newer version, if it is to be stored as differences from that.
    pub base: Option<Oid>,
}

impl Objects<'_> {
    /// Stores blobs again, as packs with differences, and returns those that are durable there. Each is given after
    /// the version that it is based on. One that shares too little with any other is not stored again.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn fold(&mut self, mut versions: &[FileVersion]) -> Result<Vec<Oid>> {
        let mut folded = Vec::new();
        while !versions.is_empty() {
            let mut pack = FoldedPack::default();
            while let Some((version, others)) = versions.split_first()
                && pack.bytes < PACK_BYTES_MAX
            {
                pack.add(self, version)?;
                versions = others;
            }
            if !pack.objects.is_empty() && self.store_encoded(pack.objects)? {
                folded.extend(pack.ids);
            }
        }
        Ok(folded)
    }
}

/// The objects of a pack.
#[derive(Default)]
struct FoldedPack {
    objects: Vec<EncodedObject>,
    ids: HashSet<Oid>,
    bytes: usize,
    compressor: Compressor,
    /// The version that was added last, which the next one is mostly based on.
    last: Option<(Oid, Vec<u8>)>,
}

impl FoldedPack {
    /// Adds a version, if it is intact and not much of it differs from its base.
    fn add(&mut self, objects: &Objects<'_>, version: &FileVersion) -> Result<()> {
        let read = |id| match objects.read(Kind::Blob, id) {
            Err(error) if error.is_damage() => Ok(None),
            bytes => bytes.map(|bytes| Some((id, bytes))),
        };
        let last = self.last.take();
        let Some((id, bytes)) = read(version.id)? else { return Ok(()) };
        let base = match last {
            Some((last, bytes)) if version.base == Some(last) => Some((last, bytes)),
            _ => version.base.filter(|base| self.ids.contains(base)).map_or(Ok(None), read)?,
        };
        if let Some((base, base_bytes)) = base {
            let delta = delta::between(&base_bytes, &bytes);
            let is_small = delta.len() as u64 <= version.bytes / 2;
            if is_small && delta::apply(&base_bytes, &delta).as_ref() == Some(&bytes) {
                let context = |entry: io::Result<Vec<u8>>| {
                    entry.context("compressing an object in", &objects.directory)
                };
                // Git looks for the base object of a delta in the same pack only.
                if !self.ids.contains(&base) {
                    let entry = full_entry(Kind::Blob, &base_bytes, &mut self.compressor);
                    self.push(base, context(entry)?);
                }
                let entry = delta_entry(base, &delta, &mut self.compressor);
                self.push(id, context(entry)?);
            }
        }
        self.last = Some((id, bytes));
        Ok(())
    }

    fn push(&mut self, id: Oid, entry: Vec<u8>) {
        self.bytes += entry.len();
        self.ids.insert(id);
        self.objects.push(EncodedObject::new(id, entry));
    }
}
