//! Pre-restore checkpoints: they evict each other, whether their refs are loose or packed.

use crate::maintenance::world::{DAY, NOON, StoreFixture, noise};
use herma_core::disk::SystemDisk;
use herma_core::{Config, Listed, PruneOptions, RestoreOptions};
use pretty_assertions::assert_eq;
use std::fs;
use std::path::PathBuf;

const PROJECT: &str = "project";

impl StoreFixture {
    fn manager_with_limit(&self, max_snapshots: usize) -> herma_core::Manager {
        self.manager_on(SystemDisk, Config { max_snapshots, ..Config::default() })
    }

    fn listed(&self, max_snapshots: usize) -> Vec<Listed> {
        self.manager_with_limit(max_snapshots).list(&self.project(PROJECT)).unwrap()
    }

    fn ids(&self, max_snapshots: usize) -> Vec<String> {
        self.listed(max_snapshots).into_iter().map(|entry| entry.id).collect()
    }

    /// Changes the file and restores `target`; returns the id of the pre-restore checkpoint.
    #[track_caller]
    fn change_and_restore(&self, max_snapshots: usize, target: &str, content: &str) -> String {
        self.write(PROJECT, content);
        let options = RestoreOptions::default();
        let dir = self.project(PROJECT);
        let restored =
            self.manager_with_limit(max_snapshots).restore(&dir, target.as_bytes(), options);
        let restored = restored.unwrap();
        assert!(restored.failed.is_empty(), "{restored:?}");
        restored.safety.expect("a checkpoint before")
    }

    #[track_caller]
    fn assert_content(&self, content: &str) {
        let found = fs::read_to_string(self.project(PROJECT).join("a.txt")).unwrap();
        assert_eq!(found, content);
    }

    /// The files of the loose refs of pre-restore checkpoints.
    fn pre_restore_refs(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.store().join("refs/rollbacks")).into_iter().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
        files.map(|file| file.unwrap().path()).collect()
    }
}

#[test]
fn restore_file_restores_twenty_five_files_one_by_one_from_one_checkpoint() {
    let fixture = StoreFixture::new();
    let names: Vec<String> = (0..25).map(|number| format!("{number}.txt")).collect();
    let path = |name: &String| fixture.project(PROJECT).join(name);
    fs::create_dir_all(fixture.project(PROJECT)).unwrap();
    names.iter().for_each(|name| fs::write(path(name), "good").unwrap());
    let good = fixture.take(PROJECT, "good");
    names.iter().for_each(|name| fs::write(path(name), "bad").unwrap());
    for name in &names {
        let manager = fixture.manager();
        manager.restore_file(&fixture.project(PROJECT), good.as_bytes(), name.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(path(name)).unwrap(), "good", "{name}");
    }
    let ids = fixture.ids(20);
    assert_eq!((ids.len(), ids.last()), (20, Some(&good)));
    fixture.assert_fsck_clean();
}

#[test]
fn repeated_restores_keep_all_checkpoints_of_work() {
    let fixture = StoreFixture::new();
    let mut work: Vec<String> =
        (0..20).map(|step| fixture.take(PROJECT, &format!("work {step}"))).collect();
    work.reverse();
    for step in 0..25 {
        let pre_restore = fixture.change_and_restore(20, "2", &format!("edit {step}"));
        let ids = fixture.ids(20);
        assert_eq!(ids[0], pre_restore);
        assert!(ids.ends_with(&work) && ids.len() <= 22, "{step}: {ids:?}");
    }
    // Back and forth between the content before the restore and the restored content.
    for step in 0..25 {
        fixture.change_and_restore(20, "1", &format!("again {step}"));
        let ids = fixture.ids(20);
        assert!(ids.ends_with(&work) && ids.len() <= 22, "{step}: {ids:?}");
    }
    fixture.assert_fsck_clean();
    let stored = fixture.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"]);
    let commits = stored.lines().filter(|kind| *kind == "commit").count();
    assert!(commits <= 62, "{commits} are stored: 22 are listed, 20 are not, and 20 may wait");
}

