//! Every capability, by name. `capabilities` says how an implementation is judged that has a capability, and
//! `claims` describes each capability for the page.

use super::claims::closest;
use herma_model::request::{Capability, REQUESTS};
use std::collections::BTreeSet;

/// The capabilities other than those of requests, with their meaning. The record of a rule names the
/// capabilities that are needed to judge it.
static CAPABILITIES: &[Capability] = &[
    (
        "project.spellings",
        "A directory may be named as a user types it, such as `~/code`, not only by its canonical \
         path.",
    ),
    (
        "project.any_directory",
        "Any directory can be a project of its own, whatever directories are above and below it.",
    ),
    ("scope.refuses_root", "The file system's root is refused as a project."),
    (
        "scope.refuses_home",
        "The home directory is refused as a project, whatever path leads to it.",
    ),
    (
        "scope.refuses_store",
        "The folder that holds the store is refused as a project, and left out of a project around \
         it.",
    ),
    (
        "refusal.reasons",
        "A refusal reports its reason, and distinguishes a malformed target from an unknown \
         target.",
    ),
    ("checkpoint", "A checkpoint is taken on every request for it, whatever the turn."),
    (
        "take.unchanged",
        "No checkpoint is taken where nothing changed, and the answer reports that.",
    ),
    ("take.declines_empty", "No first checkpoint is taken of a project that holds nothing."),
    (
        "take.skipped",
        "The answer to a request for a checkpoint names the files that could not be read.",
    ),
    (
        "capture.default_excludes",
        "Paths that the default excludes name, secrets included, are not captured.",
    ),
    ("capture.gitignore", "Paths that the project's own ignore files exclude are not captured."),
    (
        OWN_IGNORE_FILE,
        "The store has an ignore file of its own: any directory may hold one, and it is read after \
         the `.gitignore` of that directory.",
    ),
    (
        "capture.no_repositories",
        "Files and directories called `.git` are not captured, but the files next to them are.",
    ),
    (
        "capture.units",
        "The files of a SQLite or LevelDB database are captured and restored together or not at \
         all, and if a database is left out or kept because it changes or is in use, the reason \
         says so.",
    ),
    (
        "checkpoint.left_out",
        "A checkpoint records the paths that it left out though no pattern excludes them, and a \
         restore names them.",
    ),
    ("files.special", "A project may contain sockets and fifos."),
    ("files.unreadable", "A project may contain files that their owner may not read."),
    (
        "user.ordinary",
        "Files are read and written as by an ordinary user, even if root runs the implementation.",
    ),
    (
        "classify.cautious",
        "A terminal command counts as changing files unless it is known to change none.",
    ),
    ("diff.stats", "A diff counts the lines added and removed."),
    ("list.reason", "The list shows the reason of each checkpoint."),
    (
        "list.stats",
        "The list shows the changes of each checkpoint against the checkpoint before it.",
    ),
    ("target.number", "A checkpoint may be named by its number in the list."),
    (
        "target.stable_number",
        "Numbers count only checkpoints that are not pre-restore checkpoints, which a list numbers 0.",
    ),
    ("target.short", "A checkpoint may be named by the first digits of its id."),
    (
        "restore.leaves_new",
        "A restore can leave the files that were created since the checkpoint in place.",
    ),
    (
        "restore.exact",
        "A restore can remove the files that were created since the checkpoint, or move them away.",
    ),
    (
        "restore.directory",
        "A single path to restore may be a directory of the checkpoint, which is restored \
         entirely.",
    ),
    (
        FOLDER_PERMISSIONS,
        "A checkpoint records the permissions of folders, and a restore creates a missing folder \
         with them.",
    ),
    ("restore.force", "A restore can be forced where no pre-restore checkpoint can be taken."),
    ("restore.safety", "A restore takes a pre-restore checkpoint before it writes."),
    ("restore.file_safety", "A restore of a single path takes a pre-restore checkpoint, too."),
    (
        "restore.keeps_undo",
        "The last three pre-restore checkpoints that the list has no room for can be restored by id.",
    ),
    (
        "restore.consumes",
        "A full restore removes the restored checkpoint and all newer ones from the list, so that each can be \
         restored once.",
    ),
    ("restore.report", "The answer to a restore names the paths that it wrote, removed and kept."),
    (
        "restore.undoes_turn",
        "The answer to a restore says whether the last conversation turn is undone.",
    ),
    ("state.kanban", "The cards of the agent's board are a part of the agent's state."),
    ("state.goal", "The agent's goal, with its progress, is a part of the agent's state."),
    ("state.memory", "The head of the agent's memory index is a part of the agent's state."),
    ("state.history", "The tail of the agent's tool history is a part of the agent's state."),
    ("event.high_risk", "A checkpoint is taken before a tool does something high-risk."),
    (
        "event.milestone",
        "A checkpoint is taken when the goal passes a milestone, once for each milestone.",
    ),
    ("event.card", "A checkpoint is taken when a card becomes `done`."),
    (
        "event.turn_boundary",
        "A checkpoint is taken when a turn of a conversation over a gateway ends.",
    ),
    ("event.long_call", "A checkpoint is taken before a tool call that is expected to take long."),
    ("settings.enabled", "Automatic checkpoints can be switched off."),
    ("settings.max_snapshots", "The number of checkpoints of a project can be limited."),
    (MAX_FILE_BYTES, "The size of files can be limited: larger files are left out."),
    (
        "settings.max_files",
        "The number of files can be limited: projects with more files are refused.",
    ),
    (
        MAX_TOTAL_BYTES,
        "The size of the whole store can be limited, which is set and judged only with `layout`: which checkpoints \
         go is known from what is stored.",
    ),
    (
        "test.store",
        "The suite may put v1 repositories and third-party files into the base, and damage the \
         bookkeeping.",
    ),
    (
        "test.damage",
        "The suite may also damage stored data: objects, refs and the other files of the \
         repository.",
    ),
    (
        INJECTION,
        "The suite can make disk calls of the implementation fail, kill the implementation at such \
         a call, and simulate a power loss: the suite detects this by itself, and no adapter \
         claims it.",
    ),
    (
        MEASUREMENT,
        "The suite can measure what the processes of the implementation consume: the suite detects \
         this by itself, and no adapter claims it.",
    ),
    (
        "layout",
        "The store is laid out as the rule book says, and the suite reads the store with plain \
         git.",
    ),
];

