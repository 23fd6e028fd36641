//! Keeping the store small: limits after each checkpoint, pruning, clearing, and what it all costs.
//!
//! This removes checkpoints, projects and whole stores, and never touches a project's own files.
//! When it runs is decided by [`crate::manager`].

pub mod clear;
mod evidence;
mod inventory;
pub mod limits;
pub mod prune;
mod reach;
mod reclaim;
mod space;
pub mod status;
pub mod sweep;
mod total;
pub mod verify;
