//! Where envelopes are kept: each is a git tree with `envelope.json` and the parts of the agent's
//! state, which the ref `refs/envelopes/<hash>/<checkpoint>` keeps alive, also for `git gc`.
//!
//! An envelope is lost alone: where it is damaged, or its ref is, no file is missing. See
//! docs/decisions/0025-envelopes-beside-checkpoints.md.

use crate::error::{Error, Result};
use crate::store::commit::Checkpoint;
use crate::store::envelope::Envelope;
use crate::store::object::{IN_MEMORY_BYTES_MAX, Kind};
use crate::store::objects::Objects;
use crate::store::snapshot::{self, Item, Mode, Snapshot};
use crate::store::{Store, refs};
use git2::Oid;
use std::path::Path;

/// Where the refs of all projects are.
pub const FOLDER: &str = "refs/envelopes";
/// The envelope in its tree, and the folder of the parts.
const ENVELOPE: &[u8] = b"envelope.json";
const PARTS: &str = "parts";

fn folder_of(hash: &str) -> String {
    format!("{FOLDER}/{hash}")
}

fn name(hash: &str, checkpoint: &str) -> String {
    format!("{}/{checkpoint}", folder_of(hash))
}

/// What is known of the envelope of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// There is none.
    None,
    /// This one.
    Whole(Box<Envelope>),
    /// There is one that cannot be read, and why.
    Unreadable(String),
}

impl Kept {
    /// The envelope, if it can be read.
    pub fn whole(self) -> Option<Envelope> {
        match self {
            Kept::Whole(envelope) => Some(*envelope),
            Kept::None | Kept::Unreadable(_) => None,
        }
    }
}

/// Stores an envelope, whose parts are stored, and returns its tree; [`keep`] makes it one of a
/// checkpoint.
pub fn write(objects: &mut Objects<'_>, envelope: &Envelope) -> Result<Oid> {
    let why = |error: serde_json::Error| Error::BadState {
        part: "envelope".into(),
        why: error.to_string(),
    };
    let own = objects.add(Kind::Blob, &envelope.to_json().map_err(why)?)?;
    let item = |blob| Item { mode: Mode::Plain, blob };
    let mut all = Snapshot::from([(ENVELOPE.to_vec(), item(own))]);
    for (name, hash) in envelope.blobs() {
        if let Ok(blob) = Oid::from_str(hash) {
            all.insert(format!("{PARTS}/{name}.json").into_bytes(), item(blob));
        }
    }
    snapshot::write(objects, &all)
}

/// Makes a stored envelope that of a checkpoint. The caller holds the project's lock.
pub fn keep(store: &Store<'_>, hash: &str, checkpoint: Oid, tree: Oid) -> Result<()> {
    let name = name(hash, &checkpoint.to_string());
    refs::set(store.disk, &store.path, &name, tree)
}

/// The envelopes of a project, which are read when they are asked for.
pub struct Envelopes<'a> {
    store: &'a Store<'a>,
    objects: &'a Objects<'a>,
    hash: &'a str,
    /// The checkpoints that have one, by their full ids.
    names: Vec<String>,
}

