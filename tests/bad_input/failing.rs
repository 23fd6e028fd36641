//! Failing disk calls: nothing is lost that is not in a checkpoint, and the answer reports what could not be
//! done.

use super::machine::{Machine, at_each_call, error_code};
use crate::maintenance::world::fail_calls;
use herma_core::{Config, RestoreOptions};
use herma_harness::sandbox::bytes_below;
use herma_harness::subject::{Call, HookedDisk};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

#[test]
fn restore_with_any_failing_call_loses_no_content_that_is_not_in_a_checkpoint() {
    let steps = at_each_call(|step| {
        let machine = Machine::new();
        machine.write("big.txt", "small\n");
        machine.take();
        // The file is ignored now, so that no checkpoint holds its content.
        machine.write(".gitignore", "big.txt\n");
        machine.write("big.txt", "the only copy\n");
        machine.write("a.txt", "the newest copy\n");
        let disk = step.failing_disk(io::ErrorKind::PermissionDenied);
        let options = RestoreOptions { exact: true, force: false };
        let restored = machine.manager_on(disk).restore(&machine.project(), b"1", options);
        let step = step.number;
        let text = |path: &str| fs::read_to_string(machine.project().join(path)).unwrap();
        for (path, content) in [("big.txt", "the only copy\n"), ("a.txt", "the newest copy\n")] {
            if text(path) == content {
                continue;
            }
            let pre_restore = restored.as_ref().ok().and_then(|restored| restored.safety.clone());
            let pre_restore =
                pre_restore.unwrap_or_else(|| panic!("step {step}: {path} is not held"));
            let project = machine.project();
            let id = pre_restore.as_bytes();
            machine.manager().restore_file(&project, id, path.as_bytes()).unwrap();
            assert_eq!(text(path), content, "step {step}: {path} is lost");
        }
    });
    assert!(steps > 40, "only {steps} steps failed");
}

#[test]
fn a_partly_failed_restore_names_the_paths_that_it_could_not_restore() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "two\n");
    machine.write("src/b.txt", "three\n");
    let project = machine.project();
    let failing_folder = project.join("src");
    let disk = HookedDisk::new(move |call, path| {
        let writes = matches!(call, Call::WriteNew | Call::MakeLink);
        if writes && path.starts_with(&failing_folder) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    });
    let restored = machine.restore_on(disk);
    assert_eq!(restored.restored, [b"a.txt".to_vec()]);
    assert_eq!(restored.failed[0].path, b"src/b.txt");
    assert!(!restored.undoes_turn);
    assert_eq!(fs::read_to_string(project.join("src/b.txt")).unwrap(), "three\n");
    let again = machine.manager().restore(&project, b"1", RestoreOptions::default()).unwrap();
    assert!(again.failed.is_empty());
    assert_eq!(fs::read_to_string(project.join("src/b.txt")).unwrap(), "two\n");
}

#[test]
fn a_partly_failed_restore_does_not_evict_its_target() {
    let machine = Machine::new();
    let target = machine.take();
    machine.write("src/b.txt", "three\n");
    machine.take();
    machine.write("src/b.txt", "four\n");
    let project = machine.project();
    let disk = fail_calls(Call::WriteNew, io::ErrorKind::StorageFull, move |path| {
        path.starts_with(&project)
    });
    let config = Config { max_snapshots: 2, ..Config::default() };
    let restored = machine.manager_with(disk, config).restore(
        &machine.project(),
        b"2",
        RestoreOptions::default(),
    );
    assert_eq!(restored.unwrap().failed[0].path, b"src/b.txt");
    let again =
        machine.manager().restore(&machine.project(), target.as_bytes(), RestoreOptions::default());
    assert_eq!(again.unwrap().restored, [b"src/b.txt"]);
}

#[test]
fn restore_moves_no_file_into_place_before_it_is_synced() {
    for files in [2, 40] {
        let machine = Machine::new();
        (0..files).for_each(|number| machine.write(&format!("{number}.txt"), "one\n"));
        machine.take();
        (0..files).for_each(|number| machine.write(&format!("{number}.txt"), "two\n"));
        let project = machine.project();
        let is_in_project = move |path: &Path| path.starts_with(&project);
        let disk = fail_calls(Call::SyncFile, io::ErrorKind::StorageFull, is_in_project);
        let restored = machine.restore_on(disk);
        assert_eq!((restored.restored.len(), restored.failed.len()), (0, files), "{restored:?}");
        for entry in fs::read_dir(machine.project()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.starts_with(".herma"), "{name} stays");
        }
        assert_eq!(fs::read_to_string(machine.project().join("1.txt")).unwrap(), "two\n");
    }
}

#[test]
fn checkpoint_moves_no_object_into_place_before_it_is_synced() {
    let machine = Machine::new();
    machine.write("a.txt", "one\n");
    machine.take();
    let objects = machine.base().join("store/objects");
    let before = bytes_below(&objects).unwrap();
    machine.write("a.txt", "two\n");
    let disk = fail_calls(Call::SyncFile, io::ErrorKind::StorageFull, |_| true);
    let taken = machine.manager_on(disk).checkpoint(&machine.project(), "r");
    assert_eq!(error_code(taken), "no_space");
    assert_eq!(bytes_below(&objects).unwrap(), before);
}

#[test]
fn restore_retries_files_that_do_not_fit_on_the_disk_next_to_staged_files() {
    let machine = Machine::new();
    machine.write("c.txt", "one\n");
    machine.take();
    for name in ["a.txt", "c.txt"] {
        machine.write(name, "two\n");
    }
    let project = machine.project();
    let disk = HookedDisk::new(move |call, path| {
        let staged = fs::read_dir(&project)?.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name().into_string().unwrap();
            name.starts_with(".herma")
        });
        let is_full = call == Call::WriteNew && path.starts_with(&project) && staged.count() > 0;
        if is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    });
    let restored = machine.restore_on(disk);
    assert_eq!(restored.restored, [b"a.txt", b"c.txt"]);
}

#[test]
fn checkpoint_does_not_wait_for_a_lock_that_cannot_be_written() {
    let machine = Machine::new();
    let disk = fail_calls(Call::WriteNew, io::ErrorKind::StorageFull, move |path| {
        path.extension().is_some_and(|end| end == "lock")
    });
    assert_eq!(
        error_code(machine.manager_on(disk).checkpoint(&machine.project(), "r")),
        "no_space"
    );
}

#[test]
fn restore_does_not_write_through_a_link_that_it_cannot_remove() {
    let machine = Machine::new();
    machine.take();
    let outside = machine.root().join("outside");
    let link = machine.project().join("src");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("b.txt"), "not ours\n").unwrap();
    fs::remove_dir_all(&link).unwrap();
    symlink(&outside, &link).unwrap();
    let disk = fail_calls(Call::Rename, io::ErrorKind::PermissionDenied, move |path| path == link);
    let restored = machine.restore_on(disk);
    assert_eq!(fs::read_to_string(outside.join("b.txt")).unwrap(), "not ours\n");
    assert!(restored.restored.is_empty());
    assert!(restored.failed.iter().any(|failed| failed.path == b"src/b.txt"));
}
