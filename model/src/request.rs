//! What a subject can be asked: concrete paths and texts, as a user or an agent would give them.

use crate::bytes::ByteString;
use crate::rules::{self, RuleRef};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One request to a checkpoint system.
///
/// `dir` and `file` are paths as typed: absolute, relative to the working directory, or opening
/// with a tilde.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Request {
    /// A conversation turn begins.
    NewTurn,
    /// The process ends and another one opens the same store.
    Reopen,
    /// From now on the clock says this.
    #[serde(rename = "test.clock")]
    SetClock {
        /// Seconds since the epoch.
        seconds: i64,
    },
    /// Which project does this file belong to?
    ProjectOf {
        /// The file; it need not exist.
        file: ByteString,
    },
    /// An automatic checkpoint, once per turn.
    EnsureCheckpoint {
        /// The project.
        dir: ByteString,
        /// Why.
        reason: String,
    },
    /// A checkpoint that a person asks for.
    Checkpoint {
        /// The project.
        dir: ByteString,
        /// Why.
        reason: String,
    },
    /// The checkpoints of a project.
    List {
        /// The project.
        dir: ByteString,
    },
    /// What changed since a checkpoint.
    Diff {
        /// The project.
        dir: ByteString,
        /// The checkpoint: a number or an id, as typed.
        target: ByteString,
    },
    /// Bring a checkpoint back.
    Restore {
        /// The project.
        dir: ByteString,
        /// The checkpoint: a number or an id, as typed.
        target: ByteString,
        /// Also remove files created since.
        exact: bool,
        /// Go on when no pre-rollback checkpoint can be taken.
        force: bool,
    },
    /// Bring one file of a checkpoint back.
    RestoreFile {
        /// The project.
        dir: ByteString,
        /// The checkpoint: a number or an id, as typed.
        target: ByteString,
        /// The file, relative to the project, as typed.
        path: ByteString,
    },
    /// What a process does for the store when it starts, as it is configured and if that is due.
    Sweep,
    /// The same by hand, whenever it was done last.
    Prune {
        /// Projects, archives and v1 repositories not used for longer go; 0 is no bound.
        retention_days: u64,
        /// The oldest checkpoints go while those that are left take more; 0 is no bound.
        max_total_bytes: u64,
        /// Whether projects go whose directory is gone.
        delete_orphans: bool,
    },
    /// What the store holds.
    Status,
    /// Remove the v1 archives.
    ClearLegacy,
    /// Remove everything.
    Clear,
}

impl Request {
    /// The project that is asked about, as typed.
    pub fn dir(&self) -> Option<&ByteString> {
        match self {
            Request::EnsureCheckpoint { dir, .. }
            | Request::Checkpoint { dir, .. }
            | Request::List { dir }
            | Request::Diff { dir, .. }
            | Request::Restore { dir, .. }
            | Request::RestoreFile { dir, .. } => Some(dir),
            Request::NewTurn
            | Request::Reopen
            | Request::SetClock { .. }
            | Request::ProjectOf { .. }
            | Request::Sweep
            | Request::Prune { .. }
            | Request::Status
            | Request::ClearLegacy
            | Request::Clear => None,
        }
    }

    /// What holds of this kind of request.
    pub fn operation(&self) -> &'static Operation {
        let at = match self {
            Request::NewTurn => 0,
            Request::Reopen => 1,
            Request::SetClock { .. } => 2,
            Request::ProjectOf { .. } => 3,
            Request::EnsureCheckpoint { .. } => 4,
            Request::Checkpoint { .. } => 5,
            Request::List { .. } => 6,
            Request::Diff { .. } => 7,
            Request::Restore { .. } => 8,
            Request::RestoreFile { .. } => 9,
            Request::Sweep => 10,
            Request::Prune { .. } => 11,
            Request::Status => 12,
            Request::ClearLegacy => 13,
            Request::Clear => 14,
        };
        &OPERATIONS[at]
    }

    /// The rule that a request is mostly about.
    pub fn main_rule(&self) -> RuleRef {
        self.operation().rule
    }

    /// Whether the request only looks: it may change no file and nothing in the store.
    pub fn only_looks(&self) -> bool {
        self.operation().effect == Effect::Looks
    }

    /// Whether the request is about the store as a whole, not about one project.
    pub fn is_maintenance(&self) -> bool {
        self.operation().about == About::Store
    }
}

