//! Decides whether a directory is gone. Checkpoints may be all that is left of a project, so a directory
//! that may reappear, such as one on a disk that is not mounted, does not count as gone.

use crate::disk::{Disk, Kind};
use crate::report::ProjectState;
use crate::store::metadata::Metadata;
use std::io::ErrorKind;
use std::path::Path;

/// The state of the directory of a project with that metadata.
pub fn of_project(disk: &dyn Disk, metadata: Option<&Metadata>) -> ProjectState {
    let Some(metadata) = metadata else { return ProjectState::Unknown };
    let directory = metadata.directory();
    match of(disk, &directory, metadata.device) {
        // Device numbers are reused: for another stick, or for another file system after a reboot.
        ProjectState::Orphan if is_elsewhere(disk, &directory, metadata.file_system) => {
            ProjectState::Unknown
        }
        state => state,
    }
}

/// Whether the parent of a directory is on another file system than the directory was.
fn is_elsewhere(disk: &dyn Disk, directory: &Path, file_system: Option<u64>) -> bool {
    let parent = directory.parent().and_then(|parent| disk.file_system(parent).ok());
    file_system.is_some_and(|recorded| parent != Some(recorded))
}

/// The state of `directory`, which was on `device` when it was last seen.
///
/// It is gone if it does not exist while its parent does, on the same device: otherwise the parent may
/// be the empty mount point of a disk that is not mounted.
// rule: sweep/evidence
// rule: sweep/orphans
pub fn of(disk: &dyn Disk, directory: &Path, device: Option<u64>) -> ProjectState {
    match disk.stat(directory) {
        Ok(stat) if stat.kind == Kind::Directory => return ProjectState::Live,
        Err(error) if error.kind() == ErrorKind::NotFound && directory.is_absolute() => {}
        _ => return ProjectState::Unknown,
    }
    let parent = directory.parent().and_then(|parent| disk.stat(parent).ok());
    let is_on_device = |device: u64| parent.is_some_and(|parent| parent.device == device);
    if parent.is_some_and(|parent| parent.kind == Kind::Directory)
        && device.is_none_or(is_on_device)
    {
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
    fn of_project_is_unknown_where_another_file_system_has_the_device_number() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().canonicalize().unwrap().join("gone");
        let disk = &SystemDisk;
        let device = disk.stat(gone.parent().unwrap()).unwrap().device;
        let present = disk.file_system(gone.parent().unwrap()).unwrap();
        let state = |file_system| {
            let metadata = serde_json::json!({
                "workdir": gone, "created_at": 1, "last_touch": 1,
                "device": device, "file_system": file_system,
            });
            of_project(disk, Some(&serde_json::from_value(metadata).unwrap()))
        };
        assert_eq!(state(Some(present)), ProjectState::Orphan);
        assert_eq!(state(None), ProjectState::Orphan);
        assert_eq!(state(Some(present.wrapping_add(1))), ProjectState::Unknown);
    }

    #[test]
    fn of_is_orphan_only_where_the_parent_directory_exists() {
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
