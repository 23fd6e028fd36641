//! The preview of a checkpoint against the working tree.

use super::checkpoint::TOO_MANY_FILES;
use super::target::NOT_A_DIRECTORY;
use crate::allowed::{Allowed, AllowedDiff, Refusal};
use crate::answer::{Change, DiffEntry, Stats};
use crate::lines::LineBounds;
use crate::place::{Place, Standing};
use crate::plain::plain;
use crate::rules;
use crate::tree::{self, Difference, Tree};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

impl World {
    /// Implements [`rules::DIFF_PREVIEW`] and [`rules::DIFF_STATS`].
    pub(super) fn allows_diff(&self, dir: &[u8], text: &[u8]) -> Allowed {
        let place = self.locate(dir);
        if self.is_doubtful(&place, text) {
            return Allowed::Unknown;
        }
        let (index, checkpoint) = match self.find(&place, text) {
            Ok(found) => found,
            Err(refusal) => return self.refuses_target(&place, refusal),
        };
        let now = match self.current_tree(&place) {
            Ok(tree) => tree,
            Err(refusal) => return Allowed::Refused(vec![refusal]),
        };
        let Some(captured) = &checkpoint.captured else { return Allowed::Unknown };
        let differences = tree::differences(&captured.tree, &now);
        let kind = |difference: &Difference<'_>| match difference {
            Difference::Added(_) => Change::Added,
            Difference::Deleted(_) => Change::Deleted,
            Difference::Modified(..) => Change::Modified,
        };
        let entries = differences.iter().map(|(path, how)| ((*path).clone(), kind(how))).collect();
        // The limit is about checkpoints; a preview may mind it as well.
        let crowded = now.len() > self.settings.max_files;
        Allowed::Diff(AllowedDiff {
            entries,
            stats: LineBounds::of(differences.values()),
            spared: self.canonical(dir).is_some_and(|project| self.is_spared(&project, index)),
            damaged: self.is_damaged(checkpoint),
            may_refuse: crowded.then_some(TOO_MANY_FILES).into_iter().collect(),
        })
    }

    fn current_tree(&self, place: &Place) -> Result<Tree, Refusal> {
        let Place::Inside(project, standing) = place else {
            return Ok(Tree::new());
        };
        match standing {
            Standing::Nothing => Ok(Tree::new()),
            Standing::NoDirectory => Err(NOT_A_DIRECTORY),
            Standing::Directory => Ok(self.capture(project).tree),
        }
    }
}

/// Compares a preview with the one that is right.
pub(super) fn compare(
    world: &World,
    due: &AllowedDiff,
    found: &[DiffEntry],
    stats: &Stats,
    checks: &mut Checks,
) {
    let entries: Vec<_> = due.entries.iter().map(|(path, how)| (path, *how)).collect();
    let mut named: Vec<_> = found.iter().map(|one| (&one.path, one.change)).collect();
    named.sort_unstable_by_key(|(path, _)| *path);
    checks.same(Judge::Answer, &rules::DIFF_PREVIEW, "changed files", &entries, &named);
    if world.has("diff.stats") {
        let fits = due.stats.allow_for(stats.files, stats.added, stats.removed);
        checks.check(Judge::Answer, &rules::DIFF_STATS, fits, || {
            Mismatch::new("other figures", plain(&due.stats), plain(&stats))
        });
    }
}
