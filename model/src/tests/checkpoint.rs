//! What a request for a checkpoint comes to, and what it must not come to.

use super::*;
use crate::allowed::AllowedCheckpoint;
use CheckpointKind::{Created, Deduped, Disabled, Unchanged};
use pretty_assertions::assert_eq;

fn due(scene: &Scene, asked: &str) -> Box<AllowedCheckpoint> {
    match scene.allows(asked) {
        Allowed::Checkpoint(due) => due,
        other => panic!("{asked}: {other:?}"),
    }
}

/// What a request comes to, and the rule that decides it.
fn verdict(scene: &Scene, asked: &str) -> (CheckpointKind, &'static str) {
    let due = due(scene, asked);
    (due.kind, due.rule.id)
}

/// The rules that are broken by declining the request.
fn if_declined(scene: &Scene, asked: &str) -> String {
    scene.answered(asked, taken(CheckpointOutcome::Deduped))
}

#[test]
fn a_project_has_one_automatic_checkpoint_in_a_turn() {
    let mut scene = Scene::with("a=1 /work/beta/b=1");
    let first = due(&scene, "ensure alpha");
    assert_eq!((first.kind, first.rule.id), (Created, "capture/created"));
    assert_eq!(first.project, "work/alpha".into());
    assert_eq!(texts(first.captured.unwrap().tree.keys()), ["a"]);
    assert_eq!(if_declined(&scene, "ensure alpha"), "capture/created");
    scene.ask("ensure alpha");
    let again = due(&scene, "ensure alpha");
    assert_eq!((again.kind, again.rule.id), (Deduped, "turn/once"));
    assert_eq!(again.project, "work/alpha".into());
    assert!(again.may_refuse.is_empty() && !again.may_be_unchanged);
    assert_eq!(if_declined(&scene, "ensure beta"), "turn/per-project capture/created");
    for renewal in ["turn", "reopen"] {
        scene.ask(renewal);
        scene.put(&format!("a={renewal}"));
        assert_eq!(verdict(&scene, "ensure alpha"), (Created, "capture/created"));
        assert_eq!(if_declined(&scene, "ensure alpha"), "turn/reset capture/created");
        scene.ask("ensure alpha");
    }
    // What is out of scope by now may be refused as well, for that reason.
    scene.put("-/work/alpha");
    assert_eq!(due(&scene, "ensure alpha").may_refuse[0].codes, [Code::MissingDirectory]);
    for (code, broken) in [(Code::MissingDirectory, ""), (Code::Io, "scope/no-directory")] {
        assert_eq!(scene.answered("ensure alpha", refused(code)), broken);
    }
}

#[test]
fn finding_nothing_to_save_uses_the_slot_and_a_failure_does_not() {
    let mut scene = Scene::with("");
    assert_eq!(verdict(&scene, "ensure alpha"), (Unchanged, "capture/empty-first"));
    scene.ask("ensure alpha");
    assert_eq!(verdict(&scene, "ensure alpha"), (Deduped, "turn/nothing-uses-slot"));
    assert_eq!(scene.answered("ensure alpha", created(1)), "turn/nothing-uses-slot");

    let mut scene = Scene::with("a=1 /work/beta/b=1");
    scene.world.settings.max_files = 0;
    scene.ask("ensure alpha");
    scene.world.settings.max_files = 1;
    // A failed attempt of another project says nothing about this one.
    assert_eq!(if_declined(&scene, "ensure beta"), "capture/created");
    assert_eq!(if_declined(&scene, "ensure alpha"), "turn/failure-keeps-slot capture/created");
}

#[test]
fn a_checkpoint_before_a_restore_leaves_the_slot_free() {
    let mut scene = Scene::changed("a=1", "a=2");
    scene.ask("restore alpha 1");
    scene.put("a=3");
    let outside = "restore/safety-outside-turn capture/created";
    assert_eq!(if_declined(&scene, "ensure alpha"), outside);
    scene.put("/work/beta/b=");
    assert_eq!(if_declined(&scene, "ensure beta"), "capture/created");
    scene.ask("turn");
    assert_eq!(if_declined(&scene, "ensure alpha"), "capture/created");
}

