//! Whether a directory is known to be gone. Checkpoints may be all that is left of a project, so a
//! directory that may come back, such as one on a disk that is not mounted, does not count as gone.

use crate::disk::{Disk, Kind};
use crate::report::ProjectState;
use crate::store::metadata::Metadata;
use std::io::ErrorKind;
use std::path::Path;

/// What is known of the directory of a project with that metadata.
pub fn of_project(disk: &dyn Disk, known: Option<&Metadata>) -> ProjectState {
    known.map_or(ProjectState::Unknown, |known| of(disk, &known.directory(), known.device))
}

/// What is known of `directory`, which was on `device` when it was last seen.
///
/// It is gone where it does not exist while its parent does, on the same device: the parent may be
/// the empty mount point of a disk that is not mounted.
// rule: sweep/evidence
// rule: sweep/orphans
pub fn of(disk: &dyn Disk, directory: &Path, device: Option<u64>) -> ProjectState {
    match disk.stat(directory) {
        Ok(stat) if stat.kind == Kind::Directory => return ProjectState::Live,
        Err(error) if error.kind() == ErrorKind::NotFound && directory.is_absolute() => {}
        _ => return ProjectState::Unknown,
    }
    let parent = directory.parent().and_then(|parent| disk.stat(parent).ok());
    let still = |device: u64| parent.is_some_and(|parent| parent.device == device);
    if parent.is_some_and(|parent| parent.kind == Kind::Directory) && device.is_none_or(still) {
        ProjectState::Orphan
    } else {
        ProjectState::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_directory_is_gone_only_where_what_it_was_in_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("there")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        symlink("there", root.join("link")).unwrap();
        let state = |path: &str| of(&SystemDisk, &root.join(path), None);
        assert_eq!(state("there"), ProjectState::Live);
        assert_eq!(state("gone"), ProjectState::Orphan);
        for kept in ["gone/project", "file", "file/project", "dangling", "dangling/x", "link/x"] {
            assert_eq!(state(kept), ProjectState::Unknown, "{kept}");
        }
        for kept in ["", "gone", "../gone", "/"] {
            let state = of(&SystemDisk, Path::new(kept), None);
            assert_ne!(state, ProjectState::Orphan, "{kept}");
        }
    }
}
