//! The agent's state: everything that a checkpoint holds in addition to the project's files.
//!
//! [`State`] is the state of a running agent; it is captured, carried by checkpoints and restored. [`Stored`]
//! is what the store holds of it for one project: envelopes, pins, the journal of a restore, and which changes
//! the agent reported. The other modules ask these two, and exchange with them the data named below; the
//! modules of this folder are private. `history` and `maintenance` use `Stored` alone.
//!
//! The manager takes the locks, decides the order of steps, and restores the files; when a restore has to be
//! undone, [`Recovery`] asks it to undo them.

mod attribution;
mod carry;
mod envelope;
mod envelopes;
mod external;
mod file_part;
mod journal;
mod kinds;
mod owner;
mod parts;
mod pins;
mod recovery;
mod restore;

// For authors of agents.
pub use carry::Occasion;
pub use envelope::{ActionNote, Envelope, PartNote};
pub use external::{
    Action, ActionStatus, Compensated, Compensation, Compensations, Decided, External, INTERRUPTED,
    Listed as ListedAction,
};
pub use file_part::{FilePart, LOCK_FILE};
pub use kinds::{Kind as PartKind, TAIL_MAX};
pub use parts::{Part, State};
pub use restore::AgentRestored;

// For the other modules of this crate.
pub use attribution::{Change, PathState, is_external_edit};
pub use carry::{Carried, Taking};
pub use envelopes::Kept;
pub use journal::Journal;
pub use owner::Owner;
pub use recovery::{Recovered, Recovery, UndoneFiles};
pub use restore::{StateRestore, WantedParts};

use crate::store::Store;

/// The state of an agent in the store, as far as it belongs to one project.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    store: &'a Store<'a>,
    hash: &'a str,
}

impl<'a> Stored<'a> {
    /// The state that belongs to the project of that hash.
    pub fn of(store: &'a Store<'a>, hash: &'a str) -> Self {
        Stored { store, hash }
    }
}
