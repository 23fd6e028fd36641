//! Runs the same work for many items, on several threads at the same time.

use rayon::ThreadPoolBuilder;
use rayon::iter::{ParallelBridge, ParallelIterator};
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns the results of `work` for all items, in their order; works on `jobs` items at a time, at
/// least on one.
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
    // Items are taken from the iterator one by one, since it may be long and may end early. Results
    // come in any order, so each keeps its index.
    let work = |(index, item)| (index, work(item));
    let mut results: Vec<(usize, R)> =
        threads.install(|| items.enumerate().par_bridge().map(work).collect());
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// As [`map`], for work that may fail: no item is started after the first failure.
///
/// # Errors
/// The error of the first failed item, in the order of the items.
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
    fn map_returns_results_in_the_order_of_the_items() {
        for jobs in [0, 1, 2, 100] {
            let squares: Vec<u64> = (0..20).map(|number| number * number).collect();
            assert_eq!(map(0..20, jobs, |number: u64| number * number), squares);
        }
    }

    #[test]
    fn map_works_on_as_many_items_at_the_same_time_as_there_are_jobs() {
        let all_at_once = Barrier::new(3);
        map(0..3, 3, |_| all_at_once.wait());
    }

    #[test]
    fn try_map_starts_no_item_after_a_failure() {
        let started = Mutex::new(Vec::new());
        let result = try_map(0.., 1, |item| {
            started.lock().unwrap().push(item);
            if item == 2 { Err("two") } else { Ok(()) }
        });
        assert_eq!(result, Err("two"));
        assert_eq!(started.into_inner().unwrap(), [0, 1, 2]);
    }

    #[test]
    fn try_map_returns_all_results_if_no_item_failed() {
        assert_eq!(try_map([3, 1].into_iter(), 2, Ok::<_, ()>), Ok(vec![3, 1]));
    }
}
