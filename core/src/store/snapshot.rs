//! The content of a checkpoint as a flat sorted map, and its conversion to and from nested git trees.
//!
//! Trees are written and read as bytes here, so that every name that the file system allows is kept. A
//! tree with names that could harm a working tree is refused when it is read.

use crate::disk::{Disk, Kind as FileKind, Stat};
use crate::error::{Error, Result};
use crate::path::{ancestors, join, shown};
use crate::store::object::{Kind, blob_of, id_of};
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;

/// The type of a captured path, with its one recorded permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A regular file.
    Plain,
    /// A regular file that its owner may execute.
    Executable,
    /// A symbolic link.
    Link,
}

impl Mode {
    /// The mode of a regular file.
    // rule: capture/executable
    pub fn of_file(stat: &Stat) -> Self {
        if stat.executable() { Mode::Executable } else { Mode::Plain }
    }

    /// Git's number for the mode.
    pub fn bits(self) -> u32 {
        match self {
            Mode::Plain => 0o100_644,
            Mode::Executable => 0o100_755,
            Mode::Link => 0o120_000,
        }
    }

    /// The number as a tree has it.
    fn digits(self) -> &'static [u8] {
        match self {
            Mode::Plain => b"100644",
            Mode::Executable => b"100755",
            Mode::Link => b"120000",
        }
    }

    /// The mode with this number in git; `None` if it is neither a file nor a link.
    pub fn from_bits(bits: u32) -> Option<Self> {
        match bits & 0o170_000 {
            0o100_000 if bits & 0o100 != 0 => Some(Mode::Executable),
            0o100_000 => Some(Mode::Plain),
            0o120_000 => Some(Mode::Link),
            _ => None,
        }
    }
}

/// One captured path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its type.
    pub mode: Mode,
    /// The blob with its bytes or link target.
    pub blob: Oid,
}

impl Item {
    /// The item that a checkpoint would record of the file or link with that stat; `None` for anything
    /// else.
    pub fn standing(disk: &dyn Disk, path: &Path, stat: &Stat) -> io::Result<Option<Self>> {
        let (mode, blob) = match stat.kind {
            FileKind::File => (Mode::of_file(stat), blob_of(disk, path)?.0),
            FileKind::Link => (Mode::Link, Some(id_of(Kind::Blob, &disk.read_link(path)?))),
            FileKind::Directory | FileKind::Special => return Ok(None),
        };
        Ok(blob.map(|blob| Item { mode, blob }))
    }
}

/// All captured paths, relative to the project.
pub type Snapshot = BTreeMap<Vec<u8>, Item>;

/// The most paths in a checkpoint: only a malicious tree unfolds to more.
const PATHS_MAX: usize = 1_000_000;
/// The deepest nesting of trees: the system can name no deeper path.
const DEPTH_MAX: usize = 2_048;
const TREE_BITS: u32 = 0o40_000;
const TREE_DIGITS: &[u8] = b"40000";
const GITLINK_BITS: u32 = 0o160_000;

/// Writes the trees of `snapshot` and returns the id of the root tree.
pub fn write(objects: &mut Objects<'_>, snapshot: &Snapshot) -> Result<Oid> {
    let items: Vec<_> = snapshot.iter().map(|(path, item)| (&path[..], item)).collect();
    write_directory(objects, &items)
}

/// Writes the tree of a directory and those below it. The paths are sorted, and relative to it.
fn write_directory(objects: &mut Objects<'_>, items: &[(&[u8], &Item)]) -> Result<Oid> {
    let mut rest = items;
    let mut bytes = Vec::new();
    // Git sorts a directory as if its name ended in a slash, which is the order of the paths.
    // rule: layout/fsck: decides
    while let Some((path, item)) = rest.first() {
        let length = path.iter().position(|byte| *byte == b'/');
        let (entries, mode, id) = match length {
            None => (1, item.mode.digits(), item.blob),
            Some(length) => {
                let start = &path[..=length];
                let entries = rest.partition_point(|(path, _)| path.starts_with(start));
                let inner = rest[..entries].iter().map(|(path, item)| (&path[length + 1..], *item));
                let inner: Vec<(&[u8], &Item)> = inner.collect();
                (entries, TREE_DIGITS, write_directory(objects, &inner)?)
            }
        };
        bytes.extend_from_slice(mode);
        bytes.push(b' ');
        // rule: capture/any-name
        bytes.extend_from_slice(&path[..length.unwrap_or(path.len())]);
        bytes.push(0);
        bytes.extend_from_slice(id.as_bytes());
        rest = &rest[entries..];
    }
    objects.add(Kind::Tree, &bytes)
}

