//! Tests of agent state: what checkpoints record and restore, labels and pins, external actions and their
//! compensations, the events that require a checkpoint, and cases that no rule decides.

use super::*;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Every capability of agent checkpoints, with the goal as the only part.
const AGENT_CAPABILITIES: [&str; 12] = [
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

/// Runs steps on a correct subject with these files: requests as in [`parse_request`], separated by
/// `|`, and edits as in [`parse_edits`] after a `+`.
pub(super) fn scene(files: &str, steps: &str) -> Scene {
    limited(20, files, steps)
}

fn limited(max_snapshots: usize, files: &str, steps: &str) -> Scene {
    let mut scene = Scene::with_capabilities(
        CAPABILITIES.into_iter().chain(AGENT_CAPABILITIES).collect(),
        files,
    );
    scene.edit("/outside/");
    scene.world.settings.max_snapshots = max_snapshots;
    for step in steps.split('|').map(str::trim).filter(|step| !step.is_empty()) {
        match step.strip_prefix('+') {
            Some(edit) => scene.edit(edit.trim()),
            None => drop(scene.perform(step)),
        }
    }
    scene
}

fn state(value: &str) -> Answer {
    Answer::State(json!(value))
}

/// The goals among the candidates that are right, and the rule that the first wrong goal breaks.
fn goals(scene: &Scene, candidates: &[&str]) -> (Vec<String>, String) {
    let verdict = |goal: &&str| scene.broken_by("get", state(goal));
    let right = candidates.iter().filter(|goal| verdict(goal).is_empty());
    let broken = candidates.iter().map(verdict).find(|broken| !broken.is_empty());
    (right.map(|goal| (*goal).to_owned()).collect(), broken.unwrap_or_default())
}

#[test]
fn get_state_reports_the_set_value_until_a_restore_reinstates_the_recorded_value() {
    for (steps, right, broken) in [
        ("", "one two three", ""),
        ("set one", "one", "agent/parts"),
        ("set one | take alpha | set two | +a=2 | restore alpha 1", "one", "agent/all-or-none"),
        ("set one | take alpha | reopen | +a=2 | restore alpha 1", "one", "agent/parts"),
        ("take alpha | set two | +a=2 | restore alpha 1", "one two three", ""),
        ("set one | take alpha | set two | restore alpha 7", "two", "agent/all-or-none"),
        ("set one | take alpha | set two | file alpha 1 a", "two", "agent/all-or-none"),
        ("set one | take alpha | set two | latest alpha", "one", "agent/all-or-none"),
        // No rule says what another process knows of a part; the part in a checkpoint stays.
        ("set one | take alpha | set two | reopen", "one two three", ""),
        ("set one | clear", "one two three", ""),
    ] {
        let candidates = ["one", "two", "three"];
        let expected = right.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            goals(&scene("a=1", steps), &candidates),
            (expected, broken.to_owned()),
            "{steps}"
        );
    }
}

#[test]
fn get_state_after_a_restore_of_the_parent_never_reports_the_value_of_a_sub_agent() {
    let steps =
        "set one | take alpha | spawn | set two | take alpha | set three | join | restore alpha 2";
    let scene = scene("a=1", steps);
    for (found, broken) in [("one", ""), ("two", "agent/composes"), ("three", "agent/all-or-none")]
    {
        assert_eq!(scene.broken_by("get", state(found)), broken, "{found}");
    }
    let right = scene.checks(&scene.observation("get", state("one")));
    assert_eq!(count(&right, "agent/composes"), 1);
    assert_eq!(count(&right, "agent/all-or-none"), 1);
}

#[test]
fn get_state_may_be_refused_for_a_part_that_was_never_set() {
    let refusal = || refused(Code::BadState);
    assert_eq!(scene("", "").broken_by("get", refusal()), "");
    assert_eq!(scene("", "set one").broken_by("get", refusal()), "agent/parts");
    assert_eq!(scene("", "set one").broken_by("set two", refusal()), "agent/parts");
}

#[test]
fn checkpoint_is_created_when_a_part_changed() {
    let unchanged = || taken(CheckpointOutcome::Unchanged);
    for (steps, if_created, if_unchanged) in [
        ("set one | take alpha", "capture/unchanged", ""),
        ("set one | take alpha | set two", "", "agent/parts"),
        ("set one | take alpha | set two | set one", "capture/unchanged", ""),
        // A null part may be one that was never set, and an external action may be a change.
        ("take alpha | set one", "", ""),
        ("take alpha | did 1", "", ""),
        ("set one | take alpha | reopen", "", ""),
    ] {
        let scene = scene("a=1", steps);
        assert_eq!(scene.broken_by("take alpha", created(9)), if_created, "{steps}");
        assert_eq!(scene.broken_by("take alpha", unchanged()), if_unchanged, "{steps}");
    }
    // A project without files, and a part that is set.
    assert_eq!(scene("", "set one").broken_by("take alpha", created(9)), "");
    assert_eq!(scene("", "set one").broken_by("take alpha", unchanged()), "");
}

