//! The reports of restores.

use super::{Evicted, is_default};
use crate::agent_state::AgentRestored;
use crate::remark::{Remark, all_escaped};
use crate::token::Token;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;

/// What a restore did: exactly this, and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The full id of the checkpoint that was restored.
    pub id: String,
    /// Paths that are now as recorded and were not before.
    #[serde(serialize_with = "all_escaped")]
    pub restored: Vec<Vec<u8>>,
    /// Paths that were removed; the pre-restore checkpoint holds them.
    #[serde(serialize_with = "all_escaped")]
    pub removed: Vec<Vec<u8>>,
    /// Paths created since that were left.
    #[serde(serialize_with = "all_escaped")]
    pub left: Vec<Vec<u8>>,
    /// Paths left as they are because content that no checkpoint holds would have been lost, or
    /// because the checkpoint left them out.
    pub kept: Vec<Remark>,
    /// Paths that the checkpoint left out and that are gone now, so that nothing restores them.
    pub missing: Vec<Remark>,
    /// Paths that could not be restored.
    pub failed: Vec<Remark>,
    /// Paths that no checkpoint holds, since they could not be captured; they were not touched.
    pub left_out: Vec<Remark>,
    /// The full id of the pre-restore checkpoint, if one was taken.
    pub safety: Option<String>,
    /// Why no pre-restore checkpoint could be taken, where the restore was forced past that.
    pub forced_past: Option<String>,
    /// The restore that this one undoes, if it is an undo or a redo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone: Option<Undone>,
    /// Whether the last conversation turn is to be undone along with it.
    pub undoes_turn: bool,
    /// The paths of this report, sorted, that anyone but the agent changed since the checkpoint; `None` if
    /// no agent reports what it writes.
    #[serde(serialize_with = "some_escaped", skip_serializing_if = "Option::is_none")]
    pub others: Option<Vec<Vec<u8>>>,
    /// What was done to the agent state; `None` if the agent has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRestored>,
    /// Whether it was interrupted: the paths that it did not reach are among the failed ones.
    #[serde(skip_serializing_if = "is_default")]
    pub interrupted: bool,
    /// The checkpoints that were evicted for the pre-restore checkpoint.
    #[serde(flatten)]
    pub evicted: Evicted,
}

impl Restored {
    /// Sorts the paths of each list.
    pub(crate) fn sort(&mut self) {
        for list in [&mut self.restored, &mut self.removed, &mut self.left] {
            list.sort_unstable();
        }
    }

    /// Adds the report of another restore, of other paths.
    pub(crate) fn add(&mut self, report: Restored) {
        self.restored.extend(report.restored);
        self.removed.extend(report.removed);
        self.left.extend(report.left);
        self.kept.extend(report.kept);
        self.missing.extend(report.missing);
        self.failed.extend(report.failed);
    }

    /// Every path of the report, sorted.
    pub fn paths(&self) -> BTreeSet<&[u8]> {
        let named = [&self.restored, &self.removed, &self.left].into_iter().flatten();
        let remarks = self.kept.iter().chain(&self.missing).chain(&self.failed);
        let remarked = remarks.map(|remark| &remark.path);
        named.chain(remarked).map(Vec::as_slice).collect()
    }
}

/// A restore that is undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// The full id of the checkpoint that it restored.
    pub target: String,
    /// When it began, in seconds since the epoch; `None` if that is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<i64>,
}

/// What a restore would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// The report of the restore, without the pre-restore checkpoint.
    #[serde(flatten)]
    pub would: Restored,
    /// Given to [`crate::Manager::restore_scope`], it allows only what this preview shows.
    #[serde(serialize_with = "displayed")]
    pub token: Token,
}

fn displayed<S: Serializer>(token: &Token, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(token)
}

fn some_escaped<S: Serializer>(
    paths: &Option<Vec<Vec<u8>>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    all_escaped(paths.as_deref().unwrap_or_default(), serializer)
}
