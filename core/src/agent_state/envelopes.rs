//! Stores envelopes: each is a git tree with `envelope.json` and the parts of the agent's state, which
//! the ref `refs/envelopes/<hash>/<checkpoint>` protects from `git gc`.
//!
//! Damage to an envelope or its ref does not affect the files of its checkpoint. See
//! docs/decisions/0025-agent-state-in-envelopes.md.

use super::Stored;
use super::envelope::Envelope;
use crate::error::{Error, Result};
use crate::store::commit::Checkpoint;
use crate::store::object::{IN_MEMORY_BYTES_MAX, Kind};
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::snapshot::{self, Item, Mode, Snapshot};
use crate::store::{Store, refs};

/// The names of the envelope in its tree and of the folder of the parts.
const ENVELOPE: &[u8] = b"envelope.json";
const PARTS: &str = "parts";

fn folder_of(hash: &str) -> String {
    format!("{}/{hash}", refs::ENVELOPES)
}

fn name(hash: &str, checkpoint: &str) -> String {
    format!("{}/{checkpoint}", folder_of(hash))
}

/// The result of looking up the envelope of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The checkpoint has no envelope.
    None,
    /// The envelope.
    Intact(Box<Envelope>),
    /// Why its envelope cannot be read.
    Unreadable(String),
}

impl Kept {
    /// The envelope, if it can be read.
    pub fn intact(self) -> Option<Envelope> {
        match self {
            Kept::Intact(envelope) => Some(*envelope),
            Kept::None | Kept::Unreadable(_) => None,
        }
    }
}

impl Envelope {
    /// Stores the envelope, whose parts are already stored, and returns its tree.
    /// [`Stored::begin_checkpoint`] assigns it to a checkpoint.
    pub(crate) fn write(&self, objects: &mut Objects<'_>) -> Result<Oid> {
        let bad_state = |error: serde_json::Error| Error::BadState {
            part: "envelope".into(),
            why: error.to_string(),
        };
        let json = self.to_json().map_err(bad_state)?;
        let envelope_blob = objects.add(Kind::Blob, &json)?;
        let item = |blob| Item { mode: Mode::Plain, blob };
        let mut snapshot = Snapshot::from([(ENVELOPE.to_vec(), item(envelope_blob))]);
        for (name, hash) in self.blobs() {
            if let Some(blob) = Oid::parse(hash) {
                snapshot.insert(format!("{PARTS}/{name}.json").into_bytes(), item(blob));
            }
        }
        snapshot::write(objects, &snapshot)
    }
}

impl<'a> Stored<'a> {
    /// The envelopes of the project.
    pub fn envelopes(self, objects: &'a Objects<'a>) -> Result<Envelopes<'a>> {
        let folder = folder_of(self.hash);
        let names = refs::names_below(self.store.disk, &self.store.path, &folder)?;
        Ok(Envelopes { stored: self, objects, names })
    }

    /// Prepares a checkpoint before the ref of the project is advanced to it, so that no checkpoint exists
    /// without its envelope, which is the tree `envelope`. The caller holds the project's lock.
    pub fn begin_checkpoint(&self, checkpoint: Oid, envelope: Option<Oid>) -> Result<()> {
        if let Some(tree) = envelope {
            let name = name(self.hash, &checkpoint.to_string());
            refs::set(self.store.disk, &self.store.path, &name, tree)?;
        }
        self.mark(checkpoint);
        Ok(())
    }

    /// Removes all envelopes of the project. The caller holds the project's lock.
    pub fn remove_envelopes(&self) -> Result<()> {
        refs::remove_below(self.store.disk, &self.store.path, &folder_of(self.hash))
    }
}

/// The envelopes of a project, which are read on demand.
pub struct Envelopes<'a> {
    stored: Stored<'a>,
    objects: &'a Objects<'a>,
    /// The full ids of the checkpoints that have an envelope.
    names: Vec<String>,
}

