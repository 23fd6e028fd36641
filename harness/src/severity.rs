//! How much it matters to somebody with files to lose that a rule is broken, so that a report begins
//! with the worst. It changes no verdict.

use crate::divergence::{Divergence, Violation};
use herma_model::blame::ALWAYS_SAID;
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
    /// Files or checkpoints are lost, or were never kept.
    LostData,
    /// Something is kept or shown that should not be.
    Leaked,
    /// An answer, or what it did, is wrong, and nothing is lost by that.
    #[default]
    WrongAnswer,
    /// It should be otherwise, and need not.
    Odd,
}

/// The rules whose break is worse than a wrong answer.
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
            &rules::SCOPE_NEVER_HOME,
            &rules::SCOPE_NEVER_ROOT,
            &rules::SCOPE_BASE_NOT_CAPTURED,
            &rules::LIST_OWN_PROJECT,
            &rules::RESTORE_OWN_CHECKPOINT,
            &rules::RESTORE_PERMISSIONS,
            &rules::ISOLATION_PRIVATE,
        ],
    ),
];

impl Severity {
    /// That of a rule by its id.
    pub fn of(rule: &str) -> Severity {
        let holds = |(_, all): &&(Severity, &[RuleRef])| all.iter().any(|one| one.id == rule);
        if let Some((severity, _)) = WORSE.iter().find(holds) {
            return *severity;
        }
        let advice = |one: RuleRef| one.id == rule && one.level == rules::Level::Should;
        if rules::catalogue().any(advice) { Severity::Odd } else { Severity::WrongAnswer }
    }

    /// That of a failure. What was written outside counts whatever is blamed, since it was seen on the
    /// disk; other symptoms may only follow from the rule that is blamed.
    pub fn of_failure(divergence: &Divergence) -> Severity {
        let is_seen = |one: &&Violation| ALWAYS_SAID.iter().any(|rule| rule.id == one.rule.id);
        let beside = divergence.symptoms.iter().filter(is_seen);
        let beside = beside.map(|one| Severity::of(one.rule.id));
        beside.fold(Severity::of(divergence.rule.id), Severity::min)
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
    fn the_worst_comes_first_and_advice_last() {
        let of = |rules: &[&str]| rules.iter().map(|rule| Severity::of(rule)).collect::<Vec<_>>();
        let all = of(&[
            "restore/contained",
            "restore/bytes",
            "isolation/private",
            "diff/stats",
            "list/oldest-no-stats",
        ]);
        assert!(all.is_sorted() && all.windows(2).all(|two| two[0] != two[1]), "{all:?}");
        assert_eq!(all.last(), Some(&Severity::Odd));
    }

    #[test]
    fn what_was_written_outside_comes_first_whatever_is_blamed() {
        let violation = |rule| Violation {
            rule,
            judge: Judge::Disk,
            mismatch: Mismatch::new("wrong", "one", "another"),
        };
        let of = |beside: RuleRef| {
            let failure = Failure {
                cause: violation(&rules::RESTORE_HARD_LINKS),
                symptoms: vec![violation(beside)],
            };
            Severity::of_failure(&Divergence::new(0, failure, None))
        };
        assert_eq!(of(&rules::RESTORE_CONTAINED), Severity::WroteOutside);
        assert_eq!(of(&rules::RESTORE_UNTOUCHED), Severity::LostData);
    }

    #[test]
    fn no_rule_has_two() {
        let mut ids: Vec<&str> =
            WORSE.iter().flat_map(|(_, all)| all.iter().map(|one| one.id)).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
