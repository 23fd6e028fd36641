//! An agent beside its files: parts of its state, labels and pins, what it does outside, events and
//! sub-agents, among edits, checkpoints, restores and limits.
//!
//! It comes on top of what else is drawn, for subjects that carry any of it, and leaves other
//! histories as they are.

use super::content::Sizes;
use super::idiom::{Place, checkpoint, once_in, place, restore, write};
use super::names;
use crate::history::{Event, Operation, Target};
use herma_model::agent::{Action, AgentEvent, Compensation, HIGH_RISK, Part};
use herma_model::{ByteString, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// Of so many histories one has any of this.
const ONE_IN: u32 = 3;
/// The file that compensations append to.
const LOG: &str = "outside/compensated";
const LABELS: [&str; 3] = ["base", "before the migration", "facade"];
/// What is done outside: the first two can be compensated.
const KINDS: [&str; 3] = ["github.pr.opened", "gist.created", "slack.message.sent"];

/// A few fragments, each with the place in a history where it is to stand.
pub fn fragments(sizes: Sizes) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let single = single().prop_map(|operation| vec![operation]);
    let fragment = prop_oneof![3 => single, 4 => idiom(sizes)];
    let some = vec((any::<Index>(), fragment), 2..=8).boxed();
    once_in(ONE_IN, some)
}

fn single() -> BoxedStrategy<Operation> {
    let asked = prop_oneof![
        6 => (part(), any::<bool>()).prop_map(|(part, second)| set(part, second)),
        4 => part().prop_map(get),
        3 => (names::project(), select(&LABELS[..])).prop_map(|(dir, label)| labelled(&dir, label)),
        2 => (names::project(), target(), any::<bool>()).prop_map(|(dir, target, pins)| match pins {
            true => Request::Pin { dir, target }.into(),
            false => Request::Unpin { dir, target }.into(),
        }),
        2 => (names::project(), any::<bool>())
            .prop_map(|(dir, exact)| Request::RestoreLatest { dir, exact }.into()),
        3 => (names::project(), target(), any::<bool>()).prop_map(|(dir, target, exact)| {
            Request::Restore { dir, target, exact, force: false }.into()
        }),
        3 => external(),
        2 => select(vec![Request::Compensate, Request::Accept]).prop_map(Operation::Ask),
        3 => (names::project(), event()).prop_map(|(dir, event)| Request::Event { dir, event }.into()),
        2 => select(vec![Request::Spawn, Request::Join]).prop_map(Operation::Ask),
    ];
    asked.boxed()
}

fn part() -> BoxedStrategy<Part> {
    select(Part::ALL.to_vec()).boxed()
}

/// One of two values that such a part has.
fn value(part: Part, second: bool) -> Value {
    let one_or = |one: &str, other: &str| if second { other.to_owned() } else { one.to_owned() };
    match part {
        Part::Kanban => json!({ "cards": [{ "id": "c1", "state": one_or("doing", "done") }] }),
        Part::Goal => json!({ "active": one_or("Ship it", "Mend it"), "progress": 0.25 }),
        Part::Memory => json!({ "head": one_or("mem_1", "mem_2"), "entries": [] }),
        Part::History => json!({ "calls": [one_or("ls", "make")] }),
    }
}

fn set(part: Part, second: bool) -> Operation {
    Request::SetState { part, value: value(part, second) }.into()
}

fn get(part: Part) -> Operation {
    Request::GetState { part }.into()
}

fn labelled(dir: &ByteString, label: &str) -> Operation {
    Request::Label { dir: dir.clone(), label: label.to_owned() }.into()
}

/// Mostly what is there, by a label or its number.
fn target() -> BoxedStrategy<Target> {
    prop_oneof![
        2 => (1..=3u32).prop_map(Target::Number),
        3 => select(&LABELS[..]).prop_map(|label| Target::Text(label.into())),
        1 => Just(Target::Text("no such label".into())),
    ]
    .boxed()
}

fn did(kind: &str, id: &str, fails: Option<bool>) -> Operation {
    let compensation = fails.map(|fails| Compensation { log: LOG.into(), fails });
    let (id, to) = (Some(id.to_owned()), None);
    Request::External { action: Action { kind: kind.to_owned(), id, to }, compensation }.into()
}

fn external() -> BoxedStrategy<Operation> {
    let sent = Request::External {
        action: Action { kind: KINDS[2].to_owned(), id: None, to: Some("#eng".to_owned()) },
        compensation: None,
    };
    let undone = (select(&KINDS[..2]), 1..6u8, prop::bool::weighted(0.3));
    prop_oneof![
        4 => undone.prop_map(|(kind, id, fails)| did(kind, &id.to_string(), Some(fails))),
        1 => Just(Operation::Ask(sent)),
    ]
    .boxed()
}

