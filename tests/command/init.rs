//! `herma init`: the hook in the settings of agents, and that nothing of the user goes.

use crate::command::hooks::{call, write_in};
use crate::command::world::{CommandFixture, assert_text, binary};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

const AGENTS: [&str; 10] = [
    "claude", "gemini", "qwen", "codex", "cursor", "copilot", "hermes", "cline", "opencode", "kilo",
];

/// Where an agent has its settings below the home.
fn settings(world: &CommandFixture, agent: &str) -> Vec<std::path::PathBuf> {
    let answer = world.herma(&["init", "--agent", agent, "--undo", "--force", "--json"]).done();
    let files = answer.json()["files"].as_array().unwrap().clone();
    files.iter().map(|file| file.as_str().unwrap().into()).collect()
}

/// The files with the hook of an agent.
fn settings_files(world: &CommandFixture, agent: &str) -> Vec<std::path::PathBuf> {
    let listed = world.herma(&["init", "--json"]).done().json();
    let of_agent = listed.as_array().unwrap().iter().find(|listed| listed["agent"] == agent);
    let path = std::path::PathBuf::from(of_agent.unwrap()["settings"].as_str().unwrap());
    match fs::read_dir(&path) {
        Ok(folder) => folder.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => vec![path],
    }
}

#[test]
fn init_adds_a_hook_that_is_called_and_undo_takes_it_out() {
    for agent in AGENTS {
        let world = CommandFixture::new();
        world.herma(&["init", "--agent", agent, "--force"]).done();
        let again = world.herma(&["init", "--agent", agent, "--force"]).done().text();
        assert!(again.ends_with("has the hook already\n"), "{again}");
        let listed = world.herma(&["init", "--json"]).done().json();
        let hooked = listed.as_array().unwrap().iter().filter(|listed| listed["is_hooked"] == true);
        assert_eq!(hooked.map(|listed| &listed["agent"]).collect::<Vec<_>>(), [agent]);
        let never = world.herma(&["doctor"]).done().text();
        let never_called =
            format!("the hook of {agent} is set up, and no call of it was recorded yet");
        assert!(never.contains(&never_called), "{never}");
        call(&world, agent, &write_in(&world, "t"));
        let doctor = world.herma(&["doctor"]).done().text();
        assert!(doctor.contains(&format!("the hook of {agent} was called just now, before Write")));
        let files = settings(&world, agent);
        assert!(!files.is_empty(), "{agent}");
        for file in files {
            let left = fs::read_to_string(&file).unwrap_or_default();
            assert!(!left.contains("herma"), "{agent}: {left}");
        }
        let none = world.herma(&["init", "--agent", agent, "--undo", "--force"]).done().text();
        assert!(none.ends_with("has no hook of Herma\n"), "{none}");
        assert!(!world.herma(&["doctor"]).done().text().contains("the hook of"));
    }
}

