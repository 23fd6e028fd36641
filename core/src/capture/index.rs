//! The index of a project: the blob of each file, with the stat data that shows whether the file is
//! unchanged. The format is git's index, version 2, so that other tools can use it too.
//!
//! The index also records where each blob was found intact: it contains the mark of the store's file
//! with that blob. The blob is not verified again while nothing touches that file.
//!
//! An index only saves time. An index that is missing, damaged or of another version counts as empty,
//! and an entry that could hide a change is stored without its size, so that it never matches.

use crate::disk::atomic_write::write_soon;
use crate::disk::{Disk, Stat};
use crate::error::Result;
use crate::path::on_disk;
use crate::store::Store;
use crate::store::mark::{Mark, MarkDigest, Moment, RecordedMark};
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::snapshot::{Item, Mode};
use sha1::{Digest, Sha1};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The stat data of a file when it was read, and its blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEntry {
    words: [u32; 10],
    id: Oid,
    /// The digest of the mark of the file in which the blob was intact.
    mark: Option<MarkDigest>,
}

/// The files of a project when they were last read.
#[derive(Debug)]
pub struct Index {
    /// Git's header and its entries, sorted by path; they are read where they are.
    bytes: Vec<u8>,
    /// Where each entry begins.
    starts: Vec<usize>,
    /// For each entry, the digest of the mark of the file in which the blob was intact.
    marks: Vec<Option<MarkDigest>>,
    /// The trees of the last checkpoint, sorted, each with the digest of the mark of the file in which it was
    /// intact.
    trees: Vec<(Oid, MarkDigest)>,
    /// When the index was stored, by the file system's clock; not part of its content.
    written: Option<Moment>,
    /// The entry that is looked up next, if paths are looked up in their order; not part of the content.
    next: AtomicUsize,
}

impl Default for Index {
    fn default() -> Self {
        Index::of(std::iter::empty())
    }
}

impl PartialEq for Index {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes && self.marks == other.marks && self.trees == other.trees
    }
}

/// What an index knows of a file that did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unchanged {
    /// Its item.
    pub item: Item,
    /// Its entry.
    pub entry: FileEntry,
    /// The mark of the file in which its blob was intact.
    pub mark: RecordedMark,
}

/// Size limit of an index in bytes; no index is larger.
const INDEX_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// How many files show whether a directory is the project.
const PROBES_MAX: usize = 64;
/// Positions among the stat words of an entry.
const MODE: usize = 6;
const SIZE: usize = 9;
const HEADER_BYTES: usize = 12;
const WORDS_BYTES: usize = 40;
/// The length of an entry without its name.
const FIXED_BYTES: usize = 62;
const HASH_BYTES: usize = 20;
/// The name of the extension that identifies this tool as the writer. It holds the digest of each entry's mark,
/// and then the id of each tree with such a digest. Git skips an extension whose name begins with a capital,
/// and drops it when git writes the index.
const OUR_EXTENSION: [u8; 4] = *b"HRMA";
/// Written in place of a missing mark; no digest has this value.
const NO_MARK: MarkDigest = [0; Mark::BYTES];
/// Longer names are stored with this length; the terminating NUL marks their end.
const NAME_LENGTH_MAX: usize = 0xfff;
/// The length of a tree's id and its digest.
const TREE_BYTES: usize = HASH_BYTES + Mark::BYTES;

impl FileEntry {
    /// The entry of a file with this stat and item. `settled` means that the file was last changed
    /// before it was read, by the file system's clock: otherwise a change within the same tick would be
    /// missed, and the entry is made never to match.
    pub fn new(stat: &Stat, item: Item, settled: bool) -> Self {
        let mut words = words_of(stat, item.mode);
        // rule: capture/honest
        if !settled {
            words[SIZE] = 0;
        }
        FileEntry { words, id: item.blob, mark: None }
    }

    fn item(&self) -> Option<Item> {
        Some(Item { mode: Mode::from_bits(self.words[MODE])?, blob: self.id })
    }
}

fn words_of(stat: &Stat, mode: Mode) -> [u32; 10] {
    // As in git, only the low 32 bits are kept.
    let low = |value: i64| value as u32;
    [
        low(stat.changed.0),
        low(stat.changed.1),
        low(stat.modified.0),
        low(stat.modified.1),
        stat.device as u32,
        stat.inode as u32,
        mode.bits(),
        stat.user,
        stat.group,
        stat.size as u32,
    ]
}

