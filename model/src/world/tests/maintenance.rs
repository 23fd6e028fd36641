//! What a sweep may remove and when it is due, what is said of the store, and what stands in the
//! base beside it.

use super::*;
use crate::answer::ProjectState;
use crate::expected::{Cleared, Disposition, ExpectedStatus, ExpectedSweep};
use crate::store_edit::{Damage, StoreEdit};
use pretty_assertions::assert_eq;

const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;

fn swept(scene: &mut Scene, request: &Request) -> Box<ExpectedSweep> {
    match scene.world.step(request) {
        Expected::Sweep(sweep) => sweep,
        other => panic!("{other:?}"),
    }
}

fn prune(scene: &mut Scene, retention_days: u64, delete_orphans: bool) -> Box<ExpectedSweep> {
    swept(scene, &Request::Prune { retention_days, max_total_bytes: 3, delete_orphans })
}

fn status(scene: &mut Scene) -> ExpectedStatus {
    match scene.world.step(&Request::Status) {
        Expected::Status(status) => status,
        other => panic!("{other:?}"),
    }
}

/// A scene with a checkpoint of each of these projects.
fn scene(projects: &[&str]) -> Scene {
    let mut scene = Scene::new();
    for project in projects {
        scene.write(&format!("{project}/a"), project);
        scene.take(&format!("/world/{project}"));
    }
    scene
}

fn repository(scene: &mut Scene, name: &str, project: &str, there_is_a_store: bool) {
    let edit =
        StoreEdit::Repository { name: name.to_owned(), project: project.into(), changed: START };
    scene.world.edit_store(&edit, there_is_a_store);
}

fn archive(scene: &mut Scene, name: &str) {
    scene.world.edit_store(&StoreEdit::Archive { name: name.to_owned(), made: START }, true);
}

fn damage(scene: &mut Scene, project: &str) {
    let edit = StoreEdit::Metadata { project: project.into(), damage: Damage::Garbled };
    scene.world.edit_store(&edit, true);
}

/// Whether a sweep may be made now, and whether it may be left.
fn due(scene: &mut Scene) -> (bool, bool) {
    let sweep = swept(scene, &Request::Sweep);
    (sweep.may_run, sweep.may_decline)
}

const MUST_RUN: (bool, bool) = (true, false);
const MAY_RUN: (bool, bool) = (true, true);
const MUST_NOT_RUN: (bool, bool) = (false, true);

#[test]
fn a_sweep_is_due_once_the_last_one_is_long_enough_ago() {
    let mut scene = scene(&["work/alpha"]);
    assert_eq!(due(&mut scene), MUST_RUN);
    scene.world.learn_swept();
    for (wait, expected) in [(0, MUST_NOT_RUN), (24 * HOUR - 1, MUST_NOT_RUN), (1, MUST_RUN)] {
        scene.wait(wait);
        assert_eq!(due(&mut scene), expected);
    }
    scene.world.settings.min_interval_hours = u64::MAX;
    scene.wait(100_000 * DAY);
    assert_eq!(due(&mut scene), MUST_NOT_RUN);
    scene.world.settings.min_interval_hours = 0;
    assert_eq!(due(&mut scene), MUST_RUN);
    scene.world.settings.min_interval_hours = 24;
    // What is no time, or one to come, stops nothing.
    for (says, expected) in
        [(None, MUST_RUN), (Some(1), MUST_NOT_RUN), (Some(0), MUST_NOT_RUN), (Some(-1), MUST_RUN)]
    {
        let says = says.map(|ago| scene.world.seconds() - ago);
        scene.world.edit_store(&StoreEdit::Marker { says }, true);
        assert_eq!(due(&mut scene), expected, "{says:?}");
    }
    scene.world.settings.auto_prune = false;
    assert_eq!(due(&mut scene), MUST_NOT_RUN);
}