impl<'a> Envelopes<'a> {
    /// Those of the project of that hash.
    pub fn of(store: &'a Store<'a>, objects: &'a Objects<'a>, hash: &'a str) -> Result<Self> {
        let names = refs::names_below(store.disk, &store.path, &folder_of(hash))?;
        Ok(Envelopes { store, objects, hash, names })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The envelope of a checkpoint: that of its id, or where another tool made its commit anew the
    /// one that says the same of its files and its reason.
    ///
    /// # Errors
    /// A disk that fails; damage is none.
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
            if let Kept::Whole(envelope) = self.read(name)?
                && is_of(&envelope, checkpoint)
            {
                return Ok(Kept::Whole(envelope));
            }
        }
        Ok(Kept::None)
    }

    fn read(&self, name: &str) -> Result<Kept> {
        let read = || -> Result<Option<Vec<u8>>> {
            let tree = refs::read(self.store.disk, &self.store.path, &self::name(self.hash, name))?;
            let Some(tree) = tree else { return Ok(None) };
            let all = snapshot::read(self.objects, tree, tree)?;
            let Some(item) = all.get(ENVELOPE) else { return Ok(Some(Vec::new())) };
            let whole = self.objects.read_up_to(Kind::Blob, item.blob, IN_MEMORY_BYTES_MAX)?;
            Ok(Some(whole.unwrap_or_default()))
        };
        match read() {
            Ok(None) => Ok(Kept::None),
            Ok(Some(bytes)) => Ok(Envelope::of_json(&bytes)
                .map_or_else(Kept::Unreadable, |envelope| Kept::Whole(Box::new(envelope)))),
            Err(error) if error.is_damage() => {
                Ok(Kept::Unreadable(format!("its envelope is damaged: {}", error.cause())))
            }
            Err(error) => Err(error),
        }
    }

    /// Removes those of checkpoints that are not listed any more.
    // rule: agent/parts
    pub fn retain(&self, listed: &[Checkpoint]) -> Result<()> {
        for name in &self.names {
            if listed.iter().any(|one| one.id.to_string() == *name) {
                continue;
            }
            let stays = match self.read(name)? {
                Kept::Whole(envelope) => listed.iter().any(|one| is_of(&envelope, one)),
                Kept::None | Kept::Unreadable(_) => false,
            };
            if !stays {
                self.remove(name)?;
            }
        }
        Ok(())
    }

    /// Removes those that are damaged, so that what is missing of them is missed nowhere else.
    pub fn drop_damaged(&self) -> Result<()> {
        for name in &self.names {
            if !self.is_whole(name)? {
                tracing::debug!("the envelope of {name} is damaged, and goes");
                self.remove(name)?;
            }
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        refs::remove(self.store.disk, &self.store.path, &self::name(self.hash, name))
    }

    /// Whether everything is stored that the ref of an envelope leads to.
    fn is_whole(&self, name: &str) -> Result<bool> {
        let look = || -> Result<bool> {
            let tree = refs::read(self.store.disk, &self.store.path, &self::name(self.hash, name))?;
            let Some(tree) = tree else { return Ok(false) };
            let all = snapshot::read(self.objects, tree, tree)?;
            for item in all.values() {
                if !self.objects.has(item.blob)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        match look() {
            Err(error) if error.is_damage() => Ok(false),
            looked => looked,
        }
    }
}

/// The number of the last external action that any envelope knows of.
///
/// # Errors
/// A disk that fails; an envelope that is damaged knows of none.
// rule: agent/external-listed
pub fn last_action(store: &Store<'_>) -> Result<u64> {
    let objects = store.objects();
    let mut last = 0;
    for hash in refs::projects_below(store.disk, &store.path, FOLDER)? {
        let envelopes = Envelopes::of(store, &objects, &hash)?;
        for name in &envelopes.names {
            let known = envelopes.read(name)?.whole();
            last = last.max(known.map_or(0, |envelope| envelope.external_through));
        }
    }
    Ok(last)
}

/// Whether an envelope says of itself that it is about such a checkpoint.
fn is_of(envelope: &Envelope, checkpoint: &Checkpoint) -> bool {
    checkpoint.project.is_none()
        && envelope.tree == checkpoint.tree.to_string()
        && [envelope.reason.trim(), &subject(&envelope.reason)].contains(&checkpoint.reason.trim())
}

/// All that another tool keeps of a reason: its first paragraph on one line.
fn subject(reason: &str) -> String {
    let paragraph = reason.trim().split("\n\n").next().unwrap_or_default();
    paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Removes all of the project. The caller holds the project's lock.
pub fn remove_all(store: &Store<'_>, hash: &str) -> Result<()> {
    refs::remove_below(store.disk, &store.path, &folder_of(hash))
}

/// Whether that is the path of such a ref in the store.
pub fn has(store: &Path, path: &Path) -> bool {
    path.starts_with(store.join(FOLDER))
}
