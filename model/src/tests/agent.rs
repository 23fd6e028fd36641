//! The agent beside its files: what is recorded and restored, named and pinned, listed, compensated
//! and triggered, and what no rule decides.

use super::*;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Everything that an agent's checkpoints may have, its goal as the one part.
const ABLE: [&str; 12] = [
    "state",
    "state.goal",
    "label",
    "pin",
    "restore.latest",
    "external",
    "external.compensate",
    "external.accept",
    "event",
    "event.high_risk",
    "event.milestone",
    "subagent",
];

/// What happens to a correct subject with these files: requests as in [`request`], parted by `|`, and
/// edits as in [`edits`] after a `+`.
pub(super) fn scene(files: &str, happens: &str) -> Scene {
    limited(20, files, happens)
}

fn limited(max_snapshots: usize, files: &str, happens: &str) -> Scene {
    let mut scene = Scene::able(CAPABILITIES.into_iter().chain(ABLE).collect(), files);
    scene.put("/outside/");
    scene.world.settings.max_snapshots = max_snapshots;
    for word in happens.split('|').map(str::trim).filter(|word| !word.is_empty()) {
        match word.strip_prefix('+') {
            Some(edit) => scene.put(edit.trim()),
            None => drop(scene.ask(word)),
        }
    }
    scene
}

fn state(value: &str) -> Answer {
    Answer::State(json!(value))
}

/// The goals among these that are right, and the rule that the first of the others breaks.
fn goals(scene: &Scene, of: &[&str]) -> (Vec<String>, String) {
    let verdict = |goal: &&str| scene.answered("get", state(goal));
    let right = of.iter().filter(|goal| verdict(goal).is_empty());
    let broken = of.iter().map(verdict).find(|broken| !broken.is_empty());
    (right.map(|goal| (*goal).to_owned()).collect(), broken.unwrap_or_default())
}

#[test]
fn a_part_is_what_it_was_set_to_until_a_restore_makes_it_what_was_recorded() {
    for (happens, right, broken) in [
        ("", "one two three", ""),
        ("set one", "one", "agent/parts"),
        ("set one | take alpha | set two | +a=2 | restore alpha 1", "one", "agent/all-or-none"),
        ("set one | take alpha | reopen | +a=2 | restore alpha 1", "one", "agent/parts"),
        ("take alpha | set two | +a=2 | restore alpha 1", "one two three", ""),
        ("set one | take alpha | set two | restore alpha 7", "two", "agent/all-or-none"),
        ("set one | take alpha | set two | file alpha 1 a", "two", "agent/all-or-none"),
        ("set one | take alpha | set two | latest alpha", "one", "agent/all-or-none"),
        // What another process knows of it, no rule says; what a checkpoint has, stays.
        ("set one | take alpha | set two | reopen", "one two three", ""),
        ("set one | clear", "one two three", ""),
    ] {
        let all = ["one", "two", "three"];
        let expected = right.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(goals(&scene("a=1", happens), &all), (expected, broken.to_owned()), "{happens}");
    }
}

#[test]
fn what_a_sub_agent_made_a_part_is_no_answer_to_who_restores_his_own() {
    let happens =
        "set one | take alpha | spawn | set two | take alpha | set three | join | restore alpha 2";
    let scene = scene("a=1", happens);
    for (found, broken) in [("one", ""), ("two", "agent/composes"), ("three", "agent/all-or-none")]
    {
        assert_eq!(scene.answered("get", state(found)), broken, "{found}");
    }
    let right = scene.checks(&scene.seen("get", state("one")));
    assert_eq!(count(&right, "agent/composes"), 1);
    assert_eq!(count(&right, "agent/all-or-none"), 1);
}

#[test]
fn what_was_never_set_need_not_be_there() {
    let refusal = || refused(Code::BadState);
    assert_eq!(scene("", "").answered("get", refusal()), "");
    assert_eq!(scene("", "set one").answered("get", refusal()), "agent/parts");
    assert_eq!(scene("", "set one").answered("set two", refusal()), "agent/parts");
}

