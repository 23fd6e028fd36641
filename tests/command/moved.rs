//! A project directory that was renamed: its history stays until a user decides, and `herma checkpoints
//! move` gives it to the new directory.

use crate::command::world::CommandFixture;
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// A project with two checkpoints, one of them labelled and with a pre-restore checkpoint after it, that was
/// renamed; returns its new directory.
fn renamed(world: &CommandFixture) -> PathBuf {
    world.write("a", "1\n");
    world.write("sub/b", "1\n");
    world.herma(&["checkpoint", "--label", "base"]).done();
    world.write("a", "2\n");
    world.herma(&["checkpoint"]).done();
    world.write("a", "3\n");
    world.herma(&["rollback", "2"]).done();
    let new = world.home().join("renamed");
    fs::rename(world.project(), &new).unwrap();
    new
}

fn ids(world: &CommandFixture, dir: &str) -> Vec<String> {
    let listed = world.herma_in(&world.home(), &["rollback", "--json", "--dir", dir]).done().json();
    let listed = listed["checkpoints"].as_array().unwrap().iter();
    listed.map(|checkpoint| checkpoint["id"].as_str().unwrap().to_owned()).collect()
}

// rule: sweep/evidence
#[test]
fn prune_keeps_the_history_of_a_renamed_project_and_names_the_command_that_moves_it() {
    let world = CommandFixture::new();
    let new = renamed(&world);
    let old = world.project();
    // A pin would keep it whatever happened to the directory.
    world.herma_in(&new, &["unpin", "base", "--dir", old.to_str().unwrap()]).done();
    let before = ids(&world, old.to_str().unwrap());
    assert_eq!(before.len(), 3);
    let pruned = world.herma_in(&world.home(), &["checkpoints", "prune"]).done().text();
    let command = format!("herma checkpoints move {} {}", old.display(), new.display());
    assert!(pruned.contains(&command), "{pruned}");
    assert_eq!(ids(&world, old.to_str().unwrap()), before);
    // Nothing in it is as it was.
    fs::remove_dir_all(new.join("sub")).unwrap();
    fs::write(new.join("a"), "4\n").unwrap();
    let pruned = world.herma_in(&world.home(), &["checkpoints", "prune"]).done().text();
    assert!(pruned.contains(&command), "{pruned}");
    // What is gone is removed, and named.
    fs::remove_dir_all(&new).unwrap();
    let pruned = world.herma_in(&world.home(), &["checkpoints", "prune"]).done().text();
    assert!(pruned.contains("1 project whose directory no longer exists"), "{pruned}");
    assert!(
        pruned.contains(old.to_str().unwrap()) && !pruned.contains("herma checkpoints"),
        "{pruned}"
    );
}

// rule: sweep/evidence
#[test]
fn prune_keeps_the_history_of_a_project_that_was_moved_to_a_parent_nearby() {
    let world = CommandFixture::new();
    world.write("a", "1\n");
    world.herma(&["checkpoint"]).done();
    let mut old = world.project();
    let name = old.file_name().unwrap().to_owned();
    for parent in ["archive", "archive/2026", "archive", "code", ""] {
        let new = world.home().join(parent).join(&name);
        fs::create_dir_all(new.parent().unwrap()).unwrap();
        fs::rename(&old, &new).unwrap();
        let words = [old.to_str().unwrap(), new.to_str().unwrap()];
        let before = ids(&world, words[0]);
        let pruned = world.herma_in(&world.home(), &["checkpoints", "prune"]).done().text();
        assert!(
            pruned.contains(&format!("herma checkpoints move {} {}", words[0], words[1])),
            "{pruned}"
        );
        world.herma_in(&new, &["checkpoints", "move", words[0], words[1]]).done();
        assert_eq!(ids(&world, words[1]), before, "{parent}");
        assert!(!before.is_empty());
        // A prune knows the files of a directory from its last checkpoint, which a move leaves behind.
        world.herma_in(&new, &["checkpoint"]).done();
        old = new;
    }
}

// rule: scope/identity
#[test]
fn list_of_a_moved_project_names_the_command_that_moves_its_history() {
    let world = CommandFixture::new();
    let renamed = renamed(&world);
    let old = world.project();
    let new = world.home().join("far/away/project");
    fs::create_dir_all(new.parent().unwrap()).unwrap();
    fs::rename(renamed, &new).unwrap();
    let list = world.herma_in(&new, &["list"]).done().text();
    let command = format!("herma checkpoints move {} {}", old.display(), new.display());
    assert!(list.contains(&command), "{list}");
    let words = ["checkpoints", "move", old.to_str().unwrap(), new.to_str().unwrap()];
    world.herma_in(&new, &words).done();
    let list = world.herma_in(&new, &["list"]).done().text();
    assert!(!list.contains("checkpoints move"), "{list}");
}

