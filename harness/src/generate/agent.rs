//! Agent state besides files: its parts, labels and pins, external actions, events and sub-agents, mixed
//! with edits, checkpoints, restores and limits.
//!
//! Only subjects that store any agent state get these fragments. They are generated separately, so that the
//! histories of other subjects do not change.

use super::content::SizeLimits;
use super::idiom::{ProjectFile, checkpoint, once_in, project_file, restore, write};
use super::names;
use crate::history::{Event, Operation, Target};
use herma_model::agent::{Action, AgentEvent, Compensation, HIGH_RISK, Part};
use herma_model::{ByteString, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// One history of so many has such fragments.
const ONE_IN: u32 = 3;
/// The file that compensations append to.
const LOG: &str = "outside/compensated";
const LABELS: [&str; 3] = ["base", "before the migration", "facade"];
/// The kinds of external actions: the first two can be compensated.
const KINDS: [&str; 3] = ["github.pr.opened", "gist.created", "slack.message.sent"];

/// A few fragments, each with its position in the history.
pub fn fragments(limits: SizeLimits) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let single = single().prop_map(|operation| vec![operation]);
    let fragment = prop_oneof![3 => single, 4 => idiom(limits)];
    let fragments = vec((any::<Index>(), fragment), 2..=8).boxed();
    once_in(ONE_IN, fragments)
}