#[test]
fn a_part_that_changed_is_a_change() {
    let unchanged = || taken(CheckpointOutcome::Unchanged);
    for (happens, new, none) in [
        ("set one | take alpha", "capture/unchanged", ""),
        ("set one | take alpha | set two", "", "agent/parts"),
        ("set one | take alpha | set two | set one", "capture/unchanged", ""),
        // What is null may be what was never set, and what happened outside may be a change.
        ("take alpha | set one", "", ""),
        ("take alpha | did 1", "", ""),
        ("set one | take alpha | reopen", "", ""),
    ] {
        let scene = scene("a=1", happens);
        assert_eq!(scene.answered("take alpha", created(9)), new, "{happens}");
        assert_eq!(scene.answered("take alpha", unchanged()), none, "{happens}");
    }
    // A project that holds nothing, and a part.
    assert_eq!(scene("", "set one").answered("take alpha", created(9)), "");
    assert_eq!(scene("", "set one").answered("take alpha", unchanged()), "");
}

#[test]
fn where_a_part_could_not_be_set_nobody_knows_what_it_is() {
    let mut scene = scene("a=1", "set one");
    scene.told("set two", refused(Code::Io));
    assert_eq!(goals(&scene, &["one", "two"]).0, ["one", "two"]);
}

#[test]
fn a_checkpoint_before_a_restore_holds_the_parts() {
    let scene = scene("a=1", "set one | take alpha | set two");
    let without = |asked: &str| {
        let mut seen = scene.right(asked);
        if let Answer::Restored(said) = &mut seen.answer {
            said.safety = None;
        }
        scene.broken(&seen)
    };
    assert_eq!(without("restore alpha 1"), "restore/safety-checkpoint");
    // A single file leaves them alone.
    assert_eq!(without("file alpha 1 a"), "");
    let mut undone = scene.clone();
    undone.ask("restore alpha 1");
    undone.ask("restore alpha 1");
    assert_eq!(undone.answered("get", state("two")), "");
}

#[test]
fn a_label_names_a_checkpoint_and_two_of_a_kind_name_none() {
    let labelled = "label alpha base | +a=2 | take alpha | +a=3";
    assert_eq!(scene("a=1", labelled).allows("restore alpha base").restored(), "a=1");
    let twice = scene("a=1", "label alpha base | +a=2 | label alpha base | +a=3");
    let codes: &[Code] = &[Code::AmbiguousCheckpoint];
    assert_eq!(refusals(&twice.allows("restore alpha base")), [(codes, "agent/all-or-none")]);
    // A number of the list comes first, and a label before the beginning of an id.
    let named = |label: &str| {
        let happens = format!("label alpha {label} | +a=2 | take alpha | +a=3");
        let target = if label == "2f2f" { label } else { "1" };
        scene("a=1", &happens).allows(&format!("restore alpha {target}")).restored()
    };
    assert_eq!((named("2f2f"), named("x")), ("a=1".to_owned(), "a=2".to_owned()));
    // Where nothing changed the newest may get it.
    let same = scene("a=1", "take alpha");
    assert_eq!(same.answered("label alpha x", created(9)), "");
    assert_eq!(same.answered("label alpha x", taken(CheckpointOutcome::Unchanged)), "");
    let changed = scene("a=1", "take alpha | +a=2");
    let unchanged = changed.answered("label alpha x", taken(CheckpointOutcome::Unchanged));
    assert_eq!(unchanged, "capture/created");
}

/// What a restore brings back of `a`.
trait Restores {
    fn restored(&self) -> String;
}

impl Restores for Allowed {
    fn restored(&self) -> String {
        let Allowed::Restore(due) = self else { panic!("{self:?}") };
        let entry = due.target.tree[&ByteString::from("a")].bytes().to_vec();
        format!("a={}", String::from_utf8(entry).unwrap())
    }
}

/// The rules that a list of these numbers breaks, newest first.
fn listing(scene: &Scene, numbers: &[usize]) -> String {
    let Answer::Listed(all) = scene.right("list alpha").answer else { panic!() };
    let listed = numbers.iter().enumerate().map(|(at, number)| {
        let known = all.iter().find(|one| one.id == id(*number)).cloned();
        let mut one = known.unwrap_or_else(|| all[0].clone());
        (one.number, one.id) = (at + 1, id(*number));
        // What changed against the one before depends on which one is.
        one.stats = None;
        one
    });
    let checks = scene.checks(&scene.seen("list alpha", Answer::Listed(listed.collect())));
    let stats = ["list/stats", "list/oldest-no-stats", "list/time", "capture/reason"];
    let kept = |one: &str| !stats.contains(&one);
    broken(checks).split(' ').filter(|one| kept(one)).collect::<Vec<_>>().join(" ")
}

