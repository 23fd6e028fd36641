//! When a sweep must run and what it may remove, the status of the store, and what clear removes.

use super::*;
use crate::allowed::{AllowedStatus, AllowedSweep, Disposition};
use pretty_assertions::assert_eq;

const HOUR: i64 = 3_600;

fn allowed(scene: &Scene, request: &str) -> Box<AllowedSweep> {
    match scene.allows(request) {
        Allowed::Sweep(sweep) => sweep,
        unexpected => panic!("{unexpected:?}"),
    }
}

/// A scene with a checkpoint of each of these projects in `work`.
pub(super) fn scene(projects: &str) -> Scene {
    let mut scene = Scene::with("");
    for project in projects.split(' ') {
        scene.edit(&format!("/work/{project}/a={project}"));
        scene.perform(&format!("take {project}"));
    }
    scene
}

/// Whether a sweep may run now, and whether it may be declined.
fn sweeps(scene: &Scene) -> (bool, bool) {
    let sweep = allowed(scene, "sweep");
    // The counts are judged only for a sweep that ran and may run.
    let errors = |outcome| usize::from(outcome != SweepOutcome::Done || !sweep.may_run);
    let counts = |outcome| Counts { errors: errors(outcome), ..Counts::default() };
    let answer = |outcome| scene.broken_by("sweep", swept(outcome, counts(outcome)));
    let rule = |is_allowed| if is_allowed { "" } else { "sweep/interval" };
    assert_eq!(answer(SweepOutcome::Done), rule(sweep.may_run));
    assert_eq!(answer(SweepOutcome::NotDue), rule(sweep.may_decline));
    assert_eq!(answer(SweepOutcome::Off), rule(sweep.may_decline));
    (sweep.may_run, sweep.may_decline)
}

const MUST_RUN: (bool, bool) = (true, false);
const MAY_RUN: (bool, bool) = (true, true);
const MUST_NOT_RUN: (bool, bool) = (false, true);

#[test]
fn sweep_must_run_once_min_interval_hours_have_passed_since_the_last_one() {
    let mut scene = scene("alpha");
    assert_eq!(sweeps(&scene), MUST_RUN);
    scene.learn_answer("sweep", swept(SweepOutcome::NotDue, Counts::default()));
    assert_eq!(sweeps(&scene), MUST_RUN);
    scene.perform("sweep");
    for (wait, expected) in [(0, MUST_NOT_RUN), (24 * HOUR - 1, MUST_NOT_RUN), (1, MUST_RUN)] {
        scene.wait(wait);
        assert_eq!(sweeps(&scene), expected);
    }
    scene.world.settings.min_interval_hours = u64::MAX;
    scene.wait(100_000 * DAY);
    assert_eq!(sweeps(&scene), MUST_NOT_RUN);
    scene.world.settings.min_interval_hours = 0;
    assert_eq!(sweeps(&scene), MUST_RUN);
    scene.world.settings.min_interval_hours = 24;
    // A marker without a valid time, or with a future time, does not prevent a sweep.
    for (age, expected) in
        [(None, MUST_RUN), (Some(1), MUST_NOT_RUN), (Some(0), MUST_NOT_RUN), (Some(-1), MUST_RUN)]
    {
        let says = age.map(|age| scene.world.seconds() - age);
        scene.world.edit_store(&StoreEdit::Marker { says }, true);
        assert_eq!(sweeps(&scene), expected, "{says:?}");
    }
    scene.world.settings.auto_prune = false;
    assert_eq!(sweeps(&scene), MUST_NOT_RUN);
    let early = scene.observation("sweep", swept(SweepOutcome::Done, Counts::default()));
    assert_eq!(symptoms(&scene.checks(&early)), ["swept too early"]);
    assert_eq!(scene.broken_by("sweep", Answer::Done), "maintenance/never-raises");
}

#[test]
fn sweep_may_be_declined_for_an_empty_store_or_after_a_recent_prune() {
    let mut empty = Scene::with("");
    assert_eq!(sweeps(&empty), MAY_RUN);
    empty.add_archive("legacy-1");
    assert_eq!(sweeps(&empty), MUST_RUN);
    let mut scene = scene("alpha");
    scene.perform("prune 7 0 orphans");
    assert_eq!(sweeps(&scene), MAY_RUN);
    scene.wait(24 * HOUR);
    assert_eq!(sweeps(&scene), MUST_RUN);
    // A manual prune always runs.
    scene.perform("sweep");
    let declined = scene.observation("prune 7 0", swept(SweepOutcome::NotDue, Counts::default()));
    assert_eq!(symptoms(&scene.checks(&declined)), ["not swept"]);
    assert_eq!(scene.broken_rules(&declined), "maintenance/commands");
    assert_eq!(scene.broken_by("prune 7 0", refused(Code::Io)), "maintenance/commands");
}

