//! When a sweep is due and what it may remove, what is said of the store, and what clearing clears.

use super::*;
use crate::allowed::{AllowedStatus, AllowedSweep, Disposition};
use pretty_assertions::assert_eq;

const HOUR: i64 = 3_600;

fn due(scene: &Scene, asked: &str) -> Box<AllowedSweep> {
    match scene.allows(asked) {
        Allowed::Sweep(due) => due,
        other => panic!("{other:?}"),
    }
}

/// A scene with a checkpoint of each of these projects of `work`.
pub(super) fn scene(projects: &str) -> Scene {
    let mut scene = Scene::with("");
    for project in projects.split(' ') {
        scene.put(&format!("/work/{project}/a={project}"));
        scene.ask(&format!("take {project}"));
    }
    scene
}

/// Whether a sweep may be made now, and whether it may be left.
fn sweeps(scene: &Scene) -> (bool, bool) {
    let due = due(scene, "sweep");
    // What is counted is only asked of a sweep that was made and may be.
    let errors = |outcome| usize::from(outcome != SweepOutcome::Done || !due.may_run);
    let counts = |outcome| Counts { errors: errors(outcome), ..Counts::default() };
    let answer = |outcome| scene.answered("sweep", swept(outcome, counts(outcome)));
    let rule = |allowed| if allowed { "" } else { "sweep/interval" };
    assert_eq!(answer(SweepOutcome::Done), rule(due.may_run));
    assert_eq!(answer(SweepOutcome::NotDue), rule(due.may_decline));
    assert_eq!(answer(SweepOutcome::Off), rule(due.may_decline));
    (due.may_run, due.may_decline)
}

const MUST_RUN: (bool, bool) = (true, false);
const MAY_RUN: (bool, bool) = (true, true);
const MUST_NOT_RUN: (bool, bool) = (false, true);

#[test]
fn a_sweep_is_due_once_the_last_one_is_long_enough_ago() {
    let mut scene = scene("alpha");
    assert_eq!(sweeps(&scene), MUST_RUN);
    scene.told("sweep", swept(SweepOutcome::NotDue, Counts::default()));
    assert_eq!(sweeps(&scene), MUST_RUN);
    scene.ask("sweep");
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
    // What is no time, or one to come, stops nothing.
    for (says, expected) in
        [(None, MUST_RUN), (Some(1), MUST_NOT_RUN), (Some(0), MUST_NOT_RUN), (Some(-1), MUST_RUN)]
    {
        let says = says.map(|ago| scene.world.seconds() - ago);
        scene.world.edit_store(&StoreEdit::Marker { says }, true);
        assert_eq!(sweeps(&scene), expected, "{says:?}");
    }
    scene.world.settings.auto_prune = false;
    assert_eq!(sweeps(&scene), MUST_NOT_RUN);
    let early = scene.seen("sweep", swept(SweepOutcome::Done, Counts::default()));
    assert_eq!(symptoms(&scene.checks(&early)), ["swept too early"]);
    assert_eq!(scene.answered("sweep", Answer::Done), "maintenance/never-raises");
}

#[test]
fn a_sweep_may_be_left_where_there_is_nothing_to_sweep_or_a_prune_was_not_long_ago() {
    let mut empty = Scene::with("");
    assert_eq!(sweeps(&empty), MAY_RUN);
    empty.archive("legacy-1");
    assert_eq!(sweeps(&empty), MUST_RUN);
    let mut scene = scene("alpha");
    scene.ask("prune 7 0 orphans");
    assert_eq!(sweeps(&scene), MAY_RUN);
    scene.wait(24 * HOUR);
    assert_eq!(sweeps(&scene), MUST_RUN);
    // Whoever asks by hand is heard.
    scene.ask("sweep");
    let declined = scene.seen("prune 7 0", swept(SweepOutcome::NotDue, Counts::default()));
    assert_eq!(symptoms(&scene.checks(&declined)), ["not swept"]);
    assert_eq!(scene.broken(&declined), "maintenance/commands");
    assert_eq!(scene.answered("prune 7 0", refused(Code::Io)), "maintenance/commands");
}

