//! How far a long operation is, for another thread that shows it. Nothing depends on it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many files the present step of an operation has written or read, and how many it will.
#[derive(Debug, Default)]
pub struct FileProgress {
    done: AtomicUsize,
    total: AtomicUsize,
    writes: AtomicBool,
}

impl FileProgress {
    /// A step begins that reads so many files, for a checkpoint.
    pub(crate) fn begin_reading(&self, total: usize) {
        self.begin(total, false);
    }

    /// A step begins that writes so many files, for a restore.
    pub(crate) fn begin_writing(&self, total: usize) {
        self.begin(total, true);
    }

    fn begin(&self, total: usize, writes: bool) {
        self.writes.store(writes, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// So many files more are done.
    pub(crate) fn advance(&self, files: usize) {
        self.done.fetch_add(files, Ordering::Relaxed);
    }

    /// Whether the present step writes files of the project.
    pub fn writes(&self) -> bool {
        self.writes.load(Ordering::Relaxed)
    }

    /// How many files are done, and how many there are; 0 before a step begins.
    pub fn files(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
