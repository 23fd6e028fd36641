//! What was seen whole once is believed only of the file that it was seen in, as long as nothing
//! touches that: what is damaged afterwards is stored again with the next checkpoint.

use crate::maintenance::world::{World, before, created, put};
use herma_core::{Config, Outcome};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

/// Longer than a tick of the file system's clock: what is in one tick is looked at again anyway.
const TICK: Duration = Duration::from_millis(30);

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    put(path, &bytes[..5]);
}

/// Takes a checkpoint of the project, in which nothing changed.
#[track_caller]
fn take_again(world: &World) {
    let taken = world.manager().checkpoint(&world.project("project"), "again").unwrap();
    assert_eq!(taken.outcome, Outcome::Unchanged);
}

/// A disk on which something happens once, before the first such write.
fn once(is_one: fn(&str) -> bool, happening: impl Fn() + Send + Sync + 'static) -> HookedDisk {
    let due = AtomicBool::new(true);
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    before(
        Call::WriteNew,
        move |path| is_one(&name(path)),
        move |_| {
            if due.swap(false, Ordering::SeqCst) {
                sleep(TICK);
                happening();
                sleep(TICK);
            }
            Ok(())
        },
    )
}

#[test]
fn a_pack_in_which_an_object_was_damaged_is_not_believed_where_its_other_copy_goes() {
    let world = World::new();
    (0..70).for_each(|number| world.write_file(&format!("{number}"), &format!("{number} text")));
    let first = world.take("project", "one");
    let (pack, id) = (world.packs().remove(0), world.blob(&first, "5"));
    world.spoil(&pack, &id);
    sleep(TICK);
    world.take("project", "two");
    assert!(world.loose(&id).exists(), "it was stored again");
    sleep(TICK);
    world.take("project", "three");
    // As `git gc` does, since a pack names it.
    world.git(&["prune-packed"]);
    assert!(!world.loose(&id).exists());
    take_again(&world);
    world.nothing_is_lost();
}

#[test]
fn an_index_of_a_time_that_is_still_to_come_hides_no_damage() {
    let world = World::new();
    let first = world.take("project", "one");
    sleep(TICK);
    take_again(&world);
    let index = world.store().join("indexes").join(world.hash("project"));
    let later = SystemTime::now() + Duration::from_secs(3600);
    fs::File::options().write(true).open(index).unwrap().set_modified(later).unwrap();
    sleep(TICK);
    cut(&world.loose(&world.blob(&first, "a.txt")));
    take_again(&world);
    world.nothing_is_lost();
}

#[test]
fn what_is_damaged_after_it_was_looked_at_is_stored_again_with_the_next_checkpoint() {
    let world = World::new();
    world.write_file("kept", "kept");
    let first = world.take("project", "one");
    sleep(TICK);
    let kept = world.loose(&world.blob(&first, "kept"));
    let is_object: fn(&str) -> bool = |name| name.starts_with("tmp_obj_");
    let disk = once(is_object, move || cut(&kept));
    world.write("project", "two");
    created(&world.on(disk, Config::default()), &world.project("project"), "two");
    sleep(TICK);
    take_again(&world);
    world.nothing_is_lost();
}

#[test]
fn what_is_damaged_after_it_was_stored_is_stored_again_with_the_next_checkpoint() {
    let world = World::new();
    world.take("project", "one");
    sleep(TICK);
    world.write("project", "two");
    let file = world.project("project").join("a.txt");
    let new = world.loose(&world.git(&["hash-object", file.to_str().unwrap()]));
    let is_index: fn(&str) -> bool = |name| name.starts_with("index-");
    let disk = once(is_index, move || cut(&new));
    created(&world.on(disk, Config::default()), &world.project("project"), "two");
    sleep(TICK);
    take_again(&world);
    world.nothing_is_lost();
}

#[test]
fn no_object_of_a_file_is_read_again_where_nothing_changed() {
    for files in [30, 300] {
        let world = World::new();
        for number in 0..files {
            world.write_file(&format!("{number}"), &format!("{number} text"));
        }
        world.take("project", "one");
        sleep(TICK);
        // What was stored in the tick in which the index was written is looked at once more.
        take_again(&world);
        let read = Arc::new(AtomicUsize::new(0));
        let (seen, objects) = (Arc::clone(&read), world.store().join("objects"));
        let is_object = move |path: &Path| path.starts_with(&objects);
        let disk = before(Call::Read, is_object, move |_| {
            seen.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        let manager = world.on(disk, Config::default());
        let taken = manager.checkpoint(&world.project("project"), "again").unwrap();
        assert_eq!(taken.outcome, Outcome::Unchanged);
        let read = read.load(Ordering::Relaxed);
        assert!(read < 10, "{files} files, {read} times something was read");
    }
}
