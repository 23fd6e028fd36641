//! Which of the rules that one operation broke is the cause, and which only follow from it.
//!
//! Every property is judged for itself, so one mistake breaks several rules. The table below orders
//! them, causes before symptoms: a wrong checkpoint before the restore that shows it, a file of the
//! wrong type before its bytes. It is published with the rule book.

use crate::rules::{self, RuleRef};
use crate::verdict::{Judge, Kind, Violation};

/// The rules of which one may be the cause of another, causes first. A rule whose evidence is
/// weaker in an answer than in the store stands there twice.
pub static CAUSES_FIRST: &[(RuleRef, Option<Judge>)] = &[
    (&rules::ISOLATION_USER_CONFIG, None),
    (&rules::ISOLATION_NO_SIGNING, None),
    (&rules::CRASH_POWER_LOSS, None),
    (&rules::CRASH_KILL, None),
    (&rules::LOCK_STALE, None),
    (&rules::CONCURRENT_KEEPS, None),
    (&rules::CONCURRENT_SERIAL, None),
    (&rules::CAPTURE_CONTAINED, None),
    (&rules::CAPTURE_STEADY, None),
    (&rules::RESTORE_KEEPS_SAVES, None),
    (&rules::FAULT_NAMES_HALF_RESTORED, None),
    (&rules::FAULT_CLEAR_REFUSAL, None),
    (&rules::SCOPE_NEVER_ROOT, None),
    (&rules::SCOPE_NEVER_HOME, None),
    (&rules::SCOPE_BASE_NOT_CAPTURED, None),
    (&rules::SCOPE_IDENTITY, Some(Judge::Git)),
    (&rules::SCOPE_HASH, None),
    (&rules::LAYOUT_STORE, None),
    (&rules::RESTORE_SAFETY_OUTSIDE_TURN, None),
    (&rules::TURN_FAILURE_KEEPS_SLOT, None),
    (&rules::TURN_PER_PROJECT, None),
    (&rules::TURN_RESET, None),
    (&rules::TURN_MANUAL, None),
    (&rules::TURN_ONCE, None),
    (&rules::TURN_NOTHING_USES_SLOT, None),
    (&rules::TURN_DISABLED, None),
    (&rules::TURN_NO_BACKEND, None),
    (&rules::CAPTURE_HONEST, None),
    (&rules::CAPTURE_STORED, None),
    (&rules::RESTORE_UNDO, None),
    (&rules::CAPTURE_UNREADABLE, Some(Judge::Git)),
    (&rules::CAPTURE_SPECIAL, Some(Judge::Git)),
    (&rules::UNIT_CAPTURED, Some(Judge::Git)),
    (&rules::CAPTURE_SIZE_CAP, None),
    (&rules::CAPTURE_NESTED_REPOSITORY, None),
    (&rules::CAPTURE_SECRETS, None),
    (&rules::CAPTURE_DEFAULT_EXCLUDES, None),
    (&rules::CAPTURE_GITIGNORE, None),
    (&rules::CAPTURE_NO_CONVERSION, None),
    (&rules::CAPTURE_EXECUTABLE, None),
    (&rules::CAPTURE_SYMLINK, None),
    (&rules::CAPTURE_ANY_NAME, None),
    (&rules::CAPTURE_BYTES, None),
    (&rules::CAPTURE_INDEPENDENT, None),
    (&rules::SCOPE_COUNTS_CAPTURED, None),
    (&rules::SCOPE_TOO_MANY_FILES, None),
    (&rules::LIST_STABLE, Some(Judge::Git)),
    // A restore that may not happen, or a checkpoint that none was due for, is why others had to go,
    // and one that was not taken is why fewer are there.
    (&rules::RESTORE_OWN_CHECKPOINT, None),
    (&rules::RESTORE_BAD_TARGET, None),
    (&rules::RESTORE_BAD_PATH, None),
    (&rules::RESTORE_SAFETY_SKIPPED, None),
    (&rules::RESTORE_SAFETY_CHECKPOINT, None),
    (&rules::CAPTURE_UNCHANGED, None),
    (&rules::AGENT_PINNED, None),
    (&rules::LIMIT_NEWEST_REMAIN, None),
    (&rules::LIMIT_NEWEST_STAYS, None),
    (&rules::LIMIT_NO_MORE_THAN_NEEDED, None),
    (&rules::LIMIT_TOTAL_SIZE, None),
    (&rules::MAINTENANCE_NEVER_RAISES, None),
    (&rules::MAINTENANCE_DEFAULTS, None),
    (&rules::SWEEP_INTERVAL, None),
    (&rules::SWEEP_EVIDENCE, None),
    (&rules::SWEEP_ORPHANS, None),
    (&rules::SWEEP_STALE, None),
    (&rules::MIGRATION_LOSES_NOTHING, None),
    (&rules::MIGRATION_ARCHIVES, None),
    (&rules::MAINTENANCE_ONLY_OURS, None),
    (&rules::MAINTENANCE_DAMAGE, None),
    (&rules::MAINTENANCE_HEALS, None),
    (&rules::SCOPE_IDENTITY, None),
    (&rules::MAINTENANCE_COMMANDS, None),
    (&rules::SWEEP_COUNTS, None),
    (&rules::SWEEP_RECLAIMS, None),
    (&rules::CAPTURE_EMPTY_FIRST, None),
    (&rules::CAPTURE_CREATED, None),
    (&rules::AGENT_TRIGGERS, None),
    (&rules::AGENT_PARTS, None),
    (&rules::TURN_SHARED_HISTORY, None),
    (&rules::TURN_TRIGGERS, None),
    (&rules::RESTORE_SAFETY_KEEPS_TARGET, None),
    (&rules::RESTORE_KEEPS_HISTORY, None),
    (&rules::RESTORE_KEEPS_UNDO, None),
    (&rules::RESTORE_DELETED_PROJECT, None),
    (&rules::RESTORE_TARGET, None),
    (&rules::UNIT_UNDO, None),
    (&rules::UNIT_ROWS, None),
    (&rules::UNIT_RESTORED, None),
    (&rules::AGENT_ALL_OR_NONE, None),
    (&rules::AGENT_COMPOSES, None),
    (&rules::RESTORE_HAPPENS, None),
    (&rules::RESTORE_SAFETY_REQUIRED, None),
    (&rules::AGENT_COMPENSATION, None),
    (&rules::RESTORE_HARD_LINKS, None),
    (&rules::RESTORE_CONTAINED, None),
    (&rules::RESTORE_FILE_LITERAL, None),
    (&rules::RESTORE_FILE_ONLY, None),
    (&rules::RESTORE_TYPE, None),
    (&rules::RESTORE_PROTECTS, Some(Judge::Disk)),
    (&rules::RESTORE_LEFT_OUT, None),
    (&rules::RESTORE_EXACT, None),
    (&rules::RESTORE_BYTES, None),
    (&rules::RESTORE_EXECUTABLE, None),
    (&rules::RESTORE_LEAVES_NEW, Some(Judge::Disk)),
    (&rules::RESTORE_PROTECTS, None),
    (&rules::RESTORE_LEAVES_NEW, None),
    (&rules::RESTORE_HONEST, None),
    (&rules::LIST_OWN_PROJECT, None),
    (&rules::LIST_AT_MOST, None),
    (&rules::LIST_COMPLETE, None),
    (&rules::LIST_STABLE, None),
    (&rules::LIST_NEWEST_FIRST, None),
    (&rules::ISOLATION_USER_REPOSITORY, None),
    (&rules::ISOLATION_HOME, None),
    (&rules::RESTORE_REFUSAL_CHANGES_NOTHING, None),
    (&rules::DIFF_LEAVES_STORE, None),
    (&rules::CAPTURE_READ_ONLY, None),
    (&rules::SCOPE_NO_DIRECTORY, None),
    (&rules::LAYOUT_FSCK, None),
    // That such a file is there when something is refused is no evidence by itself.
    (&rules::CAPTURE_UNREADABLE, None),
    (&rules::CAPTURE_SPECIAL, None),
    (&rules::UNIT_CAPTURED, None),
];

