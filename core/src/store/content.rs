//! The content of a stored file, in memory only up to a size limit.

use crate::error::Result;
use crate::store::object::{IN_MEMORY_BYTES_MAX, Kind};
use crate::store::objects::Objects;
use crate::store::oid::Oid;

/// The content of a file.
pub enum Content<'a> {
    /// In memory.
    Read(Vec<u8>),
    /// Too large for memory, so that it is read when it is used.
    Stored(&'a Objects<'a>, Oid),
}

impl<'a> Content<'a> {
    /// The content of a blob, whose bytes are verified.
    ///
    /// # Errors
    /// A blob that is missing or damaged; a disk that fails.
    // rule: cost/memory
    pub fn of(objects: &'a Objects<'a>, blob: Oid) -> Result<Self> {
        if let Some(bytes) = objects.read_up_to(Kind::Blob, blob, IN_MEMORY_BYTES_MAX)? {
            return Ok(Content::Read(bytes));
        }
        objects.check(Kind::Blob, blob)?;
        Ok(Content::Stored(objects, blob))
    }
}