#[test]
fn a_sweep_follows_the_settings_and_a_prune_what_is_asked() {
    let mut scene = scene("alpha");
    scene.world.settings.max_total_bytes = 9;
    let sweep = due(&scene, "sweep");
    assert_eq!((sweep.max_total_bytes, sweep.manual), (9, false));
    let prune = due(&scene, "prune 7 3 orphans");
    assert_eq!((prune.max_total_bytes, prune.manual, prune.may_run), (3, true, true));
    for (asked, bytes) in [
        ("sweep", 9),
        ("take alpha", 9),
        ("ensure alpha", 9),
        ("restore alpha 1", 9),
        ("file alpha 1 a", 9),
        ("prune 7 3", 3),
        ("list alpha", 0),
    ] {
        assert_eq!(scene.world.size_bound(&request(asked)), bytes, "{asked}");
    }
    scene.wait(2 * DAY);
    scene.put("-/work/alpha");
    scene.world.settings.retention_days = 1;
    scene.world.settings.delete_orphans = false;
    let disposition = due(&scene, "sweep").projects[&"work/alpha".into()];
    assert!(disposition.may_be_stale && !disposition.may_be_orphan);
    let disposition = due(&scene, "prune 7 0 orphans").projects[&"work/alpha".into()];
    assert!(!disposition.may_be_stale && disposition.may_be_orphan);
}

/// Whether it may stay, may go as an orphan and may go as stale, and the rule.
fn said(disposition: Disposition) -> (bool, bool, bool, &'static str) {
    (disposition.may_stay, disposition.may_be_orphan, disposition.may_be_stale, disposition.rule.id)
}

/// What a prune may do with `alpha`.
fn disposition(scene: &Scene, asked: &str) -> (bool, bool, bool, &'static str) {
    said(due(scene, asked).projects[&"work/alpha".into()])
}

const PRUNE: &str = "prune 7 0 orphans";
const STAYS: (bool, bool, bool, &str) = (true, false, false, "sweep/stale");
const MAY_GO: (bool, bool, bool, &str) = (true, false, true, "sweep/stale");
const GOES: (bool, bool, bool, &str) = (false, false, true, "sweep/stale");

#[test]
fn what_was_not_used_for_longer_than_it_is_kept_is_stale() {
    let mut scene = scene("alpha");
    scene.wait(7 * DAY - 1);
    assert_eq!(disposition(&scene, PRUNE), STAYS);
    scene.wait(1);
    assert_eq!(disposition(&scene, PRUNE), MAY_GO, "nobody says which");
    scene.wait(1);
    assert_eq!(disposition(&scene, PRUNE), GOES);
    assert_eq!(disposition(&scene, "prune 0 0 orphans"), STAYS);
    assert_eq!(disposition(&scene, &format!("prune {} 0", u64::MAX)), STAYS);
    // Whether a question counts as a use nobody says either.
    scene.ask("list alpha");
    assert_eq!(disposition(&scene, PRUNE), MAY_GO);
    // An attempt that finds nothing new may count as one.
    scene.ask("take alpha");
    assert_eq!(disposition(&scene, PRUNE), MAY_GO);
    scene.put("a=new");
    scene.ask("take alpha");
    assert_eq!(disposition(&scene, PRUNE), STAYS);
    // So may a restore that finds nothing to take.
    scene.wait(8 * DAY);
    scene.ask("restore alpha 1");
    assert_eq!(disposition(&scene, PRUNE), MAY_GO);
}

#[test]
fn a_clock_that_went_back_leaves_open_when_a_project_was_used() {
    let mut scene = scene("alpha");
    scene.wait(10 * DAY);
    scene.put("a=new");
    scene.ask("take alpha");
    scene.wait(-10 * DAY);
    scene.ask("take alpha");
    scene.wait(8 * DAY);
    assert_eq!(disposition(&scene, PRUNE), MAY_GO);
    // An unchanged take is a use, as far as is noted: neither time alone decides.
    let mut scene = self::scene("alpha");
    scene.wait(8 * DAY);
    scene.ask("take alpha");
    scene.wait(8 * DAY);
    assert_eq!(disposition(&scene, PRUNE), GOES);
}