fn single() -> BoxedStrategy<Operation> {
    let operation = prop_oneof![
        6 => (part(), any::<bool>()).prop_map(|(part, is_second)| set_part(part, is_second)),
        4 => part().prop_map(get_part),
        3 => (names::project(), select(&LABELS[..]))
            .prop_map(|(dir, label)| label_checkpoint(&dir, label)),
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
    operation.boxed()
}

fn part() -> BoxedStrategy<Part> {
    select(Part::ALL.to_vec()).boxed()
}

/// One of two values of a part.
fn value(part: Part, is_second: bool) -> Value {
    let choose =
        |first: &str, second: &str| if is_second { second.to_owned() } else { first.to_owned() };
    match part {
        Part::Kanban => json!({ "cards": [{ "id": "c1", "state": choose("doing", "done") }] }),
        Part::Goal => json!({ "active": choose("Ship it", "Mend it"), "progress": 0.25 }),
        Part::Memory => json!({ "head": choose("mem_1", "mem_2"), "entries": [] }),
        Part::History => json!({ "calls": [choose("ls", "make")] }),
    }
}

fn set_part(part: Part, is_second: bool) -> Operation {
    Request::SetState { part, value: value(part, is_second) }.into()
}

fn get_part(part: Part) -> Operation {
    Request::GetState { part }.into()
}

fn label_checkpoint(dir: &ByteString, label: &str) -> Operation {
    Request::Label { dir: dir.clone(), label: label.to_owned() }.into()
}

/// Mostly existing checkpoints, by label or number.
fn target() -> BoxedStrategy<Target> {
    prop_oneof![
        2 => (1..=3u32).prop_map(Target::Number),
        3 => select(&LABELS[..]).prop_map(|label| Target::Text(label.into())),
        1 => Just(Target::Text("no such label".into())),
    ]
    .boxed()
}

fn external_action(kind: &str, id: &str, fails: Option<bool>) -> Operation {
    let compensation = fails.map(|fails| Compensation { log: LOG.into(), fails });
    let action = Action { kind: kind.to_owned(), id: Some(id.to_owned()), to: None };
    Request::External { action, compensation }.into()
}

fn external() -> BoxedStrategy<Operation> {
    let message = Request::External {
        action: Action { kind: KINDS[2].to_owned(), id: None, to: Some("#eng".to_owned()) },
        compensation: None,
    };
    let compensable = (select(&KINDS[..2]), 1..6u8, prop::bool::weighted(0.3));
    prop_oneof![
        4 => compensable
            .prop_map(|(kind, id, fails)| external_action(kind, &id.to_string(), Some(fails))),
        1 => Just(Operation::Ask(message)),
    ]
    .boxed()
}

fn event() -> BoxedStrategy<AgentEvent> {
    let commands: Vec<&str> = HIGH_RISK.iter().copied().chain(["ls"]).collect();
    prop_oneof![
        select(commands).prop_map(|command| AgentEvent::HighRisk { command: command.to_owned() }),
        (select(vec![0, 20, 40, 60, 90]), select(vec![10, 30, 55, 80, 100]))
            .prop_map(|(from, to)| AgentEvent::Milestone { from, to }),
        (select(vec!["c1", "c2"]), select(vec!["doing", "done"]))
            .prop_map(|(card, to)| card_event(card, to)),
        Just(AgentEvent::TurnBoundary),
        select(vec![1, 60, 3_600]).prop_map(|seconds| AgentEvent::LongCall { seconds }),
    ]
    .boxed()
}

fn card_event(card: &str, to: &str) -> AgentEvent {
    AgentEvent::Card { card: card.to_owned(), from: "todo".to_owned(), to: to.to_owned() }
}

/// What an idiom is about: files, a part of the state, and an event at which a checkpoint is due once.
#[derive(Clone, Debug)]
struct Scene {
    project_file: ProjectFile,
    part: Part,
    event: AgentEvent,
}

/// Sequences of operations that random single operations rarely produce.
fn idiom(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    let idioms: [fn(&Scene) -> Vec<Operation>; 13] = [
        a_part_is_restored,
        only_a_part_changed,
        a_refusal_leaves_the_parts,
        a_restore_is_undone,
        a_labelled_checkpoint_survives_the_limit,
        a_labelled_checkpoint_survives_a_prune,
        two_checkpoints_have_a_label,
        an_unpinned_checkpoint_is_evicted,
        external_actions_are_compensated,
        external_actions_are_accepted,
        a_parent_restores_after_a_sub_agent,
        an_event_is_due_once,
        both_agents_have_a_turn,
    ];
    let event = select(vec![
        AgentEvent::Milestone { from: 40, to: 60 },
        AgentEvent::Milestone { from: 90, to: 100 },
        card_event("c3", "done"),
        AgentEvent::HighRisk { command: HIGH_RISK[0].to_owned() },
        AgentEvent::LongCall { seconds: 60 },
        AgentEvent::TurnBoundary,
    ]);
    let scene = (project_file(limits), part(), event)
        .prop_map(|(project_file, part, event)| Scene { project_file, part, event });
    let unit = limits.units.total;
    let in_units = move |operation: Operation| match operation {
        // A size limit is a multiple of the unit in which the subject takes it.
        Operation::Ask(Request::Prune { max_total_bytes, retention_days, delete_orphans }) => {
            let max_total_bytes = max_total_bytes.div_ceil(unit) * unit;
            Request::Prune { max_total_bytes, retention_days, delete_orphans }.into()
        }
        operation => operation,
    };
    let operations = (scene, select(idioms.to_vec())).prop_map(|(scene, idiom)| idiom(&scene));
    operations.prop_map(move |operations| operations.into_iter().map(in_units).collect()).boxed()
}

/// Writes the generated content to the file.
fn written(scene: &Scene) -> Operation {
    write(&scene.project_file.path, &scene.project_file.content, false)
}

/// Writes other content to the file.
fn changed(scene: &Scene, content: &str) -> Operation {
    write(&scene.project_file.path, &content.into(), false)
}

fn dir(scene: &Scene) -> &ByteString {
    &scene.project_file.project
}

fn restore_label(dir: &ByteString, label: &str) -> Operation {
    let dir = dir.clone();
    let target = Target::Text(label.into());
    Request::Restore { dir, target, exact: false, force: false }.into()
}

/// Takes a checkpoint of a file and one part, and changes both.
fn checkpoint_then_change(scene: &Scene) -> Vec<Operation> {
    let part = scene.part;
    let taken = vec![written(scene), set_part(part, false), checkpoint(dir(scene))];
    taken.into_iter().chain([changed(scene, "since\n"), set_part(part, true)]).collect()
}

fn a_part_is_restored(scene: &Scene) -> Vec<Operation> {
    let mut operations = checkpoint_then_change(scene);
    operations.extend([restore(dir(scene), 1, false), get_part(scene.part)]);
    operations
}

fn only_a_part_changed(scene: &Scene) -> Vec<Operation> {
    let dir = dir(scene);
    let part = scene.part;
    let taken = [written(scene), set_part(part, false), checkpoint(dir)];
    let changed = [set_part(part, true), checkpoint(dir), restore(dir, 2, false), get_part(part)];
    taken.into_iter().chain(changed).collect()
}

fn a_refusal_leaves_the_parts(scene: &Scene) -> Vec<Operation> {
    let mut operations = checkpoint_then_change(scene);
    operations.extend([restore_label(dir(scene), "no such label"), get_part(scene.part)]);
    operations
}

fn a_restore_is_undone(scene: &Scene) -> Vec<Operation> {
    let mut operations = checkpoint_then_change(scene);
    operations.extend([
        restore(dir(scene), 1, false),
        restore(dir(scene), 1, false),
        get_part(scene.part),
    ]);
    operations
}

fn a_labelled_checkpoint_survives_the_limit(scene: &Scene) -> Vec<Operation> {
    let dir = dir(scene);
    let mut operations = vec![written(scene), label_checkpoint(dir, LABELS[0])];
    for text in ["1\n", "2\n", "3\n", "4\n"] {
        operations.extend([changed(scene, text), checkpoint(dir)]);
    }
    operations.extend([Request::List { dir: dir.clone() }.into(), restore_label(dir, LABELS[0])]);
    operations
}

fn a_labelled_checkpoint_survives_a_prune(scene: &Scene) -> Vec<Operation> {
    let dir = dir(scene);
    let prune = Request::Prune { retention_days: 0, max_total_bytes: 400, delete_orphans: true };
    let operations = [
        written(scene),
        label_checkpoint(dir, LABELS[1]),
        changed(scene, "since\n"),
        checkpoint(dir),
    ];
    operations.into_iter().chain([prune.into(), restore_label(dir, LABELS[1])]).collect()
}

fn two_checkpoints_have_a_label(scene: &Scene) -> Vec<Operation> {
    let dir = dir(scene);
    let label = LABELS[2];
    let first = [written(scene), label_checkpoint(dir, label), changed(scene, "second\n")];
    let second =
        [label_checkpoint(dir, label), changed(scene, "third\n"), restore_label(dir, label)];
    first.into_iter().chain(second).collect()
}

fn an_unpinned_checkpoint_is_evicted(scene: &Scene) -> Vec<Operation> {
    let dir = dir(scene);
    let mut operations = a_labelled_checkpoint_survives_the_limit(scene);
    let target = Target::Text(LABELS[0].into());
    operations.push(Request::Unpin { dir: dir.clone(), target }.into());
    operations.extend([
        changed(scene, "5\n"),
        checkpoint(dir),
        Request::List { dir: dir.clone() }.into(),
    ]);
    operations
}

fn external_actions_then_restore(scene: &Scene) -> Vec<Operation> {
    let dir = dir(scene);
    let done =
        [external_action(KINDS[0], "7", Some(false)), external_action(KINDS[1], "8", Some(true))];
    let taken = [written(scene), checkpoint(dir)].into_iter().chain(done);
    taken.chain([changed(scene, "since\n"), restore(dir, 1, false)]).collect()
}

fn external_actions_are_compensated(scene: &Scene) -> Vec<Operation> {
    let mut operations = external_actions_then_restore(scene);
    operations.extend([Request::Compensate.into(), Request::Compensate.into()]);
    operations.push(restore(dir(scene), 2, false));
    operations
}

fn external_actions_are_accepted(scene: &Scene) -> Vec<Operation> {
    let mut operations = external_actions_then_restore(scene);
    operations.extend([Request::Accept.into(), Request::Compensate.into()]);
    operations
}

fn a_parent_restores_after_a_sub_agent(scene: &Scene) -> Vec<Operation> {
    let dir = dir(scene);
    let part = scene.part;
    let mut operations =
        vec![written(scene), set_part(part, false), checkpoint(dir), Request::Spawn.into()];
    operations.extend([changed(scene, "by another\n"), set_part(part, true), checkpoint(dir)]);
    // A value that no checkpoint contains.
    let third_value = Request::SetState {
        part,
        value: json!({ "cards": [], "active": "none", "head": null, "calls": [] }),
    };
    operations.extend([
        third_value.into(),
        Request::Join.into(),
        restore(dir, 2, false),
        get_part(part),
    ]);
    operations
}

fn an_event_is_due_once(scene: &Scene) -> Vec<Operation> {
    let event = || Request::Event { dir: dir(scene).clone(), event: scene.event.clone() }.into();
    vec![Request::NewTurn.into(), written(scene), event(), changed(scene, "since\n"), event()]
}

fn both_agents_have_a_turn(scene: &Scene) -> Vec<Operation> {
    let ensure = || {
        let dir = dir(scene).clone();
        let reason = "auto".to_owned();
        Operation::Ask(Request::EnsureCheckpoint { dir, reason })
    };
    let by_parent = [Request::NewTurn.into(), written(scene), ensure(), Request::Spawn.into()];
    let by_sub_agent = [changed(scene, "by another\n"), ensure(), Request::Join.into(), ensure()];
    let later = Event::Advance { seconds: 60 }.into();
    by_parent
        .into_iter()
        .chain(by_sub_agent)
        .chain([later, restore(dir(scene), 2, false)])
        .collect()
}
