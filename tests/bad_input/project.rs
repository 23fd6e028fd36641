//! What may be odd about a project: names and permissions, and whoever else works in it at the same
//! moment.

use super::machine::{Machine, code};
use crate::maintenance::world::{before, failing};
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
fn an_unreadable_directory_is_left_out_and_named() {
    let machine = Machine::new();
    fs::set_permissions(machine.project().join("src"), fs::Permissions::from_mode(0o000)).unwrap();
    let taken = machine.manager().checkpoint(&machine.project(), "r").unwrap();
    assert!(matches!(taken.outcome, Outcome::Created { .. }));
    assert_eq!(taken.skipped[0].path, b"src");
    fs::set_permissions(machine.project().join("src"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions_and_gets_the_executable_bits() {
    // What it was, whether it was one to execute when it was captured, and what it is to be.
    for (mode, was_executable, expected) in [
        (0o600, false, 0o600),
        (0o640, true, 0o750),
        (0o604, true, 0o705),
        (0o754, true, 0o755),
        (0o222, true, 0o322),
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

#[test]
fn files_and_folders_come_back_with_the_permissions_that_they_had() {
    let machine = Machine::new();
    let project = machine.project();
    for folder in ["closed", "open"] {
        fs::create_dir(project.join(folder)).unwrap();
    }
    let noted = [
        ("a.txt", 0o644),
        ("key", 0o600),
        ("closed/run", 0o750),
        ("closed", 0o700),
        ("open/b", 0o664),
    ];
    let bits = |path: &str| fs::metadata(project.join(path)).unwrap().permissions().mode() & 0o7777;
    for (path, mode) in noted {
        if !project.join(path).exists() {
            machine.write(path, "one\n");
        }
        fs::set_permissions(project.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    machine.take();
    let open = bits("open");
    fs::remove_dir_all(&project).unwrap();
    machine.restore_on(SystemDisk);
    assert_eq!(noted.map(|(path, _)| (path, bits(path))), noted);
    assert_eq!(bits("open"), open);
}

#[test]
fn what_replaces_a_secret_is_never_open_to_others() {
    let machine = Machine::new();
    machine.take();
    let path = machine.project().join("a.txt");
    machine.write("a.txt", "two\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let project = machine.project();
    let is_ours = move |path: &Path| path.starts_with(&project);
    let bits =
        |path: &Path| fs::metadata(path).map(|metadata| metadata.permissions().mode() & 0o777);
    let disk = before(Call::Rename, is_ours, move |path| {
        assert_eq!(bits(path)?, 0o600);
        Ok(())
    });
    machine.restore_on(disk);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
    assert_eq!(bits(&path).unwrap(), 0o600);
}

#[test]
fn what_may_not_be_looked_at_is_left_out_and_named() {
    let machine = Machine::new();
    let disk =
        failing(Call::Stat, io::ErrorKind::PermissionDenied, move |path| path.ends_with("a.txt"));
    let taken = machine.on(disk).checkpoint(&machine.project(), "r").unwrap();
    assert!(matches!(taken.outcome, Outcome::Created { .. }));
    let skipped: Vec<&[u8]> = taken.skipped.iter().map(|one| &one.path[..]).collect();
    assert_eq!(skipped, [b"a.txt"]);
}

#[test]
fn a_file_that_outgrows_the_cap_while_it_is_read_is_not_captured_in_part() {
    let machine = Machine::new();
    let path = machine.project().join("a.txt");
    let disk = before(Call::Read, move |read| read == path, |path| fs::write(path, "one\ntwo\n"));
    let config = Config { max_file_bytes: 4, ..Config::default() };
    let taken = machine.with(disk, config).checkpoint(&machine.project(), "r").unwrap();
    let skipped: Vec<&[u8]> = taken.skipped.iter().map(|one| &one.path[..]).collect();
    assert_eq!(skipped, [b"a.txt"]);
}

#[test]
fn what_did_not_change_is_not_read_again() {
    let machine = Machine::new();
    // Only what is older than the index is trusted.
    std::thread::sleep(std::time::Duration::from_millis(30));
    machine.take();
    machine.write("a.txt", "two\n");
    let path = machine.project().join("src/b.txt");
    let disk = before(Call::Read, move |read| read == path, |_| panic!("it was read"));
    machine.on(disk).checkpoint(&machine.project(), "r").unwrap();
}

#[test]
fn what_may_not_be_read_any_more_is_kept() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "two\n");
    let (path, reads) = (machine.project().join("a.txt"), AtomicUsize::new(0));
    // It is read for the checkpoint before, and then no more.
    let disk = failing(Call::Read, io::ErrorKind::PermissionDenied, move |read| {
        read == path && reads.fetch_add(1, Ordering::Relaxed) > 0
    });
    let restored = machine.restore_on(disk);
    assert_eq!(restored.kept[0].path, b"a.txt");
    assert_eq!(restored.failed, []);
    assert_eq!(fs::read_to_string(machine.project().join("a.txt")).unwrap(), "two\n");
}

#[test]
fn a_directory_that_may_not_be_looked_into_is_kept_where_a_file_was() {
    let machine = Machine::new();
    machine.take();
    let path = machine.project().join("a.txt");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let disk = failing(Call::List, io::ErrorKind::PermissionDenied, move |listed| listed == path);
    let restored = machine.restore_on(disk);
    assert_eq!(restored.kept[0].path, b"a.txt");
    assert_eq!(restored.failed, []);
}

#[test]
fn what_vanishes_before_it_is_looked_at_or_read_is_simply_not_there() {
    for (step, path) in [
        (Call::Stat, "a.txt"),
        (Call::Read, "a.txt"),
        (Call::List, "src"),
        // Then it excludes nothing either.
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
        let taken = machine.on(disk).checkpoint(&machine.project(), "r").unwrap();
        assert!(matches!(taken.outcome, Outcome::Created { .. }), "{path}: {taken:?}");
        assert_eq!(taken.skipped, [], "{path}");
        let diff = machine.manager().diff(&machine.project(), b"1").unwrap();
        assert_eq!(diff.entries, [], "{path}");
    }
}

#[test]
fn a_project_whose_name_is_no_text_is_there() {
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
fn a_project_that_vanishes_while_it_is_captured_is_said_to_be_missing() {
    let machine = Machine::new();
    let project = machine.project();
    let doomed = project.clone();
    let is_there = move |path: &Path| path.starts_with(&project) && project.exists();
    let disk = before(Call::Read, is_there, move |_| fs::remove_dir_all(&doomed));
    assert_eq!(code(machine.on(disk).checkpoint(&machine.project(), "r")), "missing_directory");
}

#[test]
fn what_somebody_changes_after_it_came_back_is_not_called_restored() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "two\n");
    machine.write("src/b.txt", "three\n");
    let project = machine.project();
    let inside = project.join("src");
    let disk = before(
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
fn a_file_that_became_a_link_is_one_gone_and_one_come_in_a_patch() {
    let machine = Machine::new();
    machine.take();
    let path = machine.project().join("a.txt");
    fs::remove_file(&path).unwrap();
    symlink("src/b.txt", &path).unwrap();
    let diff = machine.manager().diff(&machine.project(), b"1").unwrap();
    let patch = String::from_utf8(diff.patch).unwrap();
    for line in ["deleted file mode 100644", "new file mode 120000", "-one", "+src/b.txt"] {
        assert!(patch.lines().any(|one| one == line), "{line}: {patch}");
    }
    assert!(!patch.contains("old mode"), "{patch}");
}

#[test]
fn a_folder_that_another_process_makes_at_the_same_moment_is_as_good() {
    let machine = Machine::new();
    let disk = before(Call::MakeDirectory, |_| true, |path| fs::create_dir(path));
    let taken = machine.on(disk).checkpoint(&machine.project(), "r").unwrap();
    assert!(matches!(taken.outcome, Outcome::Created { .. }), "{taken:?}");
    assert!(machine.git_finds_nothing_broken());
}

#[test]
fn what_somebody_writes_while_a_restore_runs_is_kept() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "mine\n");
    machine.write("src/b.txt", "mine\n");
    let (project, raced) = (machine.project(), machine.project().join("src/b.txt"));
    let is_ours = move |path: &Path| path.starts_with(&project);
    let disk = before(Call::WriteNew, is_ours, move |_| fs::write(&raced, "written just now\n"));
    let options = RestoreOptions { exact: true, force: false };
    let restored = machine.on(disk).restore(&machine.project(), b"1", options).unwrap();
    assert_eq!(restored.kept[0].path, b"src/b.txt");
    let text = fs::read_to_string(machine.project().join("src/b.txt")).unwrap();
    assert_eq!(text, "written just now\n");
}
