//! `max_snapshots`: which checkpoints it evicts when the limit changes, or when another tool also writes to the
//! store.

use crate::maintenance::world::StoreFixture;
use herma_core::Config;
use herma_core::disk::SystemDisk;
use pretty_assertions::assert_eq;

#[test]
fn a_lower_max_snapshots_applies_from_the_next_checkpoint() {
    let fixture = StoreFixture::new();
    (0..6).for_each(|step| drop(fixture.take_with_limit(20, "project", &format!("{step}"))));
    assert_eq!(fixture.list("project").len(), 6);
    fixture.take_with_limit(1, "project", "6");
    assert_eq!(fixture.list("project"), ["6"]);
    fixture.take_with_limit(2, "project", "7");
    assert_eq!(fixture.list("project"), ["7", "6"]);
    // Git, too, treats exactly the evicted commits as unreachable.
    fixture.git(&["gc", "--quiet", "--prune=now"]);
    fixture.assert_fsck_clean();
    assert_eq!(fixture.git(&["rev-list", "--all"]).lines().count(), 2);
    fixture.assert_newest_is_restored("project");
}

#[test]
fn max_snapshots_truncates_no_history_at_a_commit_shared_by_two_projects() {
    let fixture = StoreFixture::new();
    (0..3).for_each(|step| drop(fixture.take_with_limit(20, "one", &format!("{step}"))));
    fixture.take_with_limit(20, "other", "its own");
    let tip = fixture.git(&["rev-parse", &format!("refs/hermes/{}", fixture.hash("one"))]);
    let tree = fixture.git(&["rev-parse", &format!("{tip}^{{tree}}")]);
    let words = ["commit-tree", &tree, "-p", &tip, "-m", "theirs"];
    let shared = fixture.git(&words);
    for name in ["one", "other"] {
        fixture.git(&["update-ref", &format!("refs/hermes/{}", fixture.hash(name)), &shared]);
    }
    fixture.take_with_limit(2, "one", "4");
    let limited = fixture.manager_on(SystemDisk, Config { max_snapshots: 2, ..Config::default() });
    assert_eq!(limited.list(&fixture.project("one")).unwrap().len(), 2);
    assert_eq!(fixture.list("other"), ["theirs", "2", "1", "0"]);
    fixture.take_with_limit(2, "one", "5");
    assert_eq!(fixture.list("one"), ["5", "4"]);
    assert_eq!(fixture.list("other"), ["theirs", "2", "1", "0"]);
    fixture.assert_fsck_clean();
}

#[test]
fn max_snapshots_truncates_no_history_that_another_project_shares() {
    for is_shared in [true, false] {
        let fixture = StoreFixture::new();
        ["one", "other"]
            .iter()
            .for_each(|project| drop(fixture.take_with_limit(20, project, "first")));
        let reference = |project| format!("refs/hermes/{}", fixture.hash(project));
        // Only another tool writes commits that do not name their project.
        let tree = fixture.git(&["rev-parse", &format!("{}^{{tree}}", reference("one"))]);
        let chain = |reasons: &[&str]| {
            let mut tip = fixture.git(&["commit-tree", &tree, "-m", reasons[0]]);
            for reason in &reasons[1..] {
                tip = fixture.git(&["commit-tree", &tree, "-p", &tip, "-m", reason]);
            }
            tip
        };
        let shared = chain(&["0", "1", "2"]);
        let separate = chain(&["a", "b", "c"]);
        fixture.git(&["update-ref", &reference("one"), &shared]);
        let other_tip = if is_shared { &shared } else { &separate };
        fixture.git(&["update-ref", &reference("other"), other_tip]);
        fixture.take_with_limit(2, "one", "second");
        let listed = fixture.list("one");
        if is_shared {
            assert_eq!(listed, ["second", "2", "1", "0"]);
            assert_eq!(fixture.list("other"), ["2", "1", "0"]);
        } else {
            assert_eq!(listed, ["second", "2"]);
            assert_eq!(fixture.list("other"), ["c", "b", "a"]);
        }
        fixture.assert_fsck_clean();
    }
}
