//! The path of a single file to restore. The typed text is taken literally, as one path below the
//! project: it is never a pattern.

use crate::disk::{Disk, Kind};
use crate::error::{Error, Result};
use crate::path::{on_disk, shown};
use crate::project::Project;
use std::path::Path;

/// The normalized project-relative path that a typed path names.
// rule: restore/bad-path
// rule: restore/file-literal
pub(super) fn literal_path(disk: &dyn Disk, project: &Project, typed: &[u8]) -> Result<Vec<u8>> {
    let refused = |why| Err(Error::BadPath { path: shown(typed), why });
    if typed.is_empty() {
        return refused("is empty");
    }
    if typed.starts_with(b"/") {
        let is_outside = !on_disk(Path::new("/"), typed).starts_with(&project.directory);
        return refused(if is_outside { "is outside the project" } else { "is an absolute path" });
    }
    if typed.contains(&0) {
        return refused("contains a NUL byte");
    }
    let mut components: Vec<&[u8]> = Vec::new();
    for component in typed.split(|byte| *byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." => {
                let before = on_disk(&project.directory, &components.join(&b'/'));
                // The parent of what a link leads to is not the directory the link is in.
                if disk.stat(&before).is_ok_and(|stat| stat.kind == Kind::Link) {
                    return refused("leads through a symbolic link");
                }
                if components.pop().is_none() {
                    return refused("is outside the project");
                }
            }
            name => components.push(name),
        }
    }
    if components.is_empty() {
        return refused("is the project itself");
    }
    Ok(components.join(&b'/'))
}
