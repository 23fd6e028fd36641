//! Comparing the failures of a run with the expectations.

use super::{Expectation, Expectations};
use crate::nearest::nearest;
use crate::results::{AcceptedFailures, FailureFound, Results};
use crate::suite::Verdict;
use herma_model::rules;
use std::collections::BTreeSet;

/// How a run compares with its expectations.
#[derive(Debug, Default)]
pub struct Judgement<'a> {
    /// Known failures, each with the reason.
    pub expected: Vec<(&'a FailureFound, String)>,
    /// Failures by design of the implementation, each with the reason.
    pub by_design: Vec<(&'a FailureFound, String)>,
    /// Failures that are not expected.
    pub regressions: Vec<&'a FailureFound>,
    /// Failures that did not occur again, so that they give no verdict.
    pub unstable: Vec<&'a FailureFound>,
    /// The reasons why the file must be edited, one sentence each.
    pub needs_work: Vec<String>,
    /// Why the run judged too little, if it did.
    pub too_little: Option<String>,
}

impl Judgement<'_> {
    /// Whether the gate holds.
    pub fn holds(&self) -> bool {
        self.regressions.is_empty()
            && self.unstable.is_empty()
            && self.needs_work.is_empty()
            && self.too_little.is_none()
    }

    /// What the expectations accept of the results.
    pub fn accepted(&self) -> AcceptedFailures {
        let kinds = [("known failure", &self.expected), ("by design", &self.by_design)];
        let reasons = kinds.into_iter().flat_map(|(kind, failures)| {
            failures.iter().map(move |(failure, reason)| {
                (failure.fingerprint.clone(), format!("{kind}: {reason}"))
            })
        });
        let problems = self.needs_work.iter().chain(&self.too_little).cloned().collect();
        AcceptedFailures { reasons: reasons.collect(), problems }
    }
}

/// Compares a run of the plan in the expectations with the expectations.
pub fn judge<'a>(expectations: &Expectations, results: &'a Results) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    let version = &results.started.subject.version;
    let entries: Vec<&Expectation> =
        expectations.expect.iter().filter(|entry| entry.covers(version)).collect();
    let shown = |entry: &Expectation| {
        results.failures.iter().any(|failure| failure.fingerprint == entry.fingerprint())
    };
    let mut unmatched: Vec<&Expectation> = Vec::new();
    let mut seen = BTreeSet::new();
    for entry in &entries {
        let name = entry.fingerprint();
        if !seen.insert(name.clone()) {
            judgement.needs_work.push(format!("{name} is listed twice"));
        } else if rules::catalogue().all(|rule| rule.id != entry.rule) {
            let nearest = nearest(&entry.rule, rules::catalogue().map(|rule| rule.id));
            judgement
                .needs_work
                .push(format!("there is no rule `{}`; did you mean `{nearest}`?", entry.rule));
        } else if !shown(entry) {
            unmatched.push(entry);
        }
        for missing in entry.wanting() {
            judgement.needs_work.push(format!("{name} has no {missing}"));
        }
    }
    for failure in &results.failures {
        let listed = expectations.entry_of(&failure.fingerprint, version);
        let same_rule = unmatched.iter().position(|entry| entry.rule == failure.fingerprint.rule);
        match (listed, same_rule) {
            _ if failure.is_unstable() => judgement.unstable.push(failure),
            (Some(entry), _) if entry.is_by_design() => {
                judgement.by_design.push((failure, entry.reason.clone()));
            }
            (Some(entry), _) => judgement.expected.push((failure, entry.reason.clone())),
            (None, Some(index)) => {
                let entry = unmatched.remove(index);
                judgement.needs_work.push(format!(
                    "{} fails differently than expected: {}",
                    entry.fingerprint(),
                    failure.fingerprint
                ));
            }
            (None, None) => judgement.regressions.push(failure),
        }
    }
    for entry in unmatched {
        judgement.needs_work.push(stale(entry, results));
    }
    let known_failures = entries.iter().filter(|entry| !entry.is_by_design()).count();
    if known_failures > expectations.most {
        let most = expectations.most;
        judgement
            .needs_work
            .push(format!("{known_failures} failures are expected, and at most {most} may be"));
    }
    judgement.too_little = too_little(expectations, results);
    match results.started.share.is_whole() {
        // The histories that did not run may show what the others do not.
        true if results.finished.is_cut_short() => {
            Judgement { needs_work: Vec::new(), ..judgement }
        }
        true => judgement,
        // Other parts may show what this part does not.
        false => Judgement { needs_work: Vec::new(), too_little: None, ..judgement },
    }
}

fn too_little(expectations: &Expectations, results: &Results) -> Option<String> {
    let finished = &results.finished;
    if finished.is_cut_short() {
        let ran = finished.histories;
        let planned = finished.planned;
        return Some(format!("only {ran} of {planned} histories ran: allow more time"));
    }
    let judged = judged(results);
    let floor = expectations.judged;
    (judged < floor).then(|| format!("{judged} rules were judged, and {floor} must be"))
}

/// The number of rules that were held or broken.
pub fn judged(results: &Results) -> usize {
    let is_judged = |verdict| matches!(verdict, Verdict::Held | Verdict::Broken);
    results.rules.iter().filter(|rule| is_judged(rule.verdict)).count()
}

/// Why an entry that matches no failure needs work.
fn stale(entry: &Expectation, results: &Results) -> String {
    let rule = results.rules.iter().find(|rule| rule.id == entry.rule);
    let name = entry.fingerprint();
    match rule.map(|rule| rule.verdict) {
        Some(Verdict::Held) => format!("{name} does not fail any more: remove it"),
        Some(Verdict::Broken) => format!("{name} does not fail in this way any more: remove it"),
        _ => format!("{name} was not reached"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expectations::Why;
    use crate::results::junit::tests::results;

    #[test]
    fn judge_accepts_failures_expected_elsewhere_whether_they_occur_or_not() {
        let mut results = results("odd", "three");
        let plan = "schema = 2\nsubject = \"x\"\nseeds = [1]\nhistories = 1\noperations = 1\n\
            inject = true\njudged = 0\nmost = 0\n";
        let mut expectations = Expectations::read(plan, "here".into()).unwrap();
        assert!(!judge(&expectations, &results).regressions.is_empty());
        let entry = |failure: &FailureFound| Expectation {
            rule: failure.fingerprint.rule.clone(),
            verdict: failure.fingerprint.verdict,
            symptom: failure.fingerprint.symptom.clone(),
            kind: Why::KnownFailure,
            versions: semver::VersionReq::STAR,
            reason: "known".into(),
            link: "here".into(),
        };
        expectations.elsewhere = results.failures.iter().map(entry).collect();
        assert!(judge(&expectations, &results).holds());
        results.failures.clear();
        assert!(judge(&expectations, &results).holds());
    }
}