#[test]
fn no_limit_drops_what_is_pinned_and_whether_it_counts_is_free() {
    let happens = "label alpha x | +a=2 | take alpha | +a=3 | take alpha | +a=4 | take alpha";
    let scene = limited(2, "a=1", happens);
    assert_eq!(listing(&scene, &[4, 3, 1]), "");
    assert_eq!(listing(&scene, &[4, 1]), "");
    assert_eq!(listing(&scene, &[4, 3]), "agent/pinned list/complete");
    assert_eq!(listing(&scene, &[3, 1]), "list/complete");
    // Once it is unpinned it may go, at once or when the next one is taken.
    let mut unpinned = scene.clone();
    let listed = |numbers: &[usize]| {
        let ids: Vec<String> = numbers.iter().map(|number| id(*number)).collect();
        move |scene: &mut Scene| scene.world.settle(b"work/alpha", &ids.iter().collect::<Vec<_>>())
    };
    listed(&[4, 3, 1])(&mut unpinned);
    unpinned.ask("unpin alpha x");
    for left in [&[4, 3, 1][..], &[4, 3]] {
        assert_eq!(listing(&unpinned, left), "", "{left:?}");
    }
    unpinned.put("a=5");
    unpinned.ask("take alpha");
    assert_eq!(listing(&unpinned, &[5, 4]), "");
    assert_eq!(listing(&unpinned, &[5, 4, 3, 1]), "list/at-most list/complete");
}

#[test]
fn what_is_unpinned_may_go_only_where_more_are_there_than_the_limit() {
    let few = "label alpha x | +a=2 | take alpha";
    for (happens, listed, may_go) in [
        (few.to_owned(), &[2, 1][..], false),
        (format!("{few} | +a=3 | take alpha"), &[3, 2, 1], true),
    ] {
        let mut scene = limited(2, "a=1", &happens);
        let ids: Vec<String> = listed.iter().map(|number| id(*number)).collect();
        scene.world.settle(b"work/alpha", &ids.iter().collect::<Vec<_>>());
        scene.ask("unpin alpha x");
        let (newest, others) = listed.split_first().unwrap();
        let without_the_oldest = &listed[..listed.len() - 1];
        assert_eq!(listing(&scene, listed), "", "{newest}");
        assert_eq!(listing(&scene, without_the_oldest).is_empty(), may_go, "{newest}");
        assert_eq!(listing(&scene, others), "list/complete", "the newest stays");
    }
}

#[test]
fn what_only_its_pin_kept_may_go_once_it_is_unpinned() {
    let mut scene = scene("a=1", "label alpha x | +a=2 | take alpha | +a=3 | take alpha");
    let mut unpinned = scene.clone();
    unpinned.ask("unpin alpha x");
    assert_eq!(listing(&unpinned, &[3, 2]), "list/complete", "nothing went before it");
    let visible = [(scene.world.hash(b"work/alpha"), vec![id(3), id(1)])].into();
    let contents = Some(Contents { visible, ..Contents::default() });
    let seen = scene.seen("prune 0 50", swept(SweepOutcome::Done, Counts::default()));
    scene.learn(&Observation { contents, ..seen });
    assert_eq!(listing(&scene, &[3, 1]), "");
    assert_eq!(listing(&scene, &[3]), "agent/pinned list/complete");
    scene.ask("unpin alpha x");
    assert_eq!((listing(&scene, &[3, 1]), listing(&scene, &[3])), (String::new(), String::new()));
    // Or with whatever is taken next.
    scene.put("a=4");
    scene.ask("take alpha");
    assert_eq!(listing(&scene, &[4, 3, 1]), "");
    assert_eq!(listing(&scene, &[4, 3]), "");
    assert_eq!(listing(&scene, &[4, 1]), "list/complete");
}

#[test]
fn a_pin_is_kept_whatever_it_was_named_by() {
    let happens = "take alpha | +a=2 | take alpha | pin alpha 2 | +a=3 | take alpha";
    let scene = limited(2, "a=1", happens);
    assert_eq!(listing(&scene, &[3, 2, 1]), "");
    assert_eq!(listing(&scene, &[3, 2]), "agent/pinned list/complete");
    let mut scene = scene;
    scene.world.settle(b"work/alpha", &[&id(3), &id(2), &id(1)]);
    assert_eq!(scene.answered("pin alpha 1", refused(Code::Io)), "agent/pinned");
    assert_eq!(scene.answered("pin alpha no", Answer::Done), "restore/bad-target");
}

