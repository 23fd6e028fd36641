//! `herma doctor`: each obstacle to checkpoints that it can report is really created.

use crate::command::world::{CommandFixture, CommandOutput, assert_text, binary};
use pretty_assertions::assert_eq;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Runs `doctor`, expects that nothing changed and that the text and the JSON report the same.
#[track_caller]
fn examine(
    world: &CommandFixture,
    command: impl Fn() -> Command,
) -> (CommandOutput, serde_json::Value) {
    let before = world.everything();
    let said = world.run(command(), &["doctor"]);
    let json = world.run(command(), &["doctor", "--json"]);
    assert_eq!(world.everything(), before);
    assert_eq!((json.exit, json.stderr.as_str()), (said.exit, ""));
    let data = json.json();
    let verdict = &data["verdict"];
    let exit = said.exit;
    assert_eq!(exit, Some(if verdict == "trouble" { 3 } else { 0 }), "{data}");
    assert_eq!(said.stderr.ends_with("[trouble]\n"), verdict == "trouble", "{}", said.stderr);
    for finding in data["findings"].as_array().unwrap() {
        let shown = finding["verdict"].as_str().unwrap();
        let found = finding["found"].as_str().unwrap();
        // The findings of these checks change from one run to the next.
        let varies = ["space", "clock"].iter().any(|check| finding["check"] == *check);
        let matches = |line: &&str| line.starts_with(shown) && (varies || line.ends_with(found));
        assert!(said.text().lines().any(|line| matches(&line)), "{finding}: {}", said.text());
    }
    (said, data)
}

/// Expects a verdict of a check, whatever the other checks report.
#[track_caller]
fn expect_finding(world: &CommandFixture, check: &str, verdict: &str, part: &str) -> CommandOutput {
    let (said, data) = examine(world, || world.command());
    assert_finding(&data, check, verdict, part);
    said
}

#[track_caller]
fn assert_finding(data: &serde_json::Value, check: &str, verdict: &str, part: &str) {
    let findings = data["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["check"] == check).unwrap();
    assert_eq!(finding["verdict"], verdict, "{finding}");
    assert!(finding["found"].as_str().unwrap().contains(part), "{part}: {finding}");
    assert_eq!(finding["advice"].is_string(), verdict != "ok", "{finding}");
}

/// The transcript without numbers that differ from machine to machine.
fn steady(world: &CommandFixture, outputs: &[CommandOutput]) -> String {
    let text = world.transcript(outputs);
    let lines = text.lines().map(|line| match line.split_once(" MB are free") {
        Some((start, rest)) => {
            let start = start.trim_end_matches(|c: char| c.is_ascii_digit());
            format!("{start}N MB are free{rest}")
        }
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn where_nothing_is_in_the_way_it_says_so_and_makes_nothing() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    let fresh = expect_finding(&world, "base", "ok", "the first checkpoint creates it");
    world.checkpoint("first");
    world.configure("checkpoints:\n  enabled: true\n");
    let used = expect_finding(&world, "base", "ok", "contains a store");
    world.herma(&["doctor"]).done();
    assert_text("doctor", &steady(&world, &[fresh, used]));
}

#[test]
fn a_store_that_is_in_trouble() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.configure("checkpoints:\n  enabled: yes\n");
    fs::write(world.base(), "").unwrap();
    fs::write(world.path("large"), vec![0; 10 * 1024 * 1024 + 1]).unwrap();
    let said = expect_finding(&world, "base", "trouble", "is not a directory");
    expect_finding(&world, "configuration", "trouble", "enabled is");
    assert_eq!(world.herma(&["checkpoint"]).exit, Some(3), "what it says is true");
    assert_text("doctor-trouble", &steady(&world, &[said]));
    fs::remove_file(world.base()).unwrap();
    world.configure("");
    fs::create_dir(world.base()).unwrap();
    fs::write(world.base().join("store"), "").unwrap();
    expect_finding(&world, "base", "trouble", "is not a directory");
    assert_eq!(world.herma(&["checkpoint"]).refusal(), "store_unusable");
}

#[test]
fn doctor_follows_a_link_to_the_checkpoint_base() {
    let world = CommandFixture::new();
    symlink("volume", world.root.join("hermes")).unwrap();
    let said = expect_finding(&world, "base", "notice", "which does not exist");
    assert_eq!(said.exit, Some(0));
    fs::create_dir(world.root.join("volume")).unwrap();
    expect_finding(&world, "base", "ok", "volume/checkpoints");
}

#[test]
fn doctor_reports_a_base_that_cannot_be_created_for_lack_of_permission() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    let parent = world.root.join("hermes");
    fs::create_dir(&parent).unwrap();
    fs::set_permissions(&parent, Permissions::from_mode(0o555)).unwrap();
    let copy = world.copy_for_everybody();
    let ordinary = || world.ordinary(&copy);
    let (_, data) = examine(&world, ordinary);
    assert_finding(&data, "base", "trouble", "cannot be created in");
    assert_eq!(world.run(ordinary(), &["checkpoint"]).refusal(), "permission");
    fs::set_permissions(&parent, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn doctor_reports_what_works_with_a_store_that_cannot_be_written_or_is_of_another_user() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("first");
    world.write("a.txt", "two\n");
    let copy = world.copy_for_everybody();
    let ordinary = || world.ordinary(&copy);
    let hermes = world.root.join("hermes");
    if fs::metadata(&hermes).unwrap().uid() == 0 {
        let (_, data) = examine(&world, ordinary);
        assert_finding(
            &data,
            "base",
            "trouble",
            "hermes\" belongs to user 0, and you are user 65534",
        );
        let owner = ["-R", "65534:65534"];
        Command::new("chown").args(owner).args([&hermes, &world.home()]).status().unwrap();
    }
    Command::new("chmod").args(["-R", "a-w"]).arg(&hermes).status().unwrap();
    let (_, data) = examine(&world, ordinary);
    assert_finding(&data, "base", "trouble", "store\" cannot be written: Permission denied");
    assert_finding(&data, "base", "trouble", "are listed and compared, but none is taken");
    world.run(ordinary(), &["list"]).done();
    world.run(ordinary(), &["diff"]).done();
    assert_eq!(world.run(ordinary(), &["checkpoint"]).refusal(), "permission");
    assert_eq!(world.run(ordinary(), &["rollback", "1"]).refusal(), "no_safety_checkpoint");
    assert_eq!(world.run(ordinary(), &["rollback", "1", "--force"]).exit, Some(0));
    assert_eq!(world.read("a.txt"), "one\n");
    Command::new("chmod").args(["-R", "u+w"]).arg(&hermes).status().unwrap();
    let (_, data) = examine(&world, ordinary);
    assert_finding(&data, "base", "ok", "contains a store");
    // Some checkpoints fail if one folder of objects cannot be written.
    let objects = hermes.join("checkpoints/store/objects/pack");
    Command::new("chmod").arg("a-w").arg(&objects).status().unwrap();
    let (_, data) = examine(&world, ordinary);
    assert_finding(&data, "base", "trouble", "pack\" cannot be written: Permission denied");
    Command::new("chmod").arg("u+w").arg(&objects).status().unwrap();
}

#[test]
fn doctor_reports_permissions_of_the_base_that_are_too_wide() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("first");
    fs::set_permissions(world.root.join("hermes"), Permissions::from_mode(0o755)).unwrap();
    for (mode, verdict, exit) in [(0o700, "ok", 0), (0o755, "notice", 0), (0o777, "trouble", 3)] {
        fs::set_permissions(world.base(), Permissions::from_mode(mode)).unwrap();
        let said = expect_finding(&world, "privacy", verdict, "");
        assert_eq!(said.exit, Some(exit));
    }
}

#[test]
fn doctor_notices_a_store_that_was_used_in_the_future() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("first");
    let projects = fs::read_dir(world.base().join("store/projects")).unwrap();
    let file = projects.map(|entry| entry.unwrap().path()).next().unwrap();
    let mut metadata: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    metadata["last_touch"] = (metadata["last_touch"].as_f64().unwrap() + 86_400.0).into();
    fs::write(&file, metadata.to_string()).unwrap();
    let said = expect_finding(&world, "clock", "notice", "the store was last used at");
    assert_eq!(said.exit, Some(0));
}

