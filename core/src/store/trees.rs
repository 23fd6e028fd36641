//! Compares the trees of checkpoints without reading what they share: a tree is read once, and two equal
//! trees not at all.
//!
//! [`super::snapshot`] reads a whole checkpoint, and says how one is damaged; here it is only seen that it is.

use crate::error::Result;
use crate::path::join;
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::snapshot::{self, Difference, Item, Mode, RawEntry};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// A tree that was read.
#[derive(Clone)]
struct Sound {
    /// Sorted by name.
    entries: Rc<[RawEntry]>,
    /// The number of paths and trees in it and below.
    size: usize,
    /// The depth of the trees below it.
    depth: usize,
}

/// The trees of checkpoints that are compared.
pub struct Trees<'a> {
    objects: &'a Objects<'a>,
    /// `None`: damaged, or with a damaged tree below.
    read: RefCell<HashMap<Oid, Option<Sound>>>,
}

impl<'a> Trees<'a> {
    /// The trees among these objects.
    pub fn new(objects: &'a Objects<'a>) -> Self {
        Trees { objects, read: RefCell::default() }
    }

    /// Whether [`snapshot::read`] reads the checkpoint with this root tree.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn is_sound(&self, root: Oid) -> Result<bool> {
        let sound = self.sound(root, 0)?;
        Ok(sound.is_some_and(|sound| snapshot::is_within_limits(sound.size, sound.depth)))
    }

    fn sound(&self, tree: Oid, depth: usize) -> Result<Option<Sound>> {
        if let Some(known) = self.read.borrow().get(&tree) {
            return Ok(known.clone());
        }
        let sound = self.read(tree, depth)?;
        self.read.borrow_mut().insert(tree, sound.clone());
        Ok(sound)
    }

    fn read(&self, tree: Oid, depth: usize) -> Result<Option<Sound>> {
        if !snapshot::is_within_limits(0, depth) {
            return Ok(None);
        }
        let bytes = match self.objects.read(Kind::Tree, tree) {
            Err(error) if error.is_damage() => return Ok(None),
            bytes => bytes?,
        };
        let Some(entries) = snapshot::sound_entries(&bytes) else { return Ok(None) };
        let mut size = 1;
        let mut deepest = 0;
        for entry in &entries {
            let Some(subtree) = entry.tree() else {
                size += usize::from(entry.item().is_some());
                continue;
            };
            let Some(below) = self.sound(subtree, depth + 1)? else { return Ok(None) };
            size = below.size.saturating_add(size);
            deepest = deepest.max(below.depth + 1);
        }
        Ok(Some(Sound { entries: entries.into(), size, depth: deepest }))
    }

    /// The paths in which two checkpoints with sound root trees differ.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn differences(&self, old: Oid, new: Oid) -> Result<BTreeMap<Vec<u8>, Difference>> {
        let mut found = BTreeMap::new();
        self.compare(&[], Pair { old: Some(old), new: Some(new) }, &mut found)?;
        Ok(found)
    }

    fn compare(
        &self,
        directory: &[u8],
        trees: Pair<Oid>,
        found: &mut BTreeMap<Vec<u8>, Difference>,
    ) -> Result<()> {
        let entries = |tree: Option<Oid>| -> Result<Option<Rc<[RawEntry]>>> {
            let sound = tree.map(|tree| self.sound(tree, 0)).transpose()?.flatten();
            Ok(sound.map(|sound| sound.entries))
        };
        let old = entries(trees.old)?;
        let new = entries(trees.new)?;
        let mut old = old.as_deref().unwrap_or_default();
        let mut new = new.as_deref().unwrap_or_default();
        while let Some(next) = old.iter().take(1).chain(new.first()).min_by_key(|next| &next.name) {
            let sides = Pair { old: take(&mut old, &next.name), new: take(&mut new, &next.name) };
            let path = join(directory, &next.name);
            let items: Pair<Item> = sides.map(RawEntry::item);
            if items.old != items.new {
                found.insert(path.clone(), Difference { old: items.old, new: items.new });
            }
            let trees = sides.map(RawEntry::tree);
            if trees.old != trees.new {
                self.compare(&path, trees, found)?;
            }
        }
        Ok(())
    }
}

/// Takes the first entry if it has that name.
fn take<'e>(entries: &mut &'e [RawEntry], name: &[u8]) -> Option<&'e RawEntry> {
    let (first, rest) = entries.split_first().filter(|(first, _)| first.name == name)?;
    *entries = rest;
    Some(first)
}

/// The two sides of a comparison.
#[derive(Clone, Copy)]
struct Pair<T> {
    old: Option<T>,
    new: Option<T>,
}

impl<'e> Pair<&'e RawEntry> {
    fn map<T>(self, of: impl Fn(&'e RawEntry) -> Option<T>) -> Pair<T> {
        Pair { old: self.old.and_then(&of), new: self.new.and_then(&of) }
    }
}

impl RawEntry {
    fn tree(&self) -> Option<Oid> {
        self.is_tree().then_some(self.id)
    }

    fn item(&self) -> Option<Item> {
        let mode = Mode::from_bits(self.bits).filter(|_| !self.is_tree())?;
        Some(Item { mode, blob: self.id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use crate::store::snapshot::Snapshot;

    #[test]
    fn differences_are_those_of_the_snapshots() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("pack")).unwrap();
        let mut objects = Objects::new(&SystemDisk, folder.path().to_owned());
        let paths = ["a", "a.txt", "b/c", "b/d/e", "b/d/f", "b", "g"];
        let mut states = Vec::new();
        for chosen in 0..1_usize << paths.len() {
            // A path cannot be a file and a folder.
            if chosen >> 5 & 1 == 1 && chosen & 0b11100 != 0 {
                continue;
            }
            let is_chosen = |index: &usize| chosen >> index & 1 == 1;
            let item = |index: usize| {
                let blob = Oid([(chosen + index) as u8 / 8; 20]);
                (paths[index].as_bytes().to_vec(), Item { mode: Mode::Plain, blob })
            };
            let snapshot: Snapshot = (0..paths.len()).filter(is_chosen).map(item).collect();
            let root = snapshot::write(&mut objects, &snapshot).unwrap();
            states.push((root, snapshot));
        }
        objects.flush().unwrap();
        let trees = Trees::new(&objects);
        for (old_root, old) in states.iter().step_by(3) {
            assert!(trees.is_sound(*old_root).unwrap());
            for (new_root, new) in &states {
                let found = trees.differences(*old_root, *new_root).unwrap();
                let expected = snapshot::differences(old, new);
                assert!(
                    found.iter().eq(expected.iter().map(|(path, difference)| (*path, difference)))
                );
            }
        }
        assert!(!trees.is_sound(Oid([9; 20])).unwrap());
    }
}
