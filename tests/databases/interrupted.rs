//! Restores of a database that die, fail or are disturbed at any step: whoever opens it opens the files
//! of one moment, or nothing.

use crate::maintenance::world::World;
use herma_core::{Config, RestoreOptions, Restored};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

type Files = BTreeMap<String, String>;

const MAIN: &str = "SQLite format 3\0";

fn files(all: &[(&str, String)]) -> Files {
    all.iter().map(|(name, text)| ((*name).to_owned(), text.clone())).collect()
}

/// The database at the checkpoint, and now.
fn then() -> Files {
    files(&[("app.db", format!("{MAIN}then")), ("app.db-wal", "wal of then".into())])
}

fn now() -> Files {
    files(&[("app.db", format!("{MAIN}now")), ("app.db-journal", "journal of now".into())])
}

/// The files of the project; a folder counts as nothing.
fn read(dir: &Path) -> Files {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let text = |path: &Path| String::from_utf8(fs::read(path).unwrap()).unwrap();
    files.map(|file| (file.file_name().into_string().unwrap(), text(&file.path()))).collect()
}

fn write(dir: &Path, files: &Files) {
    for name in read(dir).keys() {
        fs::remove_file(dir.join(name)).unwrap();
    }
    files.iter().for_each(|(name, text)| fs::write(dir.join(name), text).unwrap());
}

/// What somebody who opens the database reads; none where nobody can open it.
fn opened(dir: &Path) -> Option<Files> {
    let mut files = read(dir);
    files.retain(|name, _| {
        name.starts_with("app.db") && !name.ends_with("-shm") && !name.contains("herma")
    });
    files.contains_key("app.db").then_some(files)
}

/// A project in which the database is as it is now, and the id of the checkpoint.
fn ready() -> (World, String) {
    let world = World::new();
    let dir = world.project("project");
    fs::create_dir_all(&dir).unwrap();
    write(&dir, &then());
    world.manager().checkpoint(&dir, "then").unwrap();
    let id = world.manager().list(&dir).unwrap()[0].id.clone();
    write(&dir, &now());
    fs::write(dir.join("app.db-shm"), "shared").unwrap();
    (world, id)
}

/// Restores on a disk of which that hook decides, with the number of each call; and how many there were.
fn restores(
    world: &World,
    id: &str,
    exchanges: bool,
    hook: impl Fn(usize) -> bool + Send + Sync + 'static,
) -> (Option<Restored>, usize) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let disk = HookedDisk::new(move |_, _| match hook(counted.fetch_add(1, Ordering::SeqCst)) {
        true => Ok(()),
        false => Err(ErrorKind::Other.into()),
    });
    let disk = if exchanges { disk } else { disk.without_exchange() };
    let manager = world.on(disk, Config::default());
    let options = RestoreOptions::default();
    let restored = manager.restore(&world.project("project"), id.as_bytes(), options).ok();
    (restored, calls.load(Ordering::SeqCst))
}

/// Git's locks would be taken over after a while, which no test has.
fn without_locks(world: &World) {
    for folder in ["", "refs/hermes"] {
        let entries = fs::read_dir(world.store().join(folder)).into_iter().flatten();
        let locks = entries.map(|entry| entry.unwrap().path());
        for lock in locks.filter(|path| path.extension().is_some_and(|end| end == "lock")) {
            fs::remove_file(lock).unwrap();
        }
    }
}

#[test]
fn a_restore_of_a_database_that_dies_at_any_call_leaves_no_mix_and_is_completed_by_the_next() {
    let mut without_anchor = 0;
    for step in 0.. {
        let (world, id) = ready();
        let dir = world.project("project");
        let (_, calls) = restores(&world, &id, true, move |call| call < step);
        without_locks(&world);
        let found = opened(&dir);
        assert!(
            found.is_none() || found == Some(then()) || found == Some(now()),
            "{step} {found:?}"
        );
        without_anchor += usize::from(found.is_none());
        let again =
            world.manager().restore(&dir, id.as_bytes(), RestoreOptions::default()).unwrap();
        assert!(again.failed.is_empty() && again.kept.is_empty(), "{step} {again:?}");
        assert_eq!(read(&dir), then(), "{step}");
        // The first pre-restore checkpoint holds what was there.
        let listed = world.manager().list(&dir).unwrap();
        let first = listed.iter().rev().find(|one| one.reason.starts_with("before"));
        let options = RestoreOptions { exact: true, force: false };
        let id = first.unwrap().id.clone();
        let undone = world.manager().restore(&dir, id.as_bytes(), options).unwrap();
        assert!(undone.failed.is_empty() && undone.kept.is_empty(), "{step} {undone:?}");
        assert_eq!(read(&dir), now(), "{step}");
        if calls <= step {
            assert!(without_anchor > 5, "{without_anchor} of {step}");
            break;
        }
    }
}

#[test]
fn a_restore_of_a_database_of_which_any_call_fails_is_done_or_taken_back() {
    for exchanges in [true, false] {
        for step in 0.. {
            let (world, id) = ready();
            let dir = world.project("project");
            let (answer, calls) = restores(&world, &id, exchanges, move |call| call != step);
            without_locks(&world);
            let found = opened(&dir);
            let is_then = found == Some(then());
            assert!(is_then || found == Some(now()), "{exchanges} {step} {found:?} {answer:?}");
            if let Some(answer) = &answer {
                let said = answer.restored.contains(&b"app.db".to_vec());
                assert!(said == is_then || !answer.failed.is_empty(), "{step} {answer:?}");
            }
            if calls <= step {
                assert!(is_then, "{answer:?}");
                break;
            }
        }
    }
}

#[test]
fn a_commit_while_a_database_is_restored_keeps_all_of_it() {
    let (world, id) = ready();
    let dir = world.project("project");
    let (journal, is_done) = (dir.join("app.db-journal"), AtomicBool::new(false));
    let disk = HookedDisk::new(move |call, path| {
        // The first file of the project that moves.
        let is_first = call == Call::Rename && path.to_string_lossy().contains("herma-restore");
        if is_first && !is_done.swap(true, Ordering::SeqCst) {
            fs::write(&journal, "another journal").unwrap();
        }
        Ok(())
    });
    let manager = world.on(disk, Config::default());
    let answer = manager.restore(&dir, id.as_bytes(), RestoreOptions::default()).unwrap();
    assert!(answer.restored.is_empty() && answer.removed.is_empty(), "{answer:?}");
    let why = "part of the database app.db, which changed while the restore ran";
    assert!(
        answer.kept.iter().all(|kept| kept.why == why) && !answer.kept.is_empty(),
        "{answer:?}"
    );
    let mut now = now();
    now.insert("app.db-journal".into(), "another journal".into());
    assert_eq!(opened(&dir), Some(now));
}
