//! What a new checkpoint carries beside its files, and pinning it.

use super::Manager;
use crate::error::{Error, Result};
use crate::policy::Trigger;
use crate::project::Project;
use crate::state::{Captured, Owner, State};
use crate::store::commit::{self, Checkpoint};
use crate::store::envelope::{ActionNote, Envelope, PartNote, VERSION};
use crate::store::envelopes::{Envelopes, Kept};
use crate::store::left_out::LeftOut;
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::{Store, pins};
use crate::text::count;
use git2::Oid;
use std::collections::BTreeMap;
use std::path::Path;

/// Why a checkpoint is taken.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// In one word.
    pub trigger: Trigger,
    /// In the words of whoever asks.
    pub reason: &'a str,
    /// The name that it is to have; one with a label is pinned.
    pub label: Option<&'a str>,
}

impl<'a> Occasion<'a> {
    /// That one, without a label.
    pub fn new(trigger: Trigger, reason: &'a str) -> Self {
        Occasion { trigger, reason, label: None }
    }

    /// A person wants to come back to this.
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
    /// With the parts as they are now, while the process owns the state: without an owner they are of
    /// no moment, and left out.
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
                (Vec::new(), vec![format!("the agent's state is in no checkpoint: {why}")])
            }
        };
        Taking { occasion, parts, missing }
    }
}

/// What a checkpoint is to carry.
pub(super) struct Carried {
    parts: Vec<PartNote>,
    /// What was done outside since the checkpoint before, and the number of the last action.
    actions: (Vec<ActionNote>, u64),
    turn: Option<String>,
    /// Whether an agent has anything to carry.
    is_agent: bool,
    /// Whether the newest checkpoint carries the same parts.
    pub is_same: bool,
    /// What a person should know of it.
    pub notices: Vec<String>,
}

