//! Careful subjects: correct stores whose habits are not ours. What is held against one of them is a
//! habit of this suite and no rule.
//!
//! Each is a row: what it calls its checkpoints, what it says that it can do, and what it does where
//! no rule says what is right. [`store`] keeps copies in memory, and shares nothing with the core.

mod agent;
mod bounds;
mod store;
mod units;

use crate::cases;
use crate::generate::Options;
use crate::sandbox::{Sandbox, Scratch};
use crate::share::Share;
use crate::subject::Subject;
use crate::suite::{Findings, Plan, introduce, run_suite};
use herma_model::{Code, Settings};
use std::collections::BTreeSet;
use std::error::Error;
use store::Store;

/// One correct store with habits of its own.
pub struct Careful {
    /// What it is called.
    pub name: &'static str,
    /// What is foreign about it, in a sentence.
    pub about: &'static str,
    /// What it says that it can do.
    capabilities: &'static [&'static str],
    /// What it calls its checkpoint of that number, taken at that time.
    id: fn(usize, i64) -> String,
    /// Whether it keeps a first checkpoint of a project that holds nothing.
    keeps_empty: bool,
    /// Whether it keeps a checkpoint of what did not change.
    keeps_unchanged: bool,
    /// Whether it leaves new files that are in the way of what would come back.
    modest: bool,
    /// Whether it leaves out and keeps every database with a journal, as one in use.
    shy: bool,
    /// What it says of a target that names no checkpoint.
    no_such: Code,
    /// Whether it says of a place that can be no project that it is none, whatever the target.
    place_first: bool,
}

/// What most of them do.
const PLAIN: Careful = Careful {
    name: "",
    about: "",
    capabilities: &["checkpoint", "project.any_directory", "restore.leaves_new"],
    id: |number, _| format!("{number:08x}"),
    keeps_empty: true,
    keeps_unchanged: true,
    modest: false,
    shy: false,
    no_such: Code::UnknownCheckpoint,
    place_first: false,
};

