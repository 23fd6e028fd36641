//! `herma restore N PATH...` and `--to WHEN`: parts of a checkpoint, and checkpoints by their age.

use crate::command::world::{CommandFixture, assert_text, binary};
use pretty_assertions::assert_eq;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

/// A checkpoint of `a.txt` and two files below `src`; all were changed since, and `src/new.txt` was created.
fn changed() -> CommandFixture {
    let world = CommandFixture::new();
    world.write("Makefile", "all:\n");
    for file in ["a.txt", "src/b.txt", "src/deep/c.txt"] {
        world.write(file, "as recorded\n");
    }
    world.checkpoint("first");
    for file in ["a.txt", "src/b.txt", "src/deep/c.txt", "src/new.txt"] {
        world.write(file, "changed\n");
    }
    world
}

#[test]
fn rollback_restores_a_folder_and_undo_gives_it_back() {
    let world = changed();
    let text = world.transcript(&[
        world.herma(&["rollback", "1", "src", "--dry-run"]),
        world.herma(&["restore", "1", "src"]),
        world.herma(&["undo"]),
        world.herma(&["restore", "1", "src/deep", "a.txt", "--exact"]),
        world.herma(&["restore", "1", "src", "--exact"]),
        world.herma(&["undo"]),
        world.herma(&["restore", "1", "src", "missing.txt"]),
        world.herma(&["restore", "1", "sr"]),
    ]);
    assert_text("rollback-paths", &text);
    assert_eq!(world.read("src/b.txt"), "changed\n");
    assert_eq!(world.read("src/new.txt"), "changed\n");
    assert_eq!(world.read("src/deep/c.txt"), "as recorded\n");
}

#[test]
fn rollback_takes_paths_as_a_shell_does_and_the_project_as_everything() {
    let world = changed();
    let src = world.path("src");
    let absolute = world.path("src/b.txt");
    world.herma_in(&src, &["restore", "1", "deep", "../a.txt"]).done();
    assert_eq!(world.read("src/deep/c.txt"), "as recorded\n");
    assert_eq!(world.read("a.txt"), "as recorded\n");
    assert_eq!(world.read("src/b.txt"), "changed\n");
    world.herma_in(&src, &["restore", "u1", absolute.to_str().unwrap(), "deep"]).done();
    assert_eq!(world.read("src/b.txt"), "changed\n");
    assert_eq!(world.read("src/deep/c.txt"), "changed\n");
    world.herma_in(&src, &["restore", "1", ".."]).done();
    assert_eq!(world.read("src/b.txt"), "as recorded\n");
    for paths in [&["../x", "a.txt"][..], &[""], &["", "a.txt"]] {
        let words = [&["restore", "1"], paths].concat();
        assert_eq!(world.herma(&words).refusal(), "bad_path", "{paths:?}");
    }
}

#[test]
fn rollback_with_the_token_of_a_preview_restores_the_same_paths() {
    let world = changed();
    let preview = world.herma(&["rollback", "1", "src", "a.txt", "--dry-run"]).done().text();
    let command = preview.lines().last().unwrap().trim();
    assert!(command.ends_with(" -- src a.txt"), "{command}");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    world.write("src/deep/c.txt", "changed again\n");
    assert_eq!(world.herma(&words).refusal(), "changed_since_preview");
    world.write("src/deep/c.txt", "changed\n");
    world.herma(&words).done();
    assert_eq!(world.read("src/deep/c.txt"), "as recorded\n");
}

#[test]
fn undo_undoes_the_rollback_before_one_that_changed_nothing() {
    let world = changed();
    world.herma(&["rollback", "1"]).done();
    world.herma(&["rollback", "1"]).done();
    let undone = world.herma(&["undo"]).done().text();
    assert!(undone.contains("To get them back: herma redo"), "{undone}");
    assert_eq!(world.read("a.txt"), "changed\n");
    world.herma(&["redo"]).done();
    assert_eq!(world.read("a.txt"), "as recorded\n");
}

#[test]
fn checkpoint_of_a_folder_names_the_project_that_it_is_in() {
    let world = changed();
    let taken = world.herma(&["checkpoint", "src", "--json"]).done().json();
    let notice = taken["notices"][0].as_str().unwrap();
    assert!(notice.contains("is a folder of the project"), "{notice}");
    let misspelt = world.herma(&["rollback", "dif"]).stderr;
    assert!(misspelt.contains("did you mean `herma rollback diff`?"), "{misspelt}");
}

#[test]
fn a_folder_of_a_project_without_a_marker_is_told_where_the_checkpoints_are() {
    let world = CommandFixture::new();
    world.write("src/b.txt", "1\n");
    world.checkpoint("of the whole project");
    let src = world.path("src");
    let project = world.project().to_str().unwrap().to_owned();
    for words in [&["undo"][..], &["diff"], &["log", "b.txt"], &["cat", "1", "b.txt"]] {
        let refused = world.herma_in(&src, words);
        assert!(matches!(refused.refusal(), "nothing_to_undo" | "unknown_checkpoint"));
        let hint = format!("which contains it, has some: add --dir {project}");
        assert!(refused.stderr.contains(&hint), "{}", refused.stderr);
        assert!(refused.stderr.contains(src.to_str().unwrap()), "{}", refused.stderr);
    }
    let listed = world.herma_in(&src, &["list"]).done().text();
    let hint = format!("contains this one has checkpoints:\n  herma rollback --dir {project}\n");
    assert!(listed.contains(&hint), "{listed}");
    world.herma_in(&src, &["rollback", "1", "--dir", &project]).done();
    // A checkpoint there begins a project of its own, which is said once.
    let take = ["checkpoint", "--json"];
    let taken = world.herma_in(&src, &take).done().json();
    let notice = taken["notices"][0].as_str().unwrap();
    assert!(notice.contains(&format!("is a folder of the project {project:?}")), "{notice}");
    world.write("src/b.txt", "2\n");
    assert!(world.herma_in(&src, &take).done().json()["notices"].is_null());
}

