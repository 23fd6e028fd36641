//! The reason that a rule was not judged, and what a user can change so that it is.

use crate::cases::{self, Case};
use crate::suite::{Findings, Verdict};
use herma_model::rules::{self, RuleRef};

/// The written cases that may give a reason.
pub fn cases(findings: &Findings) -> Vec<Case> {
    let rules = rules::catalogue().filter(|rule| {
        findings.verdict(rule) == Verdict::NotExercised && **rule != rules::COST_MEMORY
    });
    cases::mentioning(&rules.map(|rule| rule.id).collect::<Vec<_>>()).unwrap_or_default()
}

/// The reason in a few words; `None` for a rule that was judged. `cases` are those of [`cases`].
pub fn why(findings: &Findings, rule: RuleRef, cases: &[Case]) -> Option<String> {
    match findings.verdict(rule) {
        Verdict::NotApplicable => findings.capabilities.why_not(rule),
        Verdict::NotExercised => Some(not_exercised(findings, rule, cases)),
        _ => None,
    }
}

fn not_exercised(findings: &Findings, rule: RuleRef, cases: &[Case]) -> String {
    let ran = findings.histories;
    let planned = findings.planned;
    if ran < planned {
        return format!("only {ran} of {planned} histories ran: allow more time");
    }
    if *rule == rules::COST_MEMORY {
        return "it needs files of 80 MiB, as `herma-conform cost` makes them".to_owned();
    }
    let is_claimed = |need: &String| findings.capabilities.names().any(|name| name == need);
    let cases_of_rule = cases.iter().filter(|case| case.rules().any(|covered| covered == rule));
    let lacking = |case: &Case| -> Vec<String> {
        let needs = case.needs.iter().filter(|need| !is_claimed(need));
        let shown = |need: &String| match findings.capabilities.why_withheld(need) {
            Some(why) => format!("`{need}` ({why})"),
            None => format!("`{need}`"),
        };
        needs.map(shown).collect()
    };
    let nearest = cases_of_rule.min_by_key(|case| lacking(case).len());
    match nearest.map(|case| (case, lacking(case))) {
        Some((case, lacking)) if !lacking.is_empty() => {
            let lacking = lacking.join(", ");
            format!("its case `{}` needs {lacking}; more histories may test it", case.id)
        }
        Some((case, _)) => format!(
            "no history tested it, not even its case `{}`: run more histories, or an earlier failure \
             hides it",
            case.id
        ),
        None => "no history tested it: run more histories".to_owned(),
    }
}
