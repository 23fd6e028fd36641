//! What stands where something is to be restored and is nobody's business: it stays, whatever it is
//! and whatever fails.

use super::machine::{Machine, at_each_call};
use crate::maintenance::world::{created, git};
use herma_core::{PruneOptions, RestoreOptions};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io;
use std::path::Path;

#[test]
fn an_error_removes_no_file_that_has_the_name_of_a_temporary_one() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "two\n");
    let name = format!(".herma-restore-{}-0-0", machine.hash());
    let own = machine.project().join(&name);
    fs::write(&own, "mine\n").unwrap();
    // The error of a process that has too many files open: then nobody looked at what stands there.
    let disk = HookedDisk::new(move |call, path| {
        let is_temporary = path.file_name().is_some_and(|last| *last == *name);
        let fails = call == Call::WriteNew && is_temporary;
        if fails { Err(io::Error::from_raw_os_error(24)) } else { Ok(()) }
    });
    let restored = machine.restore_first(disk);
    assert_eq!(restored.failed.len(), 1, "{restored:?}");
    assert_eq!(fs::read_to_string(&own).unwrap(), "mine\n");
}

#[test]
fn a_file_that_is_larger_than_any_memory_is_kept_and_not_read() {
    let machine = Machine::new();
    machine.take();
    let path = machine.project().join("a.txt");
    fs::File::create(&path).unwrap().set_len(1 << 42).unwrap();
    let restored = machine.restore_first(HookedDisk::of_an_ordinary_user());
    assert_eq!(restored.kept.len(), 1, "{restored:?}");
    assert_eq!(fs::metadata(&path).unwrap().len(), 1 << 42);
    // The newest is the pre-rollback checkpoint, which left it out.
    let one = machine.manager().restore_file(&machine.project(), b"2", b"a.txt").unwrap_err();
    assert_eq!(one.code(), "would_overwrite");
    fs::remove_file(&path).unwrap();
    machine.restore_first(HookedDisk::of_an_ordinary_user());
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
}

#[test]
fn whenever_git_packs_refs_a_checkpoint_is_pinned_and_restored() {
    let calls = packed_at_each_call(|machine, disk| {
        let (manager, project) = (machine.on(disk), machine.project());
        let pinned = manager.pin(&project, b"1").unwrap();
        let restored = manager.restore(&project, b"1", RestoreOptions::default()).unwrap();
        assert_eq!((restored.id == pinned, restored.failed.len()), (true, 0), "{restored:?}");
        let listed = machine.manager().list(&project).unwrap();
        assert_eq!(listed.len(), 2, "{listed:?}");
    });
    assert!(calls > 50, "{calls}");
}

#[test]
fn whenever_git_packs_refs_what_is_dropped_stays_dropped() {
    let calls = packed_at_each_call(|machine, disk| {
        let (project, before) = (machine.project(), machine.manager());
        let pinned = before.pin(&project, b"1").unwrap();
        before.restore(&project, b"1", RestoreOptions::default()).unwrap();
        machine.write("a.txt", "three\n");
        let manager = machine.on(disk);
        manager.unpin(&project, pinned.as_bytes()).unwrap();
        let newest = created(&manager, &project, "newest");
        let small =
            PruneOptions { retention_seconds: 0, max_total_bytes: 1, delete_orphans: false };
        let pruned = manager.prune(&small, &mut |_| {}).unwrap();
        assert!(pruned.errors == 0, "{pruned:?}");
        let listed = machine.manager().list(&project).unwrap();
        assert_eq!(listed.iter().map(|one| &one.id).collect::<Vec<_>>(), [&newest]);
        let refs = machine.git().args(["for-each-ref", "--format=%(refname)"]).output().unwrap();
        let refs = String::from_utf8(refs.stdout).unwrap();
        assert!(!refs.contains("refs/pins/") && !refs.contains("refs/rollbacks/"), "{refs}");
    });
    assert!(calls > 200, "{calls}");
}

/// Git packs all refs and removes the folders that are empty then, before one call of the operation that
/// is about refs, whichever it is; answers how many there are.
fn packed_at_each_call(operation: fn(&Machine, HookedDisk)) -> usize {
    at_each_call(|step| {
        let machine = Machine::new();
        machine.take();
        machine.write("a.txt", "two\n");
        let store = machine.base().join("store");
        let packing = move || -> io::Result<()> {
            // What is locked now is left for another time.
            git(&store).args(["pack-refs", "--all"]).output().map(drop)
        };
        let is_of_refs = |path: &Path| path.to_string_lossy().contains("refs");
        operation(&machine, step.disk_among(is_of_refs, packing));
        assert!(machine.git_finds_nothing_broken(), "at call {}", step.number);
    })
}

impl Machine {
    /// Restores the oldest checkpoint on that disk.
    fn restore_first(&self, disk: HookedDisk) -> herma_core::Restored {
        let listed = self.manager().list(&self.project()).unwrap();
        let oldest = &listed.last().unwrap().id;
        let options = RestoreOptions::default();
        self.on(disk).restore(&self.project(), oldest.as_bytes(), options).unwrap()
    }
}
