//! The parts of a history: each is generated separately, and then they are combined.
//!
//! Parts that were added to this suite later are generated after the older parts, so that a seed still
//! generates the same older parts.

use super::content::SizeLimits;
use super::idiom::{self, once_in};
use super::operation::{self, Kinds};
use super::{
    Options, agent, attributes, attribution, collected, damage, extremes, folder_permissions,
    injections, kept_times, last, maintenance, measured, own_ignores, together, units, values,
};
use crate::history::{Event, History, Operation};
use herma_model::{ByteString, Request, Settings};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;

/// Fragments, each with its position among the operations.
type Placed = Vec<(Index, Vec<Operation>)>;

/// The generated parts of a history.
#[derive(Clone, Debug, Default)]
pub struct HistoryParts {
    /// A few operations each, one after the other.
    pub fragments: Vec<Vec<Operation>>,
    /// Everything else, most of it among the fragments.
    pub others: OtherParts,
}

/// The parts of a history without its fragments.
#[derive(Clone, Debug, Default)]
pub struct OtherParts {
    attributes: Placed,
    command: Option<Operation>,
    last: Vec<Vec<Operation>>,
    attribution: Placed,
    damage: Placed,
    agent: Placed,
    gc: Placed,
    ending: [Vec<Operation>; 7],
    /// The damage at the end, in a history without agent state and injections.
    last_damage: Vec<Operation>,
    /// The operations after all others.
    appended: [Vec<Operation>; 5],
    /// The agent's state after that, in a history without damage and injections.
    last_part: Vec<Operation>,
    /// After everything else.
    very_last: [Vec<Operation>; 2],
    databases: Placed,
    injections: Placed,
    /// A history without any of the other parts, which replaces them.
    alone: Option<History>,
}

/// Generates the parts of a history with file sizes around these limits.
pub fn parts(options: &Options, limits: SizeLimits, kinds: Kinds) -> BoxedStrategy<HistoryParts> {
    let fragments = vec(fragment(options, limits, kinds), 1..=options.operations_max);
    (fragments, other_parts(options, limits))
        .prop_map(|(fragments, others)| HistoryParts { fragments, others })
        .boxed()
}

/// Generates one fragment.
pub fn fragment(
    options: &Options,
    limits: SizeLimits,
    kinds: Kinds,
) -> BoxedStrategy<Vec<Operation>> {
    let workspace_paths = options.workspace.as_ref().map(|(_, paths)| paths.clone());
    let operation = operation::operation(limits, kinds, workspace_paths.unwrap_or_default());
    let single = operation.prop_map(|operation| vec![operation]);
    let fragment = prop_oneof![24 => single, 1 => idiom::idiom(limits)].boxed();
    if options.maintenance { maintenance::among(fragment, limits, kinds) } else { fragment }
}

