//! The measured costs of the operations of a history.
//!
//! A cost is meaningful only in comparison with the cost of the same operation at another size, so each
//! is kept with the size that it may depend on. [`crate::operations`] judges them.

use super::World;
use crate::answer::{Answer, CheckpointOutcome};
use crate::bytes::ByteString;
use crate::capture::Captured;
use crate::observation::Observation;
use crate::request::Request;
use crate::verdict::word;
use std::collections::BTreeMap;

/// The cost of one operation, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Figure {
    /// The size that the cost may depend on.
    pub size: u64,
    /// The cost.
    pub cost: u64,
}

/// The figures of a history.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costs {
    /// The memory that each operation used, by its name and outcome; the size is that of the largest
    /// file.
    pub memory: BTreeMap<String, Vec<Figure>>,
    /// The bytes that checkpoints of unchanged files read; the size is that of the project.
    pub reading: Vec<Figure>,
    /// The project whose files last changed well before the newest checkpoint, so that their times are
    /// reliable.
    pub settled: Option<ByteString>,
}

impl World {
    /// The memory that an operation on a project used, if it was measured, with the operation's name.
    pub(crate) fn memory_of(&self, seen: &Observation) -> Option<(String, Figure)> {
        let project = self.canonical(seen.request.dir()?)?;
        let measured = seen.measured?;
        let is_done = !matches!(seen.answer, Answer::Refused { .. } | Answer::Crashed(_));
        let operation = format!("{} ({})", seen.request.kind().name, word(&seen.answer));
        let target = self
            .target_checkpoint(&seen.request)
            .and_then(|checkpoint| checkpoint.captured.clone());
        let size =
            largest(&self.capture(&project)).max(target.map_or(0, |target| largest(&target)));
        (is_done && self.files.is_directory(&project))
            .then_some((operation, Figure { size, cost: measured.memory }))
    }

    /// The bytes that a checkpoint of unchanged files read, if they were measured and the times of the
    /// files are reliable.
    pub(crate) fn reading_of(&self, seen: &Observation) -> Option<Figure> {
        let project = self.canonical(seen.request.dir()?)?;
        let measured = seen.measured?;
        let is_unchanged =
            matches!(seen.answer, Answer::Taken { outcome: CheckpointOutcome::Unchanged, .. });
        let is_settled = self.costs.settled.as_ref() == Some(&project);
        let size = sizes(&self.capture(&project)).sum();
        (is_unchanged && is_settled).then_some(Figure { size, cost: measured.bytes_read })
    }

    /// Whether no file was changed since a measured checkpoint.
    pub fn is_settled(&self) -> bool {
        self.costs.settled.is_some()
    }

    /// Records the cost of an operation. A measured checkpoint is taken of settled files.
    pub(super) fn learn_cost(&mut self, seen: &Observation) {
        if let Some((operation, figure)) = self.memory_of(seen) {
            self.costs.memory.entry(operation).or_default().push(figure);
        }
        self.costs.reading.extend(self.reading_of(seen));
        let is_checkpoint =
            matches!(seen.request, Request::Checkpoint { .. } | Request::EnsureCheckpoint { .. });
        use CheckpointOutcome::{Created, Unchanged};
        let is_taken =
            matches!(seen.answer, Answer::Taken { outcome: Created { .. } | Unchanged, .. });
        if is_checkpoint && is_taken && seen.measured.is_some() {
            self.costs.settled = seen.request.dir().and_then(|dir| self.canonical(dir));
        } else if seen.request.restores() {
            self.costs.settled = None;
        }
    }
}

fn sizes(captured: &Captured) -> impl Iterator<Item = u64> {
    captured.tree.values().map(|entry| entry.bytes().len() as u64)
}

fn largest(captured: &Captured) -> u64 {
    sizes(captured).max().unwrap_or_default()
}
