//! Whether git reads the store. Objects and single refs are verified elsewhere; this module looks at the
//! files without which git reads nothing at all.

use crate::disk::{Disk, folder};
use crate::error::Result;
use crate::remark::Remark;
use crate::store::packed_refs;
use std::path::Path;

/// The files for which git refuses to read the store, each with the reason and what repairs it.
pub fn refused_files(disk: &dyn Disk, store: &Path) -> Result<Vec<Remark>> {
    let mut refused = Vec::new();
    if !is_usable(disk, &store.join("HEAD")) {
        refused.push("HEAD");
    }
    // Git needs no settings.
    let config = store.join("config");
    if folder::stat(disk, &config)?.is_some_and(|stat| stat.size > 0) && !is_usable(disk, &config) {
        refused.push("config");
    }
    if !packed_refs::is_accepted(disk, store)? {
        refused.push(packed_refs::NAME);
    }
    let remark = |name: &str| {
        let why = "git cannot read the store because of this file; the next checkpoint repairs it";
        Remark::new(name.as_bytes(), why.to_owned())
    };
    Ok(refused.into_iter().map(remark).collect())
}

/// Whether git could use a file: a crash may leave it empty or full of zeros, and a `HEAD` must name a ref
/// or a commit.
// rule: maintenance/heals
pub fn is_usable(disk: &dyn Disk, file: &Path) -> bool {
    let Ok((start, _)) = disk.read(file, 4096) else {
        return false;
    };
    let is_id = || start.len() >= 40 && start[..40].iter().all(u8::is_ascii_hexdigit);
    let is_head = file.ends_with("HEAD");
    !start.is_empty()
        && !start.contains(&0)
        && (!is_head || start.starts_with(b"ref: refs/") || is_id())
}
