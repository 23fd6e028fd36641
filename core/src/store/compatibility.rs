//! Whether git and this tool read the same store. Objects and single refs are verified elsewhere; this
//! module looks at the files without which git reads nothing at all, and at the format of the refs.

use crate::disk::{Disk, Kind, folder};
use crate::error::{Error, Result};
use crate::path::shown;
use crate::remark::Remark;
use crate::store::packed_refs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The folder in which git stores refs in its reftable format.
const REFTABLE: &str = "reftable";

/// Refuses a store whose refs are in a format that is not read here: refs that this tool wrote would keep
/// git from moving its own refs back.
///
/// # Errors
/// [`Error::StoreUnusable`], with the command that moves the refs back.
pub fn check_ref_format(disk: &dyn Disk, store: &Path) -> Result<()> {
    match has_reftable(disk, store)? {
        true => Err(Error::unusable(&store.join(REFTABLE), why_reftable(store))),
        false => Ok(()),
    }
}

/// Whether the refs are in git's reftable format: then a file is at the path of the folder `heads`.
fn has_reftable(disk: &dyn Disk, store: &Path) -> Result<bool> {
    let is = |path: &str, kind: Kind| {
        Ok(folder::stat(disk, &store.join(path))?.is_some_and(|stat| stat.kind == kind))
    };
    Ok(is(REFTABLE, Kind::Directory)? && is("refs/heads", Kind::File)?)
}

fn why_reftable(store: &Path) -> String {
    format!(
        "git has moved the refs into its reftable format, which Herma does not read: run `git --git-dir={} \
         refs migrate --ref-format=files`",
        shown(store.as_os_str().as_bytes())
    )
}

/// The files for which git or this tool refuses to read the store, each with the reason and what repairs it.
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
    let mut remarks: Vec<Remark> = refused.into_iter().map(remark).collect();
    if has_reftable(disk, store)? {
        remarks.push(Remark::new(REFTABLE.as_bytes(), why_reftable(store)));
    }
    Ok(remarks)
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
