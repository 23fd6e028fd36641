//! What a history injects into a request, and what is known afterwards. These are data types only;
//! [`crate::operations::injected`] judges the request.

use crate::answer::Listed;
use crate::bytes::ByteString;
use crate::request::Request;
use crate::rules::{self, RuleRef};
use crate::verdict::{Kind, Mismatch};
use std::collections::BTreeMap;

/// What was injected into a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// Its process was killed before it answered.
    Killed,
    /// The power failed; answers given before must be true.
    PowerLost,
    /// A system call failed.
    CallFailed,
    /// A user saved a file of the project while it was read.
    Saved,
    /// A user replaced or moved a folder while the project was read.
    Moved,
    /// A user edited the project while it was restored.
    EditedRestore,
    /// Another process made a request.
    Overlapped,
}

impl Injected {
    /// Whether the process ended before it answered, or right after.
    pub fn ends_process(self) -> bool {
        matches!(self, Injected::Killed | Injected::PowerLost)
    }

    /// Whether a user edited files meanwhile.
    pub fn is_edited(self) -> bool {
        matches!(self, Injected::Saved | Injected::Moved | Injected::EditedRestore)
    }

    /// The rule that limits the effect of the injection.
    ///
    /// Implements [`rules::CRASH_KILL`], [`rules::CRASH_POWER_LOSS`],
    /// [`rules::FAULT_CLEAR_REFUSAL`], [`rules::CAPTURE_STEADY`], [`rules::CAPTURE_CONTAINED`],
    /// [`rules::RESTORE_KEEPS_SAVES`] and [`rules::CONCURRENT_KEEPS`].
    pub fn rule(self) -> RuleRef {
        match self {
            Injected::Killed => &rules::CRASH_KILL,
            Injected::PowerLost => &rules::CRASH_POWER_LOSS,
            Injected::CallFailed => &rules::FAULT_CLEAR_REFUSAL,
            Injected::Saved => &rules::CAPTURE_STEADY,
            Injected::Moved => &rules::CAPTURE_CONTAINED,
            Injected::EditedRestore => &rules::RESTORE_KEEPS_SAVES,
            Injected::Overlapped => &rules::CONCURRENT_KEEPS,
        }
    }

    /// The rule to blame for a violation of `broken` that occurs with the injection and not without it.
    /// A lock that is not recognized as that of a dead process has its own rule; with two processes, lists
    /// and restores show what both stored.
    ///
    /// Implements [`rules::LOCK_STALE`], [`rules::CONCURRENT_SERIAL`] and [`rules::CONCURRENT_KEEPS`].
    pub fn rule_of(self, broken: RuleRef, mismatch: &Mismatch) -> RuleRef {
        let is_busy = mismatch.symptom.contains("refused busy");
        let area = broken.id.split('/').next().unwrap_or_default();
        let is_stored = ["list", "diff", "restore", "layout"].contains(&area);
        match self {
            _ if is_busy || mismatch.kind == Kind::Timeout => &rules::LOCK_STALE,
            Injected::Overlapped if !is_stored => &rules::CONCURRENT_SERIAL,
            _ => self.rule(),
        }
    }
}

/// The listed checkpoints of each project that was listed, newest first.
pub type Lists = BTreeMap<ByteString, Vec<Listed>>;

/// What the world learns from a request with an injection, in addition to the observation.
#[derive(Clone, Debug, Default)]
pub struct Aftermath {
    /// The lists after the request.
    pub lists: Lists,
    /// Paths that could not be read and are reported as left out.
    pub unread: Vec<ByteString>,
    /// Projects that may have been removed, or of which any checkpoint may have been evicted.
    pub may_be_gone: Vec<ByteString>,
}

impl<Target> Request<Target> {
    /// Whether an injection applies to such a request: one that takes, restores, previews or lists
    /// checkpoints, or maintains the store.
    pub fn takes_injection(&self) -> bool {
        use Request::{
            Checkpoint, Diff, EnsureCheckpoint, List, Prune, Restore, RestoreFile, RestoreLatest,
            Status, Sweep,
        };
        matches!(
            self,
            Checkpoint { .. }
                | EnsureCheckpoint { .. }
                | Restore { .. }
                | RestoreLatest { .. }
                | RestoreFile { .. }
                | Diff { .. }
                | List { .. }
                | Prune { .. }
                | Sweep
                | Status
        )
    }
}
