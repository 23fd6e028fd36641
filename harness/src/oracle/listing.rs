//! Lists and previews: is what a subject says of checkpoints what the model expects of them?

use super::{Checks, Judge, Mismatch};
use crate::protocol::capabilities::Capabilities;
use herma_model::answer::{DiffEntry, Listed, Stats};
use herma_model::expected::{ExpectedDiff, ExpectedList};
use herma_model::rules;
use std::collections::BTreeSet;

const JUDGE: Judge = Judge::Answer;

/// Compares a list with what the model expects.
pub(super) fn judge_list(
    list: &ExpectedList,
    found: &[Listed],
    capabilities: &Capabilities,
    checks: &mut Checks,
) {
    let ids: Vec<&String> = found.iter().map(|one| &one.id).collect();
    let expected: Vec<&String> = list.entries.iter().filter_map(|one| one.id.as_ref()).collect();
    let wrong = |symptom: &str| {
        Mismatch::new(symptom, format!("ids, newest first: {expected:?}"), format!("{ids:?}"))
    };
    let alien = ids.iter().any(|id| list.foreign.contains(*id));
    checks.check(JUDGE, &rules::LIST_OWN_PROJECT, !alien, || wrong("another's checkpoint"));
    if list.limited {
        let held = found.len() <= list.entries.len();
        checks.check(JUDGE, &rules::LIST_AT_MOST, held, || wrong("too many"));
    }
    let complete = list.entries.len() == found.len();
    let rule = if list.deleted && !list.entries.is_empty() {
        &rules::RESTORE_DELETED_PROJECT
    } else {
        &rules::LIST_COMPLETE
    };
    let too_few = found.len() < list.entries.len();
    checks.check(JUDGE, rule, complete, || wrong(if too_few { "too few" } else { "too many" }));
    let same_set = expected.iter().collect::<BTreeSet<_>>() == ids.iter().collect();
    checks.check(JUDGE, &rules::LIST_STABLE, same_set, || wrong("other ids"));
    let numbered = found.iter().enumerate().all(|(index, one)| one.number == index + 1);
    let in_order = expected == ids && numbered;
    checks.check(JUDGE, &rules::LIST_NEWEST_FIRST, in_order, || wrong("another order"));
    let last = list.entries.len().saturating_sub(1);
    // What one line says does not depend on what others say.
    let order_held = !checks.failed_here();
    for (index, (entry, one)) in list.entries.iter().zip(found).enumerate() {
        if !order_held {
            break;
        }
        checks.new_part();
        if capabilities.has("test.clock") {
            checks.same(JUDGE, &rules::LIST_TIME, "time", &entry.time, &one.time);
        }
        checks.new_part();
        if let Some(reason) = entry.reason.as_ref().filter(|_| capabilities.has("list.reason")) {
            checks.same(JUDGE, &rules::CAPTURE_REASON, "reason", reason, &one.reason);
        }
        let wrong = |symptom: &str| {
            let expected = format!("number {}: {:?}", index + 1, entry.stats);
            Mismatch::new(symptom, expected, format!("{one:?}"))
        };
        checks.new_part();
        if !capabilities.has("list.stats") {
            continue;
        }
        match (&entry.stats, &one.stats) {
            (Some(bounds), Some(stats)) => {
                let fits = stats.files == bounds.files && bounds.allow(stats.added, stats.removed);
                checks.check(JUDGE, &rules::LIST_STATS, fits, || wrong("other figures"));
            }
            (None, found) => {
                let holds = index == last && found.is_none();
                let told = || wrong("figures for the oldest");
                checks.check(JUDGE, &rules::LIST_OLDEST_NO_STATS, holds, told);
            }
            (Some(_), None) => {
                checks.check(JUDGE, &rules::LIST_STATS, false, || wrong("no figures"));
            }
        }
    }
}

/// Compares a preview with what the model expects.
pub(super) fn judge_diff(
    diff: &ExpectedDiff,
    found: &[DiffEntry],
    stats: &Stats,
    capabilities: &Capabilities,
    checks: &mut Checks,
) {
    let entries: Vec<_> = diff.entries.iter().map(|(path, how)| (path, *how)).collect();
    let mut named: Vec<_> = found.iter().map(|one| (&one.path, one.change)).collect();
    named.sort_unstable_by_key(|(path, _)| *path);
    checks.same(JUDGE, &rules::DIFF_PREVIEW, "changed files", &entries, &named);
    if !capabilities.has("diff.stats") {
        return;
    }
    let fits = stats.files == diff.stats.files && diff.stats.allow(stats.added, stats.removed);
    checks.check(JUDGE, &rules::DIFF_STATS, fits, || {
        Mismatch::new("other figures", format!("{:?}", diff.stats), format!("{stats:?}"))
    });
}
