//! The claims that the rewrite to one shared store was validated with, from end to end, as a person
//! runs into them: each test is one line of that list.

use crate::command::world::World;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What plain git says of the store.
fn git(world: &World, words: &[&str]) -> String {
    git_in(&world.base().join("store"), words)
}

fn git_in(repository: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    git.env("HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1");
    let ended = git.arg("--git-dir").arg(repository).args(words).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap()
}

fn objects(world: &World) -> BTreeSet<String> {
    let listed = git(world, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    listed.lines().map(str::to_owned).collect()
}

/// A second project beside the first, with this file.
fn neighbour(world: &World, name: &str, content: &str) -> String {
    let path = world.home().join("neighbour");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join(name), content).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_the_v1_repository_left_is_archived_and_git_still_reads_it() {
    let world = World::new();
    world.write("a.txt", "of the v1\n");
    let repository = world.base().join("0123456789abcdef");
    fs::create_dir_all(&repository).unwrap();
    for words in [
        &["init", "--quiet"][..],
        &["add", "--all"],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=old"],
    ] {
        let mut git = Command::new("git");
        git.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        git.env("HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1");
        git.env("GIT_DIR", &repository).env("GIT_WORK_TREE", world.project());
        assert!(git.current_dir(world.project()).args(words).status().unwrap().success());
    }
    let workdir = format!("{}\n", world.project().display());
    fs::write(repository.join("HERMES_WORKDIR"), workdir).unwrap();
    world.checkpoint("new");
    let status = world.herma(&["checkpoints", "--json"]).done().json();
    let archive = status["legacy"][0][0].as_str().unwrap().to_owned();
    assert!(!repository.exists() && archive.starts_with("legacy-"), "{archive}");
    let archived = world.base().join(archive).join("0123456789abcdef");
    assert_eq!(git_in(&archived, &["log", "--format=%s"]), "old\n");
    assert_eq!(git_in(&archived, &["show", "HEAD:a.txt"]), "of the v1\n");
    assert_eq!(world.checkpoints(), 1);
    world.herma(&["checkpoints", "clear-legacy", "--force"]).done();
    assert!(!archived.exists());
    assert_eq!(world.checkpoints(), 1);
}

#[test]
fn two_projects_with_one_identical_file_share_its_blob() {
    let world = World::new();
    world.write("shared.py", "print('shared')\n");
    world.write("own.py", "print('one')\n");
    world.checkpoint("one");
    let neighbour = neighbour(&world, "shared.py", "print('shared')\n");
    fs::write(Path::new(&neighbour).join("other.py"), "print('two')\n").unwrap();
    world.herma(&["checkpoint", &neighbour]).done();
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

#[test]
fn pruning_an_orphan_removes_all_of_it_and_reclaims_its_objects() {
    let world = World::new();
    world.write("a.txt", "one\n");
    world.checkpoint("one");
    let before = objects(&world);
    let neighbour = neighbour(&world, "b.txt", "two\n");
    world.herma(&["checkpoint", &neighbour]).done();
    assert_eq!(objects(&world).len(), before.len() + 3);
    fs::remove_dir_all(&neighbour).unwrap();
    let pruned = world.herma(&["checkpoints", "prune", "--retention-days", "0", "--json"]);
    let pruned = pruned.done().json();
    assert_eq!((&pruned["orphans"], &pruned["errors"]), (&1.into(), &0.into()), "{pruned}");
    assert_eq!(objects(&world), before);
    for folder in ["refs/hermes", "indexes", "projects"] {
        let left = fs::read_dir(world.base().join("store").join(folder)).unwrap().count();
        assert_eq!(left, 1, "{folder}");
    }
}

#[test]
fn a_file_of_two_megabytes_is_left_out_at_a_cap_of_one() {
    let world = World::new();
    world.configure("checkpoints:\n  max_file_size_mb: 1\n");
    world.write("weights.bin", vec![7; 2 << 20]);
    world.write("exact.bin", vec![8; 1 << 20]);
    world.write("main.py", "print()\n");
    let id = world.checkpoint("code");
    let names = git(&world, &["ls-tree", "-r", "--name-only", &id]);
    assert_eq!(names, "exact.bin\nmain.py\n");
}

#[test]
fn the_store_is_kept_from_the_command_line_without_an_agent() {
    let world = World::new();
    world.write("a.txt", "one\n");
    world.checkpoint("one");
    for words in [&["checkpoints"][..], &["checkpoints", "status"], &["checkpoints", "list"]] {
        let status = world.herma(&[words, &["--json"]].concat()).done().json();
        assert_eq!(status["projects"][0]["checkpoints"], 1);
    }
    world.herma(&["checkpoints", "prune"]).done();
    assert_eq!(world.checkpoints(), 1);
    world.herma(&["checkpoints", "clear-legacy", "--force"]).done();
    world.herma(&["checkpoints", "clear", "--force"]).done();
    assert_eq!(world.checkpoints(), 0);
    assert!(!world.base().join("store").exists());
}
