//! Folding: a prune stores the versions of a large file as differences, and loses none of them.

use crate::maintenance::killed::{at_steps, killed_at};
use crate::maintenance::world::{StoreFixture, noise};
use herma_core::{Config, PruneOptions, RestoreOptions};
use pretty_assertions::assert_eq;
use std::fs;

/// The size of a version: large enough to be folded.
const KIBIBYTES: u64 = 200;

/// A version of a file, which differs from the others in a few places.
fn version(number: usize) -> String {
    let mut text = noise(1, KIBIBYTES as usize * 1_024);
    text.replace_range(number * 1_000..number * 1_000 + 10, "ten bytes.");
    text.insert_str(50_000, &number.to_string());
    text
}

/// A project with versions of a file, oldest first; that in the middle has the content of the first again.
fn with_versions(count: usize) -> (StoreFixture, Vec<String>) {
    let fixture = StoreFixture::new();
    let number = |index| if index == count / 2 { 0 } else { index };
    let versions: Vec<String> = (0..count).map(|index| version(number(index))).collect();
    for content in &versions {
        fixture.write("project", content);
        fixture.manager().checkpoint(&fixture.project("project"), "r").unwrap();
    }
    (fixture, versions)
}

/// The size of all objects on the disk.
#[track_caller]
fn objects_kibibytes(fixture: &StoreFixture) -> u64 {
    let counted = fixture.git(&["count-objects", "-v"]);
    let sizes = counted.lines().filter_map(|line| line.strip_prefix("size")?.rsplit_once(' '));
    sizes.map(|(_, number)| number.parse::<u64>().unwrap()).sum()
}

/// Asserts that the newest checkpoints have these versions, oldest first.
#[track_caller]
fn assert_restored(fixture: &StoreFixture, versions: &[String]) {
    let listed = fixture.manager().list(&fixture.project("project")).unwrap();
    for (listed, content) in listed.iter().zip(versions.iter().rev()) {
        let project = fixture.project("project");
        let options = RestoreOptions::default();
        fixture.manager().restore(&project, listed.id.as_bytes(), options).unwrap();
        let restored = fs::read_to_string(project.join("a.txt")).unwrap();
        assert!(restored == *content, "{listed:?}");
    }
}

#[test]
fn prune_stores_the_versions_of_a_large_file_in_little_more_space_than_one_of_them() {
    let (fixture, versions) = with_versions(12);
    let before = objects_kibibytes(&fixture);
    assert_eq!(fixture.prune().errors, 0);
    let after = objects_kibibytes(&fixture);
    assert!(before > 6 * after, "{before} {after}");
    fixture.assert_fsck_clean();
    assert_restored(&fixture, &versions);
    // Later versions are folded among themselves, and evicted ones leave what the others need.
    for number in 20..40 {
        fixture.take_with_limit(8, "project", &version(number));
    }
    assert_eq!(fixture.prune().errors, 0);
    fixture.assert_fsck_clean();
    assert!(objects_kibibytes(&fixture) < before / 3, "{}", objects_kibibytes(&fixture));
    assert_restored(&fixture, &(32..40).map(version).collect::<Vec<_>>());
}

#[test]
fn prune_leaves_versions_that_share_little_as_they_are() {
    let fixture = StoreFixture::new();
    for seed in 0..4 {
        fixture.take("project", &noise(seed, KIBIBYTES as usize * 1_024));
    }
    let before = objects_kibibytes(&fixture);
    assert_eq!(fixture.prune().errors, 0);
    assert_eq!(objects_kibibytes(&fixture), before);
}

#[test]
fn prune_folds_before_it_evicts_for_the_total_size() {
    let (fixture, versions) = with_versions(12);
    let max_total_bytes = objects_kibibytes(&fixture) * 1_024 / 2;
    let config = Config { max_total_bytes, ..Config::default() };
    let pruned = fixture.manager().prune(&PruneOptions::from(&config), &mut |_| {}).unwrap();
    assert_eq!((pruned.dropped, pruned.errors), (0, 0));
    assert_restored(&fixture, &versions);
}

// rule: crash/kill
#[test]
fn a_fold_that_is_killed_at_any_step_loses_no_version() {
    let config = Config::default();
    at_steps(20, 60, |step| {
        let (fixture, versions) = with_versions(4);
        let was_reached = killed_at(&fixture, step, &config, |manager| {
            let _ = manager.prune(&PruneOptions::from(&config), &mut |_| {});
        });
        fixture.assert_fsck_clean();
        assert_restored(&fixture, &versions);
        assert_eq!(fixture.prune().errors, 0, "step {step}");
        assert!(objects_kibibytes(&fixture) < 2 * KIBIBYTES, "step {step}");
        was_reached
    });
}
