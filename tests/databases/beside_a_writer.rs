//! Restores while another process continuously writes a database: no row is lost that is not in a checkpoint,
//! and every database passes its integrity check.
//!
//! Runs a few rounds by default; with more rounds it prints figures.

use super::world::{Databases, Rows, has_sqlite, level_db, paths};
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

const HUNDRED: &str = "HERMA_DATABASE_ROUNDS=100 cargo test -p herma-tests --test workspace \
                       beside_a_writer -- --nocapture";

/// The number of rounds for each kind of database.
fn rounds() -> u64 {
    let configured = std::env::var("HERMA_DATABASE_ROUNDS").ok();
    configured.and_then(|text| text.parse().ok()).unwrap_or_else(|| {
        println!("2 rounds of each kind; for 100: {HUNDRED}");
        2
    })
}

/// The outcomes of the restores, and the row counts of each round.
#[derive(Debug, Default)]
struct Figures {
    restored: u64,
    in_use: u64,
    left_out: u64,
    changed: u64,
    same: u64,
    rows: Vec<[Option<u64>; 4]>,
}

impl Figures {
    fn count(&mut self, answer: &Value) {
        let reasons = answer["kept"].to_string();
        let count = match () {
            () if is_restored(answer) => &mut self.restored,
            () if reasons.contains("another process is using") => &mut self.in_use,
            () if reasons.contains("changed during the restore") => &mut self.changed,
            () if reasons != "[]" => &mut self.left_out,
            () => &mut self.same,
        };
        *count += 1;
    }
}

/// Whether the database was restored. LevelDB's file LOG is not part of the database and is restored or kept
/// independently.
fn is_restored(answer: &Value) -> bool {
    let is_part = |path: &String| !path.contains("/LOG");
    let has_part = |list| paths(answer, list).iter().any(is_part);
    (has_part("restored") || has_part("removed")) && !has_part("kept")
}

/// A kind of database, and the configuration of the project.
struct Kind {
    kind: &'static str,
    path: &'static str,
    mode: &'static str,
    configuration: &'static str,
    ignores: &'static str,
    /// Bytes in each initial row.
    size: u64,
}

fn count_rows(databases: &mut Databases, kind: &Kind) -> Rows {
    if kind.kind == "level" { databases.keys(kind.path) } else { databases.rows(kind.path) }
}

/// Restores while a writer runs, for the given number of rounds, and checks the rows each time.
fn restore_beside_writer(kind: &Kind) {
    const ROWS: u64 = 200;
    let mut figures = Figures::default();
    let mut databases = Databases::new(kind.configuration);
    databases.world.write(".gitignore", kind.ignores);
    match kind.kind {
        "level" => {
            databases.run("level", kind.path);
            databases.put(kind.path, 0, ROWS, kind.size);
        }
        _ => {
            databases.open(kind.path, kind.mode);
            databases.insert(kind.path, ROWS, kind.size);
        }
    }
    databases.run("close", kind.path);
    let taken = databases.world.herma(&["checkpoint", "--json"]).json();
    let id = taken["id"].as_str().unwrap().to_owned();
    let is_complete = paths(&taken, "skipped").is_empty();
    for round in 0..rounds() {
        let writer = databases.writer(kind.kind, kind.path, kind.mode);
        sleep(Duration::from_millis(round * 7 % 50));
        // Counts the rows committed so far.
        writer.stop();
        let before = count_rows(&mut databases, kind);
        writer.go_on();
        let (answer, _) = databases.rollback(&[&id]);
        drop(writer);
        figures.count(&answer);
        let after = count_rows(&mut databases, kind);
        let is_done = is_restored(&answer);
        let context = format!("{} {}: {before:?} {after:?} {answer}", kind.kind, kind.mode);
        assert_eq!((&before.integrity[..], &after.integrity[..]), ("ok", "ok"), "{context}");
        assert!(after.rows >= if is_done { Some(ROWS) } else { before.rows }, "{context}");
        let mut undone = after.clone();
        if let Some(pre_restore_id) = answer["safety"].as_str().filter(|_| is_done) {
            let (answer, exit) = databases.rollback(&[pre_restore_id, "--exact"]);
            undone = count_rows(&mut databases, kind);
            assert_eq!((exit, &undone.integrity[..]), (Some(0), "ok"), "{context} {answer}");
            assert!(undone.rows >= before.rows, "{context} {undone:?}");
        }
        // No process uses the database now.
        let (answer, exit) = databases.rollback(&[&id, "--exact"]);
        let end = count_rows(&mut databases, kind);
        assert_eq!(&end.integrity, "ok", "{context} {answer}");
        if is_complete && exit == Some(0) {
            assert_eq!(end.rows, Some(ROWS), "{context} {answer}");
        } else {
            assert!(end.rows >= undone.rows, "{context} {answer}");
        }
        figures.rows.push([before.rows, after.rows, undone.rows, end.rows]);
    }
    if rounds() > 2 {
        let Figures { restored, in_use, left_out, changed, same, rows } = figures;
        let shown: Vec<_> = rows.iter().take(5).collect();
        println!(
            "{} {} {:?} {}B: restored {restored}, in use {in_use}, left out {left_out}, changed \
             {changed}, same {same}; integrity ok in all; rows before, after, undone, end: {shown:?}",
            kind.kind, kind.mode, kind.ignores, kind.size
        );
    }
}

const USUAL: &str = "checkpoints: { max_snapshots: 500 }\n";
const SMALL: &str = "checkpoints: { max_snapshots: 500, max_file_size_mb: 1 }\n";

fn restore_sqlite_beside_writer(mode: &'static str) {
    if !has_sqlite() {
        return;
    }
    for (configuration, ignores, size) in
        [(USUAL, "", 20), (USUAL, "*-wal\n*-journal\n", 20), (SMALL, "", 10_000)]
    {
        let kind = "sqlite";
        let path = "app.db";
        restore_beside_writer(&Kind { kind, path, mode, configuration, ignores, size });
    }
}

#[test]
fn rollback_during_sqlite_writes_in_journal_mode_delete_loses_no_row() {
    restore_sqlite_beside_writer("delete");
}

#[test]
fn rollback_during_sqlite_writes_in_journal_mode_truncate_loses_no_row() {
    restore_sqlite_beside_writer("truncate");
}

#[test]
fn rollback_during_sqlite_writes_in_journal_mode_persist_loses_no_row() {
    restore_sqlite_beside_writer("persist");
}

// rule: unit/rows
#[test]
fn rollback_during_sqlite_writes_in_journal_mode_wal_loses_no_row() {
    restore_sqlite_beside_writer("wal");
}

#[test]
fn rollback_during_level_db_writes_loses_no_key() {
    let Some(_) = level_db() else { return };
    for (configuration, ignores, size) in
        [(USUAL, "", 20), (USUAL, "*.log\n", 20), (SMALL, "", 10_000)]
    {
        let kind = "level";
        let path = "db";
        let mode = "";
        restore_beside_writer(&Kind { kind, path, mode, configuration, ignores, size });
    }
}
