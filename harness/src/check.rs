//! Checks one history against one subject, for tests of other crates. The error names the broken rule
//! and shows the shortest history that breaks it.

use crate::divergence::Divergence;
use crate::history::History;
use crate::report;
use crate::runner::{RunError, Until};
use crate::sandbox::Scratch;
use crate::shrink::{self, FailingHistory, Shrunk};
use crate::subject::NewSubject;
use crate::trial::trial;
use herma_model::rules::RuleRef;
use std::fmt;

/// Why a check failed.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The subject breaks a rule.
    #[error(transparent)]
    Broken(Box<BrokenRule>),
    /// The run itself could not be made, for example for lack of space; there is no verdict on the rules.
    #[error(transparent)]
    NotRun(#[from] RunError),
}

/// A rule that a subject breaks. Its text is meant to be the failure message of a test.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub struct BrokenRule {
    /// The rule.
    pub rule: RuleRef,
    /// What is wrong, without paths, ids or numbers.
    pub symptom: String,
    /// What the model allows.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// The shortest history that was found to break the rule in this way; without a search, the given one.
    pub history: History,
    /// All fields and more, as text for people.
    text: String,
}

impl fmt::Display for BrokenRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl BrokenRule {
    fn new(history: History, divergence: Divergence) -> Self {
        let text = report::counterexample(&history, &divergence);
        let mismatch = divergence.mismatch;
        BrokenRule {
            rule: divergence.rule,
            symptom: mismatch.symptom,
            expected: mismatch.expected,
            found: mismatch.found,
            history,
            text,
        }
    }
}

/// Runs `history` on a subject, which `new_subject` opens. If the subject breaks a rule, searches for the
/// shortest history with which it breaks the rule in the same way. The documentation of
/// [`Subject`](crate::subject::Subject) contains an example of a subject.
///
/// # Errors
/// [`CheckError::Broken`] if the subject breaks a rule, [`CheckError::NotRun`] if the run could not
/// be made.
///
/// ```
/// use herma_harness::history::file::from_yaml;
/// use herma_harness::sandbox::Scratch;
/// use herma_harness::{CheckError, check, null};
///
/// // Two operations more than are needed to show that nothing is kept.
/// let text = "operations:
/// - new_turn
/// - write: {path: work/alpha/a, content: one}
/// - checkpoint: {dir: work/alpha, reason: r}
/// - new_turn
/// - list: {dir: work/alpha}
/// ";
/// let history = from_yaml(text, "here".as_ref())?;
/// let forgets = null::find("null-forgets").unwrap();
/// let error = check(&history, &forgets.open, &Scratch::in_default_directory()).unwrap_err();
/// let CheckError::Broken(broken) = &error else { panic!("{error}") };
/// assert!(broken.history.operations.len() < history.operations.len());
/// assert!(error.to_string().starts_with(broken.rule.id));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<(), CheckError> {
    let Some(divergence) = first_divergence(history, new_subject, scratch)? else { return Ok(()) };
    let failing = FailingHistory { history, divergence: &divergence };
    let budget = shrink::BUDGET_DEFAULT.into();
    let Shrunk { history, divergence, .. } = shrink::shrink(failing, new_subject, scratch, &budget);
    Err(CheckError::Broken(Box::new(BrokenRule::new(history, divergence))))
}

/// As [`check`], but without the search for a shorter history: for test stacks that shrink by themselves, such
/// as `quickcheck`, whose candidates are those of our search.
///
/// # Errors
/// As [`check`].
pub fn check_unshrunk(
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<(), CheckError> {
    let Some(divergence) = first_divergence(history, new_subject, scratch)? else { return Ok(()) };
    Err(CheckError::Broken(Box::new(BrokenRule::new(history.clone(), divergence))))
}

fn first_divergence(
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Option<Divergence>, RunError> {
    let outcome = trial(history, new_subject, scratch, Until::Disagreement)?;
    Ok(outcome.run.divergences.into_iter().next())
}
