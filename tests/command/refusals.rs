//! What the command refuses: it reports the code of the refusal, and changes nothing.

use crate::command::world::{CommandFixture, CommandOutput, assert_text, binary};
use crate::maintenance::world::{git, noise, run_checked};
use herma_core::disk::Sharing;
use herma_harness::git_objects::object_id;
use herma_tests::hold;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

/// Runs each command line, expects its code, and that nothing changed anywhere.
#[track_caller]
fn refused(world: &CommandFixture, expected: &[(&[&str], &str)]) -> Vec<CommandOutput> {
    let before = world.everything();
    let mut said = Vec::new();
    for (words, code) in expected {
        let refusal = world.herma(words);
        assert_eq!(refusal.refusal(), *code, "{words:?}");
        assert_eq!(world.everything(), before, "{words:?}");
        said.push(refusal);
        refused_in_json(&world.run(world.command(), &[&["--json"], *words].concat()), code);
    }
    said
}

#[track_caller]
fn refused_in_json(said: &CommandOutput, code: &str) {
    assert_eq!((matches!(said.exit, Some(2..=6)), said.stderr.as_str()), (true, ""));
    let error = &said.json()["error"];
    assert_eq!(error["code"], code);
    assert!(error["message"].as_str().unwrap().len() > 10, "{error}");
}

/// Runs git on the store and returns what it prints.
#[track_caller]
fn run_git(world: &CommandFixture, words: &[&str]) -> String {
    let mut git = git(&world.base().join("store"));
    git.args(words);
    String::from_utf8(run_checked(git).stdout).unwrap().trim_end().to_owned()
}

/// Adds an object to the store with git, which does not check it, and returns its id.
fn add_object(world: &CommandFixture, kind: &str, bytes: &[u8]) -> String {
    let file = world.root.join("object");
    fs::write(&file, bytes).unwrap();
    let file = file.to_str().unwrap();
    run_git(world, &["hash-object", "-w", "--literally", "-t", kind, file])
}

/// The ref of the only project.
fn only_ref(world: &CommandFixture) -> PathBuf {
    let refs = fs::read_dir(world.base().join("store/refs/hermes")).unwrap();
    refs.map(|entry| entry.unwrap().path()).next().unwrap()
}

#[test]
fn a_target_that_names_no_checkpoint_of_the_project() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("first");
    let other_project = world.home().join("other");
    fs::create_dir(&other_project).unwrap();
    fs::write(other_project.join("a.txt"), "one\n").unwrap();
    let other_id = world.herma(&["checkpoint", "--json", "~/other"]).done().json();
    let other_id = other_id["id"].as_str().unwrap();
    let said = refused(
        &world,
        &[
            (&["rollback", "0"], "unknown_checkpoint"),
            (&["rollback", "2"], "unknown_checkpoint"),
            (&["rollback", "18446744073709551617"], "unknown_checkpoint"),
            (&["rollback", "deadbeef"], "unknown_checkpoint"),
            (&["rollback", other_id], "unknown_checkpoint"),
            (&["rollback", ""], "bad_target"),
            (&["rollback", "abc"], "bad_target"),
            (&["rollback", "1\n"], "bad_target"),
            (&["rollback", "HEAD"], "bad_target"),
            (&["rollback", "--", "-1"], "bad_target"),
            (&["rollback", "--", "--patch"], "bad_target"),
            (&["rollback", "--", "diff"], "bad_target"),
            (&["rollback", "diff", "--", "-1"], "bad_target"),
            (&["rollback", "diff", "2"], "unknown_checkpoint"),
            (&["rollback", "2", "a.txt"], "unknown_checkpoint"),
        ],
    );
    assert_text("refused-targets", &world.transcript(&said));
}

#[test]
fn rollback_refuses_a_short_id_of_two_checkpoints() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    let id = world.checkpoint("first");
    // Another git tool adds a second checkpoint, whose id happens to begin like the first.
    let author = "a <a@b> 1700000000 +0000";
    let tree = run_git(&world, &["show", "-s", "--format=%T", &id]);
    let head = format!("tree {tree}\nparent {id}\nauthor {author}\ncommitter {author}\n\n");
    let second = (0..)
        .map(|number| format!("{head}attempt {number}"))
        .find(|commit| object_id("commit", commit.as_bytes()).to_string()[..4] == id[..4])
        .unwrap();
    let second = add_object(&world, "commit", second.as_bytes());
    fs::write(only_ref(&world), format!("{second}\n")).unwrap();
    let said = refused(&world, &[(&["rollback", &id[..4]], "ambiguous_checkpoint")]);
    assert!(said[0].stderr.contains("give more digits"), "{}", said[0].stderr);
    world.herma(&["rollback", &id]).done();
}

