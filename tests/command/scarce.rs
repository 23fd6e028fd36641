//! The command where the system allows little: no more threads, or only to read the store.

use super::world::CommandFixture;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Enough folders and files that threads share the work.
const FOLDERS: usize = 100;

#[test]
fn checkpoint_and_rollback_need_no_second_thread() {
    let world = CommandFixture::new();
    let name = |number: usize| format!("folder {number}/file");
    let write = |content: &str| (0..FOLDERS).for_each(|number| world.write(name(number), content));
    write("one");
    world.give_home();
    let copy = world.copy_for_everybody();
    let alone = || -> Command {
        let mut command = world.ordinary("/bin/sh".as_ref());
        command.env("HERMES_HOME", world.home().join("hermes"));
        // The letter of this limit differs between shells.
        let limited = "ulimit -p 1 2> /dev/null || ulimit -u 1 && exec \"$0\" \"$@\"";
        command.args(["-c", limited]).arg(&copy);
        command
    };
    world.run(alone(), &["checkpoint"]).done();
    write("two");
    world.run(alone(), &["rollback", "1"]).done();
    for number in 0..FOLDERS {
        assert_eq!(world.read(name(number)), "one", "{number}");
    }
}

// rule: restore/safety-required
#[test]
fn rollback_with_force_restores_from_a_store_that_can_only_be_read() {
    let world = CommandFixture::new();
    let base = world.home().join("hermes");
    let copy = world.copy_for_everybody();
    let reader = || -> Command {
        let mut command = world.ordinary(&copy);
        command.env("HERMES_HOME", &base);
        command
    };
    world.write("a", "one");
    world.give_home();
    world.run(reader(), &["checkpoint"]).done();
    world.write("a", "two");
    set_modes(&base, |mode| mode & !0o222);
    world.run(reader(), &["checkpoints", "verify"]).done();
    assert_eq!(world.run(reader(), &["rollback", "1"]).refusal(), "no_safety_checkpoint");
    assert_eq!(world.read("a"), "two");
    let restored = world.run(reader(), &["rollback", "1", "--force"]).done().text();
    assert!(restored.contains("This restore cannot be undone"), "{restored}");
    assert_eq!(world.read("a"), "one");
    set_modes(&base, |mode| mode | 0o200);
}

/// Changes the modes of a folder and of all in it.
fn set_modes(path: &Path, mode: impl Fn(u32) -> u32 + Copy) {
    let present = fs::metadata(path).unwrap().permissions().mode();
    fs::set_permissions(path, Permissions::from_mode(mode(present))).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| set_modes(&entry.unwrap().path(), mode));
    }
}
