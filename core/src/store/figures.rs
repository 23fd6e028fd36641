//! What of a list took long: how many files and lines differ between two trees, and which trees are intact. The
//! first are facts of the trees, and the second holds while nothing touches their packs, so that both are found once
//! and kept in a file of each project.
//!
//! The file only saves time: if it is missing, damaged or cannot be written, everything is found again.

use crate::disk::atomic_write::write_soon;
use crate::store::Store;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::trees::{Extent, PackedTree, PackedTrees, Trees};
use serde::Serialize;
use sha1::{Digest, Sha1};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The folder of the files.
pub const FOLDER: &str = "figures";
/// Size limit of a file in bytes; no file is larger.
const BYTES_MAX: u64 = 1024 * 1024;
/// At most so many trees are recorded, the largest: every checkpoint of a small change reads and writes them.
const RECORDED_MAX: usize = 1024;

/// Added and removed lines and how many files they are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Files that differ.
    pub files: usize,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
}

/// The roots of two trees, the older one first.
pub type Roots = (Oid, Oid);

/// What is kept for the list of one project.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// By the trees that they are about.
    pub stats: BTreeMap<Roots, Stats>,
    /// The trees that are intact; the moment is that of the file.
    pub packed: PackedTrees,
}

/// Where the figures of the project of that hash are in the store.
pub fn place(hash: &str) -> String {
    format!("{FOLDER}/{hash}")
}

/// The kept figures of a project.
pub fn load(store: &Store<'_>, hash: &str) -> Figures {
    let read = store.disk.read(&store.path.join(place(hash)), BYTES_MAX).ok();
    let figures = read.and_then(|(bytes, stat)| Some((parse(&bytes)?, stat.modified)));
    figures.map_or_else(Figures::default, |(mut figures, modified)| {
        figures.packed.moment = Some(modified);
        figures
    })
}

/// Keeps the figures of a project, and no others.
pub fn save(store: &Store<'_>, hash: &str, figures: &Figures) {
    if let Err(error) = write_soon(store.disk, &store.path, &place(hash), &to_bytes(figures)) {
        tracing::debug!("the figures of {hash} were not kept: {error}");
    }
}

/// Records which trees of a new checkpoint are intact in packs, so that a list need not read them.
// rule: diff/leaves-store
pub fn record_trees(store: &Store<'_>, objects: &Objects<'_>, hash: &str, root: Oid) {
    let mut figures = load(store, hash);
    if figures.packed.moment.is_none() {
        // The next checkpoint records what this file is younger than.
        return save(store, hash, &figures);
    }
    let trees = Trees::new(objects).recalling(figures.packed.clone());
    if !trees.is_sound(root).unwrap_or_default() {
        return;
    }
    let before = std::mem::take(&mut figures.packed.trees);
    let mut recorded = before.clone();
    recorded.extend(trees.to_record());
    let mut largest: Vec<_> = recorded.into_iter().collect();
    largest.sort_by_key(|(_, tree)| Reverse(tree.extent.size));
    figures.packed.trees = largest.into_iter().take(RECORDED_MAX).collect();
    if figures.packed.trees != before || trees.has_unsettled() {
        save(store, hash, &figures);
    }
}

/// A line for each pair of trees, one for each intact tree, and the checksum of the lines.
fn to_bytes(Figures { stats, packed }: &Figures) -> Vec<u8> {
    let pair = |((old, new), stats): (&Roots, &Stats)| {
        format!("{old} {new} {} {} {}\n", stats.files, stats.added, stats.removed)
    };
    let tree = |(id, tree): (&Oid, &PackedTree)| {
        let PackedTree { extent: Extent { size, depth }, digest } = tree;
        format!("{id} {} {size} {depth}\n", Oid(*digest))
    };
    let lines: String = stats.iter().map(pair).chain(packed.trees.iter().map(tree)).collect();
    format!("{lines}{}\n", checksum(&lines)).into_bytes()
}

fn parse(bytes: &[u8]) -> Option<Figures> {
    let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let start = text.rfind('\n').map_or(0, |end| end + 1);
    let (lines, stated) = text.split_at(start);
    if stated != checksum(lines) {
        return None;
    }
    let mut figures = Figures::default();
    for line in lines.lines() {
        let mut fields = line.split(' ');
        let roots = (Oid::parse(fields.next()?)?, Oid::parse(fields.next()?)?);
        let numbers: Option<Vec<usize>> = fields.map(|field| field.parse().ok()).collect();
        match *numbers?.as_slice() {
            [files, added, removed] => {
                figures.stats.insert(roots, Stats { files, added, removed });
            }
            [size, depth] => {
                let tree = PackedTree { extent: Extent { size, depth }, digest: roots.1.0 };
                figures.packed.trees.insert(roots.0, tree);
            }
            _ => return None,
        }
    }
    Some(figures)
}

fn checksum(lines: &str) -> String {
    Oid(Sha1::digest(lines).into()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_reads_what_to_bytes_wrote_and_nothing_damaged() {
        let stats = |files| Stats { files, added: 2, removed: 3 };
        let roots = |byte| (Oid([byte; 20]), Oid([7; 20]));
        let tree = PackedTree { extent: Extent { size: 90, depth: 2 }, digest: [5; 20] };
        let packed =
            PackedTrees { trees: BTreeMap::from([(Oid([3; 20]), tree)]), ..Default::default() };
        let stats = BTreeMap::from([(roots(1), stats(1)), (roots(2), stats(5_000))]);
        for figures in [Figures::default(), Figures { stats, packed }] {
            let bytes = to_bytes(&figures);
            let read = parse(&bytes).unwrap();
            assert_eq!((read.stats, read.packed.trees), (figures.stats, figures.packed.trees));
            for position in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[position] ^= 1;
                assert!(parse(&damaged).is_none(), "byte {position}");
                assert!(parse(&bytes[..position]).is_none(), "cut at {position}");
            }
        }
    }
}
