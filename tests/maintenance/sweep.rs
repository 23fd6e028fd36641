//! `sweep`: when the automatic prune runs, and that it disturbs no other request.

use crate::maintenance::world::{DAY, NOON, StoreFixture, before_call, fail_calls};
use herma_core::disk::SystemDisk;
use herma_core::{Config, PruneOptions, Pruned, Swept};
use herma_harness::subject::Call;
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

fn orphaned() -> StoreFixture {
    let fixture = StoreFixture::new();
    fixture.take("gone", "one");
    fs::remove_dir_all(fixture.project("gone")).unwrap();
    fixture
}

fn is_done(swept: Swept) -> bool {
    matches!(swept, Swept::Done(_))
}

#[test]
fn only_one_of_two_concurrent_sweeps_prunes() {
    let no_store = StoreFixture::new();
    fs::create_dir_all(no_store.base()).unwrap();
    for fixture in [orphaned(), no_store] {
        assert_only_one_sweep_prunes(&fixture);
    }
}

fn assert_only_one_sweep_prunes(fixture: &StoreFixture) {
    let other_process = fixture.manager();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let recorded = answers.clone();
    // Another process sweeps before the first records its sweep.
    let base = fixture.base();
    let is_marker = move |path: &Path| path.parent() == Some(&base);
    let disk = before_call(Call::WriteNew, is_marker, move |_| {
        recorded.lock().unwrap().push(other_process.sweep());
        Ok(())
    });
    assert!(is_done(fixture.manager_on(disk, Config::default()).sweep()));
    assert_eq!(*answers.lock().unwrap(), [Swept::NotDue]);
    assert_eq!(fixture.manager().sweep(), Swept::NotDue);
}

#[test]
fn a_sweep_is_recorded_although_a_concurrent_prune_removes_temporary_files() {
    let fixture = orphaned();
    let staged = fixture.base().join(".last_prune-0");
    let other_process = fixture.manager();
    let once = AtomicBool::new(true);
    let options = PruneOptions::from(&Config::default());
    let disk = before_call(
        Call::Rename,
        move |path| *path == staged,
        move |_| {
            if once.swap(false, Ordering::SeqCst) {
                other_process.prune(&options, &mut |_| {}).unwrap();
            }
            Ok(())
        },
    );
    assert!(is_done(fixture.manager_on(disk, Config::default()).sweep()));
    assert_eq!(fixture.manager().sweep(), Swept::NotDue);
}

#[test]
fn sweep_runs_if_the_marker_is_invalid_or_in_the_future() {
    let fixture = orphaned();
    let marker = fixture.base().join(".last_prune");
    assert!(is_done(fixture.manager().sweep()));
    assert_eq!(fs::read_to_string(&marker).unwrap(), "1773662400.0");
    let future = format!("{}", NOON + 1);
    let corrupt: [&[u8]; 8] =
        [b"", b"soon", b"nan", b"inf", b"-inf", b"\xff\x00", &[b'1'; 5000], future.as_bytes()];
    for text in corrupt {
        fs::write(&marker, text).unwrap();
        assert!(is_done(fixture.manager().sweep()), "{}", text.escape_ascii());
        assert_eq!(fixture.manager().sweep(), Swept::NotDue);
    }
    for text in ["1773662399.25\n", "1773662400", " 1.7736e9 "] {
        fs::write(&marker, text).unwrap();
        assert_eq!(fixture.manager().sweep(), Swept::NotDue, "{text}");
    }
}

#[test]
fn sweep_is_off_if_auto_prune_is_off_or_there_is_no_store() {
    let fixture = orphaned();
    let off = Config { auto_prune: false, ..Config::default() };
    assert_eq!(fixture.manager_on(SystemDisk, off).sweep(), Swept::Off);
    assert_eq!(fixture.names_in_base(), ["store"]);
    let empty = StoreFixture::new();
    assert_eq!(empty.manager().sweep(), Swept::Off);
    assert_eq!(empty.prune(), Pruned::default());
    assert!(!empty.base().exists());
}

#[test]
fn a_failed_sweep_is_counted_and_not_retried_immediately() {
    let fixture = orphaned();
    let disk = fail_calls(Call::TryLock, ErrorKind::Other, |_| true);
    let swept = fixture.manager_on(disk, Config::default()).sweep();
    assert_eq!(swept, Swept::Done(Pruned { errors: 1, ..Pruned::default() }));
    assert_eq!(fixture.manager().sweep(), Swept::NotDue);
    let disk = fail_calls(Call::WriteNew, ErrorKind::StorageFull, |_| true);
    fixture.set_clock(NOON + DAY);
    assert!(is_done(fixture.manager_on(disk, Config::default()).sweep()));
    assert!(is_done(fixture.manager().sweep()), "the marker could not be written");
}
