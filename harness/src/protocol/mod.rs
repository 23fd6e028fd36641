//! The adapter protocol, version 1: how an implementation in any language is driven.
//!
//! The runner starts the adapter as a process of its own group and speaks JSON lines with it, one
//! request and one reply at a time. [`message`] is what is said, [`process`] is how a process is
//! kept to it, [`fault`] is every way it can fail to, by name, [`claims`] is what an
//! implementation says it can, [`asked`] is what is put to it then, [`check`] probes an adapter for all of it, and [`serve`] is the core behind it.

pub mod asked;
pub mod capabilities;
pub mod check;
pub mod fault;
pub mod message;
pub mod process;
pub mod schema;
pub mod serve;
pub(crate) mod translate;

/// The version this runner speaks.
pub const VERSION: u32 = 1;