#[test]
fn a_checkpoint_is_due_at_what_anybody_calls_an_event_and_once_for_each() {
    let undue = || taken(CheckpointOutcome::NotDue);
    for (happens, asked, new, none) in [
        ("", "risk alpha", "", "agent/triggers"),
        ("", "looks alpha", "", ""),
        ("", "progress alpha 20 30", "", "agent/triggers"),
        ("", "progress alpha 30 40", "", ""),
        ("", "progress alpha 90 100", "", "agent/triggers"),
        ("progress alpha 20 30 | +a=2", "progress alpha 20 30", "agent/triggers", ""),
        ("progress alpha 20 30 | +a=2 | turn", "progress alpha 40 60", "", "agent/triggers"),
        ("progress alpha 20 30 | +a=2 | restore alpha 1", "progress alpha 20 30", "", ""),
        // Whether one that was taken for another reason is enough for a turn, no rule says.
        ("ensure alpha | +a=2", "risk alpha", "", ""),
        ("progress alpha 20 30 | +a=2", "risk alpha", "", ""),
    ] {
        let scene = scene("a=1", happens);
        assert_eq!(scene.answered(asked, created(9)), new, "{happens}: {asked}");
        assert_eq!(scene.answered(asked, undue()), none, "{happens}: {asked}");
    }
}

#[test]
fn whether_an_event_or_a_sub_agent_uses_the_slot_of_the_turn_no_rule_says() {
    let deduped = || taken(CheckpointOutcome::Deduped);
    for (happens, new, none) in [
        ("risk alpha | +a=2", "", ""),
        ("progress alpha 20 30 | +a=2", "", ""),
        ("ensure alpha | +a=2 | spawn", "", ""),
        ("spawn | ensure alpha | +a=2 | join", "", ""),
        ("ensure alpha | +a=2 | spawn | join", "turn/once", ""),
        ("risk alpha | +a=2 | turn", "", "turn/reset capture/created"),
        ("ensure alpha | +a=2 | risk alpha", "turn/once", ""),
    ] {
        let scene = scene("a=1", happens);
        assert_eq!(scene.answered("ensure alpha", created(9)), new, "{happens}");
        assert_eq!(scene.answered("ensure alpha", deduped()), none, "{happens}");
    }
}

#[test]
fn where_the_slot_of_the_turn_is_unclear_a_project_may_be_too_large_or_done() {
    let mut scene = scene("a=1", "risk alpha | +a=2 b=2");
    scene.world.settings.max_files = 1;
    for (answer, broken) in [
        (taken(CheckpointOutcome::Deduped), ""),
        (refused(Code::TooManyFiles), ""),
        (created(9), "turn/once"),
    ] {
        assert_eq!(scene.answered("ensure alpha", answer), broken);
    }
}

#[test]
fn automatic_checkpoints_that_are_off_are_off_for_events() {
    let mut scene = scene("a=1", "");
    scene.world.settings.enabled = false;
    assert_eq!(scene.answered("risk alpha", taken(CheckpointOutcome::Disabled)), "");
    assert_eq!(scene.answered("risk alpha", taken(CheckpointOutcome::NotDue)), "");
    assert_eq!(scene.answered("risk alpha", created(9)), "turn/disabled");
}

#[test]
fn the_most_recent_checkpoint_is_the_first_of_the_list() {
    let scene = scene("a=1", "take alpha | +a=2 | take alpha | +a=3");
    assert_eq!(scene.allows("latest alpha").restored(), "a=2");
    let none: &[Code] = &[Code::UnknownCheckpoint, Code::BadTarget];
    assert_eq!(
        refusals(&self::scene("a=1", "").allows("latest alpha")),
        [(none, "restore/bad-target")]
    );
    // Whether that is one that was taken before a restore, no rule says.
    let restored = self::scene("a=1", "take alpha | +a=2 | restore alpha 1");
    assert!(matches!(restored.allows("latest alpha"), Allowed::Unknown));
}

#[test]
fn who_has_no_parts_is_judged_by_the_files_alone() {
    let mut scene = Scene::able(CAPABILITIES.into_iter().chain(["label"]).collect(), "a=1");
    scene.ask("take alpha");
    scene.ask("set one");
    assert_eq!(scene.answered("take alpha", taken(CheckpointOutcome::Unchanged)), "");
    assert_eq!(scene.answered("get", Answer::State(Value::Null)), "agent/parts");
}
