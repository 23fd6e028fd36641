//! What all checkpoints together take, and what was dropped to keep that within a bound.
//!
//! Two subjects rarely store the same content in as many bytes, so nothing is predicted: the size of
//! each object is what it takes on the disk. Objects are shared, so that of every set of checkpoints
//! the size is known that a correct subject could have left.

use super::pinned;
use crate::answer::{Answer, SweepOutcome};
use crate::bytes::ByteString;
use crate::observation::{Contents, Observation, Sizes};
use crate::plain::plain;
use crate::request::Request;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::{Checkpoint, World};
use std::collections::BTreeSet;

/// One project as it was to be and as it is.
struct Kept<'a> {
    project: &'a ByteString,
    /// What each checkpoint needs that may be left, oldest first.
    all: Vec<BTreeSet<String>>,
    /// How many of them are left, the newest.
    left: usize,
}

impl Kept<'_> {
    fn dropped(&self) -> usize {
        self.all.len() - self.left
    }

    fn newest(&self, count: usize) -> impl Iterator<Item = &String> {
        self.all[self.all.len() - count.min(self.all.len())..].iter().flatten()
    }
}

impl World {
    /// The bound in bytes on all checkpoints together that holds for what a request leaves; 0 is no
    /// bound.
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
            | Request::Sweep => self.settings.max_total_bytes,
            Request::Prune { max_total_bytes, .. } => *max_total_bytes,
            Request::PruneAsConfigured => {
                self.configuration().map_or(0, |configured| configured.max_total_bytes())
            }
            _ => 0,
        }
    }
}

/// Compares what is left under the bound that holds for a request with what should be.
pub(super) fn compare(known: &World, seen: &Observation, contents: &Contents, checks: &mut Checks) {
    let bytes = known.size_bound(&seen.request);
    let keeps = match &seen.answer {
        // Before a tool several may be taken, each of which makes room anew.
        Answer::Taken { .. } | Answer::Restored(_) => true,
        Answer::Swept { outcome, .. } => *outcome == SweepOutcome::Done,
        _ => false,
    };
    // Nobody need free space, or count it, past what hinders that.
    if bytes == 0 || !keeps || known.is_hindered() {
        return;
    }
    // Who died between storing and counting counts again when it looks after the store.
    let is_swept = matches!(seen.answer, Answer::Swept { .. });
    if known.is_uncounted() && !is_swept {
        return;
    }
    // Where some are pinned, what goes need not be the oldest.
    if pinned::compare(known, &contents.visible, checks) {
        return;
    }
    let mut kept = Vec::new();
    for (project, _) in known.histories() {
        let listed = known.listed(project);
        let left = contents.visible.get(&known.hash(project)).map_or(&[][..], Vec::as_slice);
        // Whether a sweep may remove a whole project is not for its bound to say.
        if left.is_empty() && matches!(seen.answer, Answer::Swept { .. }) {
            continue;
        }
        let known_elsewhere = |(id, one): (&String, &Checkpoint)| {
            *id != one.id && listed.iter().any(|other| other.id == *id)
        };
        if left.len() > listed.len() || left.iter().zip(listed.iter().rev()).any(known_elsewhere) {
            // What is wrong with these is for the list to say. One of an unknown id is taken for the
            // one that stood there: whoever drops the oldest may have written the others anew.
            return;
        }
        let needs = |id: &String| contents.needs.get(id).cloned().unwrap_or_default();
        let all = listed.iter().map(|one| needs(&one.id)).collect();
        kept.push(Kept { project, all, left: left.len() });
    }
    // What is not listed takes space as well, or nobody knows what is in it, so nor how much it takes.
    let is_unknown = |one: &Checkpoint| one.captured.is_none();
    let mut projects = known.histories().map(|(project, _)| known.listed(project));
    let may_take_more = known.may_hold_undos() || projects.any(|all| all.iter().any(is_unknown));
    if compare_kept(&kept, bytes, contents, checks) && !may_take_more {
        compare_dropped(&kept, bytes, contents, checks);
    }
}

/// What so many of the newest of each project take.
fn size_of(kept: &[Kept<'_>], sizes: &Sizes, counts: &dyn Fn(&Kept<'_>) -> usize) -> u64 {
    let needed: BTreeSet<&String> = kept.iter().flat_map(|one| one.newest(counts(one))).collect();
    needed.into_iter().filter_map(|id| sizes.get(id)).sum()
}

/// Compares what is left with what objects take now, and returns whether dropping more could help.
///
/// Implements [`rules::LIMIT_NEWEST_STAYS`] and [`rules::LIMIT_TOTAL_SIZE`].
fn compare_kept(kept: &[Kept<'_>], bytes: u64, contents: &Contents, checks: &mut Checks) -> bool {
    for one in kept {
        checks.check(Judge::Git, &rules::LIMIT_NEWEST_STAYS, one.left > 0, || {
            let found = format!("{} lost its newest checkpoint", one.project);
            Mismatch::new("the newest is gone", "the newest of every project", found)
        });
    }
    // Where the newest alone take more, nothing that could be dropped would help.
    if size_of(kept, &contents.sizes_max, &|_| 1) > bytes {
        return false;
    }
    let left = size_of(kept, &contents.sizes, &|one| one.left);
    checks.check(Judge::Git, &rules::LIMIT_TOTAL_SIZE, left <= bytes, || {
        let found = format!("{left} bytes, and checkpoints that could be dropped");
        Mismatch::new("above the bound", format!("at most {bytes} bytes of checkpoints"), found)
    });
    true
}

/// Compares what was dropped with the most that objects ever took.
///
/// Implements [`rules::LIMIT_TOTAL_SIZE`] and [`rules::LIMIT_NO_MORE_THAN_NEEDED`].
fn compare_dropped(kept: &[Kept<'_>], bytes: u64, contents: &Contents, checks: &mut Checks) {
    let dropped = || kept.iter().filter(|one| one.dropped() > 0);
    if dropped().next().is_none() {
        return;
    }
    // One of these was dropped last: with it there must have been too much.
    let with = |last: &Kept<'_>| {
        size_of(kept, &contents.sizes_max, &|one| {
            one.left + usize::from(std::ptr::eq(one.project, last.project))
        })
    };
    let needed = dropped().map(with).max().unwrap_or_default();
    checks.check(Judge::Git, &rules::LIMIT_NO_MORE_THAN_NEEDED, needed > bytes, || {
        let found = format!("one more would have made {needed} bytes");
        Mismatch::new("more was dropped", format!("no more than makes {bytes} bytes"), found)
    });
    let turns = kept.iter().map(Kept::dropped).max().unwrap_or_default();
    let spared = kept.iter().find(|one| one.left > 1 && one.dropped() + 1 < turns);
    checks.check(Judge::Git, &rules::LIMIT_TOTAL_SIZE, spared.is_none(), || {
        let counts: Vec<_> =
            kept.iter().map(|one| (one.project, one.dropped(), one.left)).collect();
        let found = format!("dropped and left: {counts}", counts = plain(&counts));
        Mismatch::new("not in turns", "one of each project in turn", found)
    });
}
