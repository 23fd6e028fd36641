//! Permissions of restored files: a restore gives no user access that the user did not have before, whether
//! by permission bits, groups or access lists.

use super::machine::Machine;
use herma_core::RestoreOptions;
use herma_core::disk::{Access, Disk, SystemDisk};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// A group to which this process does not belong.
const GROUP: u32 = 4242;
/// Another user than root.
const USER: u32 = 1000;
/// An access list in the format of Linux: owner `rw`, user 1000 `r`, group nothing, others nothing.
const LIST: &[(u16, u16, u32)] =
    &[(1, 6, u32::MAX), (2, 4, 1000), (4, 0, u32::MAX), (16, 4, u32::MAX), (32, 0, u32::MAX)];

fn permit(path: &Path, bits: u32) {
    fs::set_permissions(path, Permissions::from_mode(bits)).unwrap();
}

fn bits(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

/// A folder and everything in it.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut visited = 0;
    while let Some(path) = found.get(visited).cloned() {
        visited += 1;
        if path.is_dir() {
            found.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found
}

fn access_list() -> Vec<u8> {
    let entry = |(tag, access, id): &(u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &access.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2_u32.to_le_bytes().to_vec()].into_iter().chain(LIST.iter().map(entry)).flatten().collect()
}

fn restore(machine: &Machine, id: &str) {
    let manager = machine.manager_on(SystemDisk);
    let project = machine.project();
    let restored = manager.restore(&project, id.as_bytes(), RestoreOptions::default()).unwrap();
    assert!(restored.failed.is_empty(), "{restored:?}");
}

#[test]
fn restore_opens_a_file_of_another_group_to_no_other_group() {
    let machine = Machine::new();
    let replaced = machine.project().join("a.txt");
    let recreated = machine.project().join("src/b.txt");
    for path in [&replaced, &recreated] {
        if chown(path, None, Some(GROUP)).is_err() {
            println!("not run: this user may give no file to another group");
            return;
        }
        permit(path, 0o640);
    }
    let id = machine.take();
    machine.write("a.txt", "two\n");
    fs::remove_file(&recreated).unwrap();
    restore(&machine, &id);
    assert_eq!((bits(&replaced), fs::metadata(&replaced).unwrap().gid()), (0o640, GROUP));
    // The group of the removed file is no longer known.
    assert_eq!(bits(&recreated), 0o600);
}

#[test]
fn restore_keeps_the_group_access_of_files_in_a_project_of_that_group() {
    let machine = Machine::new();
    let file = machine.project().join("src/b.txt");
    let folder = machine.project().join("src");
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

/// An agent often runs as root in a container, on the files of a user.
// rule: restore/permissions
#[test]
fn what_root_makes_belongs_to_the_owner_of_the_folder_and_a_replaced_file_to_its_own() {
    let machine = Machine::new();
    let project = machine.project();
    let of_root = project.join("src/b.txt");
    fs::create_dir(project.join("gone")).unwrap();
    let restored = ["of-user", "gone/file"];
    restored.iter().for_each(|path| machine.write(path, "one\n"));
    for path in below(&machine.root()).iter().filter(|path| **path != of_root) {
        if chown(path, Some(USER), None).is_err() {
            println!("not run: this user may give no file to another user");
            return;
        }
    }
    let manager = machine.manager_on(SystemDisk);
    manager.checkpoint(&project, "taken").unwrap();
    fs::remove_file(project.join("of-user")).unwrap();
    fs::remove_dir_all(project.join("gone")).unwrap();
    fs::create_dir_all(project.join("new/folder")).unwrap();
    machine.write("src/b.txt", "changed\n");
    manager.restore(&project, b"1", RestoreOptions::default()).unwrap();
    let user = |path: &Path| fs::metadata(path).unwrap().uid();
    assert_eq!(user(&of_root), 0);
    for path in restored.iter().chain(&["gone"]) {
        assert_eq!(user(&project.join(path)), USER, "{path}");
    }
    let of_others: Vec<_> =
        below(&machine.base()).into_iter().filter(|path| user(path) != USER).collect();
    assert_eq!(of_others, Vec::<PathBuf>::new());
}

// rule: restore/permissions
#[test]
fn restore_keeps_the_owner_and_group_of_a_replaced_file_whatever_its_permissions() {
    let machine = Machine::new();
    let file = machine.project().join("a.txt");
    for expected in [0o600, 0o640, 0o644, 0o660, 0o755] {
        if chown(&file, Some(USER), Some(GROUP)).is_err() {
            println!("not run: this user may give no file to another user");
            return;
        }
        permit(&file, expected);
        let id = machine.take();
        machine.write("a.txt", &format!("changed {expected:o}\n"));
        restore(&machine, &id);
        let stat = fs::metadata(&file).unwrap();
        assert_eq!((bits(&file), stat.uid(), stat.gid()), (expected, USER, GROUP));
    }
}

// rule: restore/folder-permissions
#[test]
fn restore_recreates_a_folder_of_everybody_in_which_nobody_deletes_the_files_of_others() {
    let machine = Machine::new();
    let folder = machine.project().join("src");
    let special = || fs::metadata(&folder).unwrap().mode() & 0o7777;
    for expected in [0o1777, 0o2770, 0o3775, 0o1700] {
        permit(&folder, expected);
        // Without it there would be no checkpoint: other permissions are no change.
        machine.write("src/b.txt", &format!("{expected:o}\n"));
        let id = machine.take();
        fs::remove_dir_all(&folder).unwrap();
        restore(&machine, &id);
        assert_eq!(format!("{:o}", special()), format!("{expected:o}"));
    }
}

#[test]
fn restore_keeps_an_access_list_or_withholds_the_access_that_it_granted() {
    let machine = Machine::new();
    let replaced = machine.project().join("a.txt");
    let recreated = machine.project().join("src/b.txt");
    for path in [&replaced, &recreated] {
        let group = Some(fs::metadata(path).unwrap().gid());
        SystemDisk.permit(path, &Access { bits: 0o640, group, list: Some(access_list()) }).unwrap();
    }
    if SystemDisk.access_list(&replaced).unwrap().is_none() {
        println!("not run: this file system keeps no access lists");
        return;
    }
    let id = machine.take();
    machine.write("a.txt", "two\n");
    fs::remove_file(&recreated).unwrap();
    restore(&machine, &id);
    assert_eq!(SystemDisk.access_list(&replaced).unwrap(), Some(access_list()));
    assert_eq!((bits(&recreated), SystemDisk.access_list(&recreated).unwrap()), (0o600, None));
}

#[test]
fn restore_keeps_a_file_of_a_closed_folder_closed_in_an_open_folder() {
    let machine = Machine::new();
    let folder = machine.project().join("src");
    let file = machine.project().join("src/b.txt");
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

// rule: restore/folder-permissions
#[test]
fn restore_recreates_folders_with_their_permissions_and_leaves_those_of_existing_folders() {
    let machine = Machine::new();
    let project = machine.project();
    let folders = ["private", "private/deep", "listed", "src"].map(|name| project.join(name));
    folders.iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
    machine.write("private/deep/a", "one\n");
    machine.write("listed/a", "one\n");
    let recorded = [0o700, 0o755, 0o711, 0o755];
    folders.iter().zip(recorded).for_each(|(folder, bits)| permit(folder, bits));
    permit(&project, 0o750);
    let id = machine.take();
    let all = || folders.each_ref().map(|folder| bits(folder));
    fs::remove_dir_all(&project).unwrap();
    restore(&machine, &id);
    assert_eq!((all(), bits(&project)), (recorded, 0o750));
    let present = [0o755, 0o700, 0o700, 0o711];
    folders.iter().zip(present).for_each(|(folder, bits)| permit(folder, bits));
    for file in ["private/deep/a", "listed/a", "src/b.txt"] {
        machine.write(file, "changed\n");
    }
    restore(&machine, &id);
    assert_eq!(all(), present);
}

#[test]
fn restore_recreates_the_folders_of_a_checkpoint_without_permissions_for_the_owner_only() {
    let machine = Machine::new();
    let folder = machine.project().join("src");
    permit(&folder, 0o755);
    let id = machine.take();
    let git = |arguments: &[&str]| {
        let named = ["-c", "user.name=a", "-c", "user.email=a"];
        let output = machine.git().args(named).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    // As other tools write it, and as Herma did before it recorded permissions.
    let plain = git(&["commit-tree", &format!("{id}^{{tree}}"), "-p", &id, "-m", "plain"]);
    git(&["update-ref", &format!("refs/hermes/{}", machine.hash()), &plain]);
    fs::remove_dir_all(&folder).unwrap();
    restore(&machine, &plain);
    assert_eq!((bits(&folder), bits(&folder.join("b.txt"))), (0o700, 0o600));
}

#[test]
fn restore_creates_the_parents_of_a_project_for_the_owner_only() {
    let machine = Machine::new();
    let inner = machine.project().join("private/inner");
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("a"), "one\n").unwrap();
    let manager = machine.manager_on(SystemDisk);
    manager.checkpoint(&inner, "taken").unwrap();
    fs::remove_dir_all(machine.project().join("private")).unwrap();
    manager.restore(&inner, b"1", RestoreOptions::default()).unwrap();
    assert_eq!(bits(&machine.project().join("private")), 0o700);
}
