//! A prune on a full disk: what is asked for is freed, or nothing is dropped and the answer says so.

use crate::maintenance::world::{World, noise};
use herma_core::disk::Disk;
use herma_core::{Config, PruneOptions, Pruned};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

/// Eight checkpoints of one project, none of which has much in common with another.
fn world() -> World {
    let world = World::new();
    for step in 0..8 {
        world.write("project", &noise(step, 20_000));
        let project = world.project("project");
        world.manager().checkpoint(&project, &step.to_string()).unwrap();
    }
    world
}

fn writes(call: Call) -> bool {
    matches!(call, Call::WriteNew | Call::Append | Call::MakeDirectory | Call::MakeLink)
}

/// A disk on which no byte is free: each file that is removed makes room for one.
fn without_room() -> HookedDisk {
    let (room, attempts) = (AtomicI64::new(0), AtomicI64::new(0));
    HookedDisk::new(move |call, path| {
        // An empty file takes no room: locks of refs, and that of git where it cannot be written.
        let is_ref = path.components().any(|name| name.as_os_str() == "refs");
        let is_empty = is_ref
            || path.ends_with("gc.pid.lock") && attempts.fetch_add(1, Ordering::SeqCst) % 2 == 1;
        let wanted = match call {
            _ if is_empty => 0,
            Call::RemoveFile if fs::metadata(path).is_ok_and(|file| file.len() > 0) => -1,
            call => i64::from(writes(call)),
        };
        let has_room = room.fetch_sub(wanted, Ordering::SeqCst) >= wanted;
        room.fetch_add(if has_room { 0 } else { wanted }, Ordering::SeqCst);
        if has_room { Ok(()) } else { Err(ErrorKind::StorageFull.into()) }
    })
}

fn prune_on(world: &World, disk: impl Disk + 'static, max_total_bytes: u64) -> Pruned {
    let options = PruneOptions { retention_seconds: 0, max_total_bytes, delete_orphans: false };
    world.on(disk, Config::default()).prune(&options, &mut |_| {}).unwrap()
}

#[track_caller]
fn frees_all_but_the_newest(world: &World, disk: HookedDisk) {
    let pruned = prune_on(world, disk, 1);
    assert_eq!((pruned.dropped, pruned.errors), (7, 0));
    assert!(pruned.bytes_freed > 7 * 15_000, "{pruned:?}");
    assert_eq!(world.list("project"), ["7"]);
    assert!(!world.store().join("gc.pid.lock").exists());
    world.git(&["fsck", "--full", "--strict"]);
}

// rule: limit/total-size
#[test]
fn a_prune_with_0_bytes_free_frees_all_that_it_drops() {
    let world = world();
    frees_all_but_the_newest(&world, without_room());
}

// rule: limit/total-size
#[test]
fn a_prune_with_0_bytes_free_makes_room_without_indexes_or_an_estimate_of_the_size() {
    let world = world();
    fs::remove_dir_all(world.store().join("indexes")).unwrap();
    fs::remove_file(world.store().join("usage")).unwrap();
    frees_all_but_the_newest(&world, without_room());
    world.take("project", "more");
    let exclude = fs::read_to_string(world.store().join("info/exclude")).unwrap();
    assert!(exclude.contains("node_modules"), "{exclude}");
}

// rule: limit/total-size
#[test]
fn a_prune_that_can_write_nothing_drops_nothing_and_says_so() {
    let world = world();
    let full = |call: Call, _: &Path| match writes(call) {
        true => Err(ErrorKind::StorageFull.into()),
        false => Ok(()),
    };
    let pruned = prune_on(&world, HookedDisk::new(full), 1);
    assert_eq!((pruned.dropped, pruned.bytes_freed > 20_000), (0, false));
    assert!(pruned.errors > 0 && pruned.over_bytes == 0, "{pruned:?}");
    assert_eq!(world.list("project").len(), 8);
    frees_all_but_the_newest(&world, HookedDisk::new(|_, _| Ok(())));
}

// rule: limit/total-size
#[test]
fn a_prune_drops_nothing_where_what_stays_of_a_pack_has_no_space() {
    let world = world();
    world.git(&["repack", "-a", "-d", "-q"]);
    let full = || {
        HookedDisk::new(|call, path| match call {
            Call::FreeBytes => Err(ErrorKind::Other.into()),
            Call::WriteNew if path.to_string_lossy().contains("objects") => {
                Err(ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        })
    };
    let pruned = prune_on(&world, full(), 80_000);
    assert_eq!((pruned.dropped, pruned.errors), (0, 1), "{pruned:?}");
    assert_eq!(world.list("project").len(), 8);
    // Of a pack of which nothing stays, nothing is written.
    world.take("project", "7");
    frees_all_but_the_newest_in_packs(&world, full());
}

#[track_caller]
fn frees_all_but_the_newest_in_packs(world: &World, disk: HookedDisk) {
    let pruned = prune_on(world, disk, 1);
    assert_eq!((pruned.dropped, pruned.errors), (8, 0));
    assert_eq!(world.packs(), Vec::<PathBuf>::new());
    world.git(&["fsck", "--full", "--strict"]);
}