#[test]
fn sweep_follows_the_settings_and_prune_its_arguments() {
    let mut scene = scene("alpha");
    scene.world.settings.max_total_bytes = 9;
    let sweep = allowed(&scene, "sweep");
    assert_eq!((sweep.max_total_bytes, sweep.manual), (9, false));
    let prune = allowed(&scene, "prune 7 3 orphans");
    assert_eq!((prune.max_total_bytes, prune.manual, prune.may_run), (3, true, true));
    for (request, bytes) in [
        ("sweep", 9),
        ("take alpha", 9),
        ("ensure alpha", 9),
        ("restore alpha 1", 9),
        ("file alpha 1 a", 9),
        ("prune 7 3", 3),
        ("list alpha", 0),
    ] {
        assert_eq!(scene.world.size_bound(&parse_request(request)), bytes, "{request}");
    }
    scene.wait(2 * DAY);
    scene.edit("-/work/alpha");
    scene.world.settings.retention_days = 1;
    scene.world.settings.delete_orphans = false;
    let disposition = allowed(&scene, "sweep").projects[&b"work/alpha"[..]];
    assert!(disposition.may_be_stale && !disposition.may_be_orphan);
    let disposition = allowed(&scene, "prune 7 0 orphans").projects[&b"work/alpha"[..]];
    assert!(!disposition.may_be_stale && disposition.may_be_orphan);
}

/// Whether a project may stay, may go as an orphan and may go as stale, and the rule.
fn summary(disposition: Disposition) -> (bool, bool, bool, &'static str) {
    (disposition.may_stay, disposition.may_be_orphan, disposition.may_be_stale, disposition.rule.id)
}

/// What a prune may do to `alpha`.
fn disposition(scene: &Scene, request: &str) -> (bool, bool, bool, &'static str) {
    summary(allowed(scene, request).projects[&b"work/alpha"[..]])
}

const PRUNE: &str = "prune 7 0 orphans";
const STAYS: (bool, bool, bool, &str) = (true, false, false, "sweep/stale");
const MAY_GO: (bool, bool, bool, &str) = (true, false, true, "sweep/stale");
const GOES: (bool, bool, bool, &str) = (false, false, true, "sweep/stale");

#[test]
fn prune_removes_a_project_unused_for_longer_than_retention_days() {
    let mut scene = scene("alpha");
    scene.wait(7 * DAY - 1);
    assert_eq!(disposition(&scene, PRUNE), STAYS);
    scene.wait(1);
    assert_eq!(disposition(&scene, PRUNE), MAY_GO, "nobody says which");
    scene.wait(1);
    assert_eq!(disposition(&scene, PRUNE), GOES);
    assert_eq!(disposition(&scene, "prune 0 0 orphans"), STAYS);
    assert_eq!(disposition(&scene, &format!("prune {} 0", u64::MAX)), STAYS);
    // No rule says whether a list counts as a use.
    scene.perform("list alpha");
    assert_eq!(disposition(&scene, PRUNE), MAY_GO);
    // An attempt that finds nothing new may count as one.
    scene.perform("take alpha");
    assert_eq!(disposition(&scene, PRUNE), MAY_GO);
    scene.edit("a=new");
    scene.perform("take alpha");
    assert_eq!(disposition(&scene, PRUNE), STAYS);
    // So may a restore that finds nothing to take.
    scene.wait(8 * DAY);
    scene.perform("restore alpha 1");
    assert_eq!(disposition(&scene, PRUNE), MAY_GO);
}

#[test]
fn prune_may_keep_or_remove_a_project_used_before_the_clock_went_back() {
    let mut scene = scene("alpha");
    scene.wait(10 * DAY);
    scene.edit("a=new");
    scene.perform("take alpha");
    scene.wait(-10 * DAY);
    scene.perform("take alpha");
    scene.wait(8 * DAY);
    assert_eq!(disposition(&scene, PRUNE), MAY_GO);
    // A checkpoint request without changes is recorded as a use: neither time alone decides.
    let mut scene = self::scene("alpha");
    scene.wait(8 * DAY);
    scene.perform("take alpha");
    scene.wait(8 * DAY);
    assert_eq!(disposition(&scene, PRUNE), GOES);
}

