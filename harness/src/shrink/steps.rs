//! The steps to a simpler history: each returns histories that have fewer operations or simpler values than
//! the given history. The search of [`super`] and other shrinkers choose among them.

use super::{renaming, values};
use crate::history::{History, Operation};
use herma_model::Settings;
use std::ops::Range;

/// The histories that are one step simpler than `history`, the largest steps first. Each has fewer operations
/// or simpler values, so that a search that continues with any of them ends.
pub fn simpler_histories(history: &History) -> impl Iterator<Item = History> + use<> {
    let steps: [fn(&History) -> Vec<History>; 7] = [
        with_fewer_operations,
        with_default_settings,
        with_lower_limits,
        with_simpler_operations,
        renaming::renamed,
        with_exchanged_edits,
        with_earlier_edits,
    ];
    let history = history.clone();
    steps.into_iter().flat_map(move |step| step(&history))
}

/// Chunks deleted, halving down to single operations, from the end.
fn with_fewer_operations(history: &History) -> Vec<History> {
    let length = history.operations.len();
    let sizes = std::iter::successors(Some(length), |size| Some(size / 2));
    let ranges = sizes.take_while(|size| *size > 0).flat_map(|size| {
        let ends = (1..=length).rev().step_by(size);
        ends.map(move |end| end.saturating_sub(size)..end)
    });
    ranges.flat_map(|range| without(history, range)).collect()
}

/// The history without these operations. If it is only one, there may be one checkpoint or one file less, so
/// there are also histories in which numbers and limits that counted it are lowered by one.
pub fn without(history: &History, range: Range<usize>) -> Vec<History> {
    let is_single = range.len() == 1;
    let start = range.start;
    let mut fewer = history.clone();
    fewer.operations.drain(range);
    if !is_single {
        return vec![fewer];
    }
    let with_earlier_targets = |history: &History| values::with_earlier_targets(history, start);
    let lower = values::with_lower_limits(&fewer);
    let back = with_earlier_targets(&fewer);
    let both = lower.as_ref().and_then(with_earlier_targets);
    [Some(fewer), back, lower, both].into_iter().flatten().collect()
}

/// The history with one setting reset to its default.
pub fn with_default_settings(history: &History) -> Vec<History> {
    let reset = values::SETTINGS_TO_DEFAULT.into_iter().map(|reset| {
        let mut candidate = history.clone();
        reset(&mut candidate.settings, &Settings::default());
        candidate
    });
    reset.filter(|candidate| candidate != history).collect()
}

/// The history with one limit lowered.
pub fn with_lower_limits(history: &History) -> Vec<History> {
    let settings = values::lower_limits(&history.settings).into_iter();
    settings.map(|settings| History { settings, ..history.clone() }).collect()
}

fn with_simpler_operations(history: &History) -> Vec<History> {
    let positions = 0..history.operations.len();
    positions.flat_map(|index| with_simpler_operation(history, index)).collect()
}

/// The history with simpler values in one operation.
pub fn with_simpler_operation(history: &History, index: usize) -> Vec<History> {
    let simpler = history.operations.get(index).map(values::simpler).unwrap_or_default();
    let replaced = simpler.into_iter().map(|operation| {
        let mut candidate = history.clone();
        candidate.operations[index] = operation;
        candidate
    });
    replaced.collect()
}

/// The history with two edits exchanged: if a second restore fails for a file that only the first restore
/// wrote, a single restore can show that as well. Without its last operation, such a history fails only if it
/// fails earlier; otherwise a search would not end.
pub fn with_exchanged_edits(history: &History) -> Vec<History> {
    let mut candidates = Vec::new();
    for (later, earlier) in pairs_of_edits(history) {
        let mut candidate = history.clone();
        candidate.operations.swap(earlier, later);
        candidate.operations.pop();
        candidates.push(candidate);
    }
    candidates
}

/// The history with an edit replaced by a later edit, which saves an operation: a file that is needed later
/// may as well exist from the start.
pub fn with_earlier_edits(history: &History) -> Vec<History> {
    let mut pairs: Vec<(usize, usize)> = pairs_of_edits(history).collect();
    pairs.sort_by_key(|(later, earlier)| (std::cmp::Reverse(*later), *earlier));
    let replaced = pairs.into_iter().map(|(later, earlier)| {
        let mut candidate = history.clone();
        let edit = candidate.operations.remove(later);
        candidate.operations[earlier] = edit;
        candidate
    });
    replaced.collect()
}

/// The positions of every two edits, the later one first.
fn pairs_of_edits(history: &History) -> impl Iterator<Item = (usize, usize)> {
    let is_edit = |operation: &Operation| matches!(operation, Operation::Edit(_));
    let positions = history.operations.iter().enumerate();
    let edits = positions.filter(move |(_, operation)| is_edit(operation)).map(|(index, _)| index);
    let edits: Vec<usize> = edits.collect();
    (0..edits.len()).flat_map(move |nth| {
        let pairs = edits[..nth].iter().map(|earlier| (edits[nth], *earlier));
        pairs.collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Options, generate_history};

    #[test]
    fn simpler_histories_ends_whichever_simpler_history_is_taken() {
        for number in 0..20 {
            let mut history = generate_history(&Options::default(), 3, number);
            let mut steps = 0;
            while let Some(simpler) = simpler_histories(&history).nth(steps % 3) {
                assert_ne!(simpler, history);
                history = simpler;
                steps += 1;
                assert!(steps < 2_000, "history {number} does not end");
            }
            assert!(history.operations.len() <= 1, "{history:?}");
        }
    }

    #[test]
    fn simpler_histories_has_each_operation_deleted_alone() {
        let history = generate_history(&Options::default(), 3, 1);
        let candidates: Vec<History> = simpler_histories(&history).collect();
        for index in 0..history.operations.len() {
            let mut without = history.clone();
            without.operations.remove(index);
            assert!(candidates.contains(&without), "without operation {index}");
        }
    }
}
