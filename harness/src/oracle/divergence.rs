//! A difference between what happened and what the model allows: which rule it breaks, in which
//! way, and by what it is known again in another history.

use herma_model::answer::{Answer, CheckpointOutcome, SweepOutcome};
use herma_model::rules::RuleRef;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Who found a difference; the other side is always the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judge {
    /// What the subject answered.
    Answer,
    /// The files as the harness sees them.
    Disk,
    /// The store as plain git reads it.
    Git,
}

impl fmt::Display for Judge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Judge::Answer => "the subject's answer",
            Judge::Disk => "the disk",
            Judge::Git => "plain git",
        })
    }
}

/// In which way a rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What happened is not allowed.
    Fail,
    /// It was rightly refused, for a reason that is none.
    WrongReason,
    /// The answer is not what the disk shows.
    Dishonest,
    /// The subject died.
    Crash,
    /// The subject did not answer in time.
    Timeout,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The serialized form is the stable name; there is no second list of names.
        self.serialize(formatter)
    }
}

/// By what a failure is known again, whatever history shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The id of the broken rule.
    pub rule: String,
    /// How it is broken.
    pub verdict: Kind,
    /// What is wrong, in words that hold no path, id or number.
    pub symptom: String,
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({}: {})", self.rule, self.verdict, self.symptom)
    }
}

/// Something the model does not allow.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The rule that is broken.
    pub rule: RuleRef,
    /// Who disagrees with the model.
    pub judge: Judge,
    /// The operation, from 0; the number of operations where only the end shows it.
    pub step: usize,
    /// What was told of it.
    pub mismatch: Mismatch,
}

impl Divergence {
    /// By what this failure is known again.
    pub fn fingerprint(&self) -> Fingerprint {
        let Mismatch { kind: verdict, symptom, .. } = &self.mismatch;
        Fingerprint { rule: self.rule.id.to_owned(), verdict: *verdict, symptom: symptom.clone() }
    }
}

/// What is said of a difference.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// In which way the rule is broken.
    pub kind: Kind,
    /// What is wrong, in words that hold no path, id or number.
    pub symptom: String,
    /// What the model allows.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// Every path that differs, `-` as expected and `+` as found; empty where no files differ.
    pub tree: Vec<String>,
}

impl Mismatch {
    /// A plain failure.
    pub fn new(
        symptom: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        let (symptom, expected, found) = (symptom.into(), expected.into(), found.into());
        Mismatch { kind: Kind::Fail, symptom, expected, found, tree: Vec::new() }
    }

    /// The same as a failure of this kind.
    pub fn kind(self, kind: Kind) -> Self {
        Mismatch { kind, ..self }
    }

    /// The same with the paths that differ.
    pub fn tree(self, tree: Vec<String>) -> Self {
        Mismatch { tree, ..self }
    }
}

/// The word for a kind of answer.
pub fn word(answer: &Answer) -> String {
    let word = match answer {
        Answer::Done => "done",
        Answer::Project(Some(_)) => "a project",
        Answer::Project(None) => "no project",
        Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. } => "created",
        Answer::Taken { outcome: CheckpointOutcome::Deduped, .. } => "deduped",
        Answer::Taken { outcome: CheckpointOutcome::Unchanged, .. } => "unchanged",
        Answer::Taken { outcome: CheckpointOutcome::Disabled, .. } => "disabled",
        Answer::Listed(_) => "listed",
        Answer::Diffed { .. } => "diffed",
        Answer::Restored(_) => "restored",
        Answer::Swept { outcome: SweepOutcome::Done, .. } => "swept",
        Answer::Swept { .. } => "not swept",
        Answer::Status { .. } => "a status",
        Answer::Refused { code, .. } => return format!("refused {code}"),
        Answer::Crashed(_) => "died",
    };
    word.to_owned()
}
