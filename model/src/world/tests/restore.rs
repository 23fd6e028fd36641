//! Bringing a whole checkpoint back: what is written, removed, left and kept.

use super::*;
use crate::expected::ExpectedRestore;
use pretty_assertions::assert_eq;

/// Restores the checkpoint of that number in `alpha`.
fn restore(scene: &mut Scene, target: &str, exact: bool) -> Box<ExpectedRestore> {
    match asked(scene, "alpha", target, exact, false) {
        Expected::Restore(restore) => restore,
        other => panic!("{other:?}"),
    }
}

fn asked(scene: &mut Scene, dir: &str, target: &str, exact: bool, force: bool) -> Expected {
    scene.world.step(&Request::Restore { dir: dir.into(), target: target.into(), exact, force })
}

/// A scene with a checkpoint of `alpha` as these files, each of which holds its own name.
fn taken(files: &[&str]) -> Scene {
    let mut scene = Scene::new();
    for name in files {
        scene.write(&format!("work/alpha/{name}"), name);
    }
    scene.take("alpha");
    scene
}

#[test]
fn what_was_changed_or_removed_comes_back_and_what_is_new_is_left() {
    let mut scene = taken(&["changed", "deep/er/gone", "same"]);
    scene.link("work/alpha/link", "same");
    scene.take("alpha");
    scene.write("work/alpha/changed", "other");
    scene.write("work/alpha/new", "new");
    scene.remove("work/alpha/deep");
    scene.write("work/alpha/link", "no link any more");
    let done = restore(&mut scene, "1", false);
    assert_eq!(done.project, "work/alpha".into());
    assert_eq!(texts(&done.restored), ["changed", "deep/er/gone", "link"]);
    assert_eq!(texts(&done.left), ["new"]);
    assert!(done.removed.is_empty() && done.kept.is_empty() && done.may_keep.is_empty());
    assert_eq!((done.safety.0, done.safety.1.id), (true, "restore/safety-checkpoint"));
    assert!(!done.undo && !done.deleted && !done.evicting && done.only.is_none());
    assert_eq!(texts(done.captured.tree.keys()), ["changed", "link", "new", "same"]);
    assert_eq!(texts(done.target.tree.keys()), ["changed", "deep/er/gone", "link", "same"]);
    let paths = ["changed", "deep/", "deep/er/", "deep/er/gone", "link", "new", "same"];
    assert_eq!(scene.paths("work/alpha"), paths);
    assert_eq!(scene.content("work/alpha/changed"), Some("changed"));
    let link = scene.world.files.get(b"work/alpha/link");
    assert!(matches!(link, Some(Node::Link { target }) if **target == *b"same"));
}

#[test]
fn an_exact_restore_removes_what_is_new_with_the_directories_it_leaves_empty() {
    let mut scene = taken(&["same"]);
    for new in ["new", "deep/er/new", "half/new", "half/.env"] {
        scene.write(&format!("work/alpha/{new}"), "new");
    }
    let done = restore(&mut scene, "1", true);
    assert_eq!(texts(&done.removed), ["deep/er/new", "half/new", "new"]);
    assert!(done.left.is_empty() && done.kept.is_empty());
    assert_eq!(scene.paths("work/alpha"), ["half/", "half/.env", "same"]);

    // The project stays, however empty.
    let mut scene = taken(&["a"]);
    scene.remove("work/alpha/a");
    scene.take("alpha");
    scene.write("work/alpha/new", "new");
    restore(&mut scene, "1", true);
    assert!(scene.world.files.is_directory(b"work/alpha"));
    assert_eq!(scene.paths("work/alpha"), [""; 0]);
}

#[test]
fn an_exact_restore_keeps_what_the_ignore_files_of_the_target_cover() {
    let mut scene = Scene::new();
    scene.write("work/alpha/.gitignore", "ignored");
    scene.take("alpha");
    scene.write("work/alpha/.gitignore", "");
    scene.write("work/alpha/ignored", "x");
    scene.write("work/alpha/new", "x");
    let done = restore(&mut scene, "1", true);
    assert_eq!(
        (texts(&done.kept), texts(&done.removed)),
        (vec!["ignored".into()], vec!["new".into()])
    );
    assert_eq!(scene.paths("work/alpha"), [".gitignore", "ignored"]);
}

