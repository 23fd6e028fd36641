//! Units of files, with real databases: SQLite from python3, LevelDB from the package plyvel-ci. Each test
//! is a way in which users lost rows, and asserts that no row is lost.

mod beside_a_writer;
mod interrupted;
mod world;

use pretty_assertions::assert_eq;
use serde_json::Value;
use std::fs;
use world::{Databases, Rows, has_sqlite, level_db, paths, reasons};

const SMALL: &str = "checkpoints: { max_file_size_mb: 1 }\n";
const USUAL: &str = "checkpoints: {}\n";

/// A database with that many rows, closed and checkpointed, and the id of the checkpoint.
fn closed(configuration: &str, mode: &str, rows: u64) -> (Databases, String) {
    let mut databases = Databases::new(configuration);
    databases.open("app.db", mode);
    databases.insert("app.db", rows, 20);
    databases.run("close", "app.db");
    let id = databases.world.checkpoint("closed");
    (databases, id)
}

/// Undoes a restore with the pre-restore checkpoint that its answer names.
#[track_caller]
fn undo(databases: &Databases, answer: &Value) -> (Value, Option<i32>) {
    let pre_restore_id = answer["safety"].as_str().unwrap().to_owned();
    databases.rollback(&[&pre_restore_id, "--exact"])
}

#[test]
fn restore_adds_no_old_wal_to_a_database_that_outgrew_the_file_size_limit() {
    if !has_sqlite() {
        return;
    }
    let mut databases = Databases::new(SMALL);
    databases.open("app.db", "wal");
    databases.insert("app.db", 200, 20);
    let id = databases.world.checkpoint("with a wal");
    assert_eq!(databases.world.held(&id), ["app.db", "app.db-wal"]);
    databases.insert("app.db", 8_800, 300);
    databases.run("close", "app.db");
    assert_eq!(
        (databases.files("app.db"), databases.rows("app.db")),
        (vec!["app.db".into()], Rows::ok(9_000))
    );
    let (answer, exit) = databases.rollback(&["1"]);
    assert_eq!(exit, Some(4), "{answer}");
    assert_eq!(paths(&answer, "restored"), [""; 0], "{answer}");
    assert_eq!(paths(&answer, "kept"), ["app.db", "app.db-wal"]);
    let expected = "part of the database app.db, whose app.db is in no checkpoint";
    assert_eq!(reasons(&answer, "kept"), [expected, expected]);
    assert_eq!(reasons(&answer, "left_out"), ["larger than 1.0 MB, the limit max_file_size_mb"]);
    assert_eq!(
        (databases.files("app.db"), databases.rows("app.db")),
        (vec!["app.db".into()], Rows::ok(9_000))
    );
}

#[test]
fn a_checkpoint_names_each_file_of_a_database_that_it_leaves_out() {
    if !has_sqlite() {
        return;
    }
    let mut databases = Databases::new(SMALL);
    databases.world.write("notes", "text");
    databases.open("app.db", "wal");
    databases.insert("app.db", 9_000, 300);
    let taken = databases.world.herma(&["checkpoint", "--json"]).json();
    assert_eq!(databases.world.held(taken["id"].as_str().unwrap()), ["notes"]);
    assert_eq!(paths(&taken, "skipped"), ["app.db", "app.db-wal"]);
    let expected = "part of the database app.db, whose app.db-wal is larger than 1.0 MB, the limit max_file_size_mb";
    assert_eq!(
        reasons(&taken, "skipped"),
        [expected, "larger than 1.0 MB, the limit max_file_size_mb"]
    );
    // Files that a checkpoint left out are neither restored nor removed.
    databases.run("fold", "app.db");
    databases.run("close", "app.db");
    let (answer, exit) = databases.rollback(&["1", "--exact"]);
    assert_eq!((exit.is_some(), paths(&answer, "removed")), (true, vec![]), "{answer}");
    assert_eq!(databases.rows("app.db"), Rows::ok(9_000));
}

