//! Attribution: which externally changed paths a restore must, may and must not report.

use super::*;
use crate::answer::{Protected, Taken};
use pretty_assertions::assert_eq;

/// Runs steps after a checkpoint of `alpha`: edits as in [`parse_edits`]; `(a` and `a)` report that
/// a tool of the agent begins and ends writing `a`; `take`, `restore` and `tool` (the protection
/// before a tool) are requests for `alpha`.
fn scene(taken: &str, steps: &str) -> Scene {
    let capabilities = CAPABILITIES.into_iter().chain(["restore.others"]).collect();
    let mut scene = Scene::with_capabilities(capabilities, taken);
    scene.perform("take alpha");
    for step in steps.split_whitespace() {
        match (step.strip_prefix('('), step.strip_suffix(')')) {
            (Some(path), _) => drop(scene.perform(&format!("begins alpha {path}"))),
            (_, Some(path)) => drop(scene.perform(&format!("ends alpha {path}"))),
            _ if step == "take" => drop(scene.perform("take alpha")),
            _ if step == "tool" => {
                let outcome = CheckpointOutcome::Created { id: checkpoint_id(9) };
                let taken = Some(Taken { outcome, skipped: Vec::new() });
                let protected = vec![Protected { project: "/world/work/alpha".into(), taken }];
                scene.learn_answer("writes alpha a", Answer::Protected(protected));
            }
            _ if step == "restore" => restore(&mut scene, ""),
            _ => scene.edit(step),
        }
    }
    scene
}

/// The observation of a correct subject that reports these paths as changed by others.
fn reporting(scene: &Scene, request: &str, others: Option<&str>) -> Observation {
    let mut observation = scene.correct_observation(request);
    if let Answer::Restored(report) = &mut observation.answer {
        let paths = |text: &str| text.split_whitespace().map(ByteString::from).collect();
        report.others = others.map(paths);
    }
    observation
}

fn restore(scene: &mut Scene, others: &str) {
    let observation = reporting(scene, "restore alpha 1", Some(others));
    assert_eq!(scene.broken_rules(&observation), "");
    scene.learn(&observation);
}

/// Whether `a` must be reported (`+`), must not be (`-`) or may be (`?`).
fn verdict(taken: &str, steps: &str, target: &str) -> String {
    let scene = scene(taken, steps);
    let is_right = |others: &str| {
        let observation = reporting(&scene, &format!("restore alpha {target}"), Some(others));
        scene.broken_rules(&observation).is_empty()
    };
    match (is_right("a"), is_right("")) {
        (true, true) => "?",
        (true, false) => "+",
        (false, true) => "-",
        (false, false) => "none",
    }
    .to_owned()
}

#[test]
fn restore_reports_a_file_changed_outside_the_writes_of_the_agent() {
    for (steps, expected) in [
        ("(a a=2 a)", "-"),
        ("a=2", "+"),
        ("(a a=2 a) a=3", "+"),
        ("a=3 (a a=2 a)", "+"),
        ("(a a=2 a) a=3 (a a=4 a)", "+"),
        ("(a a=2 a) (a a=3 a)", "-"),
        ("(b b=2 b) a=3", "+"),
        ("(a a=2 a) -a", "+"),
        ("(a -a a)", "-"),
        ("a=3 a=1 (a a=2 a)", "?"),
        ("(a a=2", "?"),
        ("(a a=2 (a a=3 a)", "-"),
        ("a=2 a)", "?"),
        ("a=2 a) a=3", "+"),
    ] {
        assert_eq!(verdict("a=1", steps, "1"), expected, "{steps}");
    }
}

#[test]
fn restore_treats_a_file_missing_from_the_checkpoint_as_absent_or_unknown() {
    for (steps, expected) in [("(a a=2 a)", "-"), ("a=2", "+"), ("(a a=2 a) a=3", "+")] {
        assert_eq!(verdict("b=1", steps, "1"), expected, "{steps}");
    }
    assert_eq!(verdict("b=1 a?=1", "a=2", "1"), "?");
    assert_eq!(verdict("b=1 a?=1", "(a a=2 a)", "1"), "?");
}