/// What an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Neither a project nor the store.
    Neither,
    /// One project.
    Project,
    /// The store as a whole.
    Store,
}

/// What an operation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing is asked for: something is told.
    Tells,
    /// It only looks.
    Looks,
    /// It may change the store, and no file.
    Stores,
    /// It may change files.
    Writes,
}

/// What holds of one kind of request.
#[derive(Debug)]
pub struct Operation {
    /// Its name in the protocol.
    pub name: &'static str,
    /// The capability without which it is not asked, if any.
    pub capability: Option<&'static str>,
    /// The rule that it is mostly about.
    pub rule: RuleRef,
    /// What it is about.
    pub about: About,
    /// What it may do.
    pub effect: Effect,
}

macro_rules! operations {
    ($($name:literal $capability:expr, $rule:ident, $about:ident, $effect:ident;)*) => {
        /// Every operation, in the order of [`Request`].
        pub static OPERATIONS: &[Operation] = &[$(Operation {
            name: $name,
            capability: $capability,
            rule: &rules::$rule,
            about: About::$about,
            effect: Effect::$effect,
        }),*];
    };
}

operations! {
    "new_turn" None, TURN_RESET, Neither, Tells;
    "reopen" None, TURN_RESET, Neither, Tells;
    "test.clock" Some("test.clock"), LIST_TIME, Neither, Tells;
    "project_of" Some("project_of"), SCOPE_ROOT_OF_FILE, Neither, Looks;
    "ensure_checkpoint" Some("ensure_checkpoint"), CAPTURE_CREATED, Project, Stores;
    "checkpoint" None, CAPTURE_CREATED, Project, Stores;
    "list" None, LIST_COMPLETE, Project, Looks;
    "diff" Some("diff"), DIFF_PREVIEW, Project, Looks;
    "restore" None, RESTORE_BYTES, Project, Writes;
    "restore_file" Some("restore.file"), RESTORE_FILE_LITERAL, Project, Writes;
    "sweep" Some("sweep"), MAINTENANCE_NEVER_RAISES, Store, Stores;
    "prune" Some("prune"), MAINTENANCE_COMMANDS, Store, Stores;
    "status" Some("status"), MAINTENANCE_COMMANDS, Store, Looks;
    "clear_legacy" Some("clear"), MAINTENANCE_COMMANDS, Store, Stores;
    "clear" Some("clear"), MAINTENANCE_COMMANDS, Store, Stores;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(written: &str) -> Request {
        serde_json::from_str(written).unwrap()
    }

    #[test]
    fn a_request_is_about_a_project_or_about_the_store_or_about_neither() {
        for (written, dir, is_maintenance, only_looks) in [
            (r#"{"op": "new_turn"}"#, None, false, false),
            (r#"{"op": "reopen"}"#, None, false, false),
            (r#"{"op": "test.clock", "seconds": 1}"#, None, false, false),
            (r#"{"op": "project_of", "file": "f"}"#, None, false, true),
            (r#"{"op": "ensure_checkpoint", "dir": "d", "reason": ""}"#, Some("d"), false, false),
            (r#"{"op": "checkpoint", "dir": "d", "reason": ""}"#, Some("d"), false, false),
            (r#"{"op": "list", "dir": "d"}"#, Some("d"), false, true),
            (r#"{"op": "diff", "dir": "d", "target": "1"}"#, Some("d"), false, true),
            (
                r#"{"op": "restore", "dir": "d", "target": "1", "exact": false, "force": false}"#,
                Some("d"),
                false,
                false,
            ),
            (
                r#"{"op": "restore_file", "dir": "d", "target": "1", "path": "p"}"#,
                Some("d"),
                false,
                false,
            ),
            (r#"{"op": "sweep"}"#, None, true, false),
            (
                r#"{"op": "prune", "retention_days": 1, "max_total_bytes": 0,
                    "delete_orphans": true}"#,
                None,
                true,
                false,
            ),
            (r#"{"op": "status"}"#, None, true, true),
            (r#"{"op": "clear_legacy"}"#, None, true, false),
            (r#"{"op": "clear"}"#, None, true, false),
        ] {
            let request = of(written);
            assert_eq!(request.dir(), dir.map(ByteString::from).as_ref(), "{written}");
            assert_eq!(request.is_maintenance(), is_maintenance, "{written}");
            assert_eq!(request.only_looks(), only_looks, "{written}");
        }
    }
}
