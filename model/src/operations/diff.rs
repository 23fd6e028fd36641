//! The preview of a restore: the differences between a checkpoint and the working tree.

use super::checkpoint::TOO_MANY_FILES;
use super::restore_units;
use super::target::{NOT_A_DIRECTORY, UNLISTED};
use crate::allowed::{Allowed, AllowedDiff};
use crate::answer::{Answer, Change};
use crate::bytes::{self, ByteString};
use crate::capture::Captured;
use crate::excuse::Excuse;
use crate::lines::LineBounds;
use crate::place::{Location, PathKind};
use crate::plain::plain;
use crate::refusal::Refusal;
use crate::rules::{self, RuleRef};
use crate::tree::{self, EntryDifference};
use crate::unit::{self, Role, Unit};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;
use std::sync::Arc;

impl World {
    /// The correct preview. An implementation that records what a checkpoint left out does not report
    /// that as created since.
    ///
    /// Implements [`rules::DIFF_PREVIEW`] and [`rules::DIFF_STATS`].
    pub(super) fn allows_diff(&self, dir: &[u8], text: &[u8]) -> Allowed {
        let location = self.locate(dir);
        if let Some(excuse) = self.doubt(&location, text) {
            return Allowed::Unknown(excuse);
        }
        let (index, checkpoint) = match self.find(&location, text) {
            Ok(found) => found,
            Err(refusal) => return self.refuses_target(&location, refusal),
        };
        let current = match self.current_tree(&location) {
            Ok(current) => current,
            Err(refusal) => return Allowed::Refused(vec![refusal]),
        };
        let Some(captured) = &checkpoint.captured else {
            return Allowed::Unknown(Excuse::Unobserved);
        };
        let mut differences = tree::differences(&captured.tree, &current.tree);
        if self.has("checkpoint.left_out") {
            // A subject that records only the path of a left-out folder does not know its content.
            let is_below = |path: &&ByteString| {
                bytes::ancestors(path).any(|folder| captured.has_unrecorded(folder))
            };
            if differences.keys().any(is_below) {
                return Allowed::Unknown(Excuse::Unobserved);
            }
            differences.retain(|path, _| !captured.has_unrecorded(path));
        }
        let kind = |difference: &EntryDifference<'_>| match difference {
            EntryDifference::Added(_) => Change::Added,
            EntryDifference::Deleted(_) => Change::Deleted,
            EntryDifference::Modified(..) => Change::Modified,
        };
        let entries = differences.iter().map(|(path, how)| ((*path).clone(), kind(how))).collect();
        // The limit is about checkpoints; a preview may obey it as well.
        let crowded = current.tree.len() > self.settings.max_files;
        Allowed::Diff(AllowedDiff {
            entries,
            units: self.previewed_units(&location, captured, &current),
            stats: LineBounds::of(differences.values()),
            exceeds_limit: self
                .canonical(dir)
                .is_some_and(|project| self.is_over_limit(&project, index)),
            unlisted: index == UNLISTED,
            damaged: self.is_damaged(checkpoint),
            may_refuse: crowded.then_some(TOO_MANY_FILES).into_iter().collect(),
            tests: self.tested_by(dir, captured, differences.keys().copied()),
        })
    }

    /// The rules that a preview of a checkpoint tests: by differing paths that it holds although a rule
    /// might be misread, and by missing paths that were left out.
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

    fn current_tree(&self, location: &Location) -> Result<Arc<Captured>, Refusal> {
        let Location::Inside(project, kind) = location else {
            return Ok(Arc::default());
        };
        match kind {
            PathKind::Missing => Ok(Arc::default()),
            PathKind::NotADirectory => Err(NOT_A_DIRECTORY),
            PathKind::Directory => Ok(self.capture(project)),
        }
    }

    /// Every unit, and whether its differing members need not be previewed: a restore keeps them for the
    /// sake of the unit.
    fn previewed_units(
        &self,
        location: &Location,
        target: &Captured,
        current: &Captured,
    ) -> Vec<(Unit, bool)> {
        let Location::Inside(project, _) = location else { return Vec::new() };
        let is_kept = |unit: &Unit| {
            let left_out = |captured: &Captured| {
                restore_units::captured(captured, unit).is_some_and(|unit| !unit.is_captured)
            };
            let files = unit::paths_of_files(&self.files, project);
            let mut present = files.map(|(path, _)| path).filter(|path| unit.has(path));
            let uncaptured = present.any(|path| !current.tree.contains_key(path));
            let is_recorded = target.tree.keys().any(|path| unit.has(path));
            let is_complete = unit.is_complete(&unit::paths_of_tree(&target.tree).collect());
            left_out(target) || left_out(current) || uncaptured || is_recorded && !is_complete
        };
        let units = restore_units::units(self, target, current).into_iter();
        units.map(|unit| (unit.clone(), is_kept(&unit))).collect()
    }
}

/// Compares a preview with the correct one.
pub(super) fn compare(world: &World, allowed: &AllowedDiff, answer: &Answer, checks: &mut Checks) {
    let Answer::Diffed { entries: found, stats } = answer else { return };
    let is_optional = |path: &ByteString| {
        let mut roles =
            allowed.units.iter().filter_map(|(unit, kept)| Some((unit.role(path)?, *kept)));
        roles.any(|(role, is_kept)| is_kept || role == Role::Derived)
    };
    let mut entries: Vec<_> = allowed.entries.iter().map(|(path, how)| (path, *how)).collect();
    let mut named: Vec<_> = found.iter().map(|entry| (&entry.path, entry.change)).collect();
    named.sort_unstable_by_key(|(path, _)| *path);
    let any_optional = entries.iter().chain(&named).any(|(path, _)| is_optional(path));
    let differing = allowed.entries.len();
    entries.retain(|(path, _)| !is_optional(path));
    let optional = differing - entries.len();
    checks.excused(&rules::DIFF_PREVIEW, Excuse::Unit, optional as u64);
    named.retain(|(path, _)| !is_optional(path));
    checks.same(Judge::Answer, &rules::DIFF_PREVIEW, "changed files", &entries, &named);
    for rule in allowed.tests.iter().filter(|_| entries == named) {
        checks.held(rule, 1);
    }
    if world.has("diff.stats") && !any_optional {
        let fits = allowed.stats.allow_for(stats.files, stats.added, stats.removed);
        checks.check(Judge::Answer, &rules::DIFF_STATS, fits, || {
            Mismatch::new("other figures", plain(&allowed.stats), plain(&stats))
        });
    }
}
