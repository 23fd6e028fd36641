//! Reference implementation of agent checkpoints: takes snapshots of project directories into one
//! shared shadow git store, and restores them.
//!
//! [`Manager`] is the entry point. Its caller passes in the disk, the clock and the environment, so
//! that this crate reads no environment variable, no system clock and no git configuration of the user.
//! Below it are these modules. Each of them uses only modules further down this list, and `restore`
//! does not use `capture`:
//!
//! - `restore` and `capture` write and read projects
//! - `maintenance` keeps the store small
//! - `history` lists the checkpoints of a project
//! - `agent_state` is what checkpoints hold in addition to files
//! - `store` stores the captured content
//! - [`disk`] carries out every read and write of a file
//!
//! [`triggers`] is independent of them: it decides when an agent should request a checkpoint, and
//! touches no file. [`agent`] combines [`Manager`] and [`triggers`] for authors of agents.
//! [`rollback_line`] parses typed rollback commands, [`printed`] prints the list of checkpoints, and
//! [`doctor`] checks the files and folders of all modules and changes nothing.
//!
//! The default feature `cli` builds the command `herma` and changes nothing in this library.
#![forbid(unsafe_code)]

pub mod agent;
mod agent_state;
mod capture;
pub mod configuration;
pub mod disk;
pub mod doctor;
mod environment;
mod error;
mod history;
pub mod ignore;
mod io_error;
mod maintenance;
mod manager;
mod own_folders;
mod path;
mod policy;
pub mod printed;
mod progress;
mod project;
mod remark;
mod report;
mod restore;
pub mod rollback_line;
mod shared;
mod store;
pub mod text;
mod token;
pub mod triggers;
mod unit;

pub use agent_state::{ActionNote, Envelope, Occasion, PartNote};
pub use environment::{Clock, Config, Environment, SystemClock, is_relative};
pub use error::{Code, Error, Result};
pub use maintenance::prune::{PruneOptions, PruneStep};
pub use manager::{
    Comparison, Held, Look, Manager, PartChanged, RestoreOptions, Scope, text_difference,
};
pub use policy::Trigger;
pub use progress::FileProgress;
pub use project::{hash_of as project_hash, project_directory, project_of_file, project_of_tool};
pub use report::{
    AgentRestored, Change, Cleared, ClearedLegacy, DamagedCheckpoint, Diff, DiffEntry, Evicted,
    Excluded, ExcludedBy, FileChange, Holdings, Interrupted, ListName, Listed, LossyPath, Moved,
    Outcome, Preview, ProjectState, ProjectStatus, Pruned, Remark, Restored, SizeKept, Stats,
    Status, Swept, Taken, Undone, Unlisted, Verified,
};
pub use restore::{EXCLUDED, INTERRUPTED, KEPT, LEFT_OUT};
pub use store::left_out::{LeftOut, Reason, Stamp};
pub use store::metadata::SessionTurn;
pub use store::rollbacks::Direction;
pub use token::Token;

/// The state of an agent, for authors of agents: parts, which checkpoints carry, and external actions.
pub mod state {
    pub use crate::agent_state::{
        Action, ActionStatus, Compensated, Compensation, Compensations, Decided, External,
        FilePart, INTERRUPTED, LOCK_FILE, ListedAction, Part, PartKind, State, TAIL_MAX,
    };
}
