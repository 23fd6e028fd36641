//! Keeps the store small: applies limits after each checkpoint, prunes, clears, and measures the store.
//!
//! This module removes checkpoints, projects and entire stores, and never touches a project's own
//! files. [`crate::manager`] decides when it runs.

pub mod clear;
mod evidence;
mod fold;
mod inventory;
pub mod limits;
pub mod moved;
pub mod prune;
mod reach;
mod reclaim;
mod space;
pub mod status;
pub mod sweep;
mod total;
pub mod verify;
