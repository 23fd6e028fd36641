//! Folders that are mounted at a second place: the home is still no project, and the store is captured
//! nowhere. Mounting takes a right that not every machine gives.

use super::world::{Said, World, binary};
use std::path::Path;
use std::process::Command;

impl World {
    /// The command where `what` is mounted at `place` as well; none where nothing may be mounted.
    fn with_mount(&self, what: &Path, place: &Path, words: &[&str]) -> Option<Said> {
        let script = "mount --bind \"$1\" \"$2\" || exit 99; shift 2; exec \"$0\" \"$@\"";
        let mut command = Command::new("unshare");
        self.prepared(&mut command);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.args(["--mount", "sh", "-c", script]).arg(binary()).arg(what).arg(place);
        let ended = command.args(words).output();
        let ended = ended.ok().filter(|ended| !matches!(ended.status.code(), None | Some(1 | 99)));
        if ended.is_none() {
            println!("not run: nothing may be mounted here");
        }
        ended.map(|ended| Said::new(words.join(" "), ended))
    }
}

#[test]
fn the_home_at_a_second_place_is_no_project() {
    let world = World::new();
    let place = world.root.join("elsewhere");
    std::fs::create_dir(&place).unwrap();
    let words = ["checkpoint", place.to_str().unwrap()];
    if let Some(said) = world.with_mount(&world.home(), &place, &words) {
        assert_eq!(said.refusal(), "scope_home");
    }
}

#[test]
fn the_store_at_a_second_place_is_never_captured_nor_written() {
    let world = World::new();
    world.write("a.txt", "one\n");
    world.write("inside/b.txt", "two\n");
    world.checkpoint("first");
    let (hermes, place) = (world.root.join("hermes"), world.path("inside"));
    let words = ["checkpoint", "--json"];
    let Some(said) = world.with_mount(&hermes, &place, &words) else { return };
    // What the mount hides is gone, and nothing came in its place.
    let said = said.done().json();
    let id = said["id"].as_str().expect("b.txt is hidden");
    assert_eq!(world.held(id), ["a.txt"]);
    let words = ["rollback", "2", "--json"];
    let said = world.with_mount(&world.base(), &place, &words).unwrap();
    assert!(!world.base().join("b.txt").exists(), "{}", said.text());
}
