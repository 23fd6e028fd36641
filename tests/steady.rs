//! Files that another process writes while a checkpoint is taken.

use crate::maintenance::world::{StoreFixture, before_call, take_checkpoint};
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
fn checkpoint_detects_a_change_that_leaves_the_ctime_unchanged() {
    for _ in 0..50 {
        let fixture = StoreFixture::new();
        fixture.write("it", "first.");
        let reads = AtomicUsize::new(0);
        let is_ctime_unchanged = Arc::new(AtomicBool::new(false));
        let recorded = is_ctime_unchanged.clone();
        let is_file = |path: &Path| path.ends_with("it/a.txt");
        let disk = before_call(Call::Read, is_file, move |path| {
            if reads.fetch_add(1, Ordering::Relaxed) == 1 {
                let ctime = |path| {
                    fs::metadata(path).map(|metadata| (metadata.ctime(), metadata.ctime_nsec()))
                };
                let earlier = ctime(path)?;
                File::options().write(true).open(path)?.write_all_at(b"second", 0)?;
                recorded.store(ctime(path)? == earlier, Ordering::Relaxed);
            }
            Ok(())
        });
        take_checkpoint(
            &fixture.manager_on(disk, Config::default()),
            &fixture.project("it"),
            "one",
        );
        if is_ctime_unchanged.load(Ordering::Relaxed) {
            fs::remove_file(fixture.project("it").join("a.txt")).unwrap();
            let manager = fixture.manager_on(SystemDisk, Config::default());
            manager.restore(&fixture.project("it"), b"1", RestoreOptions::default()).unwrap();
            assert_eq!(fs::read(fixture.project("it").join("a.txt")).unwrap(), b"second");
            return;
        }
    }
    // On this file system every change gets a different ctime.
}

// rule: unit/captured
#[test]
fn checkpoint_leaves_out_and_names_all_files_of_a_database_that_keeps_changing() {
    let fixture = StoreFixture::new();
    fixture.write("it", "text");
    let project = fixture.project("it");
    fs::write(project.join("app.db"), b"SQLite format 3\0rows").unwrap();
    fs::write(project.join("app.db-wal"), "one").unwrap();
    let is_journal = |path: &Path| path.ends_with("it/app.db-wal");
    let disk = before_call(Call::Read, is_journal, |path| {
        let end = fs::metadata(path)?.len();
        File::options().write(true).open(path)?.write_all_at(b"more", end)
    });
    let taken = fixture.manager_on(disk, Config::default()).checkpoint(&project, "r").unwrap();
    let left_out: Vec<&[u8]> = taken.skipped.iter().map(|skipped| &skipped.path[..]).collect();
    assert_eq!(left_out, [&b"app.db"[..], b"app.db-wal"]);
    let reason = "part of the database app.db, which keeps changing";
    assert!(taken.skipped.iter().all(|skipped| skipped.why.starts_with(reason)), "{taken:?}");
    assert!(matches!(taken.outcome, herma_core::Outcome::Created { .. }));
}
