//! External actions: a restore lists them, and each is compensated once, on request.

use super::agent::scene;
use super::*;
use crate::answer::Compensated;
use pretty_assertions::assert_eq;

fn pr(id: &str) -> Action {
    Action { kind: "pr".into(), id: Some(id.into()), to: None }
}

/// The rules broken by a restore that lists these external actions.
fn listing(scene: &Scene, request: &str, ids: Option<&[&str]>) -> String {
    let mut observation = scene.correct_observation(request);
    if let Answer::Restored(report) = &mut observation.answer {
        report.external = ids.map(|ids| ids.iter().map(|id| pr(id)).collect());
    }
    scene.broken_rules(&observation)
}

#[test]
fn restore_lists_the_external_actions_since_its_checkpoint() {
    let steps = "did 1 | take alpha | did 2 | +a=2 | take alpha | did 3 | +a=3";
    let scene = scene("a=1", steps);
    let restoring =
        |target: &str, ids: &[&str]| listing(&scene, &format!("restore alpha {target}"), Some(ids));
    let listed = "agent/external-listed";
    assert_eq!(
        (restoring("1", &["3"]), restoring("2", &["2", "3"])),
        (String::new(), String::new())
    );
    assert_eq!((&*restoring("2", &["3"]), &*restoring("2", &["2"])), (listed, listed));
    // An action before the checkpoint must not be listed, nor one that never happened.
    assert_eq!((&*restoring("1", &["2", "3"]), &*restoring("1", &["3", "9"])), (listed, listed));
    assert_eq!(listing(&scene, "restore alpha 1", None), listed);
    // For a single file the list is optional.
    assert_eq!(listing(&scene, "file alpha 1 a", None), "");
}

/// The rules broken by a request that appends these lines to the log and reports these ids.
fn running(scene: &Scene, request: &str, lines: &str, reported: &str) -> String {
    let mut observation = scene.correct_observation(request);
    let log = b"outside/log";
    let before = match observation.files.get(log) {
        Some(Node::File { content, .. }) => content.to_vec(),
        _ => Vec::new(),
    };
    if !lines.is_empty() {
        let added: String = lines.split(' ').map(|id| format!("pr {id}\n")).collect();
        let content = [&before[..], added.as_bytes()].concat().into();
        let file = Node::File { content, executable: false, readable: true };
        observation.files.make_parents(log);
        observation.files.insert(log, file);
    }
    if let Answer::Compensated(answer) = &mut observation.answer {
        let (failed, compensated) =
            reported.split_whitespace().partition::<Vec<_>, _>(|id| id.starts_with('!'));
        let actions = |ids: Vec<&str>| ids.iter().map(|id| pr(id.trim_matches('!'))).collect();
        *answer = Compensated { compensated: actions(compensated), failed: actions(failed) };
    }
    let mut broken: Vec<String> =
        scene.broken_rules(&observation).split(' ').map(str::to_owned).collect();
    broken.dedup();
    broken.join(" ")
}

const ROLLED_BACK: &str = "take alpha | did 1 runs | did 2 fails | did 3 | +a=2 | restore alpha 1";

#[test]
fn compensate_runs_each_compensation_once_newest_first_and_no_other_request_does() {
    let scene = scene("a=1", ROLLED_BACK);
    let rule = "agent/compensation";
    for (lines, reported, broken) in [
        ("2 1", "!2 1", ""),
        ("1 2", "!2 1", rule),
        ("2", "!2", rule),
        ("", "", rule),
        ("2 1 1", "!2 1", rule),
        ("2 1", "2 1", rule),
        ("2 1", "1", rule),
        ("2 1 9", "!2 1", rule),
    ] {
        assert_eq!(running(&scene, "compensate", lines, reported), broken, "{lines}, {reported}");
    }
    assert_eq!(running(&scene, "restore alpha 2", "1", ""), "agent/external-listed");
    assert_eq!(running(&scene, "take alpha", "1", ""), rule);
    // Before any rollback a compensation may run or not, but at most once.
    let before = self::scene("a=1", "take alpha | did 1 runs");
    let none = running(&before, "compensate", "", "");
    let once = running(&before, "compensate", "1", "1");
    assert_eq!((&*none, &*once, &*running(&before, "compensate", "1 1", "1")), ("", "", rule));
}

#[test]
fn compensate_may_do_anything_after_a_restore_of_an_unknown_checkpoint() {
    let mut scene = scene("a=1", ROLLED_BACK);
    scene.learn_answer("file alpha 9f9f a", Answer::Restored(Restored::default()));
    assert_eq!(running(&scene, "compensate", "", ""), "agent/compensation", "one file is none");
    scene.learn_answer("restore alpha 9f9f", Answer::Restored(Restored::default()));
    for (lines, reported) in [("", ""), ("2 1", "!2 1")] {
        assert_eq!(running(&scene, "compensate", lines, reported), "");
    }
}

#[test]
fn compensate_may_or_may_not_run_after_clear() {
    let mut cleared = scene("a=1", ROLLED_BACK);
    cleared.perform("clear");
    for (lines, reported) in [("", ""), ("2 1", "!2 1")] {
        assert_eq!(running(&cleared, "compensate", lines, reported), "");
    }
}

/// The scene after these compensations ran.
fn compensated(scene: &Scene, lines: &str) -> Scene {
    let mut done = scene.clone();
    let mut observation =
        scene.observation("compensate", Answer::Compensated(Compensated::default()));
    let added: String = lines.split(' ').map(|id| format!("pr {id}\n")).collect();
    observation.files.make_parents(b"outside/log");
    let file = Node::File { content: added.into_bytes().into(), executable: false, readable: true };
    observation.files.insert(b"outside/log", file);
    done.learn(&observation);
    done
}

#[test]
fn compensate_never_repeats_a_compensation_that_ran_or_was_accepted() {
    let scene = scene("a=1", ROLLED_BACK);
    let done = compensated(&scene, "2 1");
    let rule = "agent/compensation";
    assert_eq!(
        (running(&done, "compensate", "", ""), &*running(&done, "compensate", "2", "!2")),
        (String::new(), rule)
    );
    let mut accepted = scene.clone();
    accepted.perform("accept");
    assert_eq!(running(&accepted, "compensate", "", ""), "");
    assert_eq!(running(&accepted, "compensate", "1", "1"), rule);
    // A process that reopens the store may not know the compensations.
    let mut reopened = scene.clone();
    reopened.perform("reopen");
    for lines in ["", "2 1"] {
        assert_eq!(
            running(&reopened, "compensate", lines, if lines.is_empty() { "" } else { "!2 1" }),
            ""
        );
    }
    // Compensated or accepted actions need not be listed again, but failed ones must be.
    let listing_ids = |scene: &Scene, ids: &[&str]| listing(scene, "restore alpha 2", Some(ids));
    assert_eq!(listing_ids(&done, &["2", "3"]), "");
    assert_eq!(listing_ids(&done, &["3"]), "agent/external-listed");
    assert_eq!(listing_ids(&accepted, &[]), "");
    assert_eq!(listing_ids(&accepted, &["1", "2", "3"]), "");
}