#[test]
fn a_file_that_is_not_in_the_checkpoint_or_cannot_be_written_alone() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.write("was-file", "one\n");
    world.write("was-directory/file", "one\n");
    world.write("behind-link/file", "one\n");
    world.checkpoint("first");
    world.remove("was-file");
    world.write("was-file/inside", "two\n");
    fs::remove_dir_all(world.path("was-directory")).unwrap();
    world.write("was-directory", "two\n");
    fs::remove_dir_all(world.path("behind-link")).unwrap();
    symlink("/tmp", world.path("behind-link")).unwrap();
    let said = refused(
        &world,
        &[
            (&["rollback", "1", ""], "bad_path"),
            (&["rollback", "1", "/etc/passwd"], "bad_path"),
            (&["rollback", "1", "../home/a.txt"], "bad_path"),
            (&["rollback", "1", "behind-link/file"], "bad_path"),
            (&["rollback", "1", "nothing"], "not_in_checkpoint"),
            (&["rollback", "1", "*.txt"], "not_in_checkpoint"),
            (&["rollback", "1", "--", "--patch"], "not_in_checkpoint"),
            (&["rollback", "1", "was-file"], "would_overwrite"),
            (&["rollback", "1", "was-directory/file"], "would_overwrite"),
        ],
    );
    assert_text("refused-files", &world.transcript(&said));
    let mut inside = world.command();
    inside.current_dir(world.path("was-file"));
    world.write("Makefile", "all:\n");
    let hint = world.run(inside, &["rollback", "1", "inside"]).stderr;
    assert!(hint.contains(": give its path relative to") && hint.contains("/project\""), "{hint}");
}

#[test]
fn a_directory_that_is_never_checkpointed() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("first");
    symlink(world.home(), world.root.join("home-by-another-name")).unwrap();
    let said = refused(
        &world,
        &[
            (&["checkpoint", "/"], "scope_root"),
            (&["checkpoint", "~"], "scope_home"),
            (&["checkpoint", "../../home-by-another-name"], "scope_home"),
            (&["checkpoint", "../../hermes/checkpoints/store"], "scope_base"),
            (&["checkpoint", "nothing"], "missing_directory"),
            (&["checkpoint", "a.txt"], "not_a_directory"),
        ],
    );
    assert_text("refused-directories", &world.transcript(&said));
    let mut at_home = world.command();
    at_home.current_dir(world.home());
    assert_eq!(world.run(at_home, &["checkpoint"]).refusal(), "scope_home");
}

#[test]
fn checkpoint_refuses_a_directory_with_more_files_than_the_limit() {
    let world = CommandFixture::new();
    world.write("more", "one too many\n");
    // Hard links are created fast, and count like other files.
    for folder in 0..50 {
        let first = format!("folder-{folder}/0");
        world.write(&first, "the same\n");
        for number in 1..1_000 {
            let another = world.path(format!("folder-{folder}/{number}"));
            fs::hard_link(world.path(&first), another).unwrap();
        }
    }
    let said = world.herma(&["checkpoint"]);
    assert_eq!(said.refusal(), "too_many_files");
    assert!(said.stderr.contains("more than 50000 files"), "{}", said.stderr);
    world.remove("more");
    world.herma(&["checkpoint"]).done();
}

