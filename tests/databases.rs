//! Files that belong together, with real databases: SQLite by python3, LevelDB by the package
//! plyvel-ci. Each test is the words of somebody who lost rows, and what happens instead.

mod beside_a_writer;
mod interrupted;
mod world;

use pretty_assertions::assert_eq;
use serde_json::Value;
use std::fs;
use world::{Databases, Rows, has_sqlite, level_db, paths, reasons};

const SMALL: &str = "checkpoints: { max_file_size_mb: 1 }\n";
const USUAL: &str = "checkpoints: {}\n";

/// A database with so many rows, closed and checkpointed, and the id of the checkpoint.
fn closed(configuration: &str, mode: &str, rows: u64) -> (Databases, String) {
    let mut all = Databases::new(configuration);
    all.open("app.db", mode);
    all.insert("app.db", rows, 20);
    all.does("close", "app.db");
    let id = all.world.checkpoint("closed");
    (all, id)
}

/// Undoes a restore by the command that its answer names.
#[track_caller]
fn undo(all: &Databases, answer: &Value) -> (Value, Option<i32>) {
    let safety = answer["safety"].as_str().unwrap().to_owned();
    all.rollback(&[&safety, "--exact"])
}

#[test]
fn a_database_that_outgrew_the_file_size_limit_keeps_its_rows_and_gets_no_old_wal() {
    if !has_sqlite() {
        return;
    }
    let mut all = Databases::new(SMALL);
    all.open("app.db", "wal");
    all.insert("app.db", 200, 20);
    let id = all.world.checkpoint("with a wal");
    assert_eq!(all.world.held(&id), ["app.db", "app.db-wal"]);
    all.insert("app.db", 8_800, 300);
    all.does("close", "app.db");
    assert_eq!((all.files("app.db"), all.rows("app.db")), (vec!["app.db".into()], Rows::ok(9_000)));
    let (answer, exit) = all.rollback(&["1"]);
    assert_eq!(exit, Some(2), "{answer}");
    assert_eq!(paths(&answer, "restored"), [""; 0], "{answer}");
    assert_eq!(paths(&answer, "kept"), ["app.db", "app.db-wal"]);
    let why = "part of the database app.db, whose app.db is held by no checkpoint";
    assert_eq!(reasons(&answer, "kept"), [why, why]);
    assert_eq!(reasons(&answer, "left_out"), ["larger than 1048576 bytes"]);
    assert_eq!((all.files("app.db"), all.rows("app.db")), (vec!["app.db".into()], Rows::ok(9_000)));
}

#[test]
fn a_checkpoint_names_each_file_of_a_database_that_it_leaves_out() {
    if !has_sqlite() {
        return;
    }
    let mut all = Databases::new(SMALL);
    all.world.write("notes", "text");
    all.open("app.db", "wal");
    all.insert("app.db", 9_000, 300);
    let taken = all.world.herma(&["checkpoint", "--json"]).json();
    assert_eq!(all.world.held(taken["id"].as_str().unwrap()), ["notes"]);
    assert_eq!(paths(&taken, "skipped"), ["app.db", "app.db-wal"]);
    let why = "part of the database app.db, whose app.db-wal is larger than 1048576 bytes";
    assert_eq!(reasons(&taken, "skipped"), [why, "larger than 1048576 bytes"]);
    // What it left out it never restores, and never removes.
    all.does("fold", "app.db");
    all.does("close", "app.db");
    let (answer, exit) = all.rollback(&["1", "--exact"]);
    assert_eq!((exit.is_some(), paths(&answer, "removed")), (true, vec![]), "{answer}");
    assert_eq!(all.rows("app.db"), Rows::ok(9_000));
}

