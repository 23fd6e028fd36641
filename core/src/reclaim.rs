//! Frees the space of objects that no checkpoint needs: a placeholder.

use crate::disk::Disk;
use crate::error::Result;
use std::path::Path;

/// Removes the objects that nothing needs, and answers the bytes that were freed.
pub fn reclaim(_disk: &dyn Disk, _base: &Path) -> Result<u64> {
    Ok(0)
}
