//! The concurrency lane: several processes use one store at the same time, and every answer must be
//! that of the same operations in some order, one after the other.
//!
//! For each number a store is made, and some rounds are run on it: in a [`plan`] each process is asked
//! for something, all together, and then, when nothing runs, everything is looked at ([`store`]). What
//! was asked and answered is a [`record`]; it is [`judge`]d by a search for such an order
//! ([`checker`]) with the world of the model as its [`state`]. A failure that shows where nobody overlaps, too, is no failure of this lane. See
//! `herma-conform concurrent --help`.

pub mod checker;
mod dice;
mod hasty;
pub mod judge;
pub mod naive;
mod plan;
pub mod record;
pub mod report;
mod state;
mod store;

use crate::protocol::capabilities::Capabilities;
use crate::protocol::fault::Fault;
use crate::sandbox::Scratch;
use crate::subject::{AdapterCommand, Identity, NewSubject};
pub use hasty::{HASTY, opened_hasty};
use herma_model::rules;
use judge::{Judgement, Sort, judge};
pub use plan::ROUNDS;
use record::Record;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
pub use store::Manner;
use store::Store;

/// The rounds that the canary has to fail in.
const CANARY_ROUNDS: usize = 2;

/// Why nothing can be said of a subject.
#[derive(Debug, thiserror::Error)]
pub enum LaneError {
    /// The sandbox cannot be used.
    #[error("the sandbox cannot be used: {0}")]
    Sandbox(#[from] io::Error),
    /// The adapter broke the protocol.
    #[error("the adapter broke the protocol: {0}")]
    Adapter(Fault),
}

/// A subject, and what it can be asked.
pub struct Opened<'a> {
    /// Opens it in a sandbox.
    pub open: &'a NewSubject<'a>,
    /// Who it is.
    pub subject: Identity,
    /// What it can be asked.
    pub capabilities: Capabilities,
}

/// A subject behind an adapter, and how many of them there are at the same time.
pub struct Lane<'a> {
    /// Who is asked.
    pub opened: &'a Opened<'a>,
    /// How its adapter is started.
    pub start: &'a AdapterCommand,
    /// The seed of what is asked.
    pub seed: u64,
    /// How many processes.
    pub processes: usize,
    /// Whether plain git may collect garbage beside them, where it can read the store.
    pub git_gc: bool,
}

/// One store, and what came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The number that its rounds are drawn by.
    pub store: u64,
    /// What happened.
    pub record: Record,
    /// What is known of that. What is wrong where nobody overlaps, too, is not in it.
    pub judgement: Judgement,
    /// How much that was.
    pub anyway: usize,
}

impl Lane<'_> {
    /// Runs the first rounds of a store.
    ///
    /// # Errors
    /// The sandbox cannot be used, or the adapter broke the protocol.
    pub fn run(&self, store: u64, rounds: usize, scratch: &Scratch) -> Result<Outcome, LaneError> {
        let (record, mut judgement) = self.run_once(store, rounds, Manner::Together, scratch)?;
        let all = judgement.broken.len();
        if all > 0 {
            let anyway = self.sorts(store, rounds, Manner::InTurn, scratch)?;
            judgement.broken.retain(|one| !anyway.contains(&one.sort));
        }
        let anyway = all - judgement.broken.len();
        Ok(Outcome { store, record, judgement, anyway })
    }

    /// In how many of some reruns of the first rounds of a store a failure of that sort shows.
    ///
    /// # Errors
    /// As [`Lane::run`].
    pub fn again(
        &self,
        (store, rounds): (u64, usize),
        sort: &Sort,
        times: usize,
        scratch: &Scratch,
    ) -> Result<usize, LaneError> {
        let mut shown = 0;
        for _ in 0..times {
            let sorts = self.sorts(store, rounds, Manner::Together, scratch)?;
            shown += usize::from(sorts.contains(sort));
        }
        Ok(shown)
    }

    /// The sorts of failures in the first rounds of a store.
    fn sorts(
        &self,
        store: u64,
        rounds: usize,
        manner: Manner,
        scratch: &Scratch,
    ) -> Result<BTreeSet<Sort>, LaneError> {
        let (_, judgement) = self.run_once(store, rounds, manner, scratch)?;
        Ok(judgement.broken.into_iter().map(|one| one.sort).collect())
    }

    fn run_once(
        &self,
        store: u64,
        rounds: usize,
        manner: Manner,
        scratch: &Scratch,
    ) -> Result<(Record, Judgement), LaneError> {
        let open = self.start.process_opener();
        let record = Store::new(self, &open, store, scratch)?.run(store, rounds, manner)?;
        let judgement = judge(&record);
        Ok((record, judgement))
    }
}

/// What is held against a store that takes no lock: whether a checkpoint that was reported is missed.
///
/// # Errors
/// It cannot be asked.
pub fn canary(program: &OsString, scratch: &Scratch) -> Result<bool, LaneError> {
    let start = AdapterCommand::of_this_suite(program.as_ref(), Some(HASTY))?;
    let (subject, capabilities) = (Identity::new(HASTY, ""), hasty::able_to());
    let opened = Opened { open: &start.opener(), subject, capabilities };
    let lane = Lane { opened: &opened, start: &start, seed: 0, processes: 4, git_gc: false };
    // It cannot restore, and that must not be why it fails.
    let (_, judgement) = lane.run_once(0, CANARY_ROUNDS, Manner::Together, scratch)?;
    Ok(judgement.broken.iter().any(|broken| *broken.rule == rules::CONCURRENT_KEEPS))
}