#[test]
fn a_project_is_an_orphan_where_its_directory_is_gone_from_one_that_is_there() {
    let mut scene = Scene::with("a= /top/a=");
    scene.ask("take alpha");
    scene.ask("take /world/top");
    scene.put("-/work/alpha -/top");
    let orphan = (false, true, false, "sweep/orphans");
    assert_eq!(disposition(&scene, PRUNE), orphan);
    assert_eq!(disposition(&scene, "prune 7 0"), (true, false, false, "sweep/orphans"));
    assert_eq!(said(due(&scene, PRUNE).projects[&"top".into()]), orphan);
    scene.wait(8 * DAY);
    assert_eq!(disposition(&scene, PRUNE), orphan, "it goes for one reason only");
    assert_eq!(disposition(&scene, "prune 7 0"), GOES);
}

#[test]
fn without_evidence_that_a_directory_is_gone_only_time_counts() {
    // Nothing can be seen of where it was: a disk that is not mounted looks like that.
    let mut scene = self::scene("alpha");
    scene.put("-/work");
    assert_eq!(disposition(&scene, PRUNE), (true, false, false, "sweep/evidence"));
    scene.wait(8 * DAY);
    assert_eq!(disposition(&scene, PRUNE), GOES);
    // Something else stands there, or where it was in: nobody says what that means.
    for file in ["/work/alpha=", "/work="] {
        let mut scene = self::scene("alpha");
        scene.put(file);
        assert_eq!(disposition(&scene, PRUNE), (true, true, false, "sweep/stale"), "{file}");
        assert_eq!(disposition(&scene, "prune 7 0"), STAYS, "{file}");
    }
}

