//! How much a broken rule matters to a user with files to lose, so that a report begins with the worst.
//! It changes no verdict.

use crate::divergence::{Divergence, Kind, Violation};
use herma_model::blame::ALWAYS_REPORTED;
use herma_model::rules::{self, RuleRef};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a broken rule costs, the worst first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something outside the project was written, or could be.
    WroteOutside,
    /// Files or checkpoints are lost, or were never stored.
    LostData,
    /// Something is stored or shown that should not be.
    Leaked,
    /// An answer or its effect is wrong, and nothing is lost.
    #[default]
    WrongAnswer,
    /// A recommendation is not followed.
    Odd,
}

/// The rules whose violation is worse than a wrong answer, by severity.
static WORSE: &[(Severity, &[RuleRef])] = &[
    (
        Severity::WroteOutside,
        &[&rules::RESTORE_CONTAINED, &rules::ISOLATION_HOME, &rules::ISOLATION_USER_REPOSITORY],
    ),
    (
        Severity::LostData,
        &[
            &rules::CAPTURE_READ_ONLY,
            &rules::CAPTURE_CREATED,
            &rules::CAPTURE_BYTES,
            &rules::CAPTURE_ANY_NAME,
            &rules::CAPTURE_NO_CONVERSION,
            &rules::CAPTURE_INDEPENDENT,
            &rules::CAPTURE_NESTED_REPOSITORY,
            &rules::CAPTURE_HONEST,
            &rules::LIST_COMPLETE,
            &rules::LIMIT_NEWEST_REMAIN,
            &rules::LIMIT_NEWEST_STAYS,
            &rules::LIMIT_NO_MORE_THAN_NEEDED,
            &rules::RESTORE_BYTES,
            &rules::RESTORE_TYPE,
            &rules::RESTORE_HAPPENS,
            &rules::RESTORE_PROTECTS,
            &rules::RESTORE_FILE_ONLY,
            &rules::MAINTENANCE_ONLY_OURS,
            &rules::RESTORE_EXACT,
            &rules::RESTORE_UNDO,
            &rules::RESTORE_HARD_LINKS,
            &rules::RESTORE_LEAVES_NEW,
            &rules::RESTORE_KEEPS_HISTORY,
            &rules::RESTORE_KEEPS_UNDO,
            &rules::RESTORE_SAFETY_CHECKPOINT,
            &rules::RESTORE_SAFETY_KEEPS_TARGET,
            &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
            &rules::RESTORE_DELETED_PROJECT,
            &rules::LAYOUT_FSCK,
            &rules::SWEEP_EVIDENCE,
            &rules::MIGRATION_LOSES_NOTHING,
            &rules::AGENT_PARTS,
            &rules::AGENT_ALL_OR_NONE,
            &rules::AGENT_PINNED,
            &rules::AGENT_COMPOSES,
        ],
    ),
    (
        Severity::Leaked,
        &[
            &rules::CAPTURE_SECRETS,
            &rules::CAPTURE_DEFAULT_EXCLUDES,
            &rules::CAPTURE_GITIGNORE,
            &rules::CAPTURE_OWN_IGNORE_FILE,
            &rules::SCOPE_NEVER_HOME,
            &rules::SCOPE_NEVER_ROOT,
            &rules::SCOPE_BASE_NOT_CAPTURED,
            &rules::LIST_OWN_PROJECT,
            &rules::RESTORE_OWN_CHECKPOINT,
            &rules::RESTORE_PERMISSIONS,
            &rules::RESTORE_FOLDER_PERMISSIONS,
            &rules::ISOLATION_PRIVATE,
        ],
    ),
];

impl Severity {
    /// The severity of a rule, by its id.
    pub fn of(rule: &str) -> Severity {
        let contains =
            |(_, members): &&(Severity, &[RuleRef])| members.iter().any(|member| member.id == rule);
        if let Some((severity, _)) = WORSE.iter().find(contains) {
            return *severity;
        }
        let is_advice =
            |known_rule: RuleRef| known_rule.id == rule && known_rule.level == rules::Level::Should;
        if rules::catalogue().any(is_advice) { Severity::Odd } else { Severity::WrongAnswer }
    }

