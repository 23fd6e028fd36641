//! Real agents through their front door: a story is told to an agent whose language model is the [scripted
//! one](crate::scripted_model), and what it leaves on the disk, lists and sends next is judged.
//!
//! `story` is what happens, `stories` makes many, `agent` starts the adapter of an agent, `telling` carries a story out
//! with `sessions` and `restoring`, `ledger` and `restores` know what is expected, and `session` runs many stories and shrinks what
//! fails. The adapters are the Python files in `harness/agents`.

mod agent;
mod disk;
mod ledger;
mod leftovers;
mod report;
mod restores;
mod restoring;
mod results;
mod rules;
mod session;
mod sessions;
mod shrink;
mod stories;
mod story;
mod telling;

pub use agent::{AgentProcess, DoorCode, DoorCommand, DoorError, DoorHello, write_adapters};
pub use ledger::Breach;
pub use report::{page, rules_text};
pub use results::{DoorFinding, DoorResults, DoorVerdict, merged};
pub use rules::{DOOR_RULES, DoorRule};
pub use session::{Bench, DoorPlan, run};
pub use story::{Story, StoryError};
pub use telling::Told;
