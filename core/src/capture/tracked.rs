//! The paths that the project's own git repository tracks, from its index. They are captured even where
//! the default excludes name them.
//!
//! The index is read as a file, so that no hook or setting of the repository has an effect and nothing is
//! written. An index that is damaged or of an unknown version tracks nothing, as if it were missing, but a
//! checkpoint tells that.
//! A repository names its objects by SHA-1 or SHA-256, and the checksum of its index tells which.

use super::together::Scan;
use crate::disk::{Disk, Kind, is_absence};
use sha1::{Digest, Sha1};
use sha2::Sha256;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Size limit of an index in bytes, which suffices for millions of files.
const INDEX_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Size limit of a `.git` file, which holds a path.
const LINK_BYTES_MAX: u64 = 64 * 1024;
const SHA1_BYTES: usize = 20;
const SHA256_BYTES: usize = 32;
const HEAD_BYTES: usize = 12;
/// The bytes of an entry before its id.
const STAT_BYTES: usize = 40;
/// Where the mode is in an entry.
const MODE_OFFSET: usize = 24;
/// The type of a file in a mode, and the types of regular files and links: others are submodules and folders.
const TYPE_MASK: u32 = 0o170_000;
const FILE_TYPES: [u32; 2] = [0o100_000, 0o120_000];
/// The flag of an entry with two more bytes of flags.
const EXTENDED: u8 = 0x40;

/// What git tracks of a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tracked {
    /// The files and links, sorted.
    paths: Vec<Vec<u8>>,
    /// Whether there is an index, but it cannot be read.
    pub is_unknown: bool,
}

impl Tracked {
    /// The tracked paths of the repository whose `.git`, of that kind, is in the root.
    pub fn read(scan: &Scan<'_>, kind: Kind) -> Self {
        let Scan { disk, root, .. } = *scan;
        let own = root.join(".git");
        let repository = match kind {
            Kind::File => linked(disk, root, &own).unwrap_or(own),
            Kind::Link => disk.read_link(&own).map_or(own, |to| root.join(OsStr::from_bytes(&to))),
            Kind::Directory | Kind::Special => own,
        };
        let read = |name: &str| match disk.read(&repository.join(name), INDEX_BYTES_MAX) {
            Ok((bytes, _)) => parse(&bytes),
            // A new repository has none.
            Err(error) if is_absence(&error) && name == "index" => Some(GitIndex::default()),
            Err(_) => None,
        };
        let index = read("index");
        let mut is_unknown = index.is_none();
        let GitIndex { mut paths, shared } = index.unwrap_or_default();
        if let Some(shared) = shared {
            let base = read(&format!("sharedindex.{shared}"));
            is_unknown = base.is_none();
            // A path that was removed since the index was split counts as tracked, which only captures more.
            paths.extend(base.unwrap_or_default().paths);
        }
        // A path in a conflict has several entries.
        paths.sort_unstable();
        paths.dedup();
        Tracked { paths, is_unknown }
    }

    /// Whether this file or link is tracked.
    pub fn has(&self, path: &[u8]) -> bool {
        self.paths.binary_search_by(|tracked| tracked[..].cmp(path)).is_ok()
    }

    /// Whether any path in this folder is tracked.
    pub fn has_below(&self, folder: &[u8]) -> bool {
        let start = [folder, b"/"].concat();
        let position = self.paths.partition_point(|tracked| *tracked < start);
        self.paths.get(position).is_some_and(|tracked| tracked.starts_with(&start))
    }
}

/// What one file of an index holds.
#[derive(Debug, Default, PartialEq, Eq)]
struct GitIndex {
    /// The files and links.
    paths: Vec<Vec<u8>>,
    /// The id of the file with the other entries, if the index is split.
    shared: Option<String>,
}

/// The folder of the repository that the file `.git` of a linked worktree names.
fn linked(disk: &dyn Disk, root: &Path, file: &Path) -> Option<PathBuf> {
    let (text, _) = disk.read(file, LINK_BYTES_MAX).ok()?;
    let path = text.trim_ascii_end().strip_prefix(b"gitdir: ")?;
    Some(root.join(OsStr::from_bytes(path)))
}

/// The number of bytes of the checksum at the end of an index, and of each id in it; `None` if it is damaged.
fn hash_bytes(bytes: &[u8]) -> Option<usize> {
    let (body, sha1) = bytes.split_last_chunk::<SHA1_BYTES>()?;
    if *sha1 == Sha1::digest(body)[..] {
        return Some(SHA1_BYTES);
    }
    // Git writes zeros where the checksum is switched off.
    match bytes.split_last_chunk::<SHA256_BYTES>() {
        Some((body, sum)) if *sum == [0; SHA256_BYTES] || *sum == Sha256::digest(body)[..] => {
            Some(SHA256_BYTES)
        }
        _ => (*sha1 == [0; SHA1_BYTES]).then_some(SHA1_BYTES),
    }
}

