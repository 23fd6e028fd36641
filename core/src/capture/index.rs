//! The index of a project: the blob of each file, with the stat data that shows whether the file is
//! unchanged. The format is git's index, version 2, so that other tools can use it too.
//!
//! The index also records where each blob was found intact: it contains the mark of the store's file
//! with that blob. The blob is not verified again while nothing touches that file.
//!
//! An index only saves time. An index that is missing, damaged or of another version counts as empty,
//! and an entry that could hide a change is stored without its size, so that it never matches.

use crate::disk::Stat;
use crate::disk::atomic_write::write_atomically;
use crate::error::Result;
use crate::store::Store;
use crate::store::mark::{Mark, Moment, RecordedMark};
use crate::store::oid::Oid;
use crate::store::snapshot::{Item, Mode};
use sha1::{Digest, Sha1};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The stat data of a file when it was read, and its blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEntry {
    words: [u32; 10],
    id: Oid,
    /// The digest of the mark of the file in which the blob was intact.
    mark: Option<[u8; Mark::BYTES]>,
}

/// The files of a project when they were last read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    entries: BTreeMap<Vec<u8>, FileEntry>,
    /// When the index was stored; not part of its content.
    written: Written,
}

/// Seconds and nanoseconds of the file system's clock. Any two of these compare as equal, so that
/// indexes are compared by their entries.
#[derive(Clone, Copy, Debug, Default)]
struct Written(Option<Moment>);

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Written {}

/// Size limit of an index in bytes; no index is larger.
const INDEX_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Positions among the stat words of an entry.
const MODE: usize = 6;
const SIZE: usize = 9;
const FIXED_BYTES: usize = 62;
const HASH_BYTES: usize = 20;
/// The name of the extension that identifies this tool as the writer, and holds the digest of each
/// entry's mark. Git skips an extension whose name begins with a capital, and drops it when git writes
/// the index.
const OUR_EXTENSION: [u8; 4] = *b"HRMA";
/// Written in place of a missing mark; no digest has this value.
const NO_MARK: [u8; Mark::BYTES] = [0; Mark::BYTES];
/// Longer names are stored with this length; the terminating NUL marks their end.
const NAME_LENGTH_MAX: usize = 0xfff;

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
    /// The item of a file with this stat, if the file certainly did not change.
    pub fn unchanged(&self, path: &[u8], stat: &Stat, mode: Mode) -> Option<Item> {
        let entry = self.entries.get(path)?;
        let same = entry.words == words_of(stat, mode) && stat.size <= u64::from(u32::MAX);
        // An entry that was stored without its size looks like the entry of an empty file.
        let certain = stat.size > 0;
        if same && certain { entry.item() } else { None }
    }

    /// The mark of the file in which the blob of a project's file was intact. `started` is the stat of a
    /// file made just now: a younger index was written with another clock, whose times prove nothing.
    // rule: capture/stored
    // rule: cost/unchanged
    pub fn recorded_mark(&self, path: &[u8], started: Option<&Stat>) -> RecordedMark {
        let is_past = |moment: &Moment| started.is_none_or(|started| *moment <= started.modified);
        let digest = self.entries.get(path).and_then(|entry| entry.mark);
        RecordedMark { digest, moment: self.written.0.filter(is_past) }
    }

    /// Records a file.
    pub fn insert(&mut self, path: Vec<u8>, entry: FileEntry) {
        self.entries.insert(path, entry);
    }

    /// Records the marks of the files in which the blobs are intact.
    pub fn remember(&mut self, mark_of: impl Fn(Oid) -> Option<Mark>) {
        for entry in self.entries.values_mut() {
            entry.mark = mark_of(entry.id).map(|mark| mark.digest());
        }
    }

    /// Reads an index that this tool wrote. An index of another tool counts as empty: git may have
    /// converted the content before hashing, so that its blobs are not the bytes of the files.
    pub fn parse(bytes: &[u8]) -> Index {
        parse(bytes).unwrap_or_default()
    }

    /// The bytes of this index as git reads them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend_from_slice(&2u32.to_be_bytes());
        bytes.extend_from_slice(&(self.entries.len() as u32).to_be_bytes());
        for (path, entry) in &self.entries {
            let start = bytes.len();
            for word in entry.words {
                bytes.extend_from_slice(&word.to_be_bytes());
            }
            bytes.extend_from_slice(entry.id.as_bytes());
            let length = path.len().min(NAME_LENGTH_MAX) as u16;
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(path);
            // One to eight NULs end the name and align the next entry.
            let padding = 8 - (bytes.len() - start) % 8;
            bytes.extend(std::iter::repeat_n(0, padding));
        }
        bytes.extend_from_slice(&OUR_EXTENSION);
        bytes.extend_from_slice(&((self.entries.len() * Mark::BYTES) as u32).to_be_bytes());
        for entry in self.entries.values() {
            bytes.extend_from_slice(&entry.mark.unwrap_or(NO_MARK));
        }
        let hash = Sha1::digest(&bytes);
        bytes.extend_from_slice(&hash);
        bytes
    }
}