#[test]
fn a_sweep_may_be_left_where_there_is_nothing_to_sweep_or_a_prune_was_not_long_ago() {
    let mut empty = Scene::new();
    assert_eq!(due(&mut empty), MAY_RUN);
    archive(&mut empty, "legacy-1");
    assert_eq!(due(&mut empty), MUST_RUN);
    let mut scene = scene(&["work/alpha"]);
    prune(&mut scene, 7, true);
    assert_eq!(due(&mut scene), MAY_RUN);
    scene.wait(24 * HOUR);
    assert_eq!(due(&mut scene), MUST_RUN);
    scene.world.learn_swept();
    assert!(!prune(&mut scene, 7, true).may_decline, "whoever asks by hand is heard");
}

#[test]
fn a_sweep_follows_the_settings_and_a_prune_what_is_asked() {
    let mut scene = scene(&["work/alpha"]);
    scene.world.settings.max_total_bytes = 9;
    let sweep = swept(&mut scene, &Request::Sweep);
    assert_eq!((sweep.max_total_bytes, sweep.manual), (9, false));
    let sweep = prune(&mut scene, 7, true);
    assert_eq!((sweep.max_total_bytes, sweep.manual, sweep.may_run), (3, true, true));
    scene.wait(2 * DAY);
    scene.remove("work/alpha");
    scene.world.settings.retention_days = 1;
    scene.world.settings.delete_orphans = false;
    let disposition = swept(&mut scene, &Request::Sweep).projects[&"work/alpha".into()];
    assert!(disposition.may_be_stale && !disposition.may_be_orphan);
    let disposition = prune(&mut scene, 7, true).projects[&"work/alpha".into()];
    assert!(!disposition.may_be_stale && disposition.may_be_orphan);
}

/// Whether it may stay, may go as an orphan and may go as stale, and the rule.
fn said(disposition: Disposition) -> (bool, bool, bool, &'static str) {
    (disposition.may_stay, disposition.may_be_orphan, disposition.may_be_stale, disposition.rule.id)
}

/// What a prune that keeps seven days may do with `work/alpha`.
fn disposition(scene: &mut Scene, delete_orphans: bool) -> (bool, bool, bool, &'static str) {
    said(prune(scene, 7, delete_orphans).projects[&"work/alpha".into()])
}

#[test]
fn what_was_not_used_for_longer_than_it_is_kept_is_stale() {
    let mut scene = scene(&["work/alpha"]);
    let rule = "sweep/stale";
    scene.wait(7 * DAY - 1);
    assert_eq!(disposition(&mut scene, true), (true, false, false, rule));
    scene.wait(1);
    assert_eq!(disposition(&mut scene, true), (true, false, true, rule), "nobody says which");
    scene.wait(1);
    assert_eq!(disposition(&mut scene, true), (false, false, true, rule));
    let unbounded = prune(&mut scene, 0, true).projects[&"work/alpha".into()];
    assert_eq!(said(unbounded), (true, false, false, rule));
    let most = prune(&mut scene, u64::MAX, true).projects[&"work/alpha".into()];
    assert_eq!(said(most), (true, false, false, rule));
    // Whether a question counts as a use nobody says either.
    scene.world.step(&Request::List { dir: "alpha".into() });
    assert_eq!(disposition(&mut scene, true), (true, false, true, rule));
    // An attempt that finds nothing new may count as one.
    scene.take("alpha");
    assert_eq!(disposition(&mut scene, true), (true, false, true, rule));
    scene.write("work/alpha/a", "new");
    scene.take("alpha");
    assert_eq!(disposition(&mut scene, true), (true, false, false, rule));
}

#[test]
fn a_clock_that_went_back_leaves_open_when_a_project_was_used() {
    let mut scene = scene(&["work/alpha"]);
    scene.wait(10 * DAY);
    scene.write("work/alpha/a", "new");
    scene.take("alpha");
    scene.wait(-10 * DAY);
    scene.take("alpha");
    scene.wait(8 * DAY);
    assert_eq!(disposition(&mut scene, true), (true, false, true, "sweep/stale"));
}

