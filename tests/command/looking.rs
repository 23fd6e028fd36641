//! `herma diff`, `cat`, `log`, `list` and `show`: looking at what checkpoints hold, with paths as in a shell.

use crate::command::world::{CommandFixture, assert_text};
use pretty_assertions::assert_eq;
use std::fs;

/// Three checkpoints: `src/a.txt`, `b.txt` and a `Makefile`, `src/a.txt` changed, `src/a.txt` removed.
fn three() -> CommandFixture {
    let world = CommandFixture::new();
    // So that the folder below is no project of its own.
    world.write("Makefile", "all:\n");
    world.write("src/a.txt", "one\n");
    world.write("b.txt", "b\n");
    world.checkpoint("first");
    world.write("src/a.txt", "two\n");
    world.checkpoint("second");
    world.remove("src/a.txt");
    world.write("b.txt", "changed\n");
    world.checkpoint("third");
    world
}

#[test]
fn diff_compares_two_checkpoints_and_only_the_named_paths() {
    let world = three();
    world.write("new.txt", "new\n");
    let text = world.transcript(&[
        world.herma(&["diff"]).done(),
        world.herma(&["diff", "3", "2"]).done(),
        world.herma(&["diff", "3", "--stat"]).done(),
        world.herma(&["diff", "3", "1", "--", "src"]).done(),
        world
            .herma_in(&world.path("src"), &["diff", "3", "--stat", "--", "a.txt", "../b.txt"])
            .done(),
    ]);
    assert_text("look-diff", &text);
    let json = world.herma(&["diff", "3", "2", "--json"]).done().json();
    assert_eq!(json["entries"].as_array().unwrap().len(), 1);
    assert!(json["until"].is_string(), "{json}");
    let all = world.herma(&["diff", "3", "--stat", "--", "."]).done().text();
    assert!(all.contains("3 files changed"), "{all}");
    assert_eq!(world.herma(&["diff", "--", "../x"]).refusal(), "bad_path");
    // A path is no pattern and no prefix of a name.
    let none = world.herma(&["diff", "3", "--stat", "--", "src/a"]);
    assert_eq!(none.refusal(), "not_in_checkpoint");
    for paths in [&["b.txt", "nowhere"][..], &["nowhere", "b.txt"], &["src", "src/a"]] {
        let refused = world.herma(&[&["diff", "3", "--stat", "--"], paths].concat());
        assert_eq!(refused.refusal(), "not_in_checkpoint", "{paths:?}");
    }
    let none = world.herma(&["diff", "3", "2", "--stat", "--", "b.txt"]).done().text();
    assert!(none.starts_with("Nothing changed"), "{none}");
    assert_eq!(world.herma(&["diff", "9"]).refusal(), "unknown_checkpoint");
    assert_eq!(world.herma(&["diff", "1", "9"]).refusal(), "unknown_checkpoint");
}

#[test]
fn cat_prints_a_file_as_it_was_to_the_byte() {
    let world = three();
    let bytes = b"\0\xff\r\nno end";
    world.write("raw", bytes);
    world.checkpoint("raw");
    assert_eq!(world.herma(&["cat", "1", "raw"]).done().output, bytes);
    let in_folder =
        |path: &str| world.herma_in(&world.path("src"), &["cat", "4", path]).done().text();
    fs::create_dir_all(world.path("src")).unwrap();
    let absolute = world.path("src/a.txt");
    for path in ["a.txt", "../src/a.txt", absolute.to_str().unwrap()] {
        assert_eq!(in_folder(path), "one\n", "{path}");
    }
    for path in ["src/a.txt", "src", "missing"] {
        assert_eq!(world.herma(&["cat", "1", path]).refusal(), "not_in_checkpoint", "{path}");
    }
    let said = world.herma(&["cat", "3", "src"]);
    assert!(said.stderr.contains("\"src\" is a folder"), "{}", said.stderr);
    let said = world.herma(&["cat", "3", "/etc/passwd"]);
    assert!(said.stderr.contains("\"/etc/passwd\" is outside the project"), "{}", said.stderr);
    for path in ["/etc/passwd", "../x", "."] {
        assert_eq!(world.herma(&["cat", "1", path]).refusal(), "bad_path", "{path}");
    }
}

// rule: restore/file-literal
#[test]
fn rollback_takes_a_file_as_in_a_shell_where_the_project_has_no_such_file() {
    let world = three();
    world.write("src/b.txt", "below\n");
    let id = world.checkpoint("below");
    fs::remove_file(world.path("b.txt")).unwrap();
    fs::remove_file(world.path("src/b.txt")).unwrap();
    let in_folder = |words: &[&str]| world.herma_in(&world.path("src"), words);
    let restore = |path: &str| in_folder(&["rollback", &id, path]).done();
    // The project and the folder have a file of this name: whatever looks at it or restores it asks which.
    for words in [["rollback", &id, "b.txt"], ["cat", &id, "b.txt"]] {
        assert_eq!(in_folder(&words).refusal(), "ambiguous_path");
    }
    assert_eq!(in_folder(&["diff", &id, "--", "b.txt"]).refusal(), "ambiguous_path");
    assert_eq!(in_folder(&["log", "b.txt"]).refusal(), "ambiguous_path");
    assert!(!world.has("b.txt") && !world.has("src/b.txt"));
    restore("../b.txt");
    assert!(world.has("b.txt") && !world.has("src/b.txt"));
    restore("./b.txt");
    assert!(world.has("src/b.txt"));
    assert_eq!(in_folder(&["cat", &id, "./b.txt"]).done().text(), "below\n");
    world.remove("src/b.txt");
    let absolute = world.path("src/b.txt");
    restore(absolute.to_str().unwrap());
    assert!(world.has("src/b.txt"));
    let from_above = format!("../../{}/b.txt", world.project().file_name().unwrap().display());
    assert_ne!(in_folder(&["cat", &id, &from_above]).done().text(), "below\n");
}