// rule: scope/identity
#[test]
fn every_page_names_a_project_whose_path_is_not_utf_8_so_that_its_commands_work() {
    let world = CommandFixture::new();
    let [old, new] =
        [&b"caf\xe9"[..], b"caf\xe8"].map(|name| world.home().join(OsStr::from_bytes(name)));
    fs::create_dir_all(old.join("src")).unwrap();
    fs::write(old.join("src/a.txt"), "1\n").unwrap();
    world.herma_in(&old, &["checkpoint"]).done();
    let word = |end: &str| format!("$'{}/caf\\x{end}'", world.home().display());
    let expect = |directory: &Path, words: &[&str], part: &str| {
        let answer = world.herma_in(directory, words);
        let text = answer.text() + &answer.stderr;
        assert!(text.contains(part), "{words:?}: {part}: {text}");
    };
    let elsewhere = format!("  herma rollback --dir {}\n", word("e9"));
    expect(&world.project(), &["list"], &elsewhere);
    expect(
        &old.join("src"),
        &["list"],
        &format!("contains this one has checkpoints:\n{elsewhere}"),
    );
    expect(&old.join("src"), &["undo"], &format!("has some: add --dir {}", word("e9")));
    expect(&old, &["checkpoints"], "caf\\xe9\"");
    let mut shell = Command::new("bash");
    world.prepare(&mut shell);
    let line = format!("exec {} list --dir {}", binary().display(), word("e9"));
    let listed = shell.args(["-c", &line]).output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains("1. "), "{listed:?}");
    let object = world.base().join("store/objects");
    fs::rename(&object, world.root.join("objects")).unwrap();
    expect(&old, &["checkpoints", "verify"], "caf\\xe9");
    fs::rename(world.root.join("objects"), object).unwrap();
    fs::rename(&old, &new).unwrap();
    let command = format!("  herma checkpoints move {} {}\n", word("e9"), word("e8"));
    expect(&world.project(), &["checkpoints", "prune", "--dry-run"], &command);
    expect(&new, &["list"], &command);
    fs::remove_dir_all(&new).unwrap();
    expect(&world.project(), &["checkpoints", "prune"], "Removed the checkpoints of \"");
}

#[test]
fn checkpoint_with_the_label_of_another_names_both() {
    let world = changed();
    let first = world.herma(&["checkpoint", "--label", "base"]).done().text();
    assert!(!first.contains("the label"), "{first}");
    world.write("a.txt", "more\n");
    let second = world.herma(&["checkpoint", "--label", "base"]).done().text();
    assert!(second.contains("the label \"base\" is that of "), "{second}");
    assert_eq!(world.herma(&["rollback", "base"]).refusal(), "ambiguous_checkpoint");
}

#[test]
fn rollback_to_an_age_restores_the_newest_checkpoint_that_is_so_old() {
    let world = changed();
    let id = world.checkpoint("second");
    world.write("a.txt", "later\n");
    assert_eq!(world.herma(&["rollback", "--to", "1h"]).refusal(), "unknown_checkpoint");
    assert_eq!(world.herma(&["diff", "@1d"]).refusal(), "unknown_checkpoint");
    assert_eq!(world.herma(&["rollback", "--to", "soon"]).refusal(), "bad_target");
    let restored = world.herma(&["restore", "--to", "0s", "a.txt", "--json"]).done().json();
    assert_eq!(restored["id"], id.as_str());
    assert_eq!(world.read("a.txt"), "changed\n");
    // What was rolled back is not gone back to.
    assert_eq!(world.herma(&["cat", "@0s", "a.txt"]).done().text(), "changed\n");
    world.herma(&["pin", "@0s"]).done();
}

/// Each verb was once the path of a restore, which replaced the file of that name.
#[test]
fn a_verb_takes_no_to_and_a_file_of_its_name_is_named_after_two_dashes() {
    let world = CommandFixture::new();
    let verbs = ["list", "show", "diff", "undo", "redo", "cat", "log"];
    verbs.iter().for_each(|verb| world.write(verb, "old\n"));
    world.checkpoint("first");
    verbs.iter().for_each(|verb| world.write(verb, "new\n"));
    let before = world.everything();
    for verb in verbs {
        assert_eq!(world.herma(&[verb, "--to", "0s"]).exit, Some(2), "{verb}");
    }
    for verb in &verbs[..5] {
        for words in [["rollback", verb, "--to", "0s"], ["restore", "--to", "0s", verb]] {
            let refused = world.herma(&words);
            assert_eq!(refused.exit, Some(2), "{words:?}");
            assert!(refused.stderr.contains(&format!("-- {verb}")), "{}", refused.stderr);
        }
    }
    assert_eq!(world.everything(), before);
    world.herma(&["restore", "--to", "0s", "--", "list"]).done();
    assert_eq!(world.read("list"), "old\n");
    assert_eq!(world.read("show"), "new\n");
}
