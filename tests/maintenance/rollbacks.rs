//! Pre-rollback checkpoints make room among themselves, in any form that git gives their refs.

use crate::maintenance::world::{DAY, NOON, World, noise};
use herma_core::disk::SystemDisk;
use herma_core::{Config, Listed, PruneOptions, RestoreOptions};
use pretty_assertions::assert_eq;
use std::fs;
use std::path::PathBuf;

const PROJECT: &str = "project";

impl World {
    fn keeping(&self, max_snapshots: usize) -> herma_core::Manager {
        self.on(SystemDisk, Config { max_snapshots, ..Config::default() })
    }

    fn listed(&self, max_snapshots: usize) -> Vec<Listed> {
        self.keeping(max_snapshots).list(&self.project(PROJECT)).unwrap()
    }

    fn ids(&self, max_snapshots: usize) -> Vec<String> {
        self.listed(max_snapshots).into_iter().map(|one| one.id).collect()
    }

    /// Changes the file and rolls back to `target`; returns the id of what was taken before.
    #[track_caller]
    fn rolls_back(&self, max_snapshots: usize, target: &str, content: &str) -> String {
        self.write(PROJECT, content);
        let (options, dir) = (RestoreOptions::default(), self.project(PROJECT));
        let restored = self.keeping(max_snapshots).restore(&dir, target.as_bytes(), options);
        let restored = restored.unwrap();
        assert!(restored.failed.is_empty(), "{restored:?}");
        restored.safety.expect("a checkpoint before")
    }

    #[track_caller]
    fn holds(&self, content: &str) {
        let found = fs::read_to_string(self.project(PROJECT).join("a.txt")).unwrap();
        assert_eq!(found, content);
    }

    fn beside(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.store().join("refs/rollbacks")).into_iter().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
        files.map(|file| file.unwrap().path()).collect()
    }
}

#[test]
fn twenty_five_files_are_restored_one_by_one_from_one_checkpoint() {
    let world = World::new();
    let names: Vec<String> = (0..25).map(|number| format!("{number}.txt")).collect();
    let place = |name: &String| world.project(PROJECT).join(name);
    fs::create_dir_all(world.project(PROJECT)).unwrap();
    names.iter().for_each(|name| fs::write(place(name), "good").unwrap());
    let good = world.take(PROJECT, "good");
    names.iter().for_each(|name| fs::write(place(name), "bad").unwrap());
    for name in &names {
        let manager = world.manager();
        manager.restore_file(&world.project(PROJECT), good.as_bytes(), name.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(place(name)).unwrap(), "good", "{name}");
    }
    let ids = world.ids(20);
    assert_eq!((ids.len(), ids.last()), (20, Some(&good)));
    world.git_finds_nothing_broken();
}

#[test]
fn rolling_back_again_and_again_leaves_all_of_the_work() {
    let world = World::new();
    let mut work: Vec<String> =
        (0..20).map(|step| world.take(PROJECT, &format!("work {step}"))).collect();
    work.reverse();
    for step in 0..25 {
        let safety = world.rolls_back(20, "2", &format!("edit {step}"));
        let ids = world.ids(20);
        assert_eq!(ids[0], safety);
        assert!(ids.ends_with(&work) && ids.len() <= 22, "{step}: {ids:?}");
    }
    // Back and forth between what was there and what was restored.
    for step in 0..25 {
        world.rolls_back(20, "1", &format!("again {step}"));
        let ids = world.ids(20);
        assert!(ids.ends_with(&work) && ids.len() <= 22, "{step}: {ids:?}");
    }
    world.git_finds_nothing_broken();
    let stored = world.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"]);
    let commits = stored.lines().filter(|kind| *kind == "commit").count();
    assert!(commits <= 62, "{commits} are stored: 22 are listed, 20 are not, and 20 may wait");
}

#[test]
fn what_was_taken_before_a_rollback_comes_back_as_long_as_it_is_listed() {
    let world = World::new();
    let work = world.take(PROJECT, "work");
    let taken: Vec<String> =
        (0..6).map(|step| world.rolls_back(4, &work, &format!("edit {step}"))).collect();
    let listed = [&taken[5], &taken[4], &taken[3], &work].map(String::clone);
    assert_eq!(world.ids(4), listed);
    for step in 0..6 {
        // The oldest of them stays where it is what is restored.
        let oldest = world.listed(4)[2].clone();
        let before = world.rolls_back(4, &oldest.id, &format!("other {step}"));
        if let Some(known) = taken.iter().position(|id| *id == oldest.id) {
            world.holds(&format!("edit {known}"));
        }
        assert_eq!((&world.ids(4)[0], &world.ids(4)[2]), (&before, &oldest.id));
    }
    assert!(world.ids(4).ends_with(&[work]));
    world.git_finds_nothing_broken();
}