#[test]
fn prune_may_keep_a_project_whose_directory_was_renamed_until_it_is_stale() {
    let mut scene = Scene::with("a=");
    scene.perform("take alpha");
    let rename = Edit::Rename { from: "work/alpha".into(), to: "work/other".into() };
    scene.world.edit(&rename);
    assert_eq!(disposition(&scene, PRUNE), (true, true, false, "sweep/stale"));
    assert_eq!(disposition(&scene, "prune 7 0"), (true, false, false, "sweep/stale"));
    scene.wait(8 * DAY);
    assert_eq!(disposition(&scene, PRUNE), (false, true, true, "sweep/stale"));
}

#[test]
fn prune_treats_a_project_as_an_orphan_if_its_directory_is_gone_from_an_existing_parent() {
    let mut scene = Scene::with("a= /top/a=");
    scene.perform("take alpha");
    scene.perform("take /world/top");
    scene.edit("-/work/alpha -/top");
    let orphan = (false, true, false, "sweep/orphans");
    assert_eq!(disposition(&scene, PRUNE), orphan);
    assert_eq!(disposition(&scene, "prune 7 0"), (true, false, false, "sweep/orphans"));
    assert_eq!(summary(allowed(&scene, PRUNE).projects[&b"top"[..]]), orphan);
    scene.wait(8 * DAY);
    assert_eq!(disposition(&scene, PRUNE), orphan, "it goes for one reason only");
    assert_eq!(disposition(&scene, "prune 7 0"), GOES);
}

#[test]
fn prune_judges_a_project_by_age_alone_without_evidence_that_its_directory_is_gone() {
    // The parent is missing as well, as for a disk that is not mounted.
    let mut scene = self::scene("alpha");
    scene.edit("-/work");
    assert_eq!(disposition(&scene, PRUNE), (true, false, false, "sweep/evidence"));
    scene.wait(8 * DAY);
    assert_eq!(disposition(&scene, PRUNE), GOES);
    // A file replaces the directory or its parent: no rule says what that means.
    for file in ["/work/alpha=", "/work="] {
        let mut scene = self::scene("alpha");
        scene.edit(file);
        assert_eq!(disposition(&scene, PRUNE), (true, true, false, "sweep/stale"), "{file}");
        assert_eq!(disposition(&scene, "prune 7 0"), STAYS, "{file}");
    }
}

pub(super) fn status(scene: &Scene) -> AllowedStatus {
    match scene.allows("status") {
        Allowed::Status(status) => status,
        unexpected => panic!("{unexpected:?}"),
    }
}

#[test]
fn damaged_metadata_is_not_evidence_until_a_checkpoint_heals_it() {
    let mut scene = scene("alpha beta");
    scene.damage_metadata("work/alpha");
    assert_eq!(texts(scene.world.damaged()), ["work/alpha"]);
    scene.wait(8 * DAY);
    assert_eq!(disposition(&scene, PRUNE), (true, false, true, "sweep/evidence"));
    assert_eq!(texts(&status(&scene).nameless), ["/world/work/alpha"]);
    scene.perform("take beta");
    assert!(scene.world.healed().is_empty());
    scene.perform("take alpha");
    assert!(scene.world.damaged().is_empty());
    assert_eq!(texts(scene.world.healed()), ["work/alpha"]);
    assert_eq!(texts(&status(&scene).healed), ["/world/work/alpha"]);
    scene.damage_metadata("work/alpha");
    assert!(scene.world.healed().is_empty());
    // A restore without changes heals it too, but only if the directory exists.
    scene.perform("restore alpha 1");
    assert_eq!(texts(scene.world.healed()), ["work/alpha"]);
    scene.damage_metadata("work/alpha");
    let mut gone = scene.clone();
    gone.edit("-/work/alpha");
    gone.perform("restore alpha 1");
    assert_eq!(texts(gone.world.damaged()), ["work/alpha"]);
    // No metadata is written for a project without files.
    let mut empty = Scene::with("");
    empty.damage_metadata("work/alpha");
    empty.perform("take alpha");
    assert_eq!(texts(empty.world.damaged()), ["work/alpha"]);
    // An index is only a cache.
    let edit = StoreEdit::Index { project: "work/beta".into(), damage: Damage::Emptied };
    scene.world.edit_store(&edit, true);
    assert_eq!(texts(scene.world.damaged()), ["work/alpha"]);
}

