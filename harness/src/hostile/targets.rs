//! The fuzz targets: a name and an oracle each, with seeds from the written cases and from a store of the core.
//!
//! `fuzz/fuzz_targets/target.rs` runs them with libFuzzer, and the test `hostile_input` runs every input of
//! the corpus on stable Rust.

use super::stored_file::{FILES, StoredFile};
use super::stored_tree;
use super::{StartingState, arguments, external_log, planted, seeds, texts};
use crate::coverage::Coverage;
use crate::generate::{Options, bytes_for, history_of};
use crate::history::{History, Operation};
use crate::report;
use crate::runner::{RunOptions, run};
use crate::sandbox::Scratch;
use crate::subject::CoreSubject;
use herma_model::Request;

/// What the oracle of a target saw.
#[derive(Debug, Default)]
pub struct Seen {
    /// Whether the input got far: it was accepted; for files and trees, the checkpoint was restored; for
    /// histories, a prune or sweep came before a restore.
    pub got_far: bool,
    /// The behaviours that a history covered, for feedback.
    pub coverage: Coverage,
}

impl From<bool> for Seen {
    fn from(got_far: bool) -> Self {
        Seen { got_far, ..Seen::default() }
    }
}

/// The verdict on an input: the violated expectation as a text, if there is one.
pub type Judgement = Result<Seen, String>;

/// A fuzz target.
pub struct FuzzTarget {
    /// Its name.
    pub name: &'static str,
    /// The longest input in bytes.
    pub bytes_max: usize,
    oracle: Oracle,
}

/// What judges the inputs of a target.
enum Oracle {
    /// A text alone.
    Text(fn(&[u8]) -> Judgement, fn() -> Vec<Vec<u8>>),
    /// The reply to any of these requests.
    Reply,
    /// The core on a store.
    Rollback,
    Tree,
    File(&'static StoredFile),
    /// A whole history with these options.
    History(Box<Options>),
}

/// What the oracles of all targets start from.
pub struct Start {
    state: StartingState,
    requests: Vec<Request>,
}

impl Default for Start {
    fn default() -> Self {
        Start { state: StartingState::new(), requests: seeds::requests() }
    }
}

impl FuzzTarget {
    /// Judges an input.
    ///
    /// # Errors
    /// The violated expectation, as a text.
    pub fn judge(&self, input: &[u8], start: &Start) -> Judgement {
        let Start { state, requests } = start;
        match &self.oracle {
            Oracle::Text(judge, _) => judge(input),
            Oracle::Reply => texts::judge_reply_line(input, requests),
            Oracle::Rollback => arguments::judge_line(input, state),
            Oracle::Tree => stored_tree::judge(&stored_tree::from_bytes(input), state),
            Oracle::File(file) => Ok(file.judge(input, state)?.restored.into()),
            Oracle::History(options) => judge_history(&history_of(options, input)),
        }
    }

    /// As [`FuzzTarget::judge`], with a planted bug that only some inputs show: a test of the fuzzer itself.
    ///
    /// # Errors
    /// As [`FuzzTarget::judge`].
    pub fn judge_planted(&self, input: &[u8], start: &Start) -> Judgement {
        match planted::shows(self.name, input) {
            Some(about) => Err(format!("the planted bug shows: {about}")),
            None => self.judge(input, start),
        }
    }

    /// Inputs from which fuzzing starts.
    pub fn seeds(&self, start: &Start) -> Vec<Vec<u8>> {
        let Start { state, requests } = start;
        match &self.oracle {
            Oracle::Text(_, seeds) => seeds(),
            Oracle::Reply => seeds::reply_lines(requests, state),
            Oracle::Rollback => seeds::rollback_lines(state),
            Oracle::Tree => seeds::stored_trees(),
            Oracle::File(file) => file.seeds(state),
            Oracle::History(_) => seeds::bytes_of_histories(self.bytes_max),
        }
    }
}

/// Every target.
pub fn targets() -> Vec<FuzzTarget> {
    let target = |name, bytes_max, oracle| FuzzTarget { name, bytes_max, oracle };
    let text = |name, judge, seeds| target(name, 4_096, Oracle::Text(judge, seeds));
    let mut targets = vec![
        text("command", texts::judge_command, seeds::commands),
        text("configuration", texts::judge_configuration, seeds::configurations),
        text("ignore_file", texts::judge_ignore_file, seeds::ignore_files),
        text("request_line", texts::judge_request_line, seeds::request_lines),
        text("external_actions", external_log::judge, external_log::seeds),
        target("reply_line", 4_096, Oracle::Reply),
        target("rollback_arguments", 512, Oracle::Rollback),
        target("stored_tree", 512, Oracle::Tree),
    ];
    targets.extend(FILES.iter().map(|file| target(file.name, 4_096, Oracle::File(file))));
    let plain = Options { operations_max: 30, measured: 0, injections: 0, ..Options::default() };
    let injected = Options { agent: false, damage: false, injections: 1, ..plain.clone() };
    for (name, options) in [("history", plain), ("injected_history", injected)] {
        let bytes_max = bytes_for(options.operations_max);
        targets.push(target(name, bytes_max, Oracle::History(Box::new(options))));
    }
    targets
}

/// Runs a history on the core.
///
/// # Errors
/// The first failure, with the history.
pub fn judge_history(history: &History) -> Judgement {
    let scratch = Scratch::in_default_directory();
    let run = run(history, &CoreSubject::boxed, &scratch, RunOptions::default());
    let run = run.map_err(|error| format!("not run: {error}"))?;
    match run.divergences.first() {
        Some(divergence) => Err(report::counterexample(history, divergence)),
        None => Ok(Seen { got_far: restores_after_a_prune(history), coverage: run.coverage }),
    }
}

fn restores_after_a_prune(history: &History) -> bool {
    let is_prune = |operation: &Operation| {
        matches!(operation, Operation::Ask(Request::Prune { .. } | Request::Sweep))
    };
    let is_restore = |operation: &Operation| {
        matches!(operation, Operation::Ask(Request::Restore { .. } | Request::RestoreFile { .. }))
    };
    let mut operations = history.operations.iter();
    operations.any(is_prune) && operations.any(is_restore)
}
