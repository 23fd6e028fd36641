//! Restores next to files and refs of others: existing files that are not part of the restore stay, whatever
//! they are and whatever fails.

use super::machine::{Machine, at_each_call};
use crate::maintenance::world::{git, take_checkpoint};
use herma_core::{PruneOptions, RestoreOptions, Scope};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io;
use std::path::Path;

#[test]
fn a_failed_restore_keeps_a_user_file_with_the_name_of_a_temporary_file() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "two\n");
    let name = format!(".herma-restore-{}-0-0", machine.hash());
    let user_file = machine.project().join(&name);
    fs::write(&user_file, "mine\n").unwrap();
    // The error of a process with too many open files, in which case the existing file was not looked at.
    let disk = HookedDisk::new(move |call, path| {
        let is_temporary = path.file_name().is_some_and(|file_name| *file_name == *name);
        let fails = call == Call::WriteNew && is_temporary;
        if fails { Err(io::Error::from_raw_os_error(24)) } else { Ok(()) }
    });
    let restored = machine.restore_first(disk);
    assert_eq!(restored.failed.len(), 1, "{restored:?}");
    assert_eq!(fs::read_to_string(&user_file).unwrap(), "mine\n");
}

// Reported F13.
#[test]
fn preview_says_that_a_mounted_file_cannot_be_replaced() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "two\n");
    let project = machine.project();
    let mounted = project.join("a.txt");
    let disk = HookedDisk::new(move |call, path| {
        let is_asked = call == Call::IsMountPoint && path == mounted;
        if is_asked { Err(io::ErrorKind::ResourceBusy.into()) } else { Ok(()) }
    });
    let manager = machine.manager_on(disk);
    let scopes = [Scope::All(RestoreOptions::default()), Scope::File(&b"a.txt"[..])];
    for scope in scopes {
        let would = manager.preview(&project, b"1", scope).unwrap().would;
        assert_eq!((would.restored.len(), would.failed.len()), (0, 1), "{would:?}");
        assert!(would.failed[0].why.contains("mounted"), "{would:?}");
    }
}

#[test]
fn restore_keeps_a_file_larger_than_memory_without_reading_it() {
    let machine = Machine::new();
    machine.take();
    let path = machine.project().join("a.txt");
    fs::File::create(&path).unwrap().set_len(1 << 42).unwrap();
    let restored = machine.restore_first(HookedDisk::of_an_ordinary_user());
    assert_eq!(restored.kept.len(), 1, "{restored:?}");
    assert_eq!(fs::metadata(&path).unwrap().len(), 1 << 42);
    let error = machine.manager().restore_file(&machine.project(), b"1", b"a.txt").unwrap_err();
    assert_eq!(error.code(), "would_overwrite");
    fs::remove_file(&path).unwrap();
    machine.restore_first(HookedDisk::of_an_ordinary_user());
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
}

#[test]
fn pin_and_restore_succeed_when_git_packs_refs_before_any_ref_access() {
    let calls = pack_refs_at_each_call(|machine, disk| {
        let manager = machine.manager_on(disk);
        let project = machine.project();
        let pinned = manager.pin(&project, b"1").unwrap();
        let restored = manager.restore(&project, b"1", RestoreOptions::default()).unwrap();
        assert_eq!((restored.id == pinned, restored.failed.len()), (true, 0), "{restored:?}");
        let listed = machine.manager().list(&project).unwrap();
        assert_eq!(listed.len(), 2, "{listed:?}");
    });
    assert!(calls > 50, "{calls}");
}

#[test]
fn evicted_checkpoints_stay_evicted_when_git_packs_refs_before_any_ref_access() {
    let calls = pack_refs_at_each_call(|machine, disk| {
        let project = machine.project();
        let ordinary = machine.manager();
        let pinned = ordinary.pin(&project, b"1").unwrap();
        ordinary.restore(&project, b"1", RestoreOptions::default()).unwrap();
        machine.write("a.txt", "three\n");
        let manager = machine.manager_on(disk);
        manager.unpin(&project, pinned.as_bytes()).unwrap();
        let newest = take_checkpoint(&manager, &project, "newest");
        let options =
            PruneOptions { retention_seconds: 0, max_total_bytes: 1, delete_orphans: false };
        let pruned = manager.prune(&options, &mut |_| {}).unwrap();
        assert!(pruned.errors == 0, "{pruned:?}");
        let listed = machine.manager().list(&project).unwrap();
        assert_eq!(listed.iter().map(|entry| &entry.id).collect::<Vec<_>>(), [&newest]);
        let refs = machine.git().args(["for-each-ref", "--format=%(refname)"]).output().unwrap();
        let refs = String::from_utf8(refs.stdout).unwrap();
        assert!(!refs.contains("refs/pins/") && !refs.contains("refs/rollbacks/"), "{refs}");
    });
    assert!(calls > 200, "{calls}");
}

/// Runs the operation once for each of its calls to a ref path; before that call, git packs all refs and
/// removes the empty folders. Returns the number of such calls.
fn pack_refs_at_each_call(operation: fn(&Machine, HookedDisk)) -> usize {
    at_each_call(|step| {
        let machine = Machine::new();
        machine.take();
        machine.write("a.txt", "two\n");
        let store = machine.base().join("store");
        let packing = move || -> io::Result<()> {
            // Git skips refs that are locked at the moment.
            git(&store).args(["pack-refs", "--all"]).output().map(drop)
        };
        let is_ref_path = |path: &Path| path.to_string_lossy().contains("refs");
        operation(&machine, step.disk_among(is_ref_path, packing));
        assert!(machine.git_finds_nothing_broken(), "at call {}", step.number);
    })
}

impl Machine {
    /// Restores the oldest checkpoint on that disk.
    fn restore_first(&self, disk: HookedDisk) -> herma_core::Restored {
        let listed = self.manager().list(&self.project()).unwrap();
        let oldest = &listed.last().unwrap().id;
        let options = RestoreOptions::default();
        self.manager_on(disk).restore(&self.project(), oldest.as_bytes(), options).unwrap()
    }
}
