//! Hints for the rules about the store as a whole.

use herma_model::rules::{self, RuleRef};

/// One sentence for each, in the order of the rule book.
pub static HINTS: &[(RuleRef, &str)] = &[
    (
        &rules::LIMIT_NEWEST_REMAIN,
        "Only the list is cut: make the history end at the oldest that stays, then free what is unreachable.",
    ),
    (
        &rules::LIMIT_TOTAL_SIZE,
        "Rounds end early or start with one project only: go round until what is reachable fits.",
    ),
    (
        &rules::LIMIT_NEWEST_STAYS,
        "The loop drops whatever is oldest: stop at one checkpoint for every project.",
    ),
    (
        &rules::LIMIT_NO_MORE_THAN_NEEDED,
        "The size is that of the folder, garbage and all: count what is reachable after each drop.",
    ),
    (
        &rules::SWEEP_INTERVAL,
        "The marker is not written, or a broken one or one from the future is believed: take it for none.",
    ),
    (
        &rules::SWEEP_ORPHANS,
        "The ref goes but the index and metadata stay, or stale is judged first: remove all three.",
    ),
    (
        &rules::SWEEP_STALE,
        "Age is that of a file or of the first checkpoint: compare the last use with the retention.",
    ),
    (
        &rules::SWEEP_COUNTS,
        "Something is counted before it is removed, or for two reasons: count once, when it is gone.",
    ),
    (
        &rules::SWEEP_RECLAIMS,
        "Objects are left to git's two weeks, or a reflog holds them: prune with no grace at all.",
    ),
    (
        &rules::SWEEP_EVIDENCE,
        "A directory that cannot be seen counts as deleted: ask whether the one it was in is there.",
    ),
    (
        &rules::MAINTENANCE_COMMANDS,
        "The status counts what limits dropped, or clearing leaves a part: look at refs, not at folders.",
    ),
    (
        &rules::MAINTENANCE_HEALS,
        "Bad JSON ends the loop over all projects, or is never written anew: skip it, and replace it.",
    ),
    (
        &rules::MAINTENANCE_NEVER_RAISES,
        "One thing that cannot be done stops the rest: count it, log it, go on.",
    ),
    (
        &rules::MIGRATION_ARCHIVES,
        "V1 repositories are looked for by name or only once: move whatever holds a HEAD and objects.",
    ),
    (
        &rules::MIGRATION_LOSES_NOTHING,
        "A move onto an archive that is there replaces it, or everything in the base is taken: rename apart.",
    ),
];