#[test]
fn get_state_may_report_either_value_after_a_failed_set_state() {
    let mut scene = scene("a=1", "set one");
    scene.learn_answer("set two", refused(Code::Io));
    assert_eq!(goals(&scene, &["one", "two"]).0, ["one", "two"]);
}

#[test]
fn pre_restore_checkpoint_holds_the_parts() {
    let scene = scene("a=1", "set one | take alpha | set two");
    let without = |request: &str| {
        let mut observation = scene.correct_observation(request);
        if let Answer::Restored(report) = &mut observation.answer {
            report.safety = None;
        }
        scene.broken_rules(&observation)
    };
    assert_eq!(without("restore alpha 1"), "restore/safety-checkpoint");
    // The restore of a single file does not change the parts.
    assert_eq!(without("file alpha 1 a"), "");
    let mut undone = scene.clone();
    undone.perform("restore alpha 1");
    undone.perform("restore alpha 1");
    assert_eq!(undone.broken_by("get", state("two")), "");
}

#[test]
fn restore_accepts_a_label_unless_two_checkpoints_have_it() {
    let labelled = "label alpha base | +a=2 | take alpha | +a=3";
    assert_eq!(scene("a=1", labelled).allows("restore alpha base").restored(), "a=1");
    let twice = scene("a=1", "label alpha base | +a=2 | label alpha base | +a=3");
    let codes: &[Code] = &[Code::AmbiguousCheckpoint];
    assert_eq!(refusals(&twice.allows("restore alpha base")), [(codes, "agent/all-or-none")]);
    // A number of the list takes precedence, and a label does so over the prefix of an id.
    let named = |label: &str| {
        let steps = format!("label alpha {label} | +a=2 | take alpha | +a=3");
        let target = if label == "2f2f" { label } else { "1" };
        scene("a=1", &steps).allows(&format!("restore alpha {target}")).restored()
    };
    assert_eq!((named("2f2f"), named("x")), ("a=1".to_owned(), "a=2".to_owned()));
    // Where nothing changed, the newest checkpoint may get the label.
    let same = scene("a=1", "take alpha");
    assert_eq!(same.broken_by("label alpha x", created(9)), "");
    assert_eq!(same.broken_by("label alpha x", taken(CheckpointOutcome::Unchanged)), "");
    let changed = scene("a=1", "take alpha | +a=2");
    let unchanged = changed.broken_by("label alpha x", taken(CheckpointOutcome::Unchanged));
    assert_eq!(unchanged, "capture/created");
}

/// The content of `a` that a restore restores.
trait RestoredContent {
    fn restored(&self) -> String;
}

impl RestoredContent for Allowed {
    fn restored(&self) -> String {
        let Allowed::Restore(restore) = self else { panic!("{self:?}") };
        let entry = restore.target.tree[&ByteString::from("a")].bytes().to_vec();
        format!("a={}", String::from_utf8(entry).unwrap())
    }
}

/// The rules broken by a list of the checkpoints with these numbers, newest first.
fn listing(scene: &Scene, numbers: &[usize]) -> String {
    let Answer::Listed(correct) = scene.correct_observation("list alpha").answer else { panic!() };
    let listed = numbers.iter().enumerate().map(|(index, number)| {
        let found = correct.iter().find(|entry| entry.id == checkpoint_id(*number)).cloned();
        let mut entry = found.unwrap_or_else(|| correct[0].clone());
        entry.number = index + 1;
        entry.id = checkpoint_id(*number);
        // The changes since the previous checkpoint depend on which checkpoint that is.
        entry.stats = None;
        entry
    });
    let checks = scene.checks(&scene.observation("list alpha", Answer::Listed(listed.collect())));
    let stats = ["list/stats", "list/oldest-no-stats", "list/time", "capture/reason"];
    let is_kept = |rule: &str| !stats.contains(&rule);
    broken_rules(checks).split(' ').filter(|rule| is_kept(rule)).collect::<Vec<_>>().join(" ")
}

