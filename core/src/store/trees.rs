//! Compares the trees of checkpoints without reading what they share: a tree is read once, and two equal
//! trees not at all.
//!
//! [`super::snapshot`] reads a whole checkpoint, and says how one is damaged; here it is only seen that it is.

use crate::error::Result;
use crate::path::join;
use crate::store::mark::{Mark, MarkDigest, Moment, RecordedMark};
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::snapshot::{self, Difference, Item, Mode, RawEntry};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// A tree that is intact, as are those below it.
#[derive(Clone)]
struct Sound {
    /// Sorted by name; `None` if it was not read.
    entries: Option<Rc<[RawEntry]>>,
    extent: Extent,
    /// The mark of the pack that holds the tree and all trees below it.
    mark: Option<Mark>,
}

/// How large a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The number of paths and trees in it and below.
    pub size: usize,
    /// The depth of the trees below it.
    pub depth: usize,
}

/// A tree that was intact, as were those below it, in the pack with that mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedTree {
    /// How large it is.
    pub extent: Extent,
    /// The digest of the mark.
    pub digest: MarkDigest,
}

/// Trees that need not be read while nothing touches their packs.
#[derive(Clone, Debug, Default)]
pub struct PackedTrees {
    /// Each with all trees below it.
    pub trees: BTreeMap<Oid, PackedTree>,
    /// The time of the file system at which they were recorded.
    pub moment: Option<Moment>,
}

/// The trees of checkpoints that are compared.
pub struct Trees<'a> {
    objects: &'a Objects<'a>,
    recorded: PackedTrees,
    /// `None`: damaged, or with a damaged tree below.
    read: RefCell<HashMap<Oid, Option<Sound>>>,
    /// Those of the trees that are whole in a pack, and not below another of them.
    packed: RefCell<BTreeMap<Oid, (Extent, Mark)>>,
}

impl<'a> Trees<'a> {
    /// The trees among these objects.
    pub fn new(objects: &'a Objects<'a>) -> Self {
        let recorded = PackedTrees::default();
        Trees { objects, recorded, read: RefCell::default(), packed: RefCell::default() }
    }

    /// Of these, those whose packs nothing touched are not read.
    pub fn recalling(self, recorded: PackedTrees) -> Self {
        Trees { recorded, ..self }
    }

    /// The trees to be recorded: those in packs that were last touched before the `moment` at which trees were
    /// recorded last, so that any later touch shows.
    pub fn to_record(&self) -> BTreeMap<Oid, PackedTree> {
        let packed = self.packed.borrow();
        let packed = packed.iter().filter(|(_, (_, mark))| self.is_settled(mark));
        let recorded = |(id, (extent, mark)): (&Oid, &(Extent, Mark))| {
            (*id, PackedTree { extent: *extent, digest: mark.digest() })
        };
        packed.map(recorded).collect()
    }

    /// Whether trees are in packs that were touched too recently to be recorded.
    pub fn has_unsettled(&self) -> bool {
        self.packed.borrow().values().any(|(_, mark)| !self.is_settled(mark))
    }

    fn is_settled(&self, mark: &Mark) -> bool {
        let digest = Some(mark.digest());
        mark.is_unchanged_since(&RecordedMark { digest, moment: self.recorded.moment })
    }