#[test]
fn a_project_is_an_orphan_where_its_directory_is_gone_from_one_that_is_there() {
    let mut scene = scene(&["work/alpha", "top"]);
    scene.remove("work/alpha");
    scene.remove("top");
    let orphan = (false, true, false, "sweep/orphans");
    assert_eq!(disposition(&mut scene, true), orphan);
    assert_eq!(disposition(&mut scene, false), (true, false, false, "sweep/orphans"));
    assert_eq!(said(prune(&mut scene, 7, true).projects[&"top".into()]), orphan);
    scene.wait(8 * DAY);
    assert_eq!(disposition(&mut scene, true), orphan, "it goes for one reason only");
    assert_eq!(disposition(&mut scene, false), (false, false, true, "sweep/stale"));
}

#[test]
fn without_evidence_that_a_directory_is_gone_only_time_counts() {
    // Nothing can be seen of where it was: a disk that is not mounted looks like that.
    let mut scene = self::scene(&["work/alpha"]);
    scene.remove("work");
    assert_eq!(disposition(&mut scene, true), (true, false, false, "sweep/evidence"));
    scene.wait(8 * DAY);
    assert_eq!(disposition(&mut scene, true), (false, false, true, "sweep/stale"));
    // Something else stands there, or where it was in: nobody says what that means.
    for path in ["work/alpha", "work"] {
        let mut scene = self::scene(&["work/alpha"]);
        scene.remove(path);
        scene.write(path, "no directory");
        assert_eq!(disposition(&mut scene, true), (true, true, false, "sweep/stale"), "{path}");
        assert_eq!(disposition(&mut scene, false), (true, false, false, "sweep/stale"), "{path}");
    }
}

#[test]
fn damaged_metadata_is_no_evidence_until_a_take_heals_it() {
    let mut scene = scene(&["work/alpha", "work/beta"]);
    damage(&mut scene, "work/alpha");
    assert_eq!(texts(scene.world.damaged()), ["work/alpha"]);
    scene.wait(8 * DAY);
    assert_eq!(disposition(&mut scene, true), (true, false, true, "sweep/evidence"));
    assert_eq!(texts(&status(&mut scene).nameless), ["/world/work/alpha"]);
    assert!(
        scene.take("beta").kind == CheckpointKind::Unchanged && scene.world.healed().is_empty()
    );
    assert_eq!(scene.take("alpha").kind, CheckpointKind::Unchanged);
    assert!(scene.world.damaged().is_empty());
    assert_eq!(texts(scene.world.healed()), ["work/alpha"]);
    damage(&mut scene, "work/alpha");
    assert!(scene.world.healed().is_empty());
    // An index only saves time.
    let edit = StoreEdit::Index { project: "work/beta".into(), damage: Damage::Emptied };
    scene.world.edit_store(&edit, true);
    assert_eq!(texts(scene.world.damaged()), ["work/alpha"]);
    scene.world.learn_gone(&"work/alpha".into());
    assert!(scene.world.damaged().is_empty() && scene.world.history(b"work/alpha").is_empty());
    assert_eq!(scene.world.history(b"work/beta").len(), 1);
}

#[test]
fn the_status_says_how_many_checkpoints_a_project_has_and_what_may_be_known_of_it() {
    use ProjectState::{Live, Orphan, Unknown};
    let projects = ["work/alpha", "work/gone", "deep/gone", "work/other"];
    let mut scene = scene(&projects);
    for path in ["work/gone", "deep", "work/other"] {
        scene.remove(path);
    }
    scene.write("work/other", "no directory");
    scene.write("work/alpha/a", "new");
    scene.take("alpha");
    archive(&mut scene, "legacy-1");
    let said = status(&mut scene);
    let expected = [
        ("/world/deep/gone", 1, vec![Orphan, Unknown]),
        ("/world/work/alpha", 2, vec![Live]),
        ("/world/work/gone", 1, vec![Orphan]),
        ("/world/work/other", 1, vec![Live, Orphan, Unknown]),
    ];
    let expected = expected.map(|(path, count, states)| (path.into(), (count, states)));
    assert!(said.projects.into_iter().eq(expected));
    assert!(said.nameless.is_empty());
    assert!(said.archives.iter().eq(["legacy-1"]));
    scene.world.settings.max_snapshots = 1;
    assert_eq!(status(&mut scene).projects[&"/world/work/alpha".into()].0, 1);
}

