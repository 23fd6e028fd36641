//! Generated histories, as proptest strategies that any test can use.
//!
//! Histories are biased towards collisions: few projects and names, so that edits collide; names with
//! every awkward character; small random limits, and sizes at a limit or off by one. Swarm testing: each
//! history leaves out a random subset of the kinds of operation, so that rare kinds have room.

mod agent;
mod attributes;
mod attribution;
mod collected;
mod content;
mod damage;
mod damages;
mod idiom;
mod injections;
mod kept_times;
mod last;
mod maintenance;
mod measured;
mod names;
mod operation;
mod repositories;
mod scenarios;
mod together;
mod units;

use crate::history::{Event, History, Operation};
use crate::protocol::capabilities::{Capabilities, Units};
use crate::protocol::known::{INJECTION, MEASUREMENT};
use herma_model::{ByteString, Request, Settings};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use content::Sizes;
pub use damages::damages;
pub use measured::measured;
pub use operation::Kinds;
pub use scenarios::scenarios;

/// Options of the generator.
#[derive(Clone, Debug)]
pub struct Options {
    /// The maximum number of operations of a history.
    pub operations_max: usize,
    /// A real directory whose copy is the first project, and some of its paths.
    pub workspace: Option<(PathBuf, Vec<ByteString>)>,
    /// Whether there are maintenance requests and events of the store.
    pub maintenance: bool,
    /// Whether the agent's tools report their writes to the subject.
    pub attribution: bool,
    /// Whether the store is damaged.
    pub damage: bool,
    /// One history of so many has injections; none for 0.
    pub injections: u32,
    /// One history of so many measures the cost of requests, and does nothing else; none for 0.
    pub measured: u32,
    /// One history of so many has requests to several processes at once, and nothing else; none for 0.
    pub together: u32,
    /// The number of the other processes in these histories.
    pub processes: RangeInclusive<u8>,
    /// Whether there is agent state.
    pub agent: bool,
    /// Whether there are databases, whose files are units.
    pub databases: bool,
    /// The units of the settings that are sizes.
    pub units: Units,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            operations_max: 60,
            workspace: None,
            maintenance: true,
            attribution: true,
            damage: true,
            injections: 6,
            measured: 150,
            // A search must be repeatable, and no seed determines the answers of several processes.
            together: 0,
            processes: 1..=3,
            agent: true,
            databases: true,
            units: Units::default(),
        }
    }
}

impl Options {
    /// These options for a subject with these capabilities: without the requests and events that it does not
    /// support, and with the sizes that it can be configured with.
    pub fn within(&self, capabilities: &Capabilities) -> Options {
        let maintenance = self.maintenance && capabilities.has_store_operations();
        let attribution = self.attribution && capabilities.has("restore.others");
        let damage = self.damage && capabilities.has("test.damage") && capabilities.has("layout");
        let injections = if capabilities.has(INJECTION) { self.injections } else { 0 };
        let measured = if capabilities.has(MEASUREMENT) { self.measured } else { 0 };
        let together = if capabilities.has(INJECTION) { self.together } else { 0 };
        let agent = self.agent && capabilities.has_agent_state();
        let databases = self.databases && capabilities.has("capture.units");
        let units = capabilities.units();
        let options = Options { maintenance, attribution, damage, injections, ..self.clone() };
        Options { measured, together, agent, databases, units, ..options }
    }
}

/// Histories with the default options; the documentation of this crate shows a test with them.
pub fn history() -> impl Strategy<Value = History> {
    history_with(Options::default())
}