#[test]
fn doctor_notices_locks_that_are_held_or_left_behind() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("first");
    let lock = File::open(world.base().join("store/locks/store")).unwrap();
    lock.lock().unwrap();
    assert_eq!(expect_finding(&world, "locks", "notice", "another process holds").exit, Some(0));
    drop(lock);
    let left = world.base().join("store/packed-refs.lock");
    fs::write(&left, "").unwrap();
    expect_finding(&world, "locks", "ok", "no process holds");
    let long_ago = SystemTime::now() - Duration::from_secs(3_600);
    File::open(&left).unwrap().set_modified(long_ago).unwrap();
    expect_finding(&world, "locks", "notice", "packed-refs.lock");
    fs::remove_file(&left).unwrap();
    fs::create_dir(&left).unwrap();
    File::open(&left).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(expect_finding(&world, "locks", "trouble", "is a directory").exit, Some(3));
}

#[test]
fn doctor_reports_a_current_directory_of_which_no_checkpoint_can_be_taken() {
    let world = CommandFixture::new();
    for (directory, part) in
        [("/".into(), "root of the file system"), (world.home(), "is the home directory")]
    {
        let in_directory = || {
            let mut command = world.command();
            command.current_dir(&directory);
            command
        };
        let (_, data) = examine(&world, in_directory);
        assert_finding(&data, "project", "trouble", part);
    }
    let gone = world.root.join("gone");
    fs::create_dir(&gone).unwrap();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "rmdir ../gone && exec \"$0\" \"$@\""]).arg(binary());
    shell.env_clear().env("HOME", world.home()).envs(herma_tests::coverage());
    shell.current_dir(&gone);
    let said = world.run(shell, &["doctor", "--json"]);
    assert_eq!(said.exit, Some(3));
    assert_finding(&said.json(), "project", "trouble", "the current directory no longer exists");
}

// rule: scope/identity
#[test]
fn checkpoint_and_doctor_take_a_tilde_in_hermes_home_for_the_home_directory() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    let with_tilde = || {
        let mut command = world.command();
        command.env("HERMES_HOME", "~/hermes");
        command
    };
    world.run(with_tilde(), &["checkpoint"]).done();
    assert!(!world.has("~") && world.home().join("hermes/checkpoints/store").is_dir());
    world.run(with_tilde(), &["init", "--agent", "hermes", "--force"]).done();
    assert!(world.home().join("hermes/config.yaml").is_file());
    let (_, data) = examine(&world, with_tilde);
    assert_finding(&data, "home", "notice", "no shell expanded the tilde");
    assert_finding(&data, "base", "ok", "home/hermes/checkpoints");
}

#[test]
fn doctor_reports_that_home_is_not_set() {
    let world = CommandFixture::new();
    let homeless = || {
        let mut command = world.command();
        command.env_remove("HOME");
        command
    };
    let (_, data) = examine(&world, homeless);
    assert_finding(&data, "home", "trouble", "HOME is not set");
    assert_finding(&data, "clock", "ok", "");
}
