//! Real agents through their front door: an agent whose language model is the [scripted one](crate::scripted_model)
//! is told a story, and what it leaves on the disk, lists and sends next is judged.
//!
//! - `story` is what happens, and `stories` generates many.
//! - `agent` starts the adapter of an agent, one of the Python files in `harness/agents`.
//! - `telling` carries a story out, with `turns`, `sessions` and `restoring`; `disk` reads the files.
//! - `ledger` and `restores` know what is expected, and `rules` are the rules.
//! - `run` tells many stories, and `shrink` makes a failing story smaller; `leftovers` finds running processes.
//! - `results` adds up, and `report` writes the page.

mod agent;
mod disk;
mod ledger;
mod leftovers;
mod report;
mod restores;
mod restoring;
mod results;
mod rules;
mod run;
mod sessions;
mod shrink;
mod stories;
mod story;
mod telling;
mod turns;

pub use agent::{AgentProcess, DoorCode, DoorCommand, DoorError, DoorHello, write_adapters};
pub use ledger::Breach;
pub use report::{page, rules_text};
pub use results::{DoorFinding, DoorResults, DoorVerdict, merged};
pub use rules::{DOOR_RULES, DoorRule};
pub use run::{Bench, DoorPlan, run};
pub use story::{Story, StoryError};
pub use telling::Told;
