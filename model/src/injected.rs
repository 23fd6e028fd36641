//! What a history makes happen during a request, and what is known of it afterwards: data of the model,
//! judged by [`crate::operations::injected`].

use crate::answer::Listed;
use crate::bytes::ByteString;
use crate::request::Request;
use crate::rules::{self, RuleRef};
use crate::verdict::{Kind, Mismatch};
use std::collections::BTreeMap;

/// What was made to happen during a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// Its process was killed, and nothing was answered.
    Killed,
    /// The power went; whoever was answered before it was told the truth.
    PowerLost,
    /// A call to the disk failed.
    CallFailed,
    /// Somebody saved a file of the project that was read.
    Saved,
    /// Somebody put something else in the place of a folder, or a folder in another place.
    Moved,
    /// Somebody edited the project that was restored.
    EditedRestore,
    /// Another process was asked something.
    Overlapped,
}

impl Injected {
    /// Whether the process ended before it answered, or right after it.
    pub fn ends_process(self) -> bool {
        matches!(self, Injected::Killed | Injected::PowerLost)
    }

    /// Whether files were edited by somebody else.
    pub fn is_edited(self) -> bool {
        matches!(self, Injected::Saved | Injected::Moved | Injected::EditedRestore)
    }

    /// The rule that says what it may cost.
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

    /// The rule that is broken where this one is and is not without it. A lock of which nobody knows that
    /// its process is dead has one of its own; of two processes, what is listed and comes back is what
    /// both stored.
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

/// The checkpoints of each project that was asked for them, newest first.
pub type Lists = BTreeMap<ByteString, Vec<Listed>>;

/// What there is to learn of a request during which something was made to happen.
#[derive(Clone, Debug, Default)]
pub struct Aftermath {
    /// What is listed after it.
    pub lists: Lists,
    /// Paths that could not be read, and that are said to be left out.
    pub unread: Vec<ByteString>,
    /// Projects that it may have removed, or of which it may have dropped any checkpoint.
    pub may_be_gone: Vec<ByteString>,
}

impl<Target> Request<Target> {
    /// Whether an injection waits for such a request: one that takes, restores, previews or lists
    /// checkpoints, or looks after the store.
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
