//! Every capability, by name. `capabilities` holds what a claim means for judging, and `claims` further
//! information about each.

use super::claims::closest;
use herma_model::request::{Capability, REQUESTS};
use std::collections::BTreeSet;

/// The capabilities other than those of requests, with their meaning. The record of a rule names the
/// capabilities that are needed to judge it.
static CAPABILITIES: &[Capability] = &[
    (
        "project.spellings",
        "A directory may be named as a person types it, `~/code` too, not by its canonical path alone.",
    ),
    (
        "project.any_directory",
        "Any directory is a project of its own, whatever lies above and below it.",
    ),
    (
        "scope.refusals",
        "It refuses all three as a project: the file system's root, the home directory, its own store.",
    ),
    (
        "refusal.reasons",
        "A refusal says why, and distinguishes a malformed target from an unknown one.",
    ),
    ("checkpoint", "It takes a checkpoint whenever it is asked for one, whatever the turn."),
    ("take.unchanged", "It takes no checkpoint where nothing changed, and says so."),
    ("take.declines_empty", "It takes no first checkpoint of a project that holds nothing."),
    ("take.skipped", "The answer to a checkpoint names the files that could not be read."),
    ("capture.default_excludes", "It leaves out what the default excludes name, secrets too."),
    ("capture.gitignore", "It leaves out what the project's own ignore files exclude."),
    (
        "capture.no_repositories",
        "It leaves out what is called `.git`, but not the files beside it.",
    ),
    (
        "capture.units",
        "It captures and restores the files of a SQLite or LevelDB database together or not at all, and \
         of one that it leaves out or keeps since it changes or is in use the reason says so.",
    ),
    (
        "checkpoint.left_out",
        "A checkpoint remembers what it left out though no pattern excludes it, and a restore names that.",
    ),
    ("files.special", "A project may hold sockets and fifos."),
    ("files.unreadable", "A project may hold files that their owner may not read."),
    ("user.ordinary", "It reads and writes as an ordinary user would, also where root runs it."),
    ("diff.stats", "A diff counts the lines added and removed."),
    ("list.reason", "The list has the reason of each checkpoint."),
    ("list.stats", "The list has the changes of each checkpoint against the one before it."),
    ("target.number", "A checkpoint may be named by its number in the list."),
    ("target.short", "A checkpoint may be named by the first digits of its id."),
    ("restore.leaves_new", "A restore can leave the files that were created since the checkpoint."),
    (
        "restore.exact",
        "A restore can remove the files that were created since the checkpoint, or move them away.",
    ),
    (
        "restore.directory",
        "A single path to restore may be a directory of the checkpoint, which comes back whole.",
    ),
    ("restore.force", "A restore can be forced where no pre-rollback checkpoint can be taken."),
    ("restore.safety", "A restore takes a pre-rollback checkpoint before it writes."),
    ("restore.file_safety", "A restore of a single path takes a pre-rollback checkpoint, too."),
    (
        "restore.keeps_undo",
        "The last three pre-restore checkpoints that the list has no room for can be restored by id.",
    ),
    ("restore.report", "The answer to a restore names the paths that it wrote, removed and kept."),
    (
        "restore.undoes_turn",
        "The answer to a restore says whether the last conversation turn is undone.",
    ),
    ("state.kanban", "The cards of the agent's board are a part of its state."),
    ("state.goal", "Its goal, with the progress, is one."),
    ("state.memory", "The head of its memory index is one."),
    ("state.history", "The tail of its tool history is one."),
    ("event.high_risk", "It takes a checkpoint before a tool does something high-risk."),
    ("event.milestone", "It takes one when the goal passes a milestone, once for each."),
    ("event.card", "It takes one when a card becomes `done`."),
    ("event.turn_boundary", "It takes one when a turn of a conversation over a gateway ends."),
    ("event.long_call", "It takes one before a tool call that is expected to take long."),
    ("settings.enabled", "Automatic checkpoints can be switched off."),
    ("settings.max_snapshots", "The number of checkpoints of a project can be limited."),
    (MAX_FILE_BYTES, "Files above a size can be left out."),
    ("settings.max_files", "Projects with more than a number of files can be refused."),
    (MAX_TOTAL_BYTES, "The size of the whole store can be limited."),
    (
        "test.store",
        "The suite may put v1 repositories and foreign files into the base, and damage the bookkeeping.",
    ),
    (
        "test.damage",
        "The suite may damage what is stored as well: objects, refs and the other files of the repository.",
    ),
    (
        INJECTION,
        "The suite can make its calls to the disk fail, kill it at one, and let the power go: the suite \
         finds out by itself, and no adapter claims it.",
    ),
    (
        MEASUREMENT,
        "The suite can measure what its processes take: it finds out by itself, and no adapter claims it.",
    ),
    (
        "layout",
        "Its store is laid out as the rule book says, and the suite reads it with plain git.",
    ),
];

