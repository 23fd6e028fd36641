//! The base outside the store: no request loses any of its content.

use super::*;
use pretty_assertions::assert_eq;

const LOST: &str = "migration/loses-nothing";
const ARCHIVES: &str = "migration/archives";

fn place(archive: Option<&str>, intact: bool) -> RepositoryLocation {
    RepositoryLocation { archive: archive.map(str::to_owned), is_intact: intact }
}

#[test]
fn a_v1_repository_stays_intact_at_its_path_or_in_an_archive() {
    let direct = || place(None, true);
    let archived = || place(Some("legacy-2"), true);
    // Whether it is to be archived, its known archive, and the locations observed.
    for (to_archive, archive, places, in_use, rules) in [
        (false, None, vec![direct()], true, ""),
        (false, None, vec![archived()], true, ""),
        (false, None, vec![place(None, false)], true, LOST),
        (false, None, vec![place(None, false), archived()], true, ""),
        (false, None, vec![], true, LOST),
        (true, None, vec![direct()], false, ""),
        (true, None, vec![direct()], true, ARCHIVES),
        (true, None, vec![archived()], true, ""),
        (true, Some("legacy-2"), vec![archived()], true, ""),
        (false, Some("legacy-2"), vec![archived()], true, ""),
        (false, Some("legacy-1"), vec![archived()], true, ARCHIVES),
        (false, Some("legacy-1"), vec![direct()], true, ARCHIVES),
    ] {
        let mut scene = Scene::with("");
        scene.add_repository("old", "work/alpha", !to_archive);
        if let Some(archive) = archive {
            let mut base = scene.base();
            base.repositories.insert("old".into(), vec![place(Some(archive), true)]);
            base.archives.insert(archive.into());
            let observation = scene.observation("status", Answer::Done);
            scene.learn(&Observation { base: Some(base), ..observation });
        }
        let mut base = scene.base();
        base.in_use = in_use;
        base.repositories.insert("old".into(), places.clone());
        let observation =
            Observation { base: Some(base), ..scene.correct_observation("list alpha") };
        assert_eq!(
            scene.broken_rules(&observation),
            rules,
            "{to_archive} {archive:?} {places:?} {in_use}"
        );
        let symptoms = symptoms(&scene.checks(&observation)).join("");
        let gone = symptoms == "a repository is gone";
        assert_eq!(gone, places.is_empty(), "{symptoms}");
    }
}

#[test]
fn list_changes_no_archives_strays_or_lookalikes() {
    let corruptions: &[(Corruption<Base>, &str)] = &[
        (&|_| {}, ""),
        (&|base| base.damaged_archives.extend(["legacy-1".to_owned()]), LOST),
        (&|base| base.damaged_archives.extend(["legacy-9".to_owned()]), ""),
        (&|base| base.strays.clear(), LOST),
        (&|base| base.lookalikes.clear(), "maintenance/only-ours"),
    ];
    for (index, (corrupt, rules)) in corruptions.iter().enumerate() {
        let mut scene = Scene::with("");
        scene.add_archive("legacy-1");
        scene.world.edit_store(&StoreEdit::Stray { name: "notes".into() }, true);
        let name = "legacy-photos".into();
        let of = Likeness::Name;
        scene.world.edit_store(&StoreEdit::Lookalike { name, of, changed: 0 }, true);
        let mut base = scene.base();
        corrupt(&mut base);
        let observation =
            Observation { base: Some(base), ..scene.correct_observation("list alpha") };
        assert_eq!(scene.broken_rules(&observation), *rules, "{index}");
    }
}

#[test]
fn prune_and_clear_may_remove_archives_and_repositories_and_list_may_not() {
    let stays = LOST;
    let goes = "";
    for (request, wait, archived, direct, in_archive) in [
        ("list alpha", 8, stays, stays, stays),
        ("prune 7 0", 0, stays, stays, stays),
        ("prune 7 0", 8, goes, goes, goes),
        ("legacy", 0, goes, stays, goes),
        ("clear", 0, goes, goes, goes),
    ] {
        let mut scene = Scene::with("");
        scene.add_repository("direct", "work/alpha", true);
        scene.add_repository("inside", "work/alpha", true);
        scene.add_archive("legacy-1");
        let mut base = scene.base();
        base.repositories.insert("inside".into(), vec![place(Some("legacy-1"), true)]);
        let observation = scene.observation("status", Answer::Done);
        scene.learn(&Observation { base: Some(base), ..observation });
        scene.wait(wait * DAY);
        let lost = |corrupt: fn(&mut Base)| {
            let mut base = scene.base();
            corrupt(&mut base);
            let observation =
                Observation { base: Some(base), ..scene.correct_observation(request) };
            if scene.broken_rules(&observation).contains(LOST) { LOST } else { "" }
        };
        let spoiled = lost(|base| base.damaged_archives.extend(["legacy-1".to_owned()]));
        assert_eq!(spoiled, archived, "{request} {wait}");
        assert_eq!(
            lost(|base| drop(base.repositories.remove("direct"))),
            direct,
            "{request} {wait}"
        );
        let inside = lost(|base| drop(base.repositories.remove("inside")));
        assert_eq!(inside, in_archive, "{request} {wait}");
    }
}

#[test]
fn clear_and_clear_legacy_remove_exactly_what_they_name() {
    // What is left: the store, an archive, a repository, and a repository inside the archive.
    for (request, left, rules) in [
        ("clear", "", ""),
        ("clear", "store", "maintenance/commands"),
        ("clear", "legacy-1", "maintenance/commands"),
        ("clear", "old", "maintenance/commands"),
        ("clear", "inside", ""),
        ("legacy", "store old", ""),
        ("legacy", "store old legacy-1", "maintenance/commands"),
        ("legacy", "old", "maintenance/commands"),
    ] {
        let mut scene = Scene::with("a=");
        scene.perform("take alpha");
        scene.add_repository("old", "work/alpha", true);
        scene.add_archive("legacy-1");
        let mut base = scene.base();
        base.store_exists = left.contains("store");
        base.archives.retain(|name| left.contains(name));
        base.repositories.retain(|name, _| left.contains(name));
        if left.contains("inside") {
            base.repositories.insert("inside".into(), vec![place(Some("legacy-1"), true)]);
        }
        let observation =
            Observation { base: Some(base), ..scene.observation(request, Answer::Done) };
        assert_eq!(scene.broken_rules(&observation), rules, "{request}: {left}");
    }
    // Without anything to keep, no store is required.
    let mut empty = Scene::with("");
    empty.add_archive("legacy-1");
    let observation =
        Observation { base: Some(Base::default()), ..empty.observation("legacy", Answer::Done) };
    assert_eq!(empty.broken_rules(&observation), "");
    assert_eq!(empty.broken_by("clear", refused(Code::Io)), "maintenance/commands");
}
