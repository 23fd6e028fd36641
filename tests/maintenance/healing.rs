//! Self-repair: damage to the files of one project does not affect another, and is repaired by the next
//! checkpoint of the project. The written cases cover truncated, emptied and garbled files.

use crate::maintenance::world::{DAY, NOON, StoreFixture, fail_calls};
use herma_core::{Config, Outcome, PruneOptions, PruneStep};
use herma_harness::subject::Call;
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Two projects, `whole` and `broken`; tests damage the latter.
fn two_projects() -> StoreFixture {
    let fixture = StoreFixture::new();
    fixture.take("whole", "one");
    fixture.take("broken", "one");
    fixture
}

/// Asserts that checkpoints, lists and restores of a project work.
#[track_caller]
fn assert_works(fixture: &StoreFixture, project: &str) {
    let before = fixture.list(project);
    let next = format!("{}+", before[0]);
    fixture.take(project, &next);
    assert_eq!(fixture.list(project), [&[next], &before[..]].concat());
    fixture.assert_newest_is_restored(project);
    let status = fixture.manager().status().unwrap().projects;
    assert!(status.iter().any(|entry| entry.checkpoints.is_some_and(|count| count > 1)));
}

/// Damages one project, and asserts that the other still works and that use repairs the damaged one.
#[track_caller]
fn assert_repairs(description: &str, damage: impl Fn(&StoreFixture)) {
    let fixture = two_projects();
    damage(&fixture);
    let pruned = fixture.prune();
    assert_eq!((pruned.orphans, pruned.stale, pruned.errors), (0, 0, 0), "{description}");
    assert_works(&fixture, "whole");
    assert_eq!(fixture.list("broken"), ["one"], "{description}");
    assert_works(&fixture, "broken");
    assert!(fixture.metadata("broken").is_file(), "{description}");
    fixture.assert_fsck_clean();
}

#[test]
fn invalid_metadata_is_created_again() {
    let invalid: [&[u8]; 4] = [b"null", b"[]", br#"{"workdir":5}"#, &[b'x'; 2 * 1024 * 1024]];
    for text in invalid {
        let shown: String = text.escape_ascii().to_string().chars().take(20).collect();
        assert_repairs(&shown, |fixture| fs::write(fixture.metadata("broken"), text).unwrap());
    }
}

#[test]
fn sweep_with_a_folder_at_the_path_of_its_marker_stops_nothing() {
    let fixture = two_projects();
    fs::create_dir(fixture.base().join(".last_prune")).unwrap();
    fixture.manager().sweep();
    assert_works(&fixture, "whole");
}

#[test]
fn missing_folders_of_the_store_are_created_again() {
    for folder in ["projects", "indexes", "info", "locks", "fresh", "objects/pack"] {
        assert_repairs(folder, |fixture| fs::remove_dir_all(fixture.store().join(folder)).unwrap());
    }
}

#[test]
fn lost_refs_are_created_again() {
    assert_repairs("one ref", |fixture| fs::remove_file(fixture.reference("broken")).unwrap());
    assert_repairs("all refs", |fixture| fs::remove_dir_all(fixture.store().join("refs")).unwrap());
    assert_repairs("refs with the others packed", |fixture| {
        fixture.git(&["pack-refs", "--all"]);
        fs::remove_dir_all(fixture.store().join("refs")).unwrap();
    });
}

#[test]
fn list_prune_and_checkpoint_each_create_a_lost_ref_again() {
    let fixture = two_projects();
    let reference = fixture.reference("broken");
    let tip = fs::read(&reference).unwrap();
    let requests: [&dyn Fn(); 3] =
        [&|| drop(fixture.list("broken")), &|| assert_eq!(fixture.prune().errors, 0), &|| {
            let taken = fixture.manager().checkpoint(&fixture.project("broken"), "again").unwrap();
            assert!(matches!(taken.outcome, Outcome::Unchanged { .. }));
        }];
    for request in requests {
        fs::remove_file(&reference).unwrap();
        // `status` does not repair the ref.
        assert_eq!(fixture.manager().status().unwrap().projects.len(), 2);
        assert!(!reference.exists());
        request();
        assert_eq!(fs::read(&reference).unwrap(), tip);
    }
}

#[test]
fn list_and_restore_work_with_a_lost_ref_on_a_read_only_disk() {
    let fixture = two_projects();
    fs::remove_file(fixture.reference("broken")).unwrap();
    let disk = fail_calls(Call::WriteNew, ErrorKind::ReadOnlyFilesystem, |_| true);
    let manager = fixture.manager_on(disk, Config::default());
    assert_eq!(manager.list(&fixture.project("broken")).unwrap().len(), 1);
    let mut has_collected = false;
    let mut progress = |step: PruneStep<'_>| has_collected |= matches!(step, PruneStep::Reclaiming);
    let options = PruneOptions::from(&Config::default());
    assert_eq!(manager.prune(&options, &mut progress).unwrap().errors, 1);
    assert!(!has_collected, "space was reclaimed while a history is lost");
    fixture.assert_newest_is_restored("broken");
}

#[test]
fn a_project_without_checkpoints_or_with_an_invalid_tip_has_no_lost_ref() {
    let fixture = two_projects();
    let write_metadata = |tip: &str| {
        let path: PathBuf = fixture.store().join("projects/aaaaaaaaaaaaaaaa.json");
        let text = format!(r#"{{"workdir":"/","created_at":{NOON},"last_touch":{NOON}{tip}}}"#);
        fs::write(path, text).unwrap();
    };
    let unknown = r#","tip":"1111111111111111111111111111111111111111""#;
    let tree = r#","tip":"4b825dc642cb6eb9a060e54bf8d69288fbee4904""#;
    for tip in ["", unknown, tree, r#","tip":"x""#, r#","tip":"""#] {
        write_metadata(tip);
        let pruned = fixture.prune();
        assert_eq!((pruned.scanned, pruned.errors), (3, 0), "{tip}");
        assert_eq!(fixture.manager().status().unwrap().projects.len(), 2, "{tip}");
    }
}

#[test]
fn prune_removes_a_stale_project_with_an_empty_folder_in_place_of_a_file() {
    let index =
        |fixture: &StoreFixture| fixture.store().join("indexes").join(fixture.hash("broken"));
    let metadata = |fixture: &StoreFixture| fixture.metadata("broken");
    let files: [&dyn Fn(&StoreFixture) -> PathBuf; 2] = [&metadata, &index];
    for file in files {
        let fixture = two_projects();
        let path = file(&fixture);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        fixture.set_clock(NOON + 9 * DAY);
        fixture.take("whole", "two");
        let pruned = fixture.prune_with(&PruneOptions::from(&Config::default()));
        assert_eq!((pruned.stale, pruned.errors), (1, 0), "{}", path.display());
        assert!(!path.exists());
        assert!(fixture.list("broken").is_empty());
        assert_works(&fixture, "whole");
    }
}
