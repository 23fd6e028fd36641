//! Finds the reachable objects, by reference counts, so that evicting a checkpoint shows at once which
//! objects are no longer reachable.

use crate::error::Result;
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::shallow::Boundaries;
use crate::store::{commit, snapshot};
use std::collections::{HashMap, HashSet};

/// The objects that are reachable from some tips.
pub struct Reach<'a> {
    objects: &'a Objects<'a>,
    boundaries: Boundaries,
    /// Damaged commits whose parents are known.
    lost: HashSet<Oid>,
    /// The number of references to each object; never 0.
    counts: HashMap<Oid, usize>,
    /// The size of each object in bytes.
    sizes: &'a HashMap<Oid, u64>,
    total: u64,
}

impl<'a> Reach<'a> {
    /// Reaches nothing yet.
    pub fn new(
        objects: &'a Objects<'a>,
        boundaries: Boundaries,
        sizes: &'a HashMap<Oid, u64>,
    ) -> Self {
        Reach { objects, boundaries, lost: HashSet::new(), counts: HashMap::new(), sizes, total: 0 }
    }

    /// Assumes that these commits cannot be read; what they refer to is not reached through them.
    // rule: maintenance/damage
    pub fn without(self, lost: HashSet<Oid>) -> Self {
        Reach { lost, ..self }
    }

    /// Whether the object is reachable, damaged or not.
    pub fn has(&self, id: Oid) -> bool {
        self.counts.contains_key(&id) || self.lost.contains(&id)
    }

    /// All reachable objects.
    pub fn all(&self) -> impl Iterator<Item = Oid> {
        self.counts.keys().copied()
    }

    /// Bytes of all reachable objects.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Adds a reference to an object.
    ///
    /// # Errors
    /// A commit, tree or tag that cannot be read; the counts are unusable after that.
    pub fn add(&mut self, tip: Oid) -> Result<()> {
        if self.lost.contains(&tip) {
            return Ok(());
        }
        let mut pending = vec![(tip, self.objects.header(tip)?.0)];
        while let Some((id, kind)) = pending.pop() {
            let count = self.counts.entry(id).or_default();
            *count += 1;
            if *count == 1 {
                self.total += self.sizes.get(&id).copied().unwrap_or_default();
                self.links(id, kind, &mut pending)?;
            }
        }
        Ok(())
    }

    /// Removes a reference to an object.
    pub fn remove(&mut self, tip: Oid) -> Result<()> {
        if self.lost.contains(&tip) {
            return Ok(());
        }
        let mut pending = vec![(tip, self.objects.header(tip)?.0)];
        while let Some((id, kind)) = pending.pop() {
            let Some(count) = self.counts.get_mut(&id) else {
                continue;
            };
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&id);
                self.total -= self.sizes.get(&id).copied().unwrap_or_default();
                self.links(id, kind, &mut pending)?;
            }
        }
        Ok(())
    }

    /// Makes a reachable commit a boundary, which no longer refers to its parents.
    pub fn cut(&mut self, id: Oid) -> Result<()> {
        let parents = commit::links(id, &self.objects.read(Kind::Commit, id)?)?.1;
        if self.boundaries.insert(id) {
            parents.into_iter().try_for_each(|parent| self.remove(parent))?;
        }
        Ok(())
    }

    /// Adds what an object refers to; each call adds the same.
    fn links(&self, id: Oid, kind: Kind, links: &mut Vec<(Oid, Kind)>) -> Result<()> {
        match kind {
            Kind::Blob => {}
            Kind::Tree => {
                let inner = snapshot::links(id, &self.objects.read(Kind::Tree, id)?)?;
                links.extend(inner.into_iter().map(|link| (link.id, link.kind)));
            }
            Kind::Commit => {
                let (tree, parents) = commit::links(id, &self.objects.read(Kind::Commit, id)?)?;
                links.push((tree, Kind::Tree));
                if !self.boundaries.contains(&id) {
                    let parents = parents.into_iter().filter(|parent| !self.lost.contains(parent));
                    links.extend(parents.map(|parent| (parent, Kind::Commit)));
                }
            }
            Kind::Tag => {
                let target = commit::tagged(id, &self.objects.read(Kind::Tag, id)?)?;
                links.push((target, self.objects.header(target)?.0));
            }
        }
        Ok(())
    }
}
