//! Differences as people read them: line counts, and a patch that git can apply.
//!
//! The result depends on the two texts only: no configuration and no attributes affect it.

use crate::error::Result;
use crate::manager::hunks::{self, CONTEXT_LINES};
use crate::report::{Change, DiffEntry, Stats};
use crate::store::oid::Oid;
use crate::store::snapshot::{Difference, Item, Mode};

/// Returns the bytes of an item; `None` if they are too many to be in memory, and count as binary.
pub type Content<'a> = dyn Fn(&[u8], &Item) -> Result<Option<Vec<u8>>> + 'a;

/// One compared path.
pub struct Compared {
    /// Its entry in a list of changes.
    pub entry: DiffEntry,
    /// Its part of the patch.
    pub patch: Vec<u8>,
}

/// Compares the two sides of one path.
pub fn compare(
    path: &[u8],
    difference: &Difference,
    old: &Content<'_>,
    new: &Content<'_>,
) -> Result<Compared> {
    let read = |item: Option<Item>, content: &Content<'_>| {
        item.map(|item| content(path, &item).map(|bytes| Side { item, bytes })).transpose()
    };
    let old = read(difference.old, old)?;
    let new = read(difference.new, new)?;
    let change = match (difference.old, difference.new) {
        (None, _) => Change::Added,
        (_, None) => Change::Deleted,
        (Some(_), Some(_)) => Change::Modified,
    };
    let link = |item: Option<Item>| item.map(|item| item.mode == Mode::Link);
    let parts = match (link(difference.old), link(difference.new)) {
        // Git shows a change of type as one file deleted and one added.
        (Some(was_link), Some(is_link)) if was_link != is_link => {
            vec![Part { old: old.as_ref(), new: None }, Part { old: None, new: new.as_ref() }]
        }
        _ => vec![Part { old: old.as_ref(), new: new.as_ref() }],
    };
    let mut lines = Some((0, 0));
    let mut patch = Vec::new();
    for part in parts {
        let counted = part.write(path, &mut patch);
        lines = lines.zip(counted).map(|(total, counts)| (total.0 + counts.0, total.1 + counts.1));
    }
    Ok(Compared {
        entry: DiffEntry { path: path.to_vec(), change, lines, uncaptured: false },
        patch,
    })
}

/// The line counts of several entries together.
pub fn total<'a>(entries: impl Iterator<Item = &'a DiffEntry>) -> Stats {
    let mut stats = Stats::default();
    for entry in entries {
        let (added, removed) = entry.lines.unwrap_or_default();
        stats.files += 1;
        stats.added += added;
        stats.removed += removed;
    }
    stats
}

/// One side of a compared path.
struct Side {
    item: Item,
    /// `None` if they are too many to be in memory.
    bytes: Option<Vec<u8>>,
}

/// One file of a patch.
struct Part<'a> {
    old: Option<&'a Side>,
    new: Option<&'a Side>,
}

