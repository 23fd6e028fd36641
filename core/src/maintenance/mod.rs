//! Keeps the store small: limits after each checkpoint, pruning, clearing, and the sizes of all that.
//!
//! This module removes checkpoints, projects and entire stores, and never touches a project's own files.
//! [`crate::manager`] decides when it runs.

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
