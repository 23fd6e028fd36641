//! The total size of all checkpoints, and the eviction that keeps it within a limit.
//!
//! Sizes are not predicted, since subjects rarely store the same content in the same number of bytes.
//! Instead, the size of each object is measured on the disk. The size of a set of checkpoints is that of
//! all objects which they need, each counted once; so it is known for every set that a correct subject
//! could have left.

use super::pinned;
use crate::answer::{Answer, CheckpointOutcome, SweepOutcome};
use crate::bytes::ByteString;
use crate::observation::{Contents, Observation, Sizes};
use crate::plain::plain;
use crate::request::Request;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::{Checkpoint, World};
use std::collections::BTreeSet;

/// The eviction of one project.
struct ProjectEviction<'a> {
    project: &'a ByteString,
    /// The objects that each expected checkpoint needs, oldest first.
    needs: Vec<BTreeSet<String>>,
    /// How many of the checkpoints are left, the newest.
    left: usize,
}

impl ProjectEviction<'_> {
    fn evicted(&self) -> usize {
        self.needs.len() - self.left
    }

    fn needs_of_newest(&self, count: usize) -> impl Iterator<Item = &String> {
        self.needs[self.needs.len() - count.min(self.needs.len())..].iter().flatten()
    }
}

impl World {
    /// The limit on the total size of all checkpoints after a request, in bytes; 0 is no limit.
    pub fn size_bound(&self, request: &Request) -> u64 {
        match request {
            Request::BeforeTool { .. }
            | Request::EnsureCheckpoint { .. }
            | Request::Checkpoint { .. }
            | Request::Label { .. }
            | Request::Event { .. }
            | Request::Restore { .. }
            | Request::RestoreFile { .. }
            | Request::RestoreLatest { .. }
            | Request::Undo { .. }
            | Request::Redo { .. }
            | Request::Sweep => self.settings.max_total_bytes,
            Request::Prune { max_total_bytes, .. } => *max_total_bytes,
            Request::PruneAsConfigured => {
                self.configuration().map_or(0, |configured| configured.max_total_bytes())
            }
            _ => 0,
        }
    }
}

/// Compares the checkpoints that are left at the size limit of a request with the correct ones.
pub(super) fn compare(world: &World, seen: &Observation, contents: &Contents, checks: &mut Checks) {
    let bytes = world.size_bound(&seen.request);
    let keeps_limit = match &seen.answer {
        // Before a tool several checkpoints may be taken, each with an eviction of its own.
        Answer::Taken { .. } | Answer::Restored(_) => true,
        Answer::Swept { outcome, .. } => *outcome == SweepOutcome::Done,
        _ => false,
    };
    // Damaged files of git may prevent freeing space, or counting it.
    if bytes == 0 || !keeps_limit || world.has_damaged_git_files() {
        return;
    }
    // A subject that died between storing and counting counts again in the next sweep.
    let is_swept = matches!(seen.answer, Answer::Swept { .. });
    if world.is_size_uncertain() && !is_swept {
        return;
    }
    // With pinned checkpoints, the evicted ones need not be the oldest.
    if pinned::compare(world, &contents.visible, checks) {
        return;
    }
    let mut evictions = Vec::new();
    for (project, _) in world.histories() {
        let listed = world.listed(project);
        let left = contents.visible.get(&world.hash(project)).map_or(&[][..], Vec::as_slice);
        // Whether a sweep may remove a complete project is not judged by the size limit.
        if left.is_empty() && matches!(seen.answer, Answer::Swept { .. }) {
            continue;
        }
        let is_at_other_position = |(id, checkpoint): (&String, &Checkpoint)| {
            *id != checkpoint.id && listed.iter().any(|listed| listed.id == *id)
        };
        let mut pairs = left.iter().zip(listed.iter().rev());
        if left.len() > listed.len() || pairs.any(is_at_other_position) {
            // The list shows what is wrong with these. A checkpoint with an unknown id is taken for the
            // expected one at its position: evicting the oldest may rewrite the others.
            return;
        }
        let needs = |id: &String| contents.needs.get(id).cloned().unwrap_or_default();
        let needs = listed.iter().map(|checkpoint| needs(&checkpoint.id)).collect();
        evictions.push(ProjectEviction { project, needs, left: left.len() });
    }
    // A restore may leave the limit to the next checkpoint that is taken, so that it removes nothing.
    let may_wait = match &seen.answer {
        Answer::Restored(_) => true,
        Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. } => false,
        Answer::Taken { .. } => world.maintenance.is_limit_left,
        _ => false,
    };
    if may_wait && evictions.iter().all(|eviction| eviction.evicted() == 0) {
        return;
    }
    // An unlisted checkpoint takes space as well, and the size of unknown content is unknown.
    let is_unknown = |checkpoint: &Checkpoint| checkpoint.captured.is_none();
    let mut projects = world.histories().map(|(project, _)| world.listed(project));
    let may_take_more =
        world.may_hold_unlisted() || projects.any(|listed| listed.iter().any(is_unknown));
    if compare_left(&evictions, bytes, contents, checks) && !may_take_more {
        compare_evicted(&evictions, bytes, contents, checks);
    }
}