#[test]
fn restore_adds_no_hot_journal_to_a_database_that_outgrew_the_file_size_limit() {
    if !has_sqlite() {
        return;
    }
    let mut databases = Databases::new(SMALL);
    databases.open("app.db", "delete");
    databases.insert("app.db", 1_000, 100);
    databases.run("begin", "app.db");
    let id = databases.world.checkpoint("in a transaction");
    assert_eq!(databases.world.held(&id), ["app.db", "app.db-journal"]);
    databases.kill();
    assert_eq!(databases.rows("app.db"), Rows::ok(1_000));
    databases.open("app.db", "delete");
    databases.insert("app.db", 8_000, 300);
    databases.run("close", "app.db");
    let (answer, exit) = databases.rollback(&["1"]);
    assert_eq!((exit, paths(&answer, "restored")), (Some(4), vec![]), "{answer}");
    assert_eq!(
        (databases.files("app.db"), databases.rows("app.db")),
        (vec!["app.db".into()], Rows::ok(9_000))
    );
}

#[test]
fn restore_includes_the_hot_journal_of_a_database() {
    if !has_sqlite() {
        return;
    }
    let mut databases = Databases::new(USUAL);
    databases.open("app.db", "delete");
    databases.insert("app.db", 1_000, 100);
    databases.run("begin", "app.db");
    databases.world.checkpoint("in a transaction");
    databases.kill();
    databases.open("app.db", "delete");
    databases.insert("app.db", 500, 100);
    databases.run("close", "app.db");
    let (answer, exit) = databases.rollback(&["1"]);
    assert_eq!(exit, Some(0), "{answer}");
    assert_eq!(paths(&answer, "restored"), ["app.db", "app.db-journal"]);
    assert_eq!(databases.rows("app.db"), Rows::ok(1_000));
    assert_eq!((undo(&databases, &answer).1, databases.rows("app.db")), (Some(0), Rows::ok(1_500)));
    assert_eq!(databases.files("app.db"), ["app.db"]);
}

#[test]
fn restore_leaves_a_database_whose_wal_is_ignored_unchanged() {
    if !has_sqlite() {
        return;
    }
    let mut databases = Databases::new(USUAL);
    databases.world.write(".gitignore", "*.db-wal\n");
    databases.open("app.db", "wal");
    databases.run("close", "app.db");
    let id = databases.world.checkpoint("closed");
    databases.open("app.db", "wal");
    databases.insert("app.db", 400, 20);
    databases.kill();
    let (answer, exit) = databases.rollback(&[&id]);
    assert_eq!((exit, paths(&answer, "kept")), (Some(4), vec!["app.db-wal".into()]), "{answer}");
    assert_eq!(databases.rows("app.db"), Rows::ok(400));
    // Now the database file itself differs, too.
    databases.open("app.db", "wal");
    databases.insert("app.db", 1, 20);
    databases.run("fold", "app.db");
    databases.insert("app.db", 99, 20);
    databases.kill();
    let (answer, exit) = databases.rollback(&[&id]);
    assert_eq!(
        (exit, paths(&answer, "kept")),
        (Some(4), vec!["app.db".into(), "app.db-wal".into()])
    );
    let expected = "part of the database app.db, whose app.db-wal is ignored";
    assert_eq!(reasons(&answer, "kept"), [expected, expected]);
    assert_eq!(databases.rows("app.db"), Rows::ok(500));
}

#[test]
fn restore_removes_the_newer_wal_of_a_database_that_was_closed_at_the_checkpoint() {
    if !has_sqlite() {
        return;
    }
    let (mut databases, id) = closed(USUAL, "wal", 2_000);
    databases.open("app.db", "wal");
    databases.insert("app.db", 150, 20);
    databases.kill();
    assert_eq!(databases.files("app.db"), ["app.db", "app.db-shm", "app.db-wal"]);
    let (preview, _) = databases.rollback(&[&id, "--dry-run"]);
    let (answer, exit) = databases.rollback(&[&id]);
    assert_eq!((exit, paths(&answer, "left")), (Some(0), vec![]), "{answer}");
    assert_eq!(paths(&answer, "removed"), ["app.db-shm", "app.db-wal"]);
    for list in ["restored", "removed", "left", "kept"] {
        assert_eq!(paths(&preview, list), paths(&answer, list), "{list}");
    }
    assert_eq!(
        (databases.files("app.db"), databases.rows("app.db")),
        (vec!["app.db".into()], Rows::ok(2_000))
    );
    assert_eq!((undo(&databases, &answer).1, databases.rows("app.db")), (Some(0), Rows::ok(2_150)));
}

