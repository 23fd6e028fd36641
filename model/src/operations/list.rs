//! The list of a project's checkpoints.

use super::label;
use crate::allowed::{AllowedList, AllowedListed, AllowedStats};
use crate::answer::Listed;
use crate::bytes::ByteString;
use crate::excuse::Excuse;
use crate::lines::LineBounds;
use crate::place::{Location, PathKind};
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::tree;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::{Checkpoint, World};
use std::cmp::Ordering;
use std::collections::BTreeSet;

impl World {
    /// Implements [`rules::LIST_COMPLETE`], [`rules::LIST_OWN_PROJECT`] and
    /// [`rules::LIST_NEWEST_FIRST`].
    pub(super) fn allows_list(&self, dir: &[u8]) -> AllowedList {
        let (project, kind) = match self.locate(dir) {
            Location::Inside(path, kind) => (path, kind),
            Location::FileSystemRoot | Location::Elsewhere(_) => {
                (ByteString::default(), PathKind::Missing)
            }
        };
        let inside = self.canonical(dir).is_some();
        self.list_of(project, inside, kind == PathKind::Missing)
    }

    fn list_of(&self, project: ByteString, inside: bool, deleted: bool) -> AllowedList {
        let listed = if inside { self.listed(&project) } else { &[] };
        let mut entries = Vec::with_capacity(listed.len());
        for (index, checkpoint) in listed.iter().enumerate().rev() {
            let before = index.checked_sub(1).map(|before| &listed[before]);
            entries.push(AllowedListed {
                id: checkpoint.id.clone(),
                time: checkpoint.time,
                reason: checkpoint.reason.clone(),
                stats: match before.is_some_and(|before| self.is_damaged(before)) {
                    true => AllowedStats::Unknown,
                    false => stats(before, checkpoint),
                },
                damaged: self.is_damaged(checkpoint),
                may_be_hidden: self.may_be_hidden(checkpoint),
            });
        }
        let history = self.history(&project);
        let issued_ids: BTreeSet<String> =
            history.iter().map(|checkpoint| checkpoint.id.clone()).collect();
        let histories = self.histories();
        let ids =
            histories.flat_map(|(_, history)| history.iter().map(|checkpoint| &checkpoint.id));
        AllowedList {
            limited: inside && history.len() > listed.len(),
            exceeds_limit: self.is_over_limit(&project, 0),
            partially_corrupted: self.is_partially_corrupted(&project),
            entries,
            foreign: ids.filter(|id| !issued_ids.contains(*id)).cloned().collect(),
            issued_ids,
            deleted,
            project,
        }
    }
}

/// Implements [`rules::LIST_STATS`] and [`rules::LIST_OLDEST_NO_STATS`].
fn stats(before: Option<&Checkpoint>, checkpoint: &Checkpoint) -> AllowedStats {
    let Some(before) = before else { return AllowedStats::None };
    match (&before.captured, &checkpoint.captured) {
        (Some(before), Some(after)) => {
            let differences = tree::differences(&before.tree, &after.tree);
            AllowedStats::Within(LineBounds::of(differences.values()))
        }
        _ => AllowedStats::Unknown,
    }
}

