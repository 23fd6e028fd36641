//! The model: a pure state machine that defines what a correct implementation of agent checkpoints may do.
//!
//! A [`World`] contains everything that a checkpoint system can see: files, settings, a clock, the turn and
//! the checkpoints of every project. It is *total*: every [`Request`] is legal in every state.
//! [`World::allows`] returns what a correct system may do, refusals included. [`World::compare`] compares
//! an observation of a system with that. [`World::learn`] records the observation: if a system may choose,
//! for example the id of a checkpoint, the world expects it to keep to its choice from then on. Every
//! expectation cites the [`rules`] that it follows from.
//!
//! The crate uses no disk, clock, git, thread or random number.
#![forbid(unsafe_code)]

pub mod agent;
pub mod allowed;
pub mod answer;
pub mod blame;
pub mod bytes;
pub mod capture;
pub mod commands;
pub mod configuration;
pub mod content;
pub mod edit;
pub mod excuse;
pub mod files;
pub mod ignore;
pub mod injected;
pub mod lines;
pub mod object;
pub mod observation;
pub mod operations;
pub mod path_map;
pub mod place;
pub mod plain;
pub mod refusal;
pub mod request;
pub mod rules;
pub mod store;
pub mod store_edit;
pub mod target;
#[cfg(test)]
mod tests;
pub mod together;
pub mod tool;
pub mod tree;
pub mod unit;
pub mod verdict;
pub mod world;

pub use allowed::Allowed;
pub use answer::{Answer, Code};
pub use bytes::ByteString;
pub use edit::Edit;
pub use excuse::Excuse;
pub use files::{Files, Node};
pub use object::{Object, Piece};
pub use observation::Observation;
pub use path_map::PathMap;
pub use request::Request;
pub use store_edit::StoreEdit;
pub use tree::{Entry, Tree};
pub use world::{Capabilities, Settings, World};
