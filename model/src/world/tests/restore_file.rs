//! Bringing one file back: which path is meant, and what it must not touch.

use super::*;
use crate::expected::ExpectedRestore;
use pretty_assertions::assert_eq;

fn asked(scene: &mut Scene, target: &str, path: &str) -> Expected {
    let (dir, target, path) = ("alpha".into(), target.into(), path.into());
    scene.world.step(&Request::RestoreFile { dir, target, path })
}

fn restore(scene: &mut Scene, path: &str) -> Box<ExpectedRestore> {
    match asked(scene, "1", path) {
        Expected::Restore(restore) => restore,
        other => panic!("{path:?} came to {other:?}"),
    }
}

/// A scene with a checkpoint of `alpha` that holds `a`, `deep/b` and a link, all changed since.
fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.write("work/alpha/a", "1");
    scene.write("work/alpha/deep/b", "1");
    scene.link("work/alpha/link", "deep");
    scene.take("alpha");
    scene.write("work/alpha/a", "2");
    scene.write("work/alpha/deep/b", "2");
    scene
}

#[test]
fn only_the_one_file_comes_back() {
    for typed in ["a", "./a", "deep/../a", "deep/.//..//a/", "none/../a"] {
        let mut scene = scene();
        let done = restore(&mut scene, typed);
        assert_eq!(done.only, Some("a".into()), "{typed}");
        assert_eq!(texts(&done.restored), ["a"]);
        assert!(done.safety.0 && done.left.is_empty() && done.removed.is_empty());
        assert_eq!(texts(done.captured.tree.keys()), ["a", "deep/b", "link"]);
        assert_eq!(scene.content("work/alpha/a"), Some("1"));
        assert_eq!(scene.content("work/alpha/deep/b"), Some("2"));
        // The first is the second by now, and there is nothing left to bring back.
        let Expected::Restore(again) = asked(&mut scene, "2", typed) else { panic!("{typed}") };
        assert!(again.restored.is_empty());
    }
}

#[test]
fn a_file_comes_back_with_the_directories_it_needs() {
    let mut scene = scene();
    scene.remove("work/alpha/deep");
    assert_eq!(texts(&restore(&mut scene, "deep/b").restored), ["deep/b"]);
    assert_eq!(scene.content("work/alpha/deep/b"), Some("1"));
}

#[test]
fn a_path_that_is_none_in_the_project_is_refused() {
    let mut scene = scene();
    let bad: &[Code] = &[Code::BadPath];
    let project: &[Code] = &[Code::BadPath, Code::NotInCheckpoint];
    for (typed, codes) in [
        ("", bad),
        ("/a", bad),
        ("a\0", bad),
        ("..", bad),
        ("../alpha/a", bad),
        ("deep/../../alpha/a", bad),
        ("link/../a", bad),
        (".", project),
        ("deep/..", project),
        ("link/b", project),
    ] {
        let refused = refusals(&asked(&mut scene, "1", typed));
        assert_eq!(refused, [(codes, "restore/bad-path")], "{typed:?}");
    }
    let none: &[Code] = &[Code::NotInCheckpoint];
    for typed in ["none", "deep", "deep/none", "none/a"] {
        let refused = refusals(&asked(&mut scene, "1", typed));
        assert_eq!(refused, [(none, "restore/file-literal")], "{typed:?}");
    }
    // Both are wrong, and either may be said.
    let rules: Vec<_> =
        refusals(&asked(&mut scene, "9", "..")).into_iter().map(|one| one.1).collect();
    assert_eq!(rules, ["restore/bad-target", "restore/bad-path"]);
}

#[test]
fn no_other_path_is_touched_for_the_one() {
    let overwrites: &[Code] = &[Code::WouldOverwrite];
    let mut scene = scene();
    scene.remove("work/alpha/deep");
    scene.write("work/alpha/deep", "in the way");
    let codes: &[Code] = &[Code::WouldOverwrite, Code::NotInCheckpoint, Code::BadPath];
    assert_eq!(refusals(&asked(&mut scene, "1", "deep/b")), [(codes, "restore/file-only")]);
    scene.remove("work/alpha/a");
    scene.write("work/alpha/a/inside", "captured");
    assert_eq!(refusals(&asked(&mut scene, "1", "a")), [(overwrites, "restore/file-only")]);
    scene.remove("work/alpha/a");
    scene.world.edit(&Edit::MakeSpecial { path: "work/alpha/a".into() });
    assert_eq!(refusals(&asked(&mut scene, "1", "a")), [(overwrites, "restore/protects")]);
    // A directory without files holds nothing that could be lost.
    scene.remove("work/alpha/a");
    scene.world.edit(&Edit::MakeDirectory { path: "work/alpha/a/empty".into() });
    assert_eq!(texts(&restore(&mut scene, "a").restored), ["a"]);
    assert_eq!(scene.content("work/alpha/a"), Some("1"));
}