fn parse(bytes: &[u8]) -> Option<GitIndex> {
    let hash_bytes = hash_bytes(bytes)?;
    let body = &bytes[..bytes.len() - hash_bytes];
    let flags = STAT_BYTES + hash_bytes;
    let word = |offset: usize| -> Option<u32> {
        Some(u32::from_be_bytes(body.get(offset..offset + 4)?.try_into().ok()?))
    };
    let version =
        word(4).filter(|version| body.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let mut paths: Vec<Vec<u8>> = Vec::new();
    let mut name = Vec::new();
    let mut offset = HEAD_BYTES;
    for _ in 0..word(8)? {
        let mode = word(offset + MODE_OFFSET)?;
        let has_more_flags = body.get(offset + flags)? & EXTENDED != 0;
        let mut start = offset + flags + if has_more_flags { 4 } else { 2 };
        let kept = match version {
            // Each name begins like the one before, except its last bytes.
            4 => name.len().checked_sub(dropped(body, &mut start)?)?,
            _ => 0,
        };
        let rest = body.get(start..)?;
        let rest = &rest[..rest.iter().position(|byte| *byte == 0)?];
        name.truncate(kept);
        name.extend_from_slice(rest);
        let end = start + rest.len();
        // One to eight NULs align the next entry, in version 4 only one.
        offset = if version == 4 { end + 1 } else { end + 8 - (end - offset) % 8 };
        // An entry without a name replaces one of the shared index.
        if FILE_TYPES.contains(&(mode & TYPE_MASK)) && !name.is_empty() {
            paths.push(name.clone());
        }
    }
    Some(GitIndex { paths, shared: shared(body, offset, hash_bytes)? })
}

/// Reads the number of bytes of the name before that an entry of version 4 drops, and moves `offset` past it.
fn dropped(body: &[u8], offset: &mut usize) -> Option<usize> {
    let mut value = 0usize;
    loop {
        let byte = *body.get(*offset)?;
        *offset += 1;
        value |= usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?.checked_mul(0x80)?;
    }
}

/// The id in the extension that refers to a file with the other entries, if there is one; `None` if the extensions
/// are cut off.
fn shared(body: &[u8], start: usize, hash_bytes: usize) -> Option<Option<String>> {
    let mut rest = body.get(start..).unwrap_or_default();
    while let Some((name, after)) = rest.split_first_chunk::<4>() {
        let (length, content) = after.split_first_chunk::<4>()?;
        let (content, next) = content.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        if name == b"link" {
            let id = content.get(..hash_bytes)?;
            return Some(Some(id.iter().map(|byte| format!("{byte:02x}")).collect()));
        }
        rest = next;
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of version 2 with these paths and modes.
    fn index(entries: &[(&str, u32)], extension: &[u8]) -> Vec<u8> {
        let mut bytes = unsealed(entries, extension, SHA1_BYTES);
        let checksum = Sha1::digest(&bytes);
        bytes.extend_from_slice(&checksum);
        bytes
    }

    /// An index without its checksum.
    fn unsealed(entries: &[(&str, u32)], extension: &[u8], hash_bytes: usize) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x02".to_vec();
        bytes.extend_from_slice(&(entries.len() as u32).to_be_bytes());
        for (path, mode) in entries {
            let start = bytes.len();
            bytes.resize(start + MODE_OFFSET, 0);
            bytes.extend_from_slice(&mode.to_be_bytes());
            bytes.resize(start + STAT_BYTES, 0);
            bytes.resize(start + STAT_BYTES + hash_bytes, 0xa5);
            bytes.extend_from_slice(&[0; 2]);
            bytes.extend_from_slice(path.as_bytes());
            let length = bytes.len() - start;
            bytes.resize(bytes.len() + 8 - length % 8, 0);
        }
        bytes.extend_from_slice(extension);
        bytes
    }

    #[test]
    fn parse_reads_an_index_with_sha256_also_without_a_checksum() {
        let entries = [("a/b", 0o100_644), ("a/c", 0o120_000)];
        let unsealed = unsealed(&entries, b"", SHA256_BYTES);
        for checksum in [Sha256::digest(&unsealed).to_vec(), vec![0; SHA256_BYTES]] {
            let tracked = parse(&[&unsealed[..], &checksum].concat()).unwrap();
            assert_eq!(tracked.paths, [b"a/b", b"a/c"]);
        }
    }

    #[test]
    fn parse_returns_files_and_links_and_neither_submodules_nor_folders() {
        let entries =
            [("a/b", 0o100_644), ("a/c", 0o120_000), ("module", 0o160_000), ("x", 0o040_000)];
        let tracked = parse(&index(&entries, b"")).unwrap();
        assert_eq!(tracked.paths, [b"a/b", b"a/c"]);
        let tracked = Tracked { paths: tracked.paths, is_unknown: false };
        assert!(tracked.has(b"a/b") && !tracked.has(b"a") && !tracked.has(b"module"));
        assert!(tracked.has_below(b"a") && !tracked.has_below(b"a/b") && !tracked.has_below(b""));
    }

    #[test]
    fn parse_returns_nothing_for_an_index_that_is_damaged() {
        let entries = [("a", 0o100_644), ("b", 0o100_644)];
        let intact = index(&entries, b"TREE\0\0\0\x01x");
        assert!(parse(&intact).is_some());
        assert_eq!(parse(&index(&entries, b"link\0\0\0\0")), None);
        let link = [&b"link\0\0\0\x14"[..], &[0xab; SHA1_BYTES]].concat();
        assert_eq!(parse(&index(&entries, &link)).unwrap().shared, Some("ab".repeat(SHA1_BYTES)));
        for at in 0..intact.len() {
            let mut flipped = intact.clone();
            flipped[at] ^= 1;
            assert_eq!(parse(&flipped), None, "byte {at}");
            assert_eq!(parse(&intact[..at]), None, "cut to {at}");
        }
    }

    #[test]
    fn parse_ends_for_every_content_without_a_checksum() {
        let intact = index(&[("a/b", 0o100_644), ("a/c", 0o100_644)], b"TREE\0\0\0\x01x");
        for version in [2, 3, 4] {
            for at in 0..intact.len() - SHA1_BYTES {
                for byte in [0, 0x7f, 0xff] {
                    let mut changed = intact.clone();
                    changed[7] = version;
                    changed[at] = byte;
                    let end = changed.len() - SHA1_BYTES;
                    changed[end..].fill(0);
                    let _ = parse(&changed);
                }
            }
        }
    }
}
