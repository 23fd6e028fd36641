//! What a restore does to files other than their content.

use super::*;
use pretty_assertions::assert_eq;

/// The observation of a restore of `a`, with these permission bits when it was captured, before the
/// restore (`None` if it is gone) and afterwards.
fn restored(captured: u32, before: Option<u32>, after: u32) -> (Scene, Observation) {
    let mut scene = Scene::with("a=1");
    scene.world.files.set_permissions(b"work/alpha/a", captured);
    scene.perform("take alpha");
    scene.edit("-a b=");
    if let Some(bits) = before {
        scene.edit("a=2");
        scene.world.files.set_permissions(b"work/alpha/a", bits);
    }
    let mut observation = scene.correct_observation("restore alpha 1");
    observation.files.set_permissions(b"work/alpha/a", after);
    (scene, observation)
}

#[test]
fn restore_never_widens_permissions() {
    let rule = "restore/permissions";
    for (captured, before, after, rules) in [
        (0o600, None, 0o600, ""),
        (0o600, None, 0o640, rule),
        (0o644, None, 0o600, ""),
        (0o640, None, 0o644, rule),
        (0o644, None, 0o664, rule),
        // The permissions of the owner do not matter.
        (0o444, None, 0o644, ""),
        (0o700, None, 0o711, rule),
        (0o644, Some(0o600), 0o600, ""),
        (0o644, Some(0o600), 0o644, rule),
        (0o600, Some(0o644), 0o644, ""),
        (0o600, Some(0o644), 0o600, rule),
        // Except for the executable bit.
        (0o755, Some(0o600), 0o700, ""),
        (0o755, Some(0o644), 0o744, ""),
    ] {
        let (scene, observation) = restored(captured, before, after);
        assert_eq!(scene.broken_rules(&observation), rules, "{captured:o} {before:?} {after:o}");
        assert_eq!(count(&scene.checks(&observation), rule), 1);
    }
}

#[test]
fn restore_permissions_judges_only_restored_files_whose_capture_was_observed() {
    let (mut scene, observation) = restored(0o600, None, 0o644);
    let listed =
        Listed { number: 1, id: checkpoint_id(9), time: 0, reason: String::new(), stats: None };
    scene.learn_answer("list alpha", Answer::Listed(vec![listed]));
    assert_eq!(scene.broken_rules(&observation), "");
    let mut scene = Scene::changed("a=1 b=1", "a=1 b=2");
    scene.world.files.set_permissions(b"work/alpha/a", 0o600);
    let mut observation = scene.correct_observation("restore alpha 1");
    observation.files.set_permissions(b"work/alpha/a", 0o600);
    assert_eq!(count(&scene.checks(&observation), "restore/permissions"), 1);
}

#[test]
fn restore_does_not_rewrite_unchanged_files() {
    for (path, rules) in [
        ("a", "restore/untouched"),
        // `b` differed from its record, and the checkpoint does not hold `c`.
        ("b", ""),
        ("c", ""),
    ] {
        let scene = Scene::changed("a=1 b=1", "a=1 b=2 c=1");
        for request in ["restore alpha 1", "file alpha 1 b"] {
            let mut observation = scene.correct_observation(request);
            let path = ByteString::from(&*format!("work/alpha/{path}"));
            observation.rewritten.insert(path, "inode");
            assert_eq!(scene.broken_rules(&observation), rules, "{request}");
            assert_eq!(count(&scene.checks(&observation), "restore/untouched"), 1);
        }
    }
}

/// The hard-linked names of one file: each of these paths with the others.
fn names(paths: &[&str]) -> crate::observation::Names {
    let names: BTreeSet<ByteString> = paths.iter().map(|path| ByteString::from(*path)).collect();
    let others = |name: &ByteString| names.iter().filter(|path| *path != name).cloned().collect();
    names.iter().map(|name| (name.clone(), others(name))).collect()
}

#[test]
fn restore_keeps_the_bytes_of_other_hard_links_of_a_file() {
    let both = &["work/alpha/a", "outside/x"];
    for (names_before, names_after, changed, rules) in [
        (&both[..], &both[..], "/outside/x=1", "restore/hard-links"),
        (both, both, "", ""),
        // All names of a file share its permissions.
        (both, both, "/outside/x*=2", ""),
        // Nothing shows that the path was written as another name of the file.
        (both, &[], "/outside/x=1", "restore/contained"),
        (&[], both, "/outside/x=1", "restore/contained"),
    ] {
        let mut scene = Scene::changed("a=1", "a=2");
        scene.edit("/outside/x=2");
        let mut observation = scene.correct_observation("restore alpha 1");
        let mut after = scene.clone();
        after.world.files = observation.files.clone();
        after.edit(changed);
        observation.files = after.world.files;
        observation.names = (names(names_before), names(names_after));
        assert_eq!(
            scene.broken_rules(&observation),
            rules,
            "{names_before:?} {names_after:?} {changed}"
        );
        let is_counted = count(&scene.checks(&observation), "restore/hard-links") > 0;
        assert_eq!(is_counted, !names_before.is_empty());
    }
}

#[test]
fn checkpoint_may_or_may_not_treat_permissions_alone_as_a_change() {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    assert_eq!(scene.broken_by("take alpha", created(2)), "capture/unchanged");
    scene.world.files.set_permissions(b"work/alpha/a", 0o600);
    for answer in [created(2), taken(CheckpointOutcome::Unchanged)] {
        assert_eq!(scene.broken_by("take alpha", answer), "");
    }
    for safety in [None, Some(checkpoint_id(2))] {
        let mut observation = scene.correct_observation("restore alpha 1");
        if let Answer::Restored(report) = &mut observation.answer {
            report.safety = safety;
        }
        assert_eq!(scene.broken_rules(&observation), "");
    }
}