#[test]
fn prune_judges_v1_repositories_and_archives_by_age_and_directory() {
    let mut scene = Scene::with("");
    scene.add_repository("old", "work/alpha", true);
    scene.add_repository("gone", "work/gone", false);
    scene.add_archive("legacy-1");
    let to_archive = scene.world.repositories().values().map(|repository| repository.due);
    assert_eq!(to_archive.collect::<Vec<_>>(), [true, false]);
    scene.wait(7 * DAY + 1);
    let found = allowed(&scene, PRUNE);
    assert_eq!(summary(found.repositories["old"]), GOES);
    assert_eq!(summary(found.repositories["gone"]), (false, true, false, "sweep/orphans"));
    assert_eq!(summary(found.archives["legacy-1"]), GOES);
    assert_eq!(summary(allowed(&scene, "prune 8 0").archives["legacy-1"]), STAYS);
}

/// The rules broken by a prune with these changes of the store and these counts: scanned, orphans,
/// stale, errors and bytes freed.
fn pruned(scene: &Scene, counts: [usize; 5], change: impl Fn(&mut Contents, &mut Base)) -> String {
    let [scanned, orphans, stale, errors, freed] = counts;
    let counts = Counts { scanned, orphans, stale, errors, bytes_freed: freed as u64 };
    let mut contents = scene.contents();
    let mut base = scene.base();
    change(&mut contents, &mut base);
    let observation = scene.observation(PRUNE, swept(SweepOutcome::Done, counts));
    scene.broken_rules(&Observation { contents: Some(contents), base: Some(base), ..observation })
}

#[test]
fn prune_removes_only_what_it_may_and_counts_it_correctly() {
    let exists = "";
    let gone = "-/work/alpha";
    for (edit, wait, is_removed, counts, rules) in [
        (exists, 0, false, [1, 0, 0, 0, 0], ""),
        (exists, 0, false, [2, 0, 0, 0, 0], ""),
        (exists, 0, false, [0, 0, 0, 0, 0], "sweep/counts"),
        (exists, 0, false, [1, 0, 1, 0, 0], "sweep/counts"),
        (exists, 0, false, [1, 0, 0, 1, 0], "maintenance/never-raises"),
        (exists, 0, true, [1, 0, 1, 0, 9], "sweep/stale sweep/counts"),
        (exists, 8, true, [1, 0, 1, 0, 9], ""),
        (exists, 8, true, [1, 1, 0, 0, 9], "sweep/orphans"),
        (exists, 8, false, [1, 0, 0, 0, 0], "sweep/stale"),
        (exists, 7, false, [1, 0, 0, 0, 0], ""),
        (exists, 7, true, [1, 0, 1, 0, 9], ""),
        (gone, 0, false, [1, 0, 0, 0, 0], "sweep/orphans"),
        (gone, 0, true, [1, 1, 0, 0, 9], ""),
        (gone, 0, true, [1, 0, 1, 0, 9], "sweep/orphans"),
        (gone, 0, true, [1, 0, 0, 0, 9], "sweep/counts"),
        (gone, 0, true, [1, 1, 1, 0, 9], "sweep/counts"),
        (gone, 0, true, [1, 1, 0, 0, 0], "sweep/counts"),
        ("-/work", 0, true, [1, 1, 0, 0, 9], "sweep/evidence sweep/counts"),
        ("-/work", 0, true, [1, 1, 1, 0, 9], "sweep/evidence sweep/counts"),
        ("-/work", 0, true, [1, 0, 0, 0, 9], "sweep/evidence"),
        // If no orphan was counted, the project was removed for its age.
        ("-/work", 0, true, [1, 0, 1, 0, 9], "sweep/stale sweep/counts"),
        ("/work/alpha=", 0, true, [1, 1, 0, 0, 9], ""),
        ("/work/alpha=", 0, false, [1, 0, 0, 0, 0], ""),
    ] {
        let mut scene = scene("alpha");
        scene.edit(edit);
        scene.wait(wait * DAY);
        let found = pruned(&scene, counts, |contents, _| {
            if is_removed {
                contents.visible.clear();
            }
        });
        assert_eq!(found, rules, "{edit} {wait} {is_removed} {counts:?}");
    }
    // A project without checkpoints may have metadata, and be counted when that is removed.
    let mut recorded = scene("alpha");
    recorded.edit("-/work/beta /work/beta/");
    assert_eq!(pruned(&recorded, [2, 0, 1, 0, 9], |_, _| {}), "sweep/counts");
    recorded.perform("take beta");
    assert_eq!(pruned(&recorded, [2, 0, 1, 0, 9], |_, _| {}), "");
    assert_eq!(pruned(&recorded, [2, 0, 2, 0, 9], |_, _| {}), "sweep/counts");
    // If the base is no smaller than before, no space was freed.
    let mut smaller = scene("alpha");
    smaller.edit(gone);
    let nothing_freed = |no_smaller| {
        pruned(&smaller, [1, 1, 0, 0, 0], |contents, _| {
            contents.visible.clear();
            contents.no_smaller = no_smaller;
        })
    };
    assert_eq!((&*nothing_freed(true), &*nothing_freed(false)), ("", "sweep/counts"));
    // A sweep may find a project only by its metadata.
    let mut scene = scene("alpha beta");
    assert_eq!(pruned(&scene, [1, 0, 0, 0, 0], |_, _| {}), "sweep/counts");
    scene.damage_metadata("work/alpha");
    assert_eq!(pruned(&scene, [1, 0, 0, 0, 0], |_, _| {}), "");
    assert_eq!(pruned(&scene, [0, 0, 0, 0, 0], |_, _| {}), "sweep/counts");
}