#[test]
fn a_listed_pre_restore_checkpoint_can_be_restored() {
    let fixture = StoreFixture::new();
    let work = fixture.take(PROJECT, "work");
    let taken: Vec<String> =
        (0..6).map(|step| fixture.change_and_restore(4, &work, &format!("edit {step}"))).collect();
    let listed = [&taken[5], &taken[4], &taken[3], &work].map(String::clone);
    assert_eq!(fixture.ids(4), listed);
    for step in 0..6 {
        // The oldest pre-restore checkpoint stays if it is the one being restored.
        let oldest = fixture.listed(4)[2].clone();
        let before = fixture.change_and_restore(4, &oldest.id, &format!("other {step}"));
        if let Some(edit) = taken.iter().position(|id| *id == oldest.id) {
            fixture.assert_content(&format!("edit {edit}"));
        }
        assert_eq!((&fixture.ids(4)[0], &fixture.ids(4)[2]), (&before, &oldest.id));
    }
    assert!(fixture.ids(4).ends_with(&[work]));
    fixture.assert_fsck_clean();
}

/// Found by a run with seed 484268: the checkpoint was stored in two locations, and remained in the second.
#[test]
fn a_pre_restore_checkpoint_is_evicted_also_after_the_work_before_it_is_gone() {
    let fixture = StoreFixture::new();
    let work = fixture.take(PROJECT, &noise(1, 5_000));
    let first = fixture.change_and_restore(1, &work, "edit 0");
    let second = fixture.change_and_restore(1, &first, "edit 1");
    assert_eq!(fixture.ids(1), [second.clone(), first.clone(), work]);
    let max_total_bytes = 2_000;
    let options = PruneOptions { retention_seconds: 0, max_total_bytes, delete_orphans: false };
    fixture.prune_with(&options);
    assert_eq!(fixture.ids(1), [second.clone(), first]);
    let third = fixture.change_and_restore(1, &second, "edit 2");
    assert_eq!(fixture.ids(1), [third, second]);
    assert_eq!(fixture.pre_restore_refs().len(), 1);
    fixture.assert_fsck_clean();
}

#[test]
fn pre_restore_checkpoints_survive_git_pack_refs_and_git_gc() {
    let fixture = StoreFixture::new();
    let work = fixture.take(PROJECT, "work");
    (0..6).for_each(|step| drop(fixture.change_and_restore(3, &work, &format!("edit {step}"))));
    let ids = fixture.ids(3);
    assert_eq!(ids.len(), 3);
    fixture.git(&["pack-refs", "--all"]);
    fixture.git(&["gc", "--quiet", "--prune=now"]);
    assert!(fixture.pre_restore_refs().is_empty(), "{:?}", fixture.pre_restore_refs());
    assert_eq!(fixture.ids(3), ids);
    for step in 6..12 {
        fixture.change_and_restore(3, &work, &format!("edit {step}"));
        assert_eq!(fixture.ids(3).len(), 3);
        fixture.assert_fsck_clean();
    }
    assert!(fixture.ids(3).contains(&work));
}

#[test]
fn the_next_checkpoint_of_work_reduces_the_list_to_max_snapshots() {
    let fixture = StoreFixture::new();
    for step in 0..3 {
        fixture.take_with_limit(3, PROJECT, &format!("work {step}"));
    }
    (0..4).for_each(|step| drop(fixture.change_and_restore(3, "3", &format!("edit {step}"))));
    assert!(fixture.ids(3).len() > 3);
    let before = fixture.ids(3);
    let newest = fixture.take_with_limit(3, PROJECT, "more work");
    assert_eq!(fixture.ids(3), [&newest, &before[0], &before[1]].map(String::clone));
    for step in 0..3 {
        fixture.take_with_limit(3, PROJECT, &format!("and more {step}"));
    }
    assert_eq!(fixture.pre_restore_refs(), Vec::<PathBuf>::new());
    fixture.assert_fsck_clean();
}

