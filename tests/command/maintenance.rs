//! Making the store smaller manually, and the automatic prune after a checkpoint.

use crate::command::world::{CommandFixture, CommandOutput, assert_text};
use crate::maintenance::world::forget_checkpoints;
use herma_harness::sandbox::manifest::Manifest;
use herma_harness::sandbox::outline::Outline;
use std::fs;
use std::io::Write;
use std::process::Stdio;

/// The command, with `reply` on its standard input.
fn reply(world: &CommandFixture, words: &[&str], reply: &str) -> CommandOutput {
    let mut command = world.command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.args(words).spawn().unwrap();
    // The command may end without reading the reply.
    let _ = child.stdin.take().unwrap().write_all(reply.as_bytes());
    CommandOutput::new(format!("herma {}", words.join(" ")), child.wait_with_output().unwrap())
}

/// A world with two projects, one of which is gone, and two archives. Nothing is pruned yet.
fn used() -> CommandFixture {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    let gone = world.home().join("gone");
    fs::create_dir(&gone).unwrap();
    fs::write(gone.join("b.txt"), "two\n").unwrap();
    world.checkpoint("one");
    world.herma(&["checkpoint", gone.to_str().unwrap()]).done();
    fs::remove_dir_all(gone).unwrap();
    for archive in ["legacy-20260506-050616", "legacy-20990101-000000"] {
        world.archive(archive, 2048);
    }
    world
}

/// The transcript without sizes that differ from machine to machine.
fn without_sizes(world: &CommandFixture, outputs: &[CommandOutput]) -> String {
    let transcript = world.transcript(outputs);
    let words = transcript.split(' ').collect::<Vec<_>>();
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        let unit = words.get(index + 1).and_then(|next| next.split(['\n', ')', ';']).next());
        let is_size = unit.is_some_and(|unit| matches!(unit, "B" | "KB" | "MB"));
        if index > 0 {
            text.push(' ');
        }
        let start = word.len() - word.trim_start_matches('(').len();
        text += if is_size { &word[..start] } else { word };
        if is_size {
            text += "[size]";
        }
    }
    text.replace("[size] B", "[size]").replace("[size] KB", "[size]")
}

#[test]
fn a_prune_says_what_it_removed() {
    let world = used();
    let prune = ["checkpoints", "prune"];
    let kept =
        world.herma(&["checkpoints", "prune", "--keep-orphans", "--retention-days", "0"]).done();
    let removed = world.herma(&prune).done();
    let again = world.herma(&prune).done();
    assert_text("prune", &without_sizes(&world, &[kept, removed, again]));
    assert_eq!(world.checkpoints(), 1);
    let json = world.herma(&["checkpoints", "prune", "--json"]).done().json();
    assert_eq!((&json["scanned"], &json["errors"]), (&1.into(), &0.into()));
    assert!(json["bytes_freed"].is_u64());
}

#[test]
fn a_dry_run_of_a_prune_says_what_the_prune_then_removes_and_changes_nothing() {
    let world = used();
    let base = world.base();
    let before = Outline::none(&Manifest::none(&world.home()).unwrap()).again(&base).unwrap();
    let dry = ["checkpoints", "prune", "--dry-run"];
    let shown = world.herma(&dry).done();
    let nothing =
        world.herma(&[&dry[..], &["--keep-orphans", "--retention-days", "0"]].concat()).done();
    assert_text("prune-dry-run", &without_sizes(&world, &[shown, nothing]));
    let preview = world.herma(&[&dry[..], &["--json"]].concat()).done().json();
    assert_eq!(before.changes(&before.again(&base).unwrap()), []);
    let pruned = world.herma(&["checkpoints", "prune", "--json"]).done().json();
    for what in ["scanned", "orphans", "stale", "archives", "removed", "moved", "errors"] {
        assert_eq!(preview[what], pruned[what], "{what}");
    }
    assert_eq!((&preview["orphans"], &preview["archives"]), (&1.into(), &1.into()));
}

// rule: limit/total-size
#[test]
fn a_dry_run_of_a_prune_counts_the_checkpoints_over_the_size_limit() {
    let world = CommandFixture::new();
    let noise = |seed| crate::maintenance::world::noise(seed, 1_000_000);
    for seed in 0..3 {
        world.write("a.bin", noise(seed));
        world.checkpoint("r");
    }
    for (limit, dropped) in [("1", 2), ("2", 1), ("3", 0)] {
        let words = ["checkpoints", "prune", "--json", "--dry-run", "--max-size-mb", limit];
        assert_eq!(world.herma(&words).done().json()["dropped"], dropped, "{limit} MB");
    }
    assert_eq!(world.checkpoints(), 3);
    world.herma(&["pin", "3"]).done();
    let words = ["checkpoints", "prune", "--max-size-mb", "1"];
    let shown = world.herma(&[&words[..], &["--dry-run"]].concat()).done().text();
    let pruned = world.herma(&words).done().text();
    for (text, verb) in [(shown, "would be"), (pruned, "is")] {
        assert!(text.contains("1 checkpoint over the size limit"), "{text}");
        assert!(text.contains(&format!("The store {verb} ")), "{text}");
    }
}

