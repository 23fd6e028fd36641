//! What a hook leaves for `herma doctor` and `herma list`: it prints nothing itself.

use crate::command::hooks::{call, hook, write_in};
use crate::command::world::CommandFixture;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::fs;

#[test]
fn doctor_reports_a_hook_that_failed_twice_and_a_file_in_no_project() {
    let world = CommandFixture::new();
    world.write("a.txt", "1\n");
    fs::create_dir_all(world.base().parent().unwrap()).unwrap();
    fs::write(world.base(), "").unwrap();
    for turn in ["t1", "t2"] {
        hook(&world, "claude", &write_in(&world, turn));
    }
    let doctor = world.herma(&["doctor"]).text();
    assert!(doctor.contains("called just now, took no checkpoint"), "{doctor}");
    assert!(!doctor.contains("went well"), "{doctor}");
    fs::remove_file(world.base()).unwrap();
    // The project of the directory has a checkpoint, which does not hold the file.
    for file in ["~/.bashrc".into(), world.home().join(".bashrc")] {
        let mut tool = write_in(&world, "t3");
        tool["tool_input"]["file_path"] = file.to_str().unwrap().into();
        call(&world, "claude", &tool);
        let doctor = world.herma(&["doctor"]).done().text();
        let told = format!("no checkpoint holds {}: it is in no project", file.display());
        assert!(doctor.contains(&told), "{doctor}");
    }
    call(&world, "claude", &write_in(&world, "t4"));
    assert!(!world.herma(&["doctor"]).done().text().contains("in no project"));
}

// rule: sweep/orphans
#[test]
fn hook_tells_doctor_of_the_projects_that_it_removed() {
    let world = CommandFixture::new();
    world.write("a.txt", "1\n");
    let prompt = json!({ "session_id": "s", "cwd": world.project(), "prompt": "do it" });
    let gone = ["gone", "lost"].map(|name| world.home().join(name));
    for project in &gone {
        fs::create_dir(project).unwrap();
        fs::write(project.join("b.txt"), "1\n").unwrap();
        world.herma_in(project, &["checkpoint"]).done();
        fs::remove_dir_all(project).unwrap();
        // The last prune was long ago.
        fs::write(world.base().join(".last_prune"), "5.0").unwrap();
        call(&world, "claude", &prompt);
        call(&world, "claude", &write_in(&world, "t"));
    }
    let doctor = world.herma(&["doctor"]).done().text();
    let removed =
        format!("removed the checkpoints of {}, {}:", gone[0].display(), gone[1].display());
    assert!(doctor.contains(&format!("the hook of claude {removed}")), "{doctor}");
    // The list tells it of a project that came back.
    assert!(!world.herma(&["list"]).done().text().contains("removed"));
    fs::create_dir(&gone[0]).unwrap();
    let list = world.herma_in(&gone[0], &["list"]).done().text();
    let removed = format!("claude removed the checkpoints of {}: each", gone[0].display());
    assert!(list.contains(&removed), "{list}");
}

// rule: limit/total-size
#[test]
fn doctor_and_list_tell_what_a_hook_removed_for_the_size_limit() {
    let world = CommandFixture::new();
    world.configure("checkpoints:\n  max_total_size_mb: 1\n");
    assert!(!world.herma(&["list"]).done().text().contains("removed"));
    // Random bytes, since others would be compressed.
    let mut state = 1_u64;
    let mut random = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    for turn in ["t1", "t2", "t3"] {
        world.write("a.txt", (0..600_000).map(&mut random).collect::<Vec<u8>>());
        call(&world, "claude", &write_in(&world, turn));
    }
    assert_eq!(world.checkpoints(), 1);
    let told = "the hook of claude removed 2 checkpoints, the oldest, to keep the store below max_total_size_mb";
    let doctor = world.herma(&["doctor"]).done().text();
    assert!(doctor.contains(told), "{doctor}");
    let list = world.herma(&["list"]).done().text();
    assert!(list.contains(&format!("\n⚠ {told}\n")), "{list}");
    let notices = world.herma(&["list", "--json"]).done().json()["notices"].clone();
    assert_eq!(notices, json!([told]));
}

#[test]
fn undo_and_list_tell_that_a_turn_has_no_checkpoint() {
    let world = CommandFixture::new();
    world.write("a.txt", "1\n");
    call(&world, "claude", &write_in(&world, "t1"));
    world.write("a.txt", "2\n");
    let moved = world.base().with_file_name("moved");
    fs::rename(world.base(), &moved).unwrap();
    fs::write(world.base(), "").unwrap();
    hook(&world, "claude", &write_in(&world, "t2"));
    fs::remove_file(world.base()).unwrap();
    fs::rename(&moved, world.base()).unwrap();
    world.write("a.txt", "3\n");
    let failed = "the hook of claude took no checkpoint just now: ";
    let list = world.herma(&["list"]).done().text();
    assert!(list.contains(failed), "{list}");
    let undo = world.herma(&["undo", "--dry-run"]).done().text();
    let told = format!("More than one turn may have changed files: {failed}");
    assert!(undo.contains(&told), "{undo}");
    // Of another project it says nothing, and neither after a checkpoint.
    let other = world.home().join("other");
    fs::create_dir(&other).unwrap();
    assert!(!world.herma_in(&other, &["list"]).done().text().contains(failed));
    // Its advice was followed.
    world.checkpoint("by hand");
    world.herma(&["doctor"]).done();
}
