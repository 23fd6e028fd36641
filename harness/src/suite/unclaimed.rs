//! Questions to the author of an adapter: would a capability that is not claimed explain a failure? A question
//! changes no verdict.

use crate::history::Operation;
use crate::protocol::capabilities::Capabilities;
use crate::shrink::Shrunk;
use herma_model::blame::INDEPENDENT;
use herma_model::ignore::{DEFAULT_EXCLUDES, IgnoreFile};
use herma_model::{Request, rules};
use std::collections::BTreeSet;

/// A file of so many bytes is large: shrinking keeps no file as large as this that need not be.
const LARGE_BYTES_MIN: u64 = 100_000;

/// What is known of a failure.
struct Evidence<'a> {
    shrunk: &'a Shrunk,
    special: &'a BTreeSet<String>,
}

/// A capability, and what indicates it where it is not claimed.
struct Unclaimed {
    claim: &'static str,
    question: &'static str,
    is_indicated: fn(&Evidence<'_>) -> bool,
}

static UNCLAIMED: &[Unclaimed] = &[
    Unclaimed {
        claim: "settings.max_file_bytes",
        question: "the file is large: are files above some size left out?",
        is_indicated: is_large,
    },
    Unclaimed {
        claim: "capture.gitignore",
        question: "the rule holds without the `.gitignore`: are ignored files left out?",
        is_indicated: |evidence| {
            evidence.special.iter().any(|special| special.starts_with(".gitignore"))
        },
    },
    Unclaimed {
        claim: "capture.no_repositories",
        question: "a `.git` is concerned: are files and folders called `.git` left out?",
        is_indicated: |evidence| {
            let is_repository = |path: &str| path.split('/').any(|name| name == ".git");
            let is_of_repository =
                expected_file(evidence).is_some_and(|(path, _)| is_repository(path));
            is_of_repository || evidence.special.iter().any(|special| special.starts_with(".git:"))
        },
    },
    Unclaimed {
        claim: "capture.default_excludes",
        question: "the path is one that stores often exclude: is it left out on purpose?",
        is_indicated: is_excluded,
    },
    Unclaimed {
        claim: "restore.consumes",
        question: "checkpoints are gone after a restore: can each be restored once?",
        is_indicated: |evidence| {
            let divergence = &evidence.shrunk.divergence;
            let operations = &evidence.shrunk.history.operations;
            let restores = |operation: &Operation| {
                matches!(operation, Operation::Ask(Request::Restore { .. }))
            };
            *divergence.rule == rules::LIST_COMPLETE
                && divergence.mismatch.symptom == "too few"
                && operations.iter().any(restores)
        },
    },
    Unclaimed {
        claim: "restore.leaves_new",
        question: "a plain file is left: does a restore leave files that were created since?",
        is_indicated: |evidence| {
            let divergence = &evidence.shrunk.divergence;
            *divergence.rule == rules::RESTORE_EXACT && evidence.special.is_empty()
        },
    },
];

/// The question whether a capability that is not claimed explains the failure, if its history indicates one.
pub fn question(
    shrunk: &Shrunk,
    special: &BTreeSet<String>,
    capabilities: &Capabilities,
) -> Option<String> {
    let evidence = Evidence { shrunk, special };
    let is_about_content = !INDEPENDENT.contains(&shrunk.divergence.rule);
    // Before it is shrunk, a history has much that the failure does not need.
    let is_evidence = is_about_content && shrunk.executions > 0;
    let mut unclaimed = UNCLAIMED.iter().filter(|row| !capabilities.has(row.claim));
    let row = unclaimed.find(|row| is_evidence && (row.is_indicated)(&evidence))?;
    Some(format!("{} If so, claim `{}`.", row.question, row.claim))
}

/// The differing path and the size of the file that is expected there.
fn expected_file<'a>(evidence: &Evidence<'a>) -> Option<(&'a str, u64)> {
    let (path, node) = evidence.shrunk.divergence.mismatch.expected.split_once(": a file of ")?;
    Some((path, node.split(' ').next()?.parse().ok()?))
}

fn is_large(evidence: &Evidence<'_>) -> bool {
    expected_file(evidence).is_some_and(|(_, bytes)| bytes >= LARGE_BYTES_MIN)
}

fn is_excluded(evidence: &Evidence<'_>) -> bool {
    let excludes = IgnoreFile::parse(DEFAULT_EXCLUDES.join("\n").as_bytes());
    expected_file(evidence).is_some_and(|(path, _)| excludes.names(path.as_bytes()))
}
