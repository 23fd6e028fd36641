//! The results of the parts of one run, put together: what they say is what the whole run would
//! have said.

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
    /// A part is missing, or there twice.
    #[error("of {count} parts there are {}; each is needed once, and nothing was merged", list(.found))]
    Parts {
        /// How many there should be.
        count: usize,
        /// Which are there.
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
    let Some(mut whole) = parts.next() else {
        return Err(MergeError::Parts { count: 1, found: Vec::new() });
    };
    whole.started.share = Share::default();
    for part in parts {
        add_failures(&mut whole.failures, part.failures);
        add_following(&mut whole.following, part.following);
        for (rule, other) in whole.rules.iter_mut().zip(part.rules) {
            add_rule(rule, other);
        }
        let times = |met: Vec<MetBehaviour>| met.into_iter().map(|one| (one.behaviour, one.times));
        let mut met: BTreeMap<Behaviour, u64> =
            times(std::mem::take(&mut whole.coverage)).collect();
        for (behaviour, more) in times(part.coverage) {
            *met.entry(behaviour).or_default() += more;
        }
        whole.coverage =
            met.into_iter().map(|(behaviour, times)| MetBehaviour { behaviour, times }).collect();
        add_figures(&mut whole.finished, &part.finished);
    }
    // What one part saw only after a failure may stand alone in another.
    let alone = |one: &FollowingFound| {
        whole.failures.iter().any(|failure| failure.fingerprint == one.fingerprint)
    };
    let followed: Vec<bool> = whole.following.iter().map(alone).collect();
    let mut followed = followed.into_iter();
    whole.following.retain(|_| !followed.next().unwrap_or_default());
    whole.finished.behaviours = whole.coverage.len();
    whole.finished.rules = BTreeMap::new();
    for rule in &whole.rules {
        *whole.finished.rules.entry(rule.verdict).or_default() += 1;
    }
    Ok(whole)
}

fn check(parts: &[(String, Results)]) -> Result<(), MergeError> {
    let Some(((first, whole), others)) = parts.split_first() else { return Ok(()) };
    let count = whole.started.share.count;
    for (name, part) in others {
        let (one, other) = (&whole.started, &part.started);
        let differs = [
            ("the suite", one.suite != other.suite),
            ("the subject", one.subject != other.subject),
            ("its capabilities", one.capabilities != other.capabilities),
            ("the plan", plan(one) != plan(other)),
            ("the number of parts", other.share.count != count),
        ];
        if let Some((what, _)) = differs.into_iter().find(|(_, differs)| *differs) {
            return Err(MergeError::Different(first.clone(), name.clone(), what));
        }
    }
    let mut found: Vec<usize> = parts.iter().map(|(_, part)| part.started.share.index).collect();
    found.sort_unstable();
    if found.iter().copied().ne(1..=count) {
        return Err(MergeError::Parts { count, found });
    }
    Ok(())
}

fn plan(started: &Started) -> (&[u64], u64, usize, bool) {
    (&started.seeds, started.histories, started.operations, started.inject)
}

/// Of a failure that several parts show, the one with the shortest history stays.
fn add_failures(whole: &mut Vec<FailureFound>, part: Vec<FailureFound>) {
    for failure in part {
        let same = |one: &&mut FailureFound| one.fingerprint == failure.fingerprint;
        match whole.iter_mut().find(same) {
            None => whole.push(failure),
            Some(known) => {
                let histories = known.histories + failure.histories;
                let length = |one: &FailureFound| (one.is_unstable(), one.history.operations.len());
                if length(&failure) < length(known) {
                    *known = failure;
                }
                known.histories = histories;
            }
        }
    }
    whole.sort_by(|one, other| one.fingerprint.cmp(&other.fingerprint));
}

fn add_following(whole: &mut Vec<FollowingFound>, part: Vec<FollowingFound>) {
    let mut all: BTreeMap<Fingerprint, FollowingFound> = BTreeMap::new();
    for one in whole.drain(..).chain(part) {
        let histories = one.seen.histories;
        all.entry(one.fingerprint.clone())
            .and_modify(|known| known.seen.histories += histories)
            .or_insert(one);
    }
    whole.extend(all.into_values());
}

/// A rule is broken if any part broke it, unstable if a failure of a part did not show again, and held
/// if any other part put it to the test.
fn add_rule(whole: &mut RuleJudged, part: RuleJudged) {
    whole.checks += part.checks;
    let either = |verdict| whole.verdict == verdict || part.verdict == verdict;
    let stronger = [Verdict::Broken, Verdict::Unstable, Verdict::Held];
    if let Some(verdict) = stronger.into_iter().find(|one| either(*one)) {
        whole.verdict = verdict;
        whole.why = None;
    }
}

fn add_figures(whole: &mut Finished, part: &Finished) {
    whole.histories += part.histories;
    whole.planned += part.planned;
    whole.operations += part.operations;
    whole.depth.add(&part.depth);
    whole.seconds += part.seconds;
    whole.shortening_seconds += part.shortening_seconds;
    whole.jobs = whole.jobs.max(part.jobs);
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
    fn parts_say_together_what_the_whole_says() {
        let mut other = part(2, "too many");
        // A shorter history of the same failure is the one that is kept.
        other.1.failures[0].history.operations.clear();
        other.1.rules[2].verdict = Verdict::Held;
        other.1.rules[2].checks = 3;
        let whole = merge(vec![part(1, "too many"), other]).unwrap();
        assert_eq!(whole.started.share, Share::default());
        let [failure] = &whole.failures[..] else { panic!("{:?}", whole.failures) };
        assert_eq!((failure.histories, failure.history.operations.len()), (4, 0));
        let checks: Vec<u64> = whole.rules.iter().map(|rule| rule.checks).collect();
        assert_eq!(checks, [8, 4, 3, 0]);
        assert_eq!(whole.finished.rules[&Verdict::Held], 2);
        assert_eq!((whole.finished.histories, whole.finished.operations), (6, 30));
        let both = merge(vec![part(2, "too many"), part(1, "too few")]).unwrap();
        assert_eq!(both.failures.len(), 2);
    }

    #[test]
    fn what_does_not_belong_together_is_not_merged() {
        let refused = |parts| merge(parts).unwrap_err();
        let parts = |count, found: &[usize]| MergeError::Parts { count, found: found.to_vec() };
        assert_eq!(refused(vec![]), parts(1, &[]));
        assert_eq!(refused(vec![part(1, "")]), parts(2, &[1]));
        assert_eq!(refused(vec![part(2, ""), part(2, "")]), parts(2, &[2, 2]));
        let different = |change: fn(&mut Started)| {
            let mut other = part(2, "");
            change(&mut other.1.started);
            match refused(vec![part(1, ""), other]) {
                MergeError::Different(_, _, what) => what,
                error => panic!("{error}"),
            }
        };
        assert_eq!(different(|one| one.suite = "1".into()), "the suite");
        assert_eq!(different(|one| one.subject.name = "b".into()), "the subject");
        assert_eq!(different(|one| one.capabilities.push("diff".into())), "its capabilities");
        assert_eq!(different(|one| one.seeds.push(8)), "the plan");
        assert_eq!(different(|one| one.inject = true), "the plan");
        assert_eq!(different(|one| one.share.count = 3), "the number of parts");
    }
}