/// Rules about what is only said: they may follow from a wrong checkpoint, but nothing follows from
/// them, and the world is as it should be.
pub static ONLY_SAID: &[RuleRef] = &[
    &rules::SCOPE_ROOT_OF_FILE,
    &rules::SCOPE_ROOT_NEVER_BROAD,
    &rules::CAPTURE_REASON,
    &rules::LIST_TIME,
    &rules::LIST_STATS,
    &rules::LIST_OLDEST_NO_STATS,
    &rules::DIFF_PREVIEW,
    &rules::DIFF_STATS,
    &rules::RESTORE_UNDOES_TURN,
    &rules::RESTORE_OTHER_HANDS,
    &rules::AGENT_EXTERNAL_LISTED,
];

/// Rules about the form of a store and of what is printed, about what is known of a file beside what it
/// holds, and about the words of a command or a configuration, that neither explain anything nor
/// follow from anything; and about what an operation takes.
pub static STANDS_ALONE: &[RuleRef] = &[
    &rules::TURN_SHELL_WORDS,
    &rules::CAPTURE_REASON_ONE_LINE,
    &rules::LIST_LAYOUT,
    &rules::CONFIG_KEYS,
    &rules::COST_MEMORY,
    &rules::COST_UNCHANGED,
    &rules::ISOLATION_PRIVATE,
    &rules::ISOLATION_SELF_CONTAINED,
    &rules::LAYOUT_METADATA,
    &rules::RESTORE_UNTOUCHED,
    &rules::RESTORE_PERMISSIONS,
];