/// Histories with these options.
pub fn history_with(options: Options) -> impl Strategy<Value = History> {
    let workspace = options.workspace.as_ref().map(|(path, _)| path.clone());
    let workspace_paths = options.workspace.map(|(_, paths)| paths).unwrap_or_default();
    let is_workspace = workspace.is_some();
    let maintenance = options.maintenance;
    let has_attribution = options.attribution;
    let units = options.units;
    let damages = options.damage && !is_workspace;
    let injections = if is_workspace { 0 } else { options.injections };
    let measured = if is_workspace { 0 } else { options.measured };
    let together = if is_workspace { 0 } else { options.together };
    let is_agent = options.agent;
    let has_databases = options.databases && !is_workspace;
    let settings_and_swarm = (settings(is_workspace, units.file), any::<u64>()).boxed();
    let settings_and_swarm = if maintenance {
        maintenance::with_bounds(settings_and_swarm, is_workspace, units.total)
    } else {
        settings_and_swarm
    };
    settings_and_swarm.prop_flat_map(move |(settings, swarm)| {
        let sizes = Sizes::of(&settings, units);
        let operation = operation::operation(sizes, Kinds(swarm), workspace_paths.clone());
        let single = operation.prop_map(|operation| vec![operation]);
        let fragment = prop_oneof![24 => single, 1 => idiom::idiom(sizes)];
        let fragment = if maintenance {
            maintenance::among(fragment.boxed(), sizes, Kinds(swarm))
        } else {
            fragment.boxed()
        };
        let workspace = workspace.clone();
        // Fragments that were added to this suite later are generated last, so that nothing else changes.
        let command = option::weighted(0.3, operation::command());
        let attribution =
            if has_attribution { attribution::fragments(sizes) } else { Just(Vec::new()).boxed() };
        let fragments = vec(fragment, 1..=options.operations_max);
        let last = last::fragments(maintenance);
        let damage = if damages { damage::fragments(sizes) } else { Just(Vec::new()).boxed() };
        let agent = if is_agent { agent::fragments(sizes) } else { Just(Vec::new()).boxed() };
        let gc = match maintenance && !is_workspace {
            true => collected::fragments(sizes, damages),
            false => Just(Vec::new()).boxed(),
        };
        let attributes = attributes::fragments(sizes);
        let kept_times = kept_times::fragment(sizes);
        let leftovers = match maintenance {
            true => maintenance::lookalike_of_leftover(),
            false => Just(Vec::new()).boxed(),
        };
        let databases = match has_databases {
            true => units::fragments(),
            false => Just(Vec::new()).boxed(),
        };
        let ending =
            (kept_times, leftovers).prop_map(|(kept_times, leftovers)| [kept_times, leftovers]);
        let injected = injections::fragments(sizes, injections);
        let packs = injections::fragments_with_packs(sizes, injections);
        let together = together::history(together, options.processes.clone());
        let alone = (measured::history(measured), packs, together);
        let rest = (ending, databases, injected, alone);
        let parts = (fragments, attributes, command, last, attribution, damage, agent, gc, rest);
        parts.prop_map(
            move |(fragments, attributes, command, last, attribution, damage, agent, gc, rest)| {
                let operations: Vec<Operation> = fragments.into_iter().flatten().collect();
                let mut operations = attributes::among(operations, attributes);
                operations = attributes::among(operations, attribution);
                // No rule decides how damage affects agent state, so a history has only one of both.
                let mut packed = gc.iter().flat_map(|(_, operations)| operations);
                let is_undamaged = damage.is_empty() && !packed.any(collected::damages);
                let (ending, databases, injections, (measured, packs, together)) = rest;
                let injections = [injections, packs].concat();
                if let Some(history) = measured.or(together) {
                    return history;
                }
                // Nor does any rule decide about damage or agent state together with injections.
                let without_injections = injections.is_empty();
                let agent = if is_undamaged && without_injections { agent } else { Vec::new() };
                let damage = if without_injections { damage } else { Vec::new() };
                operations = attributes::among(operations, damage);
                operations = attributes::among(operations, gc);
                operations = attributes::among(operations, agent);
                operations = attributes::among(operations, databases);
                operations = attributes::among(operations, injections);
                operations.truncate(options.operations_max);
                if operations.len() < options.operations_max {
                    operations.extend(command);
                }
                for fragment in last.into_iter().chain(ending) {
                    if operations.len() + fragment.len() <= options.operations_max {
                        operations.extend(fragment);
                    }
                }
                if workspace.is_some() {
                    // The purpose of a real workspace: it is checkpointed unchanged, and at the end every
                    // checkpoint is restored.
                    let dir = ByteString::from("work/alpha");
                    let reason = "as it came".to_owned();
                    operations.insert(
                        0,
                        Operation::Ask(Request::Checkpoint { dir: dir.clone(), reason }),
                    );
                    operations.push(Operation::Event(Event::RestoreEach { dir }));
                }
                let settings = settings.clone();
                let workspace = workspace.clone();
                // With another home directory the number of a call may differ.
                History { settings, workspace, plain_home: !without_injections, operations }
            },
        )
    })
}

/// Settings with small limits that histories reach; the file size limit is as small as its unit permits. A real
/// workspace has the default settings.
fn settings(is_workspace: bool, unit: u64) -> BoxedStrategy<Settings> {
    if is_workspace {
        return Just(Settings::default()).boxed();
    }
    let enabled = prop::bool::weighted(0.93);
    let max_snapshots = prop_oneof![3 => 1..=4usize, 2 => Just(20)];
    let two = unit.saturating_mul(2);
    let max_file_bytes = match unit {
        1 => prop_oneof![2 => Just(0u64), 4 => 8..=40u64, 4 => Just(10 << 20)].boxed(),
        _ => {
            prop_oneof![2 => Just(0), 4 => Just(unit), 2 => Just(two), 2 => Just(10 << 20)].boxed()
        }
    };
    let max_files = prop_oneof![1 => 1..=6usize, 4 => Just(50_000)];
    (enabled, max_snapshots, max_file_bytes, max_files)
        .prop_map(|(enabled, max_snapshots, max_file_bytes, max_files)| Settings {
            enabled,
            max_snapshots,
            max_file_bytes,
            max_files,
            ..Settings::default()
        })
        .boxed()
}

/// The history for `seed` and `number`; the same on every machine.
pub fn generate_history(options: &Options, seed: u64, number: u64) -> History {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, random);
    let tree = history_with(options.clone()).new_tree(&mut runner);
    tree.expect("no strategy here rejects a value").current()
}
