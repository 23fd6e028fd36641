//! Whether a bound on the total size dropped what it had to and nothing else.
//!
//! What a checkpoint takes is what plain git says its objects take on the disk, each counted once;
//! which of them a checkpoint needs follows from the model's trees. So the size of every set of
//! checkpoints is known that a correct subject could have left.

use super::plain_git::StoreContents;
use super::{Checks, Judge, Mismatch, git_objects};
use crate::history::concrete::hash;
use herma_model::rules;
use herma_model::world::Checkpoint;
use herma_model::{ByteString, World};
use std::collections::{BTreeMap, BTreeSet};

const JUDGE: Judge = Judge::Git;

/// The bytes that each object takes.
pub type Sizes = BTreeMap<String, u64>;

/// The objects that a checkpoint needs.
type Objects = BTreeSet<String>;

/// One project as it was to be and as it is.
struct Kept<'a> {
    project: &'a ByteString,
    /// Everything that may be left, oldest first.
    all: Vec<Objects>,
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

/// Judges what is `held` under a bound of `bytes`, given what objects took before, adds what they
/// take now, and teaches the world what is left.
pub fn judge(
    world: &mut World,
    bytes: u64,
    sizes: &mut Sizes,
    held: &StoreContents,
    checks: &mut Checks,
) {
    for (id, size) in &held.sizes {
        // What is stored in another form now was judged by what it took before, or takes now.
        let seen = sizes.entry(id.clone()).or_insert(*size);
        *seen = (*seen).max(*size);
    }
    let mut kept = Vec::new();
    for (project, _) in world.histories() {
        let listed = world.listed(project);
        let left = held.visible.get(&hash(world, project)).map_or(&[][..], Vec::as_slice);
        let ids: Vec<&str> = listed.iter().rev().filter_map(|one| one.id.as_deref()).collect();
        let is_suffix = left.iter().zip(&ids).all(|(one, other)| one == other);
        if !is_suffix || left.len() > ids.len() {
            // What is wrong with these is for the list to say.
            return;
        }
        let all = listed.iter().map(objects).collect();
        kept.push(Kept { project, all, left: left.len() });
    }
    compare(&kept, bytes, (&held.sizes, sizes), checks);
    if checks.failed_here() {
        // What must not be gone is not to be forgotten: its cause is looked for.
        return;
    }
    let remaining: Vec<(ByteString, usize)> =
        kept.iter().map(|one| (one.project.clone(), one.left)).collect();
    for (project, left) in remaining {
        if world.listed(&project).len() > left {
            world.learn_remaining(&project, left);
        }
    }
}

fn objects(checkpoint: &Checkpoint) -> Objects {
    let ids = git_objects::ids(&checkpoint.captured.tree).into_iter().map(|id| id.to_string());
    ids.chain(checkpoint.id.clone()).collect()
}

/// Compares with what objects take `now`, and with the most that they ever took.
fn compare(kept: &[Kept<'_>], bytes: u64, (now, most): (&Sizes, &Sizes), checks: &mut Checks) {
    let size_of = |sizes: &Sizes, counts: &dyn Fn(&Kept<'_>) -> usize| -> u64 {
        let needed: BTreeSet<&String> =
            kept.iter().flat_map(|one| one.newest(counts(one))).collect();
        needed.into_iter().filter_map(|id| sizes.get(id)).sum()
    };
    for one in kept {
        checks.check(JUDGE, &rules::LIMIT_NEWEST_STAYS, one.left > 0, || {
            let found = format!("{} lost its newest checkpoint", one.project);
            Mismatch::new("the newest is gone", "the newest of every project", found)
        });
    }
    // Where the newest alone take more, nothing that could be dropped would help.
    if size_of(most, &|_| 1) > bytes {
        return;
    }
    let left = size_of(now, &|one| one.left);
    checks.check(JUDGE, &rules::LIMIT_TOTAL_SIZE, left <= bytes, || {
        let found = format!("{left} bytes, and checkpoints that could be dropped");
        Mismatch::new("above the bound", format!("at most {bytes} bytes of checkpoints"), found)
    });
    let dropped = || kept.iter().filter(|one| one.dropped() > 0);
    if dropped().next().is_none() {
        return;
    }
    // One of these was dropped last: with it there must have been too much.
    let with = |last: &Kept<'_>| {
        size_of(most, &|one| one.left + usize::from(std::ptr::eq(one.project, last.project)))
    };
    let needed = dropped().map(with).max().unwrap_or_default();
    checks.check(JUDGE, &rules::LIMIT_NO_MORE_THAN_NEEDED, needed > bytes, || {
        let found = format!("one more would have made {needed} bytes");
        Mismatch::new("more was dropped", format!("no more than makes {bytes} bytes"), found)
    });
    let turns = kept.iter().map(Kept::dropped).max().unwrap_or_default();
    let spared = kept.iter().find(|one| one.left > 1 && one.dropped() + 1 < turns);
    checks.check(JUDGE, &rules::LIMIT_TOTAL_SIZE, spared.is_none(), || {
        let counts: Vec<_> =
            kept.iter().map(|one| (one.project, one.dropped(), one.left)).collect();
        let found = format!("dropped and left: {counts:?}");
        Mismatch::new("not in turns", "one of each project in turn", found)
    });
}
