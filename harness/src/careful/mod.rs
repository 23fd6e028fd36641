//! Careful subjects: correct stores whose habits differ from those of the core. A failure of one of them is
//! a mistake of the suite, which takes a habit for a rule.
//!
//! Each subject is a row: the ids of its checkpoints, its capabilities, and its behaviour where no rule
//! decides. [`store`] keeps snapshots in memory and shares no code with the core.

mod agent;
mod bounds;
mod snapshot;
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

/// A correct store with unusual habits.
pub struct Careful {
    /// Its name.
    pub name: &'static str,
    /// What is unusual about it, in a sentence.
    pub about: &'static str,
    /// The capabilities that it claims.
    capabilities: &'static [&'static str],
    /// The id of a checkpoint, from its number and the time at which it is taken, in seconds.
    id: fn(usize, i64) -> String,
    /// Whether it takes a first checkpoint of an empty project.
    keeps_empty: bool,
    /// Whether it takes a checkpoint of an unchanged project.
    keeps_unchanged: bool,
    /// Whether a restore leaves new files that are in the way of recorded ones.
    leaves_obstacles: bool,
    /// Whether it treats every database with a journal as in use: checkpoints leave it out, restores keep it.
    leaves_out_journalled: bool,
    /// The error code for a target that is not a checkpoint.
    unknown_target: Code,
    /// Whether it refuses a directory that cannot be a project before it looks at the target.
    checks_project_first: bool,
}

/// The habits that most careful subjects share.
const COMMON: Careful = Careful {
    name: "",
    about: "",
    capabilities: &["checkpoint", "project.any_directory", "restore.leaves_new"],
    id: |number, _| format!("{number:08x}"),
    keeps_empty: true,
    keeps_unchanged: true,
    leaves_obstacles: false,
    leaves_out_journalled: false,
    unknown_target: Code::UnknownCheckpoint,
    checks_project_first: false,
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
        ..COMMON
    },
    Careful {
        name: "careful-serials",
        about: "Its ids are serial numbers with a letter, and its restores may be exact.",
        capabilities: &["checkpoint", "restore.exact", "restore.leaves_new"],
        id: |number, _| format!("C{number:07}"),
        ..COMMON
    },
    Careful {
        name: "careful-digits",
        about: "Its ids are digits alone, and what is none is malformed.",
        capabilities: &["checkpoint", "refusal.reasons", "restore.leaves_new"],
        id: |number, _| format!("{number:04}"),
        unknown_target: Code::BadTarget,
        ..COMMON
    },
    Careful {
        name: "careful-counts",
        about: "Its ids count from one, oldest first, and are no numbers of the list.",
        capabilities: &["checkpoint", "project.any_directory", "restore.exact"],
        id: |number, _| number.to_string(),
        ..COMMON
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
        ..COMMON
    },
    Careful {
        name: "careful-steps",
        about: "It undoes and redoes, and numbers no checkpoint that a restore took.",
        capabilities: &[
            "checkpoint",
            "project.any_directory",
            "refusal.reasons",
            "restore.exact",
            "restore.leaves_new",
            "restore.report",
            "restore.safety",
            "restore.undo",
            "target.number",
            "target.stable_number",
        ],
        id: |number, _| format!("step-{number:05}"),
        ..COMMON
    },
    Careful {
        name: "careful-stack",
        about: "Each checkpoint can be restored once: a restore takes it and all newer ones off the list.",
        capabilities: &[
            "checkpoint",
            "list.reason",
            "project.any_directory",
            "refusal.reasons",
            "restore.consumes",
            "restore.exact",
            "restore.latest",
            "restore.leaves_new",
            "restore.report",
            "target.number",
        ],
        id: |number, _| format!("undo-{number}"),
        ..COMMON
    },
    Careful {
        name: "careful-times",
        about: "Its ids are moments. It takes nothing that it has, though it does not say so.",
        id: |number, seconds| format!("T{seconds}.{number:03}+00:00"),
        keeps_empty: false,
        keeps_unchanged: false,
        ..COMMON
    },
    Careful {
        name: "careful-mirror",
        about: "A restore always makes the project what it was, and removes the rest.",
        capabilities: &[
            "checkpoint",
            "restore.exact",
            "restore.folder_permissions",
            "restore.report",
            "take.unchanged",
        ],
        keeps_unchanged: false,
        ..COMMON
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
            "restore.folder_permissions",
            "restore.leaves_new",
            "target.number",
        ],
        id: |number, _| format!("v{number}"),
        ..COMMON
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
        checks_project_first: true,
        ..COMMON
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
        ..COMMON
    },
    Careful {
        name: "careful-modest",
        about: "It leaves new files that are in the way of what would come back.",
        id: |number, _| format!("{number:x}-{number:04x}"),
        leaves_obstacles: true,
        ..COMMON
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
        ..COMMON
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
        ..COMMON
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
        ..COMMON
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
        leaves_out_journalled: true,
        ..COMMON
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
        ..COMMON
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
        ..COMMON
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
        ..COMMON
    },
    Careful {
        name: "careful-letters",
        about: "Its ids are a letter or two, and it gives no reasons for a refusal.",
        capabilities: &["checkpoint", "restore.exact", "restore.leaves_new", "target.number"],
        id: |number, _| {
            let letter =
                |index: usize| char::from(b'a' + u8::try_from(index % 26).unwrap_or_default());
            format!("{}{}", letter(number / 26), letter(number))
        },
        unknown_target: Code::StoreUnusable,
        ..COMMON
    },
];

impl Careful {
    /// Returns a function that opens the subject in a sandbox.
    pub fn opener(&'static self) -> impl Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync {
        move |sandbox, settings, seconds| Box::new(Store::new(self, sandbox, settings, seconds))
    }

    /// Judges the subject by the written cases that suit it and by so many histories of a seed.
    ///
    /// # Errors
    /// A case is not valid, or a run could not be made.
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
            cases_of: None,
            preset: String::new(),
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
