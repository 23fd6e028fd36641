//! Previews of rollbacks, and errors in the arguments of `herma rollback`.

use crate::command::world::{CommandFixture, assert_text};
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// A project that differs from its newest checkpoint in every way.
fn changed() -> CommandFixture {
    let world = CommandFixture::new();
    world.write("edited.txt", "old\n");
    world.write("deleted.txt", "gone\n");
    world.write("in the way", "a file\n");
    world.checkpoint("before the work");
    world.write("edited.txt", "new\n");
    world.remove("deleted.txt");
    world.remove("in the way");
    world.write("in the way/inner.txt", "now a directory\n");
    world.write("created.txt", "new\n");
    world
}

#[test]
fn a_preview_says_exactly_what_a_restore_then_does_and_changes_nothing() {
    let world = changed();
    let before = world.everything();
    let plain = world.herma(&["rollback", "1", "--dry-run"]).done();
    let exact = world.herma(&["rollback", "1", "--exact", "--dry-run"]).done();
    let file = world.herma(&["rollback", "1", "edited.txt", "--dry-run"]).done();
    let nothing = world.herma(&["rollback", "--json", "1", "--dry-run"]).done().json();
    assert_eq!(world.everything(), before);
    let token = nothing["token"].as_str().unwrap().to_owned();
    assert!(plain.text().contains(&token), "{}", plain.text());
    let done = world.herma(&["rollback", "1", "--as-previewed", &token]).done();
    let again = world.herma(&["rollback", "1", "--dry-run"]).done();
    assert_text("preview", &world.transcript(&[plain, exact, file, done, again]));
    assert_eq!(world.read("edited.txt"), "old\n");
}

#[test]
fn as_previewed_refuses_a_restore_after_a_change_of_the_files_concerned() {
    let world = changed();
    let json = world.herma(&["rollback", "1", "--dry-run", "--json"]).done().json();
    let token = json["token"].as_str().unwrap();
    world.write("edited.txt", "saved after the preview\n");
    let before = world.everything();
    let said = world.herma(&["rollback", "1", "--as-previewed", token]);
    assert_eq!(said.refusal(), "changed_since_preview");
    assert_eq!(world.everything(), before);
    world.write("edited.txt", "new\n");
    world.write("not concerned.txt", "saved after the preview\n");
    world.herma(&["rollback", "1", "--as-previewed", token]).done();
    assert_eq!(world.read("not concerned.txt"), "saved after the preview\n");
    let json = world.herma(&["rollback", "1", "created.txt", "--dry-run", "--json"]);
    assert_eq!(json.json()["error"]["code"], "not_in_checkpoint");
}

#[test]
fn dry_run_refuses_what_the_restore_would_refuse() {
    let world = changed();
    for (words, code) in [
        (&["rollback", "7", "--dry-run"][..], "unknown_checkpoint"),
        (&["rollback", "zzzz", "--dry-run"], "bad_target"),
        (&["rollback", "1", "../x", "--dry-run"], "bad_path"),
        (&["rollback", "1", "absent", "--dry-run"], "not_in_checkpoint"),
        (&["rollback", "1", "in the way", "--dry-run"], "would_overwrite"),
    ] {
        let before = world.everything();
        assert_eq!(world.herma(words).refusal(), code, "{words:?}");
        assert_eq!(world.everything(), before);
    }
}

#[test]
fn a_caret_points_at_the_word_that_cannot_be_read() {
    let world = changed();
    let said = [
        &["rollback", "1", "--exat"][..],
        &["restore", "1", "--exat"],
        &["rollback", "1", "diff"],
        &["rollback", "--to"],
        &["rollback", "diff"],
        &["rollback", "undo", "--exact"],
        &["rollback", "--dir", "a", "diff", "1", "2"],
        &["rollback", "1", "--as-previewed", "12"],
    ]
    .map(|words| world.herma(words));
    for refusal in &said {
        assert_eq!((refusal.exit, refusal.text().as_str()), (Some(2), ""));
    }
    assert_text("caret", &world.transcript(&said));
    let json = world.herma(&["rollback", "1", "diff", "--json"]);
    assert_eq!(json.json()["error"]["code"], "usage");
}

#[test]
fn a_directory_without_checkpoints_is_told_where_there_are_some() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("first");
    let empty = world.home().join("an other");
    fs::create_dir(&empty).unwrap();
    let mut command = world.command();
    command.current_dir(&empty);
    let said = world.run(command, &["rollback"]).done();
    let mut command = world.command();
    command.current_dir(&empty);
    let json = world.run(command, &["rollback", "--json"]).done().json();
    assert_text("elsewhere", &world.transcript(&[said]));
    assert_eq!(json["elsewhere"][0], world.project().to_str().unwrap());
    assert_eq!(json["checkpoints"].as_array().unwrap().len(), 0);
}

#[test]
fn dry_run_names_the_paths_in_a_folder_that_may_not_be_changed() {
    let world = CommandFixture::new();
    let copy = world.copy_for_everybody();
    for path in ["free.txt", "locked/changed.txt", "locked/deep/removed.txt"] {
        world.write(path, "one\n");
    }
    fs::create_dir(world.root.join("hermes")).unwrap();
    world.give_home();
    world.give(&world.root.join("hermes"));
    let herma = |words: &[&str]| world.run(world.ordinary(&copy), words);
    herma(&["checkpoint"]).done();
    world.write("free.txt", "two\n");
    world.write("locked/changed.txt", "two\n");
    fs::remove_dir_all(world.path("locked/deep")).unwrap();
    world.write("locked/new.txt", "new\n");
    world.give_home();
    let permit = |bits| {
        fs::set_permissions(world.path("locked"), Permissions::from_mode(bits)).unwrap();
    };
    permit(0o555);
    let preview = herma(&["rollback", "1", "--exact", "--dry-run", "--json"]).done().json();
    let done = herma(&["rollback", "1", "--exact", "--json"]).json();
    permit(0o755);
    let paths = |answer: &Value, list: &str| {
        let path = |item: &Value| item.get("path").unwrap_or(item).as_str().unwrap().to_owned();
        let mut paths: Vec<_> = answer[list].as_array().unwrap().iter().map(path).collect();
        paths.sort();
        paths
    };
    let locked =
        ["changed.txt", "deep/removed.txt", "new.txt"].map(|name| format!("locked/{name}"));
    assert_eq!(paths(&preview, "failed"), locked);
    for list in ["restored", "removed", "failed"] {
        assert_eq!(paths(&preview, list), paths(&done, list), "{list}");
    }
    let why = preview["failed"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("its folder cannot be changed: Permission denied"), "{why}");
}
