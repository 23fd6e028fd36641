//! Files that a checkpoint left out are not missing from it: a restore keeps and names them.

use crate::command::world::{CommandFixture, CommandOutput};
use pretty_assertions::assert_eq;
use std::fs;

const LARGE: usize = 1_500_000;

/// A project with two files over the file size limit, one of which is emptied and the other removed
/// after a checkpoint.
fn changed_since() -> CommandFixture {
    let world = CommandFixture::new();
    world.configure("checkpoints:\n  max_file_size_mb: 1\n");
    fs::create_dir_all(world.path("sub")).unwrap();
    world.write("big.dat", vec![0; LARGE]);
    world.write("sub/b2", vec![0; LARGE]);
    world.write("small", "1\n");
    world.checkpoint("first");
    world.write("big.dat", "");
    fs::remove_dir_all(world.path("sub")).unwrap();
    world.write("small", "2\n");
    world
}

#[track_caller]
fn names_both(said: &CommandOutput, existing: &str) {
    let text = said.text();
    let line = |word: &str, path: &str| {
        let matches = |line: &&str| line.trim_start().starts_with(word) && line.contains(path);
        text.lines().find(matches).is_some_and(|line| line.contains("larger than 1.0 MB"))
    };
    assert!(line(existing, "big.dat") && line("missing", "sub/b2"), "{text}");
}

#[test]
fn rollback_show_and_its_preview_name_what_the_checkpoint_left_out() {
    let world = changed_since();
    let shown = world.herma(&["rollback", "show", "1", "--json"]).done();
    let left_out = shown.json()["left_out"].clone();
    let paths: Vec<_> =
        left_out.as_array().unwrap().iter().map(|remark| remark["path"].clone()).collect();
    assert_eq!(paths, ["big.dat", "sub/b2"]);
    names_both(&world.herma(&["rollback", "1", "--dry-run"]).done(), "keep");
    let difference = world.herma(&["rollback", "diff", "1"]).done().text();
    assert!(difference.contains("1 file changed") && difference.contains("sub/b2"), "{difference}");
}

#[test]
fn rollback_keeps_what_the_checkpoint_left_out_also_where_it_is_exact() {
    for words in [&["rollback", "1"][..], &["rollback", "1", "--exact"]] {
        let world = changed_since();
        let said = world.herma(words);
        assert_eq!(said.exit, Some(4), "{}", said.stderr);
        names_both(&said, "kept");
        assert!(!said.text().contains("removed") && !said.text().contains("newer than"));
        assert!(world.has("big.dat") && !world.has("sub/b2"));
        assert_eq!(world.read("small"), "1\n");
    }
}

// rule: restore/left-out
#[test]
fn diff_names_what_was_created_that_a_checkpoint_would_leave_out() {
    let world = changed_since();
    world.write("small", "1\n");
    world.write("sub/new.dat", vec![0; LARGE]);
    let mkfifo = std::process::Command::new("mkfifo").arg(world.path("fifo")).status().unwrap();
    assert!(mkfifo.success());
    let text = world.herma(&["diff"]).done().text();
    let (_, created) =
        text.split_once("a checkpoint taken now would leave them out:\n").expect(&text);
    let large = "larger than 1.0 MB, the limit max_file_size_mb";
    assert_eq!(created, format!("  fifo  (not a regular file)\n  sub/new.dat  ({large})\n"));
    assert!(text.starts_with("Nothing changed in"), "{text}");
    let below = world.herma(&["diff", "--json", "--", "sub"]).done().json();
    let paths: Vec<_> = below["left_out_now"].as_array().unwrap().iter().collect();
    assert_eq!((paths.len(), &paths[0]["path"]), (1, &"sub/new.dat".into()));
    // A file that the checkpoint holds was not created.
    world.write("small", vec![0; LARGE]);
    let text = world.herma(&["diff", "--stat"]).done().text();
    assert!(text.contains("(there, but not captured any more)"), "{text}");
    assert_eq!(text.matches("small").count(), 1, "{text}");
    let between = world.herma(&["diff", "1", "1", "--json"]).done().json();
    assert!(between["left_out_now"].is_null(), "{between}");
}

#[test]
fn rollback_and_its_preview_name_what_is_saved_nowhere_of_the_paths_that_they_concern() {
    let world = CommandFixture::new();
    world.configure("checkpoints:\n  max_file_size_mb: 1\n");
    world.write("small", "1\n");
    fs::create_dir_all(world.path("sub")).unwrap();
    world.write("sub/a", "1\n");
    world.checkpoint("first");
    world.write("sub/large", vec![0; LARGE]);
    for (path, unsaved) in [(None, 1), (Some("sub"), 1), (Some("small"), 0)] {
        world.write("small", "2\n");
        let words: Vec<&str> = ["rollback", "1"].into_iter().chain(path).collect();
        let preview = world.herma(&[&words[..], &["--json", "--dry-run"]].concat()).json();
        let done = world.herma(&[&words[..], &["--json"]].concat()).json();
        assert_eq!(preview["left_out"], done["left_out"], "{path:?}");
        assert_eq!(done["left_out"].as_array().unwrap().len(), unsaved, "{path:?}: {done}");
    }
}