#[test]
fn restore_file_restores_all_files_of_a_database_or_none() {
    if !has_sqlite() {
        return;
    }
    let (mut databases, id) = closed(USUAL, "wal", 1_000);
    databases.open("app.db", "wal");
    databases.insert("app.db", 700, 20);
    databases.run("fold", "app.db");
    databases.insert("app.db", 300, 20);
    let (first, exit) = databases.rollback(&[&id, "app.db"]);
    assert_eq!((exit, paths(&first, "restored")), (Some(4), vec![]), "{first}");
    let expected = "part of the database app.db, which another process is using";
    assert_eq!(reasons(&first, "kept"), [expected, expected]);
    assert_eq!(databases.rows("app.db"), Rows::ok(2_000));
    databases.kill();
    let (answer, exit) = databases.rollback(&[&id, "app.db"]);
    assert_eq!((exit, paths(&answer, "restored")), (Some(0), vec!["app.db".into()]), "{answer}");
    assert_eq!(paths(&answer, "removed"), ["app.db-shm", "app.db-wal"]);
    assert_eq!(databases.rows("app.db"), Rows::ok(1_000));
    assert_eq!((undo(&databases, &first).1, databases.rows("app.db")), (Some(0), Rows::ok(2_000)));
}

#[test]
fn restore_waits_until_no_process_has_the_database_open() {
    if !has_sqlite() {
        return;
    }
    let (mut databases, id) = closed(USUAL, "wal", 100);
    databases.world.write("other", "new");
    databases.open("app.db", "wal");
    databases.insert("app.db", 50, 20);
    let (answer, exit) = databases.rollback(&[&id]);
    assert_eq!((exit, paths(&answer, "removed")), (Some(4), vec![]), "{answer}");
    assert_eq!(databases.rows("app.db"), Rows::ok(150));
    databases.run("close", "app.db");
    let (answer, exit) = databases.rollback(&[&id]);
    assert_eq!((exit, databases.rows("app.db")), (Some(0), Rows::ok(100)), "{answer}");
}

#[test]
fn restore_keeps_or_removes_all_files_of_a_newer_database() {
    if !has_sqlite() {
        return;
    }
    let mut databases = Databases::new(USUAL);
    databases.world.write("data/file", "text");
    databases.world.checkpoint("before");
    databases.world.remove("data/file");
    databases.open("data/app.db", "wal");
    databases.insert("data/app.db", 10, 20);
    databases.kill();
    let (answer, exit) = databases.rollback(&["1"]);
    assert_eq!(
        (exit, paths(&answer, "left")),
        (Some(0), vec!["data/app.db".into(), "data/app.db-wal".into()])
    );
    let id = answer["id"].as_str().unwrap().to_owned();
    let (answer, exit) = databases.rollback(&[&id, "--exact"]);
    assert_eq!(exit, Some(0), "{answer}");
    assert_eq!(paths(&answer, "removed"), ["data/app.db", "data/app.db-shm", "data/app.db-wal"]);
    assert!(!databases.world.has("data/app.db"));
    let pre_restore_id = answer["safety"].as_str().map_or("1".to_owned(), str::to_owned);
    assert_eq!(databases.rollback(&[&pre_restore_id]).1, Some(0));
    assert_eq!(databases.rows("data/app.db"), Rows::ok(10));
}

#[test]
fn restore_refuses_a_partial_database_in_a_checkpoint_of_another_tool() {
    if !has_sqlite() {
        return;
    }
    let mut databases = Databases::new(USUAL);
    databases.open("app.db", "wal");
    databases.insert("app.db", 100, 20);
    fs::copy(databases.world.path("app.db-wal"), databases.world.path("wal")).unwrap();
    databases.kill();
    for name in databases.files("app.db") {
        databases.world.remove(name);
    }
    // As an older version stored it when the database file itself was too large.
    fs::rename(databases.world.path("wal"), databases.world.path("app.db-wal")).unwrap();
    let id = databases.world.checkpoint("a part");
    let id = without_units_header(&databases, &id);
    databases.world.remove("app.db-wal");
    databases.open("app.db", "delete");
    databases.insert("app.db", 7, 20);
    databases.run("close", "app.db");
    let (answer, exit) = databases.rollback(&[&id]);
    assert_eq!((exit, paths(&answer, "restored")), (Some(4), vec![]), "{answer}");
    let expected = "part of the database app.db, of which the checkpoint has only a part";
    assert_eq!(reasons(&answer, "kept"), [expected, expected]);
    assert_eq!(databases.rows("app.db"), Rows::ok(7));
}

