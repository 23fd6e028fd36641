//! What a request must leave as it is, and what an answer of another kind breaks.

use super::*;
use crate::verdict::Kind;
use pretty_assertions::assert_eq;

/// What is seen where a request that is answered right changes these files.
fn changing(scene: &Scene, asked: &str, files: &str) -> Observation {
    let mut then = scene.clone();
    then.put(files);
    Observation { files: then.world.files, ..scene.right(asked) }
}

#[test]
fn no_file_changes_where_none_is_asked_for() {
    let refusal = "restore/refusal-changes-nothing";
    for (asked, files, rules) in [
        ("list alpha", "", ""),
        ("list alpha", "a=2", "capture/read-only"),
        ("take alpha", "-a", "capture/read-only"),
        ("diff alpha 1", "b/", "capture/read-only"),
        ("restore alpha 9", "a=2", refusal),
        ("file alpha 1 ..", "a=2", refusal),
        ("list alpha", "/work/beta/.git/HEAD=", "isolation/user-repository"),
        ("restore alpha 9", "/home/x=", "isolation/home"),
        ("list alpha", "/hostile/mark-left=", "isolation/no-signing capture/read-only"),
        ("list alpha", "/hostile/hook-ran=", "isolation/user-config capture/read-only"),
        ("list alpha", "/hostile/mark=", "capture/read-only"),
    ] {
        let mut scene = Scene::with("a=1");
        scene.ask("take alpha");
        assert_eq!(scene.broken(&changing(&scene, asked, files)), rules, "{asked} {files}");
    }
    // Where it depends on something that nobody has seen, any file may change.
    let mut scene = Scene::with("a=1");
    let unseen = Listed { number: 1, id: id(1), time: 0, reason: String::new(), stats: None };
    scene.told("list alpha", Answer::Listed(vec![unseen]));
    assert_eq!(scene.broken(&changing(&scene, "restore alpha 1", "a=2")), "");
}

#[test]
fn times_and_the_store_stay_as_they_were() {
    let refusal = "restore/refusal-changes-nothing";
    for (asked, touched, changed, rules) in [
        ("list alpha", true, None, "capture/read-only"),
        ("restore alpha 9", true, None, refusal),
        ("list alpha", false, Some("projects/x.json"), "diff/leaves-store"),
        ("diff alpha 1", false, Some("store/refs/x"), "diff/leaves-store"),
        ("ensure alpha", false, Some("projects/x.json"), "turn/disabled"),
        // A refusal may leave its mark in the bookkeeping, but not in what is stored.
        ("restore alpha 9", false, Some("projects/x.json"), ""),
        ("restore alpha 9", false, Some("store/refs/x"), refusal),
        ("restore alpha 9", false, Some("store/objects/x"), refusal),
        ("restore alpha 9", false, Some("store/packed-refs"), refusal),
    ] {
        let mut scene = Scene::with("a=1");
        scene.ask("take alpha");
        scene.world.settings.enabled = false;
        let mut seen = scene.right(asked);
        seen.touched.extend(touched.then(|| "work/alpha/a".into()));
        seen.base_changes = Some(changed.into_iter().map(ByteString::from).collect());
        assert_eq!(scene.broken(&seen), rules, "{asked} {touched} {changed:?}");
        if asked == "restore alpha 9" {
            let kinds = |seen: &Observation| {
                let violations = scene.checks(seen).violations.into_iter();
                violations.map(|one| one.mismatch.kind).collect::<Vec<_>>()
            };
            let lies = vec![Kind::Dishonest; usize::from(!rules.is_empty())];
            assert_eq!(kinds(&seen), lies);
            if let Answer::Refused { changed, .. } = &mut seen.answer {
                *changed = Changed::Partial;
            }
            assert!(kinds(&seen).iter().all(|kind| *kind == Kind::Fail));
        }
    }
}

#[test]
fn all_paths_that_break_one_rule_are_told_together_up_to_a_dozen() {
    let scene = Scene::with("a=1");
    let many: String = (10..30).map(|number| format!("b{number}= ")).collect();
    let checks = scene.checks(&changing(&scene, "list alpha", &format!("-a {many}")));
    let [violation] = &checks.violations[..] else { panic!("one rule") };
    assert_eq!(violation.mismatch.tree.len(), 12);
    assert_eq!(violation.mismatch.tree[0], "- work/alpha/a: a file of 1 bytes \"1\"");
    assert_eq!(violation.mismatch.symptom, "nothing, not a file");
    for (repository, tests) in [("", 0), ("/work/.git/", 1)] {
        let scene = Scene::with(repository);
        let checks = scene.checks(&scene.right("list alpha"));
        let found = ["isolation/home", "isolation/user-repository"].map(|one| count(&checks, one));
        assert_eq!(found, [1, tests]);
    }
}

#[test]
fn opening_leaves_no_file() {
    let scene = Scene::with("a=1");
    let mut then = scene.clone();
    assert_eq!(broken(scene.world.compare_opening(&then.world.files)), "");
    then.put("a=2");
    assert_eq!(broken(scene.world.compare_opening(&then.world.files)), "isolation/home");
}

#[test]
fn an_answer_of_another_kind_breaks_what_the_request_is_about() {
    for (asked, rule, kind) in [
        ("turn", "turn/reset", "done"),
        ("reopen", "turn/reset", "done"),
        ("clock 5", "list/time", "done"),
        ("list alpha", "list/complete", "a list"),
        ("diff alpha 1", "diff/preview", "a diff"),
        ("status", "maintenance/commands", "the status"),
        ("sweep", "maintenance/never-raises", "a sweep"),
        ("prune 0 0", "maintenance/commands", "a sweep"),
        ("clear", "maintenance/commands", "something cleared"),
        ("restore alpha 1", "restore/happens", "a restore"),
        ("file alpha 1 a", "restore/happens", "a restore"),
        (
            "diff alpha 9f9f",
            "restore/own-checkpoint",
            "a refusal with one of [\"unknown_checkpoint\"]",
        ),
    ] {
        let mut scene = Scene::with("a=1");
        scene.ask("take alpha");
        let checks = scene.checks(&scene.seen(asked, Answer::Project(None)));
        assert_eq!(checks.violations[0].mismatch.expected, kind, "{asked}");
        assert_eq!(broken(checks), rule, "{asked}");
    }
    let mut scene = Scene::with("a=1");
    scene.ask("take alpha");
    scene.put("-/work/alpha");
    assert_eq!(scene.answered("list alpha", refused(Code::Io)), "restore/deleted-project");
}

#[test]
fn who_dies_or_stays_silent_is_asked_nothing_else() {
    for (why, symptom, kind) in
        [("silent for 10 s", "silent", Kind::Timeout), ("signal 9", "died", Kind::Crash)]
    {
        let scene = Scene::with("a=1");
        let answer = Answer::Crashed(why.into());
        let seen = Observation { answer, ..changing(&scene, "take alpha", "a=2") };
        let checks = scene.checks(&seen);
        assert_eq!(symptoms(&checks), [symptom]);
        assert_eq!(checks.violations[0].mismatch.kind, kind);
        assert_eq!(broken(checks), "capture/created");
    }
}