#[test]
fn a_manual_checkpoint_asks_neither_the_turn_nor_the_settings() {
    let mut scene = Scene::with("a=1");
    assert_eq!(if_declined(&scene, "take alpha"), "capture/created");
    scene.ask("ensure alpha");
    scene.put("a=2");
    assert_eq!(verdict(&scene, "take alpha"), (Created, "capture/created"));
    assert_eq!(if_declined(&scene, "take alpha"), "turn/manual capture/created");
    assert_eq!(if_declined(&scene, "take beta"), "capture/created");
    scene.ask("ensure beta");
    assert_eq!(if_declined(&scene, "take beta"), "turn/manual capture/created");
    scene.ask("turn");
    scene.world.settings.enabled = false;
    assert_eq!(verdict(&scene, "ensure alpha"), (Disabled, "turn/disabled"));
    assert_eq!(if_declined(&scene, "take beta"), "turn/manual capture/created");
    // Where it must be refused, whoever declines has not looked.
    let gone = "turn/manual scope/no-directory";
    assert_eq!(scene.answered("take none", taken(CheckpointOutcome::Disabled)), gone);
    assert_eq!(
        scene.answered("take none", taken(CheckpointOutcome::Unchanged)),
        "scope/no-directory"
    );
}

#[test]
fn a_checkpoint_says_when_and_why_it_was_taken() {
    let mut scene = Scene::with("a=1");
    scene.wait(7);
    scene.ask("take alpha");
    let [only] = scene.world.history(b"work/alpha") else { panic!("one checkpoint") };
    assert_eq!((only.time, only.reason.as_deref()), (START + 7, Some("take alpha")));
    assert!(!only.safety);
}

#[test]
fn only_captured_files_count_against_the_limit() {
    let (counts, too_many) = ("scope/counts-captured", "scope/too-many-files");
    for (files, limit, rules) in [
        ("a= b= c= d/", 3, vec![too_many]),
        (".gitignore=c a= b= c=", 3, vec![counts, too_many]),
        (".gitignore=c a= b= c=", 4, vec![too_many]),
        // As many left out as there may be files.
        (".env= a=", 1, vec![counts, too_many]),
    ] {
        let mut scene = Scene::with(files);
        scene.world.settings.max_files = limit;
        let wrongly = scene.answered("take alpha", refused(Code::TooManyFiles));
        assert_eq!(wrongly, rules.join(" "), "{files}");
        let right = scene.checks(&scene.right("take alpha"));
        for rule in [counts, too_many] {
            assert_eq!(count(&right, rule), u64::from(rules.contains(&rule)), "{files}");
        }
        scene.world.settings.max_files = 0;
        let refused = refusals(&scene.allows("take alpha"));
        assert_eq!(refused, [(&[Code::TooManyFiles][..], too_many)]);
    }
}

#[test]
fn nothing_new_makes_no_checkpoint_where_that_is_recognised() {
    let unchanged = || taken(CheckpointOutcome::Unchanged);
    let mut scene = Scene::without("take.unchanged take.declines_empty", "/work/beta/b=1");
    for outcome in [unchanged(), created(1)] {
        assert_eq!(scene.answered("take alpha", outcome), "");
    }
    for asked in ["take alpha", "take beta"] {
        assert_eq!(due(&scene, asked).kind, Created);
        scene.ask(asked);
        assert_eq!(due(&scene, asked).kind, Created);
        // Who does not take it twice need not have said so.
        assert_eq!(scene.answered(asked, unchanged()), "");
        scene.put("a=2 /work/beta/b=2");
        assert_eq!(scene.answered(asked, unchanged()), "capture/created");
        scene.put("-a /work/beta/b=1");
    }
    // Who keeps a first checkpoint of nothing takes no second one.
    let mut scene = Scene::without("take.declines_empty", "");
    scene.told("take alpha", created(1));
    assert_eq!(verdict(&scene, "take alpha"), (Unchanged, "capture/unchanged"));
    let mut scene = Scene::with("");
    assert_eq!(scene.answered("take alpha", created(1)), "capture/empty-first");
    assert!(!due(&scene, "take alpha").may_be_unchanged);
    scene.put("a=1");
    scene.ask("take alpha");
    assert_eq!(verdict(&scene, "take alpha"), (Unchanged, "capture/unchanged"));
    assert_eq!(scene.answered("take alpha", created(2)), "capture/unchanged");
    // Nothing at all is something new where there was something before.
    scene.put("-a");
    assert_eq!(verdict(&scene, "take alpha"), (Created, "capture/created"));
}

