//! The cost of an operation. It is compared with the cost of the same operation at other sizes: only its
//! growth is judged, since every implementation has some cost that does not depend on size.

use crate::observation::Observation;
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::{Figure, World};

/// Sizes that differ by less, in bytes, show no growth of memory: buffers are filled once, up to some
/// 60 MiB in known stores, and only larger steps distinguish them from memory that keeps growing.
pub const MEMORY_STEP_MIN: u64 = 40 << 20;
/// Sizes that differ by less, in bytes, show no growth of reading: the store itself is read, too.
pub const READING_STEP_MIN: u64 = 4 << 20;

/// Implements [`rules::COST_MEMORY`] and [`rules::COST_UNCHANGED`].
pub(super) fn compare(world: &World, seen: &Observation, checks: &mut Checks) {
    if let Some((operation, figure)) = world.memory_of(seen) {
        let earlier = world.costs.memory.get(&operation).map_or(&[][..], Vec::as_slice);
        compare_memory(&operation, earlier, figure, checks);
    }
    if let Some(figure) = world.reading_of(seen) {
        for earlier in &world.costs.reading {
            let mut figures = [*earlier, figure];
            figures.sort_unstable();
            let Some(grew) = grew(figures[0], figures[1], READING_STEP_MIN) else { continue };
            checks.check(Judge::Disk, &rules::COST_UNCHANGED, !grew, || {
                mismatch("unchanged files are read", "all files", "bytes read", &figures)
            });
        }
    }
}

/// Compares three sizes: a buffer that is filled once does not grow again, so that memory must grow in
/// two steps.
fn compare_memory(operation: &str, earlier: &[Figure], figure: Figure, checks: &mut Checks) {
    let pairs = earlier.iter().flat_map(|left| earlier.iter().map(move |right| (left, right)));
    for (left, right) in pairs.filter(|(left, right)| left.size < right.size) {
        let mut figures = [*left, *right, figure];
        figures.sort_unstable();
        let [small, middle, large] = figures;
        let first = grew(small, middle, MEMORY_STEP_MIN);
        let Some((first, second)) = first.zip(grew(middle, large, MEMORY_STEP_MIN)) else {
            continue;
        };
        checks.check(Judge::Disk, &rules::COST_MEMORY, !(first && second), || {
            let symptom = format!("memory grows with a file: {operation}");
            mismatch(&symptom, "the largest file", "memory taken", &figures)
        });
    }
}

/// Whether a cost grew by more than half of its size's growth; `None` where the size grew too little.
fn grew(small: Figure, large: Figure, step_min: u64) -> Option<bool> {
    let step = large.size - small.size;
    (step >= step_min).then(|| large.cost.saturating_sub(small.cost) > step / 2)
}

fn mismatch(symptom: &str, size: &str, cost: &str, figures: &[Figure]) -> Mismatch {
    let in_mebibytes = |bytes: fn(&Figure) -> u64| {
        let mebibytes = |bytes| (bytes as f64 / f64::from(1 << 20) * 10.0).round() / 10.0;
        plain(&figures.iter().map(bytes).map(mebibytes).collect::<Vec<_>>())
    };
    let expected = format!(
        "{cost} that does not grow with {size}: MiB {}",
        in_mebibytes(|figure| figure.size)
    );
    Mismatch::new(symptom, expected, format!("{cost}: MiB {}", in_mebibytes(|figure| figure.cost)))
}