impl Envelopes<'_> {
    /// Whether the project has no envelopes.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The envelope of a checkpoint: the one with its id, or, if another tool rewrote its commit, the
    /// one with the same tree and reason.
    ///
    /// # Errors
    /// A disk that fails; damage is not an error.
    // rule: agent/parts
    pub fn get(&self, checkpoint: &Checkpoint) -> Result<Kept> {
        let id = checkpoint.id.to_string();
        if self.names.contains(&id) {
            return self.read(&id);
        }
        if checkpoint.project.is_some() || checkpoint.damage.is_some() {
            return Ok(Kept::None);
        }
        for name in &self.names {
            if let Kept::Intact(envelope) = self.read(name)?
                && is_of(&envelope, checkpoint)
            {
                return Ok(Kept::Intact(envelope));
            }
        }
        Ok(Kept::None)
    }

    /// The label of a checkpoint, as far as its envelope can be read.
    pub fn label(&self, checkpoint: &Checkpoint) -> Result<Option<String>> {
        Ok(self.get(checkpoint)?.intact().and_then(|envelope| envelope.label))
    }

    /// The damage to the envelope of a checkpoint, if any; `damage` returns that to a blob.
    // rule: agent/parts
    pub fn damage(
        &self,
        checkpoint: &Checkpoint,
        mut damage: impl FnMut(Oid) -> Result<Option<String>>,
    ) -> Result<Option<String>> {
        let envelope = match self.get(checkpoint)? {
            Kept::None => return Ok(None),
            Kept::Unreadable(why) => return Ok(Some(why)),
            Kept::Intact(envelope) => envelope,
        };
        for (name, blob) in envelope.blobs() {
            if let Some(why) = damage(Oid::parse(blob).unwrap_or(Oid::ZERO))? {
                return Ok(Some(format!("its {name} is damaged: {why}")));
            }
        }
        Ok(None)
    }

    /// The tree of an envelope, if its ref exists.
    fn tree(&self, name: &str) -> Result<Option<Oid>> {
        let Stored { store, hash } = self.stored;
        refs::read(store.disk, &store.path, &self::name(hash, name))
    }

    fn read(&self, name: &str) -> Result<Kept> {
        let read = || -> Result<Option<Vec<u8>>> {
            let Some(tree) = self.tree(name)? else { return Ok(None) };
            let snapshot = snapshot::read(self.objects, tree, tree)?;
            let Some(item) = snapshot.get(ENVELOPE) else { return Ok(Some(Vec::new())) };
            let bytes = self.objects.read_up_to(Kind::Blob, item.blob, IN_MEMORY_BYTES_MAX)?;
            Ok(Some(bytes.unwrap_or_default()))
        };
        match read() {
            Ok(None) => Ok(Kept::None),
            Ok(Some(bytes)) => Ok(Envelope::of_json(&bytes)
                .map_or_else(Kept::Unreadable, |envelope| Kept::Intact(Box::new(envelope)))),
            Err(error) if error.is_damage() => {
                Ok(Kept::Unreadable(format!("the agent state in it is damaged: {}", error.cause())))
            }
            Err(error) => Err(error),
        }
    }

    /// Removes the envelopes of checkpoints that are no longer listed.
    // rule: agent/parts
    pub fn retain(&self, listed: &[Checkpoint]) -> Result<()> {
        for name in &self.names {
            if listed.iter().any(|checkpoint| checkpoint.id.to_string() == *name) {
                continue;
            }
            let is_listed = match self.read(name)? {
                Kept::Intact(envelope) => {
                    listed.iter().any(|checkpoint| is_of(&envelope, checkpoint))
                }
                Kept::None | Kept::Unreadable(_) => false,
            };
            if !is_listed {
                self.remove(name)?;
            }
        }
        Ok(())
    }

    /// Removes damaged envelopes, so that their missing objects are not looked for elsewhere.
    pub fn drop_damaged(&self) -> Result<()> {
        for name in &self.names {
            if !self.is_intact(name)? {
                tracing::debug!("the damaged envelope of {name} is removed");
                self.remove(name)?;
            }
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        let Stored { store, hash } = self.stored;
        // One that comes back is damaged, or of no listed checkpoint: it is removed again.
        refs::remove_soon(store.disk, &store.path, &self::name(hash, name))
    }

    /// Whether every object of an envelope is stored.
    fn is_intact(&self, name: &str) -> Result<bool> {
        let check = || -> Result<bool> {
            let Some(tree) = self.tree(name)? else { return Ok(false) };
            let snapshot = snapshot::read(self.objects, tree, tree)?;
            for item in snapshot.values() {
                if !self.objects.has(item.blob)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        match check() {
            Err(error) if error.is_damage() => Ok(false),
            checked => checked,
        }
    }
}

/// The number of the last external action that any envelope records.
///
/// # Errors
/// A disk that fails; a damaged envelope is ignored.
// rule: agent/external-listed
pub(super) fn last_action(store: &Store<'_>) -> Result<u64> {
    let objects = store.objects();
    let mut last = 0;
    for hash in refs::projects_below(store.disk, &store.path, refs::ENVELOPES)? {
        let envelopes = Stored::of(store, &hash).envelopes(&objects)?;
        for name in &envelopes.names {
            let envelope = envelopes.read(name)?.intact();
            last = last.max(envelope.map_or(0, |envelope| envelope.external_through));
        }
    }
    Ok(last)
}

/// Whether an envelope has the same tree and reason as a checkpoint of another tool.
fn is_of(envelope: &Envelope, checkpoint: &Checkpoint) -> bool {
    checkpoint.project.is_none()
        && envelope.tree == checkpoint.tree.to_string()
        && [envelope.reason.trim(), &subject(&envelope.reason)].contains(&checkpoint.reason.trim())
}

/// The part of a reason that another tool keeps: the first paragraph, on one line.
fn subject(reason: &str) -> String {
    let paragraph = reason.trim().split("\n\n").next().unwrap_or_default();
    paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
