//! Drafts: files that a restore wrote under temporary names and has not moved to their paths yet. Many
//! drafts are made durable at once, because waiting for each separately would take most of the time.

use crate::restore::placement::Draft;

/// The most drafts at a time.
const FILES_MAX: usize = 1_000;
/// The most bytes of drafts at a time, which the disk stores in addition to the present files.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Drafts, each with its path.
#[derive(Default)]
pub struct Batch {
    /// In the order they were written.
    pub drafts: Vec<(Vec<u8>, Draft)>,
    bytes: u64,
}

impl Batch {
    /// Adds a draft.
    pub fn add(&mut self, path: &[u8], draft: Draft) {
        self.bytes += draft.bytes();
        self.drafts.push((path.to_vec(), draft));
    }

    /// Whether the drafts are to be moved to their paths before anything else is written.
    pub fn is_full(&self) -> bool {
        self.drafts.len() >= FILES_MAX || self.bytes >= BYTES_MAX
    }
}