#[test]
fn max_snapshots_never_evicts_a_pinned_checkpoint_and_may_or_may_not_count_it() {
    let steps = "label alpha x | +a=2 | take alpha | +a=3 | take alpha | +a=4 | take alpha";
    let scene = limited(2, "a=1", steps);
    assert_eq!(listing(&scene, &[4, 3, 1]), "");
    assert_eq!(listing(&scene, &[4, 1]), "");
    assert_eq!(listing(&scene, &[4, 3]), "agent/pinned list/complete");
    assert_eq!(listing(&scene, &[3, 1]), "list/complete");
    // Once unpinned it may be evicted, at once or when the next checkpoint is taken.
    let mut unpinned = scene.clone();
    let settle = |numbers: &[usize]| {
        let ids: Vec<String> = numbers.iter().map(|number| checkpoint_id(*number)).collect();
        move |scene: &mut Scene| scene.world.settle(b"work/alpha", &ids.iter().collect::<Vec<_>>())
    };
    settle(&[4, 3, 1])(&mut unpinned);
    unpinned.perform("unpin alpha x");
    for left in [&[4, 3, 1][..], &[4, 3]] {
        assert_eq!(listing(&unpinned, left), "", "{left:?}");
    }
    unpinned.edit("a=5");
    unpinned.perform("take alpha");
    assert_eq!(listing(&unpinned, &[5, 4]), "");
    assert_eq!(listing(&unpinned, &[5, 4, 3, 1]), "list/at-most list/complete");
}

#[test]
fn unpin_allows_eviction_only_when_there_are_more_than_max_snapshots() {
    let few = "label alpha x | +a=2 | take alpha";
    for (steps, listed, may_be_evicted) in [
        (few.to_owned(), &[2, 1][..], false),
        (format!("{few} | +a=3 | take alpha"), &[3, 2, 1], true),
    ] {
        let mut scene = limited(2, "a=1", &steps);
        let ids: Vec<String> = listed.iter().map(|number| checkpoint_id(*number)).collect();
        scene.world.settle(b"work/alpha", &ids.iter().collect::<Vec<_>>());
        scene.perform("unpin alpha x");
        let (newest, older) = listed.split_first().unwrap();
        let without_the_oldest = &listed[..listed.len() - 1];
        assert_eq!(listing(&scene, listed), "", "{newest}");
        assert_eq!(listing(&scene, without_the_oldest).is_empty(), may_be_evicted, "{newest}");
        assert_eq!(listing(&scene, older), "list/complete", "the newest stays");
    }
}

#[test]
fn unpin_allows_eviction_of_a_checkpoint_kept_only_by_its_pin() {
    let mut scene = scene("a=1", "label alpha x | +a=2 | take alpha | +a=3 | take alpha");
    let mut unpinned = scene.clone();
    unpinned.perform("unpin alpha x");
    assert_eq!(listing(&unpinned, &[3, 2]), "list/complete", "nothing went before it");
    let visible =
        [(scene.world.hash(b"work/alpha"), vec![checkpoint_id(3), checkpoint_id(1)])].into();
    let contents = Some(Contents { visible, ..Contents::default() });
    let observation = scene.observation("prune 0 50", swept(SweepOutcome::Done, Counts::default()));
    scene.learn(&Observation { contents, ..observation });
    assert_eq!(listing(&scene, &[3, 1]), "");
    assert_eq!(listing(&scene, &[3]), "agent/pinned list/complete");
    scene.perform("unpin alpha x");
    assert_eq!((listing(&scene, &[3, 1]), listing(&scene, &[3])), (String::new(), String::new()));
    // The next checkpoint may evict it as well.
    scene.edit("a=4");
    scene.perform("take alpha");
    assert_eq!(listing(&scene, &[4, 3, 1]), "");
    assert_eq!(listing(&scene, &[4, 3]), "");
    assert_eq!(listing(&scene, &[4, 1]), "list/complete");
}

#[test]
fn pin_is_kept_for_any_kind_of_target() {
    let steps = "take alpha | +a=2 | take alpha | pin alpha 2 | +a=3 | take alpha";
    let scene = limited(2, "a=1", steps);
    assert_eq!(listing(&scene, &[3, 2, 1]), "");
    assert_eq!(listing(&scene, &[3, 2]), "agent/pinned list/complete");
    let mut scene = scene;
    scene.world.settle(b"work/alpha", &[&checkpoint_id(3), &checkpoint_id(2), &checkpoint_id(1)]);
    assert_eq!(scene.broken_by("pin alpha 1", refused(Code::Io)), "agent/pinned");
    assert_eq!(scene.broken_by("pin alpha no", Answer::Done), "restore/bad-target");
}

