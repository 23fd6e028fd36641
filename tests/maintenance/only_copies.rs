//! Last intact copies: a collection never deletes the only intact or only visible copy of an object.

use crate::maintenance::world::{StoreFixture, fail_calls, noise, replace_file, take_checkpoint};
use herma_core::Config;
use herma_harness::subject::Call;
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;

fn remove(fixture: &StoreFixture, name: &str) {
    fs::remove_file(fixture.project("project").join(name)).unwrap();
}

/// Enough bytes to trigger a collection.
fn large() -> String {
    noise(1, 2 * 1024 * 1024)
}

#[test]
fn a_collection_moves_the_intact_copy_of_an_object_that_is_damaged_in_a_kept_pack() {
    let fixture = StoreFixture::new();
    (0..70)
        .for_each(|number| fixture.write_file(&format!("a{number}"), &format!("a {number} text")));
    let first = fixture.take_with_limit(20, "project", "one");
    fixture.git(&["tag", "held", &first]);
    let kept_pack = fixture.packs().remove(0);
    fixture.corrupt_packed_object(&kept_pack, &fixture.blob_id(&first, "a5"));
    // The object is stored again in a second pack, most of which becomes garbage.
    (0..70).for_each(|number| fixture.write_file(&format!("b{number}"), &format!("b {number}")));
    fixture.write_file("b0", &large());
    fixture.take_with_limit(2, "project", "two");
    assert_eq!(fixture.packs().len(), 2);
    let removed_pack = fixture.packs().into_iter().find(|pack| *pack != kept_pack).unwrap();
    (0..70).for_each(|number| remove(&fixture, &format!("b{number}")));
    ["three", "four", "five"]
        .iter()
        .for_each(|step| drop(fixture.take_with_limit(2, "project", step)));
    assert_eq!(fixture.prune().errors, 0);
    assert!(kept_pack.exists() && !removed_pack.exists());
    fixture.assert_nothing_is_lost();
}

#[test]
fn a_collection_moves_the_intact_packed_copy_of_a_damaged_loose_object() {
    let fixture = StoreFixture::new();
    fixture.write_file("precious", "precious content");
    fixture.write_file("doomed", &large());
    let first = fixture.take_with_limit(20, "project", "one");
    // A killed `git gc` leaves every object both packed and loose.
    fixture.git(&["repack", "-a", "--quiet"]);
    let removed_pack = fixture.packs().remove(0);
    remove(&fixture, "doomed");
    fixture.take_with_limit(20, "project", "two");
    let loose_object = fixture.loose_object(&fixture.blob_id(&first, "precious"));
    replace_file(&loose_object, &fs::read(&loose_object).unwrap()[..5]);
    remove(&fixture, "precious");
    fixture.take_with_limit(2, "project", "three");
    assert_eq!(fixture.prune().errors, 0);
    assert!(!removed_pack.exists());
    fixture.assert_nothing_is_lost();
}

#[test]
fn prune_keeps_a_pack_without_an_index_while_other_copies_of_its_objects_are_damaged() {
    let fixture = StoreFixture::new();
    fixture.write_file("precious", "precious content");
    let taken = fixture.take_with_limit(20, "project", "one");
    fixture.git(&["repack", "-a", "--quiet"]);
    let pack = fixture.packs().remove(0);
    let index = pack.with_extension("idx");
    let listed = fs::read(&index).unwrap();
    fs::remove_file(&index).unwrap();
    let loose_object = fixture.loose_object(&fixture.blob_id(&taken, "precious"));
    let intact = fs::read(&loose_object).unwrap();
    replace_file(&loose_object, &intact[..5]);
    fixture.prune();
    assert!(pack.exists());
    fs::write(&index, listed).unwrap();
    fixture.assert_nothing_is_lost();
    // The pack is not needed once all of its objects are intact elsewhere.
    fs::remove_file(&index).unwrap();
    replace_file(&loose_object, &intact);
    assert_eq!(fixture.prune().errors, 0);
    assert!(!pack.exists());
    fixture.assert_nothing_is_lost();
}

#[test]
fn a_collection_succeeds_after_a_rewritten_pack_was_left_without_its_index() {
    let fixture = StoreFixture::new();
    (0..70).for_each(|number| fixture.write_file(&format!("{number}"), &format!("{number}")));
    fixture.write_file("doomed", &large());
    fixture.take_with_limit(20, "project", "one");
    remove(&fixture, "doomed");
    fixture.take_with_limit(20, "project", "two");
    let old_pack = fixture.packs().remove(0);
    let disk =
        fail_calls(Call::Rename, ErrorKind::Other, |path| path.to_string_lossy().contains("_idx"));
    fixture.write("project", "three");
    let manager = fixture.manager_on(disk, Config { max_snapshots: 2, ..Config::default() });
    take_checkpoint(&manager, &fixture.project("project"), "three");
    assert_eq!(fixture.packs().len(), 2);
    // The same objects make the same pack, with the same name.
    assert_eq!(fixture.prune().errors, 0);
    assert!(!old_pack.exists());
    fixture.assert_nothing_is_lost();
}

/// The index of a pack with that object removed; it is otherwise valid.
fn without(index: &[u8], id: &str) -> Vec<u8> {
    const IDS: usize = 8 + 256 * 4;
    let id: Vec<u8> =
        (0..20).map(|byte| u8::from_str_radix(&id[2 * byte..2 * byte + 2], 16).unwrap()).collect();
    let number = |offset: usize| u32::from_be_bytes(index[offset..offset + 4].try_into().unwrap());
    let count = number(IDS - 4) as usize;
    let position = (0..count).find(|position| index[IDS + 20 * position..][..20] == id).unwrap();
    let mut shortened = index[..8].to_vec();
    for first in 0..256 {
        let up_to = number(8 + 4 * first) - u32::from(first >= usize::from(id[0]));
        shortened.extend_from_slice(&up_to.to_be_bytes());
    }
    let mut begin = IDS;
    for bytes in [20, 4, 4] {
        shortened.extend_from_slice(&index[begin..begin + position * bytes]);
        shortened.extend_from_slice(&index[begin + (position + 1) * bytes..begin + count * bytes]);
        begin += count * bytes;
    }
    shortened.extend_from_slice(&index[begin..]);
    shortened
}

#[test]
fn prune_keeps_a_pack_whose_index_omits_an_object() {
    let fixture = StoreFixture::new();
    (0..70).for_each(|number| fixture.write_file(&format!("{number}"), &format!("{number}")));
    fixture.write_file("doomed", &large());
    let first = fixture.take_with_limit(20, "project", "one");
    let index = fixture.packs().remove(0).with_extension("idx");
    remove(&fixture, "doomed");
    fixture.take_with_limit(20, "project", "two");
    remove(&fixture, "5");
    let complete = fs::read(&index).unwrap();
    replace_file(&index, &without(&complete, &fixture.blob_id(&first, "5")));
    fixture.take_with_limit(2, "project", "three");
    assert_eq!(fixture.prune().errors, 0);
    replace_file(&index, &complete);
    fixture.assert_nothing_is_lost();
    // Once the index is complete, the remaining objects of the pack are moved.
    fixture.take_with_limit(2, "project", "four");
    fixture.prune();
    assert!(!index.exists());
    fixture.assert_nothing_is_lost();
}
