//! The figures of a list that took long: how many files and lines differ between two trees. They are facts of
//! the trees, so that they are computed once and kept in a file of each project.
//!
//! The file only saves time: if it is missing, damaged or cannot be written, the figures are computed again.

use crate::disk::atomic_write::write_soon;
use crate::store::Store;
use crate::store::oid::Oid;
use serde::Serialize;
use sha1::{Digest, Sha1};
use std::collections::BTreeMap;

/// The folder of the files.
pub const FOLDER: &str = "figures";
/// Size limit of a file in bytes; no file is larger.
const BYTES_MAX: u64 = 1024 * 1024;

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

/// The figures of one project, by the trees that they are about.
pub type Figures = BTreeMap<Roots, Stats>;

/// Where the figures of the project of that hash are in the store.
pub fn place(hash: &str) -> String {
    format!("{FOLDER}/{hash}")
}

/// The kept figures of a project.
pub fn load(store: &Store<'_>, hash: &str) -> Figures {
    let read = store.disk.read(&store.path.join(place(hash)), BYTES_MAX);
    read.ok().and_then(|(bytes, _)| parse(&bytes)).unwrap_or_default()
}

/// Keeps the figures of a project, and no others.
pub fn save(store: &Store<'_>, hash: &str, figures: &Figures) {
    if let Err(error) = write_soon(store.disk, &store.path, &place(hash), &to_bytes(figures)) {
        tracing::debug!("the figures of {hash} were not kept: {error}");
    }
}

/// A line for each pair of trees, and the checksum of the lines.
fn to_bytes(figures: &Figures) -> Vec<u8> {
    let line = |((old, new), stats): (&Roots, &Stats)| {
        format!("{old} {new} {} {} {}\n", stats.files, stats.added, stats.removed)
    };
    let lines: String = figures.iter().map(line).collect();
    format!("{lines}{}\n", checksum(&lines)).into_bytes()
}

fn parse(bytes: &[u8]) -> Option<Figures> {
    let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let start = text.rfind('\n').map_or(0, |end| end + 1);
    let (lines, stated) = text.split_at(start);
    if stated != checksum(lines) {
        return None;
    }
    let figures = lines.lines().map(|line| {
        let mut fields = line.split(' ');
        let roots = (Oid::parse(fields.next()?)?, Oid::parse(fields.next()?)?);
        let mut number = || fields.next()?.parse().ok();
        Some((roots, Stats { files: number()?, added: number()?, removed: number()? }))
    });
    figures.collect()
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
        for figures in
            [Figures::new(), Figures::from([(roots(1), stats(1)), (roots(2), stats(5_000))])]
        {
            let bytes = to_bytes(&figures);
            assert_eq!(parse(&bytes), Some(figures));
            for position in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[position] ^= 1;
                assert_eq!(parse(&damaged), None, "byte {position}");
                assert_eq!(parse(&bytes[..position]), None, "cut at {position}");
            }
        }
    }
}
