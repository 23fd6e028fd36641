//! What a request for a restore may come to: which path it means, what must be refused, and which
//! checkpoint is taken before it.

use super::*;
use crate::allowed::AllowedRestore;
use pretty_assertions::assert_eq;

fn due(scene: &Scene, asked: &str) -> Box<AllowedRestore> {
    match scene.allows(asked) {
        Allowed::Restore(due) => due,
        other => panic!("{asked}: {other:?}"),
    }
}

/// Whether a checkpoint is taken before, and the rule that says so.
fn safety(scene: &Scene, asked: &str) -> (bool, &'static str) {
    let safety = due(scene, asked).safety;
    (safety.0, safety.1.id)
}

const TAKEN: (bool, &str) = (true, "restore/safety-checkpoint");
const SKIPPED: (bool, &str) = (false, "restore/safety-skipped");

#[test]
fn a_restore_is_of_a_checkpoint_over_what_is_there() {
    let scene = Scene::changed("a=1 d/b=1", "a=2 new=");
    let whole = due(&scene, "restore alpha 1 exact");
    assert_eq!(whole.project, "work/alpha".into());
    assert_eq!(texts(whole.before.tree.keys()), ["a", "new"]);
    assert_eq!(texts(whole.target.tree.keys()), ["a", "d/b"]);
    assert!(whole.exact && !whole.undo && !whole.deleted && !whole.evicting);
    assert!(whole.only.is_none() && !whole.is_forced());
    assert_eq!(safety(&scene, "restore alpha 1"), TAKEN);
    for typed in ["a", "./a", "d/../a", "d/.//..//a/", "none/../a"] {
        let one = due(&scene, &format!("file alpha 1 {typed}"));
        assert_eq!((one.only, one.exact), (Some("a".into()), false), "{typed}");
    }
}

#[test]
fn a_deleted_project_comes_back_without_a_checkpoint_before() {
    let mut scene = Scene::changed("a=1", "-/work/alpha");
    assert!(due(&scene, "restore alpha 1").deleted);
    assert_eq!(safety(&scene, "restore alpha 1"), SKIPPED);
    scene.put("/work/alpha=");
    let refused = refusals(&scene.allows("restore alpha 1"));
    assert_eq!(refused, [(&[Code::NotADirectory][..], "scope/no-directory")]);
    for (path, code, rules) in [
        ("a", Code::NotADirectory, ""),
        ("a", Code::NotInCheckpoint, "scope/no-directory"),
        ("b", Code::NotADirectory, ""),
        ("b", Code::NotInCheckpoint, ""),
        ("..", Code::NotADirectory, ""),
        ("..", Code::BadPath, ""),
    ] {
        let found = scene.answered(&format!("file alpha 1 {path}"), super::refused(code));
        assert_eq!(found, rules, "{path} {code}");
    }
}

#[test]
fn a_restore_is_undone_by_restoring_what_was_taken_before_it() {
    let mut scene = Scene::changed("a=1", "a=2");
    scene.ask("restore alpha 1");
    let [_, before] = scene.world.history(b"work/alpha") else { panic!("two checkpoints") };
    assert_eq!((before.safety, &before.reason), (true, &None));
    assert!(due(&scene, "restore alpha 1").undo && !due(&scene, "restore alpha 2").undo);
    // Where the newest checkpoint holds it all, there is nothing to take before.
    scene.ask("restore alpha 1");
    scene.ask("take alpha");
    assert_eq!(safety(&scene, "restore alpha 2"), SKIPPED);
    let seen = scene.right("restore alpha 2");
    assert_eq!(count(&scene.checks(&seen), "restore/target"), 1);
}

#[test]
fn the_oldest_checkpoint_that_is_listed_is_evicted_by_the_one_taken_before() {
    for (limit, target, changes, evicting) in [
        (2, "2", "a=3", true),
        (2, "2", "", false),
        (2, "1", "a=3", false),
        (3, "2", "a=3", false),
        (4, "2", "a=3", false),
    ] {
        let mut scene = Scene::changed("a=1", "a=2");
        scene.ask("take alpha");
        scene.put(changes);
        scene.world.settings.max_snapshots = limit;
        let due = due(&scene, &format!("restore alpha {target}"));
        assert_eq!(due.evicting, evicting, "{limit} {target} {changes}");
    }
}

#[test]
fn an_implementation_may_take_nothing_before_a_restore_and_never_the_same_twice() {
    for (lacks, now, of_all, of_one) in [
        ("restore.safety", "a=2", SKIPPED, SKIPPED),
        ("restore.file_safety", "a=2", TAKEN, SKIPPED),
        ("take.unchanged", "a=2", TAKEN, TAKEN),
        ("take.unchanged", "a=1", SKIPPED, SKIPPED),
    ] {
        let mut scene = Scene::without(lacks, "a=1");
        scene.ask("take alpha");
        scene.set(now);
        assert_eq!(safety(&scene, "restore alpha 1"), of_all, "{lacks} {now}");
        assert_eq!(safety(&scene, "file alpha 1 a"), of_one, "{lacks} {now}");
    }
}