    /// The severity of a failure. A correct refusal with the wrong code loses and leaks nothing, whatever its rule.
    /// A write outside the project counts whichever rule is blamed, since it was observed on the disk; other
    /// symptoms may only follow from the blamed rule.
    pub fn of_failure(divergence: &Divergence) -> Severity {
        let is_observed = |violation: &&Violation| {
            ALWAYS_REPORTED.iter().any(|rule| rule.id == violation.rule.id)
        };
        let observed = divergence.symptoms.iter().filter(is_observed);
        let severities = observed.map(|violation| Severity::of(violation.rule.id));
        let blamed = Severity::of(divergence.rule.id);
        let blamed = match divergence.mismatch.kind {
            Kind::WrongReason => blamed.max(Severity::WrongAnswer),
            _ => blamed,
        };
        severities.fold(blamed, Severity::min)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Severity::WroteOutside => "wrote outside",
            Severity::LostData => "lost data",
            Severity::Leaked => "leaked",
            Severity::WrongAnswer => "wrong answer",
            Severity::Odd => "odd",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::divergence::{Judge, Mismatch};
    use herma_model::blame::Failure;

    #[test]
    fn severity_of_a_rule_puts_data_loss_before_wrong_answers_and_advice_last() {
        let severities =
            |rules: &[&str]| rules.iter().map(|rule| Severity::of(rule)).collect::<Vec<_>>();
        let sorted = severities(&[
            "restore/contained",
            "restore/bytes",
            "isolation/private",
            "diff/stats",
            "list/oldest-no-stats",
        ]);
        assert!(
            sorted.is_sorted() && sorted.windows(2).all(|pair| pair[0] != pair[1]),
            "{sorted:?}"
        );
        assert_eq!(sorted.last(), Some(&Severity::Odd));
    }

    #[test]
    fn of_failure_ranks_a_write_outside_first_whichever_rule_is_blamed() {
        let violation = |rule| Violation {
            rule,
            judge: Judge::Disk,
            mismatch: Mismatch::new("wrong", "one", "another"),
        };
        let severity = |symptom: RuleRef| {
            let failure = Failure {
                cause: violation(&rules::RESTORE_HARD_LINKS),
                symptoms: vec![violation(symptom)],
            };
            Severity::of_failure(&Divergence::new(0, failure, None))
        };
        assert_eq!(severity(&rules::RESTORE_CONTAINED), Severity::WroteOutside);
        assert_eq!(severity(&rules::RESTORE_UNTOUCHED), Severity::LostData);
    }

    #[test]
    fn of_failure_calls_a_refusal_with_a_wrong_reason_neither_lost_nor_leaked() {
        let severity = |rule, kind| {
            let mismatch = Mismatch::new("wrong", "one", "another").kind(kind);
            let cause = Violation { rule, judge: Judge::Answer, mismatch };
            Severity::of_failure(&Divergence::new(0, Failure { cause, symptoms: Vec::new() }, None))
        };
        for (rule, severe) in [
            (&rules::SCOPE_NEVER_HOME, Severity::Leaked),
            (&rules::RESTORE_HAPPENS, Severity::LostData),
            (&rules::LIST_OLDEST_NO_STATS, Severity::Odd),
        ] {
            assert_eq!(severity(rule, Kind::Fail), severe);
            let mild = severe.max(Severity::WrongAnswer);
            assert_eq!(severity(rule, Kind::WrongReason), mild);
        }
    }

    #[test]
    fn no_rule_has_two_severities() {
        let mut ids: Vec<&str> =
            WORSE.iter().flat_map(|(_, rules)| rules.iter().map(|rule| rule.id)).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