impl Part<'_> {
    /// Appends this part to `patch` and returns its added and removed lines; `None` for a binary
    /// file.
    fn write(&self, path: &[u8], patch: &mut Vec<u8>) -> Option<(usize, usize)> {
        let old_name = quoted(b"a/", path);
        let new_name = quoted(b"b/", path);
        patch.extend_from_slice(b"diff --git ");
        patch.extend_from_slice(&[&old_name[..], b" ", &new_name, b"\n"].concat());
        self.write_modes(patch);
        let blob = |side: Option<&Side>| side.map(|side| side.item.blob);
        if blob(self.old) == blob(self.new) {
            return Some((0, 0));
        }
        let texts = text(self.old).zip(text(self.new));
        if texts.is_some_and(|(old, new)| old == new) {
            return Some((0, 0));
        }
        let before = if self.old.is_some() { old_name } else { b"/dev/null".to_vec() };
        let after = if self.new.is_some() { new_name } else { b"/dev/null".to_vec() };
        let Some((old, new)) = texts else {
            let line = [b"Binary files ", &before[..], b" and ", &after, b" differ\n"].concat();
            patch.extend_from_slice(&line);
            return None;
        };
        patch.extend_from_slice(&[b"--- ", &before[..], b"\n+++ ", &after, b"\n"].concat());
        let replaced = replace_middle(old, new, patch);
        Some(replaced.unwrap_or_else(|| hunks::write(old, new, patch)))
    }

    fn write_modes(&self, patch: &mut Vec<u8>) {
        let zero = Oid::ZERO;
        let old = self.old.map(|side| side.item);
        let new = self.new.map(|side| side.item);
        let mode = |item: Option<Item>| item.map_or(0, |item| item.mode.bits());
        let blob = |item: Option<Item>| item.map_or(zero, |item| item.blob);
        let mut suffix = String::new();
        let head = match (old, new) {
            (None, _) => format!("new file mode {:o}\n", mode(new)),
            (_, None) => format!("deleted file mode {:o}\n", mode(old)),
            _ if mode(old) != mode(new) => {
                format!("old mode {:o}\nnew mode {:o}\n", mode(old), mode(new))
            }
            _ => {
                suffix = format!(" {:o}", mode(new));
                String::new()
            }
        };
        patch.extend_from_slice(head.as_bytes());
        if blob(old) != blob(new) {
            let line = format!("index {}..{}{suffix}\n", blob(old), blob(new));
            patch.extend_from_slice(line.as_bytes());
        }
    }
}

/// Two files that both have more lines than this between their common beginning and end count as
/// replaced there: a comparison takes time that grows with the product of both.
const MIDDLE_LINES_MAX: usize = 100_000;

/// Appends one hunk that replaces everything between the common beginning and end of two long files,
/// and returns how many lines that adds and removes; `None` if a line diff is worth its time.
fn replace_middle(old: &[u8], new: &[u8], patch: &mut Vec<u8>) -> Option<(usize, usize)> {
    // Every line takes at least one byte.
    if old.len().min(new.len()) <= MIDDLE_LINES_MAX {
        return None;
    }
    let lines = |bytes| <[u8]>::split_inclusive(bytes, |byte| *byte == b'\n').collect::<Vec<_>>();
    let old: Vec<&[u8]> = lines(old);
    let new: Vec<&[u8]> = lines(new);
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let ends = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = ends.take_while(|(old, new)| old == new).count();
    let removed = old.len() - head - tail;
    let added = new.len() - head - tail;
    if removed.min(added) <= MIDDLE_LINES_MAX {
        return None;
    }
    let before = head.min(CONTEXT_LINES);
    let after = tail.min(CONTEXT_LINES);
    let start = head - before + 1;
    let around = before + after;
    let header = format!("@@ -{start},{} +{start},{} @@\n", removed + around, added + around);
    patch.extend_from_slice(header.as_bytes());
    let mut write = |origin, lines: &[&[u8]]| hunks::write_lines(origin, lines, patch);
    write(b' ', &old[head - before..head]);
    write(b'-', &old[head..head + removed]);
    write(b'+', &new[head..head + added]);
    write(b' ', &old[old.len() - tail..old.len() - tail + after]);
    Some((added, removed))
}

/// The bytes of a side if it is text; empty if there is no file.
fn text(side: Option<&Side>) -> Option<&[u8]> {
    let bytes = side.map_or(Some(&[][..]), |side| side.bytes.as_deref());
    bytes.filter(|bytes| !is_binary(bytes))
}

/// To git a file is binary when a NUL is among its first 8000 bytes.
fn is_binary(content: &[u8]) -> bool {
    content.iter().take(8_000).any(|byte| *byte == 0)
}

/// A path as git writes it in a patch: quoted where it holds anything unusual.
fn quoted(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| (0x20..0x7f).contains(byte) && *byte != b'"' && *byte != b'\\';
    let name = [prefix, path].concat();
    if name.iter().all(plain) {
        return name;
    }
    let mut quoted = vec![b'"'];
    for byte in name {
        match byte {
            b'"' | b'\\' => quoted.extend_from_slice(&[b'\\', byte]),
            byte if plain(&byte) => quoted.push(byte),
            byte => quoted.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    quoted.push(b'"');
    quoted
}
