//! The index of a project: which blob each file was, with the stat data that tells whether it
//! still is. The format is git's own index, version 2, so that other tools can use it too.
//!
//! Beside that it remembers the file of the store in which each blob was whole, so that this is not
//! read again as long as nothing touches it.
//!
//! An index only saves time. One that is missing, damaged or of another version counts as empty,
//! and an entry that could hide a change is stored without its size, so that it never matches.

use crate::disk::Stat;
use crate::disk::atomic_write::write_whole;
use crate::error::Result;
use crate::store::Store;
use crate::store::mark::{Mark, Moment, Seen};
use crate::store::snapshot::{Item, Mode};
use git2::Oid;
use sha1::{Digest, Sha1};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What was known of a file when its blob was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    words: [u32; 10],
    id: Oid,
    /// The digest of the mark of the file in which the blob was whole.
    mark: Option<[u8; Mark::BYTES]>,
}

/// The files of a project as they were seen last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    entries: BTreeMap<Vec<u8>, Known>,
    /// When it was stored; not a part of what it says.
    written: Written,
}

/// Seconds and nanoseconds of the file system's clock. Any two of these are equal, so that indexes
/// are compared by their entries.
#[derive(Clone, Copy, Debug, Default)]
struct Written(Option<Moment>);

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Written {}

/// More bytes than the index of any project takes.
const INDEX_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Positions of the stat words of an entry.
const MODE: usize = 6;
const SIZE: usize = 9;
const FIXED_BYTES: usize = 62;
const HASH_BYTES: usize = 20;
/// The name of the extension that says who wrote the index, and then the digest of each entry's mark.
/// Git skips one whose name begins with a capital, and drops it when it writes the index itself.
const OUR_EXTENSION: [u8; 4] = *b"HRMA";
/// No mark, since none is made of these.
const NO_MARK: [u8; Mark::BYTES] = [0; Mark::BYTES];
/// Longer names are stored with this length; the terminating NUL says where they end.
const NAME_LENGTH_MAX: usize = 0xfff;

impl Known {
    /// What to remember of a file with this stat and item. `settled` says that the file was last
    /// changed before it was read, by the file system's own clock: otherwise a change within the
    /// same tick would go unseen, and the entry is made never to match.
    pub fn new(stat: &Stat, item: Item, settled: bool) -> Self {
        let mut words = words_of(stat, item.mode);
        // rule: capture/honest
        if !settled {
            words[SIZE] = 0;
        }
        Known { words, id: item.blob, mark: None }
    }

    fn item(&self) -> Option<Item> {
        Some(Item { mode: Mode::from_bits(self.words[MODE])?, blob: self.id })
    }
}

fn words_of(stat: &Stat, mode: Mode) -> [u32; 10] {
    // Git keeps the low 32 bits of everything; so do we.
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
    /// The item of a file with this stat, if it is certain that it did not change.
    pub fn unchanged(&self, path: &[u8], stat: &Stat, mode: Mode) -> Option<Item> {
        let known = self.entries.get(path)?;
        let same = known.words == words_of(stat, mode) && stat.size <= u64::from(u32::MAX);
        // An entry stored without its size looks like that of an empty file.
        let certain = stat.size > 0;
        if same && certain { known.item() } else { None }
    }

    /// Where the blob of a file was whole. `started` is the stat of a file made just now: an index that
    /// is younger was written by another clock, which says nothing.
    // rule: capture/stored
    pub fn seen_whole(&self, path: &[u8], started: Option<&Stat>) -> Seen {
        let is_past = |moment: &Moment| started.is_none_or(|started| *moment <= started.modified);
        let digest = self.entries.get(path).and_then(|known| known.mark);
        Seen { digest, moment: self.written.0.filter(is_past) }
    }

    /// Remembers a file.
    pub fn insert(&mut self, path: Vec<u8>, known: Known) {
        self.entries.insert(path, known);
    }

    /// Remembers where the blobs are whole.
    pub fn remember(&mut self, mark_of: impl Fn(Oid) -> Option<Mark>) {
        for known in self.entries.values_mut() {
            known.mark = mark_of(known.id).map(|mark| mark.digest());
        }
    }

    /// Reads an index that was written here. One that another tool wrote counts as empty: git
    /// may have converted what it hashed, so that its blobs are not the files' bytes.
    pub fn parse(bytes: &[u8]) -> Index {
        parse(bytes).unwrap_or_default()
    }

    /// The bytes of this index as git reads them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend_from_slice(&2u32.to_be_bytes());
        bytes.extend_from_slice(&(self.entries.len() as u32).to_be_bytes());
        for (path, known) in &self.entries {
            let start = bytes.len();
            for word in known.words {
                bytes.extend_from_slice(&word.to_be_bytes());
            }
            bytes.extend_from_slice(known.id.as_bytes());
            let length = path.len().min(NAME_LENGTH_MAX) as u16;
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(path);
            // One to eight NULs end the name and align the next entry.
            let padding = 8 - (bytes.len() - start) % 8;
            bytes.extend(std::iter::repeat_n(0, padding));
        }
        bytes.extend_from_slice(&OUR_EXTENSION);
        bytes.extend_from_slice(&((self.entries.len() * Mark::BYTES) as u32).to_be_bytes());
        for known in self.entries.values() {
            bytes.extend_from_slice(&known.mark.unwrap_or(NO_MARK));
        }
        let hash = Sha1::digest(&bytes);
        bytes.extend_from_slice(&hash);
        bytes
    }
}

