//! What a restore does to files beside what they hold.

use super::*;
use pretty_assertions::assert_eq;

/// What is seen where `a` of a checkpoint is brought back, with these permission bits when it was
/// captured, before the restore (or it is gone) and afterwards.
fn restored(captured: u32, before: Option<u32>, after: u32) -> (Scene, Observation) {
    let mut scene = Scene::with("a=1");
    scene.world.files.set_permissions(b"work/alpha/a", captured);
    scene.ask("take alpha");
    scene.put("-a b=");
    if let Some(bits) = before {
        scene.put("a=2");
        scene.world.files.set_permissions(b"work/alpha/a", bits);
    }
    let mut seen = scene.right("restore alpha 1");
    seen.files.set_permissions(b"work/alpha/a", after);
    (scene, seen)
}

#[test]
fn permissions_never_widen() {
    let rule = "restore/permissions";
    for (captured, before, after, rules) in [
        (0o600, None, 0o600, ""),
        (0o600, None, 0o640, rule),
        (0o644, None, 0o600, ""),
        (0o640, None, 0o644, rule),
        (0o644, None, 0o664, rule),
        // What its owner may do is not about others.
        (0o444, None, 0o644, ""),
        (0o700, None, 0o711, rule),
        (0o644, Some(0o600), 0o600, ""),
        (0o644, Some(0o600), 0o644, rule),
        (0o600, Some(0o644), 0o644, ""),
        (0o600, Some(0o644), 0o600, rule),
        // But for the executable bit.
        (0o755, Some(0o600), 0o700, ""),
        (0o755, Some(0o644), 0o744, ""),
    ] {
        let (scene, seen) = restored(captured, before, after);
        assert_eq!(scene.broken(&seen), rules, "{captured:o} {before:?} {after:o}");
        assert_eq!(count(&scene.checks(&seen), rule), 1);
    }
}

#[test]
fn permissions_of_what_was_not_seen_captured_or_was_not_restored_are_not_judged() {
    let (mut scene, seen) = restored(0o600, None, 0o644);
    let listed = Listed { number: 1, id: id(9), time: 0, reason: String::new(), stats: None };
    scene.told("list alpha", Answer::Listed(vec![listed]));
    assert_eq!(scene.broken(&seen), "");
    let mut scene = Scene::changed("a=1 b=1", "a=1 b=2");
    scene.world.files.set_permissions(b"work/alpha/a", 0o600);
    let mut seen = scene.right("restore alpha 1");
    seen.files.set_permissions(b"work/alpha/a", 0o600);
    assert_eq!(count(&scene.checks(&seen), "restore/permissions"), 1);
}

#[test]
fn what_is_as_recorded_is_not_written() {
    for (path, rules) in [
        ("a", "restore/untouched"),
        // This was not as recorded, and this the checkpoint does not hold.
        ("b", ""),
        ("c", ""),
    ] {
        let scene = Scene::changed("a=1 b=1", "a=1 b=2 c=1");
        for asked in ["restore alpha 1", "file alpha 1 b"] {
            let mut seen = scene.right(asked);
            let path = ByteString::from(&*format!("work/alpha/{path}"));
            seen.rewritten.insert(path, "inode");
            assert_eq!(scene.broken(&seen), rules, "{asked}");
            assert_eq!(count(&scene.checks(&seen), "restore/untouched"), 1);
        }
    }
}

/// Names of one file, in the world.
fn names(all: &[&str]) -> crate::observation::Names {
    let all: BTreeSet<ByteString> = all.iter().map(|one| ByteString::from(*one)).collect();
    let others = |one: &ByteString| all.iter().filter(|other| *other != one).cloned().collect();
    all.iter().map(|one| (one.clone(), others(one))).collect()
}

#[test]
fn other_names_of_a_file_keep_their_bytes() {
    let both = &["work/alpha/a", "outside/x"];
    for (before, after, changed, rules) in [
        (&both[..], &both[..], "/outside/x=1", "restore/hard-links"),
        (both, both, "", ""),
        // A file has one set of permissions.
        (both, both, "/outside/x*=2", ""),
        // Nothing shows that it was written as another name of the file.
        (both, &[], "/outside/x=1", "restore/contained"),
        (&[], both, "/outside/x=1", "restore/contained"),
    ] {
        let mut scene = Scene::changed("a=1", "a=2");
        scene.put("/outside/x=2");
        let mut seen = scene.right("restore alpha 1");
        let mut then = scene.clone();
        then.world.files = seen.files.clone();
        then.put(changed);
        seen.files = then.world.files;
        seen.names = (names(before), names(after));
        assert_eq!(scene.broken(&seen), rules, "{before:?} {after:?} {changed}");
        let counted = count(&scene.checks(&seen), "restore/hard-links") > 0;
        assert_eq!(counted, !before.is_empty());
    }
}

#[test]
fn other_permissions_alone_may_be_a_change_and_need_not_be() {
    let mut scene = Scene::with("a=1");
    scene.ask("take alpha");
    assert_eq!(scene.answered("take alpha", created(2)), "capture/unchanged");
    scene.world.files.set_permissions(b"work/alpha/a", 0o600);
    for answer in [created(2), taken(CheckpointOutcome::Unchanged)] {
        assert_eq!(scene.answered("take alpha", answer), "");
    }
    for safety in [None, Some(id(2))] {
        let mut seen = scene.right("restore alpha 1");
        if let Answer::Restored(said) = &mut seen.answer {
            said.safety = safety;
        }
        assert_eq!(scene.broken(&seen), "");
    }
}
