//! Killed maintenance: a kill at any step loses nothing that is to be kept, and the next run completes the
//! work.

use crate::maintenance::world::{NOON, StoreFixture};
use herma_core::disk::SystemDisk;
use herma_core::{Config, Manager, PruneOptions, RestoreOptions};
use herma_harness::subject::HookedDisk;
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A store with a live project, an orphaned project with a packed ref, an old archive and a v1 repository.
fn store_to_maintain() -> StoreFixture {
    let fixture = StoreFixture::new();
    fixture.take("gone", "one");
    fixture.take("live", "one");
    fixture.git(&["pack-refs", "--all"]);
    fixture.take("live", "two");
    fs::remove_dir_all(fixture.project("gone")).unwrap();
    fixture.v1_repository("0123456789abcdef", NOON - 1_000_000);
    fixture.archive("legacy-20260101-000000", 0);
    fixture
}

/// Runs `work` on a disk whose calls fail from that step on; returns whether the step was reached.
pub fn killed_at(
    fixture: &StoreFixture,
    step: usize,
    config: &Config,
    work: impl Fn(&Manager),
) -> bool {
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = steps.clone();
    let disk = HookedDisk::new(move |_, _| {
        let is_alive = counted.fetch_add(1, Ordering::SeqCst) < step;
        if is_alive { Ok(()) } else { Err(ErrorKind::Other.into()) }
    });
    work(&fixture.manager_on(disk, config.clone()));
    // The core would take over git's lock files only after a delay that is too long for a test.
    for folder in ["", "refs/hermes"] {
        let entries = fs::read_dir(fixture.store().join(folder)).into_iter().flatten();
        let locks = entries.map(|entry| entry.unwrap().path());
        for lock in locks.filter(|path| path.extension().is_some_and(|end| end == "lock")) {
            fs::remove_file(lock).unwrap();
        }
    }
    steps.load(Ordering::SeqCst) > step
}

/// Runs rounds with increasing steps, at growing distances, until a round does not reach its step.
pub fn at_steps(finer: usize, least: usize, mut round: impl FnMut(usize) -> bool) {
    let mut step = 0;
    while round(step) {
        step += 1 + step / finer;
    }
    assert!(step > least, "{step}");
}

// rule: crash/kill
#[test]
fn a_prune_that_is_killed_at_any_step_is_done_by_the_next() {
    let config = Config::default();
    at_steps(12, 50, |step| {
        let fixture = store_to_maintain();
        let was_reached = killed_at(&fixture, step, &config, |manager| {
            let _ = manager.prune(&PruneOptions::from(&config), &mut |_| {});
        });
        assert_eq!(fixture.list("live"), ["two", "one"], "step {step}");
        assert_eq!(fixture.prune().errors, 0, "step {step}");
        assert_eq!(fixture.manager().status().unwrap().projects.len(), 1, "step {step}");
        assert_eq!(fixture.names_in_base(), ["store"], "step {step}");
        fixture.assert_newest_is_restored("live");
        fixture.assert_fsck_clean();
        was_reached
    });
}

#[test]
fn a_clear_that_is_killed_at_any_step_is_done_by_the_next() {
    at_steps(12, 50, |step| {
        let fixture = store_to_maintain();
        let was_reached =
            killed_at(&fixture, step, &Config::default(), |manager| drop(manager.clear()));
        assert!(["", "two,one"].contains(&fixture.list("live").join(",").as_str()), "step {step}");
        fixture.manager().clear().unwrap();
        assert!(!fixture.base().exists(), "step {step}");
        was_reached
    });
}

// rule: crash/kill
#[test]
fn eviction_and_collection_killed_at_any_step_lose_no_kept_checkpoint() {
    let config = Config { max_snapshots: 2, ..Config::default() };
    at_steps(20, 150, |step| {
        let fixture = StoreFixture::new();
        let dir = fixture.project("project");
        fs::create_dir_all(&dir).unwrap();
        let write_all = |content: &str| {
            (0..80).for_each(|number| {
                let text = if number % 2 == 0 { "same" } else { content };
                fs::write(dir.join(format!("{number}.txt")), format!("{text} {number}")).unwrap();
            });
        };
        for content in ["one", "two", "three"] {
            write_all(content);
            fixture.take("project", content);
        }
        fixture.write("project", "four");
        let was_reached = killed_at(&fixture, step, &config, |manager| {
            let _ = manager.checkpoint(&dir, "four");
            let _ = manager.prune(&PruneOptions::from(&config), &mut |_| {});
        });
        fixture.assert_fsck_clean();
        let after = fixture.manager_on(SystemDisk, config.clone());
        let reasons: Vec<String> =
            after.list(&dir).unwrap().into_iter().map(|entry| entry.reason).collect();
        let expected = [["three", "two"], ["four", "three"]];
        assert!(expected.iter().any(|list| reasons == *list), "step {step}: {reasons:?}");
        let options = RestoreOptions::default();
        fixture.write("project", "later");
        after.restore(&dir, b"1", options).unwrap();
        assert_eq!(fs::read_to_string(dir.join("1.txt")).unwrap(), "three 1", "step {step}");
        assert_eq!(fs::read_to_string(dir.join("a.txt")).unwrap(), reasons[0], "step {step}");
        assert_eq!(fixture.prune().errors, 0, "step {step}");
        fixture.assert_fsck_clean();
        was_reached
    });
}
