//! Any call to the disk may fail, or find the project gone: nothing is lost that a checkpoint does
//! not hold, and what could not be done is said.

use super::machine::{Machine, at_each_call, code};
use crate::maintenance::world::failing;
use herma_core::{Config, RestoreOptions};
use herma_harness::subject::{Call, HookedDisk};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;

#[test]
fn whatever_call_fails_a_restore_destroys_nothing_that_is_not_held() {
    let steps = at_each_call(|step| {
        let machine = Machine::new();
        machine.write("big.txt", "small\n");
        machine.take();
        // Ignored by now, so that no checkpoint holds what is in it.
        machine.write(".gitignore", "big.txt\n");
        machine.write("big.txt", "the only copy\n");
        machine.write("a.txt", "the newest copy\n");
        let disk = step.failing(io::ErrorKind::PermissionDenied);
        let options = RestoreOptions { exact: true, force: false };
        let restored = machine.on(disk).restore(&machine.project(), b"1", options);
        let step = step.number;
        let text = |path: &str| fs::read_to_string(machine.project().join(path)).unwrap();
        for (path, content) in [("big.txt", "the only copy\n"), ("a.txt", "the newest copy\n")] {
            if text(path) == content {
                continue;
            }
            let safety = restored.as_ref().ok().and_then(|restored| restored.safety.clone());
            let safety = safety.unwrap_or_else(|| panic!("step {step}: {path} is not held"));
            let (project, id) = (machine.project(), safety.as_bytes());
            machine.manager().restore_file(&project, id, path.as_bytes()).unwrap();
            assert_eq!(text(path), content, "step {step}: {path} is lost");
        }
    });
    assert!(steps > 40, "only {steps} steps failed");
}

#[test]
fn a_restore_that_fails_half_way_names_what_it_could_not_bring_back() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "two\n");
    machine.write("src/b.txt", "three\n");
    let project = machine.project();
    let failing = project.join("src");
    let disk = HookedDisk::new(move |call, path| {
        let writes = matches!(call, Call::WriteNew | Call::MakeLink);
        if writes && path.starts_with(&failing) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    });
    let restored = machine.restore_on(disk);
    assert_eq!(restored.restored, [b"a.txt".to_vec()]);
    assert_eq!(restored.failed[0].path, b"src/b.txt");
    assert!(!restored.undoes_turn);
    assert_eq!(fs::read_to_string(project.join("src/b.txt")).unwrap(), "three\n");
    let again = machine.manager().restore(&project, b"2", RestoreOptions::default()).unwrap();
    assert!(again.failed.is_empty());
    assert_eq!(fs::read_to_string(project.join("src/b.txt")).unwrap(), "two\n");
}

#[test]
fn a_restore_that_fails_half_way_leaves_its_target_to_be_tried_again() {
    let machine = Machine::new();
    let target = machine.take();
    machine.write("src/b.txt", "three\n");
    machine.take();
    machine.write("src/b.txt", "four\n");
    let project = machine.project();
    let disk =
        failing(Call::WriteNew, io::ErrorKind::StorageFull, move |path| path.starts_with(&project));
    let two = Config { max_snapshots: 2, ..Config::default() };
    let restored =
        machine.with(disk, two).restore(&machine.project(), b"2", RestoreOptions::default());
    assert_eq!(restored.unwrap().failed[0].path, b"src/b.txt");
    let again =
        machine.manager().restore(&machine.project(), target.as_bytes(), RestoreOptions::default());
    assert_eq!(again.unwrap().restored, [b"src/b.txt"]);
}

#[test]
fn no_file_takes_its_place_before_it_is_durable() {
    for files in [2, 40] {
        let machine = Machine::new();
        (0..files).for_each(|number| machine.write(&format!("{number}.txt"), "one\n"));
        machine.take();
        (0..files).for_each(|number| machine.write(&format!("{number}.txt"), "two\n"));
        let disk = failing(Call::SyncFile, io::ErrorKind::StorageFull, |_| true);
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
fn what_does_not_fit_beside_what_waits_for_its_place_is_tried_again_after_it() {
    let machine = Machine::new();
    machine.write("c.txt", "one\n");
    machine.take();
    for name in ["a.txt", "c.txt"] {
        machine.write(name, "two\n");
    }
    let project = machine.project();
    let disk = HookedDisk::new(move |call, path| {
        let waiting = fs::read_dir(&project)?.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name().into_string().unwrap();
            name.starts_with(".herma")
        });
        let is_full = call == Call::WriteNew && path.starts_with(&project) && waiting.count() > 0;
        if is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    });
    let restored = machine.restore_on(disk);
    assert_eq!(restored.restored, [b"a.txt", b"c.txt"]);
}

#[test]
fn a_lock_that_cannot_be_written_is_not_waited_for() {
    let machine = Machine::new();
    let disk = failing(Call::WriteNew, io::ErrorKind::StorageFull, move |path| {
        path.extension().is_some_and(|end| end == "lock")
    });
    assert_eq!(code(machine.on(disk).checkpoint(&machine.project(), "r")), "no_space");
}

#[test]
fn a_link_that_cannot_be_removed_is_not_written_through() {
    let machine = Machine::new();
    machine.take();
    let (outside, link) = (machine.root().join("outside"), machine.project().join("src"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("b.txt"), "not ours\n").unwrap();
    fs::remove_dir_all(&link).unwrap();
    symlink(&outside, &link).unwrap();
    let disk = failing(Call::Rename, io::ErrorKind::PermissionDenied, move |path| path == link);
    let restored = machine.restore_on(disk);
    assert_eq!(fs::read_to_string(outside.join("b.txt")).unwrap(), "not ours\n");
    assert!(restored.restored.is_empty());
    assert!(restored.failed.iter().any(|failed| failed.path == b"src/b.txt"));
}
