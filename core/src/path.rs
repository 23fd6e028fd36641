//! Project-relative paths as bytes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The absolute path of `relative` below `root`.
pub fn on_disk(root: &Path, relative: &[u8]) -> PathBuf {
    if relative.is_empty() {
        return root.to_owned();
    }
    root.join(OsStr::from_bytes(relative))
}

/// `directory/name`, or just `name` where the directory is the root (empty).
pub fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

/// The part of `path` before its last slash; empty where there is none.
pub fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &path[..slash])
}

/// The part of `path` after its last slash; all of it where there is none.
pub fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// The proper ancestors of `path`, outermost first, without the empty root.
pub fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(slash, _)| &path[..slash])
}

/// Whether `path` is `above` itself, or is below it.
pub fn is_at_or_below(path: &[u8], above: &[u8]) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// A path for people: everything but printable ASCII is escaped.
pub fn shown(path: &[u8]) -> String {
    path.escape_ascii().to_string()
}