#[test]
fn every_wrong_answer_breaks_the_rule_that_decides_the_right_one() {
    use CheckpointOutcome as Outcome;
    let mut scene = Scene::with("a=1");
    assert_eq!(if_declined(&scene, "take alpha"), "capture/created");
    let tell = |scene: &Scene, asked: &str, answer| {
        let checks = scene.checks(&scene.seen(asked, answer));
        let symptom = symptoms(&checks).join(", ");
        (broken(checks), symptom)
    };
    for (answer, symptom) in [
        (taken(Outcome::Deduped), "deduped"),
        (taken(Outcome::Disabled), "disabled, not created"),
        (taken(Outcome::Unchanged), "unchanged, not created"),
        (refused(Code::Io), "refused io, not created"),
        (Answer::Done, "done, not created"),
    ] {
        let found = tell(&scene, "take alpha", answer);
        assert_eq!(found, ("capture/created".into(), symptom.into()));
    }
    scene.ask("ensure alpha");
    for answer in [created(2), taken(Outcome::Unchanged), refused(Code::Io)] {
        let found = tell(&scene, "ensure alpha", answer);
        assert_eq!(found, ("turn/once".into(), "not deduped".into()));
    }
    let disabled = taken(Outcome::Disabled);
    assert_eq!(tell(&scene, "ensure alpha", disabled), ("turn/once".into(), "not deduped".into()));
    scene.world.settings.enabled = false;
    assert_eq!(if_declined(&scene, "ensure alpha"), "turn/disabled");
    scene.put("a=2");
    let (rules, symptom) = tell(&scene, "take alpha", created(1));
    assert_eq!((&*rules, &*symptom), ("capture/honest", "an earlier id"));
}

#[test]
fn the_id_of_a_checkpoint_that_was_dropped_may_name_the_same_content_again() {
    let mut scene = Scene::with("a=1");
    scene.world.settings.max_snapshots = 1;
    scene.ask("take alpha");
    scene.put("a=2");
    scene.ask("take alpha");
    scene.put("a=1");
    assert_eq!(scene.answered("take alpha", created(1)), "");
    // That of the one that is listed never does, and other content needs another id.
    assert_eq!(scene.answered("take alpha", created(2)), "capture/honest");
    scene.put("a=3");
    assert_eq!(scene.answered("take alpha", created(1)), "capture/honest");
}

#[test]
fn what_is_only_left_out_stops_nothing() {
    let scene = Scene::with("a=1 b?= c!");
    let broken = scene.answered("take alpha", refused(Code::Io));
    assert_eq!(broken, "capture/created capture/unreadable capture/special");
    assert_eq!(Scene::with("a=").answered("take alpha", refused(Code::Io)), "capture/created");
}

#[test]
fn a_change_that_is_not_seen_is_blamed_on_what_explains_it() {
    for (before, now, rules) in [
        ("a=1", "a*=1", "capture/executable capture/created"),
        ("a=1", "a=1 b>a", "capture/symlink capture/created"),
        ("a=1", "a=2", "capture/created"),
    ] {
        let mut scene = Scene::changed(before, now);
        let unchanged = || taken(CheckpointOutcome::Unchanged);
        assert_eq!(scene.answered("take alpha", unchanged()), rules, "{now}");
        // What is declined was not looked at.
        assert_eq!(if_declined(&scene, "take alpha"), "capture/created", "{now}");
        scene.ask("take alpha");
        assert_eq!(scene.answered("take alpha", unchanged()), "", "{now}");
    }
}

#[test]
fn what_is_left_out_unreadable_is_said_and_nothing_else_is() {
    let told = |scene: &Scene, names: &str| {
        let skipped = names.split_whitespace().map(|name| remark(name.into())).collect();
        let outcome = CheckpointOutcome::Created { id: id(1) };
        scene.answered("take alpha", Answer::Taken { outcome, skipped })
    };
    let scene = Scene::with("a=1 b?= c!");
    for (names, rules) in
        [("b", ""), ("b c", ""), ("", "capture/unreadable"), ("a b", "capture/honest")]
    {
        assert_eq!(told(&scene, names), rules, "{names}");
    }
    assert_eq!(told(&Scene::without("take.skipped", "a=1 b?="), ""), "");
    // What was not due was not captured for it.
    let empty = Scene::with("b?=");
    assert_eq!(told(&empty, ""), "capture/empty-first");
}
