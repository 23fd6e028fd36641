//! Tests of an observation of a disk: it finds every change, and shares what is unchanged.

use super::*;
use crate::sandbox::Scratch;
use crate::sandbox::settled::Time;
use rustix::fs::{CWD, Timestamps};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

/// Changes that a file survives with the same size, and each with the same time of modification.
const CHANGES_OF_A_FILE: [fn(&Path) -> io::Result<()>; 4] = [
    |file| fs::write(file, "two"),
    |file| fs::write(file.with_extension("new"), "six").and_then(|()| replace(file)),
    |file| fs::set_permissions(file, PermissionsExt::from_mode(0o640)),
    |file| fs::remove_file(file).and_then(|()| symlink("one", file)),
];

fn replace(file: &Path) -> io::Result<()> {
    fs::rename(file.with_extension("new"), file)
}

fn sandbox() -> (tempfile::TempDir, PathBuf) {
    let folder = Scratch::in_default_directory().temporary().unwrap();
    fs::create_dir(folder.path().join("deep")).unwrap();
    let file = folder.path().join("deep/file");
    fs::write(&file, "one").unwrap();
    fs::write(folder.path().join("one"), "one").unwrap();
    (folder, file)
}

/// The time of modification is that of a moment ago again, as a restore or a tool may set it.
fn keep_time(file: &Path, modified: Time) {
    let time = rustix::fs::Timespec { tv_sec: modified.0, tv_nsec: modified.1 };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, file, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// Nothing observed yet, where each change has a time of its own.
fn with_own_times() -> Manifest {
    let settled =
        Settled { files_have_own_times: true, folders_have_own_times: true, ..Settled::default() };
    Manifest { settled, ..Manifest::default() }
}

fn stat_of<'a>(manifest: &'a Manifest, directory: &str, name: &str) -> &'a StatData {
    let mut items =
        manifest.folders[directory.as_bytes()].items.iter().filter_map(FolderItem::file);
    items.find(|(found, _)| ***found == *name.as_bytes()).map(|(_, stat)| stat).unwrap()
}

#[test]
fn read_finds_every_change_since_the_last_observation_whatever_the_times_are() {
    for tells_apart in [false, true] {
        for change in CHANGES_OF_A_FILE {
            let (folder, file) = sandbox();
            let base = folder.path().join("base");
            let none = Manifest::none(folder.path()).unwrap();
            let settled = if tells_apart { none.settled } else { Settled::default() };
            let none = Manifest { settled, ..none };
            let before = read(folder.path(), &base, None, &none).unwrap();
            change(&file).unwrap();
            keep_time(&file, stat_of(&before, "deep", "file").modified);
            let after = read(folder.path(), &base, None, &before).unwrap();
            let all = read(folder.path(), &base, None, &Manifest::default()).unwrap();
            assert_ne!(after.files, before.files);
            assert_eq!(after.files, all.files);
        }
    }
}

#[test]
fn read_shares_the_content_of_what_is_unchanged() {
    let (folder, _) = sandbox();
    let none = with_own_times();
    let base = folder.path().join("base");
    let before = read(folder.path(), &base, None, &none).unwrap();
    let after = read(folder.path(), &base, None, &before).unwrap();
    let place = |manifest: &Manifest| match manifest.files.get(b"one") {
        Some(Node::File { content, .. }) => content.as_ptr(),
        other => panic!("{other:?}"),
    };
    assert_eq!(place(&before), place(&after));
    // Without times of its own a file that was just written may be written again unseen.
    let none = Manifest::default();
    let before = read(folder.path(), &base, None, &none).unwrap();
    let after = read(folder.path(), &base, None, &before).unwrap();
    assert_ne!(place(&before), place(&after));
}

/// Changes of whole folders, one after the other.
const CHANGES_OF_FOLDERS: [fn(&Path) -> io::Result<()>; 14] = [
    |root| fs::write(root.join("gone"), ""),
    |root| fs::create_dir(root.join("new")),
    // The folder keeps the time of the change before.
    |root| fs::remove_file(root.join("gone")).and_then(|()| fs::write(root.join("come"), "")),
    |root| fs::create_dir_all(root.join("a/b")).and_then(|()| fs::write(root.join("a/b/c"), "c")),
    |root| {
        fs::create_dir_all(root.join("base/x")).and_then(|()| fs::write(root.join("base/y"), ""))
    },
    |root| fs::rename(root.join("a"), root.join("deep/a")),
    |root| {
        fs::remove_dir_all(root.join("base")).and_then(|()| fs::write(root.join("base"), "file"))
    },
    |root| fs::hard_link(root.join("one"), root.join("deep/two")),
    |root| fs::remove_file(root.join("one")).and_then(|()| fs::create_dir(root.join("one"))),
    |root| {
        fs::remove_dir_all(root.join("deep/a")).and_then(|()| fs::write(root.join("deep/a"), ""))
    },
    |root| fs::remove_file(root.join("base")).and_then(|()| fs::create_dir(root.join("base"))),
    |root| fs::set_permissions(root.join("deep"), PermissionsExt::from_mode(0o700)),
    |root| fs::set_permissions(root.join("deep"), PermissionsExt::from_mode(0o755)),
    |root| fs::remove_dir_all(root.join("deep")),
];

#[test]
fn read_after_changes_of_folders_finds_what_a_first_read_finds() {
    let (folder, _) = sandbox();
    let root = folder.path();
    let mut last = Manifest::none(root).unwrap();
    for (number, change) in CHANGES_OF_FOLDERS.iter().enumerate() {
        last = read(root, &root.join("base"), None, &last).unwrap();
        let before = last.clone();
        change(root).unwrap();
        last = read(root, &root.join("base"), None, &last).unwrap();
        let first = read(root, &root.join("base"), None, &Manifest::default()).unwrap();
        assert_eq!(last.files, first.files, "{number}");
        assert_eq!(last.names, first.names, "{number}");
        assert_eq!(first.changed(&before).len(), last.changed(&before).len(), "{number}");
    }
}