#[test]
fn prune_leaves_no_traces_of_removed_projects_and_no_unreachable_objects() {
    let mut scene = scene("alpha");
    let hash = scene.world.hash(b"work/alpha");
    let traces = |is_removed: bool| {
        let hash = hash.clone();
        move |contents: &mut Contents, _: &mut Base| {
            contents.traces.insert(hash.clone(), vec!["projects/x.json".into()]);
            if is_removed {
                contents.visible.clear();
            }
        }
    };
    assert_eq!(pruned(&scene, [1, 0, 0, 0, 0], traces(false)), "");
    scene.edit("-/work/alpha");
    assert_eq!(pruned(&scene, [1, 1, 0, 0, 9], traces(true)), "sweep/orphans");
    for (unreachable, rules) in [(vec![], ""), (vec!["ab".to_owned()], "sweep/reclaims")] {
        let found = pruned(&scene, [1, 1, 0, 0, 9], |contents, _| {
            contents.visible.clear();
            contents.unreachable = Some(unreachable.clone());
        });
        assert_eq!(found, rules);
    }
    let checks =
        scene.checks(&scene.observation(PRUNE, swept(SweepOutcome::Done, Counts::default())));
    assert_eq!((checks.violations.len(), count(&checks, "sweep/counts")), (0, 0));
}

#[test]
fn prune_removes_and_counts_v1_archives_and_repositories() {
    let stale = "sweep/stale";
    let counts = "sweep/counts";
    for (wait, left, counted, rules) in [
        (0, "old legacy-1", [1, 0, 0, 0, 0], ""),
        (0, "old legacy-1", [0, 0, 0, 0, 0], counts),
        (8, "", [1, 0, 2, 0, 9], ""),
        (8, "", [1, 0, 1, 0, 9], ""),
        (8, "", [1, 0, 3, 0, 9], counts),
        (8, "", [1, 0, 0, 0, 9], counts),
        (8, "legacy-1", [1, 0, 1, 0, 9], stale),
        (8, "old", [1, 0, 1, 0, 0], stale),
        // A sweep may archive the repository instead of judging it.
        (8, "moved", [1, 0, 1, 0, 0], ""),
        (0, "moved legacy-1", [1, 0, 0, 0, 0], ""),
        (0, "old", [1, 0, 1, 0, 0], "sweep/stale sweep/counts"),
    ] {
        let mut scene = Scene::with("");
        scene.add_repository("old", "work/alpha", true);
        scene.add_archive("legacy-1");
        scene.wait(wait * DAY);
        let found = pruned(&scene, counted, |_, base| {
            base.archives.retain(|name| left.contains(name));
            base.repositories.retain(|_, _| left.contains("old") || left.contains("moved"));
            for place in base.repositories.values_mut().flatten() {
                place.archive = left.contains("moved").then(|| "legacy-2".into());
            }
        });
        assert_eq!(found, rules, "{wait} {left} {counted:?}");
    }
}
