//! The adapter protocol, version 1: how an implementation in any language is driven.
//!
//! The runner starts the adapter as a process with its own group and exchanges JSON lines with it, one
//! request and one reply at a time.
//!
//! - [`message`] defines the lines
//! - [`process`] runs an adapter and enforces the protocol
//! - [`fault`] names every way to break the protocol
//! - [`known`] lists all capabilities; [`capabilities`] holds those of one implementation
//! - [`asked`] adapts a history to these capabilities
//! - [`check`] probes an adapter
//! - [`crate::subject::serve`] serves the core as an adapter

pub mod asked;
pub mod capabilities;
pub mod check;
pub mod claims;
pub mod fault;
pub mod known;
pub mod message;
mod own_ignore_file;
pub mod probes;
pub mod process;
pub mod schema;
pub(crate) mod translate;
pub mod units;

/// The version this runner speaks.
pub const VERSION: u32 = 1;