#[test]
fn a_hot_journal_never_gets_beside_a_database_that_outgrew_the_file_size_limit() {
    if !has_sqlite() {
        return;
    }
    let mut all = Databases::new(SMALL);
    all.open("app.db", "delete");
    all.insert("app.db", 1_000, 100);
    all.does("begin", "app.db");
    let id = all.world.checkpoint("in a transaction");
    assert_eq!(all.world.held(&id), ["app.db", "app.db-journal"]);
    all.kill();
    assert_eq!(all.rows("app.db"), Rows::ok(1_000));
    all.open("app.db", "delete");
    all.insert("app.db", 8_000, 300);
    all.does("close", "app.db");
    let (answer, exit) = all.rollback(&["1"]);
    assert_eq!((exit, paths(&answer, "restored")), (Some(2), vec![]), "{answer}");
    assert_eq!((all.files("app.db"), all.rows("app.db")), (vec!["app.db".into()], Rows::ok(9_000)));
}

#[test]
fn a_database_with_a_hot_journal_is_restored_with_it() {
    if !has_sqlite() {
        return;
    }
    let mut all = Databases::new(USUAL);
    all.open("app.db", "delete");
    all.insert("app.db", 1_000, 100);
    all.does("begin", "app.db");
    all.world.checkpoint("in a transaction");
    all.kill();
    all.open("app.db", "delete");
    all.insert("app.db", 500, 100);
    all.does("close", "app.db");
    let (answer, exit) = all.rollback(&["1"]);
    assert_eq!(exit, Some(0), "{answer}");
    assert_eq!(paths(&answer, "restored"), ["app.db", "app.db-journal"]);
    assert_eq!(all.rows("app.db"), Rows::ok(1_000));
    assert_eq!((undo(&all, &answer).1, all.rows("app.db")), (Some(0), Rows::ok(1_500)));
    assert_eq!(all.files("app.db"), ["app.db"]);
}

#[test]
fn a_database_whose_wal_is_ignored_stays_as_it_is() {
    if !has_sqlite() {
        return;
    }
    let mut all = Databases::new(USUAL);
    all.world.write(".gitignore", "*.db-wal\n");
    all.open("app.db", "wal");
    all.does("close", "app.db");
    let id = all.world.checkpoint("closed");
    all.open("app.db", "wal");
    all.insert("app.db", 400, 20);
    all.kill();
    let (answer, exit) = all.rollback(&[&id]);
    assert_eq!((exit, paths(&answer, "kept")), (Some(2), vec!["app.db-wal".into()]), "{answer}");
    assert_eq!(all.rows("app.db"), Rows::ok(400));
    // Now it is another file, too.
    all.open("app.db", "wal");
    all.insert("app.db", 1, 20);
    all.does("fold", "app.db");
    all.insert("app.db", 99, 20);
    all.kill();
    let (answer, exit) = all.rollback(&[&id]);
    assert_eq!(
        (exit, paths(&answer, "kept")),
        (Some(2), vec!["app.db".into(), "app.db-wal".into()])
    );
    let why = "part of the database app.db, whose app.db-wal is ignored";
    assert_eq!(reasons(&answer, "kept"), [why, why]);
    assert_eq!(all.rows("app.db"), Rows::ok(500));
}

#[test]
fn a_database_that_was_closed_at_the_checkpoint_loses_the_wal_that_was_written_since() {
    if !has_sqlite() {
        return;
    }
    let (mut all, id) = closed(USUAL, "wal", 2_000);
    all.open("app.db", "wal");
    all.insert("app.db", 150, 20);
    all.kill();
    assert_eq!(all.files("app.db"), ["app.db", "app.db-shm", "app.db-wal"]);
    let (preview, _) = all.rollback(&[&id, "--dry-run"]);
    let (answer, exit) = all.rollback(&[&id]);
    assert_eq!((exit, paths(&answer, "left")), (Some(0), vec![]), "{answer}");
    assert_eq!(paths(&answer, "removed"), ["app.db-shm", "app.db-wal"]);
    for list in ["restored", "removed", "left", "kept"] {
        assert_eq!(paths(&preview, list), paths(&answer, list), "{list}");
    }
    assert_eq!((all.files("app.db"), all.rows("app.db")), (vec!["app.db".into()], Rows::ok(2_000)));
    assert_eq!((undo(&all, &answer).1, all.rows("app.db")), (Some(0), Rows::ok(2_150)));
}

