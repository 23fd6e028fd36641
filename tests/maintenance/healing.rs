//! Damage to what belongs to one project is no trouble of another, and heals with its next
//! checkpoint. What a file holds that is cut short, emptied or garbled, the written cases say.

use crate::maintenance::world::{DAY, NOON, World, failing};
use herma_core::{Config, Outcome, PruneOptions, PruneStep};
use herma_harness::subject::Call;
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Two projects, one of which is about to be damaged.
fn two_projects() -> World {
    let world = World::new();
    world.take("whole", "one");
    world.take("broken", "one");
    world
}

/// Everything works for a project.
#[track_caller]
fn works(world: &World, project: &str) {
    let before = world.list(project);
    let next = format!("{}+", before[0]);
    world.take(project, &next);
    assert_eq!(world.list(project), [&[next], &before[..]].concat());
    world.restores(project);
    let status = world.manager().status().unwrap().projects;
    assert!(status.iter().any(|one| one.checkpoints.is_some_and(|count| count > 1)));
}

/// The one is damaged, the other goes on as if nothing was; then the one is used and heals.
#[track_caller]
fn heals(what: &str, damage: impl Fn(&World)) {
    let world = two_projects();
    damage(&world);
    let pruned = world.prune();
    assert_eq!((pruned.orphans, pruned.stale, pruned.errors), (0, 0, 0), "{what}");
    works(&world, "whole");
    assert_eq!(world.list("broken"), ["one"], "{what}");
    works(&world, "broken");
    assert!(world.metadata("broken").is_file(), "{what}");
    world.git_finds_nothing_broken();
}

#[test]
fn metadata_that_is_no_metadata_is_made_again() {
    let others: [&[u8]; 4] = [b"null", b"[]", br#"{"workdir":5}"#, &[b'x'; 2 * 1024 * 1024]];
    for text in others {
        let shown: String = text.escape_ascii().to_string().chars().take(20).collect();
        heals(&shown, |world| fs::write(world.metadata("broken"), text).unwrap());
    }
}

#[test]
fn a_marker_with_something_in_its_way_stops_nothing() {
    let world = two_projects();
    fs::create_dir(world.base().join(".last_prune")).unwrap();
    world.manager().sweep();
    works(&world, "whole");
}

#[test]
fn folders_of_the_store_that_are_missing_are_made_again() {
    for folder in ["projects", "indexes", "info", "locks", "fresh", "objects/pack"] {
        heals(folder, |world| fs::remove_dir_all(world.store().join(folder)).unwrap());
    }
}

#[test]
fn refs_that_are_lost_are_made_again() {
    heals("one ref", |world| fs::remove_file(world.reference("broken")).unwrap());
    heals("all refs", |world| fs::remove_dir_all(world.store().join("refs")).unwrap());
    heals("refs with the others packed", |world| {
        world.git(&["pack-refs", "--all"]);
        fs::remove_dir_all(world.store().join("refs")).unwrap();
    });
}

#[test]
fn a_lost_ref_is_made_again_by_a_list_and_by_a_prune() {
    let world = two_projects();
    let reference = world.reference("broken");
    let tip = fs::read(&reference).unwrap();
    let ways: [&dyn Fn(); 3] =
        [&|| drop(world.list("broken")), &|| assert_eq!(world.prune().errors, 0), &|| {
            let taken = world.manager().checkpoint(&world.project("broken"), "again").unwrap();
            assert_eq!(taken.outcome, Outcome::Unchanged);
        }];
    for way in ways {
        fs::remove_file(&reference).unwrap();
        // Looking at the whole store changes nothing of it.
        assert_eq!(world.manager().status().unwrap().projects.len(), 2);
        assert!(!reference.exists());
        way();
        assert_eq!(fs::read(&reference).unwrap(), tip);
    }
}

#[test]
fn a_lost_ref_can_be_listed_and_restored_where_nothing_can_be_written() {
    let world = two_projects();
    fs::remove_file(world.reference("broken")).unwrap();
    let disk = failing(Call::WriteNew, ErrorKind::ReadOnlyFilesystem, |_| true);
    let manager = world.on(disk, Config::default());
    assert_eq!(manager.list(&world.project("broken")).unwrap().len(), 1);
    let mut reclaimed = false;
    let mut progress = |step: PruneStep<'_>| reclaimed |= matches!(step, PruneStep::Reclaiming);
    let options = PruneOptions::from(&Config::default());
    assert_eq!(manager.prune(&options, &mut progress).unwrap().errors, 1);
    assert!(!reclaimed, "space was reclaimed while a history is lost");
    world.restores("broken");
}

#[test]
fn what_never_had_a_checkpoint_has_no_ref_to_lose() {
    let world = two_projects();
    let noted = |tip: &str| {
        let path: PathBuf = world.store().join("projects/aaaaaaaaaaaaaaaa.json");
        let text = format!(r#"{{"workdir":"/","created_at":{NOON},"last_touch":{NOON}{tip}}}"#);
        fs::write(path, text).unwrap();
    };
    let unknown = r#","tip":"1111111111111111111111111111111111111111""#;
    let tree = r#","tip":"4b825dc642cb6eb9a060e54bf8d69288fbee4904""#;
    for tip in ["", unknown, tree, r#","tip":"x""#, r#","tip":"""#] {
        noted(tip);
        let pruned = world.prune();
        assert_eq!((pruned.scanned, pruned.errors), (3, 0), "{tip}");
        assert_eq!(world.manager().status().unwrap().projects.len(), 2, "{tip}");
    }
}

#[test]
fn an_empty_folder_in_the_place_of_a_file_keeps_no_project_that_is_to_go() {
    let index = |world: &World| world.store().join("indexes").join(world.hash("broken"));
    let metadata = |world: &World| world.metadata("broken");
    let places: [&dyn Fn(&World) -> PathBuf; 2] = [&metadata, &index];
    for place in places {
        let world = two_projects();
        let place = place(&world);
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        world.set_clock(NOON + 9 * DAY);
        world.take("whole", "two");
        let pruned = world.prune_with(&PruneOptions::from(&Config::default()));
        assert_eq!((pruned.stale, pruned.errors), (1, 0), "{}", place.display());
        assert!(!place.exists());
        assert!(world.list("broken").is_empty());
        works(&world, "whole");
    }
}
