//! The command where the system allows no more threads.

use super::world::CommandFixture;
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
