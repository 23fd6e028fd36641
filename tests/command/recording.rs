//! docs/recording.md: an agent breaks three files, and `herma undo` restores them, as a user sees it.

use crate::command::hooks::call;
use crate::command::world::CommandFixture;
use crate::docs::assert_page;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

const INTRODUCTION: &str = "\
# Recorded: an agent breaks three files

A test runs these commands and writes this page. `$ # …` is what the agent does, as its user sees it. Ids are numbered
in the order of their appearance.

";

#[test]
fn docs_recording_md_shows_what_herma_prints() {
    let world = CommandFixture::new();
    // The settings name the program by its path, which differs between machines.
    fs::create_dir(world.root.join("bin")).unwrap();
    symlink(super::world::binary(), world.root.join("bin/herma")).unwrap();
    for (name, text) in [
        ("Makefile", "all:\n"),
        ("src/app.py", "print(1)\n"),
        ("src/lib.py", "x = 1\n"),
        ("notes.txt", "buy milk\n"),
    ] {
        world.write(name, text);
    }
    let mut steps = vec![world.herma(&["init", "--agent", "claude", "--force"]).done()];
    let before = json!({ "session_id": "s", "prompt_id": "1", "cwd": world.project(), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": { "command": "python3 refactor.py" } });
    call(&world, "claude", &before);
    world.write("src/app.py", "print(\n");
    world.remove("notes.txt");
    world.write("src/lib.py", "");
    let broken = steps.len();
    for words in [
        &["list"][..],
        &["diff", "--stat"],
        &["undo", "--dry-run"],
        &["undo"],
        &["diff", "--stat"],
        &["undo"],
        &["restore", "1", "src", "--exact"],
    ] {
        steps.push(world.herma(words).done());
    }
    assert_eq!(world.read("src/app.py"), "print(1)\n");
    let told = world.transcript(&steps.split_off(broken));
    let installed = world.transcript(&steps);
    let binary = super::world::binary().display().to_string();
    let page = format!(
        "{INTRODUCTION}```console\n{}\n\n$ # the agent runs python3 refactor.py, which breaks two files and removes one\n\n{}\n```\n",
        installed.trim_end().replace(&binary, "herma"),
        told.trim_end()
    );
    assert_page("recording.md", &page.replace("[folder]/home", "/home/you"));
}
