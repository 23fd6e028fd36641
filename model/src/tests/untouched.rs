//! What a request must not change, and which rule an answer of the wrong kind breaks.

use super::*;
use crate::verdict::Kind;
use pretty_assertions::assert_eq;

/// The observation of a request that is answered correctly but changes these files.
fn changing(scene: &Scene, request: &str, files: &str) -> Observation {
    let mut changed = scene.clone();
    changed.edit(files);
    Observation { files: changed.world.files, ..scene.correct_observation(request) }
}

#[test]
fn requests_without_a_restore_change_no_file() {
    let refusal = "restore/refusal-changes-nothing";
    for (request, files, rules) in [
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
        scene.perform("take alpha");
        assert_eq!(
            scene.broken_rules(&changing(&scene, request, files)),
            rules,
            "{request} {files}"
        );
    }
    // If the request depends on an unseen checkpoint, any file of the project may change, and no other.
    let mut scene = Scene::with("a=1");
    let unseen =
        Listed { number: 1, id: checkpoint_id(1), time: 0, reason: String::new(), stats: None };
    scene.learn_answer("list alpha", Answer::Listed(vec![unseen]));
    for (request, files, rules) in [
        ("restore alpha 1", "a=2", ""),
        ("restore alpha 1", "/outside/x=2", "restore/contained"),
        ("diff alpha 1", "a=2", "capture/read-only"),
    ] {
        assert!(matches!(scene.allows(request), Allowed::Unknown(_)), "{request}");
        let broken = scene.broken_rules(&changing(&scene, request, files));
        assert_eq!(broken, rules, "{request} {files}");
    }
}

#[test]
fn list_diff_and_refusals_change_neither_file_times_nor_the_store() {
    let refusal = "restore/refusal-changes-nothing";
    for (request, is_touched, changed, rules) in [
        ("list alpha", true, None, "capture/read-only"),
        ("restore alpha 9", true, None, refusal),
        // A list may keep figures that it computed.
        ("list alpha", false, Some("store/figures/x"), ""),
        ("list alpha", false, Some("store/objects/x"), "diff/leaves-store"),
        ("diff alpha 1", false, Some("store/figures/x"), "diff/leaves-store"),
        ("diff alpha 1", false, Some("store/refs/x"), "diff/leaves-store"),
        ("ensure alpha", false, Some("projects/x.json"), "turn/disabled"),
        // A refusal may change the metadata, but not the stored objects and refs.
        ("restore alpha 9", false, Some("projects/x.json"), ""),
        ("restore alpha 9", false, Some("store/refs/x"), refusal),
        ("restore alpha 9", false, Some("store/objects/x"), refusal),
        ("restore alpha 9", false, Some("store/packed-refs"), refusal),
    ] {
        let mut scene = Scene::with("a=1");
        scene.perform("take alpha");
        scene.world.settings.enabled = false;
        let mut observation = scene.correct_observation(request);
        observation.touched.extend(is_touched.then(|| "work/alpha/a".into()));
        observation.base_changes = Some(changed.into_iter().map(ByteString::from).collect());
        assert_eq!(scene.broken_rules(&observation), rules, "{request} {is_touched} {changed:?}");
        if request == "restore alpha 9" {
            let kinds = |observation: &Observation| {
                let violations = scene.checks(observation).violations.into_iter();
                violations.map(|violation| violation.mismatch.kind).collect::<Vec<_>>()
            };
            let dishonest = vec![Kind::Dishonest; usize::from(!rules.is_empty())];
            assert_eq!(kinds(&observation), dishonest);
            if let Answer::Refused { changed, .. } = &mut observation.answer {
                *changed = Changed::Partial;
            }
            assert!(kinds(&observation).iter().all(|kind| *kind == Kind::Fail));
        }
    }
}

#[test]
fn compare_reports_all_paths_that_break_a_rule_in_one_violation_up_to_twelve() {
    let scene = Scene::with("a=1");
    let many: String = (10..30).map(|number| format!("b{number}= ")).collect();
    let checks = scene.checks(&changing(&scene, "list alpha", &format!("-a {many}")));
    let [violation] = &checks.violations[..] else { panic!("one rule") };
    assert_eq!(violation.mismatch.tree.len(), 12);
    assert_eq!(violation.mismatch.tree[0], "- work/alpha/a: a file of 1 bytes \"1\"");
    assert_eq!(violation.mismatch.symptom, "nothing, not a file");
    for (repository, tests) in [("", 0), ("/work/.git/", 1)] {
        let scene = Scene::with(repository);
        let checks = scene.checks(&scene.correct_observation("list alpha"));
        let found =
            ["isolation/home", "isolation/user-repository"].map(|rule| count(&checks, rule));
        assert_eq!(found, [1, tests]);
    }
}

#[test]
fn compare_opening_allows_no_new_file() {
    let scene = Scene::with("a=1");
    let mut after = scene.clone();
    assert_eq!(broken_rules(scene.world.compare_opening(&after.world.files)), "");
    after.edit("a=2");
    assert_eq!(broken_rules(scene.world.compare_opening(&after.world.files)), "isolation/home");
}

#[test]
fn an_answer_of_the_wrong_kind_breaks_the_main_rule_of_the_request() {
    for (request, rule, kind) in [
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
        scene.perform("take alpha");
        let checks = scene.checks(&scene.observation(request, Answer::Project(None)));
        assert_eq!(checks.violations[0].mismatch.expected, kind, "{request}");
        assert_eq!(broken_rules(checks), rule, "{request}");
    }
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    scene.edit("-/work/alpha");
    assert_eq!(scene.broken_by("list alpha", refused(Code::Io)), "restore/deleted-project");
}

#[test]
fn compare_reports_a_crash_or_timeout_and_nothing_else() {
    for (why, symptom, kind) in
        [("silent for 10 s", "silent", Kind::Timeout), ("signal 9", "died", Kind::Crash)]
    {
        let scene = Scene::with("a=1");
        let answer = Answer::Crashed(why.into());
        let observation = Observation { answer, ..changing(&scene, "take alpha", "a=2") };
        let checks = scene.checks(&observation);
        assert_eq!(symptoms(&checks), [symptom]);
        assert_eq!(checks.violations[0].mismatch.kind, kind);
        assert_eq!(broken_rules(checks), "capture/created");
    }
}