/// Rules about what is worst: it is said in any case, whatever else is to blame.
pub static ALWAYS_SAID: &[RuleRef] = &[&rules::RESTORE_CONTAINED];

/// One failure: the rule that is blamed, and the broken ones that may follow from it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What is blamed.
    pub cause: Violation,
    /// What may follow from it, in the order of the table.
    pub symptoms: Vec<Violation>,
}

impl Failure {
    /// Whether the world is as it should be but for what was said or noted.
    pub fn leaves_the_rest_comparable(&self) -> bool {
        !explains_others(&self.cause)
    }

    /// Whether it never follows from another one.
    pub fn stands_alone(&self) -> bool {
        STANDS_ALONE.contains(&self.cause.rule)
    }
}

fn rank(violation: &Violation) -> usize {
    let fits = |(rule, judge): &(RuleRef, Option<Judge>)| {
        *rule == violation.rule && judge.is_none_or(|judge| judge == violation.judge)
    };
    CAUSES_FIRST.iter().position(fits).unwrap_or(CAUSES_FIRST.len())
}

fn is_only_said(violation: &Violation) -> bool {
    let said = violation.judge == Judge::Answer && ONLY_SAID.contains(&violation.rule);
    said || violation.mismatch.kind == Kind::WrongReason
}

/// Whether a violation may be the cause of others.
fn explains_others(violation: &Violation) -> bool {
    !is_only_said(violation) && !STANDS_ALONE.contains(&violation.rule)
}

/// Parts what one operation broke into failures: one for the first in the table with all that may
/// follow from it, and one for each that stands by itself.
pub fn failures(mut violations: Vec<Violation>) -> Vec<Failure> {
    violations.sort_by_key(rank);
    let (mut ranked, mut alone): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
    let mut said = Vec::new();
    for violation in violations {
        if STANDS_ALONE.contains(&violation.rule) {
            alone.push(violation);
        } else if is_only_said(&violation) {
            said.push(violation);
        } else {
            ranked.push(violation);
        }
    }
    let mut failures = Vec::new();
    if ranked.is_empty() {
        alone.extend(said);
    } else {
        ranked.extend(said);
        let cause = ranked.remove(0);
        let (always, symptoms): (Vec<_>, Vec<_>) =
            ranked.into_iter().partition(|one| ALWAYS_SAID.contains(&one.rule));
        failures.push(Failure { cause, symptoms });
        alone.splice(0..0, always);
    }
    let by_itself = |cause| Failure { cause, symptoms: Vec::new() };
    failures.extend(alone.into_iter().map(by_itself));
    failures
}