/// Every careful subject.
pub static ALL: &[Careful] = &[
    Careful {
        name: "careful-labels",
        about: "Its ids are labels, of which the beginning is enough.",
        capabilities: &[
            "checkpoint",
            "list.reason",
            "project.any_directory",
            "refusal.reasons",
            "restore.leaves_new",
            "target.number",
            "target.short",
            "test.clock",
        ],
        id: |number, _| format!("ckpt-{number:04}"),
        ..PLAIN
    },
    Careful {
        name: "careful-serials",
        about: "Its ids are serial numbers with a letter, and its restores may be exact.",
        capabilities: &["checkpoint", "restore.exact", "restore.leaves_new"],
        id: |number, _| format!("C{number:07}"),
        ..PLAIN
    },
    Careful {
        name: "careful-digits",
        about: "Its ids are digits alone, and what is none is malformed.",
        capabilities: &["checkpoint", "refusal.reasons", "restore.leaves_new"],
        id: |number, _| format!("{number:04}"),
        no_such: Code::BadTarget,
        ..PLAIN
    },
    Careful {
        name: "careful-counts",
        about: "Its ids count from one, oldest first, and are no numbers of the list.",
        capabilities: &["checkpoint", "project.any_directory", "restore.exact"],
        id: |number, _| number.to_string(),
        ..PLAIN
    },
    Careful {
        name: "careful-ulids",
        about: "Its ids are ULIDs in capitals; it saves the state before a restore, and reports.",
        capabilities: &[
            "checkpoint",
            "project.any_directory",
            "refusal.reasons",
            "restore.exact",
            "restore.leaves_new",
            "restore.report",
            "restore.safety",
            "target.number",
            "target.short",
        ],
        id: |number, seconds| format!("{:010X}{:016X}", seconds, number * 0x9E37_79B9),
        ..PLAIN
    },
    Careful {
        name: "careful-times",
        about: "Its ids are moments. It takes nothing that it has, though it does not say so.",
        id: |number, seconds| format!("T{seconds}.{number:03}+00:00"),
        keeps_empty: false,
        keeps_unchanged: false,
        ..PLAIN
    },
    Careful {
        name: "careful-mirror",
        about: "A restore always makes the project what it was, and removes the rest.",
        capabilities: &["checkpoint", "restore.exact", "restore.report", "take.unchanged"],
        keeps_unchanged: false,
        ..PLAIN
    },
    Careful {
        name: "careful-folders",
        about: "A folder may be restored by itself, and comes back whole.",
        capabilities: &[
            "checkpoint",
            "project.any_directory",
            "refusal.reasons",
            "restore.directory",
            "restore.file",
            "restore.leaves_new",
            "target.number",
        ],
        id: |number, _| format!("v{number}"),
        ..PLAIN
    },
    Careful {
        name: "careful-limits",
        about: "It takes no checkpoint of too many files, and restores where there are by now.",
        capabilities: &[
            "checkpoint",
            "project.any_directory",
            "refusal.reasons",
            "restore.directory",
            "restore.exact",
            "restore.file",
            "restore.leaves_new",
            "settings.max_files",
        ],
        id: |number, _| format!("few-{number:05}"),
        place_first: true,
        ..PLAIN
    },
    Careful {
        name: "careful-turns",
        about: "It takes automatic checkpoints only, and keeps an empty first one.",
        capabilities: &[
            "ensure_checkpoint",
            "list.reason",
            "project.any_directory",
            "restore.leaves_new",
            "take.unchanged",
        ],
        id: |number, _| format!("turn/{number}"),
        keeps_unchanged: false,
        ..PLAIN
    },
    Careful {
        name: "careful-modest",
        about: "It leaves new files that are in the way of what would come back.",
        id: |number, _| format!("{number:x}-{number:04x}"),
        modest: true,
        ..PLAIN
    },
    Careful {
        name: "careful-agent",
        about: "It carries an agent, of which its process keeps what it can forget.",
        capabilities: &[
            "checkpoint",
            "ensure_checkpoint",
            "event",
            "event.card",
            "event.high_risk",
            "event.long_call",
            "event.milestone",
            "event.turn_boundary",
            "external",
            "external.accept",
            "external.compensate",
            "label",
            "pin",
            "project.any_directory",
            "restore.exact",
            "restore.latest",
            "restore.leaves_new",
            "restore.safety",
            "state",
            "state.goal",
            "state.kanban",
            "subagent",
            "take.unchanged",
            "target.number",
        ],
        id: |number, _| format!("agent-{number:05}"),
        keeps_unchanged: false,
        ..PLAIN
    },
    Careful {
        name: "careful-goal",
        about: "It carries the goal of an agent and nothing else of it.",
        capabilities: &[
            "checkpoint",
            "external",
            "project.any_directory",
            "restore.leaves_new",
            "state",
            "state.goal",
        ],
        id: |number, _| format!("goal-{number:05}"),
        ..PLAIN
    },
    Careful {
        name: "careful-units",
        about: "It captures the files of a database together, and restores them so.",
        capabilities: &[
            "capture.units",
            "checkpoint",
            "project.any_directory",
            "refusal.reasons",
            "restore.directory",
            "restore.exact",
            "restore.file",
            "restore.file_safety",
            "restore.leaves_new",
            "restore.report",
            "restore.safety",
            "take.skipped",
            "target.number",
        ],
        id: |number, _| format!("unit-{number:05}"),
        ..PLAIN
    },
    Careful {
        name: "careful-shy",
        about: "It takes a database with a journal for one in use, and leaves it alone.",
        capabilities: &[
            "capture.units",
            "checkpoint",
            "project.any_directory",
            "restore.exact",
            "restore.leaves_new",
            "restore.report",
            "restore.safety",
            "take.skipped",
        ],
        id: |number, _| format!("shy-{number:05}"),
        shy: true,
        ..PLAIN
    },
    Careful {
        name: "careful-sizes",
        about: "It captures no large file, and keeps what stands where it left one out.",
        capabilities: &[
            "checkpoint",
            "checkpoint.left_out",
            "project.any_directory",
            "restore.directory",
            "restore.exact",
            "restore.file",
            "restore.file_safety",
            "restore.leaves_new",
            "restore.report",
            "restore.safety",
            "settings.max_file_bytes",
            "take.skipped",
        ],
        id: |number, _| format!("size-{number:05}"),
        ..PLAIN
    },
    Careful {
        name: "careful-mute",
        about: "It keeps what stands where it left a large file out, though it does not say so.",
        capabilities: &[
            "checkpoint",
            "project.any_directory",
            "restore.exact",
            "restore.leaves_new",
            "restore.safety",
            "settings.max_file_bytes",
        ],
        id: |number, _| format!("mute-{number:05}"),
        ..PLAIN
    },
    Careful {
        name: "careful-room",
        about: "It keeps few, and what was taken before a restore makes room for the next of these.",
        capabilities: &[
            "checkpoint",
            "list.reason",
            "project.any_directory",
            "restore.exact",
            "restore.leaves_new",
            "restore.report",
            "restore.safety",
            "settings.max_snapshots",
            "target.number",
        ],
        id: |number, _| format!("room-{number:05}"),
        ..PLAIN
    },
    Careful {
        name: "careful-letters",
        about: "Its ids are a letter or two, and it gives no reasons for a refusal.",
        capabilities: &["checkpoint", "restore.exact", "restore.leaves_new", "target.number"],
        id: |number, _| {
            let letter = |at: usize| char::from(b'a' + u8::try_from(at % 26).unwrap_or_default());
            format!("{}{}", letter(number / 26), letter(number))
        },
        no_such: Code::StoreUnusable,
        ..PLAIN
    },
];

impl Careful {
    /// What opens it in a sandbox.
    pub fn opener(&'static self) -> impl Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync {
        move |sandbox, settings, seconds| Box::new(Store::new(self, sandbox, settings, seconds))
    }

    /// Judges it by the written cases that suit it and by these histories.
    ///
    /// # Errors
    /// A case that is not valid, or a run that could not be made.
    pub fn judge(
        &'static self,
        seed: u64,
        histories: u64,
        scratch: &Scratch,
    ) -> Result<Findings, Box<dyn Error>> {
        let open = self.opener();
        let (_, capabilities) = introduce(&open, scratch)?;
        let plan = Plan {
            seeds: vec![seed],
            histories,
            options: Options::default(),
            kept: Vec::new(),
            cases: cases::bundled()?,
            jobs: 2,
            shrink_budget: 300,
            time_budget: None,
            known: BTreeSet::new(),
            share: Share::default(),
        };
        Ok(run_suite(&plan.within(&capabilities), &open, scratch, &|_| {})?)
    }

    fn can(&self, capability: &str) -> bool {
        self.capabilities.contains(&capability)
    }
}
