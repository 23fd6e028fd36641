//! What a restore wrote and did not put in its place yet: many files are made durable at once, since
//! to wait for each takes most of the time.

use crate::restore::placement::Draft;

/// No more files than this are beside their places at a time.
const FILES_MAX: usize = 1_000;
/// No more bytes than this are on the disk twice.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Drafts, each with the path it is of.
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

    /// Whether these are to be put in their places before anything else is written.
    pub fn is_full(&self) -> bool {
        self.drafts.len() >= FILES_MAX || self.bytes >= BYTES_MAX
    }
}