#[test]
fn repositories_and_archives_of_the_v1_repository_grow_old_and_lose_their_directory() {
    let mut scene = Scene::new();
    repository(&mut scene, "old", "work/alpha", true);
    repository(&mut scene, "gone", "work/gone", false);
    repository(&mut scene, "archived", "work/alpha", false);
    archive(&mut scene, "legacy-1");
    scene.world.learn_archived("archived", "legacy-2");
    scene.world.learn_archived("none", "legacy-3");
    assert!(scene.world.archives().keys().eq(["legacy-1", "legacy-2"]));
    let dues = scene.world.repositories().values().map(|one| one.due);
    assert_eq!(dues.collect::<Vec<_>>(), [true, true, false]);
    scene.wait(7 * DAY + 1);
    let sweep = prune(&mut scene, 7, true);
    assert!(sweep.repositories.keys().eq(["gone", "old"]), "what is archived is not judged twice");
    assert_eq!(said(sweep.repositories["old"]), (false, false, true, "sweep/stale"));
    assert_eq!(said(sweep.repositories["gone"]), (false, true, false, "sweep/orphans"));
    assert!(sweep.archives.keys().eq(["legacy-1", "legacy-2"]));
    assert_eq!(said(sweep.archives["legacy-1"]), (false, false, true, "sweep/stale"));
    let kept = prune(&mut scene, 8, true);
    assert_eq!(said(kept.archives["legacy-1"]), (true, false, false, "sweep/stale"));
}

#[test]
fn the_world_learns_what_is_gone_from_the_base() {
    let mut scene = Scene::new();
    for name in ["a", "b", "c"] {
        repository(&mut scene, name, "work/alpha", false);
    }
    scene.world.edit_store(&StoreEdit::Stray { name: "notes".to_owned() }, true);
    assert!(scene.world.strays().iter().eq(["notes"]));
    scene.wait(5);
    for name in ["a", "b"] {
        scene.world.learn_archived(name, "legacy-1");
        scene.wait(5);
    }
    assert_eq!(scene.world.archives()["legacy-1"], START + 5);
    assert_eq!(scene.world.repositories()["a"].archive.as_deref(), Some("legacy-1"));
    scene.world.learn_archived("c", "legacy-2");
    scene.world.learn_archive_gone("legacy-1");
    assert!(scene.world.repositories().keys().eq(["c"]));
    assert!(scene.world.archives().keys().eq(["legacy-2"]));
    scene.world.learn_repository_gone("c");
    assert!(scene.world.repositories().is_empty());
}

#[test]
fn the_world_learns_which_checkpoints_are_left() {
    let mut scene = scene(&["work/alpha", "work/beta"]);
    for content in ["2", "3"] {
        scene.write("work/alpha/a", content);
        scene.take("alpha");
    }
    let newest = Some(id(4));
    for (count, left) in [(5, 3), (3, 3), (2, 2), (1, 1)] {
        scene.world.learn_remaining(&"work/alpha".into(), count);
        let all = scene.world.history(b"work/alpha");
        assert_eq!((all.len(), &all.last().unwrap().id), (left, &newest));
    }
    assert_eq!(scene.world.history(b"work/beta").len(), 1);
}

#[test]
fn clearing_is_of_the_archives_or_of_everything() {
    let mut scene = scene(&["work/alpha"]);
    archive(&mut scene, "legacy-1");
    let legacy = scene.world.step(&Request::ClearLegacy);
    assert!(matches!(legacy, Expected::Cleared(Cleared::Archives)));
    let all = scene.world.step(&Request::Clear);
    assert!(matches!(all, Expected::Cleared(Cleared::Everything)));
    scene.world.learn_cleared();
    assert_eq!(scene.world.histories().count(), 0);
    assert!(scene.world.archives().is_empty());
}