// rule: scope/identity
#[test]
fn checkpoints_move_gives_the_new_directory_the_complete_history() {
    let world = CommandFixture::new();
    let new = renamed(&world);
    let old = world.project();
    let words = [old.to_str().unwrap(), new.to_str().unwrap()];
    let before = ids(&world, words[0]);
    let moved = world.herma_in(&new, &["checkpoints", "move", words[0], words[1]]).done().text();
    assert!(moved.contains("3 checkpoints"), "{moved}");
    assert_eq!(ids(&world, words[1]), before);
    assert_eq!(ids(&world, words[0]), Vec::<String>::new());
    let herma = |words: &[&str]| world.herma_in(&new, words).done().text();
    let list = herma(&["rollback", "--dir", words[1]]);
    assert!(list.contains("label: base (pinned)"), "{list}");
    herma(&["undo", "--dir", words[1]]);
    assert_eq!(fs::read_to_string(new.join("a")).unwrap(), "3\n");
    herma(&["rollback", "base", "--dir", words[1]]);
    assert_eq!(fs::read_to_string(new.join("a")).unwrap(), "1\n");
    fs::write(new.join("a"), "4\n").unwrap();
    herma(&["checkpoint", words[1]]);
    let status = herma(&["checkpoints"]);
    assert!(status.contains("renamed") && !status.contains(words[0]), "{status}");
    world.herma_in(&new, &["checkpoints", "verify"]).done();
    herma(&["checkpoints", "prune"]);
    assert!(ids(&world, words[1]).len() > 3);
}

#[test]
fn checkpoints_move_refuses_what_would_mix_or_lose_histories() {
    let world = CommandFixture::new();
    let new = renamed(&world);
    let old = world.project();
    let words = [old.to_str().unwrap(), new.to_str().unwrap()];
    let refused = |from: &str, to: &str| {
        let refused = world.herma_in(&world.home(), &["checkpoints", "move", from, to]);
        refused.refusal().to_owned()
    };
    assert_eq!(refused(words[1], words[1]), "cannot_move");
    assert_eq!(refused("/nowhere", words[1]), "cannot_move");
    assert_eq!(refused(words[0], "/nowhere/at/all"), "missing_directory");
    assert_eq!(refused(words[0], world.home().to_str().unwrap()), "scope_home");
    // A directory that still exists keeps its history.
    fs::create_dir(&old).unwrap();
    assert_eq!(refused(words[0], words[1]), "cannot_move");
    fs::remove_dir(&old).unwrap();
    // So does one that has its own, and no page prints the command.
    world.herma_in(&new, &["checkpoint", words[1]]).done();
    assert_eq!(refused(words[0], words[1]), "cannot_move");
    world.herma_in(&new, &["unpin", "base", "--dir", words[0]]).done();
    let pruned = world.herma_in(&world.home(), &["checkpoints", "prune"]).done().text();
    let list = format!("herma list --dir {}", words[0]);
    assert!(pruned.contains(&list) && !pruned.contains("checkpoints move"), "{pruned}");
    let listed = world.herma_in(&world.home(), &["list", "--dir", words[0]]).done().text();
    assert!(listed.contains("label: base"), "{listed}");
    assert_eq!(ids(&world, words[0]).len(), 3);
    assert_eq!(ids(&world, words[1]).len(), 1);
}

// rule: agent/parts
#[test]
fn move_makes_no_project_the_owner_of_a_state_that_another_begins_later() {
    let world = CommandFixture::new();
    world.write("a", "1\n");
    world.herma(&["checkpoint"]).done();
    let moved = world.root.join("moved");
    fs::rename(world.project(), &moved).unwrap();
    let words = [world.project(), moved.clone()].map(|path| path.to_str().unwrap().to_owned());
    world.herma_in(&moved, &["checkpoints", "move", &words[0], &words[1]]).done();
    assert!(!world.base().with_file_name("agent").exists());
}

// rule: sweep/evidence
#[test]
fn move_gives_a_project_its_history_back_whose_old_path_is_now_a_link_to_it() {
    for parent_is_link in [false, true] {
        let world = CommandFixture::new();
        world.write("a", "1\n");
        world.herma(&["checkpoint"]).done();
        let [old, data] = [world.project(), world.root.join("data")];
        let moved = if parent_is_link { world.home() } else { old.clone() };
        fs::rename(&moved, &data).unwrap();
        symlink(&data, &moved).unwrap();
        let new = fs::canonicalize(&old).unwrap();
        let command = format!("herma checkpoints move {} {}", old.display(), new.display());
        let listed = world.herma_in(&old, &["list"]).done().text();
        assert!(listed.contains(&command), "{listed}");
        let words = ["checkpoints", "move", old.to_str().unwrap(), new.to_str().unwrap()];
        world.herma_in(&old, &words).done();
        fs::write(new.join("a"), "2\n").unwrap();
        world.herma_in(&old, &["rollback", "1"]).done();
        assert_eq!(fs::read_to_string(new.join("a")).unwrap(), "1\n");
    }
}
