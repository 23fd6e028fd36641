//! Verifies every object that checkpoints need, and lists the checkpoints that damage affects. Every
//! byte is read, and nothing is changed.

use crate::agent_state::Stored;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::history;
use crate::path::shown;
use crate::report::{DamagedCheckpoint, Remark, Verified};
use crate::store::commit::Checkpoint;
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::{Store, compatibility, metadata, ref_recovery, snapshot};
use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// Verifies every checkpoint of every project, and calls `progress` with the number of each project
/// and how many there are.
///
/// # Errors
/// A path that is not a store, a busy store, or a disk that fails; then the rest is not verified.
// rule: maintenance/damage
pub fn verify(
    disk: &dyn Disk,
    base: &Path,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Verified> {
    let mut verified = Verified::default();
    let Some(store) = Store::open(disk, base)? else {
        return Ok(verified);
    };
    let objects = store.objects();
    let mut files = Files { objects: &objects, checked: HashMap::new() };
    let hashes = ref_recovery::any_trace(&store)?;
    // A store without any history may be one that a crash left unfinished.
    if !hashes.is_empty() {
        verified.refused_files = compatibility::refused_files(disk, &store.path)?;
    }
    for (index, hash) in hashes.iter().enumerate() {
        progress(index + 1, hashes.len());
        let metadata = metadata::read(disk, &store.path, hash);
        let project = metadata.map_or_else(
            || format!("project {hash}").into_bytes(),
            |metadata| metadata.directory().into_os_string().into_vec(),
        );
        let checkpoints = match history::newest_first(&store, &objects, hash, usize::MAX) {
            Err(error) if error.is_damage() => {
                verified.unreadable.push(Remark::new(&project, error.cause()));
                continue;
            }
            checkpoints => checkpoints?,
        };
        verified.projects += usize::from(!checkpoints.is_empty());
        let envelopes = Stored::of(&store, hash).envelopes(&objects)?;
        for checkpoint in checkpoints {
            verified.checkpoints += 1;
            if let Some(why) =
                envelopes.damage(&checkpoint, |blob| files.damage(Kind::Blob, blob))?
            {
                let why = format!("{}: {why}", &checkpoint.id.to_string()[..7]);
                verified.envelopes.push(Remark::new(&project, why));
            }
            let lost = files.lost(&checkpoint)?;
            if !lost.is_empty() {
                let project = shown(&project);
                let id = checkpoint.id.to_string();
                verified.damaged.push(DamagedCheckpoint { project, id, lost });
            }
        }
    }
    Ok(verified)
}

/// The stored objects, each of which is checked once.
struct Files<'a> {
    objects: &'a Objects<'a>,
    /// The damage of each object that was checked, if any.
    checked: HashMap<Oid, Option<String>>,
}

impl Files<'_> {
    /// The paths of a checkpoint that cannot be restored; the empty path stands for all.
    fn lost(&mut self, checkpoint: &Checkpoint) -> Result<Vec<Remark>> {
        let read = || snapshot::read(self.objects, checkpoint.id, checkpoint.tree);
        let content = match checkpoint.intact().and_then(|_| read()) {
            Err(error) if error.is_damage() => return Ok(vec![Remark::new(b"", error.cause())]),
            content => content?,
        };
        if let Some(why) = self.damage_above(checkpoint)? {
            return Ok(vec![Remark::new(b"", why)]);
        }
        let mut lost = Vec::new();
        for (path, item) in &content {
            if let Some(why) = self.damage(Kind::Blob, item.blob)? {
                lost.push(Remark::new(path, why));
            }
        }
        Ok(lost)
    }

    /// The damage of the commit or of a tree of a checkpoint that can be read: git refuses the object.
    fn damage_above(&mut self, checkpoint: &Checkpoint) -> Result<Option<String>> {
        let mut pending = vec![(Kind::Commit, checkpoint.id), (Kind::Tree, checkpoint.tree)];
        let mut seen = HashSet::new();
        while let Some((kind, id)) = pending.pop() {
            if let Some(why) = self.damage(kind, id)? {
                return Ok(Some(why));
            }
            if kind == Kind::Tree && seen.insert(id) {
                let links = snapshot::links(checkpoint.id, &self.objects.read(kind, id)?)?;
                let trees = links.into_iter().filter(|link| link.kind == Kind::Tree);
                pending.extend(trees.map(|link| (link.kind, link.id)));
            }
        }
        Ok(None)
    }

    fn damage(&mut self, kind: Kind, id: Oid) -> Result<Option<String>> {
        if let Some(damage) = self.checked.get(&id) {
            return Ok(damage.clone());
        }
        let damage = match self.objects.check(kind, id) {
            Ok(()) => None,
            Err(error @ Error::DamagedObject { .. }) => Some(error.cause()),
            Err(error) => return Err(error),
        };
        self.checked.insert(id, damage.clone());
        Ok(damage)
    }
}