#[test]
fn without_a_checkpoint_before_nothing_is_restored_unless_it_is_forced() {
    let mut scene = Scene::changed("a=1", "a=2 new=");
    scene.world.settings.max_files = 1;
    let codes: &[Code] = &[Code::NoSafetyCheckpoint, Code::TooManyFiles];
    let refused = refusals(&scene.allows("restore alpha 1"));
    assert_eq!(refused, [(codes, "restore/safety-required")]);
    assert_eq!(safety(&scene, "restore alpha 1 force"), (false, "restore/safety-required"));
    // As many files as may be are not too many, and nothing needs force then.
    scene.world.settings.max_files = 2;
    assert_eq!(safety(&scene, "restore alpha 1 force"), TAKEN);
}

#[test]
fn where_none_is_taken_before_a_restore_the_limit_on_files_does_not_stop_it() {
    for (lacks, asked) in [
        ("restore.safety", "restore alpha 1"),
        ("restore.safety", "restore alpha 1 exact"),
        ("restore.safety", "file alpha 1 a"),
        ("restore.file_safety", "file alpha 1 a"),
    ] {
        let mut scene = Scene::without(lacks, "a=1");
        scene.ask("take alpha");
        scene.put("a=2 new=");
        scene.world.settings.max_files = 1;
        assert_eq!(safety(&scene, asked), SKIPPED, "{lacks} {asked}");
        let seen = scene.right(asked);
        assert_eq!(scene.broken(&seen), "", "{lacks} {asked}");
        // Who minds it says so.
        assert_eq!(scene.answered(asked, refused(Code::TooManyFiles)), "", "{lacks} {asked}");
        assert_eq!(scene.answered(asked, refused(Code::Io)), "scope/too-many-files");
    }
}

#[test]
fn a_checkpoint_that_nobody_saw_taken_may_hold_anything() {
    let mut scene = Scene::with("a=1");
    let (id, reason) = (id(9), String::new());
    let unseen = Listed { number: 1, id, time: 0, reason, stats: None };
    scene.told("list alpha", Answer::Listed(vec![unseen]));
    for asked in ["restore alpha 1", "diff alpha 1", "file alpha 1 b"] {
        assert!(matches!(scene.allows(asked), Allowed::Unknown), "{asked}");
        assert_eq!(scene.answered(asked, refused(Code::Io)), "", "{asked}");
    }
    // What is there by now may be what it holds.
    for outcome in [CheckpointOutcome::Unchanged, CheckpointOutcome::Created { id: self::id(1) }] {
        assert_eq!(scene.answered("take alpha", taken(outcome)), "");
    }
}

#[test]
fn a_path_that_is_none_in_the_project_is_refused() {
    let scene =
        Scene::changed("a=1 deep/b=1 link>deep out>../beta", "a=2 deep/b=2 link>deep out>../beta");
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
        ("out/b", project),
    ] {
        let refused = refusals(&scene.allows(&format!("file alpha 1 {typed}")));
        assert_eq!(refused, [(codes, "restore/bad-path")], "{typed:?}");
    }
    // A link that stays in the project leads nowhere else.
    let refused = refusals(&scene.allows("file alpha 1 link/b"));
    let codes: &[Code] = &[Code::NotInCheckpoint, Code::BadPath];
    assert_eq!(refused, [(codes, "restore/file-literal")]);
    let none: &[Code] = &[Code::NotInCheckpoint];
    for typed in ["none", "deep", "deep/none", "none/a"] {
        let refused = refusals(&scene.allows(&format!("file alpha 1 {typed}")));
        assert_eq!(refused, [(none, "restore/file-literal")], "{typed:?}");
    }
    // Both are wrong, and either may be said.
    let both = refusals(&scene.allows("file alpha 9 ..")).into_iter().map(|one| one.1);
    assert_eq!(both.collect::<Vec<_>>(), ["restore/bad-target", "restore/bad-path"]);
}

