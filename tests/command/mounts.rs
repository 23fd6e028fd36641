//! Folders that are mounted at a second path: the home is not a project there either, and the store is
//! never captured. Mounting needs a permission that not every machine grants.

use super::world::{CommandFixture, CommandOutput, binary};
use std::path::Path;
use std::process::Command;

impl CommandFixture {
    /// The output of the command with `folder` also mounted at `mount_point`; `None` where mounting is not
    /// permitted.
    fn with_mount(
        &self,
        folder: &Path,
        mount_point: &Path,
        words: &[&str],
    ) -> Option<CommandOutput> {
        self.mounted("mount --bind \"$1\" \"$2\"", folder, mount_point, words)
    }

    /// The same with a mount command of its own, for which `$1` and `$2` are the paths.
    fn mounted(
        &self,
        mount: &str,
        folder: &Path,
        mount_point: &Path,
        words: &[&str],
    ) -> Option<CommandOutput> {
        let script = format!("{{ {mount}; }} || exit 99; shift 2; exec \"$0\" \"$@\"");
        let mut command = Command::new("unshare");
        self.prepare(&mut command);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.args(["--mount", "sh", "-c", &script]).arg(binary()).arg(folder).arg(mount_point);
        let ended = command.args(words).output();
        let ended = ended.ok().filter(|ended| !matches!(ended.status.code(), None | Some(1 | 99)));
        if ended.is_none() {
            println!("not run: nothing may be mounted here");
        }
        ended.map(|ended| CommandOutput::new(words.join(" "), ended))
    }
}

#[test]
fn checkpoint_refuses_the_home_directory_where_it_is_mounted_at_a_second_path() {
    let world = CommandFixture::new();
    let mount_point = world.root.join("elsewhere");
    std::fs::create_dir(&mount_point).unwrap();
    let words = ["checkpoint", mount_point.to_str().unwrap()];
    if let Some(said) = world.with_mount(&world.home(), &mount_point, &words) {
        assert_eq!(said.refusal(), "scope_home");
    }
}

#[test]
fn checkpoint_and_rollback_do_not_touch_a_store_that_is_mounted_in_the_project() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.write("inside/b.txt", "two\n");
    world.checkpoint("first");
    let hermes = world.root.join("hermes");
    let mount_point = world.path("inside");
    let words = ["checkpoint", "--json"];
    let Some(said) = world.with_mount(&hermes, &mount_point, &words) else { return };
    // The hidden file is missing, and nothing of the store was captured instead.
    let said = said.done().json();
    let id = said["id"].as_str().expect("b.txt is hidden");
    assert_eq!(world.held(id), ["a.txt"]);
    let words = ["rollback", "2", "--json"];
    let said = world.with_mount(&world.base(), &mount_point, &words).unwrap();
    assert!(!world.base().join("b.txt").exists(), "{}", said.text());
}

#[test]
fn dry_run_names_the_paths_on_a_read_only_mount() {
    let world = CommandFixture::new();
    for content in ["one\n", "two\n"] {
        world.write("a.txt", content);
        world.write("inside/b.txt", content);
        world.herma(&["checkpoint"]).done();
    }
    let folder = world.path("inside");
    let mount = "mount --bind \"$1\" \"$2\" && mount -o remount,bind,ro \"$2\"";
    let read_only = |words: &[&str]| world.mounted(mount, &folder, &folder, words);
    let Some(preview) = read_only(&["rollback", "2", "--dry-run", "--json"]) else { return };
    let preview = preview.done().json();
    let done = read_only(&["rollback", "2", "--json"]).unwrap().json();
    for answer in [&preview, &done] {
        assert_eq!(answer["restored"], serde_json::json!(["a.txt"]), "{answer}");
        assert_eq!(answer["failed"][0]["path"], "inside/b.txt", "{answer}");
    }
    let why = preview["failed"][0]["why"].as_str().unwrap();
    assert!(why.contains("Read-only file system"), "{why}");
}
