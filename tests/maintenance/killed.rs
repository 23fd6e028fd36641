//! Maintenance that is killed at any step loses nothing that was to stay, and the next one does
//! the rest.

use crate::maintenance::world::{NOON, World};
use herma_core::disk::SystemDisk;
use herma_core::{Config, Manager, PruneOptions, RestoreOptions};
use herma_harness::subject::HookedDisk;
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A live project, one that is gone with its ref packed, an old archive and a v1 repository.
fn ready() -> World {
    let world = World::new();
    world.take("gone", "one");
    world.take("live", "one");
    world.git(&["pack-refs", "--all"]);
    world.take("live", "two");
    fs::remove_dir_all(world.project("gone")).unwrap();
    world.v1_repository("0123456789abcdef", NOON - 1_000_000);
    world.archive("legacy-20260101-000000", 0);
    world
}

/// Does `work` on a disk on which nothing is done from that step on; whether it got so far.
fn killed_at(world: &World, step: usize, config: &Config, work: impl Fn(&Manager)) -> bool {
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = steps.clone();
    let disk = HookedDisk::new(move |_, _| {
        let is_alive = counted.fetch_add(1, Ordering::SeqCst) < step;
        if is_alive { Ok(()) } else { Err(ErrorKind::Other.into()) }
    });
    work(&world.on(disk, config.clone()));
    // Git's locks would be taken over after a while, which no test has.
    for folder in ["", "refs/hermes"] {
        let entries = fs::read_dir(world.store().join(folder)).into_iter().flatten();
        let locks = entries.map(|entry| entry.unwrap().path());
        for lock in locks.filter(|path| path.extension().is_some_and(|end| end == "lock")) {
            fs::remove_file(lock).unwrap();
        }
    }
    steps.load(Ordering::SeqCst) > step
}

/// Goes through steps, further apart the more there are, until a round does not get so far.
fn at_steps(finer: usize, least: usize, mut round: impl FnMut(usize) -> bool) {
    let mut step = 0;
    while round(step) {
        step += 1 + step / finer;
    }
    assert!(step > least, "{step}");
}

#[test]
fn a_prune_that_is_killed_at_any_step_is_done_by_the_next() {
    let config = Config::default();
    at_steps(12, 50, |step| {
        let world = ready();
        let got_so_far = killed_at(&world, step, &config, |manager| {
            let _ = manager.prune(&PruneOptions::from(&config), &mut |_| {});
        });
        assert_eq!(world.list("live"), ["two", "one"], "step {step}");
        assert_eq!(world.prune().errors, 0, "step {step}");
        assert_eq!(world.manager().status().unwrap().projects.len(), 1, "step {step}");
        assert_eq!(world.in_base(), ["store"], "step {step}");
        world.restores("live");
        world.git_finds_nothing_broken();
        got_so_far
    });
}

#[test]
fn a_clear_that_is_killed_at_any_step_is_done_by_the_next() {
    at_steps(12, 50, |step| {
        let world = ready();
        let got_so_far =
            killed_at(&world, step, &Config::default(), |manager| drop(manager.clear()));
        assert!(["", "two,one"].contains(&world.list("live").join(",").as_str()), "step {step}");
        world.manager().clear().unwrap();
        assert!(!world.base().exists(), "step {step}");
        got_so_far
    });
}

#[test]
fn dropping_and_reclaiming_that_are_killed_at_any_step_lose_nothing_that_stays() {
    let config = Config { max_snapshots: 2, ..Config::default() };
    at_steps(20, 150, |step| {
        let world = World::new();
        let dir = world.project("project");
        fs::create_dir_all(&dir).unwrap();
        let write_all = |content: &str| {
            (0..80).for_each(|number| {
                let text = if number % 2 == 0 { "same" } else { content };
                fs::write(dir.join(format!("{number}.txt")), format!("{text} {number}")).unwrap();
            });
        };
        for content in ["one", "two", "three"] {
            write_all(content);
            world.take("project", content);
        }
        world.write("project", "four");
        let got_so_far = killed_at(&world, step, &config, |manager| {
            let _ = manager.checkpoint(&dir, "four");
            let _ = manager.prune(&PruneOptions::from(&config), &mut |_| {});
        });
        world.git_finds_nothing_broken();
        let after = world.on(SystemDisk, config.clone());
        let reasons: Vec<String> =
            after.list(&dir).unwrap().into_iter().map(|one| one.reason).collect();
        let known = [["three", "two"], ["four", "three"]];
        assert!(known.iter().any(|one| reasons == *one), "step {step}: {reasons:?}");
        let options = RestoreOptions::default();
        world.write("project", "later");
        after.restore(&dir, b"1", options).unwrap();
        assert_eq!(fs::read_to_string(dir.join("1.txt")).unwrap(), "three 1", "step {step}");
        assert_eq!(fs::read_to_string(dir.join("a.txt")).unwrap(), reasons[0], "step {step}");
        assert_eq!(world.prune().errors, 0, "step {step}");
        world.git_finds_nothing_broken();
        got_so_far
    });
}
