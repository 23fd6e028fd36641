//! What a new checkpoint carries besides its files.

use super::envelope::{ActionNote, Envelope, PartNote, VERSION};
use super::envelopes::Kept;
use super::parts::{Captured, State};
use super::{Owner, Stored, pins};
use crate::error::{Error, Result};
use crate::policy::Trigger;
use crate::store::commit::Checkpoint;
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use std::collections::BTreeMap;

/// Why a checkpoint is taken.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// In one word.
    pub trigger: Trigger,
    /// In the words of the caller.
    pub reason: &'a str,
    /// The label of the checkpoint, if it has one; a labelled checkpoint is pinned.
    pub label: Option<&'a str>,
}

impl<'a> Occasion<'a> {
    /// An occasion without a label.
    pub fn new(trigger: Trigger, reason: &'a str) -> Self {
        Occasion { trigger, reason, label: None }
    }

    /// A user labels the present state, to be able to restore it.
    pub fn labelled(label: &'a str) -> Self {
        Occasion { trigger: Trigger::Manual, reason: label, label: Some(label) }
    }

    /// Checks that its label is a valid one.
    ///
    /// # Errors
    /// [`Error::BadLabel`].
    pub(crate) fn check(&self) -> Result<()> {
        self.label.map_or(Ok(()), pins::check_label)
    }
}

/// A checkpoint that is about to be taken.
pub struct Taking<'a> {
    /// Why.
    pub occasion: &'a Occasion<'a>,
    /// The parts of the agent's state as of one moment.
    parts: Vec<Captured>,
    /// Why parts are missing.
    missing: Vec<String>,
}

impl<'a> Taking<'a> {
    /// Captures the parts while the process owns the state: without an owner they would not be of one
    /// moment, and are left out.
    // rule: agent/parts
    pub fn new(
        occasion: &'a Occasion<'a>,
        state: &State,
        owner: std::result::Result<&Owner, &Error>,
    ) -> Self {
        let (parts, missing) = match owner {
            Ok(_) => state.capture(),
            Err(error) => {
                let why = error.cause();
                (Vec::new(), vec![format!("the agent's state is not in this checkpoint: {why}")])
            }
        };
        Taking { occasion, parts, missing }
    }
}

/// What a checkpoint is to carry.
pub struct Carried {
    parts: Vec<PartNote>,
    /// The external actions since the previous checkpoint, and the number of the last action.
    actions: (Vec<ActionNote>, u64),
    turn: Option<String>,
    /// Whether there is an agent state to carry.
    is_agent: bool,
    /// Whether the newest checkpoint carries the same parts.
    pub is_same: bool,
    /// Notices for the user.
    pub notices: Vec<String>,
}

impl Carried {
    /// The envelope of a checkpoint with parent `base` and that tree; `None` if there is nothing to
    /// record.
    pub fn envelope(
        &self,
        occasion: &Occasion<'_>,
        base: Option<Oid>,
        tree: Oid,
        taken_at: i64,
    ) -> Option<Envelope> {
        let is_needed = self.is_agent || occasion.label.is_some();
        is_needed.then(|| Envelope {
            version: VERSION,
            taken_at,
            trigger: occasion.trigger,
            reason: occasion.reason.to_owned(),
            label: occasion.label.map(str::to_owned),
            turn: self.turn.clone(),
            base: base.map(|base| base.to_string()),
            tree: tree.to_string(),
            parts: self.parts.clone(),
            external_actions: self.actions.0.clone(),
            external_through: self.actions.1,
        })
    }
}

impl State {
    /// Stores the captured parts of the agent state, for the checkpoint after `newest`.
    // rule: agent/parts: decides
    pub(crate) fn carry(
        &self,
        stored: Stored<'_>,
        objects: &mut Objects<'_>,
        newest: Option<&Checkpoint>,
        taking: &Taking<'_>,
    ) -> Result<Carried> {
        let mut notices = taking.missing.clone();
        let parts: Vec<PartNote> = taking
            .parts
            .iter()
            .map(|captured: &Captured| {
                let blob = objects.add(Kind::Blob, captured.text.as_bytes())?;
                Ok(captured.part_note(blob.to_string()))
            })
            .collect::<Result<_>>()?;
        let is_agent = !self.is_empty();
        let before = match newest.filter(|_| is_agent) {
            Some(newest) => stored.envelopes(objects)?.get(newest)?,
            None => Kept::None,
        };
        let before = before.intact();
        let carries = |envelope: &Envelope| {
            let blobs: BTreeMap<&str, &str> = envelope.blobs().collect();
            blobs == parts.iter().map(|part| (&part.name[..], &part.hash[..])).collect()
        };
        let is_same = before.as_ref().map_or(parts.is_empty(), carries);
        let through = before.map_or(0, |before| before.external_through);
        let actions = self.actions_after(through).unwrap_or_else(|error| {
            let why = error.cause();
            notices.push(format!(
                "the external actions since the last checkpoint are not in this one: {why}"
            ));
            // A restore lists these actions once the log can be read again.
            (Vec::new(), through)
        });
        let turn = self.turn().map(str::to_owned);
        Ok(Carried { parts, actions, turn, is_agent, is_same, notices })
    }
}