/// Generates everything but the fragments.
pub fn other_parts(options: &Options, limits: SizeLimits) -> BoxedStrategy<OtherParts> {
    let maintenance = options.maintenance;
    let attributes = attributes::fragments(limits);
    let command = option::weighted(0.3, operation::command());
    let last = last::fragments(maintenance);
    // One in one is always, and one in zero is never.
    let attribution = once_in(u32::from(options.attribution), attribution::fragments(limits));
    let damage = once_in(u32::from(options.damage), damage::fragments(limits));
    let agent = once_in(u32::from(options.agent), agent::fragments(limits));
    let has_gc = maintenance && options.workspace.is_none();
    let gc = once_in(u32::from(has_gc), collected::fragments(limits, options.damage));
    let leftovers = once_in(u32::from(maintenance), maintenance::lookalike_of_leftover());
    let ending = (kept_times::fragment(limits), leftovers);
    let databases = once_in(u32::from(options.databases), units::fragments());
    let injected = injections::fragments(limits, options.injections);
    let measured = measured::history(options.measured);
    let packs = injections::fragments_with_packs(limits, options.injections);
    let together = together::history(options.together, options.processes.clone());
    // Generated and appended last, so that nothing else changes.
    let unlisted = option::weighted(0.25, last::unlisted());
    let steps = once_in(u32::from(options.undo), option::weighted(0.4, last::steps()));
    let rare = option::weighted(0.2, last::rare(limits));
    let own_ignores = option::weighted(0.3, own_ignores::fragment(limits));
    let own_ignores = once_in(u32::from(options.own_ignore_files), own_ignores);
    let refused = once_in(u32::from(options.damage), option::weighted(0.1, damage::refused_file()));
    let composed = once_in(u32::from(options.cautious), option::weighted(0.3, last::composed()));
    let folders = option::weighted(0.3, folder_permissions::fragment(limits));
    let folders = once_in(u32::from(options.folder_permissions), folders);
    // Few histories have room for it.
    let extremes = option::weighted(0.2, extremes::fragment(limits));
    let values = values::fragments(options);
    let latest = (measured, packs, together, unlisted, steps, rare, own_ignores, refused, composed);
    let rest = (ending, databases, injected, latest, folders, extremes, values);
    (attributes, command, last, attribution, damage, agent, gc, rest)
        .prop_map(|(attributes, command, last, attribution, damage, agent, gc, rest)| {
            let (ending, databases, injected, alone_or_last, folders, extremes, values) = rest;
            let (kept_times, leftovers) = ending;
            let (measured, packs, together, unlisted, steps, rare, own_ignores, refused, composed) =
                alone_or_last;
            OtherParts {
                attributes,
                command,
                last,
                attribution,
                damage,
                agent,
                gc,
                ending: [
                    kept_times,
                    leftovers,
                    unlisted.unwrap_or_default(),
                    steps.unwrap_or_default(),
                    rare.unwrap_or_default(),
                    own_ignores.unwrap_or_default(),
                    composed.unwrap_or_default(),
                ],
                last_damage: refused.unwrap_or_default(),
                appended: [
                    folders.unwrap_or_default(),
                    extremes.unwrap_or_default(),
                    values.files,
                    values.similar_projects,
                    values.older_undone,
                ],
                last_part: values.part,
                very_last: values.last,
                databases,
                injections: [injected, packs].concat(),
                alone: measured.or(together),
            }
        })
        .boxed()
}

impl HistoryParts {
    /// Combines the parts, as far as the history has room for them.
    pub fn history(self, options: &Options, settings: Settings) -> History {
        let HistoryParts { fragments, others } = self;
        if let Some(history) = others.alone {
            return history;
        }
        // No rule decides how damage affects agent state, so a history has only one of both.
        let mut packed = others.gc.iter().flat_map(|(_, operations)| operations);
        let is_undamaged = others.damage.is_empty() && !packed.any(collected::damages);
        // Nor does any rule decide about damage or agent state together with injections.
        let without_injections = others.injections.is_empty();
        let may_be_damaged = without_injections && others.agent.is_empty();
        let agent = if is_undamaged && without_injections { others.agent } else { Vec::new() };
        let damage = if without_injections { others.damage } else { Vec::new() };
        let has_state = is_undamaged && without_injections && others.last_damage.is_empty();
        let last_part = if has_state { others.last_part } else { Vec::new() };
        let mut operations: Vec<Operation> = fragments.into_iter().flatten().collect();
        let all_placed = [others.attributes, others.attribution, damage, others.gc, agent];
        for placed in all_placed.into_iter().chain([others.databases, others.injections]) {
            operations = attributes::among(operations, placed);
        }
        operations.truncate(options.operations_max);
        if operations.len() < options.operations_max {
            operations.extend(others.command);
        }
        for fragment in others.last.into_iter().chain(others.ending) {
            if operations.len() + fragment.len() <= options.operations_max {
                operations.extend(fragment);
            }
        }
        if may_be_damaged && operations.len() + others.last_damage.len() <= options.operations_max {
            operations.extend(others.last_damage);
        }
        for fragment in others.appended.into_iter().chain([last_part]).chain(others.very_last) {
            if operations.len() + fragment.len() <= options.operations_max {
                operations.extend(fragment);
            }
        }
        let workspace = options.workspace.as_ref().map(|(path, _)| path.clone());
        if workspace.is_some() {
            // The purpose of a real workspace: it is checkpointed unchanged, and at the end every
            // checkpoint is restored.
            let dir = ByteString::from("work/alpha");
            let reason = "as it came".to_owned();
            operations.insert(0, Operation::Ask(Request::Checkpoint { dir: dir.clone(), reason }));
            operations.push(Operation::Event(Event::RestoreEach { dir }));
        }
        // With another home directory the number of a call may differ.
        History { settings, workspace, plain_home: !without_injections, operations }
    }
}
