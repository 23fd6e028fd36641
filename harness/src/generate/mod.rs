//! Generated histories, as proptest strategies that any test can use.
//!
//! Histories are biased to collisions: few projects and names, so that edits collide; names with
//! every awkward character; limits random and small, and sizes at a limit or one off it. Swarm
//! testing: each history leaves out a random subset of the kinds of operation, so that rare ones
//! have room.

mod agent;
mod attributes;
mod collected;
mod content;
mod damage;
mod damages;
mod hands;
mod idiom;
mod injections;
mod kept_times;
mod last;
mod maintenance;
mod measured;
mod names;
mod operation;
mod repositories;
mod stories;
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
pub use stories::stories;

/// What histories are drawn from.
#[derive(Clone, Debug)]
pub struct Options {
    /// The most operations of one history.
    pub operations_max: usize,
    /// A real directory whose copy is the first project, and some of its paths.
    pub workspace: Option<(PathBuf, Vec<ByteString>)>,
    /// Whether anything is asked about the store as a whole, or done to it.
    pub maintenance: bool,
    /// Whether the subject is told what the agent's tools write.
    pub hands: bool,
    /// Whether what is stored is damaged.
    pub damage: bool,
    /// Of so many histories something is made to happen at calls in one; in none for 0.
    pub injections: u32,
    /// One history of so many measures what requests take, and does nothing else; none for 0.
    pub measured: u32,
    /// One history of so many asks several processes at the same time, and does nothing else; none for 0.
    pub together: u32,
    /// How many other processes those are.
    pub processes: RangeInclusive<u8>,
    /// Whether there is an agent beside its files.
    pub agent: bool,
    /// Whether there are databases, whose files belong together.
    pub databases: bool,
    /// In which steps the subject takes the settings that are sizes.
    pub units: Units,
}

impl Default for Options {
    fn default() -> Self {
        let (operations_max, units) = (60, Units::default());
        Options {
            operations_max,
            workspace: None,
            maintenance: true,
            hands: true,
            damage: true,
            injections: 6,
            measured: 150,
            // What they answer no seed says: whoever repeats a search has none.
            together: 0,
            processes: 1..=3,
            agent: true,
            databases: true,
            units,
        }
    }
}

impl Options {
    /// These options for a subject with these capabilities: without what it cannot be asked or
    /// shown, and with sizes that it can be set to.
    pub fn within(&self, capabilities: &Capabilities) -> Options {
        let maintenance = self.maintenance && capabilities.keeps_store();
        let hands = self.hands && capabilities.has("restore.others");
        let damage = self.damage && capabilities.has("test.damage") && capabilities.has("layout");
        let injections = if capabilities.has(INJECTION) { self.injections } else { 0 };
        let measured = if capabilities.has(MEASUREMENT) { self.measured } else { 0 };
        let together = if capabilities.has(INJECTION) { self.together } else { 0 };
        let agent = self.agent && capabilities.keeps_agent();
        let databases = self.databases && capabilities.has("capture.units");
        let units = capabilities.units();
        let options = Options { maintenance, hands, damage, injections, ..self.clone() };
        Options { measured, together, agent, databases, units, ..options }
    }
}

/// Histories of the default kind; the documentation of this crate shows a test over them.
pub fn history() -> impl Strategy<Value = History> {
    history_with(Options::default())
}

