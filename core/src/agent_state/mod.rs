//! The agent's state: what a checkpoint holds in addition to the project's files.

pub mod attribution;
pub mod envelope;
pub mod envelopes;
mod external;
mod file_part;
pub mod journal;
mod kinds;
mod owner;
mod parts;
pub mod pins;

pub use external::{
    Action, ActionStatus, Compensated, Compensation, Compensations, Decided, External, INTERRUPTED,
    Listed as ListedAction,
};
pub use file_part::{FilePart, LOCK_FILE};
pub use kinds::{Kind as PartKind, TAIL_MAX};
pub use parts::{Part, State};

pub(crate) use external::{Since, readable as readable_log};
pub(crate) use file_part::readable as readable_part;
pub(crate) use owner::{Owner, Take};
pub(crate) use parts::{Captured, PART_BYTES_MAX};