/// The capabilities that are a size in bytes, which some implementations can only set to multiples of a
/// unit.
pub(super) const SIZES: &[&str] = &[MAX_FILE_BYTES, MAX_TOTAL_BYTES];
/// The capability to limit the size of files.
pub(super) const MAX_FILE_BYTES: &str = "settings.max_file_bytes";
/// The capability to limit the size of the store.
pub(super) const MAX_TOTAL_BYTES: &str = "settings.max_total_bytes";

/// The capability to have an own ignore file, whose value is the name of that file.
pub const OWN_IGNORE_FILE: &str = "capture.own_ignore_file";
/// The capability to keep the permissions of folders.
pub const FOLDER_PERMISSIONS: &str = "restore.folder_permissions";
/// The capability that faults can be injected at calls.
pub const INJECTION: &str = "test.injection";
/// The capability that requests can be measured.
pub const MEASUREMENT: &str = "test.measurement";

/// Stands for all capabilities but [`OWN_WAYS`] and [`WHOLE_AGENT`].
pub(super) const COMPLETE: &str = "complete";

/// Capabilities that a complete implementation need not have: alternatives that the rules allow, and
/// capabilities that no adapter claims.
pub(super) const OWN_WAYS: &[&str] = &[
    "capture.units",
    OWN_IGNORE_FILE,
    "restore.consumes",
    "restore.directory",
    FOLDER_PERMISSIONS,
    "restore.keeps_undo",
    "restore.undo",
    "target.stable_number",
    INJECTION,
    MEASUREMENT,
];

/// Capabilities that say what words mean: an implementation cannot do without them, whatever is judged.
pub(super) const MEANINGS: &[&str] = &["restore.consumes", "target.stable_number"];

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
