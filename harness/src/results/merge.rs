//! Merges the results of the parts of one run into the results that the complete run would have.

use super::{FailureFound, Finished, FollowingFound, MetBehaviour, Results, RuleJudged, Started};
use crate::coverage::Behaviour;
use crate::divergence::Fingerprint;
use crate::share::Share;
use crate::suite::Verdict;
use std::collections::BTreeMap;

/// Why results are not merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// They are of different runs.
    #[error("{0} and {1} are of different runs: {2}; nothing was merged")]
    Different(String, String, &'static str),
    /// A part is missing or duplicate.
    #[error("of {count} parts there are {}; each is needed once, and nothing was merged", list(.found))]
    Parts {
        /// The expected number of parts.
        count: usize,
        /// The indexes of the given parts.
        found: Vec<usize>,
    },
}

fn list(parts: &[usize]) -> String {
    parts.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// Merges the results of all parts of a run, each with its name.
///
/// # Errors
/// They are not the parts of one run.
pub fn merge(parts: Vec<(String, Results)>) -> Result<Results, MergeError> {
    check(&parts)?;
    let mut parts = parts.into_iter().map(|(_, results)| results);
    let Some(mut merged) = parts.next() else {
        return Err(MergeError::Parts { count: 1, found: Vec::new() });
    };
    merged.started.share = Share::default();
    for part in parts {
        add_failures(&mut merged.failures, part.failures);
        add_following(&mut merged.following, part.following);
        for (rule, part_rule) in merged.rules.iter_mut().zip(part.rules) {
            add_rule(rule, part_rule);
        }
        let counts = |coverage: Vec<MetBehaviour>| {
            coverage.into_iter().map(|met| (met.behaviour, met.times))
        };
        let mut met: BTreeMap<Behaviour, u64> =
            counts(std::mem::take(&mut merged.coverage)).collect();
        for (behaviour, times) in counts(part.coverage) {
            *met.entry(behaviour).or_default() += times;
        }
        merged.coverage =
            met.into_iter().map(|(behaviour, times)| MetBehaviour { behaviour, times }).collect();
        add_figures(&mut merged.finished, &part.finished);
    }
    // A difference that one part saw only after a failure may be independent in another part.
    let is_independent = |following: &FollowingFound| {
        merged.failures.iter().any(|failure| failure.fingerprint == following.fingerprint)
    };
    let independent: Vec<bool> = merged.following.iter().map(is_independent).collect();
    let mut independent = independent.into_iter();
    merged.following.retain(|_| !independent.next().unwrap_or_default());
    merged.finished.behaviours = merged.coverage.len();
    merged.finished.rules = BTreeMap::new();
    for rule in &merged.rules {
        *merged.finished.rules.entry(rule.verdict).or_default() += 1;
    }
    Ok(merged)
}

fn check(parts: &[(String, Results)]) -> Result<(), MergeError> {
    let Some(((first_name, first_part), rest)) = parts.split_first() else { return Ok(()) };
    let first = &first_part.started;
    let count = first.share.count;
    for (name, part) in rest {
        let started = &part.started;
        let differs = [
            ("the suite", first.suite != started.suite),
            ("the subject", first.subject != started.subject),
            ("its capabilities", first.capabilities != started.capabilities),
            ("the plan", plan(first) != plan(started)),
            ("the kept histories", first.kept != started.kept),
            ("the number of parts", started.share.count != count),
        ];
        if let Some((aspect, _)) = differs.into_iter().find(|(_, differs)| *differs) {
            return Err(MergeError::Different(first_name.clone(), name.clone(), aspect));
        }
    }
    let mut found: Vec<usize> = parts.iter().map(|(_, part)| part.started.share.index).collect();
    found.sort_unstable();
    if found.iter().copied().ne(1..=count) {
        return Err(MergeError::Parts { count, found });
    }
    Ok(())
}

/// What chose the histories of a run, apart from the kept ones.
pub(super) fn plan(started: &Started) -> impl PartialEq {
    let Started { seeds, histories, operations, inject, cases_of, preset, .. } = started;
    (seeds, histories, operations, inject, cases_of, preset)
}

/// Adds the failures of a part. Of a failure that several parts show, the shortest history is kept.
fn add_failures(merged: &mut Vec<FailureFound>, part: Vec<FailureFound>) {
    for failure in part {
        let is_same = |found: &&mut FailureFound| found.fingerprint == failure.fingerprint;
        match merged.iter_mut().find(is_same) {
            None => merged.push(failure),
            Some(previous) => {
                let histories = previous.histories + failure.histories;
                let length =
                    |found: &FailureFound| (found.is_unstable(), found.history.operations.len());
                if length(&failure) < length(previous) {
                    *previous = failure;
                }
                previous.histories = histories;
            }
        }
    }
    merged.sort_by(|left, right| left.fingerprint.cmp(&right.fingerprint));
}

fn add_following(merged: &mut Vec<FollowingFound>, part: Vec<FollowingFound>) {
    let mut by_fingerprint: BTreeMap<Fingerprint, FollowingFound> = BTreeMap::new();
    for following in merged.drain(..).chain(part) {
        let histories = following.seen.histories;
        by_fingerprint
            .entry(following.fingerprint.clone())
            .and_modify(|previous| previous.seen.histories += histories)
            .or_insert(following);
    }
    merged.extend(by_fingerprint.into_values());
}

/// Adds the verdict of a part. A rule is broken if any part broke it, unstable if a failure of a part did
/// not show again, and held if any other part exercised it.
fn add_rule(merged: &mut RuleJudged, part: RuleJudged) {
    merged.checks += part.checks;
    for (excuse, times) in part.excused {
        *merged.excused.entry(excuse).or_default() += times;
    }
    let either = |verdict| merged.verdict == verdict || part.verdict == verdict;
    let stronger = [Verdict::Broken, Verdict::Unstable, Verdict::Held];
    if let Some(verdict) = stronger.into_iter().find(|verdict| either(*verdict)) {
        merged.verdict = verdict;
        merged.why = None;
    }
}

fn add_figures(merged: &mut Finished, part: &Finished) {
    merged.histories += part.histories;
    merged.planned += part.planned;
    merged.operations += part.operations;
    merged.injections += part.injections;
    merged.depth.add(&part.depth);
    merged.seconds += part.seconds;
    merged.shortening_seconds += part.shortening_seconds;
    merged.jobs = merged.jobs.max(part.jobs);
}

#[cfg(test)]
mod tests {
    use super::super::junit::tests::results;
    use super::*;

    fn part(index: usize, symptom: &str) -> (String, Results) {
        let mut part = results(symptom, "three");
        part.started.share = Share { index, count: 2 };
        (format!("{index}.jsonl"), part)
    }

    #[test]
    fn merge_of_all_parts_gives_the_results_of_the_complete_run() {
        let mut second = part(2, "too many");
        // The shorter history of the same failure is kept.
        second.1.failures[0].history.operations.clear();
        second.1.rules[2].verdict = Verdict::Held;
        second.1.rules[2].checks = 3;
        let merged = merge(vec![part(1, "too many"), second]).unwrap();
        assert_eq!(merged.started.share, Share::default());
        let [failure] = &merged.failures[..] else { panic!("{:?}", merged.failures) };
        assert_eq!((failure.histories, failure.history.operations.len()), (4, 0));
        let checks: Vec<u64> = merged.rules.iter().map(|rule| rule.checks).collect();
        assert_eq!(checks, [8, 4, 3, 0]);
        assert_eq!(merged.finished.rules[&Verdict::Held], 2);
        assert_eq!((merged.finished.histories, merged.finished.operations), (6, 30));
        let both = merge(vec![part(2, "too many"), part(1, "too few")]).unwrap();
        assert_eq!(both.failures.len(), 2);
    }

    #[test]
    fn merge_refuses_parts_of_different_runs_and_missing_or_duplicate_parts() {
        let refused = |parts| merge(parts).unwrap_err();
        let parts = |count, found: &[usize]| MergeError::Parts { count, found: found.to_vec() };
        assert_eq!(refused(vec![]), parts(1, &[]));
        assert_eq!(refused(vec![part(1, "")]), parts(2, &[1]));
        assert_eq!(refused(vec![part(2, ""), part(2, "")]), parts(2, &[2, 2]));
        let different = |change: fn(&mut Started)| {
            let mut second = part(2, "");
            change(&mut second.1.started);
            match refused(vec![part(1, ""), second]) {
                MergeError::Different(_, _, aspect) => aspect,
                error => panic!("{error}"),
            }
        };
        assert_eq!(different(|started| started.suite = "1".into()), "the suite");
        assert_eq!(different(|started| started.subject.name = "b".into()), "the subject");
        assert_eq!(
            different(|started| started.capabilities.push("diff".into())),
            "its capabilities"
        );
        assert_eq!(different(|started| started.seeds.push(8)), "the plan");
        assert_eq!(different(|started| started.inject = true), "the plan");
        assert_eq!(different(|started| started.preset = " --processes 4".into()), "the plan");
        assert_eq!(different(|started| started.kept = 1), "the kept histories");
        assert_eq!(different(|started| started.share.count = 3), "the number of parts");
    }
}