#[test]
fn restore_compares_with_a_checkpoint_taken_before_a_tool() {
    for (steps, expected) in [("(a a=2 a) a=3 tool a=4", "+"), ("a=2 (b b) tool (a a=3 a)", "-")] {
        assert_eq!(verdict("Makefile=x a=1", steps, "1"), expected, "{steps}");
    }
}

#[test]
fn restore_does_not_report_files_written_by_an_earlier_restore() {
    for (steps, expected) in [
        ("(a a=2 a) take (b b) restore (a a=3 a)", "-"),
        ("(a a=2 a) restore", "-"),
        ("(a a=2 a) restore a=4", "+"),
        // The content that the agent left, but written by a user who undid the restore.
        ("(a a=2 a) restore a=2", "+"),
    ] {
        assert_eq!(verdict("a=1", steps, "2"), expected, "{steps}");
    }
}

#[test]
fn restore_reports_others_once_the_agent_reported_a_write_and_only_for_its_own_paths() {
    let reported = scene("a=1 b=1", "(a a=2 a)");
    let symptoms_of = |scene: &Scene, others: Option<&str>| {
        let observation = reporting(scene, "restore alpha 1", others);
        symptoms(&scene.checks(&observation)).join(" ")
    };
    assert_eq!(symptoms_of(&reported, None), "not reported");
    assert_eq!(symptoms_of(&reported, Some("a")), "named");
    assert_eq!(symptoms_of(&reported, Some("b")), "named in addition");
    assert_eq!(symptoms_of(&scene("a=1", "a=2"), None), "");
    assert_eq!(symptoms_of(&scene("a=1", "a=2"), Some("")), "not named");
    assert_eq!(
        reported.broken_rules(&reporting(&reported, "restore alpha 1", None)),
        "restore/other-hands"
    );
    let mut unable = Scene::changed("a=1", "a=2");
    unable.perform("restore alpha 1");
}

#[test]
fn restore_need_not_report_files_that_cannot_be_captured() {
    let scene = scene("a=1", "(b b) a=2");
    let mut ignored = scene.clone();
    ignored.edit(".gitignore=a");
    let observation = reporting(&ignored, "restore alpha 1", Some(".gitignore"));
    assert_eq!(
        symptoms(&ignored.checks(&observation))
            .iter()
            .filter(|symptom| **symptom == "not named")
            .count(),
        0
    );
    // It is also unknown whether the file existed while it was ignored.
    let since = self::scene(".gitignore=a", "(b b) a=2 -.gitignore");
    for others in [".gitignore", ".gitignore a"] {
        assert_eq!(since.broken_rules(&reporting(&since, "restore alpha 1", Some(others))), "");
    }
    // The checkpoint does not even hold the ignore file that excluded the file.
    let ignoring = self::scene("b=1", ".gitignore=* take (b b) .gitignore=");
    assert_eq!(ignoring.world.listed(b"work/alpha").len(), 2);
    for others in [".gitignore", ".gitignore b"] {
        assert_eq!(
            ignoring.broken_rules(&reporting(&ignoring, "restore alpha 1", Some(others))),
            ""
        );
    }
}

#[test]
fn prune_of_a_project_discards_the_reported_writes() {
    let mut scene = scene("a=1", "(b");
    let gone = Some(Contents::default());
    let observation = scene.observation("prune 1 0", swept(SweepOutcome::Done, Counts::default()));
    scene.learn(&Observation { contents: gone, ..observation });
    scene.perform("take alpha");
    scene.edit("-a");
    // No tool reported to the project since, so no rule says to whom this restore is attributed.
    let observation = reporting(&scene, "restore alpha 1", None);
    scene.learn(&observation);
    scene.perform("begins alpha c");
    for others in ["a", ""] {
        let observation = reporting(&scene, "restore alpha 1", Some(others));
        assert_eq!(scene.broken_rules(&observation), "", "{others}");
    }
}
