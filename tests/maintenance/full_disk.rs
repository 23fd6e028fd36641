//! `prune` on a full disk: it frees the requested space, or evicts nothing and reports that.

use crate::maintenance::world::{StoreFixture, noise};
use herma_core::disk::Disk;
use herma_core::{Config, PruneOptions, Pruned};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

/// A store with eight checkpoints of one project, which share little content.
fn eight_checkpoints() -> StoreFixture {
    let fixture = StoreFixture::new();
    for step in 0..8 {
        fixture.write("project", &noise(step, 20_000));
        let project = fixture.project("project");
        fixture.manager().checkpoint(&project, &step.to_string()).unwrap();
    }
    fixture
}

fn writes(call: Call) -> bool {
    matches!(call, Call::WriteNew | Call::Append | Call::MakeDirectory | Call::MakeLink)
}

/// A full disk: each removed file makes space for one new file.
fn full_disk() -> HookedDisk {
    let free = AtomicI64::new(0);
    let attempts = AtomicI64::new(0);
    HookedDisk::new(move |call, path| {
        // An empty file takes no space: ref locks, and every second attempt at git's lock file.
        let is_ref = path.components().any(|name| name.as_os_str() == "refs");
        let is_empty = is_ref
            || path.ends_with("gc.pid.lock") && attempts.fetch_add(1, Ordering::SeqCst) % 2 == 1;
        let wanted = match call {
            _ if is_empty => 0,
            Call::RemoveFile if fs::metadata(path).is_ok_and(|file| file.len() > 0) => -1,
            call => i64::from(writes(call)),
        };
        let fits = free.fetch_sub(wanted, Ordering::SeqCst) >= wanted;
        free.fetch_add(if fits { 0 } else { wanted }, Ordering::SeqCst);
        if fits { Ok(()) } else { Err(ErrorKind::StorageFull.into()) }
    })
}

fn prune_on(fixture: &StoreFixture, disk: impl Disk + 'static, max_total_bytes: u64) -> Pruned {
    let options = PruneOptions { retention_seconds: 0, max_total_bytes, delete_orphans: false };
    fixture.manager_on(disk, Config::default()).prune(&options, &mut |_| {}).unwrap()
}

#[track_caller]
fn assert_frees_all_but_the_newest(fixture: &StoreFixture, disk: HookedDisk) {
    let pruned = prune_on(fixture, disk, 1);
    assert_eq!((pruned.dropped, pruned.errors), (7, 0));
    assert!(pruned.bytes_freed > 7 * 15_000, "{pruned:?}");
    assert_eq!(fixture.list("project"), ["7"]);
    assert!(!fixture.store().join("gc.pid.lock").exists());
    fixture.git(&["fsck", "--full", "--strict"]);
}

// rule: limit/total-size
#[test]
fn prune_with_0_bytes_free_deletes_all_evicted_checkpoints() {
    let fixture = eight_checkpoints();
    assert_frees_all_but_the_newest(&fixture, full_disk());
}

// rule: limit/total-size
#[test]
fn prune_with_0_bytes_free_works_without_indexes_or_size_estimate() {
    let fixture = eight_checkpoints();
    fs::remove_dir_all(fixture.store().join("indexes")).unwrap();
    fs::remove_file(fixture.store().join("usage")).unwrap();
    assert_frees_all_but_the_newest(&fixture, full_disk());
    fixture.take("project", "more");
    let exclude = fs::read_to_string(fixture.store().join("info/exclude")).unwrap();
    assert!(exclude.contains("node_modules"), "{exclude}");
}

// rule: limit/total-size
#[test]
fn prune_that_cannot_write_evicts_nothing_and_counts_errors() {
    let fixture = eight_checkpoints();
    let full = |call: Call, _: &Path| match writes(call) {
        true => Err(ErrorKind::StorageFull.into()),
        false => Ok(()),
    };
    let pruned = prune_on(&fixture, HookedDisk::new(full), 1);
    assert_eq!((pruned.dropped, pruned.bytes_freed > 20_000), (0, false));
    assert!(pruned.errors > 0 && pruned.over_bytes == 0, "{pruned:?}");
    assert_eq!(fixture.list("project").len(), 8);
    assert_frees_all_but_the_newest(&fixture, HookedDisk::new(|_, _| Ok(())));
}

// rule: limit/total-size
#[test]
fn prune_evicts_nothing_if_there_is_no_space_to_rewrite_a_pack() {
    let fixture = eight_checkpoints();
    fixture.git(&["repack", "-a", "-d", "-q"]);
    let full = || {
        HookedDisk::new(|call, path| match call {
            Call::FreeBytes => Err(ErrorKind::Other.into()),
            Call::WriteNew if path.to_string_lossy().contains("objects") => {
                Err(ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        })
    };
    let pruned = prune_on(&fixture, full(), 80_000);
    assert_eq!((pruned.dropped, pruned.errors), (0, 1), "{pruned:?}");
    assert_eq!(fixture.list("project").len(), 8);
    // A pack of which nothing is kept need not be rewritten.
    fixture.take("project", "7");
    assert_frees_all_but_the_newest_in_packs(&fixture, full());
}

#[track_caller]
fn assert_frees_all_but_the_newest_in_packs(fixture: &StoreFixture, disk: HookedDisk) {
    let pruned = prune_on(fixture, disk, 1);
    assert_eq!((pruned.dropped, pruned.errors), (8, 0));
    assert_eq!(fixture.packs(), Vec::<PathBuf>::new());
    fixture.git(&["fsck", "--full", "--strict"]);
}