// rule: restore/file-literal
#[test]
fn restore_takes_an_absolute_path_through_a_link_to_the_project_below_a_removed_folder() {
    let world = three();
    world.write("src/deep/c.txt", "deep\n");
    let id = world.checkpoint("deep");
    let link = world.root.join("link");
    std::os::unix::fs::symlink(world.project(), &link).unwrap();
    fs::remove_dir_all(world.path("src")).unwrap();
    let typed = link.join("src/deep/c.txt");
    let typed = typed.to_str().unwrap();
    assert_eq!(world.herma(&["cat", &id, typed]).done().text(), "deep\n");
    let log = world.herma(&["log", typed]).done().text();
    assert!(log.contains("added"), "{log}");
    let stat = world.herma(&["diff", &id, "--stat", "--", typed]).done().text();
    assert!(stat.contains("src/deep/c.txt") && stat.contains("1 file changed"), "{stat}");
    world.herma(&["restore", &id, typed]).done();
    assert_eq!(world.read("src/deep/c.txt"), "deep\n");
    let outside = world.root.join("elsewhere/src/deep/c.txt");
    let outside = world.herma(&["cat", &id, outside.to_str().unwrap()]);
    assert_eq!(outside.refusal(), "bad_path");
}

#[test]
fn log_lists_the_checkpoints_that_changed_a_file() {
    let world = three();
    let text = world.transcript(&[
        world.herma(&["log", "src/a.txt"]).done(),
        world.herma(&["log", "b.txt"]).done(),
        world.herma(&["log", "missing"]).done(),
        world.herma(&["list"]).done(),
    ]);
    assert_text("look-log", &text);
    let folder = world.herma(&["log", "src"]);
    assert!(folder.stderr.contains("\"src\" is a folder"), "{}", folder.stderr);
    assert_eq!(folder.refusal(), "not_in_checkpoint");
    let shown = world.herma(&["show", "1"]).done().text();
    assert_eq!(shown, world.herma(&["rollback", "show", "1"]).done().text());
    assert!(shown.contains("reason: \"third\""), "{shown}");
    let json = world.herma(&["log", "b.txt", "--json"]).done().json();
    let changes: Vec<_> =
        json["changes"].as_array().unwrap().iter().map(|change| &change["change"]).collect();
    assert_eq!(changes, ["modified", "added"]);
}

#[test]
fn list_of_a_directory_that_was_named_prints_commands_that_name_it() {
    let world = three();
    let home = world.home();
    let dir = world.project();
    let dir = dir.to_str().unwrap();
    let none = world.root.join("home/none of it");
    fs::create_dir(&none).unwrap();
    let commands = |words: &[&str]| {
        let text = world.herma_in(&home, words).done().text();
        let lines = text.lines().filter_map(|line| line.strip_prefix("  herma "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let named = commands(&["list", "--dir", dir]);
    assert_eq!(named.len(), 3);
    for command in named {
        let command = command.replace("<N>", "1").replace("<file>", "b.txt");
        let (command, _) = command.split_once("    ").unwrap();
        assert!(command.ends_with(&format!(" --dir {dir}")), "{command}");
        world.herma_in(&home, &command.split(' ').collect::<Vec<_>>()).done();
    }
    let named = commands(&["rollback", "--dir", none.to_str().unwrap()]);
    let quoted = format!("checkpoint '{}'    take a checkpoint", none.display());
    assert_eq!(named[0], quoted);
}

/// How many pairs of checkpoints the store knows the changed lines of.
fn compared_pairs(world: &CommandFixture) -> usize {
    let folder = world.base().join("store/figures");
    let files = fs::read_dir(folder).into_iter().flatten().map(|file| file.unwrap().path());
    let text: String = files.map(|file| fs::read_to_string(file).unwrap()).collect();
    text.lines().filter(|line| line.split(' ').count() == 5).count()
}

#[test]
fn a_checkpoint_leaves_it_to_the_first_list_to_compare_checkpoints() {
    let world = CommandFixture::new();
    for content in ["one\n", "two\n"] {
        // What takes a list long is kept.
        (0..100).for_each(|number| world.write(format!("{number}.txt"), content));
        world.checkpoint("all files");
    }
    assert_eq!(compared_pairs(&world), 0);
    world.herma(&["list"]).done();
    assert_eq!(compared_pairs(&world), 1);
}
