//! Whether a run tested enough for a verdict.

use crate::generate::Options;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::known::MEASUREMENT;
use crate::suite::{Findings, Plan, Verdict};
use herma_model::rules::{self, RuleRef};

/// So many histories exercise every rule in any run.
pub const HISTORIES_OF_CORE: u64 = 600;

/// So many histories cover at least this many behaviours, whatever the seed; only ever raised.
const BEHAVIOURS_FLOOR: usize = 580;

/// Why a run of generated histories tested too little, if it did. It must exercise all modelled rules; on a few
/// copies of a real project, only the rules that such a run is for.
pub fn too_little(plan: &Plan, findings: &Findings) -> Option<String> {
    let covered = findings.coverage.0.len();
    if is_a_full_run(plan, findings) && covered < BEHAVIOURS_FLOOR {
        return Some(format!(
            "too little ran: {covered} behaviours were covered; a full run covers {BEHAVIOURS_FLOOR}"
        ));
    }
    let rules = [
        &rules::CAPTURE_BYTES,
        &rules::CAPTURE_HONEST,
        &rules::RESTORE_HONEST,
        &rules::LAYOUT_FSCK,
    ];
    let is_enough = match plan.options.workspace {
        None => !findings.any(Verdict::NotExercised),
        Some(_) => rules.into_iter().all(|rule| findings.verdict(rule) == Verdict::Held),
    };
    (!is_enough).then(|| "too little ran: some modelled rules were not tested".to_owned())
}

/// Why a run for these rules alone tested too little, if it did.
pub fn too_little_for(rules: &[RuleRef], findings: &Findings) -> Option<String> {
    let is_held = |rule: &RuleRef| findings.verdict(rule) == Verdict::Held;
    let first = rules.first().filter(|_| !rules.iter().all(is_held))?;
    Some(format!("too little ran: {} or a related rule was not judged", first.id))
}

/// Whether the run is large enough for the floor of behaviours to apply.
fn is_a_full_run(plan: &Plan, findings: &Findings) -> bool {
    let defaults = Options::default();
    plan.options.workspace.is_none()
        && plan.histories >= HISTORIES_OF_CORE
        && plan.options.operations_max >= defaults.operations_max
        && plan.options.injections == defaults.injections
        && findings.capabilities.without(MEASUREMENT) == Capabilities::of_the_core()
}
