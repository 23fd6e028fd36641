//! The preview of a checkpoint against the working tree.

use super::checkpoint::TOO_MANY_FILES;
use super::restore_units;
use super::target::{NOT_A_DIRECTORY, UNLISTED};
use crate::allowed::{Allowed, AllowedDiff};
use crate::answer::{Change, DiffEntry, Stats};
use crate::bytes::{self, ByteString};
use crate::capture::Captured;
use crate::lines::LineBounds;
use crate::place::{Place, Standing};
use crate::plain::plain;
use crate::refusal::Refusal;
use crate::rules::{self, RuleRef};
use crate::tree::{self, Difference};
use crate::unit::{self, Role, Unit};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

impl World {
    /// What the checkpoint left out is not called created since by who remembers it.
    ///
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
            Ok(now) => now,
            Err(refusal) => return Allowed::Refused(vec![refusal]),
        };
        let Some(captured) = &checkpoint.captured else { return Allowed::Unknown };
        let mut differences = tree::differences(&captured.tree, &now.tree);
        if self.has("checkpoint.left_out") {
            // If a path was left out, a subject that records only the path does not know what was below it.
            let is_below = |path: &&ByteString| {
                bytes::ancestors(path).any(|folder| captured.has_unrecorded(folder))
            };
            if differences.keys().any(is_below) {
                return Allowed::Unknown;
            }
            differences.retain(|path, _| !captured.has_unrecorded(path));
        }
        let kind = |difference: &Difference<'_>| match difference {
            Difference::Added(_) => Change::Added,
            Difference::Deleted(_) => Change::Deleted,
            Difference::Modified(..) => Change::Modified,
        };
        let entries = differences.iter().map(|(path, how)| ((*path).clone(), kind(how))).collect();
        // The limit is about checkpoints; a preview may mind it as well.
        let crowded = now.tree.len() > self.settings.max_files;
        Allowed::Diff(AllowedDiff {
            entries,
            units: self.previewed_units(&place, captured, &now),
            stats: LineBounds::of(differences.values()),
            spared: self.canonical(dir).is_some_and(|project| self.is_spared(&project, index)),
            unlisted: index == UNLISTED,
            damaged: self.is_damaged(checkpoint),
            may_refuse: crowded.then_some(TOO_MANY_FILES).into_iter().collect(),
            tests: self.tested_by(dir, captured, differences.keys().copied()),
        })
    }

    /// The rules that a preview of a checkpoint puts to the test: by paths that differ, which it holds
    /// although a rule might be misread, and by those that are gone and were left out.
    fn tested_by<'a>(
        &self,
        dir: &[u8],
        captured: &Captured,
        differing: impl Iterator<Item = &'a ByteString>,
    ) -> Vec<RuleRef> {
        let project = self.canonical(dir).unwrap_or_default();
        let despite = differing.filter_map(|path| captured.despite.get(path)).flatten();
        let is_gone = |path: &ByteString| self.files.get(&bytes::join(&project, path)).is_none();
        let gone = captured.left_out.iter().filter(|(path, _)| is_gone(path));
        despite.chain(gone.map(|(_, rule)| rule)).copied().collect()
    }

    fn current_tree(&self, place: &Place) -> Result<Captured, Refusal> {
        let Place::Inside(project, standing) = place else {
            return Ok(Captured::default());
        };
        match standing {
            Standing::Nothing => Ok(Captured::default()),
            Standing::NoDirectory => Err(NOT_A_DIRECTORY),
            Standing::Directory => Ok(self.capture(project)),
        }
    }

    /// Every unit, and whether its members need not be previewed as they differ: a restore keeps them
    /// for a reason of the unit.
    fn previewed_units(&self, place: &Place, then: &Captured, now: &Captured) -> Vec<(Unit, bool)> {
        let Place::Inside(project, _) = place else { return Vec::new() };
        let is_kept = |unit: &Unit| {
            let left_out = |one: &Captured| {
                restore_units::captured(one, unit).is_some_and(|one| !one.is_captured)
            };
            let files = unit::paths_of_files(&self.files, project);
            let mut present = files.keys().filter(|path| unit.has(path));
            let uncaptured = present.any(|path| !now.tree.contains_key(&ByteString::from(*path)));
            let is_recorded = then.tree.keys().any(|path| unit.has(path));
            let is_complete = unit.is_complete(&unit::paths_of_tree(&then.tree));
            left_out(then) || left_out(now) || uncaptured || is_recorded && !is_complete
        };
        let units = restore_units::units(self, then, now).into_iter();
        units.map(|unit| (unit.clone(), is_kept(&unit))).collect()
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
    let is_free = |path: &ByteString| {
        let mut roles = due.units.iter().filter_map(|(unit, kept)| Some((unit.role(path)?, *kept)));
        roles.any(|(role, is_kept)| is_kept || role == Role::Derived)
    };
    let mut entries: Vec<_> = due.entries.iter().map(|(path, how)| (path, *how)).collect();
    let mut named: Vec<_> = found.iter().map(|one| (&one.path, one.change)).collect();
    named.sort_unstable_by_key(|(path, _)| *path);
    let any_free = entries.iter().chain(&named).any(|(path, _)| is_free(path));
    entries.retain(|(path, _)| !is_free(path));
    named.retain(|(path, _)| !is_free(path));
    checks.same(Judge::Answer, &rules::DIFF_PREVIEW, "changed files", &entries, &named);
    for rule in due.tests.iter().filter(|_| entries == named) {
        checks.held(rule, 1);
    }
    if world.has("diff.stats") && !any_free {
        let fits = due.stats.allow_for(stats.files, stats.added, stats.removed);
        checks.check(Judge::Answer, &rules::DIFF_STATS, fits, || {
            Mismatch::new("other figures", plain(&due.stats), plain(&stats))
        });
    }
}