/// The capabilities that are a size in bytes, which some implementations can only set to multiples of a
/// unit.
pub(super) const SIZES: &[&str] = &[MAX_FILE_BYTES, MAX_TOTAL_BYTES];
/// The capability to limit the size of files.
pub(super) const MAX_FILE_BYTES: &str = "settings.max_file_bytes";
/// The capability to limit the size of the store.
pub(super) const MAX_TOTAL_BYTES: &str = "settings.max_total_bytes";

/// The capability that faults can be injected at calls.
pub const INJECTION: &str = "test.injection";
/// The capability that requests can be measured.
pub const MEASUREMENT: &str = "test.measurement";

/// Stands for all capabilities but [`OWN_WAYS`] and [`WHOLE_AGENT`].
pub(super) const COMPLETE: &str = "complete";

/// Capabilities that a complete implementation need not have: alternatives that the rules allow, and
/// capabilities that no adapter claims.
pub(super) const OWN_WAYS: &[&str] =
    &["capture.units", "restore.directory", "restore.keeps_undo", INJECTION, MEASUREMENT];

/// The capabilities for agent state: a complete implementation without them only stores files.
pub const WHOLE_AGENT: &[&str] = &[
    "state",
    "state.kanban",
    "state.goal",
    "state.memory",
    "state.history",
    "label",
    "pin",
    "restore.latest",
    "external",
    "external.compensate",
    "external.accept",
    "event",
    "event.high_risk",
    "event.milestone",
    "event.card",
    "event.turn_boundary",
    "event.long_call",
    "subagent",
];

/// Every capability with its meaning in a sentence, in reading order.
pub fn known() -> impl Iterator<Item = Capability> {
    let of_requests = REQUESTS.iter().filter_map(|kind| kind.capability);
    let mut seen = BTreeSet::new();
    // Two requests may share a capability.
    of_requests.chain(CAPABILITIES.iter().copied()).filter(move |(name, _)| seen.insert(*name))
}

/// The capability of that name, if it exists.
pub(super) fn find(name: &str) -> Option<&'static str> {
    known().map(|(name, _)| name).find(|claim| *claim == name)
}

/// The error message for an unknown name.
pub(super) fn unknown_message(name: &str) -> String {
    let closest = closest(name);
    format!(
        "there is no capability `{name}`; did you mean `{closest}`? `herma-conform capabilities` \
         lists all"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use herma_model::rules;

    #[test]
    fn known_contains_every_capability_that_a_rule_needs() {
        let names: BTreeSet<_> = known().map(|(name, _)| name).collect();
        assert_eq!(names.len(), known().count(), "a capability is listed twice");
        for rule in rules::catalogue() {
            for need in rule.needs {
                assert!(names.contains(need), "{} needs `{need}`, which is no capability", rule.id);
            }
        }
    }

    #[test]
    fn known_explains_every_capability_in_one_sentence() {
        for (name, meaning) in known() {
            assert!(meaning.ends_with('.') && !meaning.contains(". "), "{name}: {meaning}");
        }
    }
}
