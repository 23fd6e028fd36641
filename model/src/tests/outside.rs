//! What was done outside: it is named by a restore, and compensated once, when it is asked for.

use super::agent::scene;
use super::*;
use crate::answer::Compensated;
use pretty_assertions::assert_eq;

fn pr(id: &str) -> Action {
    Action { kind: "pr".into(), id: Some(id.into()), to: None }
}

/// The rules that a restore breaks which names these actions.
fn naming(scene: &Scene, asked: &str, ids: Option<&[&str]>) -> String {
    let mut seen = scene.right(asked);
    if let Answer::Restored(said) = &mut seen.answer {
        said.external = ids.map(|ids| ids.iter().map(|id| pr(id)).collect());
    }
    scene.broken(&seen)
}

#[test]
fn a_restore_names_what_was_done_outside_since_its_checkpoint() {
    let happens = "did 1 | take alpha | did 2 | +a=2 | take alpha | did 3 | +a=3";
    let scene = scene("a=1", happens);
    let of =
        |target: &str, ids: &[&str]| naming(&scene, &format!("restore alpha {target}"), Some(ids));
    let listed = "agent/external-listed";
    assert_eq!((of("1", &["3"]), of("2", &["2", "3"])), (String::new(), String::new()));
    assert_eq!((&*of("2", &["3"]), &*of("2", &["2"])), (listed, listed));
    // What happened before it did not go, and what never happened is a lie.
    assert_eq!((&*of("1", &["2", "3"]), &*of("1", &["3", "9"])), (listed, listed));
    assert_eq!(naming(&scene, "restore alpha 1", None), listed);
    // A single file leaves it free.
    assert_eq!(naming(&scene, "file alpha 1 a", None), "");
}

/// The rules that are broken where these lines are appended, and that is said of them.
fn running(scene: &Scene, asked: &str, lines: &str, said: &str) -> String {
    let mut seen = scene.right(asked);
    let log = b"outside/log";
    let before = match seen.files.get(log) {
        Some(Node::File { content, .. }) => content.to_vec(),
        _ => Vec::new(),
    };
    if !lines.is_empty() {
        let added: String = lines.split(' ').map(|id| format!("pr {id}\n")).collect();
        let content = [&before[..], added.as_bytes()].concat().into();
        let file = Node::File { content, executable: false, readable: true };
        seen.files.make_parents(log);
        seen.files.insert(log, file);
    }
    if let Answer::Compensated(answer) = &mut seen.answer {
        let (failed, compensated) =
            said.split_whitespace().partition::<Vec<_>, _>(|one| one.starts_with('!'));
        let actions = |ids: Vec<&str>| ids.iter().map(|id| pr(id.trim_matches('!'))).collect();
        *answer = Compensated { compensated: actions(compensated), failed: actions(failed) };
    }
    let mut broken: Vec<String> = scene.broken(&seen).split(' ').map(str::to_owned).collect();
    broken.dedup();
    broken.join(" ")
}

const ROLLED_BACK: &str = "take alpha | did 1 runs | did 2 fails | did 3 | +a=2 | restore alpha 1";

#[test]
fn compensations_run_once_newest_first_and_only_when_they_are_asked_for() {
    let scene = scene("a=1", ROLLED_BACK);
    let rule = "agent/compensation";
    for (lines, said, broken) in [
        ("2 1", "!2 1", ""),
        ("1 2", "!2 1", rule),
        ("2", "!2", rule),
        ("", "", rule),
        ("2 1 1", "!2 1", rule),
        ("2 1", "2 1", rule),
        ("2 1", "1", rule),
        ("2 1 9", "!2 1", rule),
    ] {
        assert_eq!(running(&scene, "compensate", lines, said), broken, "{lines}, {said}");
    }
    assert_eq!(running(&scene, "restore alpha 2", "1", ""), "agent/external-listed");
    assert_eq!(running(&scene, "take alpha", "1", ""), rule);
    // Before anything is rolled back no rule says whether any of it runs, but that it does once.
    let before = self::scene("a=1", "take alpha | did 1 runs");
    let (none, once) =
        (running(&before, "compensate", "", ""), running(&before, "compensate", "1", "1"));
    assert_eq!((&*none, &*once, &*running(&before, "compensate", "1 1", "1")), ("", "", rule));
}

#[test]
fn after_a_rollback_to_an_unknown_checkpoint_nobody_knows_what_is_left_behind() {
    let mut scene = scene("a=1", ROLLED_BACK);
    scene.told("file alpha 9f9f a", Answer::Restored(Restored::default()));
    assert_eq!(running(&scene, "compensate", "", ""), "agent/compensation", "one file is none");
    scene.told("restore alpha 9f9f", Answer::Restored(Restored::default()));
    for (lines, said) in [("", ""), ("2 1", "!2 1")] {
        assert_eq!(running(&scene, "compensate", lines, said), "");
    }
}

#[test]
fn after_the_store_was_cleared_no_rule_says_what_is_left_to_compensate() {
    let mut cleared = scene("a=1", ROLLED_BACK);
    cleared.ask("clear");
    for (lines, said) in [("", ""), ("2 1", "!2 1")] {
        assert_eq!(running(&cleared, "compensate", lines, said), "");
    }
}

/// The scene once it compensated.
fn compensated(scene: &Scene, lines: &str) -> Scene {
    let mut done = scene.clone();
    let mut seen = scene.seen("compensate", Answer::Compensated(Compensated::default()));
    let added: String = lines.split(' ').map(|id| format!("pr {id}\n")).collect();
    seen.files.make_parents(b"outside/log");
    let file = Node::File { content: added.into_bytes().into(), executable: false, readable: true };
    seen.files.insert(b"outside/log", file);
    done.learn(&seen);
    done
}

#[test]
fn what_ran_or_was_accepted_never_runs_again() {
    let scene = scene("a=1", ROLLED_BACK);
    let done = compensated(&scene, "2 1");
    let rule = "agent/compensation";
    assert_eq!(
        (running(&done, "compensate", "", ""), &*running(&done, "compensate", "2", "!2")),
        (String::new(), rule)
    );
    let mut accepted = scene.clone();
    accepted.ask("accept");
    assert_eq!(running(&accepted, "compensate", "", ""), "");
    assert_eq!(running(&accepted, "compensate", "1", "1"), rule);
    // Where another process opened the store, what compensates may not be known to it.
    let mut reopened = scene.clone();
    reopened.ask("reopen");
    for lines in ["", "2 1"] {
        assert_eq!(
            running(&reopened, "compensate", lines, if lines.is_empty() { "" } else { "!2 1" }),
            ""
        );
    }
    // What is compensated or accepted need not be named again, and what failed must be.
    let named = |scene: &Scene, ids: &[&str]| naming(scene, "restore alpha 2", Some(ids));
    assert_eq!(named(&done, &["2", "3"]), "");
    assert_eq!(named(&done, &["3"]), "agent/external-listed");
    assert_eq!(named(&accepted, &[]), "");
    assert_eq!(named(&accepted, &["1", "2", "3"]), "");
}
