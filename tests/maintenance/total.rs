//! How the total size is kept: who loses a checkpoint, in which order, and when no more.

use crate::maintenance::world::{NOON, World, noise};
use herma_core::disk::{Disk, Sharing, SystemDisk};
use herma_core::{Config, PruneOptions};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const KIBIBYTE: usize = 1024;

/// Takes a checkpoint of about so many KiB on a store that may take so many.
#[track_caller]
fn take(world: &World, project: &str, step: u64, kibibytes: usize, cap: usize) {
    let seed = step * 1_000 + u64::from(project.as_bytes()[0]);
    world.write(project, &noise(seed, kibibytes * KIBIBYTE));
    let max_total_bytes = (cap * KIBIBYTE) as u64;
    let manager = world.on(SystemDisk, Config { max_total_bytes, ..Config::default() });
    manager.checkpoint(&world.project(project), &format!("{step}")).unwrap();
}

/// How many were dropped by a prune to so many KiB.
#[track_caller]
fn pruned(world: &World, cap: usize) -> usize {
    pruned_to(world, (cap * KIBIBYTE) as u64)
}

/// How many were dropped by a prune to so many bytes.
#[track_caller]
fn pruned_to(world: &World, max_total_bytes: u64) -> usize {
    let options = PruneOptions { retention_seconds: 0, max_total_bytes, delete_orphans: false };
    let pruned = world.prune_with(&options);
    assert_eq!(pruned.errors, 0);
    world.git_finds_nothing_broken();
    pruned.dropped
}

/// Bytes that all that git reaches in that way takes on the disk.
#[track_caller]
fn bytes_of(world: &World, way: &[&str]) -> u64 {
    let words = [&["rev-list", "--objects", "--disk-usage"], way].concat();
    world.git(&words).parse().unwrap()
}

/// Lowers what the store may take, in KiB, until one is dropped for it.
#[track_caller]
fn drop_one(world: &World, cap: &mut usize) {
    while pruned(world, *cap) == 0 {
        *cap -= 40;
    }
}

fn counts<const N: usize>(world: &World, projects: [&str; N]) -> [usize; N] {
    projects.map(|project| world.list(project).len())
}

#[test]
fn a_total_that_is_just_met_is_kept() {
    let world = World::new();
    for step in 0..3 {
        ["a", "b", "c"].iter().for_each(|project| take(&world, project, step, 100, 0));
    }
    let all = bytes_of(&world, &["--all"]);
    assert_eq!(pruned_to(&world, all), 0);
    assert_eq!(pruned_to(&world, all - 1), 1);
    let newest = bytes_of(&world, &["--no-walk", "--all"]);
    assert_eq!(pruned_to(&world, newest), 5, "the older ones of all");
    assert_eq!(counts(&world, ["a", "b", "c"]), [1, 1, 1]);
}

#[test]
fn what_git_packed_counts_as_it_is_once_it_stands_alone() {
    let world = World::new();
    let text = noise(1, 100 * KIBIBYTE);
    for step in 0..4 {
        let other = noise(2, 100 * KIBIBYTE);
        world.write("a", &if step < 3 { format!("{text}{step}") } else { other });
        world.manager().checkpoint(&world.project("a"), &format!("{step}")).unwrap();
        if step == 2 {
            // Two of the three are small differences to the third then.
            world.git(&["gc", "--quiet"]);
        }
    }
    let most = bytes_of(&world, &["--all"]) - 1;
    pruned_to(&world, most);
    let left = bytes_of(&world, &["--all"]);
    assert!(left <= most, "{left} bytes are left, and {most} may be");
    assert_eq!(counts(&world, ["a"]), [3], "what is left takes no more than before");
}

#[test]
fn whoever_has_the_oldest_checkpoint_is_the_first_to_lose_one() {
    // Whatever their hashes are, by which projects are found: each of them is the oldest once.
    let names = ["a", "b", "c", "d"];
    for first in 0..names.len() {
        let world = World::new();
        for step in 0..2 {
            for (place, name) in names.iter().enumerate() {
                let age = if place == first { 100 } else { 10 };
                world.set_clock(NOON - age + step as i64);
                take(&world, name, step, 100, 0);
            }
        }
        drop_one(&world, &mut 700);
        let mut expected = [2; 4];
        expected[first] = 1;
        assert_eq!(counts(&world, names), expected);
        let boundaries = std::fs::read_to_string(world.store().join("shallow")).unwrap();
        assert_eq!(boundaries.lines().count(), 1, "only a history that was cut gets one");
    }
}