impl Index {
    /// The index of these files, which are sorted by path.
    pub fn of<'p>(entries: impl Iterator<Item = (&'p [u8], FileEntry)>) -> Self {
        let mut bytes = vec![0; HEADER_BYTES];
        let mut starts = Vec::new();
        let mut marks = Vec::new();
        for (path, entry) in entries {
            let start = bytes.len();
            entry.words.iter().for_each(|word| bytes.extend_from_slice(&word.to_be_bytes()));
            bytes.extend_from_slice(entry.id.as_bytes());
            let length = path.len().min(NAME_LENGTH_MAX) as u16;
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(path);
            bytes.resize(start + entry_bytes(path), 0);
            starts.push(start);
            marks.push(entry.mark);
        }
        bytes[..HEADER_BYTES].copy_from_slice(&header(starts.len()));
        Index { bytes, starts, marks, trees: Vec::new(), written: None, next: AtomicUsize::new(0) }
    }

    /// What is known of a file with this stat, if the file certainly did not change. `started` is the stat of a
    /// file made just now: a younger index was written with another clock, whose times prove nothing.
    // rule: capture/stored
    // rule: cost/unchanged
    pub fn unchanged(&self, path: &[u8], stat: &Stat, started: Option<&Stat>) -> Option<Unchanged> {
        let mode = Mode::of_file(stat);
        let entry = self.entry(path)?;
        let same = entry.words == words_of(stat, mode) && stat.size <= u64::from(u32::MAX);
        // An entry that was stored without its size looks like the entry of an empty file.
        let certain = stat.size > 0;
        let mark = RecordedMark { digest: entry.mark, moment: self.moment(started) };
        let item = entry.item().filter(|_| same && certain)?;
        Some(Unchanged { item, entry, mark })
    }

    /// Whether any of some files is in that directory with the inode and the times that it had in the project:
    /// a directory that is moved keeps its files as they are.
    pub fn is_of(&self, disk: &dyn Disk, directory: &Path) -> bool {
        let step = self.starts.len().div_ceil(PROBES_MAX).max(1);
        (0..self.starts.len()).step_by(step).any(|position| {
            let stat = disk.stat(&on_disk(directory, self.path(self.starts[position])));
            stat.is_ok_and(|stat| {
                let words = words_of(&stat, Mode::of_file(&stat));
                words[..MODE] == self.entry_at(position).words[..MODE]
            })
        })
    }

    fn entry(&self, path: &[u8]) -> Option<FileEntry> {
        let next = self.next.load(Ordering::Relaxed);
        let position = match self.starts.get(next).filter(|start| self.path(**start) == path) {
            Some(_) => next,
            None => self.starts.binary_search_by(|start| self.path(*start).cmp(path)).ok()?,
        };
        self.next.store(position + 1, Ordering::Relaxed);
        Some(self.entry_at(position))
    }

    fn entry_at(&self, position: usize) -> FileEntry {
        let bytes = &self.bytes[self.starts[position]..];
        let (words, _) = bytes.as_chunks();
        let (ids, _) = bytes[WORDS_BYTES..].as_chunks();
        let words = std::array::from_fn(|word| u32::from_be_bytes(words[word]));
        FileEntry { words, id: Oid(ids[0]), mark: self.marks[position] }
    }

    /// The path of the entry that begins there.
    fn path(&self, start: usize) -> &[u8] {
        name_in(&self.bytes[start..]).unwrap_or_default()
    }

    /// When the index was stored, unless that is still to come.
    fn moment(&self, started: Option<&Stat>) -> Option<Moment> {
        let is_past = |moment: &Moment| started.is_none_or(|started| *moment <= started.modified);
        self.written.filter(is_past)
    }

    /// The marks of the files in which the trees were intact. `started` is as in [`Index::unchanged`].
    pub fn recorded_trees(&self, started: &Stat) -> HashMap<Oid, RecordedMark> {
        let moment = self.moment(Some(started));
        let recorded = self
            .trees
            .iter()
            .map(|(id, digest)| (*id, RecordedMark { digest: Some(*digest), moment }));
        recorded.collect()
    }

    /// Records the marks of the files in which the blobs and trees are intact.
    pub fn remember(&mut self, objects: &Objects<'_>) {
        for position in 0..self.marks.len() {
            let FileEntry { id, mark, .. } = self.entry_at(position);
            self.marks[position] = objects.mark(id, mark);
        }
        self.trees = objects.trees().collect();
        self.trees.sort_unstable();
        self.trees.dedup();
    }

    /// Reads an index that this tool wrote. An index of another tool counts as empty: git may have
    /// converted the content before hashing, so that its blobs are not the bytes of the files.
    pub fn parse(bytes: Vec<u8>) -> Index {
        parse(bytes).unwrap_or_default()
    }

    /// The bytes of this index as git reads them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes.extend_from_slice(&OUR_EXTENSION);
        let length = self.marks.len() * Mark::BYTES + self.trees.len() * TREE_BYTES;
        bytes.extend_from_slice(&(length as u32).to_be_bytes());
        for mark in &self.marks {
            bytes.extend_from_slice(&mark.unwrap_or(NO_MARK));
        }
        for (id, digest) in &self.trees {
            bytes.extend_from_slice(id.as_bytes());
            bytes.extend_from_slice(digest);
        }
        let hash = Sha1::digest(&bytes);
        bytes.extend_from_slice(&hash);
        bytes
    }
}