/// Found by a run with seed 484268: it had two places, and kept the second one.
#[test]
fn one_that_stands_beside_makes_room_also_where_the_work_before_it_is_gone() {
    let world = World::new();
    let work = world.take(PROJECT, &noise(1, 5_000));
    let first = world.rolls_back(1, &work, "edit 0");
    let second = world.rolls_back(1, &first, "edit 1");
    assert_eq!(world.ids(1), [second.clone(), first.clone(), work]);
    let max_total_bytes = 2_000;
    let options = PruneOptions { retention_seconds: 0, max_total_bytes, delete_orphans: false };
    world.prune_with(&options);
    assert_eq!(world.ids(1), [second.clone(), first]);
    let third = world.rolls_back(1, &second, "edit 2");
    assert_eq!(world.ids(1), [third, second]);
    assert_eq!(world.beside().len(), 1);
    world.git_finds_nothing_broken();
}

#[test]
fn git_may_pack_the_refs_and_collect_garbage() {
    let world = World::new();
    let work = world.take(PROJECT, "work");
    (0..6).for_each(|step| drop(world.rolls_back(3, &work, &format!("edit {step}"))));
    let ids = world.ids(3);
    assert_eq!(ids.len(), 3);
    world.git(&["pack-refs", "--all"]);
    world.git(&["gc", "--quiet", "--prune=now"]);
    assert!(world.beside().is_empty(), "{:?}", world.beside());
    assert_eq!(world.ids(3), ids);
    for step in 6..12 {
        world.rolls_back(3, &work, &format!("edit {step}"));
        assert_eq!(world.ids(3).len(), 3);
        world.git_finds_nothing_broken();
    }
    assert!(world.ids(3).contains(&work));
}

#[test]
fn the_next_checkpoint_of_the_work_brings_the_list_back_to_the_limit() {
    let world = World::new();
    for step in 0..3 {
        world.take_keeping(3, PROJECT, &format!("work {step}"));
    }
    (0..4).for_each(|step| drop(world.rolls_back(3, "3", &format!("edit {step}"))));
    assert!(world.ids(3).len() > 3);
    let before = world.ids(3);
    let newest = world.take_keeping(3, PROJECT, "more work");
    assert_eq!(world.ids(3), [&newest, &before[0], &before[1]].map(String::clone));
    for step in 0..3 {
        world.take_keeping(3, PROJECT, &format!("and more {step}"));
    }
    assert_eq!(world.beside(), Vec::<PathBuf>::new());
    world.git_finds_nothing_broken();
}

#[test]
fn the_cap_on_the_total_size_drops_them_like_others() {
    let world = World::new();
    let work = world.take(PROJECT, "work");
    (0..3).for_each(|step| drop(world.rolls_back(3, &work, &noise(step, 1_000_000))));
    let ids = world.ids(3);
    assert_eq!((ids.len(), world.beside().len()), (3, 1));
    for (most, left) in [(2_500_000, 3), (2_000_000, 2), (1_000_000, 1), (1, 1)] {
        let options = herma_core::PruneOptions {
            max_total_bytes: most,
            retention_seconds: 0,
            delete_orphans: false,
        };
        let pruned = world.keeping(3).prune(&options, &mut |_| {}).unwrap();
        assert_eq!(pruned.errors, 0);
        assert_eq!(world.ids(3), ids[..left]);
        world.git_finds_nothing_broken();
    }
    assert!(world.beside().is_empty());
    // What comes after it does not stand on what was dropped.
    let next = world.take_keeping(3, PROJECT, "next");
    assert_eq!(world.ids(3), [&next, &ids[0]].map(String::clone));
    world.git_finds_nothing_broken();
}

#[test]
fn a_damaged_ref_or_commit_of_one_costs_that_one() {
    let world = World::new();
    let work = world.take(PROJECT, "work");
    (0..6).for_each(|step| drop(world.rolls_back(4, &work, &format!("edit {step}"))));
    let ids = world.ids(4);
    let object = world.store().join("objects").join(&ids[1][..2]).join(&ids[1][2..]);
    let whole = fs::read(&object).unwrap();
    fs::remove_file(&object).unwrap();
    fs::write(&object, &whole[..whole.len() / 2]).unwrap();
    let listed = world.listed(4);
    let damaged: Vec<bool> = listed.iter().map(|one| one.damage.is_some()).collect();
    assert_eq!(world.ids(4), ids, "each has its place");
    assert_eq!(damaged, [false, true, false, false]);
    for path in world.beside() {
        fs::write(path, "0123").unwrap();
    }
    assert_eq!(world.ids(4), [&ids[0], &work].map(String::clone));
    world.rolls_back(4, &work, "edit 6");
    assert_eq!(world.ids(4).last(), Some(&work));
    let reclaimed = world.prune();
    assert_eq!(reclaimed.errors, 0, "{reclaimed:?}");
}

