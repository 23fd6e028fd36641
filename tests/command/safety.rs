//! Nothing harmful passes through the command: neither from a name or a reason to the terminal, nor from
//! the user's git to the store, nor from the store to the user's git.

use crate::command::world::{CommandFixture, CommandOutput, assert_text};
use crate::maintenance::world::{git, run_checked};
use herma_harness::sandbox::hostility;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

/// Clears the screen, rings the bell, reverses the text direction, starts another line, and the like.
const HARMFUL: &str = "a\x1b[2Jb\x07c\u{202e}d\ne\u{9b}31mf\rg\u{2066}h\x7fi\u{2028}j";

#[test]
fn no_command_prints_escape_sequences_of_a_name_or_a_reason() {
    let world = CommandFixture::new();
    let name = OsStr::from_bytes(b"x\x1b]0;title\x07\n\xe2\x80\xae\xff\xc2\x9b");
    world.write(name, "old\n");
    let large = [name, OsStr::new("large")].join(OsStr::new("-"));
    world.write(&large, vec![0; 10 * 1024 * 1024 + 1]);
    let directory = [b"dir", HARMFUL.replace('\n', "").as_bytes()].concat();
    let directory = world.home().join(OsStr::from_bytes(&directory));
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("a.txt"), "one\n").unwrap();
    let word = OsStr::new;
    let dir = directory.as_os_str();
    let mut command_lines: Vec<Vec<&OsStr>> = vec![
        vec![word("checkpoint"), word("--reason"), word(HARMFUL)],
        vec![word("checkpoint"), dir, word("--reason"), word(HARMFUL)],
        vec![word("rollback")],
        vec![word("rollback"), word("--dir"), dir],
        vec![word("checkpoints")],
        vec![word("rollback"), word(HARMFUL)],
        vec![word("rollback"), word("1"), word(HARMFUL)],
        vec![word("checkpoint"), word(HARMFUL)],
        vec![word(HARMFUL)],
        vec![word("rollback"), word("--dir"), dir, word("1"), word("--"), word(HARMFUL)],
    ];
    let option = format!("--{HARMFUL}");
    command_lines.push(vec![word("rollback"), word(&option)]);
    let json: Vec<Vec<&OsStr>> =
        command_lines.iter().map(|words| [&[word("--json")], &words[..]].concat()).collect();
    for words in command_lines.iter().chain(&json) {
        assert_harmless(&world.herma(words));
    }
    world.write(name, "new\n");
    world.write([name, OsStr::new("new")].join(OsStr::new("")), "new\n");
    for words in [&["rollback", "diff", "1"][..], &["rollback", "1"], &["rollback", "1", "--exact"]]
    {
        assert_harmless(&world.herma(words).done());
        assert_harmless(&world.herma(&[words, &["--json"]].concat()).done());
    }
    assert_harmless(&world.herma(&[word("rollback"), word("1"), name]).done());
    fs::write(directory.join("a.txt"), "two\n").unwrap();
    assert_harmless(&world.herma(&[word("rollback"), word("--dir"), dir, word("1")]).done());
}

/// Expects no characters that control the terminal or the direction of the text.
#[track_caller]
fn assert_harmless(said: &CommandOutput) {
    let text = String::from_utf8(said.output.clone()).unwrap() + &said.stderr;
    let is_harmful = |c: &char| {
        (c.is_control() && *c != '\n')
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert_eq!(text.chars().find(is_harmful), None, "{text:?}");
}

#[test]
fn a_reason_is_shown_on_one_line_and_kept_whole() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint(HARMFUL);
    let list = world.herma(&["rollback"]).done();
    assert_eq!(list.text().lines().filter(|line| line.contains(". ")).count(), 1);
    let json = world.herma(&["rollback", "--json"]).done().json();
    assert_eq!(json["checkpoints"][0]["reason"], HARMFUL);
    assert_text("reason", &world.transcript(&[list]));
}

/// The command with an environment that misleads git.
fn misled(world: &CommandFixture) -> Command {
    let decoy = world.root.join("decoy");
    let config = world.home().join(".gitconfig");
    let mut command = world.command();
    command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("XDG_CONFIG_HOME", world.home().join(".config"))
        .env("GIT_INDEX_FILE", decoy.join("index"))
        .env("GIT_OBJECT_DIRECTORY", decoy.join("objects"))
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", decoy.join("objects"))
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "commit.gpgsign")
        .env("GIT_CONFIG_VALUE_0", "true")
        .env("GIT_NAMESPACE", "decoy")
        .env("GIT_AUTHOR_NAME", "Hostile")
        .env("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z")
        .env("GIT_EXTERNAL_DIFF", world.root.join("traps/mark"))
        .env("GIT_TEMPLATE_DIR", world.root.join("traps/template.d"));
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"] {
        command.env(variable, &decoy);
    }
    for variable in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
        command.env(variable, &config);
    }
    command
}

#[test]
fn checkpoint_and_rollback_neither_use_nor_change_the_git_of_the_user() {
    let world = CommandFixture::new();
    let traps = world.root.join("traps");
    hostility::plant(&world.home(), &traps).unwrap();
    let run_git = |repository: &Path, words: &[&str]| {
        let mut git = git(repository);
        git.args(words).current_dir(world.project());
        String::from_utf8_lossy(&run_checked(git).stdout).into_owned()
    };
    run_git(&world.root.join("decoy"), &["init", "-q", "--bare"]);
    // The user's git ignores files of this name.
    world.write("lib.rs", "one\r\n$Id$\n");
    run_git(&world.project().join(".git"), &["init", "-q"]);
    run_git(&world.project().join(".git"), &["hash-object", "-w", "lib.rs"]);
    let outside_the_store = || {
        let mut entries = world.everything();
        // The modification time of the root folder changes when the store is created in it.
        entries
            .retain(|path, _| !path.starts_with(world.root.join("hermes")) && *path != world.root);
        entries
    };
    let before = outside_the_store();
    let run = |words: &[&str]| world.run(misled(&world), words).done().json();
    let taken = run(&["checkpoint", "--reason", "misled", "--json"]);
    let list = run(&["rollback", "--json"]);
    let diff = run(&["rollback", "diff", "1", "--json"]);
    run(&["checkpoints", "--json"]);
    assert_eq!(outside_the_store(), before, "mark of a program, or a change of theirs");
    assert!(list["checkpoints"][0]["time"].as_i64().unwrap() > 1_600_000_000);
    assert_eq!(diff["entries"], serde_json::json!([]));
    let calm = world.herma(&["checkpoint", "--json"]).done().json();
    assert_eq!(calm["outcome"], "unchanged", "the same files make the same tree");

    let id = taken["id"].as_str().unwrap();
    let commit = run_git(&world.base().join("store"), &["cat-file", "commit", id]);
    assert!(commit.starts_with("tree ") && !commit.contains("\ngpgsig "), "{commit}");
    assert!(!commit.contains("Hostile"), "{commit}");
    world.write("lib.rs", "two\n");
    run(&["rollback", "1", "--json"]);
    assert_eq!(world.read("lib.rs"), "one\r\n$Id$\n");
    assert!(!hostility::mark(&traps).exists(), "a program of the user's git was run");
}
