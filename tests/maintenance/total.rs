//! `max_total_bytes`: which projects lose checkpoints, in which order, and when eviction stops.

use crate::maintenance::world::{NOON, StoreFixture, noise};
use herma_core::disk::{Sharing, SystemDisk};
use herma_core::{Config, PruneOptions, RestoreOptions};
use herma_harness::subject::{Call, HookedDisk};
use herma_tests::hold;
use pretty_assertions::assert_eq;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const KIBIBYTE: usize = 1024;

/// Takes a checkpoint of about that many KiB on a store with a size limit in KiB.
#[track_caller]
fn take(fixture: &StoreFixture, project: &str, step: u64, kibibytes: usize, limit: usize) {
    let seed = step * 1_000 + u64::from(project.as_bytes()[0]);
    fixture.write(project, &noise(seed, kibibytes * KIBIBYTE));
    let max_total_bytes = (limit * KIBIBYTE) as u64;
    let manager = fixture.manager_on(SystemDisk, Config { max_total_bytes, ..Config::default() });
    manager.checkpoint(&fixture.project(project), &format!("{step}")).unwrap();
}

/// Prunes to a size limit in KiB; returns the number of evicted checkpoints.
#[track_caller]
fn evicted(fixture: &StoreFixture, limit: usize) -> usize {
    evicted_to_bytes(fixture, (limit * KIBIBYTE) as u64)
}

/// Prunes to a size limit in bytes; returns the number of evicted checkpoints.
#[track_caller]
fn evicted_to_bytes(fixture: &StoreFixture, max_total_bytes: u64) -> usize {
    let options = PruneOptions { retention_seconds: 0, max_total_bytes, delete_orphans: false };
    let pruned = fixture.prune_with(&options);
    assert_eq!(pruned.errors, 0);
    fixture.assert_fsck_clean();
    pruned.dropped
}

/// The disk usage in bytes of all objects that `git rev-list` reaches with these options.
#[track_caller]
fn bytes_of(fixture: &StoreFixture, options: &[&str]) -> u64 {
    let words = [&["rev-list", "--objects", "--disk-usage"], options].concat();
    fixture.git(&words).parse().unwrap()
}

/// Lowers the size limit in KiB until a checkpoint is evicted.
#[track_caller]
fn evict_one(fixture: &StoreFixture, limit: &mut usize) {
    while evicted(fixture, *limit) == 0 {
        *limit -= 40;
    }
}

fn counts<const N: usize>(fixture: &StoreFixture, projects: [&str; N]) -> [usize; N] {
    projects.map(|project| fixture.list(project).len())
}

#[test]
fn prune_evicts_nothing_at_exactly_max_total_bytes() {
    let fixture = StoreFixture::new();
    for step in 0..3 {
        ["a", "b", "c"].iter().for_each(|project| take(&fixture, project, step, 100, 0));
    }
    let total = bytes_of(&fixture, &["--all"]);
    assert_eq!(evicted_to_bytes(&fixture, total), 0);
    assert_eq!(evicted_to_bytes(&fixture, total - 1), 1);
    let newest = bytes_of(&fixture, &["--no-walk", "--all"]);
    assert_eq!(evicted_to_bytes(&fixture, newest), 5, "the older ones of all");
    assert_eq!(counts(&fixture, ["a", "b", "c"]), [1, 1, 1]);
}

#[test]
fn max_total_bytes_counts_packed_objects_at_their_size_without_deltas() {
    let fixture = StoreFixture::new();
    let text = noise(1, 100 * KIBIBYTE);
    for step in 0..4 {
        let different = noise(2, 100 * KIBIBYTE);
        fixture.write("a", &if step < 3 { format!("{text}{step}") } else { different });
        fixture.manager().checkpoint(&fixture.project("a"), &format!("{step}")).unwrap();
        if step == 2 {
            // Two of the three are now small deltas against the third.
            fixture.git(&["gc", "--quiet"]);
        }
    }
    let limit = bytes_of(&fixture, &["--all"]) - 1;
    evicted_to_bytes(&fixture, limit);
    let left = bytes_of(&fixture, &["--all"]);
    assert!(left <= limit, "{left} bytes are left, and {limit} may be");
    assert_eq!(counts(&fixture, ["a"]), [3], "what is left takes no more than before");
}

#[test]
fn max_total_bytes_evicts_the_oldest_checkpoint_first() {
    // Projects are found in the order of their hashes; each is the oldest once, whatever the hashes are.
    let names = ["a", "b", "c", "d"];
    for oldest in 0..names.len() {
        let fixture = StoreFixture::new();
        for step in 0..2 {
            for (index, name) in names.iter().enumerate() {
                let age = if index == oldest { 100 } else { 10 };
                fixture.set_clock(NOON - age + step as i64);
                take(&fixture, name, step, 100, 0);
            }
        }
        evict_one(&fixture, &mut 700);
        let mut expected = [2; 4];
        expected[oldest] = 1;
        assert_eq!(counts(&fixture, names), expected);
        let boundaries = std::fs::read_to_string(fixture.store().join("shallow")).unwrap();
        assert_eq!(boundaries.lines().count(), 1, "only a history that was cut gets one");
    }
}