/// The size of the objects that the newest checkpoints of each project need, `counts` of each.
fn size_of(
    evictions: &[ProjectEviction<'_>],
    sizes: &Sizes,
    counts: &dyn Fn(&ProjectEviction<'_>) -> usize,
) -> u64 {
    let needed: BTreeSet<&String> =
        evictions.iter().flat_map(|project| project.needs_of_newest(counts(project))).collect();
    needed.into_iter().filter_map(|id| sizes.get(id)).sum()
}

/// Compares the current size of what is left, and returns whether evicting more could help.
///
/// Implements [`rules::LIMIT_NEWEST_STAYS`] and [`rules::LIMIT_TOTAL_SIZE`].
fn compare_left(
    evictions: &[ProjectEviction<'_>],
    bytes: u64,
    contents: &Contents,
    checks: &mut Checks,
) -> bool {
    for eviction in evictions {
        checks.check(Judge::Git, &rules::LIMIT_NEWEST_STAYS, eviction.left > 0, || {
            let found = format!("{} lost its newest checkpoint", eviction.project);
            Mismatch::new("the newest is gone", "the newest of every project", found)
        });
    }
    // Where the newest alone exceed the limit, no eviction would help.
    if size_of(evictions, &contents.sizes_max, &|_| 1) > bytes {
        return false;
    }
    let left = size_of(evictions, &contents.sizes, &|eviction| eviction.left);
    checks.check(Judge::Git, &rules::LIMIT_TOTAL_SIZE, left <= bytes, || {
        let found = format!("{left} bytes, and checkpoints that could be evicted");
        Mismatch::new("above the bound", format!("at most {bytes} bytes of checkpoints"), found)
    });
    true
}

/// Compares what was evicted with the largest sizes that objects ever had.
///
/// Implements [`rules::LIMIT_TOTAL_SIZE`] and [`rules::LIMIT_NO_MORE_THAN_NEEDED`].
fn compare_evicted(
    evictions: &[ProjectEviction<'_>],
    bytes: u64,
    contents: &Contents,
    checks: &mut Checks,
) {
    let evicted = || evictions.iter().filter(|eviction| eviction.evicted() > 0);
    if evicted().next().is_none() {
        return;
    }
    // The newest evicted checkpoint of one project was evicted last: with it the limit was exceeded.
    let size_with_last = |last: &ProjectEviction<'_>| {
        size_of(evictions, &contents.sizes_max, &|eviction| {
            eviction.left + usize::from(std::ptr::eq(eviction.project, last.project))
        })
    };
    let needed = evicted().map(size_with_last).max().unwrap_or_default();
    checks.check(Judge::Git, &rules::LIMIT_NO_MORE_THAN_NEEDED, needed > bytes, || {
        let found = format!("one checkpoint more would take {needed} bytes");
        Mismatch::new("more was evicted", format!("no more than {bytes} bytes require"), found)
    });
    let turns = evictions.iter().map(ProjectEviction::evicted).max().unwrap_or_default();
    let skipped =
        evictions.iter().find(|eviction| eviction.left > 1 && eviction.evicted() + 1 < turns);
    checks.check(Judge::Git, &rules::LIMIT_TOTAL_SIZE, skipped.is_none(), || {
        let counts: Vec<_> = evictions
            .iter()
            .map(|eviction| (eviction.project, eviction.evicted(), eviction.left))
            .collect();
        let found = format!("evicted and left: {counts}", counts = plain(&counts));
        Mismatch::new("not in turns", "one checkpoint of each project in turn", found)
    });
}