#[test]
fn one_file_of_a_database_is_restored_with_all_others_or_not_at_all() {
    if !has_sqlite() {
        return;
    }
    let (mut all, id) = closed(USUAL, "wal", 1_000);
    all.open("app.db", "wal");
    all.insert("app.db", 700, 20);
    all.does("fold", "app.db");
    all.insert("app.db", 300, 20);
    let (first, exit) = all.rollback(&[&id, "app.db"]);
    assert_eq!((exit, paths(&first, "restored")), (Some(2), vec![]), "{first}");
    let why = "part of the database app.db, which another process is using";
    assert_eq!(reasons(&first, "kept"), [why, why]);
    assert_eq!(all.rows("app.db"), Rows::ok(2_000));
    all.kill();
    let (answer, exit) = all.rollback(&[&id, "app.db"]);
    assert_eq!((exit, paths(&answer, "restored")), (Some(0), vec!["app.db".into()]), "{answer}");
    assert_eq!(paths(&answer, "removed"), ["app.db-shm", "app.db-wal"]);
    assert_eq!(all.rows("app.db"), Rows::ok(1_000));
    assert_eq!((undo(&all, &first).1, all.rows("app.db")), (Some(0), Rows::ok(2_000)));
}

#[test]
fn a_database_that_a_process_has_open_is_restored_once_it_is_closed() {
    if !has_sqlite() {
        return;
    }
    let (mut all, id) = closed(USUAL, "wal", 100);
    all.world.write("other", "new");
    all.open("app.db", "wal");
    all.insert("app.db", 50, 20);
    let (answer, exit) = all.rollback(&[&id]);
    assert_eq!((exit, paths(&answer, "removed")), (Some(2), vec![]), "{answer}");
    assert_eq!(all.rows("app.db"), Rows::ok(150));
    all.does("close", "app.db");
    let (answer, exit) = all.rollback(&[&id]);
    assert_eq!((exit, all.rows("app.db")), (Some(0), Rows::ok(100)), "{answer}");
}

#[test]
fn a_database_that_was_created_since_stays_or_goes_as_a_whole() {
    if !has_sqlite() {
        return;
    }
    let mut all = Databases::new(USUAL);
    all.world.write("data/file", "text");
    all.world.checkpoint("before");
    all.world.remove("data/file");
    all.open("data/app.db", "wal");
    all.insert("data/app.db", 10, 20);
    all.kill();
    let (answer, exit) = all.rollback(&["1"]);
    assert_eq!(
        (exit, paths(&answer, "left")),
        (Some(0), vec!["data/app.db".into(), "data/app.db-wal".into()])
    );
    let id = answer["id"].as_str().unwrap().to_owned();
    let (answer, exit) = all.rollback(&[&id, "--exact"]);
    assert_eq!(exit, Some(0), "{answer}");
    assert_eq!(paths(&answer, "removed"), ["data/app.db", "data/app.db-shm", "data/app.db-wal"]);
    assert!(!all.world.has("data/app.db"));
    let held = answer["safety"].as_str().map_or("1".to_owned(), str::to_owned);
    assert_eq!(all.rollback(&[&held]).1, Some(0));
    assert_eq!(all.rows("data/app.db"), Rows::ok(10));
}