#[test]
fn a_restore_that_nothing_could_undo_unless_it_is_forced() {
    let world = CommandFixture::new();
    world.write("a.txt", "old\n");
    world.checkpoint("before");
    world.write("a.txt", "new\n");
    world.write("created.txt", "new\n");
    // A file that cannot be compressed below the size that can be stored.
    world.write("noise", noise(1, 100_000));
    let before = world.everything();
    let refused = world.run(world.confined_command(), &["rollback", "1"]);
    assert_eq!(refused.refusal(), "no_safety_checkpoint");
    let is_project = |(path, _): &(&std::path::PathBuf, &String)| path.starts_with(world.home());
    assert!(world.everything().iter().filter(is_project).eq(before.iter().filter(is_project)));
    let forced = world.run(world.confined_command(), &["rollback", "1", "--force", "--exact"]);
    assert_eq!(forced.exit, Some(4), "what should go stays");
    assert_eq!(world.read("a.txt"), "old\n");
    assert!(world.has("created.txt"), "what no checkpoint holds is not removed");
    assert_eq!(world.checkpoints(), 1);
    let text = world.transcript(&[refused, forced]);
    let steady = text.lines().map(|line| match (line.find(" (writing"), line.find("saved: ")) {
        (Some(start), _) => {
            let end = line.find("), so").unwrap();
            format!("{} ([cause]{}", &line[..start], &line[end..])
        }
        (None, Some(start)) => format!("{}saved: [cause]", &line[..start]),
        (None, None) => line.to_owned(),
    });
    assert_text("refused-without-safety", &steady.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_restore_that_could_not_bring_all_paths_back_fails_and_names_them() {
    let world = CommandFixture::new();
    world.write("fits.txt", "old\n");
    world.write("grown.txt", "again and again\n".repeat(10_000));
    world.checkpoint("before");
    world.write("fits.txt", "new\n");
    world.write("grown.txt", "new\n");
    let said = world.run(world.confined_command(), &["rollback", "1"]);
    assert_eq!(said.exit, Some(4));
    assert_eq!(world.read("fits.txt"), "old\n");
    assert_eq!(world.read("grown.txt"), "new\n");
    let in_json = world.run(world.confined_command(), &["rollback", "1", "--json"]);
    assert_eq!((in_json.exit, in_json.stderr.as_str()), (Some(4), ""));
    assert_eq!(in_json.json()["failed"][0]["path"], "grown.txt");
    assert_eq!(in_json.json()["error"]["code"], "incomplete");
    world.herma(&["rollback", "1"]).done();
    assert_eq!(world.read("grown.txt"), "again and again\n".repeat(10_000));
    assert_text("restore-incomplete", &world.transcript(&[said]));
}

#[test]
fn rollback_refuses_a_corrupt_checkpoint() {
    let world = CommandFixture::new();
    world.write("sub/a.txt", "old\n");
    world.checkpoint("whole");
    // A tree with an entry whose path leads out of the project.
    let entry = [&b"100644 ..\0"[..], &[7; 20]].concat();
    let tree = add_object(&world, "tree", &entry);
    let evil = run_git(&world, &["commit-tree", "-m", "evil", &tree]);
    fs::write(only_ref(&world), format!("{evil}\n")).unwrap();
    refused(
        &world,
        &[
            (&["rollback", "1"], "corrupt_checkpoint"),
            (&["rollback", "diff", "1"], "corrupt_checkpoint"),
            (&["rollback", "1", "sub/a.txt"], "corrupt_checkpoint"),
        ],
    );
}

#[test]
fn checkpoint_is_refused_while_another_process_holds_the_store() {
    let world = CommandFixture::new();
    world.write("a.txt", "old\n");
    world.checkpoint("before");
    world.write("a.txt", "new\n");
    let lock = File::open(world.base().join("store/locks/store")).unwrap();
    lock.lock().unwrap();
    assert_eq!(world.herma(&["checkpoint"]).refusal(), "busy");
    drop(lock);
    world.herma(&["checkpoint"]).done();
}

#[test]
fn a_machine_without_a_home_or_a_current_directory() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    let mut unset = world.command();
    unset.env_remove("HOME");
    let unset = world.run(unset, &["checkpoint"]);
    assert_eq!(unset.refusal(), "no_home");
    for home in ["", "here"] {
        let mut command = world.command();
        command.env("HOME", home);
        assert_eq!(world.run(command, &["checkpoint"]).refusal(), "no_home");
    }
    assert!(!world.root.join("hermes").exists());
    let from_nowhere = |words: &[&str]| {
        let gone = world.path("gone");
        fs::create_dir(&gone).unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "rmdir ../gone && exec \"$0\" \"$@\""]).arg(binary());
        command.env_clear().env("HOME", world.home()).envs(herma_tests::coverage());
        command.current_dir(&gone);
        world.run(command, words)
    };
    let nowhere = from_nowhere(&["rollback"]);
    for words in [&["rollback"][..], &["checkpoint", "project"], &["rollback", "--dir", "."]] {
        assert_eq!(from_nowhere(words).refusal(), "no_current_directory");
    }
    // Commands that do not depend on the current directory succeed.
    from_nowhere(&["checkpoints"]).done();
    from_nowhere(&["rollback", "--dir", world.project().to_str().unwrap()]).done();
    assert_text("refused-surroundings", &world.transcript(&[unset, nowhere]));
}

