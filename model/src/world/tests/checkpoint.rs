//! Which project a file belongs to, and what a request for a checkpoint comes to.

use super::*;
use pretty_assertions::assert_eq;

/// What is answered for the file, and by which rule.
fn project_of(scene: &mut Scene, file: &str) -> (Option<String>, &'static str) {
    match scene.world.step(&Request::ProjectOf { file: file.into() }) {
        Expected::Project { path, rule } => (path.map(|path| path.to_string()), rule.id),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_belongs_to_the_nearest_marked_directory_above_it() {
    let mut scene = Scene::new();
    scene.write("work/alpha/Cargo.toml", "");
    scene.write("work/alpha/deep/file", "");
    let of = |path: &str| (Some(path.to_owned()), "scope/root-of-file");
    assert_eq!(project_of(&mut scene, "alpha/deep/file"), of("/world/work/alpha"));
    assert_eq!(project_of(&mut scene, "alpha/deep"), of("/world/work/alpha"));
    assert_eq!(project_of(&mut scene, "alpha"), of("/world/work/alpha"));
    assert_eq!(project_of(&mut scene, "alpha/none/none"), of("/world/work/alpha"));
    // Where nothing is marked, it is the directory itself, or the one the file is in.
    assert_eq!(project_of(&mut scene, "beta"), of("/world/work/beta"));
    assert_eq!(project_of(&mut scene, "beta/file"), of("/world/work/beta"));
    scene.write("go.mod", "");
    assert_eq!(project_of(&mut scene, "beta/file"), of("/world"));
}

#[test]
fn a_marker_must_lead_somewhere() {
    let mut scene = Scene::new();
    for (target, marks) in [("none", false), ("/etc/none", false), ("beta", true), ("/..", true)] {
        scene.link("work/Makefile", target);
        let found = project_of(&mut scene, "alpha/file").0.unwrap();
        assert_eq!(found == "/world/work", marks, "{target}: {found}");
    }
}

#[test]
fn neither_the_root_nor_the_home_directory_is_the_project_of_a_file() {
    let mut scene = Scene::new();
    scene.write("home/.git/HEAD", "");
    scene.write("home/deep/er/file", "");
    scene.write("home/marked/package.json", "");
    scene.write("Gemfile", "");
    let broad = "scope/root-never-broad";
    for file in ["/", "~", "~/file"] {
        assert_eq!(project_of(&mut scene, file), (None, broad), "{file}");
    }
    let deep = (Some("/world/home/deep/er".to_owned()), broad);
    assert_eq!(project_of(&mut scene, "~/deep/er/file"), deep);
    let marked = (Some("/world/home/marked".to_owned()), "scope/root-of-file");
    assert_eq!(project_of(&mut scene, "~/marked/file"), marked);
    let elsewhere = (Some("/etc/deep".to_owned()), "scope/root-of-file");
    assert_eq!(project_of(&mut scene, "/etc/deep/file"), elsewhere);
    assert_eq!(project_of(&mut scene, "/etc"), (None, "scope/root-of-file"));
}

/// What a request came to, the rule that decides it and the one that is broken if it is declined.
fn verdict(taken: &ExpectedCheckpoint) -> (CheckpointKind, &'static str, &'static str) {
    (taken.kind, taken.rule.id, taken.if_declined.id)
}

#[test]
fn a_project_has_one_automatic_checkpoint_in_a_turn() {
    use CheckpointKind::{Created, Deduped};
    let mut scene = Scene::new();
    scene.write("work/alpha/a", "1");
    scene.write("work/beta/b", "1");
    let (created, once) = ("capture/created", "turn/once");
    let first = scene.ensure("alpha");
    assert_eq!(verdict(&first), (Created, created, created));
    assert_eq!(first.project, "work/alpha".into());
    assert_eq!(texts(first.captured.unwrap().tree.keys()), ["a"]);
    let again = scene.ensure("alpha");
    assert_eq!(verdict(&again), (Deduped, once, once));
    assert_eq!(again.project, "work/alpha".into());
    assert!(again.may_refuse.is_empty());
    assert_eq!(verdict(&scene.ensure("beta")), (Created, created, "turn/per-project"));
    for (number, renewal) in [Request::NewTurn, Request::Reopen].iter().enumerate() {
        assert!(matches!(scene.world.step(renewal), Expected::Done));
        scene.write("work/alpha/a", &format!("new {number}"));
        assert_eq!(verdict(&scene.ensure("alpha")), (Created, created, "turn/reset"));
    }
    // What is out of scope by now may be refused as well.
    scene.remove("work/alpha");
    let gone = scene.ensure("alpha");
    assert_eq!(gone.kind, Deduped);
    assert_eq!(gone.may_refuse[0].codes, [Code::MissingDirectory]);
}

#[test]
fn finding_nothing_to_save_uses_the_slot_and_a_failure_does_not() {
    use CheckpointKind::{Created, Deduped, Unchanged};
    let mut scene = Scene::new();
    let empty = scene.ensure("alpha");
    assert_eq!(verdict(&empty), (Unchanged, "capture/empty-first", "capture/created"));
    let nothing = "turn/nothing-uses-slot";
    assert_eq!(verdict(&scene.ensure("alpha")), (Deduped, nothing, nothing));

    let mut scene = Scene::new();
    scene.write("work/alpha/a", "1");
    scene.world.settings.max_files = 0;
    let request = Request::EnsureCheckpoint { dir: "alpha".into(), reason: "r".into() };
    let refused = scene.world.step(&request);
    assert_eq!(refusals(&refused), [(&[Code::TooManyFiles][..], "scope/too-many-files")]);
    scene.world.settings.max_files = 1;
    scene.write("work/beta/b", "1");
    // A failed attempt of another project says nothing about this one.
    assert_eq!(scene.ensure("beta").if_declined.id, "capture/created");
    let repeated = scene.ensure("alpha");
    assert_eq!(verdict(&repeated), (Created, "capture/created", "turn/failure-keeps-slot"));
}

#[test]
fn a_checkpoint_before_a_restore_leaves_the_slot_free() {
    let mut scene = Scene::new();
    scene.write("work/alpha/a", "1");
    scene.take("alpha");
    scene.write("work/alpha/a", "2");
    let (dir, target) = ("alpha".into(), "1".into());
    scene.world.step(&Request::Restore { dir, target, exact: false, force: false });
    scene.write("work/alpha/a", "3");
    assert_eq!(scene.ensure("alpha").if_declined.id, "restore/safety-outside-turn");
    scene.world.step(&Request::NewTurn);
    scene.write("work/alpha/a", "4");
    assert_eq!(scene.ensure("alpha").if_declined.id, "turn/reset");
}

#[test]
fn a_checkpoint_manual_asks_neither_the_turn_nor_the_settings() {
    use CheckpointKind::{Created, Disabled};
    let mut scene = Scene::new();
    scene.write("work/alpha/a", "1");
    assert_eq!(verdict(&scene.take("alpha")), (Created, "capture/created", "capture/created"));
    scene.write("work/alpha/a", "2");
    scene.ensure("alpha");
    scene.write("work/alpha/a", "3");
    assert_eq!(verdict(&scene.take("alpha")), (Created, "capture/created", "turn/manual"));
    assert_eq!(scene.take("beta").if_declined.id, "capture/created");
    scene.ensure("beta");
    assert_eq!(scene.take("beta").if_declined.id, "turn/manual");
    scene.world.step(&Request::NewTurn);
    scene.world.settings.enabled = false;
    assert_eq!(verdict(&scene.ensure("alpha")), (Disabled, "turn/disabled", "turn/disabled"));
    scene.write("work/alpha/a", "4");
    assert_eq!(verdict(&scene.take("alpha")), (Created, "capture/created", "turn/manual"));
}

#[test]
fn a_checkpoint_says_when_and_why_it_was_taken() {
    let mut scene = Scene::new();
    scene.write("work/alpha/a", "1");
    scene.wait(7);
    scene.take("alpha");
    let [only] = scene.world.history(b"work/alpha") else { panic!("one checkpoint") };
    assert_eq!((only.time, only.reason.as_deref()), (START + 7, Some("of alpha")));
    assert!(!only.safety);
}

#[test]
fn only_captured_files_count_against_the_limit() {
    let mut scene = Scene::new();
    for name in ["a", "b", "c"] {
        scene.write(&format!("work/alpha/{name}"), name);
    }
    scene.world.settings.max_files = 2;
    let refused = scene.take_refused("alpha");
    assert_eq!(refused, [(&[Code::TooManyFiles][..], "scope/too-many-files")]);
    scene.write("work/alpha/.gitignore", "c");
    scene.world.settings.max_files = 3;
    let taken = scene.take("alpha");
    assert_eq!((taken.kind, taken.rule.id), (CheckpointKind::Created, "capture/created"));
    assert_eq!(taken.if_too_many.id, "scope/counts-captured");
    scene.world.settings.max_files = 4;
    scene.write("work/alpha/a", "new");
    assert_eq!(scene.take("alpha").if_too_many.id, "scope/too-many-files");
    // As many left out as there may be files, and one more than that with what is captured.
    scene.remove("work/alpha");
    scene.write("work/alpha/.env", "");
    scene.write("work/alpha/a", "");
    scene.world.settings.max_files = 1;
    assert_eq!(scene.take("alpha").if_too_many.id, "scope/counts-captured");
}

#[test]
fn nothing_new_makes_no_checkpoint_where_that_is_recognised() {
    let recognises_unchanged = false;
    let other = Dialect { recognises_unchanged, ..Dialect::default() };
    let mut scene = Scene::of(other);
    let empty = scene.take("alpha");
    assert!(empty.may_be_unchanged && empty.kind == CheckpointKind::Created);
    assert!(!scene.take("alpha").may_be_unchanged);
    scene.write("work/beta/b", "1");
    for _ in 0..2 {
        let taken = scene.take("beta");
        assert_eq!((taken.kind, taken.may_be_unchanged), (CheckpointKind::Created, false));
    }
    let mut scene = Scene::new();
    assert!(!scene.take("alpha").may_be_unchanged);
    scene.write("work/alpha/a", "1");
    assert_eq!(scene.take("alpha").kind, CheckpointKind::Created);
    let again = scene.take("alpha");
    assert_eq!((again.kind, again.rule.id), (CheckpointKind::Unchanged, "capture/unchanged"));
    // Nothing at all is something new where there was something before.
    scene.remove("work/alpha/a");
    assert_eq!(scene.take("alpha").kind, CheckpointKind::Created);
    assert_eq!(scene.world.history(b"work/alpha").len(), 2);
}

#[test]
fn declining_what_is_asked_for_breaks_a_rule_where_something_is_due() {
    let mut scene = Scene::new();
    scene.write("work/alpha/a", "1");
    let by_itself = Request::EnsureCheckpoint { dir: "alpha".into(), reason: "r".into() };
    let manual = Request::Checkpoint { dir: "alpha".into(), reason: "r".into() };
    let declined =
        |scene: &Scene, request: &Request| scene.world.if_declined(request).map(|rule| rule.id);
    assert_eq!(declined(&scene, &by_itself), Some("capture/created"));
    assert_eq!(declined(&scene, &manual), Some("capture/created"));
    assert_eq!(declined(&scene, &Request::List { dir: "alpha".into() }), None);
    scene.ensure("alpha");
    assert_eq!(declined(&scene, &by_itself), None);
    assert_eq!(declined(&scene, &manual), Some("turn/manual"));
    scene.world.step(&Request::NewTurn);
    scene.write("work/alpha/a", "2");
    assert!(declined(&scene, &by_itself).is_some());
    scene.world.settings.enabled = false;
    assert_eq!(declined(&scene, &by_itself), None);
    assert!(declined(&scene, &manual).is_some());
}
