//! The adapter protocol, version 1: how an implementation in any language is driven.
//!
//! The runner starts the adapter as a process of its own group and speaks JSON lines with it, one
//! request and one reply at a time. [`message`] defines the lines, [`process`] runs an adapter and
//! enforces the protocol, [`fault`] names every way to break it, [`capabilities`] says what an
//! implementation can do of all that is [`known`], [`asked`] adapts a history to that, and [`check`] probes an adapter.
//! The core behind an adapter is [`crate::subject::serve`].

pub mod asked;
pub mod capabilities;
pub mod check;
pub mod claims;
pub mod fault;
pub mod known;
pub mod message;
pub mod probes;
pub mod process;
pub mod schema;
pub(crate) mod translate;

/// The version this runner speaks.
pub const VERSION: u32 = 1;
