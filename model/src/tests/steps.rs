//! Undo, redo, and numbers that no restore moves.

use super::*;
use crate::answer::Listed;
use pretty_assertions::assert_eq;

/// A checkpoint of `alpha` with these files.
fn taken(files: &str) -> Scene {
    let capabilities = CAPABILITIES.into_iter().chain(["restore.undo", "target.stable_number"]);
    let mut scene = Scene::with_capabilities(capabilities.collect(), files);
    scene.perform("take alpha");
    scene
}

/// A checkpoint of `alpha` with the files `a` and `b`, of which `a` is changed and `b` is removed since.
fn changed() -> Scene {
    let mut scene = taken("a=1 b=1");
    scene.edit("a=2 -b");
    scene
}

/// What the files of `alpha` are.
fn files(scene: &Scene) -> String {
    let content = |name: &str| match scene.world.files.get(format!("work/alpha/{name}").as_bytes())
    {
        Some(Node::File { content, .. }) => format!("{name}={} ", String::from_utf8_lossy(content)),
        _ => String::new(),
    };
    ["a", "b", "new"].map(content).concat().trim_end().to_owned()
}

#[test]
fn undo_and_redo_go_back_and_forward_and_no_further() {
    let mut scene = changed();
    for (request, expected) in [
        ("restore alpha 1", "a=1 b=1"),
        ("restore alpha 1", "a=1 b=1"),
        ("undo alpha", "a=2"),
        ("redo alpha", "a=1 b=1"),
        ("undo alpha", "a=2"),
    ] {
        scene.perform(request);
        assert_eq!(files(&scene), expected, "{request}");
    }
    assert_eq!(scene.broken_by("undo alpha", refused(Code::NothingToUndo)), "");
    assert_eq!(scene.broken_by("undo alpha", refused(Code::Io)), "restore/undo-redo");
    scene.perform("restore alpha 1");
    assert_eq!(scene.broken_by("redo alpha", refused(Code::NothingToUndo)), "");
}

#[test]
fn undo_removes_what_the_restore_brought_and_leaves_what_changed_since() {
    let mut scene = changed();
    scene.perform("restore alpha 1");
    scene.edit("new=1");
    let mut edited = scene.clone();
    edited.edit("b=3");
    scene.perform("undo alpha");
    assert_eq!(files(&scene), "a=2 new=1");
    edited.perform("undo alpha");
    assert_eq!(files(&edited), "a=2 b=3 new=1");
}

#[test]
fn undo_leaves_what_the_restore_did_not_bring_though_the_checkpoint_excludes_it() {
    let mut scene = taken("a=1 .gitignore=b");
    scene.edit(".gitignore=a");
    scene.perform("restore alpha 1");
    let report = |observation: &Observation| match &observation.answer {
        Answer::Restored(report) => (report.left.clone(), report.kept.len()),
        answer => panic!("{answer:?}"),
    };
    let left = scene.correct_observation("undo alpha");
    assert_eq!(report(&left), (vec!["a".into()], 0));
}

#[test]
fn undo_of_a_single_file_touches_no_other() {
    let mut scene = changed();
    scene.perform("file alpha 1 b");
    scene.edit("a=3");
    scene.perform("undo alpha");
    assert_eq!(files(&scene), "a=3");
    scene.perform("redo alpha");
    assert_eq!(files(&scene), "a=3 b=1");
}

// rule: restore/undo-redo
#[test]
fn compare_reports_an_undo_that_undoes_itself_or_leaves_what_came() {
    let mut scene = changed();
    scene.perform("restore alpha 1");
    let mut observation = scene.correct_observation("undo alpha");
    let kept = scene.world.files.get(b"work/alpha/b").cloned().unwrap();
    observation.files.insert(b"work/alpha/b", kept);
    assert_eq!(scene.broken_rules(&observation), "restore/undo-redo restore/honest");
    observation.files = scene.world.files.clone();
    assert!(scene.broken_rules(&observation).contains("restore/undo-redo"));
}

// rule: restore/undo-redo
#[test]
fn compare_reports_an_undo_of_another_project() {
    let mut scene = taken("a=1 /work/beta/b=1");
    scene.perform("take beta");
    scene.edit("/work/beta/b=2");
    scene.perform("restore beta 1");
    let mut undo = scene.correct_observation("undo beta");
    undo.request = Request::Undo { dir: scene.world.absolute(b"work/alpha") };
    assert_eq!(scene.broken_rules(&undo), "restore/undo-redo");
    scene.edit("a=2");
    scene.perform("restore alpha 1");
    let mut undo = scene.correct_observation("undo beta");
    undo.request = Request::Undo { dir: scene.world.absolute(b"work/alpha") };
    assert_eq!(scene.broken_rules(&undo), "restore/undo-redo");
    // A change outside all projects is a worse failure.
    let secret = scene.world.files.get(b"work/beta/b").cloned().unwrap();
    undo.files.insert(b"work/stray", secret);
    assert!(scene.broken_rules(&undo).contains("restore/contained"));
}

// rule: restore/same-number
#[test]
fn a_restore_moves_no_number_and_a_list_that_counts_its_checkpoint_is_wrong() {
    let mut scene = changed();
    scene.perform("restore alpha 1");
    let mut observation = scene.correct_observation("list alpha");
    let Answer::Listed(entries) = &mut observation.answer else { panic!("no list") };
    let numbers: Vec<usize> = entries.iter().map(|entry| entry.number).collect();
    assert_eq!(numbers, [0, 1]);
    for (index, entry) in entries.iter_mut().enumerate() {
        *entry = Listed { number: index + 1, ..entry.clone() };
    }
    assert_eq!(scene.broken_rules(&observation), "restore/same-number");
}