#[test]
fn max_total_bytes_evicts_pre_restore_checkpoints_like_others() {
    let fixture = StoreFixture::new();
    let work = fixture.take(PROJECT, "work");
    (0..3).for_each(|step| drop(fixture.change_and_restore(3, &work, &noise(step, 1_000_000))));
    let ids = fixture.ids(3);
    assert_eq!((ids.len(), fixture.pre_restore_refs().len()), (3, 1));
    for (limit, left) in [(2_500_000, 3), (2_000_000, 2), (1_000_000, 1), (1, 1)] {
        let options = herma_core::PruneOptions {
            max_total_bytes: limit,
            retention_seconds: 0,
            delete_orphans: false,
        };
        let pruned = fixture.manager_with_limit(3).prune(&options, &mut |_| {}).unwrap();
        assert_eq!(pruned.errors, 0);
        assert_eq!(fixture.ids(3), ids[..left]);
        fixture.assert_fsck_clean();
    }
    assert!(fixture.pre_restore_refs().is_empty());
    // The next checkpoint does not depend on the evicted ones.
    let next = fixture.take_with_limit(3, PROJECT, "next");
    assert_eq!(fixture.ids(3), [&next, &ids[0]].map(String::clone));
    fixture.assert_fsck_clean();
}

#[test]
fn a_damaged_ref_or_commit_of_a_pre_restore_checkpoint_loses_only_that_checkpoint() {
    let fixture = StoreFixture::new();
    let work = fixture.take(PROJECT, "work");
    (0..6).for_each(|step| drop(fixture.change_and_restore(4, &work, &format!("edit {step}"))));
    let ids = fixture.ids(4);
    let object = fixture.store().join("objects").join(&ids[1][..2]).join(&ids[1][2..]);
    let intact = fs::read(&object).unwrap();
    fs::remove_file(&object).unwrap();
    fs::write(&object, &intact[..intact.len() / 2]).unwrap();
    let listed = fixture.listed(4);
    let damaged: Vec<bool> = listed.iter().map(|entry| entry.damage.is_some()).collect();
    assert_eq!(fixture.ids(4), ids, "each has its place");
    assert_eq!(damaged, [false, true, false, false]);
    for path in fixture.pre_restore_refs() {
        fs::write(path, "0123").unwrap();
    }
    assert_eq!(fixture.ids(4), [&ids[0], &work].map(String::clone));
    fixture.change_and_restore(4, &work, "edit 6");
    assert_eq!(fixture.ids(4).last(), Some(&work));
    let pruned = fixture.prune();
    assert_eq!(pruned.errors, 0, "{pruned:?}");
}

#[test]
fn prune_of_a_stale_project_removes_its_pre_restore_checkpoints() {
    let fixture = StoreFixture::new();
    let work = fixture.take(PROJECT, "work");
    (0..6).for_each(|step| drop(fixture.change_and_restore(3, &work, &format!("edit {step}"))));
    fixture.set_clock(NOON + 30 * DAY);
    assert_eq!(fixture.prune().errors, 0);
    assert_eq!(fixture.ids(3), Vec::<String>::new());
    assert!(fixture.pre_restore_refs().is_empty());
    let left = fixture.git(&["cat-file", "--batch-all-objects", "--batch-check"]);
    assert_eq!(left, "");
}

/// Attack A6: three restores with a full list each saved work that was in no other checkpoint, and two of the
/// pre-restore checkpoints were unknown afterwards.
#[test]
fn pre_restore_checkpoints_survive_later_restores_with_a_full_list() {
    for work in [19, 20] {
        let fixture = StoreFixture::new();
        (0..work).for_each(|step| drop(fixture.take(PROJECT, &format!("work {step}"))));
        let pre_restore: Vec<String> = (1..=3)
            .map(|step| fixture.change_and_restore(20, "5", &format!("an hour of work {step}")))
            .collect();
        assert!(fixture.listed(20).len() <= 22);
        for (step, id) in pre_restore.iter().enumerate() {
            let options = RestoreOptions::default();
            let dir = fixture.project(PROJECT);
            fixture.manager_with_limit(20).restore(&dir, &id.as_bytes()[..7], options).unwrap();
            fixture.assert_content(&format!("an hour of work {}", step + 1));
        }
        fixture.assert_fsck_clean();
    }
}