#[test]
fn nothing_of_a_swept_project_stays() {
    let world = World::new();
    let work = world.take(PROJECT, "work");
    (0..6).for_each(|step| drop(world.rolls_back(3, &work, &format!("edit {step}"))));
    world.set_clock(NOON + 30 * DAY);
    assert_eq!(world.prune().errors, 0);
    assert_eq!(world.ids(3), Vec::<String>::new());
    assert!(world.beside().is_empty());
    let left = world.git(&["cat-file", "--batch-all-objects", "--batch-check"]);
    assert_eq!(left, "");
}

/// The work of attack A6: each of three rollbacks of a full list held what no checkpoint was asked for,
/// and two of them were unknown afterwards.
#[test]
fn the_undo_of_a_rollback_outlives_the_rollbacks_after_it_in_a_full_list() {
    for work in [19, 20] {
        let world = World::new();
        (0..work).for_each(|step| drop(world.take(PROJECT, &format!("work {step}"))));
        let undo: Vec<String> = (1..=3)
            .map(|step| world.rolls_back(20, "5", &format!("an hour of work {step}")))
            .collect();
        assert!(world.listed(20).len() <= 22);
        for (step, id) in undo.iter().enumerate() {
            let (options, dir) = (RestoreOptions::default(), world.project(PROJECT));
            world.keeping(20).restore(&dir, &id.as_bytes()[..7], options).unwrap();
            world.holds(&format!("an hour of work {}", step + 1));
        }
        world.git_finds_nothing_broken();
    }
}

#[test]
fn unlisted_names_what_the_list_has_no_room_for_and_limits_release_it_by_age() {
    let world = World::new();
    let work = world.take(PROJECT, "work");
    let undo: Vec<String> =
        (0..8).map(|step| world.rolls_back(4, &work, &format!("edit {step}"))).collect();
    let unlisted = |max_snapshots| -> Vec<String> {
        let all = world.keeping(max_snapshots).unlisted(&world.project(PROJECT)).unwrap();
        all.into_iter().map(|one| one.id).collect()
    };
    assert_eq!(world.ids(4), [&undo[7], &undo[6], &undo[5], &work].map(String::clone));
    // They are younger than a day, and no more than the list holds.
    let newest_first =
        |from: usize, to: usize| -> Vec<String> { undo[from..=to].iter().rev().cloned().collect() };
    assert_eq!(unlisted(4), newest_first(1, 4));
    world.set_clock(NOON + DAY);
    world.rolls_back(4, &work, "edit 8");
    assert_eq!(unlisted(4), newest_first(3, 5));
    world.git_finds_nothing_broken();
    // What is released is out of the store with the next checkpoints of the work.
    (0..6).for_each(|step| drop(world.take(PROJECT, &format!("more {step}"))));
}

#[test]
fn a_rollback_and_a_checkpoint_name_what_they_evicted() {
    let world = World::new();
    let first = world.take(PROJECT, "work 0");
    world.take(PROJECT, "work 1");
    world.write(PROJECT, "work 2");
    let dir = world.project(PROJECT);
    let taken = world.keeping(2).checkpoint(&dir, "r").unwrap();
    assert_eq!(taken.evicted.ids, [first]);
    let undo: Vec<String> =
        (0..4).map(|step| world.rolls_back(2, "2", &format!("edit {step}"))).collect();
    world.write(PROJECT, "edit 4");
    let options = RestoreOptions::default();
    let restored = world.keeping(2).restore(&dir, b"2", options).unwrap();
    assert_eq!(restored.evicted.ids, [undo[0].clone()]);
}

/// It is in the middle of the history, and falls off its end.
#[test]
fn a_pre_restore_checkpoint_that_work_followed_is_kept_as_well() {
    let world = World::new();
    let work = world.take(PROJECT, "work 0");
    let undo = world.rolls_back(2, &work, "unsaved");
    let keeping = world.keeping(2);
    for step in 1..6 {
        world.write(PROJECT, &format!("work {step}"));
        keeping.checkpoint(&world.project(PROJECT), "r").unwrap();
    }
    let ids = world.ids(2);
    assert!(ids.len() == 2 && !ids.contains(&undo), "{ids:?}");
    keeping.prune(&PruneOptions::from(keeping.config()), &mut |_| {}).unwrap();
    world.git_finds_nothing_broken();
    keeping.restore(&world.project(PROJECT), undo.as_bytes(), RestoreOptions::default()).unwrap();
    world.holds("unsaved");
    let commits = world.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"]);
    let commits = commits.lines().filter(|kind| *kind == "commit").count();
    assert!(commits <= 6, "{commits} are stored");
}
