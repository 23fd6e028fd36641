//! Man pages.

use crate::command::world::{CommandFixture, assert_text};

#[test]
fn there_is_a_page_of_the_command_and_of_each_subcommand() {
    let world = CommandFixture::new();
    let main_page = world.herma(&["man"]).done().text();
    assert!(
        main_page.contains(".TH HERMA 1") && main_page.contains(".SH \"EXIT STATUS\""),
        "{main_page}"
    );
    // Every page that this page names exists.
    let named: Vec<_> = main_page.lines().filter_map(|line| line.strip_suffix("(1)")).collect();
    assert!(named.len() > 4, "{named:?}");
    for page in named {
        let page = page.strip_prefix("herma\\-").unwrap().replace("\\-", "-");
        world.herma(&["man", &page]).done();
    }
    let rollback = world.herma(&["man", "rollback"]).done().text();
    assert!(rollback.contains("A file or folder of the checkpoint"), "{rollback}");
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
fn help_says_what_is_printed_and_what_is_looked_at() {
    let world = CommandFixture::new();
    let help = |command| world.herma(&[command, "--help"]).done();
    let said = ["doctor", "completions", "man"].map(help);
    for help in &said {
        assert!(help.text().lines().all(|line| line.chars().count() <= 100));
    }
    assert_text("help-manual", &world.transcript(&said));
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