/// One entry of a tree as it is stored.
pub(super) struct RawEntry {
    pub(super) bits: u32,
    pub(super) name: Vec<u8>,
    pub(super) id: Oid,
}

impl RawEntry {
    pub(super) fn is_tree(&self) -> bool {
        self.bits & 0o170_000 == TREE_BITS
    }
}

/// The entries of a tree, sorted by name; `None` if [`read`] refuses one of them.
pub(super) fn sound_entries(bytes: &[u8]) -> Option<Vec<RawEntry>> {
    let mut entries = parse_tree(bytes).collect::<std::result::Result<Vec<_>, _>>().ok()?;
    let is_sound = |entry: &RawEntry| {
        let kind = entry.bits & 0o170_000;
        let is_known = [TREE_BITS, GITLINK_BITS].contains(&kind) || Mode::from_bits(kind).is_some();
        is_known && !is_harmful(&entry.name)
    };
    entries.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    let is_twice = entries.windows(2).any(|pair| pair[0].name == pair[1].name);
    (entries.iter().all(is_sound) && !is_twice).then_some(entries)
}

/// Whether [`read`] reads so many paths and trees, nested so deeply.
pub(super) fn is_within_limits(size: usize, depth: usize) -> bool {
    size <= PATHS_MAX && depth <= DEPTH_MAX
}

/// The limit on files and folders above which [`read`] refuses a checkpoint, if `snapshot` exceeds it.
pub fn exceeded(snapshot: &Snapshot) -> Option<usize> {
    (!fits(snapshot, PATHS_MAX)).then_some(PATHS_MAX)
}

fn fits(snapshot: &Snapshot, paths_max: usize) -> bool {
    // Most snapshots are far below the limit, even if no folder had more than one entry.
    let upper_bound: usize = snapshot.keys().map(|path| 1 + ancestors(path).count()).sum();
    if upper_bound < paths_max {
        return true;
    }
    let folders: HashSet<&[u8]> = snapshot.keys().flat_map(|path| ancestors(path)).collect();
    snapshot.len() + folders.len() < paths_max
}

/// Reads the trees below `root`, the tree of checkpoint `id`.
///
/// # Errors
/// [`Error::CorruptCheckpoint`] where a tree is missing or unreadable, or names a path that a
/// restore must never write.
pub fn read(objects: &Objects<'_>, id: Oid, root: Oid) -> Result<Snapshot> {
    unfold(objects, id, root, &Extent::ALL)
}

/// As [`read`], but only the folders above `path` and below it: damage elsewhere does not matter.
///
/// # Errors
/// As [`read`].
pub fn read_around(objects: &Objects<'_>, id: Oid, root: Oid, path: &[u8]) -> Result<Snapshot> {
    let is_above = |outer: &[u8], inner: &[u8]| ancestors(inner).any(|above| above == outer);
    let is_wanted =
        |folder: &[u8]| folder == path || is_above(folder, path) || is_above(path, folder);
    unfold(objects, id, root, &Extent { is_wanted: &is_wanted, ..Extent::ALL })
}

/// Which part of a checkpoint is read.
struct Extent<'a> {
    /// The most folders and files.
    paths_max: usize,
    /// Whether a folder is read.
    is_wanted: &'a dyn Fn(&[u8]) -> bool,
}

impl Extent<'_> {
    const ALL: Extent<'static> = Extent { paths_max: PATHS_MAX, is_wanted: &|_| true };
}

fn unfold(objects: &Objects<'_>, id: Oid, root: Oid, extent: &Extent<'_>) -> Result<Snapshot> {
    let corrupt = |why: String| Error::CorruptCheckpoint { id: id.to_string(), why };
    let mut snapshot = Snapshot::new();
    let mut pending: Vec<(Vec<u8>, Oid, usize)> = vec![(Vec::new(), root, 0)];
    let mut trees = 0;
    while let Some((directory, tree, depth)) = pending.pop() {
        trees += 1;
        if depth > DEPTH_MAX || snapshot.len() + trees > extent.paths_max {
            return Err(corrupt("its trees are nested too deeply or have too many entries".into()));
        }
        let bytes = objects.read(Kind::Tree, tree).map_err(|error| match error {
            error if error.is_damage() => corrupt(error.cause()),
            error => error,
        })?;
        let mut names = std::collections::BTreeSet::new();
        for entry in parse_tree(&bytes) {
            let RawEntry { bits, name, id } = entry.map_err(|why| corrupt(why.into()))?;
            let path = join(&directory, &name);
            if !names.insert(name.clone()) {
                return Err(corrupt(format!("it contains {} twice", shown(&path))));
            }
            if is_harmful(&name) {
                return Err(corrupt(format!("{} is not a valid file name", shown(&path))));
            }
            match (bits & 0o170_000, Mode::from_bits(bits)) {
                (TREE_BITS, _) if !(extent.is_wanted)(&path) => {}
                (TREE_BITS, _) => pending.push((path, id, depth + 1)),
                (_, Some(mode)) => {
                    snapshot.insert(path, Item { mode, blob: id });
                }
                // Only other tools store a nested repository as a link to its commit, which has no
                // content to restore.
                (GITLINK_BITS, None) => {}
                _ => {
                    return Err(corrupt(format!("{} has the invalid mode {bits:o}", shown(&path))));
                }
            }
        }
    }
    Ok(snapshot)
}