#[test]
fn undo_of_init_removes_the_files_that_hold_only_the_hook_and_keeps_settings() {
    for agent in AGENTS {
        let world = CommandFixture::new();
        world.herma(&["init", "--agent", agent, "--force"]).done();
        for file in settings(&world, agent) {
            let left = fs::read_to_string(&file).ok();
            let is_empty = |text: &str| matches!(text.trim(), "" | "{}");
            match agent {
                "copilot" | "cline" | "opencode" | "kilo" => assert_eq!(left, None, "{agent}"),
                "cursor" => assert!(left.unwrap().contains("version")),
                _ => assert!(left.as_deref().is_some_and(is_empty), "{agent}: {left:?}"),
            }
        }
    }
    // A file without settings is the user's as well, and so is what a link leads to.
    for (agent, file, text) in [
        ("claude", ".claude/settings.json", "{}"),
        ("claude", ".claude/settings.json", "{}\n"),
        ("claude", ".claude/settings.json", ""),
        ("hermes", "../hermes/config.yaml", ""),
    ] {
        let world = CommandFixture::new();
        let path = world.home().join(file);
        let target = world.home().join("target");
        fs::write(&target, text).unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(&target, &path).unwrap();
        world.herma(&["init", "--agent", agent, "--force"]).done();
        assert!(fs::read_to_string(&target).unwrap().contains("herma"), "{agent}");
        world.herma(&["init", "--agent", agent, "--undo", "--force"]).done();
        assert!(path.is_symlink(), "{agent}");
        let left = fs::read_to_string(&target).unwrap();
        assert!(matches!(left.trim(), "" | "{}"), "{agent}: {left:?}");
    }
    let world = CommandFixture::new();
    let path = world.home().join(".claude/settings.json");
    for text in ["{\n  // Mine.\n}\n", "{\n  \"model\": \"large\"\n}\n"] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        world.herma(&["init", "--agent", "claude", "--force"]).done();
        world.herma(&["init", "--agent", "claude", "--undo", "--force"]).done();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn init_refuses_a_link_that_leads_nowhere_and_settings_that_may_not_be_written() {
    let world = CommandFixture::new();
    let path = world.home().join(".claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink("nowhere", &path).unwrap();
    assert_eq!(world.herma(&["init", "--agent", "claude", "--force"]).refusal(), "settings");
    assert!(path.is_symlink());
    fs::remove_file(&path).unwrap();
    fs::write(&path, "{}").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let refused = world.herma(&["init", "--agent", "claude", "--force"]);
    assert_eq!(refused.refusal(), "settings");
    assert!(refused.stderr.contains("may not be written"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
}

#[test]
fn init_keeps_comments_and_the_hooks_of_the_user() {
    let json = r#"{
  // My settings.
  "model": "large", /* kept */
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "mine" }] } // mine
    ]
  }
}
"#;
    let yaml = "# My settings.\nmodel:\n  default: x # kept\nhooks:\n    pre_tool_call:\n    \
                - command: mine\n      timeout: 5\n\ncheckpoints:\n  enabled: true\n";
    for (agent, file, text) in
        [("claude", "home/.claude/settings.json", json), ("hermes", "hermes/config.yaml", yaml)]
    {
        let world = CommandFixture::new();
        let path = world.root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        world.herma(&["init", "--agent", agent, "--force"]).done();
        let after = fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|line| !line.contains("// mine")) {
            assert!(after.contains(line.trim_end_matches(',')), "{agent}: {line} of {after}");
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        world.herma(&["init", "--agent", agent, "--undo", "--force"]).done();
        let left = fs::read_to_string(&path).unwrap();
        assert!(!left.contains("herma"), "{left}");
        for line in text.lines() {
            assert!(left.contains(line), "{agent}: {line} of {left}");
        }
    }
}

