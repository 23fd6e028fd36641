//! Reference implementation of agent checkpoints: snapshots of project directories in one shared
//! shadow git store, and the way back to any of them.
//!
//! [`Manager`] is the whole public interface. It is given its disk, clock and environment as
//! arguments, so that nothing here reads a variable, a clock or a user's git configuration. The
//! layers below it, from the outside in: scope and restore decide, capture reads a project,
//! the store keeps what was read, and every byte that is written goes through [`disk`].
#![forbid(unsafe_code)]

mod capture;
mod commit;
pub mod configuration;
pub mod disk;
mod environment;
mod error;
mod fresh;
pub mod ignore;
mod index;
mod lock;
mod manager;
mod metadata;
mod object;
mod objects;
mod pack;
mod patch;
mod path;
mod placement;
mod project;
mod refs;
mod report;
mod restore;
mod rollback;
mod snapshot;
mod status;
mod store;
mod target;
mod walk;

pub use environment::{Clock, Config, Environment, SystemClock};
pub use error::{Code, Error, Result};
pub use manager::Manager;
pub use project::{project_directory, project_of_file};
pub use report::{
    Change, Diff, DiffEntry, Listed, Outcome, ProjectState, ProjectStatus, Remark, Restored, Stats,
    Status, Taken,
};
pub use rollback::RestoreOptions;
