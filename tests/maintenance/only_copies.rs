//! An object of which only one copy is whole, or can be seen: freeing space never takes that away.

use crate::maintenance::world::{World, created, failing, noise, put};
use herma_core::Config;
use herma_harness::subject::Call;
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;

fn remove(world: &World, name: &str) {
    fs::remove_file(world.project("project").join(name)).unwrap();
}

/// Bytes that are reason enough to free space.
fn large() -> String {
    noise(1, 2 * 1024 * 1024)
}

#[test]
fn what_is_damaged_in_a_pack_that_stays_is_moved_out_of_one_that_goes() {
    let world = World::new();
    (0..70).for_each(|number| world.write_file(&format!("a{number}"), &format!("a {number} text")));
    let first = world.take_keeping(20, "project", "one");
    world.git(&["tag", "held", &first]);
    let stays = world.packs().remove(0);
    world.spoil(&stays, &world.blob(&first, "a5"));
    // Stored again, it is in a second pack, most of which is garbage afterwards.
    (0..70).for_each(|number| world.write_file(&format!("b{number}"), &format!("b {number}")));
    world.write_file("b0", &large());
    world.take_keeping(2, "project", "two");
    assert_eq!(world.packs().len(), 2);
    let goes = world.packs().into_iter().find(|pack| *pack != stays).unwrap();
    (0..70).for_each(|number| remove(&world, &format!("b{number}")));
    ["three", "four", "five"].iter().for_each(|step| drop(world.take_keeping(2, "project", step)));
    assert_eq!(world.prune().errors, 0);
    assert!(stays.exists() && !goes.exists());
    world.nothing_is_lost();
}

#[test]
fn what_is_damaged_in_a_file_of_its_own_is_moved_out_of_a_pack_that_goes() {
    let world = World::new();
    world.write_file("precious", "precious content");
    world.write_file("doomed", &large());
    let first = world.take_keeping(20, "project", "one");
    // What a `git gc` that died leaves behind: each object is there twice.
    world.git(&["repack", "-a", "--quiet"]);
    let goes = world.packs().remove(0);
    remove(&world, "doomed");
    world.take_keeping(20, "project", "two");
    let own = world.loose(&world.blob(&first, "precious"));
    put(&own, &fs::read(&own).unwrap()[..5]);
    remove(&world, "precious");
    world.take_keeping(2, "project", "three");
    assert_eq!(world.prune().errors, 0);
    assert!(!goes.exists());
    world.nothing_is_lost();
}

#[test]
fn a_pack_without_an_index_stays_while_what_it_holds_is_damaged_elsewhere() {
    let world = World::new();
    world.write_file("precious", "precious content");
    let taken = world.take_keeping(20, "project", "one");
    world.git(&["repack", "-a", "--quiet"]);
    let half = world.packs().remove(0);
    let index = half.with_extension("idx");
    let listed = fs::read(&index).unwrap();
    fs::remove_file(&index).unwrap();
    let own = world.loose(&world.blob(&taken, "precious"));
    let whole = fs::read(&own).unwrap();
    put(&own, &whole[..5]);
    world.prune();
    assert!(half.exists());
    fs::write(&index, listed).unwrap();
    world.nothing_is_lost();
    // Nothing needs it once all is whole elsewhere.
    fs::remove_file(&index).unwrap();
    put(&own, &whole);
    assert_eq!(world.prune().errors, 0);
    assert!(!half.exists());
    world.nothing_is_lost();
}

#[test]
fn what_is_left_of_a_pack_stays_where_it_was_once_written_without_its_index() {
    let world = World::new();
    (0..70).for_each(|number| world.write_file(&format!("{number}"), &format!("{number}")));
    world.write_file("doomed", &large());
    world.take_keeping(20, "project", "one");
    remove(&world, "doomed");
    world.take_keeping(20, "project", "two");
    let goes = world.packs().remove(0);
    let disk =
        failing(Call::Rename, ErrorKind::Other, |path| path.to_string_lossy().contains("_idx"));
    world.write("project", "three");
    let manager = world.on(disk, Config { max_snapshots: 2, ..Config::default() });
    created(&manager, &world.project("project"), "three");
    assert_eq!(world.packs().len(), 2);
    // The same objects make the same pack, which is called the same.
    assert_eq!(world.prune().errors, 0);
    assert!(!goes.exists());
    world.nothing_is_lost();
}

/// The index of a pack without that object. Who believes it finds nothing else wrong.
fn without(index: &[u8], id: &str) -> Vec<u8> {
    const IDS: usize = 8 + 256 * 4;
    let id: Vec<u8> =
        (0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()).collect();
    let number = |at: usize| u32::from_be_bytes(index[at..at + 4].try_into().unwrap());
    let count = number(IDS - 4) as usize;
    let place = (0..count).find(|place| index[IDS + 20 * place..][..20] == id).unwrap();
    let mut less = index[..8].to_vec();
    for first in 0..256 {
        let up_to = number(8 + 4 * first) - u32::from(first >= usize::from(id[0]));
        less.extend_from_slice(&up_to.to_be_bytes());
    }
    let mut begin = IDS;
    for bytes in [20, 4, 4] {
        less.extend_from_slice(&index[begin..begin + place * bytes]);
        less.extend_from_slice(&index[begin + (place + 1) * bytes..begin + count * bytes]);
        begin += count * bytes;
    }
    less.extend_from_slice(&index[begin..]);
    less
}

#[test]
fn a_pack_stays_of_which_the_index_leaves_something_out() {
    let world = World::new();
    (0..70).for_each(|number| world.write_file(&format!("{number}"), &format!("{number}")));
    world.write_file("doomed", &large());
    let first = world.take_keeping(20, "project", "one");
    let index = world.packs().remove(0).with_extension("idx");
    remove(&world, "doomed");
    world.take_keeping(20, "project", "two");
    remove(&world, "5");
    let whole = fs::read(&index).unwrap();
    put(&index, &without(&whole, &world.blob(&first, "5")));
    world.take_keeping(2, "project", "three");
    assert_eq!(world.prune().errors, 0);
    put(&index, &whole);
    world.nothing_is_lost();
    // What it holds beside garbage goes elsewhere once the index says it all.
    world.take_keeping(2, "project", "four");
    world.prune();
    assert!(!index.exists());
    world.nothing_is_lost();
}