/// Compares a list with the correct one.
///
/// Implements [`rules::RESTORE_KEEPS_HISTORY`] (decides).
pub(super) fn compare(world: &World, list: &AllowedList, found: &[Listed], checks: &mut Checks) {
    let ids: Vec<&String> = found.iter().map(|listed| &listed.id).collect();
    let settled = world.is_eviction_undecided(&list.project).then(|| {
        let mut world = world.clone();
        world.settle(&list.project, &ids);
        world.list_of(list.project.clone(), true, list.deleted)
    });
    let list = settled.as_ref().unwrap_or(list);
    let expected: Vec<&String> = list.entries.iter().map(|entry| &entry.id).collect();
    let wrong = |symptom: &str| {
        Mismatch::new(
            symptom,
            format!("ids, newest first: {expected}", expected = plain(&expected)),
            plain(&ids),
        )
    };
    if list.partially_corrupted && ids != expected {
        return compare_partially_corrupted(world, list, found, checks);
    }
    if list.partially_corrupted {
        let intact = list.entries.iter().filter(|entry| !entry.damaged).count();
        checks.held(&rules::MAINTENANCE_DAMAGE, intact as u64);
    }
    let has_foreign = ids.iter().any(|id| list.foreign.contains(*id));
    checks.check(Judge::Answer, &rules::LIST_OWN_PROJECT, !has_foreign, || {
        wrong("a checkpoint of another project")
    });
    if list.limited {
        let within_limit = found.len() <= list.entries.len();
        checks.check(Judge::Answer, &rules::LIST_AT_MOST, within_limit, || wrong("too many"));
    }
    label::compare_listed(world, &list.project, &ids, checks);
    let same_set = expected.iter().collect::<BTreeSet<_>>() == ids.iter().collect();
    // An issued id has not changed, whether or not it should be listed.
    let renamed = !same_set && ids.iter().any(|id| !list.issued_ids.contains(*id));
    let complete = list.entries.len() == found.len() && (same_set || renamed);
    let wrong_count = || {
        wrong(match found.len().cmp(&list.entries.len()) {
            Ordering::Less => "too few",
            Ordering::Equal => "evicted checkpoints",
            Ordering::Greater => "too many",
        })
    };
    let is_evicted = list.exceeds_limit
        && found.len() < expected.len()
        && found.len() >= world.settings.max_snapshots
        && ids.iter().all(|id| expected.contains(id));
    if list.exceeds_limit {
        let rule = &rules::RESTORE_KEEPS_HISTORY;
        checks.check(Judge::Answer, rule, !is_evicted, || wrong("evicted by a restore"));
    }
    checks.check(Judge::Answer, &rules::LIST_COMPLETE, complete || is_evicted, wrong_count);
    if list.deleted && !list.entries.is_empty() {
        let rule = &rules::RESTORE_DELETED_PROJECT;
        checks.check(Judge::Answer, rule, !found.is_empty(), wrong_count);
    }
    checks.check(Judge::Answer, &rules::LIST_STABLE, !complete || same_set, || wrong("other ids"));
    let numbered = compare_numbers(world, &list.project, found, checks);
    let in_order = !same_set || expected == ids;
    checks.check(Judge::Answer, &rules::LIST_NEWEST_FIRST, in_order && numbered, || {
        wrong("another order")
    });
    for listed in found {
        if let Some(entry) = list.entries.iter().find(|entry| entry.id == listed.id) {
            compare_entry(world, entry, listed, checks);
        }
    }
}

/// Returns whether checkpoints are numbered in their order; with pre-restore checkpoints that have no number,
/// a rule of its own decides.
///
/// Implements [`rules::RESTORE_SAME_NUMBER`].
fn compare_numbers(world: &World, project: &[u8], found: &[Listed], checks: &mut Checks) -> bool {
    let numbers: Vec<usize> = found.iter().map(|listed| listed.number).collect();
    if !world.has("target.stable_number") {
        return numbers.iter().copied().eq(1..=found.len());
    }
    let mut counted = 0;
    let number = |listed: &Listed| {
        let known = world.history(project).iter().find(|checkpoint| checkpoint.id == listed.id)?;
        let has_number = world.has_number(known)?;
        counted += usize::from(has_number);
        Some(if has_number { counted } else { 0 })
    };
    let Some(expected) = found.iter().map(number).collect::<Option<Vec<usize>>>() else {
        return true;
    };
    if !expected.contains(&0) {
        return numbers == expected;
    }
    checks.check(Judge::Answer, &rules::RESTORE_SAME_NUMBER, numbers == expected, || {
        let expected = format!("numbers, newest first: {}", plain(&expected));
        Mismatch::new("a pre-restore checkpoint is counted", expected, plain(&numbers))
    });
    true
}