fn event() -> BoxedStrategy<AgentEvent> {
    let commands: Vec<&str> = HIGH_RISK.iter().copied().chain(["ls"]).collect();
    prop_oneof![
        select(commands).prop_map(|one| AgentEvent::HighRisk { command: one.to_owned() }),
        (select(vec![0, 20, 40, 60, 90]), select(vec![10, 30, 55, 80, 100]))
            .prop_map(|(from, to)| AgentEvent::Milestone { from, to }),
        (select(vec!["c1", "c2"]), select(vec!["doing", "done"]))
            .prop_map(|(card, to)| card_to(card, to)),
        Just(AgentEvent::TurnBoundary),
        select(vec![1, 60, 3_600]).prop_map(|seconds| AgentEvent::LongCall { seconds }),
    ]
    .boxed()
}

fn card_to(card: &str, to: &str) -> AgentEvent {
    let (card, from, to) = (card.to_owned(), "todo".to_owned(), to.to_owned());
    AgentEvent::Card { card, from, to }
}

/// What an idiom is about: a place, a part of the state, and an event that is due once.
type Scene = (Place, Part, AgentEvent);

/// Runs of operations that random single operations rarely produce.
fn idiom(sizes: Sizes) -> BoxedStrategy<Vec<Operation>> {
    let idioms: [fn(&Scene) -> Vec<Operation>; 13] = [
        a_part_comes_back,
        only_a_part_changed,
        a_refusal_leaves_the_parts,
        a_rollback_is_undone,
        a_label_outlives_the_limit,
        a_label_outlives_a_prune,
        a_label_of_two,
        an_unpinned_one_goes,
        what_was_done_outside_is_compensated,
        what_was_done_outside_is_accepted,
        a_parent_goes_back,
        an_event_is_due_once,
        both_agents_have_a_turn,
    ];
    let once = select(vec![
        AgentEvent::Milestone { from: 40, to: 60 },
        AgentEvent::Milestone { from: 90, to: 100 },
        card_to("c3", "done"),
        AgentEvent::HighRisk { command: HIGH_RISK[0].to_owned() },
        AgentEvent::LongCall { seconds: 60 },
        AgentEvent::TurnBoundary,
    ]);
    let scene = (place(sizes), part(), once);
    let unit = sizes.units.total;
    let in_units = move |operation: Operation| match operation {
        // A bound is as many units as the subject takes it in.
        Operation::Ask(Request::Prune { max_total_bytes, retention_days, delete_orphans }) => {
            let max_total_bytes = max_total_bytes.div_ceil(unit) * unit;
            Request::Prune { max_total_bytes, retention_days, delete_orphans }.into()
        }
        other => other,
    };
    let drawn = (scene, select(idioms.to_vec())).prop_map(|(scene, idiom)| idiom(&scene));
    drawn.prop_map(move |all| all.into_iter().map(in_units).collect()).boxed()
}

/// The file is as it was drawn, or another.
fn written(((_, path, content), ..): &Scene) -> Operation {
    write(path, content, false)
}

fn changed(((_, path, _), ..): &Scene, to: &str) -> Operation {
    write(path, &to.into(), false)
}

fn dir(((dir, ..), ..): &Scene) -> &ByteString {
    dir
}

fn back_to(dir: &ByteString, label: &str) -> Operation {
    let (dir, target) = (dir.clone(), Target::Text(label.into()));
    Request::Restore { dir, target, exact: false, force: false }.into()
}

/// A state of files and one part is taken, and both change.
fn taken_and_changed(scene: &Scene) -> Vec<Operation> {
    let part = scene.1;
    let taken = vec![written(scene), set(part, false), checkpoint(dir(scene))];
    taken.into_iter().chain([changed(scene, "since\n"), set(part, true)]).collect()
}

fn a_part_comes_back(scene: &Scene) -> Vec<Operation> {
    let mut all = taken_and_changed(scene);
    all.extend([restore(dir(scene), 1, false), get(scene.1)]);
    all
}

fn only_a_part_changed(scene: &Scene) -> Vec<Operation> {
    let (dir, part) = (dir(scene), scene.1);
    let taken = [written(scene), set(part, false), checkpoint(dir)];
    let changed = [set(part, true), checkpoint(dir), restore(dir, 2, false), get(part)];
    taken.into_iter().chain(changed).collect()
}

