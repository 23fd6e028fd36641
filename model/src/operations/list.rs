//! The list of a project's checkpoints.

use super::label;
use crate::allowed::{AllowedList, AllowedListed, AllowedStats};
use crate::answer::Listed;
use crate::bytes::ByteString;
use crate::lines::LineBounds;
use crate::place::{Place, Standing};
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
        let (project, standing) = match self.locate(dir) {
            Place::Inside(path, standing) => (path, standing),
            Place::FileSystemRoot | Place::Elsewhere(_) => {
                (ByteString::default(), Standing::Nothing)
            }
        };
        let inside = self.canonical(dir).is_some();
        self.list_of(project, inside, standing == Standing::Nothing)
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
        let own: BTreeSet<String> =
            self.history(&project).iter().map(|one| one.id.clone()).collect();
        let all = self.histories().flat_map(|(_, all)| all.iter().map(|one| &one.id));
        AllowedList {
            limited: inside && self.history(&project).len() > listed.len(),
            spared: self.is_spared(&project, 0),
            disturbed: self.is_disturbed(&project),
            entries,
            foreign: all.filter(|id| !own.contains(*id)).cloned().collect(),
            handed_out: own,
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

/// Compares a list with the one that is right.
///
/// Implements [`rules::RESTORE_KEEPS_HISTORY`].
pub(super) fn compare(world: &World, due: &AllowedList, found: &[Listed], checks: &mut Checks) {
    let ids: Vec<&String> = found.iter().map(|one| &one.id).collect();
    let settled = world.is_open(&due.project).then(|| {
        let mut world = world.clone();
        world.settle(&due.project, &ids);
        world.list_of(due.project.clone(), true, due.deleted)
    });
    let due = settled.as_ref().unwrap_or(due);
    let expected: Vec<&String> = due.entries.iter().map(|one| &one.id).collect();
    let wrong = |symptom: &str| {
        Mismatch::new(
            symptom,
            format!("ids, newest first: {expected}", expected = plain(&expected)),
            plain(&ids),
        )
    };
    if due.disturbed && ids != expected {
        return compare_disturbed(world, due, found, checks);
    }
    if due.disturbed {
        let whole = due.entries.iter().filter(|one| !one.damaged).count();
        checks.held(&rules::MAINTENANCE_DAMAGE, whole as u64);
    }
    let alien = ids.iter().any(|id| due.foreign.contains(*id));
    checks.check(Judge::Answer, &rules::LIST_OWN_PROJECT, !alien, || wrong("another's checkpoint"));
    if due.limited {
        let held = found.len() <= due.entries.len();
        checks.check(Judge::Answer, &rules::LIST_AT_MOST, held, || wrong("too many"));
    }
    label::compare_listed(world, &due.project, &ids, checks);
    let same_set = expected.iter().collect::<BTreeSet<_>>() == ids.iter().collect();
    // One that was handed out before has not changed, whether or not it should be there.
    let renamed = !same_set && ids.iter().any(|id| !due.handed_out.contains(*id));
    let complete = due.entries.len() == found.len() && (same_set || renamed);
    let amount = || {
        wrong(match found.len().cmp(&due.entries.len()) {
            Ordering::Less => "too few",
            Ordering::Equal => "dropped ones",
            Ordering::Greater => "too many",
        })
    };
    let pushed_out = due.spared
        && found.len() < expected.len()
        && found.len() >= world.settings.max_snapshots
        && ids.iter().all(|id| expected.contains(id));
    if due.spared {
        let rule = &rules::RESTORE_KEEPS_HISTORY;
        checks.check(Judge::Answer, rule, !pushed_out, || wrong("pushed out by a restore"));
    }
    checks.check(Judge::Answer, &rules::LIST_COMPLETE, complete || pushed_out, amount);
    if due.deleted && !due.entries.is_empty() {
        let rule = &rules::RESTORE_DELETED_PROJECT;
        checks.check(Judge::Answer, rule, !found.is_empty(), amount);
    }
    checks.check(Judge::Answer, &rules::LIST_STABLE, !complete || same_set, || wrong("other ids"));
    let numbered = found.iter().enumerate().all(|(index, one)| one.number == index + 1);
    let in_order = !same_set || expected == ids;
    checks.check(Judge::Answer, &rules::LIST_NEWEST_FIRST, in_order && numbered, || {
        wrong("another order")
    });
    for one in found {
        if let Some(entry) = due.entries.iter().find(|entry| entry.id == one.id) {
            compare_entry(world, entry, one, checks);
        }
    }
}

/// Compares a list of a project in which something was damaged: whatever is whole is there, in its
/// order; what else of it is there is free, and how many are between them.
///
/// Implements [`rules::MAINTENANCE_DAMAGE`].
fn compare_disturbed(world: &World, due: &AllowedList, found: &[Listed], checks: &mut Checks) {
    let ids: Vec<&String> = found.iter().map(|one| &one.id).collect();
    // Those that are out of sight may count towards the limit still.
    let hidden = world.hidden(&due.project);
    let surplus = (due.entries.len() + hidden).saturating_sub(world.settings.max_snapshots);
    let required = due.entries.len() - surplus.min(due.entries.len());
    let required = due.entries.iter().take(required.max(1)).filter(|one| !one.may_be_hidden);
    let required: Vec<&String> = required.map(|one| &one.id).collect();
    let wrong = |symptom: &str| {
        let expected = format!("at least these ids, newest first: {}", plain(&required));
        Mismatch::new(symptom, expected, plain(&ids))
    };
    let alien = ids.iter().any(|id| due.foreign.contains(*id));
    checks.check(Judge::Answer, &rules::LIST_OWN_PROJECT, !alien, || wrong("another's checkpoint"));
    let missing = required.iter().any(|id| !ids.contains(id));
    checks.check(Judge::Answer, &rules::LIST_COMPLETE, !missing, || wrong("too few"));
    checks.held(&rules::MAINTENANCE_DAMAGE, if missing { 0 } else { required.len() as u64 });
    let is_known = |id: &&String| world.is_endless() || due.handed_out.contains(*id);
    let unknown = !alien && !ids.iter().all(is_known);
    checks.check(Judge::Answer, &rules::LIST_STABLE, !unknown, || wrong("other ids"));
    let known = |id: &&&String| due.entries.iter().any(|one| one.id == ***id);
    let shown: Vec<&String> = ids.iter().filter(known).copied().collect();
    let order = due.entries.iter().map(|one| &one.id).filter(|id| shown.contains(id));
    let numbered = found.iter().enumerate().all(|(index, one)| one.number == index + 1);
    let in_order = numbered && order.eq(shown.iter().copied());
    checks.check(Judge::Answer, &rules::LIST_NEWEST_FIRST, in_order, || wrong("another order"));
    for one in found {
        if let Some(entry) = due.entries.iter().find(|entry| entry.id == one.id) {
            compare_words(world, entry, one, checks);
        }
    }
}

/// What is said of one checkpoint does not depend on what is said of others.
///
/// Implements [`rules::LIST_TIME`] and [`rules::CAPTURE_REASON`].
fn compare_words(world: &World, due: &AllowedListed, found: &Listed, checks: &mut Checks) {
    if due.damaged {
        return;
    }
    if world.has("test.clock") {
        checks.same(Judge::Answer, &rules::LIST_TIME, "time", &due.time, &found.time);
    }
    if let Some(reason) = due.reason.as_ref().filter(|_| world.has("list.reason")) {
        checks.same(Judge::Answer, &rules::CAPTURE_REASON, "reason", reason, &found.reason);
    }
}

fn compare_entry(world: &World, due: &AllowedListed, found: &Listed, checks: &mut Checks) {
    compare_words(world, due, found, checks);
    if !world.has("list.stats") {
        return;
    }
    if due.damaged {
        return;
    }
    let wrong = |symptom: &str| {
        let expected = format!("number {}: {}", found.number, plain(&due.stats));
        Mismatch::new(symptom, expected, plain(&found))
    };
    let (rule, holds, symptom): (RuleRef, bool, &str) = match (&due.stats, &found.stats) {
        (AllowedStats::Unknown, _) => return,
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
