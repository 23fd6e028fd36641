//! The requests to a subject, in one table: each request with its name, its fields and its properties.
//! The protocol, the schema, the capability filter and the coverage are derived from it.

use crate::agent::{Action, AgentEvent, Compensation, Part};
use crate::bytes::ByteString;
use crate::rules::{self, RuleRef};
use crate::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

mod kind;

use kind::{ATTRIBUTION, CLEAR, PIN, STATE, SUBAGENT, TURNS, UNDO};
pub use kind::{About, Answered, Capability, Effect, RequestKind};

macro_rules! capability {
    () => {
        None
    };
    ($name:literal: $meaning:expr) => {
        Some(($name, $meaning))
    };
}

/// The value of a field, converted where the field is `target`: only a target is written for a subject
/// in another form than in a history.
macro_rules! converted {
    (target, $value:ident, $convert:ident) => {
        $convert($value)
    };
    ($field:ident, $value:ident, $convert:ident) => {
        $value
    };
}

macro_rules! requests {
    ($(
        $(#[$doc:meta])*
        $variant:ident $({ $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })?
        = $name:literal, $rule:ident, $about:ident, $effect:ident, $answered:ident
        $(, needs $capability:literal: $meaning:expr)?;
    )*) => {
        /// One request to a checkpoint system.
        ///
        /// `dir` and `file` are paths as typed: absolute, relative to the working directory, or
        /// beginning with a tilde. A `Target` names a checkpoint: the bytes that a user types, or
        /// in a history its position among the checkpoints.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[schemars(rename = "Request")]
        pub enum Request<Target = ByteString> {
            $(
                $(#[$doc])*
                #[serde(rename = $name)]
                $variant $({ $($(#[$field_doc])* $field: $type,)* })?,
            )*
        }

        /// Every kind of request.
        pub static REQUESTS: &[RequestKind] = &[$(RequestKind {
            name: $name,
            rule: &rules::$rule,
            about: About::$about,
            effect: Effect::$effect,
            answered: Answered::$answered,
            capability: capability!($($capability: $meaning)?),
        }),*];

        impl<Target> Request<Target> {
            /// Its name in the protocol and in histories.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Request::$variant { .. } => $name,)*
                }
            }

            /// The same request with its target converted.
            pub fn with_target<New>(self, convert: impl FnOnce(Target) -> New) -> Request<New> {
                match self {
                    $(Request::$variant $({ $($field,)* })? => {
                        Request::$variant $({ $($field: converted!($field, $field, convert),)* })?
                    })*
                }
            }
        }
    };
}

// Each request with its name, its main rule, what it is about, what it may do, its answer, and the
// capability it needs.
requests! {
    /// A conversation turn begins.
    NewTurn = "new_turn", TURN_RESET, Neither, Tells, Done,
        needs "ensure_checkpoint": TURNS;

    /// The process ends, and another process opens the same store.
    Reopen = "reopen", TURN_RESET, Neither, Tells, Done;

    /// The clock is set.
    SetClock {
        /// Seconds since the epoch.
        seconds: i64,
    } = "test.clock", LIST_TIME, Neither, Tells, Done,
        needs "test.clock": "The suite sets the clock.";

    /// Which project does this file belong to?
    ProjectOf {
        /// The file; it need not exist.
        file: ByteString,
    } = "project_of", SCOPE_ROOT_OF_FILE, Neither, Looks, Project,
        needs "project_of": "A request returns the project that a file belongs to.";

    /// Does this terminal command change files?
    Classify {
        /// The command, a line of shell.
        command: String,
    } = "classify", TURN_SHELL_WORDS, Neither, Looks, Classified,
        needs "classify": "A request returns whether a terminal command changes files, without \
            running the command.";

    /// A tool of an agent is about to run.
    BeforeTool {
        /// The directory where it runs.
        dir: ByteString,
        /// The tool.
        tool: Tool,
    } = "before_tool", TURN_TRIGGERS, Neither, Stores, Protected,
        needs "before_tool": "Each tool call of an agent is reported before the tool runs, and the \
            checkpoints that are due are taken.";

    /// An automatic checkpoint, once per turn.
    EnsureCheckpoint {
        /// The project.
        dir: ByteString,
        /// Why.
        reason: String,
    } = "ensure_checkpoint", CAPTURE_CREATED, Project, Stores, Taken,
        needs "ensure_checkpoint": TURNS;

    /// An automatic checkpoint while the program that the store depends on cannot be used.
    WithoutBackend {
        /// The project.
        dir: ByteString,
        /// Why.
        reason: String,
    } = "test.without_backend", TURN_NO_BACKEND, Project, Looks, Taken,
        needs "test.without_backend": "The suite requests an automatic checkpoint while the \
            program that the store depends on, such as git, cannot be used.";

    /// A checkpoint that a user requests.
    Checkpoint {
        /// The project.
        dir: ByteString,
        /// Why.
        reason: String,
    } = "checkpoint", CAPTURE_CREATED, Project, Stores, Taken;

    /// The checkpoints of a project.
    List {
        /// The project.
        dir: ByteString,
    } = "list", LIST_COMPLETE, Project, Looks, Listed;

    /// The checkpoints of a project as they are printed for a user.
    PrintList {
        /// The project.
        dir: ByteString,
    } = "print_list", LIST_LAYOUT, Project, Looks, Printed,
        needs "list.printed": "The list is printed for users, and the answer contains the printed \
            text.";

    /// What changed since a checkpoint.
    Diff {
        /// The project.
        dir: ByteString,
        /// The checkpoint: a number or an id, as typed.
        target: Target,
    } = "diff", DIFF_PREVIEW, Project, Looks, Diffed,
        needs "diff": "A diff shows what changed between a checkpoint and the working tree.";

    /// Restore a checkpoint.
    Restore {
        /// The project.
        dir: ByteString,
        /// The checkpoint: a number or an id, as typed.
        target: Target,
        /// Also remove files created since.
        #[serde(default)]
        exact: bool,
        /// Continue if no pre-restore checkpoint can be taken.
        #[serde(default)]
        force: bool,
    } = "restore", RESTORE_BYTES, Project, Writes, Restored;

    /// Restore one file of a checkpoint.
    RestoreFile {
        /// The project.
        dir: ByteString,
        /// The checkpoint: a number or an id, as typed.
        target: Target,
        /// The file, relative to the project, as typed.
        path: ByteString,
    } = "restore_file", RESTORE_FILE_LITERAL, Project, Writes, Restored,
        needs "restore.file": "A single file can be restored.";

    /// Restore the most recent checkpoint.
    RestoreLatest {
        /// The project.
        dir: ByteString,
        /// Also remove files created since.
        #[serde(default)]
        exact: bool,
    } = "restore_latest", AGENT_ALL_OR_NONE, Project, Writes, Restored,
        needs "restore.latest": "A restore that names no checkpoint restores the most recent \
            checkpoint.";

    /// Undo the newest restore: the files are as before it.
    Undo {
        /// The project.
        dir: ByteString,
    } = "undo", RESTORE_UNDO_REDO, Project, Writes, Restored,
        needs "restore.undo": UNDO;

    /// Redo the restore that was undone last.
    Redo {
        /// The project.
        dir: ByteString,
    } = "redo", RESTORE_UNDO_REDO, Project, Writes, Restored,
        needs "restore.undo": UNDO;

    /// A tool of the agent is about to write a file: the changes until `tool_wrote` are the agent's,
    /// and all other changes are external edits.
    ToolWrites {
        /// The project.
        dir: ByteString,
        /// The file, relative to the project.
        path: ByteString,
    } = "tool_writes", RESTORE_OTHER_HANDS, Project, Stores, Done,
        needs "restore.others": ATTRIBUTION;

    /// The tool has written the file.
    ToolWrote {
        /// The project.
        dir: ByteString,
        /// The file, relative to the project.
        path: ByteString,
    } = "tool_wrote", RESTORE_OTHER_HANDS, Project, Stores, Done,
        needs "restore.others": ATTRIBUTION;

    /// The agent's own work changes a part of its state.
    SetState {
        /// The part.
        part: Part,
        /// Its new value.
        value: Value,
    } = "set_state", AGENT_PARTS, Neither, Stores, Done,
        needs "state": STATE;

    /// What is the value of a part of the agent's state?
    GetState {
        /// The part.
        part: Part,
    } = "get_state", AGENT_PARTS, Neither, Looks, State,
        needs "state": STATE;

    /// A checkpoint that a user requests with a label, which names and pins it. If nothing changed,
    /// the label may name the newest checkpoint.
    Label {
        /// The project.
        dir: ByteString,
        /// The label: one line, not of digits alone.
        label: String,
    } = "label", AGENT_PINNED, Project, Stores, Taken,
        needs "label": "A checkpoint can have a label, which names it in requests and pins it.";

    /// From now on no limit evicts a checkpoint.
    Pin {
        /// The project.
        dir: ByteString,
        /// The checkpoint: a number, an id or a label, as typed.
        target: Target,
    } = "pin", AGENT_PINNED, Project, Stores, Done,
        needs "pin": PIN;

    /// From now on limits may evict it again.
    Unpin {
        /// The project.
        dir: ByteString,
        /// The checkpoint: a number, an id or a label, as typed.
        target: Target,
    } = "unpin", AGENT_PINNED, Project, Stores, Done,
        needs "pin": PIN;

    /// The agent did something that no restore undoes.
    External {
        /// The action.
        action: Action,
        /// The compensation that is registered for it, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compensation: Option<Compensation>,
    } = "external", AGENT_EXTERNAL_LISTED, Neither, Stores, Done,
        needs "external": "The agent's external actions are reported, and a restore lists those \
            that happened since the checkpoint.";

    /// Run the registered compensations of the actions that restores left behind.
    Compensate = "compensate", AGENT_COMPENSATION, Neither, Writes, Compensated,
        needs "external.compensate": "The compensations of external actions are run on request.";

    /// Accept the actions that restores left behind: nothing compensates them any more.
    Accept = "accept", AGENT_COMPENSATION, Neither, Stores, Done,
        needs "external.accept": "External actions can be accepted, so that nothing compensates them \
            any more.";

    /// An event of the agent happens, at which a checkpoint may be expected.
    Event {
        /// The project.
        dir: ByteString,
        /// The event.
        event: AgentEvent,
    } = "event", AGENT_TRIGGERS, Project, Stores, Taken,
        needs "event": "Checkpoints are taken at events of the agent, with a capability for each \
            kind of event.";

    /// From now on a sub-agent makes the requests.
    Spawn = "spawn", AGENT_COMPOSES, Neither, Tells, Done, needs "subagent": SUBAGENT;

    /// From now on the parent agent makes the requests again.
    Join = "join", AGENT_COMPOSES, Neither, Tells, Done, needs "subagent": SUBAGENT;

    /// The maintenance at startup, as configured, if the last sweep was long enough ago.
    Sweep = "sweep", MAINTENANCE_NEVER_RAISES, Store, Stores, Swept,
        needs "sweep": "The store is swept at startup.";

    /// The same maintenance on request, however long ago the last sweep was.
    Prune {
        /// Projects, archives and v1 repositories that were not used for longer are removed; 0 is no
        /// bound.
        retention_days: u64,
        /// The oldest checkpoints are evicted while the others take more; 0 is no bound.
        max_total_bytes: u64,
        /// Whether projects are removed whose directory is gone.
        delete_orphans: bool,
    } = "prune", MAINTENANCE_COMMANDS, Store, Stores, Swept,
        needs "prune": "On request, unused projects, archives and v1 repositories are removed, and \
            projects whose directory is gone.";

    /// A prune with the values of the configuration file, and the defaults for all other values.
    PruneAsConfigured = "prune_as_configured", MAINTENANCE_DEFAULTS, Store, Stores, Swept,
        needs "prune.as_configured": "A prune without options does what the configuration file \
            says, and histories write this file.";

    /// What does the configuration file contain now?
    Configured = "configured", CONFIG_KEYS, Neither, Looks, Configured,
        needs "config": "The implementation is configured by a `config.yaml`, which histories \
            write, and reports the values that it read.";

    /// What the store holds.
    Status = "status", MAINTENANCE_COMMANDS, Store, Looks, Status,
        needs "status": "The status shows the projects in the store, and how many checkpoints each \
            has.";

    /// Remove the v1 archives.
    ClearLegacy = "clear_legacy", MAINTENANCE_COMMANDS, Store, Stores, Done, needs "clear": CLEAR;

    /// Remove everything.
    Clear = "clear", MAINTENANCE_COMMANDS, Store, Stores, Done, needs "clear": CLEAR;
}

/// Accessors of a field that several requests have: shared and mutable.
macro_rules! shared_field {
    ($(#[$doc:meta])* $field:ident, $field_mut:ident: $type:ty, of $($variant:ident)*) => {
        $(#[$doc])*
        pub fn $field(&self) -> Option<&$type> {
            match self {
                $(Request::$variant { $field, .. })|* => Some($field),
                _ => None,
            }
        }

        /// The same field, mutable.
        pub fn $field_mut(&mut self) -> Option<&mut $type> {
            match self {
                $(Request::$variant { $field, .. })|* => Some($field),
                _ => None,
            }
        }
    };
}

impl<Target> Request<Target> {
    /// The properties of this kind of request.
    pub fn kind(&self) -> &'static RequestKind {
        let kind = REQUESTS.iter().find(|kind| kind.name == self.name());
        kind.expect("the table that defines the request has a row for it")
    }

    shared_field! {
        /// The project that the request is about, as typed.
        dir, dir_mut: ByteString, of EnsureCheckpoint WithoutBackend Checkpoint List PrintList
            Diff Restore RestoreFile RestoreLatest Undo Redo ToolWrites ToolWrote Label Pin Unpin Event
    }
    shared_field! {
        /// The checkpoint that the request is about.
        target, target_mut: Target, of Diff Restore RestoreFile Pin Unpin
    }

    /// The main rule about the request.
    pub fn main_rule(&self) -> RuleRef {
        self.kind().rule
    }

    /// The capability that it needs in addition to that of its kind, if any.
    pub fn also_needs(&self) -> Option<&'static str> {
        match self {
            Request::SetState { part, .. } | Request::GetState { part } => Some(part.capability()),
            Request::Event { event, .. } => Some(event.capability()),
            _ => None,
        }
    }

    /// Whether the request restores a checkpoint or a part of it.
    pub fn restores(&self) -> bool {
        self.kind().answered == Answered::Restored
    }

    /// Whether the request only reads: it may change no file and nothing in the store.
    pub fn only_looks(&self) -> bool {
        self.kind().effect == Effect::Looks
    }
}

#[cfg(test)]
mod tests;