#[test]
fn unlisted_returns_checkpoints_beyond_the_list_and_limits_release_them_by_age() {
    let fixture = StoreFixture::new();
    let work = fixture.take(PROJECT, "work");
    let pre_restore: Vec<String> =
        (0..8).map(|step| fixture.change_and_restore(4, &work, &format!("edit {step}"))).collect();
    let unlisted = |max_snapshots| -> Vec<String> {
        let entries =
            fixture.manager_with_limit(max_snapshots).unlisted(&fixture.project(PROJECT)).unwrap();
        entries.into_iter().map(|entry| entry.id).collect()
    };
    assert_eq!(
        fixture.ids(4),
        [&pre_restore[7], &pre_restore[6], &pre_restore[5], &work].map(String::clone)
    );
    // The unlisted checkpoints are younger than a day, and no more than the list holds.
    let newest_first = |from: usize, to: usize| -> Vec<String> {
        pre_restore[from..=to].iter().rev().cloned().collect()
    };
    assert_eq!(unlisted(4), newest_first(1, 4));
    fixture.set_clock(NOON + DAY);
    fixture.change_and_restore(4, &work, "edit 8");
    assert_eq!(unlisted(4), newest_first(3, 5));
    fixture.assert_fsck_clean();
    // Released checkpoints are deleted from the store by the next checkpoints of work.
    (0..6).for_each(|step| drop(fixture.take(PROJECT, &format!("more {step}"))));
}

#[test]
fn restore_and_checkpoint_name_the_checkpoints_that_they_evict() {
    let fixture = StoreFixture::new();
    let first = fixture.take(PROJECT, "work 0");
    fixture.take(PROJECT, "work 1");
    fixture.write(PROJECT, "work 2");
    let dir = fixture.project(PROJECT);
    let taken = fixture.manager_with_limit(2).checkpoint(&dir, "r").unwrap();
    assert_eq!(taken.evicted.ids, [first]);
    let pre_restore: Vec<String> =
        (0..4).map(|step| fixture.change_and_restore(2, "2", &format!("edit {step}"))).collect();
    fixture.write(PROJECT, "edit 4");
    let options = RestoreOptions::default();
    let restored = fixture.manager_with_limit(2).restore(&dir, b"2", options).unwrap();
    assert_eq!(restored.evicted.ids, [pre_restore[0].clone()]);
}

/// The pre-restore checkpoint is in the middle of the history, which is truncated behind it.
#[test]
fn a_pre_restore_checkpoint_that_work_followed_is_kept_as_well() {
    let fixture = StoreFixture::new();
    let work = fixture.take(PROJECT, "work 0");
    let pre_restore = fixture.change_and_restore(2, &work, "unsaved");
    let manager = fixture.manager_with_limit(2);
    for step in 1..6 {
        fixture.write(PROJECT, &format!("work {step}"));
        manager.checkpoint(&fixture.project(PROJECT), "r").unwrap();
    }
    let ids = fixture.ids(2);
    assert!(ids.len() == 2 && !ids.contains(&pre_restore), "{ids:?}");
    manager.prune(&PruneOptions::from(manager.config()), &mut |_| {}).unwrap();
    fixture.assert_fsck_clean();
    manager
        .restore(&fixture.project(PROJECT), pre_restore.as_bytes(), RestoreOptions::default())
        .unwrap();
    fixture.assert_content("unsaved");
    let commits = fixture.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"]);
    let commits = commits.lines().filter(|kind| *kind == "commit").count();
    assert!(commits <= 6, "{commits} are stored");
}