#[test]
fn no_other_path_is_touched_for_the_one() {
    let overwrites: &[Code] = &[Code::WouldOverwrite];
    let above: &[Code] = &[Code::WouldOverwrite, Code::NotInCheckpoint, Code::BadPath];
    for (now, path, codes, rule) in [
        ("deep=", "deep/b", above, "restore/file-only"),
        ("a/inside=", "a", overwrites, "restore/file-only"),
    ] {
        let scene = Scene::changed("a=1 deep/b=1", now);
        let refused = refusals(&scene.allows(&format!("file alpha 1 {path}")));
        assert_eq!(refused, [(codes, rule)], "{now}");
    }
    // What is not captured may be held all the same; to refuse is as good.
    let uncaptured = due(&Scene::changed("a=1", "a!"), "file alpha 1 a").may_refuse;
    let refused: Vec<_> = uncaptured.iter().map(|one| (one.codes, one.rule.id)).collect();
    assert_eq!(refused, [(overwrites, "restore/protects")]);
    let mut crowded = Scene::changed("a=1", "a! b= c=");
    crowded.world.settings.max_files = 1;
    let rules: Vec<_> =
        refusals(&crowded.allows("file alpha 1 a")).into_iter().map(|one| one.1).collect();
    assert_eq!(rules, ["restore/protects", "restore/safety-required"]);
    // A directory without files holds nothing that could be lost.
    for now in ["a/empty/", "a=2", "deep/"] {
        let scene = Scene::changed("a=1", now);
        assert_eq!(due(&scene, "file alpha 1 a").only, Some("a".into()), "{now}");
    }
}

#[test]
fn a_restore_that_is_not_made_breaks_what_the_answer_is_about() {
    let (keeps, required) = ("restore/safety-keeps-target", "restore/safety-required");
    let happens = "restore/happens";
    for (now, limit, asked, code, rules) in [
        ("a=2", 1, "restore alpha 1", Code::BadTarget, "restore/target"),
        ("a=2", 9, "file alpha 1 a", Code::AmbiguousCheckpoint, "restore/target"),
        ("a=2", 9, "restore alpha 1", Code::NoSafetyCheckpoint, required),
        ("a=2", 9, "restore alpha 1", Code::TooManyFiles, required),
        ("a=2", 1, "restore alpha 1", Code::Io, keeps),
        ("a=2", 1, "restore alpha 1", Code::Internal, happens),
        ("-/work/alpha", 9, "restore alpha 1", Code::Io, "restore/deleted-project"),
        ("a=2", 9, "restore alpha 1", Code::UnknownCheckpoint, "restore/target"),
        ("a=2", 9, "file alpha 1 a", Code::UnknownCheckpoint, "restore/target"),
        ("a=2", 9, "file alpha 1 a", Code::Io, happens),
        ("a=2", 9, "file alpha 1 a", Code::NotInCheckpoint, "restore/file-literal"),
        ("a=2", 9, "restore alpha 1", Code::Busy, happens),
        ("a=2 b?=", 9, "restore alpha 1", Code::Permission, "restore/happens capture/unreadable"),
        ("a=2 b?=", 9, "restore alpha 1", Code::Internal, "restore/happens capture/unreadable"),
        (
            "a=2 b!",
            9,
            "restore alpha 1",
            Code::NoSafetyCheckpoint,
            "restore/safety-required capture/special",
        ),
        ("a=2 b?=", 9, "restore alpha 1", Code::Busy, happens),
    ] {
        let mut scene = Scene::changed("a=1", now);
        scene.world.settings.max_snapshots = limit;
        assert_eq!(scene.answered(asked, refused(code)), rules, "{asked} {now} {code}");
    }
    // Who forces a restore does not need what cannot be taken.
    let mut scene = Scene::changed("a=1", "a=2 b= c?=");
    scene.world.settings.max_files = 1;
    assert_eq!(scene.answered("restore alpha 1 force", refused(Code::Io)), happens);
}

#[test]
fn a_folder_comes_back_whole_where_an_implementation_restores_folders() {
    let folders = CAPABILITIES.into_iter().chain(["restore.directory"]).collect();
    let mut scene = Scene::able(folders, "deep/b=1 a=1");
    scene.ask("take alpha");
    scene.put("deep/b=2 deep/c=1");
    let Allowed::Restore(due) = scene.allows("file alpha 1 deep") else { panic!("a restore") };
    assert_eq!(due.only, Some("deep".into()));
    let refused = refusals(&scene.allows("file alpha 1 none"));
    assert_eq!(refused[0].1, "restore/file-literal");
}

#[test]
fn a_link_in_the_project_is_something_in_the_way_and_no_way_out() {
    let scene = Scene::changed("deep/b=1 other/b=2", "deep>other other/b=2");
    let refused = refusals(&scene.allows("file alpha 1 deep/b"));
    assert_eq!(refused[0].1, "restore/file-only");
    // Of an unknown checkpoint nobody can say where a path leads.
    for (path, told) in [("deep", true), ("deep/b", true), ("other/b", false), ("other", false)] {
        let refused = refusals(&scene.allows(&format!("file alpha 9f9f {path}")));
        assert_eq!(refused.iter().any(|one| one.1 == "restore/bad-path"), told, "{path}");
    }
}