#[test]
fn max_total_bytes_locks_only_projects_that_lose_a_checkpoint_one_at_a_time() {
    let fixture = StoreFixture::new();
    let names = ["a", "b", "c", "d"];
    for step in 0..2 {
        names.iter().for_each(|name| take(&fixture, name, step, 100, 0));
    }
    let total = bytes_of(&fixture, &["--all"]);
    // The prune does not wait for a project that loses nothing.
    let busy = fixture.store().join("locks").join(fixture.hash("d"));
    let held = hold(&busy, Sharing::Exclusive);
    let locked = Arc::new(Mutex::new(Vec::new()));
    let recorded = locked.clone();
    let folder = fixture.store().join("locks");
    let hashes = names.map(|name| fixture.hash(name));
    let disk = HookedDisk::new(move |call, path| {
        let hash = hashes.iter().find(|hash| path == folder.join(hash));
        if let (Call::TryLock, Some(hash)) = (call, hash) {
            recorded.lock().unwrap().push(hash.clone());
        }
        Ok(())
    });
    let config = Config { max_total_bytes: total - 1, ..Config::default() };
    let options = PruneOptions { retention_seconds: 0, delete_orphans: false, ..(&config).into() };
    let pruned = fixture.manager_on(disk, config).prune(&options, &mut |_| {}).unwrap();
    assert_eq!((pruned.dropped, pruned.errors), (1, 0));
    assert_eq!(*locked.lock().unwrap(), [fixture.hash("a")]);
    // If the locked project is the next to lose a checkpoint, nothing is evicted.
    drop(held);
    let busy = fixture.store().join("locks").join(fixture.hash("b"));
    let _busy = hold(&busy, Sharing::Exclusive);
    assert_eq!(evicted_to_bytes(&fixture, bytes_of(&fixture, &["--all"]) - 1), 0);
    assert_eq!(counts(&fixture, names), [1, 2, 2, 2]);
}

#[test]
fn max_total_bytes_keeps_a_checkpoint_taken_after_the_eviction_was_planned() {
    let fixture = StoreFixture::new();
    (0..3).for_each(|step| take(&fixture, "a", step, 100, 0));
    let lock = fixture.store().join("locks").join(fixture.hash("a"));
    let project = fixture.project("a");
    let root = fixture.root.clone();
    let is_first = AtomicBool::new(true);
    let other_process =
        fixture.manager_on(SystemDisk, Config { max_total_bytes: 0, ..Config::default() });
    let disk = HookedDisk::new(move |call, path| {
        if call == Call::TryLock && path == lock && is_first.swap(false, Ordering::SeqCst) {
            std::fs::write(project.join("late.txt"), root.as_os_str().as_encoded_bytes())?;
            other_process.checkpoint(&project, "late").unwrap();
        }
        Ok(())
    });
    let limit = bytes_of(&fixture, &["--all"]) - 1;
    let options =
        PruneOptions { max_total_bytes: limit, retention_seconds: 0, delete_orphans: false };
    let pruned = fixture.manager_on(disk, Config::default()).prune(&options, &mut |_| {}).unwrap();
    assert_eq!(pruned.dropped, 1);
    let reasons = fixture.list("a");
    assert_eq!(reasons, ["late", "2", "1"]);
}

#[test]
fn max_total_bytes_evicts_checkpoints_of_equal_age_in_the_order_of_directories() {
    let fixture = StoreFixture::new();
    let names = ["a", "b", "c", "d", "e", "f"];
    for step in 0..2 {
        names.iter().rev().for_each(|name| take(&fixture, name, step, 100, 0));
    }
    let mut limit = 1_000;
    for evicted in 1..names.len() {
        evict_one(&fixture, &mut limit);
        let expected: [usize; 6] = std::array::from_fn(|index| 1 + usize::from(index >= evicted));
        assert_eq!(counts(&fixture, names), expected);
    }
}

#[test]
fn max_total_bytes_counts_shared_content_once_and_evicts_nothing_for_it() {
    let fixture = StoreFixture::new();
    take(&fixture, "a", 0, 100, 0);
    for name in ["b", "c", "d"] {
        fixture.write(name, "small");
        fixture.manager().checkpoint(&fixture.project(name), "small").unwrap();
        fixture.write(name, &noise(97, 100 * KIBIBYTE));
        fixture.manager().checkpoint(&fixture.project(name), "shared").unwrap();
    }
    assert_eq!(evicted(&fixture, 100), 0);
    assert_eq!(counts(&fixture, ["a", "b", "c", "d"]), [1, 2, 2, 2]);
}