/// One entry of a tree; its name is not checked.
pub struct Link {
    /// Its name in the tree.
    pub name: Vec<u8>,
    /// The object.
    pub id: Oid,
    /// Whether it is a tree or a blob.
    pub kind: Kind,
}

/// The entries of a tree, without the commits of nested repositories, which are not in the store.
pub fn links(id: Oid, bytes: &[u8]) -> Result<Vec<Link>> {
    let corrupt = |why: &str| Error::CorruptCheckpoint { id: id.to_string(), why: why.into() };
    let mut links = Vec::new();
    for entry in parse_tree(bytes) {
        let RawEntry { bits, name, id } = entry.map_err(corrupt)?;
        match bits & 0o170_000 {
            GITLINK_BITS => {}
            TREE_BITS => links.push(Link { name, id, kind: Kind::Tree }),
            _ => links.push(Link { name, id, kind: Kind::Blob }),
        }
    }
    Ok(links)
}

/// Whether a restore that wrote this name could write outside the project or damage a repository.
// rule: restore/contained
// rule: isolation/user-repository
fn is_harmful(name: &[u8]) -> bool {
    name.is_empty() || name == b"." || name == b".." || name == b".git" || name.contains(&b'/')
}

fn parse_tree(bytes: &[u8]) -> impl Iterator<Item = std::result::Result<RawEntry, &'static str>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let entry = parse_entry(&mut rest);
        if entry.is_err() {
            rest = &[];
        }
        Some(entry)
    })
}

fn parse_entry(rest: &mut &[u8]) -> std::result::Result<RawEntry, &'static str> {
    let truncated = "one of its trees is truncated";
    let no_mode = "one of its trees has an entry without a mode";
    let digits = take_until(rest, b' ').ok_or(truncated)?;
    let digits = std::str::from_utf8(digits).map_err(|_| no_mode)?;
    let bits = u32::from_str_radix(digits, 8).map_err(|_| no_mode)?;
    let name = take_until(rest, 0).ok_or(truncated)?.to_vec();
    let (id, after) = rest.split_first_chunk().ok_or(truncated)?;
    *rest = after;
    Ok(RawEntry { bits, name, id: Oid(*id) })
}

/// Removes the bytes up to and including the next `end`, and returns those before `end`.
fn take_until<'a>(rest: &mut &'a [u8], end: u8) -> Option<&'a [u8]> {
    let mut parts = rest.splitn(2, |byte| *byte == end);
    let taken = parts.next()?;
    let after = parts.next()?;
    *rest = after;
    Some(taken)
}

/// How one path differs between two snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The item in the older snapshot.
    pub old: Option<Item>,
    /// The item in the newer snapshot.
    pub new: Option<Item>,
}

/// The paths in which two snapshots differ.
// rule: diff/preview
pub fn differences<'a>(old: &'a Snapshot, new: &'a Snapshot) -> BTreeMap<&'a Vec<u8>, Difference> {
    let old_paths = old.iter().map(|(path, item)| (path, Some(*item), new.get(path).copied()));
    let added = new.iter().filter(|(path, _)| !old.contains_key(*path));
    let paths = old_paths.chain(added.map(|(path, item)| (path, None, Some(*item))));
    let different = paths.filter(|(_, old, new)| old != new);
    different.map(|(path, old, new)| (path, Difference { old, new })).collect()
}