fn a_refusal_leaves_the_parts(scene: &Scene) -> Vec<Operation> {
    let mut all = taken_and_changed(scene);
    all.extend([back_to(dir(scene), "no such label"), get(scene.1)]);
    all
}

fn a_rollback_is_undone(scene: &Scene) -> Vec<Operation> {
    let mut all = taken_and_changed(scene);
    all.extend([restore(dir(scene), 1, false), restore(dir(scene), 1, false), get(scene.1)]);
    all
}

fn a_label_outlives_the_limit(scene: &Scene) -> Vec<Operation> {
    let dir = dir(scene);
    let mut all = vec![written(scene), labelled(dir, LABELS[0])];
    for text in ["1\n", "2\n", "3\n", "4\n"] {
        all.extend([changed(scene, text), checkpoint(dir)]);
    }
    all.extend([Request::List { dir: dir.clone() }.into(), back_to(dir, LABELS[0])]);
    all
}

fn a_label_outlives_a_prune(scene: &Scene) -> Vec<Operation> {
    let dir = dir(scene);
    let prune = Request::Prune { retention_days: 0, max_total_bytes: 400, delete_orphans: true };
    let all =
        [written(scene), labelled(dir, LABELS[1]), changed(scene, "since\n"), checkpoint(dir)];
    all.into_iter().chain([prune.into(), back_to(dir, LABELS[1])]).collect()
}

fn a_label_of_two(scene: &Scene) -> Vec<Operation> {
    let (dir, label) = (dir(scene), LABELS[2]);
    let first = [written(scene), labelled(dir, label), changed(scene, "second\n")];
    let second = [labelled(dir, label), changed(scene, "third\n"), back_to(dir, label)];
    first.into_iter().chain(second).collect()
}

fn an_unpinned_one_goes(scene: &Scene) -> Vec<Operation> {
    let dir = dir(scene);
    let mut all = a_label_outlives_the_limit(scene);
    let (of, target) = (dir.clone(), Target::Text(LABELS[0].into()));
    all.push(Request::Unpin { dir: of, target }.into());
    all.extend([changed(scene, "5\n"), checkpoint(dir), Request::List { dir: dir.clone() }.into()]);
    all
}

fn done_outside_and_rolled_back(scene: &Scene) -> Vec<Operation> {
    let dir = dir(scene);
    let done = [did(KINDS[0], "7", Some(false)), did(KINDS[1], "8", Some(true))];
    let taken = [written(scene), checkpoint(dir)].into_iter().chain(done);
    taken.chain([changed(scene, "since\n"), restore(dir, 1, false)]).collect()
}

fn what_was_done_outside_is_compensated(scene: &Scene) -> Vec<Operation> {
    let mut all = done_outside_and_rolled_back(scene);
    all.extend([Request::Compensate.into(), Request::Compensate.into()]);
    all.push(restore(dir(scene), 2, false));
    all
}

fn what_was_done_outside_is_accepted(scene: &Scene) -> Vec<Operation> {
    let mut all = done_outside_and_rolled_back(scene);
    all.extend([Request::Accept.into(), Request::Compensate.into()]);
    all
}

fn a_parent_goes_back(scene: &Scene) -> Vec<Operation> {
    let (dir, part) = (dir(scene), scene.1);
    let mut all = vec![written(scene), set(part, false), checkpoint(dir), Request::Spawn.into()];
    all.extend([changed(scene, "by another\n"), set(part, true), checkpoint(dir)]);
    // A third value, which no checkpoint has.
    let own = Request::SetState {
        part,
        value: json!({ "cards": [], "active": "none", "head": null, "calls": [] }),
    };
    all.extend([own.into(), Request::Join.into(), restore(dir, 2, false), get(part)]);
    all
}

fn an_event_is_due_once(scene: &Scene) -> Vec<Operation> {
    let event = || Request::Event { dir: dir(scene).clone(), event: scene.2.clone() }.into();
    vec![Request::NewTurn.into(), written(scene), event(), changed(scene, "since\n"), event()]
}

fn both_agents_have_a_turn(scene: &Scene) -> Vec<Operation> {
    let ensure = || {
        let (dir, reason) = (dir(scene).clone(), "auto".to_owned());
        Operation::Ask(Request::EnsureCheckpoint { dir, reason })
    };
    let own = [Request::NewTurn.into(), written(scene), ensure(), Request::Spawn.into()];
    let others = [changed(scene, "by another\n"), ensure(), Request::Join.into(), ensure()];
    let later = Event::Advance { seconds: 60 }.into();
    own.into_iter().chain(others).chain([later, restore(dir(scene), 2, false)]).collect()
}