/// The stored index of the project of that hash; empty if it cannot be read, which only costs time.
// rule: maintenance/heals
pub fn load(store: &Store<'_>, hash: &str) -> Index {
    match store.disk.read(&path_of(store, hash), INDEX_BYTES_MAX) {
        Ok((bytes, stat)) => {
            Index { written: Written(Some(stat.modified)), ..Index::parse(&bytes) }
        }
        Err(_) => Index::default(),
    }
}

/// Stores the index of a project.
pub fn save(store: &Store<'_>, hash: &str, index: &Index) -> Result<()> {
    let name = format!("index-{hash}");
    write_atomically(store.disk, &store.path, &name, &index.to_bytes(), &path_of(store, hash))
}

/// The path of the stored index.
fn path_of(store: &Store<'_>, hash: &str) -> PathBuf {
    store.path.join("indexes").join(hash)
}

fn parse(bytes: &[u8]) -> Option<Index> {
    let body = bytes.len().checked_sub(HASH_BYTES).map(|end| &bytes[..end])?;
    if Sha1::digest(body)[..] != bytes[body.len()..] {
        return None;
    }
    let word = |offset: usize| -> Option<u32> {
        Some(u32::from_be_bytes(body.get(offset..offset + 4)?.try_into().ok()?))
    };
    if body.get(..4)? != b"DIRC" || word(4)? != 2 {
        return None;
    }
    let mut index = Index::default();
    let mut offset = 12;
    for _ in 0..word(8)? {
        let mut words = [0; 10];
        for (position, value) in words.iter_mut().enumerate() {
            *value = word(offset + 4 * position)?;
        }
        let id = Oid(*body.get(offset + 40..)?.first_chunk()?);
        let name = body.get(offset + FIXED_BYTES..)?;
        let name = &name[..name.iter().position(|byte| *byte == 0)?];
        index.entries.insert(name.to_vec(), FileEntry { words, id, mark: None });
        let length = FIXED_BYTES + name.len();
        offset += length + 8 - length % 8;
    }
    let (length, marks) = body.get(offset..)?.strip_prefix(&OUR_EXTENSION)?.split_first_chunk()?;
    let (marks, rest) = marks.as_chunks::<{ Mark::BYTES }>();
    let length = u32::from_be_bytes(*length) as usize;
    if marks.len() != index.entries.len() || length != marks.len() * Mark::BYTES || !rest.is_empty()
    {
        return None;
    }
    // The marks are in the order of the entries.
    for (entry, mark) in index.entries.values_mut().zip(marks) {
        entry.mark = Some(*mark).filter(|mark| *mark != NO_MARK);
    }
    Some(index)
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

    #[test]
    fn parse_reads_what_to_bytes_wrote() {
        let mut index = Index::default();
        for path in [&b"a"[..], b"dir/b\n", &[b'x'; 5000], b"\xff"] {
            index.insert(path.to_vec(), FileEntry::new(&stat(9, 100), item(), true));
        }
        let read = Index::parse(&index.to_bytes());
        assert_eq!(read, index);
        assert_eq!(read.unchanged(b"a", &stat(9, 100), Mode::Plain), Some(item()));
        assert_eq!(read.unchanged(b"a", &stat(9, 101), Mode::Plain), None);
        assert_eq!(read.unchanged(b"a", &stat(9, 100), Mode::Executable), None);
    }

    #[test]
    fn recorded_mark_returns_no_mark_from_an_index_written_in_the_future() {
        let mut index = Index::default();
        for path in [&b"a"[..], b"b"] {
            index.insert(path.to_vec(), FileEntry::new(&stat(9, 100), item(), true));
        }
        let unmarked = Item { blob: Oid([8; 20]), ..item() };
        index.insert(b"c".to_vec(), FileEntry::new(&stat(9, 100), unmarked, true));
        let mark = Mark::of(b"", &[stat(9, 100)]);
        index.remember(|id| (id == item().blob).then_some(mark));
        let mut read = Index::parse(&index.to_bytes());
        assert_eq!(read, index);
        read.written = Written(Some((200, 5)));
        let is_unchanged = |path: &[u8], now| {
            mark.is_unchanged_since(&read.recorded_mark(path, Some(&stat(1, now))))
        };
        assert!(is_unchanged(b"a", 200) && is_unchanged(b"b", 201));
        assert!(!is_unchanged(b"a", 199), "the index is of a time that is still to come");
        assert!(!is_unchanged(b"c", 201) && !is_unchanged(b"d", 201));
    }

    #[test]
    fn unchanged_never_matches_an_entry_that_could_hide_a_change() {
        let mut index = Index::default();
        index.insert(b"a".to_vec(), FileEntry::new(&stat(9, 100), item(), false));
        assert_eq!(index.unchanged(b"a", &stat(9, 100), Mode::Plain), None);
        // An entry holds 32 bits of a size, and a size of 0 means that no size was recorded.
        for size in [0, 1 << 32] {
            index.insert(b"a".to_vec(), FileEntry::new(&stat(size, 100), item(), true));
            assert_eq!(index.unchanged(b"a", &stat(size, 100), Mode::Plain), None, "{size}");
        }
        let largest = stat(u64::from(u32::MAX), 100);
        index.insert(b"a".to_vec(), FileEntry::new(&largest, item(), true));
        assert_eq!(index.unchanged(b"a", &largest, Mode::Plain), Some(item()));
    }

    #[test]
    fn parse_returns_an_empty_index_for_damage_another_version_or_another_tool() {
        let mut index = Index::default();
        index.insert(b"a".to_vec(), FileEntry::new(&stat(9, 100), item(), true));
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
            assert_eq!(Index::parse(&hashed(changed)), Index::default(), "byte {position}");
        }
        let extension = OUR_EXTENSION.len() + 4 + Mark::BYTES;
        let without_extension = body[..body.len() - extension].to_vec();
        assert_eq!(Index::parse(&hashed(without_extension.clone())), Index::default());
        // An index from before marks were recorded.
        let without_marks = [&without_extension[..], &OUR_EXTENSION, &[0; 4]].concat();
        assert_eq!(Index::parse(&hashed(without_marks)), Index::default());
        for length in [Mark::BYTES - 1, Mark::BYTES + 1, 2 * Mark::BYTES] {
            let stated = (length as u32).to_be_bytes();
            let wrong_length =
                [&without_extension[..], &OUR_EXTENSION, &stated, &vec![1; length]].concat();
            assert_eq!(Index::parse(&hashed(wrong_length)), Index::default(), "{length}");
        }
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1;
            assert_eq!(Index::parse(&damaged), Index::default());
            assert_eq!(Index::parse(&bytes[..position]), Index::default());
        }
    }
}