#[test]
fn max_total_bytes_evicts_no_history_for_a_large_newest_checkpoint_of_another_project() {
    let fixture = StoreFixture::new();
    for step in 0..3 {
        ["a", "b"].iter().for_each(|project| take(&fixture, project, step, 10, 0));
    }
    take(&fixture, "l", 0, 10, 0);
    take(&fixture, "l", 1, 1_000, 0);
    assert_eq!(evicted(&fixture, 100), 1);
    assert_eq!(counts(&fixture, ["a", "b", "l"]), [3, 3, 1]);
    assert_eq!(evicted(&fixture, 100), 0);
    assert_eq!(fixture.list("l"), ["1"]);
}

#[test]
fn an_overestimated_size_is_corrected_and_evicts_no_checkpoint() {
    let fixture = StoreFixture::new();
    (0..2).for_each(|step| take(&fixture, "a", step, 10, 1_000));
    let usage = fixture.store().join("usage");
    std::fs::write(&usage, u64::to_be_bytes(10 * 1024 * 1024)).unwrap();
    take(&fixture, "a", 2, 10, 1_000);
    assert_eq!(fixture.list("a").len(), 3);
    let recorded = std::fs::read(&usage).unwrap();
    let bytes = u64::from_be_bytes(recorded.try_into().unwrap());
    assert_eq!(bytes, bytes_of(&fixture, &["--all"]));
}

#[test]
fn an_unreadable_size_estimate_is_computed_again() {
    let fixture = StoreFixture::new();
    let long = "\0".repeat(33 * KIBIBYTE);
    for damage in ["", "1234567", "not a list of numbers at all", &long] {
        (0..2).for_each(|step| take(&fixture, "a", step, 10, 1_000));
        std::fs::write(fixture.store().join("usage"), damage).unwrap();
        take(&fixture, "a", 2, 10, 1_000);
        let length = std::fs::metadata(fixture.store().join("usage")).unwrap().len();
        assert!(length.is_multiple_of(8) && length < 32, "{damage}");
        assert!(fixture.list("a").len() > 1, "{damage}");
    }
}

// Reported F8.
#[test]
fn a_checkpoint_says_that_the_store_is_above_its_limit_only_where_nothing_helps() {
    let fixture = StoreFixture::new();
    let damaged = fixture.take_with_limit(20, "damaged", "one");
    let config = Config { max_total_bytes: 20 * KIBIBYTE as u64, ..Config::default() };
    let manager = fixture.manager_on(SystemDisk, config);
    let is_above = |steps: std::ops::Range<u64>| {
        let taken = steps.map(|step| {
            fixture.write("growing", &noise(step, 8 * KIBIBYTE));
            manager.checkpoint(&fixture.project("growing"), "r").unwrap().evicted
        });
        taken.last().unwrap().for_size.is_above_limit
    };
    assert!(!is_above(0..4));
    let loose = fixture.store().join("objects").join(&damaged[..2]).join(&damaged[2..]);
    fs::remove_file(loose).unwrap();
    assert!(!is_above(4..8), "a first checkpoint that is lost costs only its project");
    let hash = fixture.hash("damaged");
    fs::remove_file(fixture.store().join(format!("projects/{hash}.json"))).unwrap();
    assert!(is_above(8..12), "nothing is freed while it is unknown what a history needs");
}

// Reported by a tester: the second rollback had removed what it was asked to restore.
#[test]
fn a_restore_evicts_no_checkpoint_for_max_total_bytes_and_the_next_checkpoint_does() {
    let fixture = StoreFixture::new();
    let config = Config { max_total_bytes: 100 * KIBIBYTE as u64, ..Config::default() };
    let manager = fixture.manager_on(SystemDisk, config);
    let project = fixture.project("alpha");
    let take = |seed| {
        fixture.write("alpha", &noise(seed, 40 * KIBIBYTE));
        manager.checkpoint(&project, "work").unwrap().evicted.for_size.evicted
    };
    assert_eq!(take(0), 0);
    let work = fixture.manager().list(&project).unwrap().remove(0).id;
    for seed in 1..6 {
        fixture.write("alpha", &noise(seed, 40 * KIBIBYTE));
        let restored = manager.restore(&project, work.as_bytes(), RestoreOptions::default());
        assert_eq!(restored.unwrap().evicted.for_size.evicted, 0);
    }
    assert!(manager.list(&project).unwrap().iter().any(|listed| listed.id == work));
    assert!(take(6) > 0, "the next checkpoint makes room");
    fixture.assert_fsck_clean();
}
