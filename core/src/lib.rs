//! Reference implementation of agent checkpoints: snapshots of project directories in one shared
//! shadow git store, and the way back to any of them.
//!
//! [`Manager`] is the whole public interface. It is given its disk, clock and environment as
//! arguments, so that nothing here reads a variable, a clock or a user's git configuration. The
//! layers below it, from the outside in: scope and restore decide, capture reads a project,
//! the store keeps what was read, and every byte that is written goes through [`disk`].
#![forbid(unsafe_code)]

mod atomic_write;
mod base;
mod capture;
mod clear;
mod commit;
pub mod configuration;
pub mod disk;
mod environment;
mod error;
mod evidence;
mod folder;
pub mod ignore;
mod index;
mod inventory;
mod limits;
mod lock;
mod manager;
mod metadata;
mod migration;
mod object;
mod objects;
mod pack;
mod pack_index;
mod patch;
mod path;
mod placement;
mod project;
mod prune;
mod reach;
mod reclaim;
mod ref_recovery;
mod refs;
mod report;
mod restore;
mod rollback;
mod shallow;
mod snapshot;
mod status;
mod store;
mod sweep;
mod target;
mod total;
mod usage;
mod walk;

pub use environment::{Clock, Config, Environment, SystemClock};
pub use error::{Code, Error, Result};
pub use manager::Manager;
pub use project::{project_directory, project_of_file};
pub use prune::{PruneOptions, PruneStep};
pub use report::{
    Change, Cleared, ClearedLegacy, Diff, DiffEntry, Holdings, Listed, Outcome, ProjectState,
    ProjectStatus, Pruned, Remark, Restored, Stats, Status, Swept, Taken,
};
pub use rollback::RestoreOptions;
