//! When a prune happens by itself, and that it is never in anyone's way.

use crate::maintenance::world::{DAY, NOON, World, before, failing};
use herma_core::disk::SystemDisk;
use herma_core::{Config, PruneOptions, Pruned, Swept};
use herma_harness::subject::Call;
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

fn orphaned() -> World {
    let world = World::new();
    world.take("gone", "one");
    fs::remove_dir_all(world.project("gone")).unwrap();
    world
}

fn is_done(swept: Swept) -> bool {
    matches!(swept, Swept::Done(_))
}

#[test]
fn of_two_sweeps_at_the_same_time_one_is_made() {
    let no_store = World::new();
    fs::create_dir_all(no_store.base()).unwrap();
    for world in [orphaned(), no_store] {
        one_of_two_is_made(&world);
    }
}

fn one_of_two_is_made(world: &World) {
    let (other, answers) = (world.manager(), Arc::new(Mutex::new(Vec::new())));
    let seen = answers.clone();
    // Another process sweeps before the first one notes that it did.
    let base = world.base();
    let notes = move |path: &Path| path.parent() == Some(&base);
    let disk = before(Call::WriteNew, notes, move |_| {
        seen.lock().unwrap().push(other.sweep());
        Ok(())
    });
    assert!(is_done(world.on(disk, Config::default()).sweep()));
    assert_eq!(*answers.lock().unwrap(), [Swept::NotDue]);
    assert_eq!(world.manager().sweep(), Swept::NotDue);
}

#[test]
fn a_sweep_is_noted_although_a_prune_beside_it_tidies_up() {
    let world = orphaned();
    let (fresh, other, once) =
        (world.base().join(".last_prune-0"), world.manager(), AtomicBool::new(true));
    let options = PruneOptions::from(&Config::default());
    let disk = before(
        Call::Rename,
        move |path| *path == fresh,
        move |_| {
            if once.swap(false, Ordering::SeqCst) {
                other.prune(&options, &mut |_| {}).unwrap();
            }
            Ok(())
        },
    );
    assert!(is_done(world.on(disk, Config::default()).sweep()));
    assert_eq!(world.manager().sweep(), Swept::NotDue);
}

#[test]
fn a_marker_that_says_no_time_that_was_is_that_of_no_sweep() {
    let world = orphaned();
    let marker = world.base().join(".last_prune");
    assert!(is_done(world.manager().sweep()));
    assert_eq!(fs::read_to_string(&marker).unwrap(), "1773662400.0");
    let future = format!("{}", NOON + 1);
    let corrupt: [&[u8]; 8] =
        [b"", b"soon", b"nan", b"inf", b"-inf", b"\xff\x00", &[b'1'; 5000], future.as_bytes()];
    for text in corrupt {
        fs::write(&marker, text).unwrap();
        assert!(is_done(world.manager().sweep()), "{}", text.escape_ascii());
        assert_eq!(world.manager().sweep(), Swept::NotDue);
    }
    for text in ["1773662399.25\n", "1773662400", " 1.7736e9 "] {
        fs::write(&marker, text).unwrap();
        assert_eq!(world.manager().sweep(), Swept::NotDue, "{text}");
    }
}

#[test]
fn a_sweep_is_off_where_it_is_turned_off_or_there_is_nothing() {
    let world = orphaned();
    let off = Config { auto_prune: false, ..Config::default() };
    assert_eq!(world.on(SystemDisk, off).sweep(), Swept::Off);
    assert_eq!(world.in_base(), ["store"]);
    let empty = World::new();
    assert_eq!(empty.manager().sweep(), Swept::Off);
    assert_eq!(empty.prune(), Pruned::default());
    assert!(!empty.base().exists());
}

#[test]
fn a_sweep_that_fails_is_counted_and_not_tried_again_at_once() {
    let world = orphaned();
    let disk = failing(Call::TryLock, ErrorKind::Other, |_| true);
    let swept = world.on(disk, Config::default()).sweep();
    assert_eq!(swept, Swept::Done(Pruned { errors: 1, ..Pruned::default() }));
    assert_eq!(world.manager().sweep(), Swept::NotDue);
    let disk = failing(Call::WriteNew, ErrorKind::StorageFull, |_| true);
    world.set_clock(NOON + DAY);
    assert!(is_done(world.on(disk, Config::default()).sweep()));
    assert!(is_done(world.manager().sweep()), "the marker could not be written");
}
