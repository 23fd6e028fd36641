//! Shares long work among all threads, on a disk that serves several.

use super::Disk;
use rayon::prelude::*;

/// How many items are shared at a time. With fewer than half of them, other threads would come too late to help.
pub const GROUP_SIZE: usize = 128;

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
