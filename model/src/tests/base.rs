//! What stands in the base beside the store: whatever is asked, nothing of it is lost.

use super::*;
use pretty_assertions::assert_eq;

const LOST: &str = "migration/loses-nothing";
const ARCHIVES: &str = "migration/archives";

fn place(archive: Option<&str>, whole: bool) -> Place {
    Place { archive: archive.map(str::to_owned), whole }
}

#[test]
fn a_repository_stands_whole_where_it_was_or_in_an_archive() {
    let direct = || place(None, true);
    let archived = || place(Some("legacy-2"), true);
    // Whether it is due to be archived and in which archive it is, and where it is seen.
    for (due, archive, places, in_use, rules) in [
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
        scene.repository("old", "work/alpha", !due);
        if let Some(archive) = archive {
            let mut base = scene.base();
            base.repositories.insert("old".into(), vec![place(Some(archive), true)]);
            base.archives.insert(archive.into());
            let seen = scene.seen("status", Answer::Done);
            scene.learn(&Observation { base: Some(base), ..seen });
        }
        let mut base = scene.base();
        base.in_use = in_use;
        base.repositories.insert("old".into(), places.clone());
        let seen = Observation { base: Some(base), ..scene.right("list alpha") };
        assert_eq!(scene.broken(&seen), rules, "{due} {archive:?} {places:?} {in_use}");
        let symptoms = symptoms(&scene.checks(&seen)).join("");
        let gone = symptoms == "a repository is gone";
        assert_eq!(gone, places.is_empty(), "{symptoms}");
    }
}

#[test]
fn archives_and_strays_stay_as_they_were() {
    let spoilt: &[(Spoil<Base>, &str)] = &[
        (&|_| {}, ""),
        (&|base| base.spoiled_archives.extend(["legacy-1".to_owned()]), LOST),
        (&|base| base.spoiled_archives.extend(["legacy-9".to_owned()]), ""),
        (&|base| base.strays.clear(), LOST),
        (&|base| base.lookalikes.clear(), "maintenance/only-ours"),
    ];
    for (at, (spoil, rules)) in spoilt.iter().enumerate() {
        let mut scene = Scene::with("");
        scene.archive("legacy-1");
        scene.world.edit_store(&StoreEdit::Stray { name: "notes".into() }, true);
        let (name, of) = ("legacy-photos".into(), Likeness::Name);
        scene.world.edit_store(&StoreEdit::Lookalike { name, of, changed: 0 }, true);
        let mut base = scene.base();
        spoil(&mut base);
        let seen = Observation { base: Some(base), ..scene.right("list alpha") };
        assert_eq!(scene.broken(&seen), *rules, "{at}");
    }
}

#[test]
fn what_is_swept_or_cleared_may_go() {
    let (stays, goes) = (LOST, "");
    for (asked, wait, archived, direct, in_archive) in [
        ("list alpha", 8, stays, stays, stays),
        ("prune 7 0", 0, stays, stays, stays),
        ("prune 7 0", 8, goes, goes, goes),
        ("legacy", 0, goes, stays, goes),
        ("clear", 0, goes, goes, goes),
    ] {
        let mut scene = Scene::with("");
        scene.repository("direct", "work/alpha", true);
        scene.repository("inside", "work/alpha", true);
        scene.archive("legacy-1");
        let mut base = scene.base();
        base.repositories.insert("inside".into(), vec![place(Some("legacy-1"), true)]);
        let seen = scene.seen("status", Answer::Done);
        scene.learn(&Observation { base: Some(base), ..seen });
        scene.wait(wait * DAY);
        let lost = |spoil: fn(&mut Base)| {
            let mut base = scene.base();
            spoil(&mut base);
            let seen = Observation { base: Some(base), ..scene.right(asked) };
            if scene.broken(&seen).contains(LOST) { LOST } else { "" }
        };
        let spoiled = lost(|base| base.spoiled_archives.extend(["legacy-1".to_owned()]));
        assert_eq!(spoiled, archived, "{asked} {wait}");
        assert_eq!(lost(|base| drop(base.repositories.remove("direct"))), direct, "{asked} {wait}");
        let inside = lost(|base| drop(base.repositories.remove("inside")));
        assert_eq!(inside, in_archive, "{asked} {wait}");
    }
}

#[test]
fn clearing_leaves_nothing_of_what_was_to_be_cleared_and_all_else() {
    // What stands afterwards: the store, an archive, a repository and one in the archive.
    for (asked, left, rules) in [
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
        scene.ask("take alpha");
        scene.repository("old", "work/alpha", true);
        scene.archive("legacy-1");
        let mut base = scene.base();
        base.store_stands = left.contains("store");
        base.archives.retain(|name| left.contains(name));
        base.repositories.retain(|name, _| left.contains(name));
        if left.contains("inside") {
            base.repositories.insert("inside".into(), vec![place(Some("legacy-1"), true)]);
        }
        let seen = Observation { base: Some(base), ..scene.seen(asked, Answer::Done) };
        assert_eq!(scene.broken(&seen), rules, "{asked}: {left}");
    }
    // Where there is nothing to keep, there need be no store.
    let mut empty = Scene::with("");
    empty.archive("legacy-1");
    let seen = Observation { base: Some(Base::default()), ..empty.seen("legacy", Answer::Done) };
    assert_eq!(empty.broken(&seen), "");
    assert_eq!(empty.answered("clear", refused(Code::Io)), "maintenance/commands");
}
