//! What a restore does to files other than their content.

use super::*;
use pretty_assertions::assert_eq;

/// The observation of a restore of a file, where the first name of its path has these permission bits when it is
/// captured, before the restore (`None` if it is gone) and afterwards.
fn restored(path: &str, captured: u32, before: Option<u32>, after: u32) -> (Scene, Observation) {
    let (name, _) = path.split_once('/').unwrap_or((path, ""));
    let full = format!("work/alpha/{name}");
    let permit = |files: &mut Files, bits| {
        // Each has no effect on what is of the other kind.
        files.set_permissions(full.as_bytes(), bits);
        files.set_folder_permissions(full.as_bytes(), bits);
    };
    let mut scene = Scene::with(&format!("{path}=1"));
    permit(&mut scene.world.files, captured);
    scene.perform("take alpha");
    scene.edit(&format!("-{name} b="));
    if let Some(bits) = before {
        scene.edit(&format!("{path}=2"));
        permit(&mut scene.world.files, bits);
    }
    let mut observation = scene.correct_observation("restore alpha 1");
    permit(&mut observation.files, after);
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
        // It may lose what it did not give to others when it was captured, and nothing else.
        (0o600, Some(0o644), 0o600, ""),
        (0o600, Some(0o666), 0o640, ""),
        (0o640, Some(0o644), 0o640, ""),
        (0o640, Some(0o644), 0o600, rule),
        (0o644, Some(0o644), 0o600, rule),
        (0o600, Some(0o600), 0o644, rule),
        // Except for the executable bit.
        (0o755, Some(0o600), 0o700, ""),
        (0o755, Some(0o644), 0o744, ""),
    ] {
        let (scene, observation) = restored("a", captured, before, after);
        assert_eq!(scene.broken_rules(&observation), rules, "{captured:o} {before:?} {after:o}");
        assert_eq!(count(&scene.checks(&observation), rule), 1);
    }
}

#[test]
fn restore_permissions_judges_only_restored_files_whose_capture_was_observed() {
    let (mut scene, observation) = restored("a", 0o600, None, 0o644);
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
fn restore_opens_no_folder_that_was_closed_when_captured_and_before() {
    let rule = "restore/folder-permissions";
    for (captured, before, after, rules, checked) in [
        (0o700, None, 0o700, "", 1),
        (0o700, None, 0o755, rule, 1),
        (0o700, None, 0o711, rule, 1),
        (0o750, None, 0o700, "", 1),
        (0o711, None, 0o755, rule, 1),
        // The default permissions show nothing, unless they are exceeded.
        (0o755, None, 0o700, "", 0),
        (0o755, None, 0o755, "", 0),
        (0o755, None, 0o777, rule, 1),
        // A folder that exists may keep its permissions, or get those of the checkpoint.
        (0o700, Some(0o755), 0o755, "", 0),
        (0o700, Some(0o711), 0o711, "", 1),
        (0o711, Some(0o700), 0o711, "", 1),
        (0o711, Some(0o700), 0o700, "", 1),
        (0o711, Some(0o700), 0o755, rule, 1),
        (0o700, Some(0o700), 0o755, rule, 1),
    ] {
        let (scene, observation) = restored("d/a", captured, before, after);
        assert_eq!(scene.broken_rules(&observation), rules, "{captured:o} {before:?} {after:o}");
        let checks = scene.checks(&observation);
        assert_eq!(count(&checks, rule), checked, "{captured:o} {before:?} {after:o}");
    }
}

#[test]
fn restore_folder_permissions_judges_the_project_and_only_folders_above_restored_files() {
    let mut scene = Scene::with("d/a=1 e/a=1");
    scene.world.files.set_folder_permissions(b"work/alpha", 0o700);
    scene.perform("take alpha");
    scene.edit("d/a=2");
    for (opened, rules) in
        [("work/alpha", "restore/folder-permissions"), ("work/alpha/e", ""), ("work", "")]
    {
        let mut observation = scene.correct_observation("restore alpha 1");
        observation.files.set_folder_permissions(opened.as_bytes(), 0o777);
        assert_eq!(scene.broken_rules(&observation), rules, "{opened}");
    }
    let (mut scene, observation) = restored("d/a", 0o700, None, 0o755);
    let listed =
        Listed { number: 1, id: checkpoint_id(9), time: 0, reason: String::new(), stats: None };
    scene.learn_answer("list alpha", Answer::Listed(vec![listed]));
    assert_eq!(scene.broken_rules(&observation), "", "the capture was not observed");
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
    let of_file: fn(&mut Scene) =
        |scene| scene.world.files.set_permissions(b"work/alpha/d/a", 0o600);
    let of_folder: fn(&mut Scene) =
        |scene| scene.world.files.set_folder_permissions(b"work/alpha/d", 0o700);
    let of_project: fn(&mut Scene) =
        |scene| scene.world.files.set_folder_permissions(b"work/alpha", 0o700);
    for change in [of_file, of_folder, of_project] {
        let mut scene = Scene::with("d/a=1");
        scene.perform("take alpha");
        assert_eq!(scene.broken_by("take alpha", created(2)), "capture/unchanged");
        change(&mut scene);
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
}
