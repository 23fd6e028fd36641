//! Of the claims that the rewrite to one shared store was validated with, those that no written case
//! can say, from end to end, as a person runs into them.

use crate::command::world::World;
use crate::maintenance::world as repository;
use std::collections::BTreeSet;
use std::fs;

/// What plain git says of the store.
fn git(world: &World, words: &[&str]) -> String {
    let mut git = repository::git(&world.base().join("store"));
    git.args(words);
    String::from_utf8(repository::succeeds(git).stdout).unwrap()
}

fn objects(world: &World) -> BTreeSet<String> {
    let listed = git(world, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn two_projects_with_one_identical_file_share_its_blob() {
    let world = World::new();
    world.write("shared.py", "print('shared')\n");
    world.write("own.py", "print('one')\n");
    world.checkpoint("one");
    let neighbour = world.home().join("neighbour");
    fs::create_dir(&neighbour).unwrap();
    fs::write(neighbour.join("shared.py"), "print('shared')\n").unwrap();
    fs::write(neighbour.join("other.py"), "print('two')\n").unwrap();
    world.herma(&["checkpoint", "~/neighbour"]).done();
    // Two commits, two trees, two files of their own, and the one they share.
    assert_eq!(objects(&world).len(), 7);
}

#[test]
fn three_of_six_checkpoints_are_listed_with_room_for_three() {
    let world = World::new();
    world.configure("checkpoints:\n  max_snapshots: 3\n");
    let mut ids = Vec::new();
    for step in 1..=6 {
        world.write("a.txt", format!("{step}\n"));
        ids.insert(0, world.checkpoint(&format!("step {step}")));
    }
    let listed = world.herma(&["rollback", "--json"]).done().json();
    let listed: Vec<_> = listed["checkpoints"].as_array().unwrap().clone();
    let listed: Vec<&str> = listed.iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(listed, ids[..3]);
    assert_eq!(git(&world, &["rev-list", "--all"]).lines().count(), 3);
    git(&world, &["fsck", "--full", "--strict"]);
    // What a person runs to see how much of it is really gone.
    world.herma(&["checkpoints", "prune"]).done();
    let objects = objects(&world);
    assert_eq!(objects.len(), 9, "three commits, trees and blobs: {objects:?}");
    git(&world, &["gc", "--quiet", "--prune=now"]);
    for (number, content) in [("1", "6\n"), ("2", "5\n"), ("3", "4\n")] {
        world.herma(&["rollback", number, "a.txt"]).done();
        assert_eq!(world.read("a.txt"), content);
        // Back to where the numbers are what they were.
        world.write("a.txt", "6\n");
    }
}