#[test]
fn event_creates_a_checkpoint_for_high_risk_commands_and_milestones_and_once_for_each() {
    let not_due = || taken(CheckpointOutcome::NotDue);
    for (steps, request, if_created, if_not_due) in [
        ("", "risk alpha", "", "agent/triggers"),
        ("", "looks alpha", "", ""),
        ("", "progress alpha 20 30", "", "agent/triggers"),
        ("", "progress alpha 30 40", "", ""),
        ("", "progress alpha 90 100", "", "agent/triggers"),
        ("progress alpha 20 30 | +a=2", "progress alpha 20 30", "agent/triggers", ""),
        ("progress alpha 20 30 | +a=2 | turn", "progress alpha 40 60", "", "agent/triggers"),
        ("progress alpha 20 30 | +a=2 | restore alpha 1", "progress alpha 20 30", "", ""),
        // No rule says whether a checkpoint taken for another reason is enough for a turn.
        ("ensure alpha | +a=2", "risk alpha", "", ""),
        ("progress alpha 20 30 | +a=2", "risk alpha", "", ""),
    ] {
        let scene = scene("a=1", steps);
        assert_eq!(scene.broken_by(request, created(9)), if_created, "{steps}: {request}");
        assert_eq!(scene.broken_by(request, not_due()), if_not_due, "{steps}: {request}");
    }
}

#[test]
fn ensure_checkpoint_may_be_deduped_or_created_after_an_event_or_a_sub_agent() {
    let deduped = || taken(CheckpointOutcome::Deduped);
    for (steps, if_created, if_deduped) in [
        ("risk alpha | +a=2", "", ""),
        ("progress alpha 20 30 | +a=2", "", ""),
        ("ensure alpha | +a=2 | spawn", "", ""),
        ("spawn | ensure alpha | +a=2 | join", "", ""),
        ("ensure alpha | +a=2 | spawn | join", "turn/once", ""),
        ("risk alpha | +a=2 | turn", "", "turn/reset capture/created"),
        ("ensure alpha | +a=2 | risk alpha", "turn/once", ""),
    ] {
        let scene = scene("a=1", steps);
        assert_eq!(scene.broken_by("ensure alpha", created(9)), if_created, "{steps}");
        assert_eq!(scene.broken_by("ensure alpha", deduped()), if_deduped, "{steps}");
    }
}

#[test]
fn ensure_checkpoint_may_be_refused_or_deduped_when_the_slot_of_the_turn_is_unclear() {
    let mut scene = scene("a=1", "risk alpha | +a=2 b=2");
    scene.world.settings.max_files = 1;
    for (answer, broken) in [
        (taken(CheckpointOutcome::Deduped), ""),
        (refused(Code::TooManyFiles), ""),
        (created(9), "turn/once"),
    ] {
        assert_eq!(scene.broken_by("ensure alpha", answer), broken);
    }
}

#[test]
fn event_takes_no_checkpoint_when_automatic_checkpoints_are_disabled() {
    let mut scene = scene("a=1", "");
    scene.world.settings.enabled = false;
    assert_eq!(scene.broken_by("risk alpha", taken(CheckpointOutcome::Disabled)), "");
    assert_eq!(scene.broken_by("risk alpha", taken(CheckpointOutcome::NotDue)), "");
    assert_eq!(scene.broken_by("risk alpha", created(9)), "turn/disabled");
}

#[test]
fn restore_latest_restores_the_first_checkpoint_of_the_list() {
    let scene = scene("a=1", "take alpha | +a=2 | take alpha | +a=3");
    assert_eq!(scene.allows("latest alpha").restored(), "a=2");
    let codes: &[Code] = &[Code::UnknownCheckpoint, Code::BadTarget];
    assert_eq!(
        refusals(&self::scene("a=1", "").allows("latest alpha")),
        [(codes, "restore/bad-target")]
    );
    // No rule says whether a pre-restore checkpoint counts as the most recent.
    let restored = self::scene("a=1", "take alpha | +a=2 | restore alpha 1");
    assert!(matches!(restored.allows("latest alpha"), Allowed::Unknown(_)));
}

#[test]
fn checkpoint_ignores_state_without_the_state_capability() {
    let mut scene =
        Scene::with_capabilities(CAPABILITIES.into_iter().chain(["label"]).collect(), "a=1");
    scene.perform("take alpha");
    scene.perform("set one");
    assert_eq!(scene.broken_by("take alpha", taken(CheckpointOutcome::Unchanged)), "");
    assert_eq!(scene.broken_by("get", Answer::State(Value::Null)), "agent/parts");
}
