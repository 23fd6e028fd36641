//! Root causes: decides which of the rules that one operation broke is the cause, and which failures follow
//! from it.
//!
//! Every property is judged independently, so one mistake may break several rules. The table below lists
//! causes before their symptoms. For example, a wrong checkpoint comes before the restore that shows it,
//! and a file of the wrong type before its wrong bytes. The table is published with the rule book.

use crate::rules::{self, RuleRef};
use crate::verdict::{Judge, Kind, Violation};

/// The rules whose violations may cause others, causes first. A rule whose evidence is weaker in an
/// answer than in the store is listed twice.
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
    (&rules::CAPTURE_OWN_IGNORE_FILE, None),
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
    // A forbidden restore or an unexpected checkpoint evicts others, and a missing checkpoint leaves
    // fewer.
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
    (&rules::RESTORE_UNDO_REDO, None),
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
    (&rules::RESTORE_SAME_NUMBER, None),
    (&rules::ISOLATION_USER_REPOSITORY, None),
    (&rules::ISOLATION_HOME, None),
    (&rules::RESTORE_REFUSAL_CHANGES_NOTHING, None),
    (&rules::DIFF_LEAVES_STORE, None),
    (&rules::CAPTURE_READ_ONLY, None),
    (&rules::SCOPE_NO_DIRECTORY, None),
    (&rules::LAYOUT_FSCK, None),
    // That such a file exists when a request is refused is weak evidence.
    (&rules::CAPTURE_UNREADABLE, None),
    (&rules::CAPTURE_SPECIAL, None),
    (&rules::UNIT_CAPTURED, None),
];

/// Rules about answers only: their violation may follow from a wrong checkpoint, but nothing follows
/// from it, and the world is as expected.
pub static ONLY_IN_ANSWERS: &[RuleRef] = &[
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

/// Rules whose violations neither cause others nor follow from them: about the form of a store and of
/// printed output, the metadata of files, the words of a command or a configuration, and the cost of an
/// operation.
pub static INDEPENDENT: &[RuleRef] = &[
    &rules::TURN_SHELL_WORDS,
    &rules::TURN_SAFE_SIDE,
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
    &rules::RESTORE_FOLDER_PERMISSIONS,
];

/// Rules about the worst violations: they are always reported, whatever else is the cause.
pub static ALWAYS_REPORTED: &[RuleRef] = &[&rules::RESTORE_CONTAINED];

/// One failure: the violation that is blamed, and those that may follow from it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The violation that is blamed.
    pub cause: Violation,
    /// The violations that may follow from it, in the order of the table.
    pub symptoms: Vec<Violation>,
}

impl Failure {
    /// Whether the world is as expected, apart from what was answered or recorded.
    pub fn keeps_world_comparable(&self) -> bool {
        !explains_others(&self.cause)
    }

    /// Whether it never follows from another violation.
    pub fn is_independent(&self) -> bool {
        INDEPENDENT.contains(&self.cause.rule)
    }
}

fn rank(violation: &Violation) -> usize {
    let fits = |(rule, judge): &(RuleRef, Option<Judge>)| {
        *rule == violation.rule && judge.is_none_or(|judge| judge == violation.judge)
    };
    CAUSES_FIRST.iter().position(fits).unwrap_or(CAUSES_FIRST.len())
}

fn is_only_said(violation: &Violation) -> bool {
    let is_about_answer =
        violation.judge == Judge::Answer && ONLY_IN_ANSWERS.contains(&violation.rule);
    is_about_answer || violation.mismatch.kind == Kind::WrongReason
}

/// Whether a violation may be the cause of others.
fn explains_others(violation: &Violation) -> bool {
    !is_only_said(violation) && !INDEPENDENT.contains(&violation.rule)
}

/// Groups the violations of one operation into failures: one for the first in the table with all that
/// may follow from it, and one for each independent violation.
pub fn failures(mut violations: Vec<Violation>) -> Vec<Failure> {
    violations.sort_by_key(rank);
    let mut ranked = Vec::new();
    let mut independent = Vec::new();
    let mut answer_only = Vec::new();
    for violation in violations {
        if INDEPENDENT.contains(&violation.rule) {
            independent.push(violation);
        } else if is_only_said(&violation) {
            answer_only.push(violation);
        } else {
            ranked.push(violation);
        }
    }
    let mut failures = Vec::new();
    if ranked.is_empty() {
        independent.extend(answer_only);
    } else {
        ranked.extend(answer_only);
        let cause = ranked.remove(0);
        let (always, symptoms): (Vec<_>, Vec<_>) =
            ranked.into_iter().partition(|violation| ALWAYS_REPORTED.contains(&violation.rule));
        failures.push(Failure { cause, symptoms });
        independent.splice(0..0, always);
    }
    let independent_failure = |cause| Failure { cause, symptoms: Vec::new() };
    failures.extend(independent.into_iter().map(independent_failure));
    failures
}