#[test]
fn what_is_captured_gives_way_to_what_comes_back() {
    let mut scene = taken(&["one/two/file", "directory"]);
    scene.remove("work/alpha/one/two");
    scene.write("work/alpha/one/two", "in the way");
    scene.remove("work/alpha/directory");
    scene.write("work/alpha/directory/a", "in the way");
    scene.write("work/alpha/directory/deep/b", "in the way");
    let done = restore(&mut scene, "1", false);
    assert_eq!(texts(&done.restored), ["directory", "one/two/file"]);
    assert_eq!(texts(&done.removed), ["directory/a", "directory/deep/b", "one/two"]);
    assert!(done.left.is_empty() && done.kept.is_empty());
    assert_eq!(scene.paths("work/alpha"), ["directory", "one/", "one/two/", "one/two/file"]);
}

#[test]
fn what_no_checkpoint_holds_is_never_lost() {
    let mut scene = taken(&["directory", "file", "one/file", "two/file"]);
    for path in ["directory", "file", "one", "two"] {
        scene.remove(&format!("work/alpha/{path}"));
    }
    scene.write("work/alpha/directory/a", "captured");
    scene.write("work/alpha/directory/.env", "not captured");
    for path in ["work/alpha/file", "work/alpha/one"] {
        scene.world.edit(&Edit::MakeSpecial { path: path.into() });
    }
    let before = scene.paths("work/alpha");
    let done = restore(&mut scene, "1", false);
    assert_eq!(texts(&done.kept), ["directory", "file", "one/file"]);
    assert_eq!(texts(&done.restored), ["two/file"]);
    assert_eq!((texts(&done.removed), texts(&done.left)), (vec![], vec!["directory/a".into()]));
    assert_eq!(
        scene.paths("work/alpha"),
        [&before[..], &["two/".into(), "two/file".into()]].concat()
    );
}

#[test]
fn what_the_target_ignores_is_in_nobodys_way() {
    // A file of that name is ignored, a directory is not.
    let mut scene = Scene::new();
    scene.write("work/alpha/.gitignore", "one\n!one/");
    scene.write("work/alpha/one/file", "x");
    scene.take("alpha");
    scene.write("work/alpha/.gitignore", "");
    scene.write("work/alpha/one", "captured by now");
    let done = restore(&mut scene, "1", true);
    assert_eq!(texts(&done.restored), [".gitignore"]);
    assert_eq!(texts(&done.kept), ["one", "one/file"]);
    assert_eq!(scene.content("work/alpha/one"), Some("captured by now"));
}

#[test]
fn an_uncaptured_file_that_is_as_recorded_may_be_kept_and_one_that_is_not_must_be() {
    let mut scene = taken(&["same", "changed"]);
    scene.write("work/alpha/.gitignore", "same\nchanged");
    scene.write("work/alpha/changed", "other");
    let done = restore(&mut scene, "1", false);
    assert_eq!(
        (texts(&done.may_keep), texts(&done.kept)),
        (vec!["same".into()], vec!["changed".into()])
    );
    assert!(done.restored.is_empty());
    assert_eq!(scene.content("work/alpha/changed"), Some("other"));
}

#[test]
fn a_deleted_project_comes_back_without_a_checkpoint_before() {
    let mut scene = taken(&["a", "deep/b"]);
    scene.remove("work/alpha");
    let done = restore(&mut scene, "1", true);
    assert!(done.deleted && !done.safety.0);
    assert_eq!(done.safety.1.id, "restore/safety-skipped");
    assert_eq!(scene.paths("work/alpha"), ["a", "deep/", "deep/b"]);
    assert_eq!(scene.world.history(b"work/alpha").len(), 1);
    scene.write("work/alpha", "no directory");
    let refused = refusals(&asked(&mut scene, "alpha", "1", false, false));
    assert_eq!(refused, [(&[Code::NotADirectory][..], "scope/no-directory")]);
}

