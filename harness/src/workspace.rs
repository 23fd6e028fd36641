//! A real project directory to run histories on.

use herma_model::ByteString;
use herma_model::bytes::join;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The operations of a history choose from at most this many of its paths.
const PATHS_MAX: usize = 400;

/// The canonical directory and an even sample of its files.
pub fn sample(directory: &Path) -> io::Result<(PathBuf, Vec<ByteString>)> {
    let directory = directory.canonicalize()?;
    let mut files = Vec::new();
    let mut pending = vec![Vec::new()];
    while let Some(folder) = pending.pop() {
        let absolute = crate::sandbox::manifest::on_disk(&directory, &folder);
        for entry in std::fs::read_dir(absolute)? {
            let entry = entry?;
            let path = join(&folder, entry.file_name().as_bytes());
            if entry.file_type()?.is_dir() {
                pending.push(path);
            } else {
                files.push(ByteString::from(path));
            }
        }
    }
    // The order of a directory differs between machines; the sample must not.
    files.sort_unstable();
    let step = files.len().div_ceil(PATHS_MAX).max(1);
    Ok((directory, files.into_iter().step_by(step).collect()))
}
