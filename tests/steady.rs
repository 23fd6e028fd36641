//! Files that somebody writes while a checkpoint is taken.

use crate::maintenance::world::{World, before, created};
use herma_core::disk::SystemDisk;
use herma_core::{Config, RestoreOptions};
use herma_harness::subject::Call;
use pretty_assertions::assert_eq;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[test]
fn a_change_that_the_times_of_a_file_do_not_show_is_seen() {
    for _ in 0..50 {
        let world = World::new();
        world.write("it", "first.");
        let (looks, hidden) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
        let is_hidden = hidden.clone();
        let is_file = |path: &Path| path.ends_with("it/a.txt");
        let disk = before(Call::Read, is_file, move |path| {
            if looks.fetch_add(1, Ordering::Relaxed) == 1 {
                let changed = |path| fs::metadata(path).map(|one| (one.ctime(), one.ctime_nsec()));
                let earlier = changed(path)?;
                File::options().write(true).open(path)?.write_all_at(b"second", 0)?;
                is_hidden.store(changed(path)? == earlier, Ordering::Relaxed);
            }
            Ok(())
        });
        created(&world.on(disk, Config::default()), &world.project("it"), "one");
        if hidden.load(Ordering::Relaxed) {
            fs::remove_file(world.project("it").join("a.txt")).unwrap();
            let manager = world.on(SystemDisk, Config::default());
            manager.restore(&world.project("it"), b"1", RestoreOptions::default()).unwrap();
            assert_eq!(fs::read(world.project("it").join("a.txt")).unwrap(), b"second");
            return;
        }
    }
    // The clock of this file system tells all changes apart.
}

// rule: unit/captured
#[test]
fn a_database_that_keeps_changing_is_left_out_as_a_whole_and_named() {
    let world = World::new();
    world.write("it", "text");
    let project = world.project("it");
    fs::write(project.join("app.db"), b"SQLite format 3\0rows").unwrap();
    fs::write(project.join("app.db-wal"), "one").unwrap();
    let is_journal = |path: &Path| path.ends_with("it/app.db-wal");
    let disk = before(Call::Read, is_journal, |path| {
        let end = fs::metadata(path)?.len();
        File::options().write(true).open(path)?.write_all_at(b"more", end)
    });
    let taken = world.on(disk, Config::default()).checkpoint(&project, "r").unwrap();
    let left_out: Vec<&[u8]> = taken.skipped.iter().map(|one| &one.path[..]).collect();
    assert_eq!(left_out, [&b"app.db"[..], b"app.db-wal"]);
    let why = "part of the database app.db, which keeps changing";
    assert!(taken.skipped.iter().all(|one| one.why.starts_with(why)), "{taken:?}");
    assert!(matches!(taken.outcome, herma_core::Outcome::Created { .. }));
}