/// Whether the stored content of a path is damaged, so that no attempt can restore it.
pub fn is_lost(objects: &Objects<'_>, snapshot: &Snapshot, path: &[u8]) -> bool {
    let item = snapshot.get(path);
    let checked = item.map(|item| objects.check(Kind::Blob, item.blob));
    matches!(checked, Some(Err(error)) if error.is_damage())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use std::fs;

    const COMMIT: Oid = Oid::ZERO;

    fn with_objects(check: impl FnOnce(&mut Objects<'_>)) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("pack")).unwrap();
        check(&mut Objects::new(&SystemDisk, folder.path().to_owned()));
    }

    fn entry(bits: u32, name: &str, id: Oid) -> RawEntry {
        RawEntry { bits, name: name.as_bytes().to_vec(), id }
    }

    /// Adds a tree with any entries, in this order.
    fn write_tree(objects: &mut Objects<'_>, entries: Vec<RawEntry>) -> Result<Oid> {
        let entry = |entry: &RawEntry| {
            let head = format!("{:o} ", entry.bits).into_bytes();
            [&head[..], &entry.name, &[0], entry.id.as_bytes()].concat()
        };
        let bytes: Vec<Vec<u8>> = entries.iter().map(entry).collect();
        objects.add(Kind::Tree, &bytes.concat())
    }

    #[test]
    fn read_refuses_trees_that_are_nested_more_deeply_than_the_limit() {
        with_objects(|objects| {
            let blob = objects.add(Kind::Blob, b"x").unwrap();
            let mut outer = write_tree(objects, vec![entry(0o100_644, "file", blob)]).unwrap();
            for _ in 0..DEPTH_MAX {
                outer = write_tree(objects, vec![entry(TREE_BITS, "d", outer)]).unwrap();
            }
            let too_deep = write_tree(objects, vec![entry(TREE_BITS, "d", outer)]).unwrap();
            objects.flush().unwrap();
            assert_eq!(read(objects, COMMIT, outer).unwrap().len(), 1);
            let refused = read(objects, COMMIT, too_deep).unwrap_err();
            assert!(matches!(refused, Error::CorruptCheckpoint { .. }), "{refused}");
        });
    }

    #[test]
    fn unfold_counts_files_and_directories_as_often_as_trees_contain_them() {
        with_objects(|objects| {
            let blob = objects.add(Kind::Blob, b"x").unwrap();
            let files = ["a", "b", "c"].map(|name| entry(0o100_644, name, blob));
            let inner = write_tree(objects, files.into()).unwrap();
            let twice = ["d", "e"].map(|name| entry(TREE_BITS, name, inner));
            let root = write_tree(objects, twice.into()).unwrap();
            objects.flush().unwrap();
            // The last tree is read after three files and two trees were counted.
            let unfolded =
                unfold(objects, COMMIT, root, &Extent { paths_max: 6, ..Extent::ALL }).unwrap();
            assert_eq!(unfolded.len(), 6);
            // Six files, two folders and the root make nine.
            assert!(fits(&unfolded, 9) && !fits(&unfolded, 8));
            let refused =
                unfold(objects, COMMIT, root, &Extent { paths_max: 5, ..Extent::ALL }).unwrap_err();
            assert!(matches!(refused, Error::CorruptCheckpoint { .. }), "{refused}");
        });
    }

    #[test]
    fn read_refuses_names_that_lead_out_of_the_project_or_into_git() {
        with_objects(|objects| {
            let blob = objects.add(Kind::Blob, b"x").unwrap();
            for (name, refused) in [
                ("", true),
                (".", true),
                ("..", true),
                (".git", true),
                ("a/b", true),
                ("...", false),
                (".gitignore", false),
            ] {
                let tree = write_tree(objects, vec![entry(0o100_644, name, blob)]).unwrap();
                objects.flush().unwrap();
                assert_eq!(read(objects, COMMIT, tree).is_err(), refused, "{name:?}");
            }
        });
    }

    #[test]
    fn read_and_links_skip_the_commit_of_a_nested_repository() {
        with_objects(|objects| {
            let blob = objects.add(Kind::Blob, b"x").unwrap();
            let entries = [entry(0o100_755, "file", blob), entry(GITLINK_BITS, "nested", COMMIT)];
            let tree = write_tree(objects, entries.into()).unwrap();
            objects.flush().unwrap();
            let snapshot = read(objects, COMMIT, tree).unwrap();
            assert_eq!(snapshot.into_keys().collect::<Vec<_>>(), [b"file"]);
            let linked = links(tree, &objects.read(Kind::Tree, tree).unwrap()).unwrap();
            assert_eq!(linked.iter().map(|link| link.id).collect::<Vec<_>>(), [blob]);
        });
    }
}
