//! The result of a comparison: how often each rule was tested, and every broken rule with what was
//! expected and found.
//!
//! Properties are judged independently, so one mistake may break several rules; [`crate::blame`]
//! decides which of them is the cause.

use crate::answer::{Answer, CheckpointOutcome, SweepOutcome};
use crate::excuse::Excuse;
use crate::files::{Node, SpecialKind};
use crate::plain::plain;
use crate::rules::RuleRef;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The source of an observed difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judge {
    /// The subject's answer.
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

/// How a rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What happened is not allowed.
    Fail,
    /// Correctly refused, with the wrong error code.
    WrongReason,
    /// The answer contradicts the disk.
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

/// What was expected, and what was found instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// How the rule is broken.
    pub kind: Kind,
    /// What is wrong, in words without a path, id or number.
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
        let symptom = symptom.into();
        let expected = expected.into();
        let found = found.into();
        Mismatch { kind: Kind::Fail, symptom, expected, found, tree: Vec::new() }
    }

    /// The same mismatch with another kind.
    pub fn kind(self, kind: Kind) -> Self {
        Mismatch { kind, ..self }
    }

    /// The same mismatch with the paths that differ.
    pub fn tree(self, tree: Vec<String>) -> Self {
        Mismatch { tree, ..self }
    }
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: RuleRef,
    /// The source of the evidence.
    pub judge: Judge,
    /// What is wrong.
    pub mismatch: Mismatch,
}

/// The comparisons of one observation.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// How many comparisons were made for each rule.
    pub counts: BTreeMap<&'static str, u64>,
    /// How many comparisons for each rule were not made, or accepted an answer only because of an excuse.
    pub excused: BTreeMap<(&'static str, Excuse), u64>,
    /// The comparisons that failed.
    pub violations: Vec<Violation>,
}

impl Checks {
    /// Counts `times` successful comparisons for `rule`.
    pub fn held(&mut self, rule: RuleRef, times: u64) {
        *self.counts.entry(rule.id).or_default() += times;
    }

    /// Counts `times` comparisons for `rule` that were not made, or whose answer is accepted only because of
    /// the excuse.
    pub fn excused(&mut self, rule: RuleRef, excuse: Excuse, times: u64) {
        if times > 0 {
            *self.excused.entry((rule.id, excuse)).or_default() += times;
        }
    }

    /// Adds the comparisons of another observation.
    pub fn join(&mut self, added: Checks) {
        for (rule, times) in added.counts {
            *self.counts.entry(rule).or_default() += times;
        }
        for (excused, times) in added.excused {
            *self.excused.entry(excused).or_default() += times;
        }
        self.violations.extend(added.violations);
    }

    /// Counts a comparison for `rule`, and records the mismatch unless it holds.
    pub fn check(
        &mut self,
        judge: Judge,
        rule: RuleRef,
        holds: bool,
        mismatch: impl FnOnce() -> Mismatch,
    ) {
        self.held(rule, 1);
        if !holds {
            self.violations.push(Violation { rule, judge, mismatch: mismatch() });
        }
    }

    /// Compares two values for `rule`; `symptom` names what they are.
    pub fn same<T: PartialEq + Serialize>(
        &mut self,
        judge: Judge,
        rule: RuleRef,
        symptom: &str,
        expected: &T,
        found: &T,
    ) {
        self.check(judge, rule, expected == found, || {
            Mismatch::new(
                symptom,
                format!("{symptom}: {expected}", expected = plain(&expected)),
                format!("{symptom}: {found}", found = plain(&found)),
            )
        });
    }
}

/// The word for a kind of answer.
pub fn word(answer: &Answer) -> String {
    let word = match answer {
        Answer::Done => "done",
        Answer::Project(Some(_)) => "a project",
        Answer::Project(None) => "no project",
        Answer::Classified { changes_files: true } => "changes files",
        Answer::Classified { changes_files: false } => "changes no files",
        Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. } => "created",
        Answer::Taken { outcome: CheckpointOutcome::Deduped, .. } => "deduped",
        Answer::Taken { outcome: CheckpointOutcome::Unchanged, .. } => "unchanged",
        Answer::Taken { outcome: CheckpointOutcome::Disabled, .. } => "disabled",
        Answer::Taken { outcome: CheckpointOutcome::NotDue, .. } => "not due",
        Answer::State(_) => "a state",
        Answer::Compensated(_) => "compensated",
        Answer::Protected(_) => "protected",
        Answer::Listed(_) => "listed",
        Answer::Printed { .. } => "printed",
        Answer::Configured(_) => "configured",
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

/// The symptom of a path that differs, without the path.
pub fn symptom(expected: Option<&Node>, found: Option<&Node>) -> String {
    let word = |node| match node {
        None => "nothing",
        Some(&Node::Directory) => "a directory",
        Some(Node::Special(_)) => "a special file",
        Some(Node::Link { .. }) => "a link",
        Some(Node::File { .. }) => "a file",
    };
    match (expected, found) {
        (Some(Node::Link { .. }), Some(Node::Link { .. })) => "another link".into(),
        (
            Some(Node::File { content, executable, .. }),
            Some(Node::File { content: bytes, executable: mode, .. }),
        ) => match (content == bytes, executable == mode) {
            (false, _) => "other bytes".into(),
            (true, false) => "another executable bit".into(),
            (true, true) => "another read permission".into(),
        },
        (expected, found) => format!("{}, not {}", word(found), word(expected)),
    }
}

/// The node at a path, short enough to read.
pub fn shown(node: Option<&Node>) -> String {
    let text = |bytes: &[u8]| {
        let head = &bytes[..bytes.len().min(60)];
        format!("{} bytes \"{}\"", bytes.len(), head.escape_ascii())
    };
    match node {
        None => "nothing".into(),
        Some(Node::Directory) => "a directory".into(),
        Some(Node::Special(SpecialKind::Socket)) => "a socket".into(),
        Some(Node::Special(SpecialKind::Fifo)) => "a fifo".into(),
        Some(Node::Link { target }) => format!("a link to {}", text(target)),
        Some(Node::File { content, executable, readable }) => {
            let flags = match (executable, readable) {
                (true, true) => ", executable",
                (false, false) => ", unreadable",
                (true, false) => ", executable, unreadable",
                (false, true) => "",
            };
            format!("a file of {}{flags}", text(content))
        }
    }
}