#[test]
fn a_part_of_a_database_in_a_checkpoint_of_another_tool_is_never_restored() {
    if !has_sqlite() {
        return;
    }
    let mut all = Databases::new(USUAL);
    all.open("app.db", "wal");
    all.insert("app.db", 100, 20);
    fs::copy(all.world.path("app.db-wal"), all.world.path("wal")).unwrap();
    all.kill();
    for name in all.files("app.db") {
        all.world.remove(name);
    }
    // What an older version stored where the database itself was too large.
    fs::rename(all.world.path("wal"), all.world.path("app.db-wal")).unwrap();
    let id = all.world.checkpoint("a part");
    let id = without_the_header(&all, &id);
    all.world.remove("app.db-wal");
    all.open("app.db", "delete");
    all.insert("app.db", 7, 20);
    all.does("close", "app.db");
    let (answer, exit) = all.rollback(&[&id]);
    assert_eq!((exit, paths(&answer, "restored")), (Some(2), vec![]), "{answer}");
    let why = "part of the database app.db, of which the checkpoint holds only a part";
    assert_eq!(reasons(&answer, "kept"), [why, why]);
    assert_eq!(all.rows("app.db"), Rows::ok(7));
}

/// Makes the newest checkpoint the same without the header that tells that units are whole.
fn without_the_header(all: &Databases, id: &str) -> String {
    let store = all.world.base().join("store");
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
    let made = git(&["hash-object", "-w", "-t", "commit", "--stdin"], Some(without.as_bytes()));
    let refs = git(&["for-each-ref", "--format=%(refname)", "refs/hermes/"], None);
    git(&["update-ref", refs.trim(), made.trim()], None);
    made.trim().to_owned()
}

#[test]
fn level_db_comes_back_with_its_journal_though_its_name_is_that_of_a_log() {
    let Some(_) = level_db() else { return };
    let mut all = Databases::new(USUAL);
    all.does("level", "db");
    all.put("db", 0, 500, 20);
    let id = all.world.checkpoint("500 keys");
    assert!(all.world.held(&id).iter().any(|path| path.ends_with(".log")), "the journal");
    // It goes on, and its journal of then goes.
    all.put("db", 1_000, 400, 2_000);
    all.does("compact", "db");
    let (answer, exit) = all.rollback(&[&id, "--exact"]);
    assert_eq!((exit, paths(&answer, "removed")), (Some(2), vec![]), "{answer}");
    // Its LOG, which is no part of it, may be kept as well, since it changes meanwhile.
    let in_use = |why: &String| why.ends_with("db, which another process is using");
    assert!(reasons(&answer, "kept").iter().any(in_use), "{answer}");
    assert_eq!(all.keys("db"), Rows::ok(900));
    all.does("close", "db");
    let (answer, exit) = all.rollback(&[&id, "--exact"]);
    assert_eq!((exit, paths(&answer, "kept")), (Some(0), vec![]), "{answer}");
    assert_eq!(all.keys("db"), Rows::ok(500));
    assert_eq!((undo(&all, &answer).1, all.keys("db")), (Some(0), Rows::ok(900)));
}

#[test]
fn level_db_in_a_checkpoint_of_another_tool_that_left_out_its_journal_is_never_restored() {
    let Some(_) = level_db() else { return };
    let mut all = Databases::new(USUAL);
    all.does("level", "db");
    all.put("db", 0, 500, 20);
    all.does("close", "db");
    let journals: Vec<_> = fs::read_dir(all.world.path("db"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    let texts: Vec<_> = journals.iter().map(|path| fs::read(path).unwrap()).collect();
    journals.iter().for_each(|path| fs::remove_file(path).unwrap());
    let id = all.world.checkpoint("without the journal");
    let id = without_the_header(&all, &id);
    journals.iter().zip(texts).for_each(|(path, text)| fs::write(path, text).unwrap());
    all.does("level", "db");
    all.put("db", 500, 100, 20);
    all.does("close", "db");
    let (answer, exit) = all.rollback(&[&id]);
    assert_eq!((exit, all.keys("db")), (Some(2), Rows::ok(600)), "{answer}");
    let why = "part of the database db, of which the checkpoint holds only a part";
    assert!(reasons(&answer, "kept").iter().all(|reason| reason == why), "{answer}");
}
