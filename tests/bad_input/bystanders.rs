//! What stands where something is to be restored and is nobody's business: it stays, whatever it is
//! and whatever fails.

use super::machine::Machine;
use herma_core::RestoreOptions;
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io;

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

impl Machine {
    /// Restores the oldest checkpoint on that disk.
    fn restore_first(&self, disk: HookedDisk) -> herma_core::Restored {
        let listed = self.manager().list(&self.project()).unwrap();
        let oldest = &listed.last().unwrap().id;
        let options = RestoreOptions::default();
        self.on(disk).restore(&self.project(), oldest.as_bytes(), options).unwrap()
    }
}
