//! The judge: runs generated and written histories against the model and a subject side by side.
//!
//! Data flows one way. A generator or a file yields a [`History`]; the [`runner`] applies each
//! operation to the model and to a [`subject::Subject`] in a [`sandbox`]; the `oracle` observes
//! the answer and everything on the disk, and the model compares it with what is allowed. On a
//! difference a [`trial`] finds its cause and [`shrink`] looks for a shorter history that shows it;
//! a [`suite`] does this many times and [`results`] reports which rules hold.
//!
//! A downstream crate checks its own implementation, a [`subject::Subject`], with [`check`] over
//! [`generate::history`]:
//!
//! ```
//! # use herma_harness::subject::CoreSubject as MySubject;
//! use herma_harness::{check, generate, sandbox::Scratch};
//! use proptest::prelude::*;
//!
//! proptest! {
//!     # #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..Default::default() })]
//!     # /*
//!     #[test]
//!     # */
//!     fn mine_does_what_the_model_allows(history in generate::history()) {
//!         check(&history, &MySubject::boxed, &Scratch::in_default_directory())
//!             .map_err(|error| TestCaseError::fail(error.to_string()))?;
//!     }
//! }
//! # mine_does_what_the_model_allows();
//! ```
//!
//! For other test stacks, [`History`] implements `quickcheck::Arbitrary` (feature `quickcheck`) and
//! `arbitrary::Arbitrary` (feature `arbitrary`); for any other source of bytes there is
//! [`generate::history_of`]. The folder `harness/examples` contains a test for each.
//!
//! The default feature `cli` builds the command `herma-conform` and changes nothing in this library: such a
//! crate needs only `default-features = false`.
#![deny(unsafe_code)]

pub mod apart;
#[cfg(any(feature = "quickcheck", feature = "arbitrary"))]
pub mod arbitrary;
pub mod bundled;
pub mod canary;
pub mod careful;
pub mod cases;
mod check;
pub mod compare;
pub mod coverage;
mod database;
pub mod depth;
pub mod divergence;
pub mod expectations;
pub mod export;
#[cfg(feature = "cli")]
pub mod front_door;
pub mod generate;
pub mod git_objects;
pub mod history;
pub mod hostile;
#[cfg(feature = "cli")]
pub mod html;
pub mod inject;
pub mod large;
pub mod levels;
mod nearest;
pub mod null;
mod oracle;
pub mod parallel;
pub mod planted;
pub mod power;
mod processes;
pub mod protocol;
pub mod report;
pub mod results;
pub mod runner;
pub mod sandbox;
#[cfg(feature = "cli")]
pub mod scripted_model;
pub mod severity;
pub mod share;
pub mod shrink;
pub mod special;
pub mod subject;
pub mod suite;
pub mod transcript;
pub mod trial;
pub mod workspace;

pub use check::{BrokenRule, CheckError, check, check_unshrunk};
pub use history::{History, Operation};
pub use runner::{Run, RunError, RunOptions, run};