/// Compares the list of a partially corrupted project: every intact checkpoint is listed, in order; which
/// damaged ones are listed, and how many, is not judged.
///
/// Implements [`rules::MAINTENANCE_DAMAGE`].
fn compare_partially_corrupted(
    world: &World,
    list: &AllowedList,
    found: &[Listed],
    checks: &mut Checks,
) {
    let ids: Vec<&String> = found.iter().map(|listed| &listed.id).collect();
    // Hidden checkpoints may still count towards the limit.
    let hidden = world.hidden(&list.project);
    let surplus = (list.entries.len() + hidden).saturating_sub(world.settings.max_snapshots);
    let required = list.entries.len() - surplus.min(list.entries.len());
    let required = list.entries.iter().take(required.max(1)).filter(|entry| !entry.may_be_hidden);
    let required: Vec<&String> = required.map(|entry| &entry.id).collect();
    let wrong = |symptom: &str| {
        let expected = format!("at least these ids, newest first: {}", plain(&required));
        Mismatch::new(symptom, expected, plain(&ids))
    };
    let has_foreign = ids.iter().any(|id| list.foreign.contains(*id));
    checks.check(Judge::Answer, &rules::LIST_OWN_PROJECT, !has_foreign, || {
        wrong("a checkpoint of another project")
    });
    let missing = required.iter().any(|id| !ids.contains(id));
    checks.check(Judge::Answer, &rules::LIST_COMPLETE, !missing, || wrong("too few"));
    checks.held(&rules::MAINTENANCE_DAMAGE, if missing { 0 } else { required.len() as u64 });
    let unjudged = list.entries.len().saturating_sub(required.len());
    checks.excused(&rules::LIST_COMPLETE, Excuse::Damage, unjudged as u64);
    let is_known = |id: &&String| world.has_unknown_ends() || list.issued_ids.contains(*id);
    let has_unknown = !has_foreign && !ids.iter().all(is_known);
    checks.check(Judge::Answer, &rules::LIST_STABLE, !has_unknown, || wrong("other ids"));
    let is_expected = |id: &&&String| list.entries.iter().any(|entry| entry.id == ***id);
    let shown: Vec<&String> = ids.iter().filter(is_expected).copied().collect();
    let order = list.entries.iter().map(|entry| &entry.id).filter(|id| shown.contains(id));
    let numbered = compare_numbers(world, &list.project, found, checks);
    let in_order = numbered && order.eq(shown.iter().copied());
    checks.check(Judge::Answer, &rules::LIST_NEWEST_FIRST, in_order, || wrong("another order"));
    for listed in found {
        if let Some(entry) = list.entries.iter().find(|entry| entry.id == listed.id) {
            compare_time_and_reason(world, entry, listed, checks);
        }
    }
}

/// Compares the time and the reason of one checkpoint, which do not depend on other checkpoints.
///
/// Implements [`rules::LIST_TIME`] and [`rules::CAPTURE_REASON`].
fn compare_time_and_reason(
    world: &World,
    expected: &AllowedListed,
    found: &Listed,
    checks: &mut Checks,
) {
    if expected.damaged {
        return checks.excused(&rules::LIST_TIME, Excuse::Damage, 1);
    }
    if world.has("test.clock") {
        checks.same(Judge::Answer, &rules::LIST_TIME, "time", &expected.time, &found.time);
    }
    if let Some(reason) = expected.reason.as_ref().filter(|_| world.has("list.reason")) {
        checks.same(Judge::Answer, &rules::CAPTURE_REASON, "reason", reason, &found.reason);
    }
}

fn compare_entry(world: &World, expected: &AllowedListed, found: &Listed, checks: &mut Checks) {
    compare_time_and_reason(world, expected, found, checks);
    if !world.has("list.stats") {
        return;
    }
    if expected.damaged {
        return checks.excused(&rules::LIST_STATS, Excuse::Damage, 1);
    }
    let wrong = |symptom: &str| {
        let expected = format!("number {}: {}", found.number, plain(&expected.stats));
        Mismatch::new(symptom, expected, plain(&found))
    };
    let (rule, holds, symptom): (RuleRef, bool, &str) = match (&expected.stats, &found.stats) {
        (AllowedStats::Unknown, _) => {
            return checks.excused(&rules::LIST_STATS, Excuse::Unobserved, 1);
        }
        (AllowedStats::Within(bounds), Some(stats)) => {
            let fits = bounds.allow_for(stats.files, stats.added, stats.removed);
            (&rules::LIST_STATS, fits, "other figures")
        }
        (AllowedStats::Within(_), None) => (&rules::LIST_STATS, false, "no figures"),
        (AllowedStats::None, stats) => {
            (&rules::LIST_OLDEST_NO_STATS, stats.is_none(), "figures for the oldest")
        }
    };
    checks.check(Judge::Answer, rule, holds, || wrong(symptom));
}
