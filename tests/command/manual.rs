//! Help pages and man pages.

use crate::command::world::{CommandFixture, CommandOutput, assert_text, terminal_text};
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// The words of a command and of each of its subcommands, with its help page.
fn help_pages(world: &CommandFixture, words: &[&str]) -> Vec<(String, CommandOutput)> {
    let help = world.herma(&[words, &["--help"]].concat()).done();
    let text = help.text();
    let listed = text.split_once("\nCommands:\n").and_then(|(_, rest)| rest.split_once("\n\n"));
    let rows = listed.map_or("", |(rows, _)| rows).lines();
    let names = rows.filter_map(|row| row.split_whitespace().next()).filter(|name| *name != "help");
    let below = names.flat_map(|name| help_pages(world, &[words, &[name]].concat()));
    let below: Vec<_> = below.collect();
    std::iter::once((words.join("-"), help)).chain(below).collect()
}

#[test]
fn every_help_page_fits_100_columns_and_is_as_in_the_snapshot() {
    let world = CommandFixture::new();
    let (_, pages): (Vec<_>, Vec<_>) = help_pages(&world, &[]).into_iter().unzip();
    for page in &pages {
        assert!(page.text().lines().all(|line| line.chars().count() <= 100), "{}", page.text());
    }
    assert_text("help", &world.transcript(&pages));
}

/// A man page as its source means it, without macros and fonts.
fn plain(source: &str) -> String {
    let escapes =
        [("\\fB", ""), ("\\fR", ""), ("\\-", "-"), ("\\(aq", "'"), ("\\(ga", "`"), ("\\(ti", "~")];
    let lines = source.lines().filter(|line| !line.starts_with('.'));
    let text = lines.map(|line| line.trim_start_matches("\\&")).collect::<Vec<_>>().join("\n");
    escapes.iter().fold(text, |text, (escape, plain)| text.replace(escape, plain))
}

#[test]
fn man_says_what_the_help_page_says_in_sections_that_occur_once() {
    let world = CommandFixture::new();
    for (words, help) in help_pages(&world, &[]) {
        let page: &[&str] = if words.is_empty() { &["man"] } else { &["man", &words] };
        let source = world.herma(page).done().text();
        assert!(source.lines().all(|line| line.len() <= 120), "{source}");
        let mut sections: Vec<_> =
            source.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "FILES"] {
            assert!(sections.contains(&section), "{section}: {source}");
        }
        assert_eq!(sections.last(), Some(&"SEE ALSO"), "{source}");
        let count = sections.len();
        sections.sort();
        sections.dedup();
        assert_eq!(sections.len(), count, "{source}");
        assert!(source.contains("config.yaml") && source.contains("/checkpoints"), "{source}");
        let text = plain(&source);
        // `help` has no page.
        let is_said = |line: &&str| !line.ends_with(':') && !line.starts_with("  help ");
        for line in help.text().lines().filter(is_said) {
            let titles = ["Usage:", "Exit codes:"];
            let rest = titles.iter().find_map(|title| line.strip_prefix(title)).unwrap_or(line);
            for piece in rest.split("  ") {
                assert!(text.contains(piece.trim()), "{piece}: {source}");
            }
        }
    }
}

#[test]
fn man_names_the_pages_of_the_subcommands_and_of_the_command_above() {
    let world = CommandFixture::new();
    let named = |page: &[&str]| {
        let source = world.herma(&[&["man"], page].concat()).done().text();
        let rows = source.split_once(".SH SEE ALSO\n").unwrap().1.lines();
        let names = rows.map(|row| row.strip_prefix(".BR ").unwrap().split_once(" (1)").unwrap().0);
        names.map(|name| name.replace('\\', "")).collect::<Vec<_>>()
    };
    let all: Vec<_> = help_pages(&world, &[]).into_iter().map(|(words, _)| words).collect();
    let below: Vec<_> = all[1..].iter().map(|words| format!("herma-{words}")).collect();
    assert_eq!(named(&[]), below);
    assert_eq!(named(&["checkpoint"]), ["herma"]);
    assert_eq!(named(&["checkpoints-prune"]), ["herma", "herma-checkpoints"]);
    assert!(named(&["checkpoints"]).contains(&"herma-checkpoints-prune".to_owned()));
}

#[test]
fn man_prints_a_page_in_json_too_and_refuses_others() {
    let world = CommandFixture::new();
    let prune = world.herma(&["man", "checkpoints-prune"]).done();
    let json = world.herma(&["man", "checkpoints-prune", "--json"]).done().json();
    assert_eq!(json["page"], "herma-checkpoints-prune");
    assert_eq!(json["source"], prune.text());
    let none = world.herma(&["man", "frobnicate"]);
    assert_eq!(none.refusal(), "unknown_page");
    let json = world.herma(&["man", "frobnicate", "--json"]);
    assert_eq!((json.exit, json.json()["error"]["code"].as_str()), (Some(2), Some("unknown_page")));
    assert_text("man", &world.transcript(&[prune]));
}

#[test]
fn man_on_a_terminal_runs_man_and_prints_the_help_page_where_that_fails() {
    if !CommandFixture::has_terminal() {
        return;
    }
    let world = CommandFixture::new();
    let program = world.root.join("man");
    let shown = |script: &str, screen: &str| {
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = world.on_terminal(80, &["man", "pin"]);
        let path = format!("{}:/usr/bin:/bin", world.root.display());
        command.env("PATH", path).env("TERM", screen);
        terminal_text(command)
    };
    let by_man = shown("echo \"man $*\"; head -n 1", "xterm");
    assert_eq!(by_man, "man -l -\n.TH \"HERMA-PIN\" \"1\" \"\" \"herma\"\n");
    let help = terminal_text(world.on_terminal(80, &["pin", "--help"]));
    assert!(help.contains("Usage: herma pin"), "{help}");
    assert_eq!(shown("cat > /dev/null; exit 1", "xterm"), help);
    assert_eq!(shown("echo man", "dumb"), help);
}

#[test]
fn completions_and_man_need_neither_a_home_nor_a_configuration() {
    let world = CommandFixture::new();
    world.configure("checkpoints: nonsense\n");
    let before = world.everything();
    for words in [&["completions", "bash"][..], &["man"]] {
        world.herma(words).done();
        let mut homeless = world.command();
        homeless.env_remove("HOME");
        world.run(homeless, words).done();
    }
    assert_eq!(world.everything(), before);
}
