//! The checkpoint base and the store in it, one bare git repository: objects, the history of each
//! project, locks and metadata.
//!
//! This module ends at what is stored, and knows no agent: [`crate::agent_state`] stores what checkpoints
//! hold in addition to files, and [`crate::history`] lists them. [`crate::capture`] decides which files
//! belong in a checkpoint, [`crate::restore`] what is written back, and [`crate::maintenance`] what is
//! evicted.

pub mod base;
pub mod commit;
pub mod compatibility;
pub mod compressor;
pub mod content;
mod delta;
pub mod figures;
pub mod git_lock;
mod header;
mod include;
pub mod left_out;
pub mod lock;
mod loose;
pub mod mark;
pub mod metadata;
pub mod migration;
pub mod object;
pub mod objects;
pub mod oid;
pub mod pack;
pub mod pack_index;
mod packed;
pub mod packed_refs;
mod packs;
pub mod permissions;
pub mod pre_restore;
pub mod ref_recovery;
pub mod refs;
mod repack;
mod repository;
pub mod restoring;
pub mod rollbacks;
pub mod shallow;
pub mod snapshot;
pub mod trees;
pub mod usage;

pub use packed::REFUSED_BY_GIT;
pub use repository::{Store, make_directories, make_private};
