//! Unusual projects: names, permissions, and other processes that change files at the same time.

use super::machine::{Machine, error_code};
use crate::maintenance::world::{before_call, fail_calls};
use herma_core::disk::SystemDisk;
use herma_core::{Config, Outcome, ProjectState, RestoreOptions};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn checkpoint_leaves_out_and_names_an_unreadable_directory() {
    let machine = Machine::new();
    fs::set_permissions(machine.project().join("src"), fs::Permissions::from_mode(0o000)).unwrap();
    let taken = machine.manager().checkpoint(&machine.project(), "r").unwrap();
    assert!(matches!(taken.outcome, Outcome::Created { .. }));
    assert_eq!(taken.skipped[0].path, b"src");
    fs::set_permissions(machine.project().join("src"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// An exact restore once removed these files as created since.
#[test]
fn restore_keeps_what_is_in_a_folder_that_the_checkpoint_could_not_read() {
    let machine = Machine::new();
    let folder = machine.project().join("src");
    let permit = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    permit(0o000);
    let id = machine.take();
    permit(0o755);
    machine.write("a.txt", "two\n");
    let options = RestoreOptions { exact: true, force: false };
    let restored = machine.manager().restore(&machine.project(), id.as_bytes(), options).unwrap();
    assert_eq!(restored.restored, [b"a.txt"]);
    assert!(restored.removed.is_empty() && restored.left.is_empty(), "{restored:?}");
    assert!(restored.kept[0].path.starts_with(b"src"), "{restored:?}");
    assert_eq!(fs::read_to_string(folder.join("b.txt")).unwrap(), "two\n");
}

// rule: restore/executable
#[test]
fn restore_keeps_the_permissions_of_a_replaced_file_and_sets_its_executable_bits() {
    // The mode before the restore, whether the captured file was executable, and the expected mode.
    for (mode, was_executable, expected) in [
        (0o600, false, 0o600),
        (0o640, true, 0o750),
        (0o604, true, 0o705),
        (0o754, true, 0o755),
        // Others could not write to it when it was captured.
        (0o222, true, 0o300),
        (0o755, false, 0o644),
        (0o711, false, 0o600),
        (0o4644, true, 0o755),
    ] {
        let machine = Machine::new();
        let path = machine.project().join("a.txt");
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        set(if was_executable { 0o755 } else { 0o644 });
        machine.take();
        machine.write("a.txt", "two\n");
        set(mode);
        machine.restore_on(SystemDisk);
        let found = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(found, expected, "{mode:o} is {found:o}");
    }
}

// rule: restore/permissions
#[test]
fn restore_opens_no_content_to_others_who_could_not_read_it_when_it_was_captured() {
    for (captured, replaced, expected) in
        [(0o600, 0o644, 0o600), (0o640, 0o666, 0o640), (0o644, 0o600, 0o600), (0o755, 0o777, 0o755)]
    {
        let machine = Machine::new();
        let path = machine.project().join("a.txt");
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        set(captured);
        machine.take();
        machine.write("a.txt", "two\n");
        set(replaced);
        machine.restore_on(SystemDisk);
        let found = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(found, expected, "{captured:o}, {replaced:o}: {found:o}");
    }
}

#[test]
fn restore_recreates_files_and_folders_with_their_permissions() {
    let machine = Machine::new();
    let project = machine.project();
    for folder in ["closed", "open"] {
        fs::create_dir(project.join(folder)).unwrap();
    }
    let recorded = [
        ("a.txt", 0o644),
        ("key", 0o600),
        ("closed/run", 0o750),
        ("closed", 0o700),
        ("open/b", 0o664),
    ];
    let bits = |path: &str| fs::metadata(project.join(path)).unwrap().permissions().mode() & 0o7777;
    for (path, mode) in recorded {
        if !project.join(path).exists() {
            machine.write(path, "one\n");
        }
        fs::set_permissions(project.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    machine.take();
    let open = bits("open");
    fs::remove_dir_all(&project).unwrap();
    machine.restore_on(SystemDisk);
    assert_eq!(recorded.map(|(path, _)| (path, bits(path))), recorded);
    assert_eq!(bits("open"), open);
}

#[test]
fn restore_never_opens_the_replacement_of_a_private_file_to_others() {
    let machine = Machine::new();
    machine.take();
    let path = machine.project().join("a.txt");
    machine.write("a.txt", "two\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let project = machine.project();
    let is_in_project = move |path: &Path| path.starts_with(&project);
    let bits =
        |path: &Path| fs::metadata(path).map(|metadata| metadata.permissions().mode() & 0o777);
    let disk = before_call(Call::Rename, is_in_project, move |path| {
        assert_eq!(bits(path)?, 0o600);
        Ok(())
    });
    machine.restore_on(disk);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
    assert_eq!(bits(&path).unwrap(), 0o600);
}

#[test]
fn checkpoint_leaves_out_and_names_a_file_that_cannot_be_inspected() {
    let machine = Machine::new();
    let disk = fail_calls(Call::Stat, io::ErrorKind::PermissionDenied, move |path| {
        path.ends_with("a.txt")
    });
    let taken = machine.manager_on(disk).checkpoint(&machine.project(), "r").unwrap();
    assert!(matches!(taken.outcome, Outcome::Created { .. }));
    let skipped: Vec<&[u8]> = taken.skipped.iter().map(|skipped| &skipped.path[..]).collect();
    assert_eq!(skipped, [b"a.txt"]);
}

#[test]
fn checkpoint_captures_no_part_of_a_file_that_outgrows_max_file_bytes_while_read() {
    let machine = Machine::new();
    let path = machine.project().join("a.txt");
    let disk =
        before_call(Call::Read, move |read| read == path, |path| fs::write(path, "one\ntwo\n"));
    let config = Config { max_file_bytes: 4, ..Config::default() };
    let taken = machine.manager_with(disk, config).checkpoint(&machine.project(), "r").unwrap();
    let skipped: Vec<&[u8]> = taken.skipped.iter().map(|skipped| &skipped.path[..]).collect();
    assert_eq!(skipped, [b"a.txt"]);
}

#[test]
fn checkpoint_does_not_read_an_unchanged_file_again() {
    let machine = Machine::new();
    // Only files older than the index count as unchanged.
    std::thread::sleep(std::time::Duration::from_millis(30));
    machine.take();
    machine.write("a.txt", "two\n");
    let path = machine.project().join("src/b.txt");
    let disk = before_call(Call::Read, move |read| read == path, |_| panic!("it was read"));
    machine.manager_on(disk).checkpoint(&machine.project(), "r").unwrap();
}

#[test]
fn restore_keeps_a_file_that_has_become_unreadable() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "two\n");
    let path = machine.project().join("a.txt");
    let reads = AtomicUsize::new(0);
    // The pre-restore checkpoint can read the file, later calls cannot.
    let disk = fail_calls(Call::Read, io::ErrorKind::PermissionDenied, move |read| {
        read == path && reads.fetch_add(1, Ordering::Relaxed) > 0
    });
    let restored = machine.restore_on(disk);
    assert_eq!(restored.kept[0].path, b"a.txt");
    assert_eq!(restored.failed, []);
    assert_eq!(fs::read_to_string(machine.project().join("a.txt")).unwrap(), "two\n");
}

#[test]
fn restore_keeps_an_unlistable_directory_in_place_of_a_file() {
    let machine = Machine::new();
    machine.take();
    let path = machine.project().join("a.txt");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let disk =
        fail_calls(Call::List, io::ErrorKind::PermissionDenied, move |listed| listed == path);
    let restored = machine.restore_on(disk);
    assert_eq!(restored.kept[0].path, b"a.txt");
    assert_eq!(restored.failed, []);
}

#[test]
fn checkpoint_treats_a_file_that_vanishes_before_it_is_read_as_absent() {
    for (step, path) in [
        (Call::Stat, "a.txt"),
        (Call::Read, "a.txt"),
        (Call::List, "src"),
        // A vanished ignore file excludes nothing.
        (Call::Read, ".gitignore"),
    ] {
        let machine = Machine::new();
        machine.write(".gitignore", "a.txt\n");
        if path == "a.txt" {
            machine.write(".gitignore", "");
        }
        let vanishing = machine.project().join(path);
        let disk = HookedDisk::new(move |call, path| match call {
            _ if call != step || path != vanishing || !path.exists() => Ok(()),
            Call::List => fs::remove_dir_all(path),
            _ => fs::remove_file(path),
        });
        let taken = machine.manager_on(disk).checkpoint(&machine.project(), "r").unwrap();
        assert!(matches!(taken.outcome, Outcome::Created { .. }), "{path}: {taken:?}");
        assert_eq!(taken.skipped, [], "{path}");
        let diff = machine.manager().diff(&machine.project(), b"1").unwrap();
        assert_eq!(diff.entries, [], "{path}");
    }
}

#[test]
fn status_finds_a_project_whose_name_is_not_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let machine = Machine::new();
    let project = machine.root().join(std::ffi::OsStr::from_bytes(b"p\xff\n\"x"));
    fs::create_dir(&project).unwrap();
    fs::write(project.join("a"), "a\n").unwrap();
    let manager = machine.manager();
    manager.checkpoint(&project, "r").unwrap();
    assert_eq!(manager.status().unwrap().projects[0].state, ProjectState::Live);
}

#[test]
fn checkpoint_reports_a_project_that_vanishes_meanwhile_as_missing_directory() {
    let machine = Machine::new();
    let project = machine.project();
    let doomed = project.clone();
    let is_existing_project = move |path: &Path| path.starts_with(&project) && project.exists();
    let disk = before_call(Call::Read, is_existing_project, move |_| fs::remove_dir_all(&doomed));
    assert_eq!(
        error_code(machine.manager_on(disk).checkpoint(&machine.project(), "r")),
        "missing_directory"
    );
}

#[test]
fn restore_does_not_report_a_file_that_was_changed_right_after_as_restored() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "two\n");
    machine.write("src/b.txt", "three\n");
    let project = machine.project();
    let inside = project.join("src");
    let disk = before_call(
        Call::Rename,
        move |path| path.starts_with(&inside),
        move |_| fs::write(project.join("a.txt"), "theirs\n"),
    );
    let restored = machine.restore_on(disk);
    assert_eq!(restored.restored, [b"src/b.txt"]);
    assert_eq!(restored.failed[0].path, b"a.txt");
    assert!(!restored.undoes_turn);
}

#[test]
fn diff_shows_a_file_that_became_a_link_as_a_deletion_and_an_addition() {
    let machine = Machine::new();
    machine.take();
    let path = machine.project().join("a.txt");
    fs::remove_file(&path).unwrap();
    symlink("src/b.txt", &path).unwrap();
    let diff = machine.manager().diff(&machine.project(), b"1").unwrap();
    let patch = String::from_utf8(diff.patch).unwrap();
    for expected in ["deleted file mode 100644", "new file mode 120000", "-one", "+src/b.txt"] {
        assert!(patch.lines().any(|line| line == expected), "{expected}: {patch}");
    }
    assert!(!patch.contains("old mode"), "{patch}");
}

#[test]
fn checkpoint_accepts_a_folder_that_another_process_creates_at_the_same_time() {
    let machine = Machine::new();
    let disk = before_call(Call::MakeDirectory, |_| true, |path| fs::create_dir(path));
    let taken = machine.manager_on(disk).checkpoint(&machine.project(), "r").unwrap();
    assert!(matches!(taken.outcome, Outcome::Created { .. }), "{taken:?}");
    assert!(machine.git_finds_nothing_broken());
}

#[test]
fn restore_keeps_a_file_that_another_process_writes_meanwhile() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "mine\n");
    machine.write("src/b.txt", "mine\n");
    let project = machine.project();
    let raced = machine.project().join("src/b.txt");
    let is_in_project = move |path: &Path| path.starts_with(&project);
    let disk = before_call(Call::WriteNew, is_in_project, move |_| {
        fs::write(&raced, "written just now\n")
    });
    let options = RestoreOptions { exact: true, force: false };
    let restored = machine.manager_on(disk).restore(&machine.project(), b"1", options).unwrap();
    assert_eq!(restored.kept[0].path, b"src/b.txt");
    let text = fs::read_to_string(machine.project().join("src/b.txt")).unwrap();
    assert_eq!(text, "written just now\n");
}