#[test]
fn only_who_loses_a_checkpoint_is_locked_and_one_at_a_time() {
    let world = World::new();
    let names = ["a", "b", "c", "d"];
    for step in 0..2 {
        names.iter().for_each(|name| take(&world, name, step, 100, 0));
    }
    let all = bytes_of(&world, &["--all"]);
    // Nobody waits for a project that keeps all it has.
    let busy = world.store().join("locks").join(world.hash("d"));
    let held = SystemDisk.try_lock(&busy, Sharing::Exclusive).unwrap().unwrap();
    let locked = Arc::new(Mutex::new(Vec::new()));
    let seen = locked.clone();
    let (folder, all_hashes) = (world.store().join("locks"), names.map(|name| world.hash(name)));
    let disk = HookedDisk::new(move |call, path| {
        let hash = all_hashes.iter().find(|hash| path == folder.join(hash));
        if let (Call::TryLock, Some(hash)) = (call, hash) {
            seen.lock().unwrap().push(hash.clone());
        }
        Ok(())
    });
    let config = Config { max_total_bytes: all - 1, ..Config::default() };
    let options = PruneOptions { retention_seconds: 0, delete_orphans: false, ..(&config).into() };
    let pruned = world.on(disk, config).prune(&options, &mut |_| {}).unwrap();
    assert_eq!((pruned.dropped, pruned.errors), (1, 0));
    assert_eq!(*locked.lock().unwrap(), [world.hash("a")]);
    // And where it is the one to lose something, nothing is dropped.
    drop(held);
    let busy = world.store().join("locks").join(world.hash("b"));
    let _busy = SystemDisk.try_lock(&busy, Sharing::Exclusive).unwrap().unwrap();
    assert_eq!(pruned_to(&world, bytes_of(&world, &["--all"]) - 1), 0);
    assert_eq!(counts(&world, names), [1, 2, 2, 2]);
}

#[test]
fn what_was_taken_since_the_plan_was_made_stays_and_the_plan_holds() {
    let world = World::new();
    (0..3).for_each(|step| take(&world, "a", step, 100, 0));
    let (lock, path) = (world.store().join("locks").join(world.hash("a")), world.project("a"));
    let (root, is_first) = (world.root.clone(), AtomicBool::new(true));
    let other = world.on(SystemDisk, Config { max_total_bytes: 0, ..Config::default() });
    let disk = HookedDisk::new(move |call, at| {
        if call == Call::TryLock && at == lock && is_first.swap(false, Ordering::SeqCst) {
            std::fs::write(path.join("late.txt"), root.as_os_str().as_encoded_bytes())?;
            other.checkpoint(&path, "late").unwrap();
        }
        Ok(())
    });
    let cap = bytes_of(&world, &["--all"]) - 1;
    let options =
        PruneOptions { max_total_bytes: cap, retention_seconds: 0, delete_orphans: false };
    let pruned = world.on(disk, Config::default()).prune(&options, &mut |_| {}).unwrap();
    assert_eq!(pruned.dropped, 1);
    let reasons = world.list("a");
    assert_eq!(reasons, ["late", "2", "1"]);
}

#[test]
fn among_those_of_one_age_the_directory_decides() {
    let world = World::new();
    let names = ["a", "b", "c", "d", "e", "f"];
    for step in 0..2 {
        names.iter().rev().for_each(|name| take(&world, name, step, 100, 0));
    }
    let mut cap = 1_000;
    for dropped in 1..names.len() {
        drop_one(&world, &mut cap);
        let expected: [usize; 6] = std::array::from_fn(|place| 1 + usize::from(place >= dropped));
        assert_eq!(counts(&world, names), expected);
    }
}

#[test]
fn what_checkpoints_share_counts_once_and_makes_no_room() {
    let world = World::new();
    take(&world, "a", 0, 100, 0);
    for name in ["b", "c", "d"] {
        world.write(name, "small");
        world.manager().checkpoint(&world.project(name), "small").unwrap();
        world.write(name, &noise(97, 100 * KIBIBYTE));
        world.manager().checkpoint(&world.project(name), "shared").unwrap();
    }
    assert_eq!(pruned(&world, 100), 0);
    assert_eq!(counts(&world, ["a", "b", "c", "d"]), [1, 2, 2, 2]);
}

#[test]
fn one_large_newest_checkpoint_costs_no_other_project_its_history() {
    let world = World::new();
    for step in 0..3 {
        ["a", "b"].iter().for_each(|project| take(&world, project, step, 10, 0));
    }
    take(&world, "l", 0, 10, 0);
    take(&world, "l", 1, 1_000, 0);
    assert_eq!(pruned(&world, 100), 1);
    assert_eq!(counts(&world, ["a", "b", "l"]), [3, 3, 1]);
    assert_eq!(pruned(&world, 100), 0);
    assert_eq!(world.list("l"), ["1"]);
}

#[test]
fn an_estimate_that_is_too_high_is_put_right_and_costs_no_checkpoint() {
    let world = World::new();
    (0..2).for_each(|step| take(&world, "a", step, 10, 1_000));
    let usage = world.store().join("usage");
    std::fs::write(&usage, u64::to_be_bytes(10 * 1024 * 1024)).unwrap();
    take(&world, "a", 2, 10, 1_000);
    assert_eq!(world.list("a").len(), 3);
    let noted = std::fs::read(&usage).unwrap();
    let bytes = u64::from_be_bytes(noted.try_into().unwrap());
    assert_eq!(bytes, bytes_of(&world, &["--all"]));
}

#[test]
fn an_estimate_that_cannot_be_read_is_made_again() {
    let world = World::new();
    let long = "\0".repeat(33 * KIBIBYTE);
    for damage in ["", "1234567", "not a list of numbers at all", &long] {
        (0..2).for_each(|step| take(&world, "a", step, 10, 1_000));
        std::fs::write(world.store().join("usage"), damage).unwrap();
        take(&world, "a", 2, 10, 1_000);
        let length = std::fs::metadata(world.store().join("usage")).unwrap().len();
        assert!(length.is_multiple_of(8) && length < 32, "{damage}");
        assert!(world.list("a").len() > 1, "{damage}");
    }
}
