//! What a subject can be asked: concrete paths and texts, as a user or an agent would give them.

use crate::bytes::ByteString;
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

    /// Whether the request only looks: it may change no file and nothing in the store.
    pub fn only_looks(&self) -> bool {
        matches!(
            self,
            Request::ProjectOf { .. }
                | Request::List { .. }
                | Request::Diff { .. }
                | Request::Status
        )
    }

    /// Whether the request is about the store as a whole, not about one project.
    pub fn is_maintenance(&self) -> bool {
        matches!(
            self,
            Request::Sweep
                | Request::Prune { .. }
                | Request::Status
                | Request::ClearLegacy
                | Request::Clear
        )
    }
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