#[test]
fn prune_takes_its_limits_from_options_however_large() {
    let world = used();
    let most = u64::MAX.to_string();
    let words = ["checkpoints", "prune", "--json", "--max-size-mb", &most, "--retention-days"];
    let json = world.herma(&[&words[..], &[&most]].concat()).done().json();
    assert_eq!((&json["orphans"], &json["archives"]), (&1.into(), &0.into()));
    let json = world.herma(&[&words[..], &["1"]].concat()).done().json();
    assert_eq!((&json["stale"], &json["archives"]), (&0.into(), &1.into()));
    for wrong in ["-1", "x", "1.5", ""] {
        let said = world.herma(&["checkpoints", "prune", "--retention-days", wrong]);
        assert_eq!(said.exit, Some(2), "{wrong}");
    }
}

#[test]
fn what_a_prune_cannot_do_is_said_and_the_rest_is_done() {
    let world = used();
    let status = world.herma(&["checkpoints", "--json"]).done().json();
    let projects = status["projects"].as_array().unwrap();
    let live = projects.iter().find(|project| project["state"] == "live").unwrap();
    let live = live["hash"].as_str().unwrap();
    let store = world.base().join("store");
    fs::write(store.join("refs/hermes").join(live), "no id").unwrap();
    forget_checkpoints(&store.join(format!("projects/{live}.json")));
    let said = world.herma(&["checkpoints", "prune"]);
    assert_eq!(said.exit, Some(2));
    let json = world.herma(&["checkpoints", "prune", "--json"]);
    assert_eq!((json.exit, json.stderr.as_str()), (Some(2), ""));
    assert_eq!(json.json()["errors"], 1);
    let text = without_sizes(&world, &[said]).replace(live, "[hash]");
    assert_text("prune-incomplete", &text);
}

#[test]
fn a_pack_that_only_git_refuses_is_not_said_to_be_mended_by_a_checkpoint() {
    let world = CommandFixture::new();
    // So many files are stored as a pack.
    (0..70).for_each(|number| world.write(format!("{number}"), format!("{number}")));
    world.checkpoint("first");
    let packs = fs::read_dir(world.base().join("store/objects/pack")).unwrap();
    let mut paths = packs.map(|entry| entry.unwrap().path());
    let pack = paths.find(|path| path.extension() == Some("pack".as_ref())).unwrap();
    let bytes = [&fs::read(&pack).unwrap()[..], b"more"].concat();
    fs::remove_file(&pack).unwrap();
    fs::write(&pack, bytes).unwrap();
    let refused = world.herma(&["checkpoints", "verify"]);
    assert_eq!(refused.exit, Some(5));
    assert!(refused.stderr.contains("which no checkpoint mends: restore"), "{}", refused.stderr);
    world.write("7", "changed");
    world.herma(&["rollback", "1"]).done();
    assert_eq!(world.read("7"), "7");
}

#[test]
fn a_look_at_everything_says_what_is_damaged_and_what_that_costs() {
    let world = CommandFixture::new();
    ["one\n", "two\n"].iter().for_each(|content| {
        world.write("a.txt", content);
        world.checkpoint("r");
    });
    let verify = ["checkpoints", "verify"];
    let intact = world.herma(&verify).done();
    let object = |id: &str| world.base().join("store/objects").join(&id[..2]).join(&id[2..]);
    // The blob that holds "one\n", and the commit of the newest checkpoint.
    fs::remove_file(object("5626abf0f72e58d7a153368ba57db4c673c0e171")).unwrap();
    let file = world.herma(&verify);
    let newest = world.herma(&["rollback", "--json"]).done().json();
    let newest = object(newest["checkpoints"][0]["id"].as_str().unwrap());
    fs::remove_file(&newest).unwrap();
    fs::write(newest, "").unwrap();
    let commit =
        [world.herma(&verify), world.herma(&["rollback"]), world.herma(&["rollback", "1"])];
    let json = world.herma(&["checkpoints", "verify", "--json"]);
    assert_eq!((json.exit, json.json()["damaged"].as_array().unwrap().len()), (Some(5), 2));
    let hash = fs::read_dir(world.base().join("store/refs/hermes")).unwrap().next().unwrap();
    let hash = hash.unwrap();
    fs::write(hash.path(), "no id").unwrap();
    let hash = hash.file_name().into_string().unwrap();
    forget_checkpoints(&world.base().join(format!("store/projects/{hash}.json")));
    let lost = world.herma(&verify);
    let outputs: Vec<CommandOutput> =
        [intact, file].into_iter().chain(commit).chain([lost]).collect();
    let text = world.transcript(&outputs).replace(&hash, "[hash]");
    assert_text("verify", &text);
}

