//! Shares long work among threads, on a disk that serves several. Where the system allows no more threads, the
//! calling one does everything.

use super::Disk;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use std::error::Error;
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::OnceLock;
use std::thread::{Builder, scope};

/// How many items are shared at a time. With fewer than half of them, other threads would come too late to help.
pub const GROUP_SIZE: usize = 128;
/// How many threads wait for the disk at a time.
const SYNC_THREADS_MAX: usize = 8;

/// Whether the process has threads that share work; they are made by the first call.
pub fn has_threads() -> bool {
    static HAS_THREADS: OnceLock<bool> = OnceLock::new();
    *HAS_THREADS.get_or_init(|| match ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // Without a cause, other code of the process made them before.
        Err(error) => error.source().is_none(),
    })
}

/// Whether threads share so many items.
pub fn is_shared(disk: &dyn Disk, items: usize) -> bool {
    items >= GROUP_SIZE / 2 && disk.is_for_many_threads()
}

/// What `result` returns for each item, in their order.
pub fn map<T: Sync, R: Send>(
    disk: &dyn Disk,
    items: &[T],
    result: impl Fn(&T) -> R + Sync + Send,
) -> Vec<R> {
    match is_shared(disk, items.len()) {
        true => items.par_iter().map(result).collect(),
        false => items.iter().map(result).collect(),
    }
}

/// The items in groups to [`map`]; each alone if they are not shared, so that nothing is done with those after one
/// that fails.
pub fn groups<'i, T>(disk: &dyn Disk, items: &'i [T]) -> impl Iterator<Item = &'i [T]> {
    items.chunks(if is_shared(disk, items.len()) { GROUP_SIZE } else { 1 })
}

/// Waits until these files are durable, for several at the same time: a file system writes its journal once for all
/// that wait.
pub fn sync_files(disk: &dyn Disk, paths: &[&Path]) -> io::Result<()> {
    let sync = |paths: &[&Path]| paths.iter().try_for_each(|path| disk.sync_file(path));
    let shares = paths.chunks(paths.len().div_ceil(SYNC_THREADS_MAX).max(1));
    scope(|scope| {
        let start =
            |paths| Builder::new().spawn_scoped(scope, move || sync(paths)).map_err(|_| paths);
        let started: Vec<_> = shares.map(start).collect();
        started.into_iter().try_for_each(|share| match share {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(paths) => sync(paths),
        })
    })
}