#[test]
fn words_that_make_no_sense_together() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("first");
    let before = world.everything();
    let command_lines: [&[&str]; 12] = [
        &[],
        &["frobnicate"],
        &["checkpoint", "a", "b"],
        &["checkpoint", "--reason"],
        &["rollback", "-1"],
        &["rollback", "1", "a.txt", "--to"],
        &["rollback", "undo", "--exact"],
        &["rollback", "--force"],
        &["rollback", "diff"],
        &["rollback", "diff", "1", "a.txt"],
        &["rollback", "diff", "1", "--exact"],
        &["checkpoints", "frobnicate"],
    ];
    let mut said = Vec::new();
    for words in command_lines {
        let usage = world.herma(words);
        assert_eq!((usage.exit, usage.text().as_str()), (Some(2), ""), "{words:?}");
        refused_in_json(&world.run(world.command(), &[&["--json"], words].concat()), "usage");
        said.push(usage);
    }
    assert_eq!(world.everything(), before);
    // Without the first output, which is the complete help.
    assert_text("refused-words", &world.transcript(&said[1..]));
}

// rule: maintenance/commands
#[test]
fn exit_codes_tell_refused_damaged_and_busy_apart_and_are_never_2_for_what_a_hook_may_meet() {
    let world = CommandFixture::new();
    world.write("a", "1");
    let exit = |words: &[&str]| world.herma(words).exit;
    assert_eq!(exit(&["checkpoint", "--no-such-option"]), Some(2));
    assert_eq!(exit(&["checkpoints", "prune", "--no-such-option"]), Some(2));
    assert_eq!(exit(&["rollback", "9"]), Some(3));
    assert_eq!(exit(&["checkpoint", world.home().to_str().unwrap()]), Some(3));
    world.herma(&["checkpoint"]).done();
    {
        let _held = hold(&world.base().join("store/locks/store"), Sharing::Exclusive);
        assert_eq!(exit(&["rollback"]), Some(6));
        assert_eq!(exit(&["checkpoints", "clear", "--force"]), Some(2), "as the seeds have it");
    }
    let objects = world.base().join("store/objects");
    let below = world.everything().into_keys().filter(|path| path.starts_with(&objects));
    below.filter(|path| path.is_file()).for_each(|path| fs::remove_file(path).unwrap());
    assert_eq!(exit(&["rollback", "1"]), Some(5));
}

#[test]
fn a_command_of_another_name_is_refused_with_the_name_it_has_here() {
    let world = CommandFixture::new();
    for (typed, meant) in [
        ("prune", "'checkpoints prune'"),
        ("move", "'checkpoints move'"),
        ("save", "'checkpoint'"),
        ("rewind", "'rollback'"),
    ] {
        let refused = world.herma(&[typed]);
        assert_eq!(refused.exit, Some(2));
        assert!(refused.stderr.contains(&format!("exists: {meant}")), "{}", refused.stderr);
    }
}

#[test]
fn a_value_that_begins_with_a_dash_is_told_how_to_be_typed() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    for (option, tip) in
        [("--reason", "use --reason=-x\n"), ("--label", "cannot begin with a dash\n")]
    {
        let refused = world.herma(&["checkpoint", option, "-x"]);
        assert!(refused.stderr.contains(tip), "{}", refused.stderr);
        assert!(!refused.stderr.contains("-- -x"), "{}", refused.stderr);
    }
    world.herma(&["checkpoint", "--reason=-x"]).done();
    let refused = world.herma(&["show", "--", "-y"]);
    assert_eq!(refused.refusal(), "bad_target");
    assert!(refused.stderr.contains("\"-y\" is not a checkpoint"), "{}", refused.stderr);
    let refused = world.herma(&["cat", "1", "."]);
    assert_eq!(refused.refusal(), "bad_path");
    assert!(refused.stderr.contains("\".\" is the project itself"), "{}", refused.stderr);
}
