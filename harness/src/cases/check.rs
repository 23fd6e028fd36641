//! Whether written cases deserve their place: what each says about itself is true, the core passes
//! it, every planted bug that it names fails it by that bug's rule, and no null subject passes it;
//! and together they cover every rule and every planted bug.

use super::{Case, needs, tier};
use crate::history::History;
use crate::null;
use crate::planted::{self, PlantedBug};
use crate::runner::{Run, RunError, run};
use crate::sandbox::Scratch;
use crate::subject::{CoreSubject, NewSubject};
use crate::trial::trial;
use herma_model::rules::{self, RuleRef};

/// What is wrong with a case by itself; empty where nothing is.
///
/// # Errors
/// A run that could not be made.
pub fn faults(case: &Case, scratch: &Scratch) -> Result<Vec<String>, RunError> {
    let mut faults = spelling(case);
    let rules: Vec<RuleRef> = case.rules().collect();
    let history = case.history();
    let held = run(&history, &CoreSubject::boxed, scratch)?;
    for divergence in &held.divergences {
        faults.push(format!("the core fails it, by {}", divergence.rule.id));
    }
    for rule in &rules {
        if held.checks.get(rule.id).is_none_or(|checks| *checks == 0) {
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
        if run(&history, &null.open, scratch)?.divergences.is_empty() {
            faults.push(format!("it proves nothing: {} passes it", null.name));
        }
    }
    Ok(faults)
}

/// What a case says wrongly, as far as that shows without running it.
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
        let broken = run_bug(&bug.opener(), history, scratch)?;
        if broken.divergences.first().is_some_and(|one| *one.rule == *bug.rule) {
            kills.push(bug.name.to_owned());
        }
    }
    Ok(kills)
}

/// Runs a history that may fail, and separates the cause from what follows from it.
///
/// # Errors
/// A run that could not be made.
pub fn run_bug(
    bug: &NewSubject<'_>,
    history: &History,
    scratch: &Scratch,
) -> Result<Run, RunError> {
    Ok(trial(history, bug, scratch)?.run)
}

fn survives(bug: &PlantedBug, case: &Case, scratch: &Scratch) -> Result<Option<String>, RunError> {
    let broken = run_bug(&bug.opener(), &case.history(), scratch)?;
    Ok(match broken.divergences.first() {
        None => Some(format!("{} passes it", bug.name)),
        Some(one) if *one.rule != *bug.rule => {
            Some(format!("{} fails it by {}, not by {}", bug.name, one.rule.id, bug.rule.id))
        }
        Some(_) => None,
    })
}

/// What all cases together do not cover.
pub fn gaps(cases: &[Case]) -> Vec<String> {
    let mut gaps = Vec::new();
    for rule in rules::catalogue() {
        if !cases.iter().any(|case| case.rules().any(|one| one == rule)) {
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
    for (at, case) in cases.iter().enumerate() {
        let before = &cases[..at];
        if before.iter().any(|one| one.id == case.id) {
            gaps.push(format!("two cases are called {}", case.id));
        }
        let shares_a_rule =
            |one: &Case| one.rules().any(|rule| case.rules().any(|own| own == rule));
        let same = |one: &&Case| shares_a_rule(one) && one.history() == case.history();
        if let Some(same) = before.iter().find(same) {
            gaps.push(format!("{} and {} are the same history", same.id, case.id));
        }
    }
    gaps
}
