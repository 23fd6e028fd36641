//! What a new checkpoint carries besides its files, and pinning checkpoints.

use super::{Manager, OpenProject};
use crate::agent_state::envelope::{ActionNote, Envelope, PartNote, VERSION};
use crate::agent_state::envelopes::{Envelopes, Kept};
use crate::agent_state::pins;
use crate::agent_state::{Captured, Owner, State};
use crate::error::{Error, Result};
use crate::policy::Trigger;
use crate::store::Store;
use crate::store::commit::{self, Checkpoint};
use crate::store::left_out::LeftOut;
use crate::store::object::Kind;
use crate::text::count;
use git2::Oid;
use std::collections::BTreeMap;
use std::path::Path;

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
}

/// A checkpoint that is about to be taken.
pub(super) struct Taking<'a> {
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
pub(super) struct Carried {
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

impl Manager {
    /// Stores the captured parts of the agent state, for the checkpoint after `newest`.
    // rule: agent/parts: decides
    pub(super) fn carry(
        &self,
        open: &mut OpenProject<'_>,
        newest: Option<&Checkpoint>,
        taking: &Taking<'_>,
    ) -> Result<Carried> {
        let mut notices = taking.missing.clone();
        let parts: Vec<PartNote> = taking
            .parts
            .iter()
            .map(|captured: &Captured| {
                let blob = open.objects.add(Kind::Blob, captured.text.as_bytes())?;
                Ok(captured.part_note(blob.to_string()))
            })
            .collect::<Result<_>>()?;
        let is_agent = !self.state.is_empty();
        let before = match newest.filter(|_| is_agent) {
            Some(newest) => Envelopes::of(open.store, &open.objects, open.hash())?.get(newest)?,
            None => Kept::None,
        };
        let before = before.intact();
        let carries = |envelope: &Envelope| {
            let blobs: BTreeMap<&str, &str> = envelope.blobs().collect();
            blobs == parts.iter().map(|part| (&part.name[..], &part.hash[..])).collect()
        };
        let is_same = before.as_ref().map_or(parts.is_empty(), carries);
        let through = before.map_or(0, |before| before.external_through);
        let actions = self.state.actions_after(through).unwrap_or_else(|error| {
            let why = error.cause();
            notices.push(format!(
                "the external actions since the last checkpoint are not in this one: {why}"
            ));
            // A restore lists these actions once the log can be read again.
            (Vec::new(), through)
        });
        notices.extend(self.too_many_pins(open, taking.occasion.label.is_some())?);
        let turn = self.state.turn().map(str::to_owned);
        Ok(Carried { parts, actions, turn, is_agent, is_same, notices })
    }

    /// A notice, if the pinned checkpoints alone are as many as the limit allows.
    // rule: agent/pinned
    fn too_many_pins(&self, open: &OpenProject<'_>, is_labelled: bool) -> Result<Option<String>> {
        let existing = pins::all(open.store.disk, &open.store.path, open.hash())?;
        let pinned = existing.len() + usize::from(is_labelled);
        let most = self.most();
        let pinned_text = count(pinned, "checkpoint is", "checkpoints are");
        Ok((pinned >= most).then(|| {
            format!(
                "{pinned_text} pinned and never evicted, as many as max_snapshots ({most}) or more: \
                 unpin those that you no longer need"
            )
        }))
    }

    /// Pins a checkpoint: no limit evicts it until it is unpinned. Returns its full id.
    ///
    /// # Errors
    /// A target that names no checkpoint; a damaged or busy store.
    // rule: agent/pinned
    pub fn pin(&self, dir: &Path, target: &[u8]) -> Result<String> {
        self.change_target(dir, target, |open, id| {
            pins::add(open.store.disk, &open.store.path, open.hash(), id)
        })
    }

    /// Unpins a checkpoint: limits evict it with the others of its age. Returns its full id.
    ///
    /// # Errors
    /// As [`Manager::pin`].
    // rule: agent/pinned
    pub fn unpin(&self, dir: &Path, target: &[u8]) -> Result<String> {
        self.change_target(dir, target, |open, id| {
            pins::remove(open.store.disk, &open.store.path, open.hash(), id).map(drop)
        })
    }

    /// The envelope of a checkpoint, with the full id of the checkpoint; `None` if it carries nothing.
    ///
    /// # Errors
    /// As [`Manager::pin`], and an envelope that cannot be read.
    // rule: agent/parts
    pub fn envelope(&self, dir: &Path, target: &[u8]) -> Result<(String, Option<Envelope>)> {
        self.read_target(dir, target, |open, checkpoint| {
            let id = checkpoint.id.to_string();
            match Envelopes::of(open.store, &open.objects, open.hash())?.get(checkpoint)? {
                Kept::None => Ok((id, None)),
                Kept::Intact(envelope) => Ok((id, Some(*envelope))),
                Kept::Unreadable(why) => Err(Error::CorruptCheckpoint { id, why }),
            }
        })
    }

    /// What a checkpoint left out of its project though no ignore rule names it, and why; sorted by
    /// path. Empty for a checkpoint of another tool, or if its commit is damaged.
    ///
    /// # Errors
    /// As [`Manager::pin`].
    pub fn left_out(&self, dir: &Path, target: &[u8]) -> Result<Vec<LeftOut>> {
        self.read_target(dir, target, |open, checkpoint| {
            match commit::left_out(&open.objects, checkpoint.id) {
                Err(error) if error.is_damage() => Ok(Vec::new()),
                left_out => left_out,
            }
        })
    }

    fn read_target<T>(
        &self,
        dir: &Path,
        target: &[u8],
        read: impl FnOnce(&OpenProject<'_>, &Checkpoint) -> Result<T>,
    ) -> Result<T> {
        let project = self.project(dir);
        let missing = || super::no_checkpoint(target);
        let store = Store::open(self.disk.as_ref(), &self.base())?.ok_or_else(missing)?;
        let open = OpenProject::new(&store, &project);
        let listed = self.history(&open)?;
        read(&open, open.find(&listed, target)?)
    }

    fn change_target(
        &self,
        dir: &Path,
        target: &[u8],
        work: impl FnOnce(&OpenProject<'_>, Oid) -> Result<()>,
    ) -> Result<String> {
        let project = self.project(dir);
        let missing = || super::no_checkpoint(target);
        let store = Store::open(self.disk.as_ref(), &self.base())?.ok_or_else(missing)?;
        let open = OpenProject::new(&store, &project);
        let _lock = store.lock_project(&project.hash)?;
        let mut listed = self.history(&open)?;
        listed.retain(|checkpoint| !checkpoint.is_unlisted());
        let id = open.find(&listed, target)?.id;
        work(&open, id).map(|()| id.to_string())
    }
}
