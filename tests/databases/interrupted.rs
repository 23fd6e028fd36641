//! Restores of a database that are killed, fail or meet a concurrent write at any call: whoever opens the
//! database sees files from a single moment, or no database.

use crate::maintenance::world::StoreFixture;
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

fn files(entries: &[(&str, String)]) -> Files {
    entries.iter().map(|(name, text)| ((*name).to_owned(), text.clone())).collect()
}

/// The files of the database at the checkpoint.
fn at_checkpoint() -> Files {
    files(&[("app.db", format!("{MAIN}then")), ("app.db-wal", "wal of then".into())])
}

/// The files of the database before the restore.
fn before_restore() -> Files {
    files(&[("app.db", format!("{MAIN}now")), ("app.db-journal", "journal of now".into())])
}

/// The files of the project, without folders.
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

/// The files that a process reads when it opens the database; `None` if it cannot be opened.
fn database_files(dir: &Path) -> Option<Files> {
    let mut files = read(dir);
    files.retain(|name, _| {
        name.starts_with("app.db") && !name.ends_with("-shm") && !name.contains("herma")
    });
    files.contains_key("app.db").then_some(files)
}

/// A project with a checkpoint and a changed database, and the id of the checkpoint.
fn changed_database() -> (StoreFixture, String) {
    let fixture = StoreFixture::new();
    let dir = fixture.project("project");
    fs::create_dir_all(&dir).unwrap();
    write(&dir, &at_checkpoint());
    fixture.manager().checkpoint(&dir, "then").unwrap();
    let id = fixture.manager().list(&dir).unwrap()[0].id.clone();
    write(&dir, &before_restore());
    fs::write(dir.join("app.db-shm"), "shared").unwrap();
    (fixture, id)
}

/// Restores on a disk whose calls fail where the hook, given the number of the call, returns false. Returns the
/// answer and the number of calls.
fn restore_on(
    fixture: &StoreFixture,
    id: &str,
    can_exchange: bool,
    hook: impl Fn(usize) -> bool + Send + Sync + 'static,
) -> (Option<Restored>, usize) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let disk = HookedDisk::new(move |_, _| match hook(counted.fetch_add(1, Ordering::SeqCst)) {
        true => Ok(()),
        false => Err(ErrorKind::Other.into()),
    });
    let disk = if can_exchange { disk } else { disk.without_exchange() };
    let manager = fixture.manager_on(disk, Config::default());
    let options = RestoreOptions::default();
    let restored = manager.restore(&fixture.project("project"), id.as_bytes(), options).ok();
    (restored, calls.load(Ordering::SeqCst))
}

/// Removes git's lock files, which the core would take over only after a delay that is too long for a test.
fn remove_git_locks(fixture: &StoreFixture) {
    for folder in ["", "refs/hermes"] {
        let entries = fs::read_dir(fixture.store().join(folder)).into_iter().flatten();
        let locks = entries.map(|entry| entry.unwrap().path());
        for lock in locks.filter(|path| path.extension().is_some_and(|end| end == "lock")) {
            fs::remove_file(lock).unwrap();
        }
    }
}

#[test]
fn a_database_restore_killed_at_any_call_leaves_no_mix_and_the_next_completes_it() {
    let mut without_anchor = 0;
    for step in 0.. {
        let (fixture, id) = changed_database();
        let dir = fixture.project("project");
        let (_, calls) = restore_on(&fixture, &id, true, move |call| call < step);
        remove_git_locks(&fixture);
        let found = database_files(&dir);
        assert!(
            found.is_none() || found == Some(at_checkpoint()) || found == Some(before_restore()),
            "{step} {found:?}"
        );
        without_anchor += usize::from(found.is_none());
        let completed =
            fixture.manager().restore(&dir, id.as_bytes(), RestoreOptions::default()).unwrap();
        assert!(completed.failed.is_empty() && completed.kept.is_empty(), "{step} {completed:?}");
        assert_eq!(read(&dir), at_checkpoint(), "{step}");
        // The first pre-restore checkpoint holds the files before the restore.
        let listed = fixture.manager().list(&dir).unwrap();
        let first = listed.iter().rev().find(|entry| entry.reason.starts_with("before"));
        let options = RestoreOptions { exact: true, force: false };
        let id = first.unwrap().id.clone();
        let undone = fixture.manager().restore(&dir, id.as_bytes(), options).unwrap();
        assert!(undone.failed.is_empty() && undone.kept.is_empty(), "{step} {undone:?}");
        assert_eq!(read(&dir), before_restore(), "{step}");
        if calls <= step {
            assert!(without_anchor > 5, "{without_anchor} of {step}");
            break;
        }
    }
}

#[test]
fn a_database_restore_with_any_failing_call_is_done_or_undone() {
    for can_exchange in [true, false] {
        for step in 0.. {
            let (fixture, id) = changed_database();
            let dir = fixture.project("project");
            let (answer, calls) = restore_on(&fixture, &id, can_exchange, move |call| call != step);
            remove_git_locks(&fixture);
            let found = database_files(&dir);
            let is_restored = found == Some(at_checkpoint());
            assert!(
                is_restored || found == Some(before_restore()),
                "{can_exchange} {step} {found:?} {answer:?}"
            );
            if let Some(answer) = &answer {
                let reports_restored = answer.restored.contains(&b"app.db".to_vec());
                assert!(
                    reports_restored == is_restored || !answer.failed.is_empty(),
                    "{step} {answer:?}"
                );
            }
            if calls <= step {
                assert!(is_restored, "{answer:?}");
                break;
            }
        }
    }
}

#[test]
fn a_commit_during_a_restore_keeps_all_files_of_the_database() {
    let (fixture, id) = changed_database();
    let dir = fixture.project("project");
    let journal = dir.join("app.db-journal");
    let is_done = AtomicBool::new(false);
    let disk = HookedDisk::new(move |call, path| {
        // The first rename of a file of the project.
        let is_first = call == Call::Rename && path.to_string_lossy().contains("herma-restore");
        if is_first && !is_done.swap(true, Ordering::SeqCst) {
            fs::write(&journal, "another journal").unwrap();
        }
        Ok(())
    });
    let manager = fixture.manager_on(disk, Config::default());
    let answer = manager.restore(&dir, id.as_bytes(), RestoreOptions::default()).unwrap();
    assert!(answer.restored.is_empty() && answer.removed.is_empty(), "{answer:?}");
    let reason = "part of the database app.db, which another process changed during the restore";
    assert!(
        answer.kept.iter().all(|kept| kept.why == reason) && !answer.kept.is_empty(),
        "{answer:?}"
    );
    let mut expected = before_restore();
    expected.insert("app.db-journal".into(), "another journal".into());
    assert_eq!(database_files(&dir), Some(expected));
}
