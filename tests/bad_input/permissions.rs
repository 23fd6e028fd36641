//! Who may read what a restore writes: nobody who could not before, also where that is not a matter of
//! permission bits alone.

use super::machine::Machine;
use herma_core::RestoreOptions;
use herma_core::disk::{Access, Disk, SystemDisk};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

/// A group that is not that of this process.
const GROUP: u32 = 4242;
/// An access list as Linux keeps it: its owner `rw`, user 1000 `r`, its group nothing, everybody nothing.
const LIST: &[(u16, u16, u32)] =
    &[(1, 6, u32::MAX), (2, 4, 1000), (4, 0, u32::MAX), (16, 4, u32::MAX), (32, 0, u32::MAX)];

fn permit(path: &Path, bits: u32) {
    fs::set_permissions(path, Permissions::from_mode(bits)).unwrap();
}

fn bits(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

fn list() -> Vec<u8> {
    let entry = |(tag, may, id): &(u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &may.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2_u32.to_le_bytes().to_vec()].into_iter().chain(LIST.iter().map(entry)).flatten().collect()
}

fn restore(machine: &Machine, id: &str) {
    let (disk, project) = (machine.on(SystemDisk), machine.project());
    let restored = disk.restore(&project, id.as_bytes(), RestoreOptions::default()).unwrap();
    assert!(restored.failed.is_empty(), "{restored:?}");
}

#[test]
fn a_file_of_another_group_is_open_to_no_other_one() {
    let machine = Machine::new();
    let (replaced, back) = (machine.project().join("a.txt"), machine.project().join("src/b.txt"));
    for path in [&replaced, &back] {
        if chown(path, None, Some(GROUP)).is_err() {
            println!("not run: this user may give no file to another group");
            return;
        }
        permit(path, 0o640);
    }
    let id = machine.take();
    machine.write("a.txt", "two\n");
    fs::remove_file(&back).unwrap();
    restore(&machine, &id);
    assert_eq!((bits(&replaced), fs::metadata(&replaced).unwrap().gid()), (0o640, GROUP));
    // The group of what is gone is not known any more.
    assert_eq!(bits(&back), 0o600);
}

#[test]
fn what_the_group_of_the_project_may_comes_back_in_that_group() {
    let machine = Machine::new();
    let (file, folder) = (machine.project().join("src/b.txt"), machine.project().join("src"));
    for path in [&machine.project(), &folder, &file] {
        if chown(path, None, Some(GROUP)).is_err() {
            println!("not run: this user may give no file to another group");
            return;
        }
    }
    permit(&folder, 0o770);
    permit(&file, 0o660);
    let id = machine.take();
    fs::remove_dir_all(&folder).unwrap();
    restore(&machine, &id);
    for (path, expected) in [(&folder, 0o770), (&file, 0o660)] {
        assert_eq!((bits(path), fs::metadata(path).unwrap().gid()), (expected, GROUP), "{path:?}");
    }
}

#[test]
fn an_access_list_stays_and_what_had_one_comes_back_without_what_it_gave() {
    let machine = Machine::new();
    let (replaced, back) = (machine.project().join("a.txt"), machine.project().join("src/b.txt"));
    for path in [&replaced, &back] {
        let group = Some(fs::metadata(path).unwrap().gid());
        SystemDisk.permit(path, &Access { bits: 0o640, group, list: Some(list()) }).unwrap();
    }
    if SystemDisk.access_list(&replaced).unwrap().is_none() {
        println!("not run: this file system keeps no access lists");
        return;
    }
    let id = machine.take();
    machine.write("a.txt", "two\n");
    fs::remove_file(&back).unwrap();
    restore(&machine, &id);
    assert_eq!(SystemDisk.access_list(&replaced).unwrap(), Some(list()));
    assert_eq!((bits(&back), SystemDisk.access_list(&back).unwrap()), (0o600, None));
}

#[test]
fn what_a_closed_folder_hid_does_not_come_back_open_in_an_open_one() {
    let machine = Machine::new();
    let (folder, file) = (machine.project().join("src"), machine.project().join("src/b.txt"));
    permit(&file, 0o644);
    permit(&folder, 0o700);
    let id = machine.take();
    fs::remove_file(&file).unwrap();
    restore(&machine, &id);
    assert_eq!(bits(&file), 0o644, "its folder is as it was");
    fs::remove_file(&file).unwrap();
    permit(&folder, 0o755);
    restore(&machine, &id);
    assert_eq!(bits(&file), 0o600);
}

#[test]
fn what_is_made_above_a_project_that_comes_back_is_for_its_owner() {
    let machine = Machine::new();
    let inner = machine.project().join("private/inner");
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("a"), "one\n").unwrap();
    let manager = machine.on(SystemDisk);
    manager.checkpoint(&inner, "taken").unwrap();
    fs::remove_dir_all(machine.project().join("private")).unwrap();
    manager.restore(&inner, b"1", RestoreOptions::default()).unwrap();
    assert_eq!(bits(&machine.project().join("private")), 0o700);
}