/// The stored index of the project of that hash; empty if it cannot be read, which only costs time.
// rule: maintenance/heals
pub fn load(store: &Store<'_>, hash: &str) -> Index {
    match store.disk.read(&store.path.join(place(hash)), INDEX_BYTES_MAX) {
        Ok((bytes, stat)) => Index { written: Some(stat.modified), ..Index::parse(bytes) },
        Err(_) => Index::default(),
    }
}

/// Stores the index of a project. It need not be durable: whoever finds it damaged reads every file.
pub fn save(store: &Store<'_>, hash: &str, index: &Index) -> Result<()> {
    write_soon(store.disk, &store.path, &place(hash), &index.to_bytes())
}

/// Where the index is in the store.
fn place(hash: &str) -> String {
    format!("indexes/{hash}")
}

fn header(entries: usize) -> [u8; HEADER_BYTES] {
    let mut header = *b"DIRC\0\0\0\x02\0\0\0\0";
    header[8..].copy_from_slice(&(entries as u32).to_be_bytes());
    header
}

/// The length of an entry: one to eight NULs end the name and align the next entry.
fn entry_bytes(name: &[u8]) -> usize {
    let length = FIXED_BYTES + name.len();
    length + 8 - length % 8
}

/// The name in the entry at the beginning of some bytes.
fn name_in(entry: &[u8]) -> Option<&[u8]> {
    let name = entry.get(FIXED_BYTES..)?;
    Some(&name[..name.iter().position(|byte| *byte == 0)?])
}

