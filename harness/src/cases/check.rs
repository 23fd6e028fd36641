//! Checks of the written cases:
//!
//! - the statements of each case about itself are true
//! - the core passes each case
//! - every planted bug that a case names fails it by the bug's rule
//! - no null subject passes a case
//! - together the cases cover every rule and every planted bug

use super::{Case, needs, tier};
use crate::history::History;
use crate::null;
use crate::planted::{self, PlantedBug};
use crate::runner::{Run, RunError, RunOptions, Until, run};
use crate::sandbox::Scratch;
use crate::subject::{CoreSubject, NewSubject};
use crate::trial::trial;
use herma_model::rules::{self, RuleRef};

/// The faults of a single case.
///
/// # Errors
/// A run that could not be made.
pub fn faults(case: &Case, scratch: &Scratch) -> Result<Vec<String>, RunError> {
    let mut faults = spelling(case);
    let rules: Vec<RuleRef> = case.rules().collect();
    let history = case.history();
    let run_of_core = run(&history, &CoreSubject::boxed, scratch, RunOptions::default())?;
    for divergence in &run_of_core.divergences {
        faults.push(format!("the core fails it, by {}", divergence.rule.id));
    }
    for rule in &rules {
        if run_of_core.checks.get(rule.id).is_none_or(|checks| *checks == 0) {
            faults.push(format!("it makes no comparison for {}", rule.id));
        }
    }
    faults.extend(needs::fault(case, scratch)?);
    for name in &case.kills {
        match planted::find(name) {
            None => faults.push(format!("there is no planted bug `{name}`")),
            Some(bug) => faults.extend(survives(bug, case, scratch)?),
        }
    }
    for null in null::ALL {
        if run(&history, &null.open, scratch, RunOptions::default())?.divergences.is_empty() {
            faults.push(format!("it proves nothing: {} passes it", null.name));
        }
    }
    Ok(faults)
}

/// The faults of a case that are found without running it.
fn spelling(case: &Case) -> Vec<String> {
    let mut faults = Vec::new();
    let unknown = case.rules.iter().filter(|id| rules::find(id).is_none());
    faults.extend(unknown.map(|id| format!("there is no rule `{id}`")));
    let tier = tier(case.rules());
    if tier != case.tier {
        faults.push(format!("its rules are of tier {tier}, and it says {}", case.tier));
    }
    if case.origin.trim().is_empty() {
        faults.push("it does not say what it comes from".into());
    }
    if case.kills.is_empty() {
        faults.push("it names no planted bug that it must find".into());
    }
    faults
}

/// The bugs among `bugs` that fail a history by their own rule.
///
/// # Errors
/// A run that could not be made.
pub fn kills(
    history: &History,
    bugs: impl Iterator<Item = &'static PlantedBug>,
    scratch: &Scratch,
) -> Result<Vec<String>, RunError> {
    let mut kills = Vec::new();
    for bug in bugs {
        let run_of_bug = run_bug(&bug.opener(), history, scratch)?;
        let first = run_of_bug.divergences.first();
        if first.is_some_and(|divergence| *divergence.rule == *bug.rule) {
            kills.push(bug.name.to_owned());
        }
    }
    Ok(kills)
}

/// Runs a history on a planted bug, and separates the cause of a failure from its consequences.
///
/// # Errors
/// A run that could not be made.
pub fn run_bug(
    bug: &NewSubject<'_>,
    history: &History,
    scratch: &Scratch,
) -> Result<Run, RunError> {
    Ok(trial(history, bug, scratch, Until::Disagreement)?.run)
}

/// Why a planted bug is not found by a case, if it is not.
fn survives(bug: &PlantedBug, case: &Case, scratch: &Scratch) -> Result<Option<String>, RunError> {
    let run_of_bug = run_bug(&bug.opener(), &case.history(), scratch)?;
    Ok(match run_of_bug.divergences.first() {
        None => Some(format!("{} passes it", bug.name)),
        Some(divergence) if *divergence.rule != *bug.rule => {
            let blamed = divergence.rule.id;
            Some(format!("{} fails it by {}, not by {}", bug.name, blamed, bug.rule.id))
        }
        Some(_) => None,
    })
}

/// The rules and bugs that no case covers, and duplicate cases.
pub fn gaps(cases: &[Case]) -> Vec<String> {
    let mut gaps = Vec::new();
    for rule in rules::catalogue() {
        if !cases.iter().any(|case| case.rules().any(|covered| covered == rule)) {
            gaps.push(format!("no case is there for {}", rule.id));
        }
        if !planted::catalogue().any(|bug| bug.rule == rule) {
            gaps.push(format!("no planted bug breaks {}", rule.id));
        }
    }
    for bug in planted::catalogue() {
        if !cases.iter().any(|case| case.kills.iter().any(|name| name == bug.name)) {
            gaps.push(format!("no case must find {}", bug.name));
        }
    }
    for (index, case) in cases.iter().enumerate() {
        let earlier_cases = &cases[..index];
        if earlier_cases.iter().any(|earlier| earlier.id == case.id) {
            gaps.push(format!("two cases are called {}", case.id));
        }
        let shares_a_rule =
            |earlier: &Case| earlier.rules().any(|shared| case.rules().any(|rule| rule == shared));
        let is_same =
            |earlier: &&Case| shares_a_rule(earlier) && earlier.history() == case.history();
        if let Some(same) = earlier_cases.iter().find(is_same) {
            gaps.push(format!("{} and {} are the same history", same.id, case.id));
        }
    }
    gaps
}
