//! How far a long operation is, for another thread that shows it. Nothing depends on it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many files the present step of an operation has written or read, and how many it will.
#[derive(Debug, Default)]
pub struct FileProgress {
    done: AtomicUsize,
    total: AtomicUsize,
}

impl FileProgress {
    /// A step begins with so many files.
    pub(crate) fn begin(&self, total: usize) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// So many files more are done.
    pub(crate) fn advance(&self, files: usize) {
        self.done.fetch_add(files, Ordering::Relaxed);
    }

    /// How many files are done, and how many there are; 0 before a step begins.
    pub fn files(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