pub(super) fn status(scene: &Scene) -> AllowedStatus {
    match scene.allows("status") {
        Allowed::Status(status) => status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn damaged_metadata_is_no_evidence_until_a_take_heals_it() {
    let mut scene = scene("alpha beta");
    scene.damage("work/alpha");
    assert_eq!(texts(scene.world.damaged()), ["work/alpha"]);
    scene.wait(8 * DAY);
    assert_eq!(disposition(&scene, PRUNE), (true, false, true, "sweep/evidence"));
    assert_eq!(texts(&status(&scene).nameless), ["/world/work/alpha"]);
    scene.ask("take beta");
    assert!(scene.world.healed().is_empty());
    scene.ask("take alpha");
    assert!(scene.world.damaged().is_empty());
    assert_eq!(texts(scene.world.healed()), ["work/alpha"]);
    assert_eq!(texts(&status(&scene).healed), ["/world/work/alpha"]);
    scene.damage("work/alpha");
    assert!(scene.world.healed().is_empty());
    // A restore that finds nothing to take heals it too, but of a directory that is there.
    scene.ask("restore alpha 1");
    assert_eq!(texts(scene.world.healed()), ["work/alpha"]);
    scene.damage("work/alpha");
    let mut gone = scene.clone();
    gone.put("-/work/alpha");
    gone.ask("restore alpha 1");
    assert_eq!(texts(gone.world.damaged()), ["work/alpha"]);
    // Nothing is noted of a project that has nothing to save.
    let mut empty = Scene::with("");
    empty.damage("work/alpha");
    empty.ask("take alpha");
    assert_eq!(texts(empty.world.damaged()), ["work/alpha"]);
    // An index only saves time.
    let edit = StoreEdit::Index { project: "work/beta".into(), damage: Damage::Emptied };
    scene.world.edit_store(&edit, true);
    assert_eq!(texts(scene.world.damaged()), ["work/alpha"]);
}

#[test]
fn repositories_and_archives_of_the_v1_grow_old_and_lose_their_directory() {
    let mut scene = Scene::with("");
    scene.repository("old", "work/alpha", true);
    scene.repository("gone", "work/gone", false);
    scene.archive("legacy-1");
    let dues = scene.world.repositories().values().map(|one| one.due);
    assert_eq!(dues.collect::<Vec<_>>(), [true, false]);
    scene.wait(7 * DAY + 1);
    let found = due(&scene, PRUNE);
    assert_eq!(said(found.repositories["old"]), GOES);
    assert_eq!(said(found.repositories["gone"]), (false, true, false, "sweep/orphans"));
    assert_eq!(said(found.archives["legacy-1"]), GOES);
    assert_eq!(said(due(&scene, "prune 8 0").archives["legacy-1"]), STAYS);
}

/// The rules that are broken by a prune that counts so much and leaves this in the store; the
/// counts are of what was scanned, orphans, stale, errors and bytes.
fn pruned(scene: &Scene, counts: [usize; 5], spoil: impl Fn(&mut Contents, &mut Base)) -> String {
    let [scanned, orphans, stale, errors, freed] = counts;
    let counts = Counts { scanned, orphans, stale, errors, bytes_freed: freed as u64 };
    let (mut contents, mut base) = (scene.contents(), scene.base());
    spoil(&mut contents, &mut base);
    let seen = scene.seen(PRUNE, swept(SweepOutcome::Done, counts));
    scene.broken(&Observation { contents: Some(contents), base: Some(base), ..seen })
}

#[test]
fn what_a_sweep_removes_is_what_it_may_and_is_counted_as_that() {
    let (here, gone) = ("", "-/work/alpha");
    for (edit, wait, removed, counts, rules) in [
        (here, 0, false, [1, 0, 0, 0, 0], ""),
        (here, 0, false, [2, 0, 0, 0, 0], ""),
        (here, 0, false, [0, 0, 0, 0, 0], "sweep/counts"),
        (here, 0, false, [1, 0, 1, 0, 0], "sweep/counts"),
        (here, 0, false, [1, 0, 0, 1, 0], "maintenance/never-raises"),
        (here, 0, true, [1, 0, 1, 0, 9], "sweep/stale sweep/counts"),
        (here, 8, true, [1, 0, 1, 0, 9], ""),
        (here, 8, true, [1, 1, 0, 0, 9], "sweep/orphans"),
        (here, 8, false, [1, 0, 0, 0, 0], "sweep/stale"),
        (here, 7, false, [1, 0, 0, 0, 0], ""),
        (here, 7, true, [1, 0, 1, 0, 9], ""),
        (gone, 0, false, [1, 0, 0, 0, 0], "sweep/orphans"),
        (gone, 0, true, [1, 1, 0, 0, 9], ""),
        (gone, 0, true, [1, 0, 1, 0, 9], "sweep/orphans"),
        (gone, 0, true, [1, 0, 0, 0, 9], "sweep/counts"),
        (gone, 0, true, [1, 1, 1, 0, 9], "sweep/counts"),
        (gone, 0, true, [1, 1, 0, 0, 0], "sweep/counts"),
        ("-/work", 0, true, [1, 1, 0, 0, 9], "sweep/evidence sweep/counts"),
        ("-/work", 0, true, [1, 1, 1, 0, 9], "sweep/evidence sweep/counts"),
        ("-/work", 0, true, [1, 0, 0, 0, 9], "sweep/evidence"),
        // Its age is why it went, where nothing was counted as an orphan.
        ("-/work", 0, true, [1, 0, 1, 0, 9], "sweep/stale sweep/counts"),
        ("/work/alpha=", 0, true, [1, 1, 0, 0, 9], ""),
        ("/work/alpha=", 0, false, [1, 0, 0, 0, 0], ""),
    ] {
        let mut scene = scene("alpha");
        scene.put(edit);
        scene.wait(wait * DAY);
        let found = pruned(&scene, counts, |contents, _| {
            if removed {
                contents.visible.clear();
            }
        });
        assert_eq!(found, rules, "{edit} {wait} {removed} {counts:?}");
    }
    // A project without a checkpoint may have been noted, and be counted when its note goes.
    let mut noted = scene("alpha");
    noted.put("-/work/beta /work/beta/");
    assert_eq!(pruned(&noted, [2, 0, 1, 0, 9], |_, _| {}), "sweep/counts");
    noted.ask("take beta");
    assert_eq!(pruned(&noted, [2, 0, 1, 0, 9], |_, _| {}), "");
    assert_eq!(pruned(&noted, [2, 0, 2, 0, 9], |_, _| {}), "sweep/counts");
    // Where the base is no smaller than before, nothing is free now.
    let mut smaller = scene("alpha");
    smaller.put(gone);
    let nothing_freed = |no_smaller| {
        pruned(&smaller, [1, 1, 0, 0, 0], |contents, _| {
            contents.visible.clear();
            contents.no_smaller = no_smaller;
        })
    };
    assert_eq!((&*nothing_freed(true), &*nothing_freed(false)), ("", "sweep/counts"));
    // What is noted of a project may be all that leads a sweep to it.
    let mut scene = scene("alpha beta");
    assert_eq!(pruned(&scene, [1, 0, 0, 0, 0], |_, _| {}), "sweep/counts");
    scene.damage("work/alpha");
    assert_eq!(pruned(&scene, [1, 0, 0, 0, 0], |_, _| {}), "");
    assert_eq!(pruned(&scene, [0, 0, 0, 0, 0], |_, _| {}), "sweep/counts");
}

#[test]
fn nothing_of_what_was_swept_stays_and_nothing_that_is_not_needed() {
    let mut scene = scene("alpha");
    let hash = scene.world.hash(b"work/alpha");
    let traces = |removed: bool| {
        let hash = hash.clone();
        move |contents: &mut Contents, _: &mut Base| {
            contents.traces.insert(hash.clone(), vec!["projects/x.json".into()]);
            if removed {
                contents.visible.clear();
            }
        }
    };
    assert_eq!(pruned(&scene, [1, 0, 0, 0, 0], traces(false)), "");
    scene.put("-/work/alpha");
    assert_eq!(pruned(&scene, [1, 1, 0, 0, 9], traces(true)), "sweep/orphans");
    for (unreachable, rules) in [(vec![], ""), (vec!["ab".to_owned()], "sweep/reclaims")] {
        let found = pruned(&scene, [1, 1, 0, 0, 9], |contents, _| {
            contents.visible.clear();
            contents.unreachable = Some(unreachable.clone());
        });
        assert_eq!(found, rules);
    }
    let checks = scene.checks(&scene.seen(PRUNE, swept(SweepOutcome::Done, Counts::default())));
    assert_eq!((checks.violations.len(), count(&checks, "sweep/counts")), (0, 0));
}

#[test]
fn archives_and_repositories_are_swept_and_counted_as_well() {
    let (stale, counts) = ("sweep/stale", "sweep/counts");
    for (wait, left, counted, rules) in [
        (0, "old legacy-1", [1, 0, 0, 0, 0], ""),
        (0, "old legacy-1", [0, 0, 0, 0, 0], counts),
        (8, "", [1, 0, 2, 0, 9], ""),
        (8, "", [1, 0, 1, 0, 9], ""),
        (8, "", [1, 0, 3, 0, 9], counts),
        (8, "", [1, 0, 0, 0, 9], counts),
        (8, "legacy-1", [1, 0, 1, 0, 9], stale),
        (8, "old", [1, 0, 1, 0, 0], stale),
        // Instead of judging it, a sweep may put it where such things go.
        (8, "moved", [1, 0, 1, 0, 0], ""),
        (0, "moved legacy-1", [1, 0, 0, 0, 0], ""),
        (0, "old", [1, 0, 1, 0, 0], "sweep/stale sweep/counts"),
    ] {
        let mut scene = Scene::with("");
        scene.repository("old", "work/alpha", true);
        scene.archive("legacy-1");
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