/// Histories drawn from these options.
pub fn history_with(options: Options) -> impl Strategy<Value = History> {
    let workspace = options.workspace.as_ref().map(|(path, _)| path.clone());
    let own_paths = options.workspace.map(|(_, paths)| paths).unwrap_or_default();
    let real = workspace.is_some();
    let (maintenance, told, units) = (options.maintenance, options.hands, options.units);
    let damages = options.damage && !real;
    let injections = if real { 0 } else { options.injections };
    let measured = if real { 0 } else { options.measured };
    let together = if real { 0 } else { options.together };
    let is_agent = options.agent;
    let has_databases = options.databases && !real;
    let drawn = (settings(real, units.file), any::<u64>()).boxed();
    let drawn =
        if maintenance { maintenance::with_bounds(drawn, real, units.total) } else { drawn };
    drawn.prop_flat_map(move |(settings, swarm)| {
        let sizes = Sizes::of(&settings, units);
        let operation = operation::operation(sizes, Kinds(swarm), own_paths.clone());
        let single = operation.prop_map(|operation| vec![operation]);
        let fragment = prop_oneof![24 => single, 1 => idiom::idiom(sizes)];
        let fragment = if maintenance {
            maintenance::among(fragment.boxed(), sizes, Kinds(swarm))
        } else {
            fragment.boxed()
        };
        let workspace = workspace.clone();
        // What came late to this suite is drawn last, so that it changes nothing else.
        let command = option::weighted(0.3, operation::command());
        let hands = if told { hands::fragments(sizes) } else { Just(Vec::new()).boxed() };
        let fragments = vec(fragment, 1..=options.operations_max);
        let last = last::fragments(maintenance);
        let damage = if damages { damage::fragments(sizes) } else { Just(Vec::new()).boxed() };
        let agent = if is_agent { agent::fragments(sizes) } else { Just(Vec::new()).boxed() };
        let gc = match maintenance && !real {
            true => collected::fragments(sizes, damages),
            false => Just(Vec::new()).boxed(),
        };
        let others = attributes::fragments(sizes);
        let kept = kept_times::fragment(sizes);
        let tidied = match maintenance {
            true => maintenance::half_done(),
            false => Just(Vec::new()).boxed(),
        };
        let databases = match has_databases {
            true => units::fragments(),
            false => Just(Vec::new()).boxed(),
        };
        let end = (kept, tidied).prop_map(|(kept, tidied)| [kept, tidied]);
        let injected = injections::fragments(sizes, injections);
        let of_a_pack = injections::of_a_pack(sizes, injections);
        let together = together::history(together, options.processes.clone());
        let alone = (measured::history(measured), of_a_pack, together);
        let end = (end, databases, injected, alone);
        let drawn = (fragments, others, command, last, hands, damage, agent, gc, end);
        drawn.prop_map(move |(fragments, others, command, last, hands, damage, agent, gc, end)| {
            let operations: Vec<Operation> = fragments.into_iter().flatten().collect();
            let mut operations = attributes::among(operations, others);
            operations = attributes::among(operations, hands);
            // What a damaged object costs of an agent's state nobody has decided: one or the other.
            let mut packed = gc.iter().flat_map(|(_, operations)| operations);
            let is_whole = damage.is_empty() && !packed.any(collected::damages);
            let (end, databases, injections, (measured, of_a_pack, together)) = end;
            let injections = [injections, of_a_pack].concat();
            if let Some(history) = measured.or(together) {
                return history;
            }
            // Nor what it costs where something happened at a call.
            let is_quiet = injections.is_empty();
            let agent = if is_whole && is_quiet { agent } else { Vec::new() };
            let damage = if is_quiet { damage } else { Vec::new() };
            operations = attributes::among(operations, damage);
            operations = attributes::among(operations, gc);
            operations = attributes::among(operations, agent);
            operations = attributes::among(operations, databases);
            operations = attributes::among(operations, injections);
            operations.truncate(options.operations_max);
            if operations.len() < options.operations_max {
                operations.extend(command);
            }
            for fragment in last.into_iter().chain(end) {
                if operations.len() + fragment.len() <= options.operations_max {
                    operations.extend(fragment);
                }
            }
            if workspace.is_some() {
                // The point of a real tree: it is checkpointed unchanged, and at the end every
                // checkpoint is restored.
                let (dir, reason) = (ByteString::from("work/alpha"), "as it came".to_owned());
                operations
                    .insert(0, Operation::Ask(Request::Checkpoint { dir: dir.clone(), reason }));
                operations.push(Operation::Event(Event::RestoreEach { dir }));
            }
            let (settings, workspace) = (settings.clone(), workspace.clone());
            // With another home a call may have another number.
            History { settings, workspace, plain_home: !is_quiet, operations }
        })
    })
}

/// Limits are small, so that histories reach them; that of a file as small as its unit lets it be. A
/// real workspace has the default ones.
fn settings(real: bool, unit: u64) -> BoxedStrategy<Settings> {
    if real {
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

/// The history that `seed` and `number` stand for: always the same, on every machine.
pub fn draw(options: &Options, seed: u64, number: u64) -> History {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, random);
    let tree = history_with(options.clone()).new_tree(&mut runner);
    tree.expect("no strategy here rejects a value").current()
}