/// The stored index of the project of that hash. One that cannot be read only costs time.
// rule: maintenance/heals
pub fn load(store: &Store<'_>, hash: &str) -> Index {
    match store.disk.read(&path_of(store, hash), INDEX_BYTES_MAX) {
        Ok((bytes, stat)) => {
            Index { written: Written(Some(stat.modified)), ..Index::parse(&bytes) }
        }
        Err(_) => Index::default(),
    }
}

/// Stores it.
pub fn save(store: &Store<'_>, hash: &str, index: &Index) -> Result<()> {
    let name = format!("index-{hash}");
    write_whole(store.disk, &store.path, &name, &index.to_bytes(), &path_of(store, hash))
}

/// Where it is stored.
fn path_of(store: &Store<'_>, hash: &str) -> PathBuf {
    store.path.join("indexes").join(hash)
}

fn parse(bytes: &[u8]) -> Option<Index> {
    let body = bytes.len().checked_sub(HASH_BYTES).map(|end| &bytes[..end])?;
    if Sha1::digest(body)[..] != bytes[body.len()..] {
        return None;
    }
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_be_bytes(body.get(at..at + 4)?.try_into().ok()?))
    };
    if body.get(..4)? != b"DIRC" || word(4)? != 2 {
        return None;
    }
    let mut index = Index::default();
    let mut at = 12;
    for _ in 0..word(8)? {
        let mut words = [0; 10];
        for (position, value) in words.iter_mut().enumerate() {
            *value = word(at + 4 * position)?;
        }
        let id = Oid::from_bytes(body.get(at + 40..at + 60)?).ok()?;
        let name = body.get(at + FIXED_BYTES..)?;
        let name = &name[..name.iter().position(|byte| *byte == 0)?];
        index.entries.insert(name.to_vec(), Known { words, id, mark: None });
        let length = FIXED_BYTES + name.len();
        at += length + 8 - length % 8;
    }
    let (length, marks) = body.get(at..)?.strip_prefix(&OUR_EXTENSION)?.split_first_chunk()?;
    let (marks, rest) = marks.as_chunks::<{ Mark::BYTES }>();
    let length = u32::from_be_bytes(*length) as usize;
    if marks.len() != index.entries.len() || length != marks.len() * Mark::BYTES || !rest.is_empty()
    {
        return None;
    }
    // The entries were written in the order in which they are here.
    for (known, mark) in index.entries.values_mut().zip(marks) {
        known.mark = Some(*mark).filter(|mark| *mark != NO_MARK);
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
        Item { mode: Mode::Plain, blob: Oid::from_bytes(&[7; 20]).unwrap() }
    }

    #[test]
    fn an_index_reads_back_as_it_was_written() {
        let mut index = Index::default();
        for path in [&b"a"[..], b"dir/b\n", &[b'x'; 5000], b"\xff"] {
            index.insert(path.to_vec(), Known::new(&stat(9, 100), item(), true));
        }
        let read = Index::parse(&index.to_bytes());
        assert_eq!(read, index);
        assert_eq!(read.unchanged(b"a", &stat(9, 100), Mode::Plain), Some(item()));
        assert_eq!(read.unchanged(b"a", &stat(9, 101), Mode::Plain), None);
        assert_eq!(read.unchanged(b"a", &stat(9, 100), Mode::Executable), None);
    }

    #[test]
    fn where_a_blob_was_whole_is_remembered_until_an_index_of_a_time_to_come() {
        let mut index = Index::default();
        for path in [&b"a"[..], b"b"] {
            index.insert(path.to_vec(), Known::new(&stat(9, 100), item(), true));
        }
        let other = Item { blob: Oid::from_bytes(&[8; 20]).unwrap(), ..item() };
        index.insert(b"c".to_vec(), Known::new(&stat(9, 100), other, true));
        let mark = Mark::of(b"", &[stat(9, 100)]);
        index.remember(|id| (id == item().blob).then_some(mark));
        let mut read = Index::parse(&index.to_bytes());
        assert_eq!(read, index);
        read.written = Written(Some((200, 5)));
        let is_still =
            |path: &[u8], now| mark.is_still(&read.seen_whole(path, Some(&stat(1, now))));
        assert!(is_still(b"a", 200) && is_still(b"b", 201));
        assert!(!is_still(b"a", 199), "the index is of a time that is still to come");
        assert!(!is_still(b"c", 201) && !is_still(b"d", 201));
    }

    #[test]
    fn an_entry_that_could_hide_a_change_never_matches() {
        let mut index = Index::default();
        index.insert(b"a".to_vec(), Known::new(&stat(9, 100), item(), false));
        assert_eq!(index.unchanged(b"a", &stat(9, 100), Mode::Plain), None);
        // An entry holds 32 bits of a size, and a size of 0 means that none was recorded.
        for size in [0, 1 << 32] {
            index.insert(b"a".to_vec(), Known::new(&stat(size, 100), item(), true));
            assert_eq!(index.unchanged(b"a", &stat(size, 100), Mode::Plain), None, "{size}");
        }
        let largest = stat(u64::from(u32::MAX), 100);
        index.insert(b"a".to_vec(), Known::new(&largest, item(), true));
        assert_eq!(index.unchanged(b"a", &largest, Mode::Plain), Some(item()));
    }

    #[test]
    fn what_is_damaged_or_of_another_format_version_or_tool_counts_as_empty() {
        let mut index = Index::default();
        index.insert(b"a".to_vec(), Known::new(&stat(9, 100), item(), true));
        let bytes = index.to_bytes();
        let hashed = |mut body: Vec<u8>| {
            let hash = Sha1::digest(&body);
            body.extend_from_slice(&hash);
            body
        };
        let body = &bytes[..bytes.len() - HASH_BYTES];
        assert_eq!(hashed(body.to_vec()), bytes);
        for place in [0, 7] {
            let mut other = body.to_vec();
            other[place] += 1;
            assert_eq!(Index::parse(&hashed(other)), Index::default(), "byte {place}");
        }
        let extension = OUR_EXTENSION.len() + 4 + Mark::BYTES;
        let foreign = body[..body.len() - extension].to_vec();
        assert_eq!(Index::parse(&hashed(foreign.clone())), Index::default());
        // What was written here before it remembered marks.
        let before = [&foreign[..], &OUR_EXTENSION, &[0; 4]].concat();
        assert_eq!(Index::parse(&hashed(before)), Index::default());
        for length in [Mark::BYTES - 1, Mark::BYTES + 1, 2 * Mark::BYTES] {
            let said = (length as u32).to_be_bytes();
            let other = [&foreign[..], &OUR_EXTENSION, &said, &vec![1; length]].concat();
            assert_eq!(Index::parse(&hashed(other)), Index::default(), "{length}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(Index::parse(&damaged), Index::default());
            assert_eq!(Index::parse(&bytes[..at]), Index::default());
        }
    }
}