fn parse(mut bytes: Vec<u8>) -> Option<Index> {
    let body = bytes.len().checked_sub(HASH_BYTES).map(|end| &bytes[..end])?;
    if Sha1::digest(body)[..] != bytes[body.len()..] {
        return None;
    }
    let count = u32::from_be_bytes(*body.get(8..)?.first_chunk()?) as usize;
    if !body.starts_with(&header(count)) {
        return None;
    }
    let mut starts = Vec::new();
    let mut end = HEADER_BYTES;
    let mut before = None;
    for _ in 0..count {
        let name = name_in(body.get(end..)?)?;
        if before >= Some(name) {
            return None;
        }
        before = Some(name);
        starts.push(end);
        end += entry_bytes(name);
    }
    let (length, marks) = body.get(end..)?.strip_prefix(&OUR_EXTENSION)?.split_first_chunk()?;
    let is_complete = u32::from_be_bytes(*length) as usize == marks.len();
    let (marks, trees) = marks.split_at_checked(count * Mark::BYTES)?;
    let (trees, rest) = trees.as_chunks::<TREE_BYTES>();
    if !is_complete || !rest.is_empty() {
        return None;
    }
    // The marks are in the order of the entries.
    let (marks, _) = marks.as_chunks::<{ Mark::BYTES }>();
    let marks = marks.iter().map(|mark| Some(*mark).filter(|mark| *mark != NO_MARK)).collect();
    let tree = |bytes: &[u8; TREE_BYTES]| Some((Oid(*bytes.first_chunk()?), *bytes.last_chunk()?));
    let trees = trees.iter().filter_map(tree).collect();
    bytes.truncate(end);
    Some(Index { bytes, starts, marks, trees, written: None, next: AtomicUsize::new(0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Kind;

    fn stat(size: u64, seconds: i64) -> Stat {
        Stat {
            kind: Kind::File,
            mode: 0o644,
            size,
            modified: (seconds, 5),
            changed: (seconds, 5),
            device: 1,
            inode: 2,
            user: 3,
            group: 4,
        }
    }

    fn item() -> Item {
        Item { mode: Mode::Plain, blob: Oid([7; 20]) }
    }

    fn index_of(paths: &[&[u8]], item: Item) -> Index {
        Index::of(paths.iter().map(|path| (*path, FileEntry::new(&stat(9, 100), item, true))))
    }

    #[test]
    fn parse_reads_what_to_bytes_wrote() {
        let mut index = index_of(&[b"a", b"dir/b\n", &[b'x'; 5000], b"\xff"], item());
        index.trees = vec![(Oid([1; 20]), [2; Mark::BYTES]), (Oid([3; 20]), [4; Mark::BYTES])];
        let read = Index::parse(index.to_bytes());
        assert_eq!(read, index);
        let unchanged = |path: &[u8], stat: &Stat| {
            read.unchanged(path, stat, None).map(|unchanged| unchanged.item)
        };
        for path in [&b"\xff"[..], b"a", b"dir/b\n", b"a"] {
            assert_eq!(unchanged(path, &stat(9, 100)), Some(item()));
        }
        assert_eq!(unchanged(b"a", &stat(9, 101)), None);
        assert_eq!(unchanged(b"b", &stat(9, 100)), None);
        assert_eq!(unchanged(b"a", &Stat { mode: 0o755, ..stat(9, 100) }), None);
    }

    #[test]
    fn recorded_mark_returns_no_mark_from_an_index_written_in_the_future() {
        let mut index = index_of(&[b"a", b"b", b"c"], item());
        let mark = Mark::of(b"", &[stat(9, 100)]);
        index.marks[..2].fill(Some(mark.digest()));
        index.trees = vec![(Oid([1; 20]), mark.digest())];
        let mut read = Index::parse(index.to_bytes());
        assert_eq!(read, index);
        read.written = Some((200, 5));
        let is_unchanged = |path: &[u8], now| {
            let unchanged = read.unchanged(path, &stat(9, 100), Some(&stat(1, now)));
            unchanged.is_some_and(|unchanged| mark.is_unchanged_since(&unchanged.mark))
        };
        let is_tree_unchanged =
            |now| mark.is_unchanged_since(&read.recorded_trees(&stat(1, now))[&Oid([1; 20])]);
        assert!(is_tree_unchanged(200) && !is_tree_unchanged(199));
        assert!(is_unchanged(b"a", 200) && is_unchanged(b"b", 201));
        assert!(!is_unchanged(b"a", 199), "the index is of a time that is still to come");
        assert!(!is_unchanged(b"c", 201) && !is_unchanged(b"d", 201));
    }

    #[test]
    fn unchanged_never_matches_an_entry_that_could_hide_a_change() {
        let is_unchanged = |stat: &Stat, settled| {
            let index = Index::of([(&b"a"[..], FileEntry::new(stat, item(), settled))].into_iter());
            index.unchanged(b"a", stat, None).is_some()
        };
        assert!(!is_unchanged(&stat(9, 100), false));
        // An entry holds 32 bits of a size, and a size of 0 means that no size was recorded.
        for size in [0, 1 << 32] {
            assert!(!is_unchanged(&stat(size, 100), true), "{size}");
        }
        assert!(is_unchanged(&stat(u64::from(u32::MAX), 100), true));
    }

    #[test]
    fn parse_returns_an_empty_index_for_damage_another_version_or_another_tool() {
        let index = index_of(&[b"a"], item());
        let bytes = index.to_bytes();
        let hashed = |mut body: Vec<u8>| {
            let hash = Sha1::digest(&body);
            body.extend_from_slice(&hash);
            body
        };
        let body = &bytes[..bytes.len() - HASH_BYTES];
        assert_eq!(hashed(body.to_vec()), bytes);
        for position in [0, 7] {
            let mut changed = body.to_vec();
            changed[position] += 1;
            assert_eq!(Index::parse(hashed(changed)), Index::default(), "byte {position}");
        }
        let extension = OUR_EXTENSION.len() + 4 + Mark::BYTES;
        let without_extension = body[..body.len() - extension].to_vec();
        assert_eq!(Index::parse(hashed(without_extension.clone())), Index::default());
        // An index from before marks were recorded.
        let without_marks = [&without_extension[..], &OUR_EXTENSION, &[0; 4]].concat();
        assert_eq!(Index::parse(hashed(without_marks)), Index::default());
        let unsorted = index_of(&[b"b", b"a"], item());
        assert_eq!(Index::parse(unsorted.to_bytes()), Index::default());
        for length in [Mark::BYTES - 1, Mark::BYTES + 1, 2 * Mark::BYTES] {
            let stated = (length as u32).to_be_bytes();
            let wrong_length =
                [&without_extension[..], &OUR_EXTENSION, &stated, &vec![1; length]].concat();
            assert_eq!(Index::parse(hashed(wrong_length)), Index::default(), "{length}");
        }
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1;
            assert_eq!(Index::parse(damaged), Index::default());
            assert_eq!(Index::parse(bytes[..position].to_vec()), Index::default());
        }
    }
}