#[test]
fn verify_names_what_keeps_git_from_reading_the_store_until_a_checkpoint_repairs_it() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("r");
    let store = world.base().join("store");
    fs::write(store.join("packed-refs"), [0; 100]).unwrap();
    fs::write(store.join("config"), [0; 100]).unwrap();
    let verify = ["checkpoints", "verify"];
    let refused = world.herma(&verify);
    assert_eq!(refused.exit, Some(5));
    for name in ["packed-refs", "config"] {
        let line = format!("  {name}: git cannot read the store because of this file");
        assert!(refused.text().contains(&line), "{}", refused.text());
    }
    world.write("a.txt", "two\n");
    world.checkpoint("r");
    world.herma(&verify).done();
}

// The refs are moved by hand: not every git has the reftable format.
#[test]
fn checkpoint_and_verify_name_the_reftable_format_and_write_no_ref() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("r");
    let store = world.base().join("store");
    fs::create_dir(store.join("reftable")).unwrap();
    fs::remove_dir_all(store.join("refs")).unwrap();
    fs::create_dir(store.join("refs")).unwrap();
    fs::write(store.join("refs/heads"), "this repository uses the reftable format\n").unwrap();
    world.write("a.txt", "two\n");
    for arguments in [
        &["checkpoint"][..],
        &["checkpoints", "verify"],
        &["rollback", "1"],
        &["checkpoints", "prune"],
    ] {
        let refused = world.herma(arguments);
        assert!(matches!(refused.exit, Some(2..=6)), "{arguments:?}");
        let text = refused.text() + &refused.stderr;
        assert!(text.contains("refs migrate --ref-format=files"), "{arguments:?}: {text}");
    }
    assert_eq!(world.checkpoints(), 1);
    assert_eq!(fs::read_dir(store.join("refs")).unwrap().count(), 1);
}

#[test]
fn clearing_asks_first_and_only_yes_is_yes() {
    let world = used();
    let everything = world.everything();
    let mut said = Vec::new();
    for no in ["n\n", "", "\n", "yess\n", "ye\n", "\u{1b}y\n", "no\nyes\n"] {
        let words = ["checkpoints", "clear"];
        let declined = reply(&world, &words, no);
        assert_eq!(declined.exit, Some(1), "{no:?}");
        said.push(declined);
        let legacy = reply(&world, &["checkpoints", "clear-legacy", "--json"], no);
        assert_eq!(legacy.exit, Some(1), "{no:?}");
        let json = legacy.json();
        assert_eq!((&json["declined"], &json["bytes_freed"]), (&true.into(), &0.into()));
    }
    assert_eq!(world.everything(), everything);
    said.truncate(2);
    said.push(reply(&world, &["checkpoints", "clear-legacy"], "YES\n"));
    assert_eq!(world.checkpoints(), 1);
    said.push(reply(&world, &["checkpoints", "clear-legacy"], ""));
    said.push(reply(&world, &["checkpoints", "clear"], " y"));
    said.push(reply(&world, &["checkpoints", "clear"], ""));
    assert!(!world.base().exists());
    assert_eq!(said.iter().filter(|output| output.exit == Some(0)).count(), 4);
    assert_text("clear", &without_sizes(&world, &said));
}

#[test]
fn clear_and_clear_legacy_do_not_ask_with_force() {
    for force in ["-f", "--force"] {
        let world = used();
        let legacy = world.herma(&["checkpoints", "clear-legacy", force, "--json"]).done().json();
        assert_eq!((&legacy["archives"], &legacy["bytes_freed"]), (&2.into(), &4096.into()));
        let cleared = world.herma(&["checkpoints", "clear", force, "--json"]).done().json();
        assert_eq!(cleared["declined"], false);
        assert!(!world.base().exists());
        let nothing = world.herma(&["checkpoints", "clear", "--json"]).done().json();
        assert_eq!(nothing, serde_json::json!({"declined": false, "bytes_freed": 0}));
    }
}

#[test]
fn checkpoint_prunes_when_the_interval_has_passed_and_names_the_projects_that_are_gone() {
    let world = used();
    let marker = world.base().join(".last_prune");
    assert!(marker.is_file());
    let gone = world.home().join("gone");
    let listed = || {
        let words = ["rollback", "--dir", gone.to_str().unwrap(), "--json"];
        let list = world.herma(&words).done().json();
        list["checkpoints"].as_array().unwrap().len()
    };
    world.write("a.txt", "two\n");
    world.checkpoint("not due");
    assert_eq!(listed(), 1);
    fs::write(&marker, "5.0").unwrap();
    world.herma(&["checkpoints"]).done();
    world.herma(&["rollback", "1"]).done();
    assert_eq!(listed(), 1, "only a checkpoint sweeps");
    world.write("a.txt", "three\n");
    let said = world.herma(&["checkpoint"]);
    assert_eq!((said.exit, said.text().lines().count()), (Some(0), 1), "{}", said.text());
    let removed = format!("Removed the checkpoints of {}", gone.display());
    assert!(said.stderr.contains(&removed), "{}", said.stderr);
    assert_eq!(listed(), 0);
    assert!(!world.base().join("legacy-20260506-050616").exists());
}
