//! Runs the same work for many items, on several threads at the same time.

use rayon::ThreadPoolBuilder;
use rayon::iter::{ParallelBridge, ParallelIterator};
use std::sync::atomic::{AtomicBool, Ordering};

/// The results of `work` for all items, in their order; `jobs` items at a time, and at least one.
///
/// # Panics
/// If `work` panics, or no thread can be started.
pub fn map<T: Send, R: Send>(
    items: impl Iterator<Item = T> + Send,
    jobs: usize,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let threads = ThreadPoolBuilder::new().num_threads(jobs.max(1)).build();
    let threads = threads.expect("a machine that runs a subject has a few threads");
    // Items are taken from the iterator one by one, since it may be long and may end early, and the
    // results come in any order; so each keeps its number.
    let work = |(at, item)| (at, work(item));
    let mut results: Vec<(usize, R)> =
        threads.install(|| items.enumerate().par_bridge().map(work).collect());
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// As [`map`], for work that may fail: after the first failure no further item is begun.
///
/// # Errors
/// Of the items that failed, the error of the first one in their order.
///
/// # Panics
/// As [`map`].
pub fn try_map<T: Send, R: Send, E: Send>(
    items: impl Iterator<Item = T> + Send,
    jobs: usize,
    work: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let failed = AtomicBool::new(false);
    let items = items.take_while(|_| !failed.load(Ordering::Relaxed));
    let results = map(items, jobs, |item| {
        let result = work(item);
        failed.fetch_or(result.is_err(), Ordering::Relaxed);
        result
    });
    results.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Barrier, Mutex};

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for jobs in [0, 1, 2, 100] {
            let squares: Vec<u64> = (0..20).map(|one| one * one).collect();
            assert_eq!(map(0..20, jobs, |one: u64| one * one), squares);
        }
    }

    #[test]
    fn as_many_items_are_worked_on_at_the_same_time_as_there_are_jobs() {
        let all_at_once = Barrier::new(3);
        map(0..3, 3, |_| all_at_once.wait());
    }

    #[test]
    fn nothing_is_begun_after_a_failure() {
        let begun = Mutex::new(Vec::new());
        let ended = try_map(0.., 1, |one| {
            begun.lock().unwrap().push(one);
            if one == 2 { Err("two") } else { Ok(()) }
        });
        assert_eq!(ended, Err("two"));
        assert_eq!(begun.into_inner().unwrap(), [0, 1, 2]);
    }

    #[test]
    fn what_all_items_came_to_is_answered_where_none_failed() {
        assert_eq!(try_map([3, 1].into_iter(), 2, Ok::<_, ()>), Ok(vec![3, 1]));
    }
}