impl Carried {
    /// The envelope of a checkpoint that stands on `base` and holds that tree; none where there is
    /// nothing to say.
    pub fn envelope(
        &self,
        occasion: &Occasion<'_>,
        (base, tree): (Option<Oid>, Oid),
        taken_at: i64,
    ) -> Option<Envelope> {
        let is_due = self.is_agent || occasion.label.is_some();
        is_due.then(|| Envelope {
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
    /// Stores the parts of the agent's state as they are now, for the checkpoint after `newest`.
    // rule: agent/parts
    pub(super) fn carry(
        &self,
        store: &Store<'_>,
        objects: &mut Objects<'_>,
        project: &Project,
        newest: Option<&Checkpoint>,
        taking: &Taking<'_>,
    ) -> Result<Carried> {
        let mut notices = taking.missing.clone();
        let parts: Vec<PartNote> = taking
            .parts
            .iter()
            .map(|one: &Captured| {
                let blob = objects.add(Kind::Blob, one.text.as_bytes())?;
                Ok(one.noted(blob.to_string()))
            })
            .collect::<Result<_>>()?;
        let is_agent = !self.state.is_empty();
        let before = match newest.filter(|_| is_agent) {
            Some(newest) => Envelopes::of(store, objects, &project.hash)?.get(newest)?,
            None => Kept::None,
        };
        let before = before.whole();
        let carries = |envelope: &Envelope| {
            let own: BTreeMap<&str, &str> = envelope.blobs().collect();
            own == parts.iter().map(|part| (&part.name[..], &part.hash[..])).collect()
        };
        let is_same = before.as_ref().map_or(parts.is_empty(), carries);
        let through = before.map_or(0, |before| before.external_through);
        let actions = self.state.actions_after(through).unwrap_or_else(|error| {
            let why = error.cause();
            notices.push(format!("what was done outside since is in no checkpoint: {why}"));
            // Whatever was done is listed by a rollback once it can be read again.
            (Vec::new(), through)
        });
        notices.extend(self.too_many_pins(store, project, taking.occasion.label.is_some())?);
        let turn = self.state.turn().map(str::to_owned);
        Ok(Carried { parts, actions, turn, is_agent, is_same, notices })
    }

    /// What is to be said where pinned checkpoints alone are as many as a limit allows.
    // rule: agent/pinned
    fn too_many_pins(
        &self,
        store: &Store<'_>,
        project: &Project,
        is_labelled: bool,
    ) -> Result<Option<String>> {
        let all = pins::all(store.disk, &store.path, &project.hash)?;
        let (pinned, most) = (all.len() + usize::from(is_labelled), self.most());
        let pinned_text = count(pinned, "checkpoint is", "checkpoints are");
        Ok((pinned >= most).then(|| {
            format!(
                "{pinned_text} pinned, which no limit drops, though at most {most} are to \
                 be kept: unpin those that are not needed any more"
            )
        }))
    }

    /// Pins a checkpoint: no limit drops it until it is unpinned. Returns its full id.
    ///
    /// # Errors
    /// A target that names none; a damaged or busy store.
    // rule: agent/pinned
    pub fn pin(&self, dir: &Path, target: &[u8]) -> Result<String> {
        self.with_target(dir, target, |store, project, id| {
            pins::add(store.disk, &store.path, &project.hash, id)
        })
    }

    /// Unpins a checkpoint: it goes with the others of its age. Returns its full id.
    ///
    /// # Errors
    /// As [`Manager::pin`].
    // rule: agent/pinned
    pub fn unpin(&self, dir: &Path, target: &[u8]) -> Result<String> {
        self.with_target(dir, target, |store, project, id| {
            pins::remove(store.disk, &store.path, &project.hash, id).map(drop)
        })
    }

    /// What a checkpoint carries beside its files, with its full id; none where it carries nothing.
    ///
    /// # Errors
    /// As [`Manager::pin`], and an envelope that cannot be read.
    // rule: agent/parts
    pub fn envelope(&self, dir: &Path, target: &[u8]) -> Result<(String, Option<Envelope>)> {
        self.look_at(dir, target, |store, project, checkpoint| {
            let id = checkpoint.id.to_string();
            match Envelopes::of(store, &store.objects(), &project.hash)?.get(checkpoint)? {
                Kept::None => Ok((id, None)),
                Kept::Whole(envelope) => Ok((id, Some(*envelope))),
                Kept::Unreadable(why) => Err(Error::CorruptCheckpoint { id, why }),
            }
        })
    }

    /// What a checkpoint left out of its project though no ignore rule names it, and why; sorted by
    /// path. Nothing is known of a checkpoint of another tool, or where its commit is damaged.
    ///
    /// # Errors
    /// As [`Manager::pin`].
    pub fn left_out(&self, dir: &Path, target: &[u8]) -> Result<Vec<LeftOut>> {
        self.look_at(dir, target, |store, _, checkpoint| {
            match commit::left_out(&store.objects(), checkpoint.id) {
                Err(error) if error.is_damage() => Ok(Vec::new()),
                left_out => left_out,
            }
        })
    }

    fn look_at<T>(
        &self,
        dir: &Path,
        target: &[u8],
        look: impl FnOnce(&Store<'_>, &Project, &Checkpoint) -> Result<T>,
    ) -> Result<T> {
        let project = self.project(dir);
        let none = || super::no_checkpoint(target);
        let store = Store::open(self.disk.as_ref(), &self.base())?.ok_or_else(none)?;
        let objects = store.objects();
        let listed = self.history(&store, &objects, &project)?;
        let checkpoint = self.find((&store, &objects), &project.hash, &listed, target)?;
        look(&store, &project, checkpoint)
    }

    fn with_target(
        &self,
        dir: &Path,
        target: &[u8],
        work: impl FnOnce(&Store<'_>, &Project, Oid) -> Result<()>,
    ) -> Result<String> {
        let project = self.project(dir);
        let none = || super::no_checkpoint(target);
        let store = Store::open(self.disk.as_ref(), &self.base())?.ok_or_else(none)?;
        let objects = store.objects();
        let _lock = store.lock_project(&project.hash)?;
        let mut listed = self.history(&store, &objects, &project)?;
        listed.retain(|one| !one.is_unlisted());
        let id = self.find((&store, &objects), &project.hash, &listed, target)?.id;
        work(&store, &project, id).map(|()| id.to_string())
    }
}
