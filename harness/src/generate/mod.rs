//! Generated histories: proptest strategies that any test can use, and a function from bytes to a history
//! for every other source of choices, such as `quickcheck`, `arbitrary` and libFuzzer.
//!
//! Histories are biased towards collisions: few projects and names, so that edits collide; names with
//! every awkward character; small random limits, and sizes at a limit or off by one. Swarm testing: each
//! history leaves out a random subset of the kinds of operation, so that rare kinds have room.

mod agent;
mod attributes;
mod attribution;
mod choices;
mod collected;
mod content;
mod damage;
mod damages;
mod extremes;
mod folder_permissions;
pub mod guided;
mod idiom;
mod injections;
mod kept_times;
mod last;
mod maintenance;
mod measured;
mod names;
mod operation;
mod own_ignores;
mod parts;
mod repositories;
mod scenarios;
mod together;
mod units;
mod unreadable_folders;
mod values;

use crate::history::History;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::known::{FOLDER_PERMISSIONS, INJECTION, MEASUREMENT, OWN_IGNORE_FILE};
use crate::protocol::units::Units;
use herma_model::{ByteString, Settings};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::path::PathBuf;

pub use choices::{BYTES_PER_FRAGMENT, bytes_for, history_of};
use content::SizeLimits;
pub use damages::{damages, damages_of_any_store};
pub(crate) use idiom::PRUNE;
pub use measured::{judges_memory, measured};
pub use operation::Kinds;
pub use scenarios::scenarios;

/// Options of the generator.
#[derive(Clone, Debug)]
pub struct Options {
    /// The maximum number of operations of a history.
    pub operations_max: usize,
    /// A real directory whose copy is the first project, and some paths in it for the operations.
    pub workspace: Option<(PathBuf, Vec<ByteString>)>,
    /// Whether histories contain maintenance requests, and changes of the store without a request.
    pub maintenance: bool,
    /// Whether the agent's tools report their writes to the subject.
    pub attribution: bool,
    /// Whether the store is damaged.
    pub damage: bool,
    /// One in this many histories has injections; 0 means none.
    pub injections: u32,
    /// One in this many histories measures the cost of requests, and does nothing else; 0 means none.
    pub measured: u32,
    /// One in this many histories has requests to several processes at once, and nothing else; 0 means
    /// none.
    pub together: u32,
    /// The number of other processes in the histories with several processes.
    pub processes: RangeInclusive<u8>,
    /// Whether histories use agent state.
    pub agent: bool,
    /// Whether histories contain databases, whose files are units.
    pub databases: bool,
    /// Whether restores are undone and redone.
    pub undo: bool,
    /// Whether projects have ignore files of the store's own.
    pub own_ignore_files: bool,
    /// Whether composed commands are classified.
    pub cautious: bool,
    /// Whether the permissions of folders change.
    pub folder_permissions: bool,
    /// Whether folders become unreadable, and readable again.
    pub unreadable_folders: bool,
    /// Whether other directories than the usual projects are projects.
    pub other_projects: bool,
    /// The multiples in which the subject can set its size limits.
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
            undo: true,
            own_ignore_files: true,
            cautious: true,
            folder_permissions: true,
            unreadable_folders: true,
            other_projects: true,
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
        let undo = self.undo && capabilities.has("restore.undo");
        let own_ignore_files = self.own_ignore_files && capabilities.has(OWN_IGNORE_FILE);
        let cautious = self.cautious && capabilities.has("classify.cautious");
        let folder_permissions = self.folder_permissions && capabilities.has(FOLDER_PERMISSIONS);
        let unreadable_folders = self.unreadable_folders
            && capabilities.has("files.unreadable")
            && capabilities.has("checkpoint.left_out");
        let other_projects = self.other_projects && capabilities.has("project.any_directory");
        let units = capabilities.units();
        let options = Options { maintenance, attribution, damage, injections, ..self.clone() };
        let options = Options { measured, together, agent, databases, undo, ..options };
        let options = Options { own_ignore_files, cautious, folder_permissions, ..options };
        Options { unreadable_folders, other_projects, units, ..options }
    }

    /// These options without anything that a real workspace cannot have, if there is one.
    fn restricted(self) -> Options {
        if self.workspace.is_none() {
            return self;
        }
        Options { damage: false, injections: 0, measured: 0, together: 0, databases: false, ..self }
    }
}

/// A strategy for histories with the default options. The documentation of this crate shows a test that
/// uses it.
pub fn history() -> impl Strategy<Value = History> {
    history_with(Options::default())
}

/// A strategy for histories with these options.
pub fn history_with(options: Options) -> impl Strategy<Value = History> {
    let options = options.restricted();
    settings_and_swarm(&options).prop_flat_map(move |(settings, swarm)| {
        let options = options.clone();
        parts::parts(&options, SizeLimits::of(&settings, options.units), Kinds(swarm))
            .prop_map(move |parts| parts.history(&options, settings.clone()))
    })
}

/// Generates the settings of a history, and the bits of its kinds of operation.
fn settings_and_swarm(options: &Options) -> BoxedStrategy<(Settings, u64)> {
    let is_workspace = options.workspace.is_some();
    let units = options.units;
    let settings_and_swarm = (settings(is_workspace, units.file), any::<u64>()).boxed();
    if options.maintenance {
        maintenance::with_bounds(settings_and_swarm, is_workspace, units.total)
    } else {
        settings_and_swarm
    }
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

/// Generates the history with this `number` of a `seed`: the same on every machine.
pub fn generate_history(options: &Options, seed: u64, number: u64) -> History {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    drawn(&history_with(options.clone()), &bytes)
}

/// The value that a strategy generates from a seed.
fn drawn<T: Debug>(strategy: &impl Strategy<Value = T>, seed: &[u8; 32]) -> T {
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, seed);
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, random);
    strategy.new_tree(&mut runner).expect("no strategy here rejects a value").current()
}
