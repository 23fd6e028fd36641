//! Whose hand changed a file: what a restore must say of that, may say, and must not.

use super::*;
use crate::answer::{Protected, Taken};
use pretty_assertions::assert_eq;

/// What happens after a checkpoint of `alpha`: edits as in [`edits`]; `(a` and `a)` tell that a tool
/// of the agent begins and ends to write `a`; `take`, `restore` and what is done before a `tool` are
/// asked of `alpha`.
fn scene(taken: &str, happens: &str) -> Scene {
    let has = CAPABILITIES.into_iter().chain(["restore.others"]).collect();
    let mut scene = Scene::able(has, taken);
    scene.ask("take alpha");
    for word in happens.split_whitespace() {
        match (word.strip_prefix('('), word.strip_suffix(')')) {
            (Some(path), _) => drop(scene.ask(&format!("begins alpha {path}"))),
            (_, Some(path)) => drop(scene.ask(&format!("ends alpha {path}"))),
            _ if word == "take" => drop(scene.ask("take alpha")),
            _ if word == "tool" => {
                let outcome = CheckpointOutcome::Created { id: id(9) };
                let taken = Some(Taken { outcome, skipped: Vec::new() });
                let all = vec![Protected { project: "/world/work/alpha".into(), taken }];
                scene.told("writes alpha a", Answer::Protected(all));
            }
            _ if word == "restore" => restore(&mut scene, ""),
            _ => scene.put(word),
        }
    }
    scene
}

/// What a correct subject answers, with those paths named.
fn saying(scene: &Scene, asked: &str, others: Option<&str>) -> Observation {
    let mut seen = scene.right(asked);
    if let Answer::Restored(said) = &mut seen.answer {
        let paths = |text: &str| text.split_whitespace().map(ByteString::from).collect();
        said.others = others.map(paths);
    }
    seen
}

fn restore(scene: &mut Scene, others: &str) {
    let seen = saying(scene, "restore alpha 1", Some(others));
    assert_eq!(scene.broken(&seen), "");
    scene.learn(&seen);
}

/// Whether naming `a` and not naming it are right: `+` only naming, `-` only not, `?` both.
fn verdict(taken: &str, happens: &str, target: &str) -> String {
    let scene = scene(taken, happens);
    let right = |others: &str| {
        let seen = saying(&scene, &format!("restore alpha {target}"), Some(others));
        scene.broken(&seen).is_empty()
    };
    match (right("a"), right("")) {
        (true, true) => "?",
        (true, false) => "+",
        (false, true) => "-",
        (false, false) => "none",
    }
    .to_owned()
}

#[test]
fn whoever_changed_a_file_between_the_looks_of_the_agent_is_another() {
    for (happens, is) in [
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
        assert_eq!(verdict("a=1", happens, "1"), is, "{happens}");
    }
}

#[test]
fn what_the_checkpoint_does_not_hold_was_not_there_or_nobody_knows() {
    for (happens, is) in [("(a a=2 a)", "-"), ("a=2", "+"), ("(a a=2 a) a=3", "+")] {
        assert_eq!(verdict("b=1", happens, "1"), is, "{happens}");
    }
    assert_eq!(verdict("b=1 a?=1", "a=2", "1"), "?");
    assert_eq!(verdict("b=1 a?=1", "(a a=2 a)", "1"), "?");
}

#[test]
fn a_checkpoint_that_was_taken_before_a_tool_is_one_to_compare_with() {
    for (happens, is) in [("(a a=2 a) a=3 tool a=4", "+"), ("a=2 (b b) tool (a a=3 a)", "-")] {
        assert_eq!(verdict("Makefile=x a=1", happens, "1"), is, "{happens}");
    }
}

#[test]
fn a_restore_is_nobodys_hand_where_the_agent_told_before_it() {
    for (happens, is) in [
        ("(a a=2 a) take (b b) restore (a a=3 a)", "-"),
        ("(a a=2 a) restore", "-"),
        ("(a a=2 a) restore a=4", "+"),
        // As the agent left it, but by somebody who undid the restore.
        ("(a a=2 a) restore a=2", "+"),
    ] {
        assert_eq!(verdict("a=1", happens, "2"), is, "{happens}");
    }
}

#[test]
fn it_is_to_be_said_once_the_agent_told_and_only_of_what_the_restore_is_about() {
    let told = scene("a=1 b=1", "(a a=2 a)");
    let symptoms_of = |scene: &Scene, others: Option<&str>| {
        let seen = saying(scene, "restore alpha 1", others);
        symptoms(&scene.checks(&seen)).join(" ")
    };
    assert_eq!(symptoms_of(&told, None), "not said");
    assert_eq!(symptoms_of(&told, Some("a")), "named");
    assert_eq!(symptoms_of(&told, Some("b")), "named beside");
    assert_eq!(symptoms_of(&scene("a=1", "a=2"), None), "");
    assert_eq!(symptoms_of(&scene("a=1", "a=2"), Some("")), "not named");
    assert_eq!(told.broken(&saying(&told, "restore alpha 1", None)), "restore/other-hands");
    let mut unable = Scene::changed("a=1", "a=2");
    unable.ask("restore alpha 1");
}

#[test]
fn what_cannot_be_captured_any_more_is_not_compared() {
    let scene = scene("a=1", "(b b) a=2");
    let mut ignored = scene.clone();
    ignored.put(".gitignore=a");
    let seen = saying(&ignored, "restore alpha 1", Some(".gitignore"));
    assert_eq!(
        symptoms(&ignored.checks(&seen)).iter().filter(|one| **one == "not named").count(),
        0
    );
    // Whether it was there when it was ignored nobody knows either.
    let since = self::scene(".gitignore=a", "(b b) a=2 -.gitignore");
    for others in [".gitignore", ".gitignore a"] {
        assert_eq!(since.broken(&saying(&since, "restore alpha 1", Some(others))), "");
    }
    // The checkpoint does not even hold the ignore file that left it out.
    let all = self::scene("b=1", ".gitignore=* take (b b) .gitignore=");
    assert_eq!(all.world.listed(b"work/alpha").len(), 2);
    for others in [".gitignore", ".gitignore b"] {
        assert_eq!(all.broken(&saying(&all, "restore alpha 1", Some(others))), "");
    }
}

#[test]
fn what_was_told_a_project_is_gone_with_its_history() {
    let mut told = scene("a=1", "(b");
    let gone = Some(Contents::default());
    let seen = told.seen("prune 1 0", swept(SweepOutcome::Done, Counts::default()));
    told.learn(&Observation { contents: gone, ..seen });
    told.ask("take alpha");
    told.put("-a");
    // Nobody told that project anything since, so that no rule says whose restore this was.
    let seen = saying(&told, "restore alpha 1", None);
    told.learn(&seen);
    told.ask("begins alpha c");
    for others in ["a", ""] {
        let seen = saying(&told, "restore alpha 1", Some(others));
        assert_eq!(told.broken(&seen), "", "{others}");
    }
}
