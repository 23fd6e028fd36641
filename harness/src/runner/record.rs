//! How the comparisons of a run become its recorded failures.

use super::{Calls, RunError, Runner};
use crate::divergence::Divergence;
use crate::history::History;
use crate::oracle::{ByGit, Context};
use crate::sandbox::manifest::digest;
use herma_model::blame;
use herma_model::verdict::{Checks, Kind, Violation};

/// Of the histories of a workspace, git reads the whole content at the end of one in so many: ten thousand files
/// cost it as much as twenty operations.
const READ_ONE_IN: u64 = 8;

/// What git reads at the end of a history. It depends on the history alone, so that it replays.
fn by_git(history: &History) -> ByGit {
    let digest = || digest(format!("{:?}", history.operations).as_bytes());
    match history.workspace {
        None => ByGit::Objects,
        Some(_) if digest().is_multiple_of(READ_ONE_IN) => ByGit::Everything,
        Some(_) => ByGit::Links,
    }
}

impl Runner<'_> {
    /// Records the comparisons of one operation; returns whether world and subject disagree after it.
    pub(super) fn record(&mut self, step: usize, mut checks: Checks) -> bool {
        // A subject is not judged by a rule for which it lacks a capability; that it died needs no rule.
        let applies =
            |violation: &Violation| self.run.capabilities.lacking(violation.rule).is_none();
        let is_death =
            |violation: &Violation| matches!(violation.mismatch.kind, Kind::Crash | Kind::Timeout);
        checks.violations.retain(|violation| applies(violation) || is_death(violation));
        // Comparisons after an injection count for the rule of the injection, too.
        if let (Some((_, happened)), false) = (self.injected, checks.counts.is_empty()) {
            checks.held(happened.rule(), 1);
        }
        for (rule, times) in checks.counts {
            *self.run.checks.entry(rule).or_default() += times;
        }
        for (excused, times) in checks.excused {
            *self.run.excused.entry(excused).or_default() += times;
        }
        let mut disagrees = None;
        for failure in blame::failures(checks.violations) {
            let leaves_the_rest = failure.keeps_world_comparable();
            let follows = self.disagreement.clone().filter(|_| !failure.is_independent());
            let is_silent = is_death(&failure.cause);
            let mut divergence = Divergence::new(step, failure, follows);
            divergence.after = self.injected;
            divergence.met = self.run.injected.as_ref().and_then(Calls::call).cloned();
            let fingerprint = divergence.fingerprint();
            if is_silent {
                self.silent = Some(fingerprint.clone());
            }
            if !leaves_the_rest {
                disagrees = Some(fingerprint.clone());
            }
            if self.run.divergences.iter().all(|recorded| recorded.fingerprint() != fingerprint) {
                self.run.divergences.push(divergence);
            }
        }
        let disagree = disagrees.is_some();
        self.disagreement = self.disagreement.take().or(disagrees);
        disagree
    }

    /// Compares the final state.
    pub(super) fn close(&mut self, history: &History) -> Result<(), RunError> {
        let hostile = !history.plain_home && !self.run.capabilities.needs_repository();
        let context = Context { world: &self.world, sandbox: &self.sandbox };
        let end = self.oracle.look_at_end(context, hostile, by_git(history))?;
        self.record(history.operations.len(), self.world.compare_end(&end));
        Ok(())
    }
}
