//! What may be odd about a project: names and permissions, and whoever else works in it at the same
//! moment.

use super::machine::{Machine, code};
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
fn files_that_cannot_be_read_do_not_count_towards_the_limit() {
    let machine = Machine::new();
    symlink("nowhere", machine.project().join("link")).unwrap();
    for closed in ["closed.txt", "other.txt"] {
        machine.write(closed, "mine\n");
        let closed = machine.project().join(closed);
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    }
    let limited = |max_files| {
        let config = Config { max_files, ..Config::default() };
        machine.with(HookedDisk::of_an_ordinary_user(), config)
    };
    assert_eq!(code(limited(2).checkpoint(&machine.project(), "r")), "too_many_files");
    let taken = limited(3).checkpoint(&machine.project(), "r").unwrap();
    assert!(matches!(taken.outcome, Outcome::Created { .. }), "{taken:?}");
    let skipped: Vec<&[u8]> = taken.skipped.iter().map(|one| &one.path[..]).collect();
    assert_eq!(skipped, [&b"closed.txt"[..], b"other.txt"]);
}

#[test]
fn a_file_that_only_its_owner_may_read_stays_that_way() {
    let machine = Machine::new();
    let path = machine.project().join("a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    machine.take();
    machine.write("a.txt", "two\n");
    machine.manager().restore(&machine.project(), b"1", RestoreOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions_and_gets_the_executable_bits() {
    // What it was, whether it was one to execute when it was captured, and what it is to be.
    for (mode, was_executable, expected) in [
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
        machine
            .on(SystemDisk)
            .restore(&machine.project(), b"1", RestoreOptions::default())
            .unwrap();
        let found = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(found, expected, "{mode:o} is {found:o}");
    }
}

#[test]
fn what_replaces_a_secret_is_never_open_to_others() {
    let machine = Machine::new();
    machine.take();
    let path = machine.project().join("a.txt");
    machine.write("a.txt", "two\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let project = machine.project();
    let disk = HookedDisk::new(move |call, path| {
        if call == Call::SetMode && path.starts_with(&project) {
            assert_eq!(fs::metadata(path)?.permissions().mode() & 0o777, 0o600);
        }
        Ok(())
    });
    machine.on(disk).restore(&machine.project(), b"1", RestoreOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
}

#[test]
fn what_may_not_be_looked_at_is_left_out_and_named() {
    let machine = Machine::new();
    let disk = HookedDisk::new(|call, path| {
        if call == Call::Stat && path.ends_with("a.txt") {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    });
    let taken = machine.on(disk).checkpoint(&machine.project(), "r").unwrap();
    assert!(matches!(taken.outcome, Outcome::Created { .. }));
    let skipped: Vec<&[u8]> = taken.skipped.iter().map(|one| &one.path[..]).collect();
    assert_eq!(skipped, [b"a.txt"]);
}

#[test]
fn a_file_that_outgrows_the_cap_while_it_is_read_is_not_captured_in_part() {
    let machine = Machine::new();
    let path = machine.project().join("a.txt");
    let disk = HookedDisk::new(move |call, read| {
        if call == Call::Read && read == path {
            fs::write(&path, "one\ntwo\n")?;
        }
        Ok(())
    });
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
    let disk = HookedDisk::new(move |call, read| {
        assert!(call != Call::Read || read != path, "it was read");
        Ok(())
    });
    machine.on(disk).checkpoint(&machine.project(), "r").unwrap();
}

#[test]
fn an_ignored_file_that_is_as_recorded_is_in_nobodys_way() {
    let machine = Machine::new();
    machine.take();
    machine.write(".gitignore", "a.txt\n");
    let restored =
        machine.manager().restore(&machine.project(), b"1", RestoreOptions::default()).unwrap();
    assert_eq!((restored.kept, restored.restored), (vec![], vec![]));
    machine.write("a.txt", "two\n");
    let restored =
        machine.manager().restore(&machine.project(), b"2", RestoreOptions::default()).unwrap();
    assert_eq!(restored.kept[0].path, b"a.txt");
}

#[test]
fn what_may_not_be_read_any_more_is_kept() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "two\n");
    let (path, reads) = (machine.project().join("a.txt"), AtomicUsize::new(0));
    let disk = HookedDisk::new(move |call, read| {
        // It is read for the checkpoint before, and then no more.
        if call == Call::Read && read == path && reads.fetch_add(1, Ordering::Relaxed) > 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    });
    let restored =
        machine.on(disk).restore(&machine.project(), b"1", RestoreOptions::default()).unwrap();
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
    let disk = HookedDisk::new(move |call, listed| match call {
        Call::List if listed == path => Err(io::ErrorKind::PermissionDenied.into()),
        _ => Ok(()),
    });
    let restored =
        machine.on(disk).restore(&machine.project(), b"1", RestoreOptions::default()).unwrap();
    assert_eq!(restored.kept[0].path, b"a.txt");
    assert_eq!(restored.failed, []);
}

#[test]
fn a_directory_that_vanishes_before_it_is_read_is_simply_not_there() {
    let machine = Machine::new();
    let path = machine.project().join("src");
    let disk = HookedDisk::new(move |call, listed| {
        if call == Call::List && listed == path {
            fs::remove_dir_all(&path)?;
        }
        Ok(())
    });
    machine.on(disk).checkpoint(&machine.project(), "r").unwrap();
    assert_eq!(machine.manager().diff(&machine.project(), b"1").unwrap().entries, []);
}

#[test]
fn a_file_that_is_called_like_one_of_ours_is_let_be() {
    let machine = Machine::new();
    machine.take();
    let theirs = machine.project().join(".herma-restore-0");
    fs::write(&theirs, "theirs").unwrap();
    machine.write("a.txt", "two\n");
    machine.manager().restore(&machine.project(), b"1", RestoreOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(machine.project().join("a.txt")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(theirs).unwrap(), "theirs");
}

#[test]
fn a_project_that_vanishes_while_it_is_captured_is_said_to_be_missing() {
    let machine = Machine::new();
    let project = machine.project();
    let disk = HookedDisk::new(move |call, path| {
        if call == Call::Read && path.starts_with(&project) && project.exists() {
            fs::remove_dir_all(&project)?;
        }
        Ok(())
    });
    assert_eq!(code(machine.on(disk).checkpoint(&machine.project(), "r")), "missing_directory");
}

#[test]
fn a_file_that_vanishes_before_it_is_read_is_simply_not_there() {
    let machine = Machine::new();
    let path = machine.project().join("a.txt");
    let disk = HookedDisk::new(move |call, read| {
        if call == Call::Read && read == path && path.exists() {
            fs::remove_file(&path)?;
        }
        Ok(())
    });
    let taken = machine.on(disk).checkpoint(&machine.project(), "r").unwrap();
    assert_eq!(taken.skipped, []);
    assert_eq!(machine.manager().diff(&machine.project(), b"1").unwrap().entries, []);
}

#[test]
fn what_somebody_changes_after_it_came_back_is_not_called_restored() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "two\n");
    machine.write("src/b.txt", "three\n");
    let project = machine.project();
    let disk = HookedDisk::new(move |call, path| {
        if call == Call::WriteNew && path.starts_with(project.join("src")) {
            fs::write(project.join("a.txt"), "theirs\n")?;
        }
        Ok(())
    });
    let restored =
        machine.on(disk).restore(&machine.project(), b"1", RestoreOptions::default()).unwrap();
    assert_eq!(restored.restored, [b"src/b.txt"]);
    assert_eq!(restored.failed[0].path, b"a.txt");
    assert!(!restored.undoes_turn);
}

#[test]
fn one_file_comes_back_where_an_empty_directory_stands() {
    let machine = Machine::new();
    machine.take();
    let path = machine.project().join("a.txt");
    fs::remove_file(&path).unwrap();
    fs::create_dir_all(path.join("inside")).unwrap();
    fs::write(path.join("inside/file"), "").unwrap();
    let restored = || machine.manager().restore_file(&machine.project(), b"1", b"a.txt");
    assert_eq!(code(restored()), "would_overwrite");
    fs::remove_file(path.join("inside/file")).unwrap();
    assert_eq!(restored().unwrap().restored, [b"a.txt"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
}

#[test]
fn an_ignore_file_that_vanishes_before_it_is_read_excludes_nothing() {
    let machine = Machine::new();
    machine.write(".gitignore", "a.txt\n");
    let path = machine.project().join(".gitignore");
    let disk = HookedDisk::new(move |call, read| {
        if call == Call::Read && read == path && path.exists() {
            fs::remove_file(&path)?;
        }
        Ok(())
    });
    machine.on(disk).checkpoint(&machine.project(), "r").unwrap();
    assert_eq!(machine.manager().diff(&machine.project(), b"1").unwrap().entries, []);
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
fn an_ignore_file_alone_in_its_folder_may_cover_itself() {
    let machine = Machine::new();
    fs::create_dir(machine.project().join("built")).unwrap();
    machine.write("built/.gitignore", "*\n");
    machine.take();
    fs::remove_dir_all(machine.project().join("built")).unwrap();
    let again = machine.manager().checkpoint(&machine.project(), "again").unwrap();
    assert_eq!(again.outcome, Outcome::Unchanged, "it was captured");
}

#[test]
fn a_project_whose_name_is_no_text_is_one_like_any_other() {
    use std::os::unix::ffi::OsStrExt;
    let machine = Machine::new();
    let project = machine.root().join(std::ffi::OsStr::from_bytes(b"p\xff\n\"x"));
    fs::create_dir(&project).unwrap();
    fs::write(project.join("a"), "a\n").unwrap();
    symlink("nowhere", project.join("dangling")).unwrap();
    let manager = machine.manager();
    manager.checkpoint(&project, "r").unwrap();
    fs::remove_file(project.join("dangling")).unwrap();
    let restored = manager.restore(&project, b"1", RestoreOptions::default()).unwrap();
    assert_eq!(restored.restored, [b"dangling".to_vec()]);
    assert_eq!(fs::read_link(project.join("dangling")).unwrap(), Path::new("nowhere"));
    assert_eq!(manager.status().unwrap().projects[0].state, ProjectState::Live);
}

#[test]
fn a_file_that_vanishes_before_it_is_looked_at_is_simply_not_there() {
    let machine = Machine::new();
    let vanishing = machine.project().join("a.txt");
    let disk = HookedDisk::new(move |call, path| match call {
        Call::Stat if path == vanishing && path.exists() => fs::remove_file(path),
        _ => Ok(()),
    });
    let taken = machine.on(disk).checkpoint(&machine.project(), "r").unwrap();
    assert!(matches!(taken.outcome, Outcome::Created { .. }), "{taken:?}");
    assert!(taken.skipped.is_empty(), "{taken:?}");
}

#[test]
fn a_folder_that_another_process_makes_at_the_same_moment_is_as_good() {
    let machine = Machine::new();
    let disk = HookedDisk::new(|call, path| match call {
        Call::MakeDirectory => fs::create_dir(path),
        _ => Ok(()),
    });
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
    let disk = HookedDisk::new(move |call, path| {
        if call == Call::WriteNew && path.starts_with(&project) {
            fs::write(&raced, "written just now\n")?;
        }
        Ok(())
    });
    let options = RestoreOptions { exact: true, force: false };
    let restored = machine.on(disk).restore(&machine.project(), b"1", options).unwrap();
    assert_eq!(restored.kept[0].path, b"src/b.txt");
    let text = fs::read_to_string(machine.project().join("src/b.txt")).unwrap();
    assert_eq!(text, "written just now\n");
}