    /// Whether [`snapshot::read`] reads the checkpoint with this root tree.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn is_sound(&self, root: Oid) -> Result<bool> {
        let Some(sound) = self.sound(root, 0)? else { return Ok(false) };
        self.note(root, &sound);
        Ok(snapshot::is_within_limits(sound.extent.size, sound.extent.depth))
    }

    fn note(&self, tree: Oid, Sound { extent, mark, .. }: &Sound) {
        if let Some(mark) = mark {
            self.packed.borrow_mut().insert(tree, (*extent, *mark));
        }
    }

    fn sound(&self, tree: Oid, depth: usize) -> Result<Option<Sound>> {
        if let Some(known) = self.read.borrow().get(&tree) {
            return Ok(known.clone());
        }
        let sound = match self.recalled(tree) {
            Some(sound) => Some(sound),
            None => self.read(tree, depth)?,
        };
        self.read.borrow_mut().insert(tree, sound.clone());
        Ok(sound)
    }

    fn recalled(&self, tree: Oid) -> Option<Sound> {
        let PackedTree { extent, digest } = *self.recorded.trees.get(&tree)?;
        let recorded = RecordedMark { digest: Some(digest), moment: self.recorded.moment };
        let mark = self.objects.unchanged_pack(&recorded)?;
        Some(Sound { entries: None, extent, mark: Some(mark) })
    }

    fn read(&self, tree: Oid, depth: usize) -> Result<Option<Sound>> {
        if !snapshot::is_within_limits(0, depth) {
            return Ok(None);
        }
        let (bytes, own_mark) = match self.objects.read_marked(Kind::Tree, tree) {
            Err(error) if error.is_damage() => return Ok(None),
            read => read?,
        };
        let Some(entries) = snapshot::sound_entries(&bytes) else { return Ok(None) };
        let mut extent = Extent { size: 1, depth: 0 };
        let mut mark = own_mark;
        let mut below = Vec::new();
        for entry in &entries {
            let Some(subtree) = entry.tree() else {
                extent.size += usize::from(entry.item().is_some());
                continue;
            };
            let Some(sound) = self.sound(subtree, depth + 1)? else { return Ok(None) };
            extent.size = sound.extent.size.saturating_add(extent.size);
            extent.depth = extent.depth.max(sound.extent.depth + 1);
            mark = mark.filter(|mark| sound.mark.as_ref() == Some(mark));
            below.push((subtree, sound));
        }
        if mark.is_none() {
            below.iter().for_each(|(subtree, sound)| self.note(*subtree, sound));
        }
        Ok(Some(Sound { entries: Some(entries.into()), extent, mark }))
    }

    /// The entries of a sound tree; none of a damaged one.
    fn entries(&self, tree: Oid) -> Result<Rc<[RawEntry]>> {
        match self.sound(tree, 0)? {
            None => Ok(Rc::default()),
            Some(Sound { entries: Some(entries), .. }) => Ok(entries),
            Some(sound) => {
                let bytes = self.objects.read(Kind::Tree, tree)?;
                let entries: Rc<[RawEntry]> =
                    snapshot::sound_entries(&bytes).unwrap_or_default().into();
                let sound = Sound { entries: Some(Rc::clone(&entries)), ..sound };
                self.read.borrow_mut().insert(tree, Some(sound));
                Ok(entries)
            }
        }
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
        let entries = |tree: Option<Oid>| tree.map(|tree| self.entries(tree)).transpose();
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

    #[test]
    fn is_sound_recalls_trees_of_a_pack_until_something_touches_it() {
        let folder = tempfile::tempdir().unwrap();
        let packs = folder.path().join("pack");
        std::fs::create_dir(&packs).unwrap();
        let objects = || Objects::new(&SystemDisk, folder.path().to_owned());
        let mut added = objects();
        let item = |number: u8| {
            let blob = Oid([number; 20]);
            (format!("{number}/file").into_bytes(), Item { mode: Mode::Plain, blob })
        };
        let root = snapshot::write(&mut added, &(0..80).map(item).collect()).unwrap();
        added.flush().unwrap();
        let settled = Some((i64::MAX, 0));
        let with = |recorded, moment| PackedTrees { trees: recorded, moment };
        let open = objects();
        let trees = Trees::new(&open).recalling(with(BTreeMap::new(), None));
        assert!(trees.is_sound(root).unwrap() && trees.has_unsettled());
        assert_eq!(trees.to_record(), BTreeMap::new());
        let trees = Trees::new(&open).recalling(with(BTreeMap::new(), settled));
        assert!(trees.is_sound(root).unwrap() && !trees.has_unsettled());
        let recorded = trees.to_record();
        assert_eq!(recorded.keys().collect::<Vec<_>>(), [&root]);
        assert_eq!(recorded[&root].extent, Extent { size: 161, depth: 1 });
        // A wrong record is believed, so that the tree was not read.
        let mut wrong = recorded.clone();
        wrong.get_mut(&root).unwrap().extent.size = usize::MAX;
        assert!(!Trees::new(&open).recalling(with(wrong, settled)).is_sound(root).unwrap());
        for entry in std::fs::read_dir(&packs).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "pack") {
                let bytes = std::fs::read(&path).unwrap();
                std::fs::remove_file(&path).unwrap();
                std::fs::write(&path, vec![0; bytes.len()]).unwrap();
            }
        }
        let open = objects();
        assert!(!Trees::new(&open).recalling(with(recorded, settled)).is_sound(root).unwrap());
    }
}