#[test]
fn init_refuses_settings_that_it_cannot_read_and_hooks_of_the_user() {
    let world = CommandFixture::new();
    for (agent, file, text) in [
        ("claude", "home/.claude/settings.json", "{"),
        ("claude", "home/.claude/settings.json", "[]"),
        ("claude", "home/.claude/settings.json", r#"{"hooks": {"PreToolUse": {}}}"#),
        ("hermes", "hermes/config.yaml", "a: ["),
        ("hermes", "hermes/config.yaml", "hooks: {pre_tool_call: []}\n"),
        ("cline", "home/.cline/hooks/PreToolUse", "#!/bin/sh\nmine\n"),
    ] {
        let path = world.root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let before = world.everything();
        let refused = world.herma(&["init", "--agent", agent, "--force"]);
        assert_eq!(refused.refusal(), "settings", "{text}");
        assert_eq!(world.everything(), before, "{text}");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn init_replaces_a_hook_of_a_program_that_was_elsewhere_and_keeps_one_that_only_looks_like_ours() {
    let world = CommandFixture::new();
    let path = world.home().join(".claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let theirs = "/home/herma/bin/audit --tag hook claude-style";
    let settings = json!({ "hooks": { "PreToolUse": [
        { "hooks": [{ "type": "command", "command": "/old/gone/herma hook claude" }] },
        { "matcher": "Bash", "hooks": [{ "type": "command", "command": theirs }, { "command": "mine" }] },
        { "matcher": "Edit", "hooks": [] }] } });
    fs::write(&path, settings.to_string()).unwrap();
    world.herma(&["init", "--agent", "claude", "--force"]).done();
    let after = fs::read_to_string(&path).unwrap();
    assert!(!after.contains("/old/gone"), "{after}");
    assert_eq!(after.matches(&format!("{} hook claude", binary().display())).count(), 2, "{after}");
    world.herma(&["init", "--agent", "claude", "--undo", "--force"]).done();
    let left: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(left["hooks"]["PreToolUse"].as_array().unwrap().len(), 2, "{left}");
    assert!(left.to_string().contains(theirs), "{left}");
}

#[test]
fn doctor_and_init_report_a_hook_whose_program_cannot_be_run() {
    for agent in AGENTS {
        let world = CommandFixture::new();
        world.herma(&["init", "--agent", agent, "--force"]).done();
        assert!(!world.herma(&["init"]).done().text().contains("cannot be run"), "{agent}");
        let lost = world.path("gone/herma").to_str().unwrap().to_owned();
        for file in settings_files(&world, agent) {
            let text = fs::read_to_string(&file).unwrap();
            fs::write(&file, text.replace(binary().to_str().unwrap(), &lost)).unwrap();
        }
        let listed = world.herma(&["init"]).done().text();
        let said = format!("its program {lost:?} cannot be run: herma init --agent {agent}\n");
        assert!(listed.contains(&said), "{listed}");
        let doctor = world.herma(&["doctor"]);
        assert_eq!(doctor.exit, Some(3), "{agent}");
        let said = format!("the program of the hook of {agent} cannot be run: {lost:?}");
        assert!(doctor.text().contains(&said), "{}", doctor.text());
        world.herma(&["init", "--agent", agent, "--force"]).done();
        assert!(!world.herma(&["doctor"]).done().text().contains("cannot be run"), "{agent}");
    }
}

#[test]
fn undo_of_init_refuses_where_the_user_wrote_into_what_is_ours() {
    let world = CommandFixture::new();
    for (agent, file, more) in [
        ("hermes", "hermes/config.yaml", "  post_tool_call:\n    - command: user\n"),
        ("cline", "home/.cline/hooks/PreToolUse", "echo mine\n"),
        ("copilot", "home/.copilot/hooks/herma.json", "// mine\n"),
    ] {
        let path = world.root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if agent == "hermes" {
            fs::write(&path, "a: 1\nmcp_servers:\n").unwrap();
        }
        world.herma(&["init", "--agent", agent, "--force"]).done();
        let changed = fs::read_to_string(&path).unwrap() + more;
        fs::write(&path, &changed).unwrap();
        let said = world.herma(&["init", "--agent", agent, "--undo", "--force"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), changed, "{agent}: {}", said.text());
        assert_eq!(said.exit, Some(if agent == "hermes" { 3 } else { 0 }), "{agent}");
    }
}

#[test]
fn init_shows_the_difference_and_asks() {
    let world = CommandFixture::new();
    let said = world.herma(&["init", "--agent", "claude"]);
    assert_eq!(said.exit, Some(1), "without an answer it declines");
    assert!(!world.home().join(".claude").exists());
    let program = binary().to_str().unwrap();
    let text = world.transcript(&[
        world.herma(&["init"]),
        said,
        world.herma(&["init", "--agent", "claude", "--force"]),
        world.herma(&["init", "--agent", "codex", "--force"]),
        world.herma(&["init", "--agent", "claude", "--undo"]),
        world.herma(&["init", "--agent", "claude", "--undo", "--force"]),
    ]);
    assert_text("init", &text.replace(program, "[program]"));
}