#[test]
fn a_restore_is_undone_by_restoring_what_was_taken_before_it() {
    let mut scene = taken(&["a"]);
    scene.write("work/alpha/a", "other");
    assert!(restore(&mut scene, "1", false).safety.0);
    let [_, before] = scene.world.history(b"work/alpha") else { panic!("two checkpoints") };
    assert_eq!((before.safety, &before.reason), (true, &None));
    assert_eq!(scene.content("work/alpha/a"), Some("a"));
    let undone = restore(&mut scene, "1", false);
    assert!(undone.undo && undone.safety.0);
    assert_eq!(scene.content("work/alpha/a"), Some("other"));
    // Where the newest checkpoint holds it all, there is nothing to take before.
    scene.take("alpha");
    let nothing = restore(&mut scene, "1", false);
    assert_eq!((nothing.safety.0, nothing.safety.1.id), (false, "restore/safety-skipped"));
    assert!(nothing.restored.is_empty());
}

#[test]
fn the_oldest_checkpoint_that_is_listed_is_evicted_by_the_one_taken_before() {
    for (limit, target, changes, evicting) in [
        (2, "2", true, true),
        (2, "2", false, false),
        (2, "1", true, false),
        (3, "2", true, false),
        (4, "2", true, false),
    ] {
        let mut scene = taken(&["a"]);
        scene.write("work/alpha/a", "second");
        scene.take("alpha");
        if changes {
            scene.write("work/alpha/a", "third");
        }
        scene.world.settings.max_snapshots = limit;
        let done = restore(&mut scene, target, false);
        assert_eq!(done.evicting, evicting, "{limit} {target} {changes}");
    }
}

#[test]
fn a_dialect_may_take_nothing_before_a_restore_and_only_by_itself() {
    let mut scene = Scene::of(Dialect { safety_checkpoint: false, ..Dialect::default() });
    scene.write("work/alpha/a", "1");
    scene.take("alpha");
    scene.write("work/alpha/a", "2");
    let done = restore(&mut scene, "1", false);
    assert_eq!((done.safety.0, done.safety.1.id), (false, "restore/safety-skipped"));
    assert_eq!(scene.content("work/alpha/a"), Some("1"));

    // One that takes the same twice still takes nothing before where that is held already.
    let mut scene = Scene::of(Dialect { recognises_unchanged: false, ..Dialect::default() });
    scene.write("work/alpha/a", "1");
    scene.take("alpha");
    assert!(!restore(&mut scene, "1", false).safety.0);
}

#[test]
fn without_a_checkpoint_before_nothing_is_restored_unless_it_is_forced_and_nothing_removed() {
    let mut scene = taken(&["a"]);
    scene.write("work/alpha/a", "other");
    scene.write("work/alpha/new", "new");
    scene.world.settings.max_files = 1;
    let refused = refusals(&asked(&mut scene, "alpha", "1", true, false));
    let codes: &[Code] = &[Code::NoSafetyCheckpoint, Code::TooManyFiles];
    assert_eq!(refused, [(codes, "restore/safety-required")]);
    assert_eq!(scene.content("work/alpha/a"), Some("other"));
    let Expected::Restore(done) = asked(&mut scene, "alpha", "1", true, true) else {
        panic!("it was forced")
    };
    assert_eq!((done.safety.0, done.safety.1.id), (false, "restore/safety-required"));
    assert_eq!((texts(&done.left), texts(&done.restored)), (vec!["new".into()], vec!["a".into()]));
    assert!(done.removed.is_empty());
    assert_eq!(scene.content("work/alpha/new"), Some("new"));
    // As many files as may be are not too many, and nothing needs force then.
    scene.world.settings.max_files = 2;
    let Expected::Restore(done) = asked(&mut scene, "alpha", "1", true, true) else {
        panic!("nothing is in the way")
    };
    assert_eq!(done.safety.1.id, "restore/safety-checkpoint");
}

#[test]
fn a_target_that_is_none_is_refused() {
    let mut scene = taken(&["a"]);
    for (dir, target, rule) in [
        ("alpha", "2", "restore/bad-target"),
        ("beta", "1f1f", "restore/own-checkpoint"),
        ("/elsewhere", "1f1f", "restore/own-checkpoint"),
    ] {
        let refused = refusals(&asked(&mut scene, dir, target, false, false));
        assert_eq!(refused.iter().map(|(_, rule)| *rule).collect::<Vec<_>>(), [rule], "{dir}");
    }
}
