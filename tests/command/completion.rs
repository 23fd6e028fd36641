//! What shells complete: each shell gets a script, and bash is asked.

use crate::command::world::{CommandFixture, binary};
use pretty_assertions::assert_eq;
use std::fs;
use std::process::Command;

#[test]
fn every_shell_gets_a_script_that_asks_the_command() {
    let world = CommandFixture::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = world.herma(&["completions", shell]).done().text();
        assert!(script.contains("HERMA_COMPLETE"), "{shell}: {script}");
        let json = world.herma(&["completions", shell, "--json"]).done().json();
        assert_eq!(
            (json["shell"].as_str(), json["script"].as_str()),
            (Some(shell), Some(&*script))
        );
    }
}

/// What bash offers after these words, of which the last may be begun or empty.
fn offered(world: &CommandFixture, words: &[&str]) -> Vec<String> {
    let typed = r#"
        PATH=$(dirname "$0"):$PATH
        asked=
        compopt() { [[ $1$2 == +onospace ]] || [[ $2 == nospace ]] || asked+="compopt $1 $2"; }
        eval "$(herma completions bash)"
        COMP_WORDS=(herma "$@") COMP_CWORD=$# COMP_TYPE=9
        _clap_complete_herma herma "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}" "$asked"
    "#;
    let mut bash = Command::new("bash");
    world.prepare(&mut bash);
    bash.env("PATH", "/usr/bin:/bin").args(["--norc", "-c", typed]).arg(binary()).args(words);
    let ended = bash.output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(stderr, "", "{words:?}");
    let offered = String::from_utf8(ended.stdout).unwrap();
    offered.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn bash_completes_verbs_checkpoints_labels_files_and_pages() {
    let world = CommandFixture::new();
    world.write("src/main.rs", "1");
    world.write("src/my file", "1");
    world.write("b.txt", "1");
    world.herma(&["checkpoint", "--label", "base"]).done();
    world.write("later.txt", "1");
    world.checkpoint("second");
    for (words, expected) in [
        (&["checkp"][..], &["checkpoint", "checkpoints"][..]),
        (&["checkpoints", "ver"], &["verify"]),
        (&["rollback", ""], &["1", "2", "base", "diff", "list", "redo", "show", "undo"]),
        (&["rollback", "di"], &["diff"]),
        (&["rollback", "diff", ""], &["1", "2", "base"]),
        (&["rollback", "base", ""], &["b.txt", "src/"]),
        (&["rollback", "1", "src/"], &["src/main.rs", "src/my file"]),
        (&["rollback", "1", "--dry-run", "l"], &["later.txt"]),
        (&["rollback", "1", "b.txt", "l"], &["later.txt"]),
        (&["restore", "bas"], &["base"]),
        (&["restore", "base", "b.txt", "src/m"], &["src/main.rs", "src/my file"]),
        (&["diff", "2", ""], &["1", "2", "base"]),
        (&["diff", "2", "--", "src/"], &["src/main.rs", "src/my file"]),
        (&["diff", "2", "--", "b.txt", "l"], &[]),
        (&["diff", "--", "l"], &["later.txt"]),
        (&["cat", "1", "src/m"], &["src/main.rs", "src/my file"]),
        (&["log", "src/m"], &["src/main.rs", "src/my file"]),
        (&["log", ""], &["b.txt", "later.txt", "src/"]),
        (&["cat", "'base'", "s\\r\\c/m"], &["src/main.rs", "src/my file"]),
        (&["cat", "1", "\"src/my f"], &["src/my file"]),
        (&["pin", "bas"], &["base"]),
        (&["hook", "cla"], &["claude"]),
        (&["man", "checkpoints-c"], &["checkpoints-clear", "checkpoints-clear-legacy"]),
        (&["init", "--agent", "c"], &["claude", "codex", "cursor", "copilot", "cline"]),
    ] {
        let mut offered = offered(&world, words);
        let mut expected: Vec<String> = expected.iter().map(|&word| word.to_owned()).collect();
        offered.retain(|word| !word.starts_with('-') && !word.starts_with("compopt"));
        offered.sort();
        expected.sort();
        assert_eq!(offered, expected, "{words:?}");
    }
}

#[test]
fn bash_completes_ids_and_the_checkpoints_of_the_project_that_was_named() {
    let world = CommandFixture::new();
    world.write("a.txt", "1");
    let id = world.checkpoint("first");
    for command in ["rollback", "pin"] {
        assert_eq!(offered(&world, &[command, &id[..4]]), [&id[..7]], "{command}");
        assert_eq!(offered(&world, &[command, &id[..9]]), [&*id], "{command}");
    }
    assert_eq!(offered(&world, &["pin", "1"]), ["1"], "a number of the list");
    fs::create_dir(world.home().join("other")).unwrap();
    let here = |words: &[&str]| {
        let mut offered = offered(&world, words);
        offered.retain(|word| !word.starts_with('-'));
        offered
    };
    fs::write(world.home().join("other/b.txt"), "1").unwrap();
    world.herma(&["checkpoint", "../other", "--label", "elsewhere"]).done();
    assert_eq!(here(&["pin", "--dir", "../other", ""]), ["1", "elsewhere"]);
    assert_eq!(here(&["cat", "--dir", "../other", "1", ""]), ["b.txt"]);
    // What bash makes of `--dir=`, and what other shells pass.
    assert_eq!(here(&["cat", "--dir", "=", "../other", "1", ""]), ["b.txt"]);
    assert_eq!(here(&["list", "--dir", "=", "../oth"]), ["../other/"]);
    assert_eq!(here(&["cat", "--dir=../other", "1", ""]), ["b.txt"]);
}

#[test]
fn bash_quotes_completed_names_with_special_characters_as_file_names() {
    let world = CommandFixture::new();
    world.write("a$b", "1");
    world.write("plain", "1");
    world.herma(&["checkpoint", "--label", "my label"]).done();
    assert_eq!(offered(&world, &["cat", "1", "a"]), ["a$b", "compopt -o filenames"]);
    assert_eq!(offered(&world, &["pin", "my"]), ["my label", "compopt -o filenames"]);
    assert_eq!(offered(&world, &["cat", "1", "pl"]), ["plain"]);
}

#[test]
fn a_variable_of_the_shell_that_asks_nothing_does_not_stop_a_command() {
    let world = CommandFixture::new();
    world.write("a", "1");
    let mut command = world.command();
    command.env("HERMA_COMPLETE", "1");
    let said = world.run(command, &["checkpoint"]).done();
    assert!(said.text().starts_with("Took checkpoint"), "{}", said.text());
}