/// Replaces the newest checkpoint by a copy without the header that declares units complete.
fn without_units_header(databases: &Databases, id: &str) -> String {
    let store = databases.world.base().join("store");
    let git = |words: &[&str], input: Option<&[u8]>| {
        use std::io::Write;
        let mut git = std::process::Command::new("git");
        git.arg("-C").arg(&store).args(words);
        git.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut git = git.spawn().unwrap();
        git.stdin.take().unwrap().write_all(input.unwrap_or_default()).unwrap();
        let output = git.wait_with_output().unwrap();
        assert!(output.status.success(), "{words:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let commit = git(&["cat-file", "commit", id], None);
    let without = commit.replace("herma-units 1\n", "");
    assert_ne!(commit, without);
    let new_id = git(&["hash-object", "-w", "-t", "commit", "--stdin"], Some(without.as_bytes()));
    let refs = git(&["for-each-ref", "--format=%(refname)", "refs/hermes/"], None);
    git(&["update-ref", refs.trim(), new_id.trim()], None);
    new_id.trim().to_owned()
}

#[test]
fn restore_includes_the_level_db_journal_although_it_is_named_like_a_log() {
    let Some(_) = level_db() else { return };
    let mut databases = Databases::new(USUAL);
    databases.run("level", "db");
    databases.put("db", 0, 500, 20);
    let id = databases.world.checkpoint("500 keys");
    assert!(databases.world.held(&id).iter().any(|path| path.ends_with(".log")), "the journal");
    // Further writes and a compaction remove the journal of the checkpoint.
    databases.put("db", 1_000, 400, 2_000);
    databases.run("compact", "db");
    let (answer, exit) = databases.rollback(&[&id, "--exact"]);
    assert_eq!((exit, paths(&answer, "removed")), (Some(4), vec![]), "{answer}");
    // The file LOG is not part of the database; it may be kept as well, since it changes meanwhile.
    let in_use = |reason: &String| reason.ends_with("db, which another process is using");
    assert!(reasons(&answer, "kept").iter().any(in_use), "{answer}");
    assert_eq!(databases.keys("db"), Rows::ok(900));
    databases.run("close", "db");
    let (answer, exit) = databases.rollback(&[&id, "--exact"]);
    assert_eq!((exit, paths(&answer, "kept")), (Some(0), vec![]), "{answer}");
    assert_eq!(databases.keys("db"), Rows::ok(500));
    assert_eq!((undo(&databases, &answer).1, databases.keys("db")), (Some(0), Rows::ok(900)));
}

#[test]
fn restore_refuses_a_level_db_whose_journal_another_tool_left_out() {
    let Some(_) = level_db() else { return };
    let mut databases = Databases::new(USUAL);
    databases.run("level", "db");
    databases.put("db", 0, 500, 20);
    databases.run("close", "db");
    let journals: Vec<_> = fs::read_dir(databases.world.path("db"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    let texts: Vec<_> = journals.iter().map(|path| fs::read(path).unwrap()).collect();
    journals.iter().for_each(|path| fs::remove_file(path).unwrap());
    let id = databases.world.checkpoint("without the journal");
    let id = without_units_header(&databases, &id);
    journals.iter().zip(texts).for_each(|(path, text)| fs::write(path, text).unwrap());
    databases.run("level", "db");
    databases.put("db", 500, 100, 20);
    databases.run("close", "db");
    let (answer, exit) = databases.rollback(&[&id]);
    assert_eq!((exit, databases.keys("db")), (Some(4), Rows::ok(600)), "{answer}");
    let expected = "part of the database db, of which the checkpoint has only a part";
    assert!(reasons(&answer, "kept").iter().all(|reason| reason == expected), "{answer}");
}
