//! Units of files that belong together: what checkpoints and restores may do with them.

use super::*;
use pretty_assertions::assert_eq;

/// The first bytes of a database, its `-wal` and its `-journal`.
const DATABASE: &[u8] = b"SQLite format 3\0";
const WAL: &[u8] = b"\x37\x7f\x06\x82";
const JOURNAL: &[u8] = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";

/// A scene of an implementation with or without support for units.
fn scene(has_units: bool) -> Scene {
    let units = has_units.then_some("capture.units");
    Scene::with_capabilities(
        CAPABILITIES.into_iter().chain(["restore.exact"]).chain(units).collect(),
        "",
    )
}

/// Writes the header for the kind of file, then `end`; an empty `end` removes the file.
fn write(scene: &mut Scene, path: &str, end: &str) {
    let header = match path {
        _ if path.ends_with("-wal") => WAL,
        _ if path.ends_with("-journal") => JOURNAL,
        _ if path.ends_with(".db") => DATABASE,
        _ => b"",
    };
    let path = ByteString::from(&*format!("work/alpha/{path}"));
    let edit = match end {
        "" => Edit::Remove { path },
        _ => {
            let content = ByteString::from([header, end.as_bytes()].concat());
            Edit::Write { path, content, executable: false }
        }
    };
    scene.world.edit(&edit);
}

/// Writes a folder in the layout of LevelDB.
fn write_level(scene: &mut Scene, log: &str) {
    write(scene, "level/CURRENT", "MANIFEST-000001\n");
    write(scene, "level/MANIFEST-000001", "manifest");
    write(scene, "level/000003.log", log);
    write(scene, "level/LOG.old", "text");
}

fn taken_with(scene: &Scene, skipped: &[(&str, &str)]) -> Answer {
    let remark =
        |(path, why): &(&str, &str)| Remark { path: (*path).into(), why: (*why).to_owned() };
    Answer::Taken {
        outcome: CheckpointOutcome::Created { id: checkpoint_id(scene.ids + 1) },
        skipped: skipped.iter().map(remark).collect(),
    }
}

/// The paths in the newest checkpoint of `alpha`.
fn captured_paths(scene: &Scene) -> Vec<String> {
    texts(scene.world.newest(b"work/alpha").unwrap().captured.as_ref().unwrap().tree.keys())
}

/// The observation of a restore of the newest checkpoint that keeps and removes these paths,
/// restores the others, and reports that truthfully.
fn restored(scene: &Scene, request: &str, kept: &[&str], removed: &[&str]) -> Observation {
    let mut observation = scene.correct_observation(request);
    let in_world = |path: &str| format!("work/alpha/{path}").into_bytes();
    for path in kept {
        let original = scene.world.files.get(&in_world(path)).cloned();
        observation.files.remove(&in_world(path));
        if let Some(node) = original {
            observation.files.make_parents(&in_world(path));
            observation.files.insert(&in_world(path), node);
        }
    }
    removed.iter().for_each(|path| observation.files.remove(&in_world(path)));
    let tree = &scene.world.newest(b"work/alpha").unwrap().captured.clone().unwrap().tree;
    let before = scene.world.files.clone();
    let Answer::Restored(report) = &mut observation.answer else {
        panic!("{:?}", observation.answer)
    };
    let changed = |path: &&ByteString| {
        before.get(&in_world(&path.to_string()))
            != observation.files.get(&in_world(&path.to_string()))
    };
    report.restored = tree
        .keys()
        .filter(changed)
        .filter(|path| observation.files.get(&in_world(&path.to_string())).is_some())
        .cloned()
        .collect();
    let gone = before
        .below(b"work/alpha")
        .filter(|(path, node)| **node != Node::Directory && observation.files.get(path).is_none());
    report.removed =
        gone.map(|(path, _)| bytes::below(b"work/alpha", path).unwrap().into()).collect();
    let is_in =
        |path: &ByteString, paths: &[&str]| paths.iter().any(|listed| **path == *listed.as_bytes());
    report.left.retain(|path| !is_in(path, removed) && !is_in(path, kept));
    report.kept = kept
        .iter()
        .map(|path| Remark { path: (*path).into(), why: "part of app.db".into() })
        .collect();
    observation
}

/// A scene whose database is closed at the checkpoint and has a `-wal` and a `-shm` now.
fn written_since() -> Scene {
    let mut scene = scene(true);
    write(&mut scene, "app.db", "1");
    scene.perform("take alpha");
    write(&mut scene, "app.db", "2");
    write(&mut scene, "app.db-wal", "2");
    write(&mut scene, "app.db-shm", "2");
    scene
}

#[test]
fn capture_units_captures_members_of_a_folder_despite_the_default_excludes() {
    for (has_units, has_log) in [(true, true), (false, false)] {
        let mut scene = scene(has_units);
        write_level(&mut scene, "rows");
        write(&mut scene, "x.log", "text");
        write(&mut scene, "app.db", "1");
        write(&mut scene, "app.db-shm", "1");
        scene.perform("take alpha");
        let names = captured_paths(&scene);
        assert_eq!(names.contains(&"level/000003.log".to_owned()), has_log);
        assert_eq!(names.contains(&"app.db-shm".to_owned()), !has_units);
        assert!(
            !names.contains(&"x.log".to_owned()) && names.contains(&"level/LOG.old".to_owned())
        );
    }
}

#[test]
fn capture_units_leaves_out_and_reports_a_complete_unit_if_one_member_is_left_out() {
    for cause in ["ignored", "too large", "unreadable"] {
        let mut scene = scene(true);
        write(&mut scene, "app.db", "1");
        write(&mut scene, "app.db-wal", "2");
        write(&mut scene, "other", "x");
        match cause {
            "ignored" => write(&mut scene, ".gitignore", "*-wal"),
            "too large" => {
                scene.world.settings.max_file_bytes = 18;
                write(&mut scene, "app.db-wal", "more than eighteen bytes");
            }
            _ => {
                let path = "work/alpha/app.db-wal".into();
                scene.world.edit(&Edit::SetReadable { path, readable: false });
            }
        }
        let both = [("app.db", "part of app.db"), ("app.db-wal", "part of app.db")];
        let if_not_reported = if cause == "unreadable" {
            "capture/unreadable unit/captured"
        } else {
            "unit/captured"
        };
        assert_eq!(
            scene.broken_by("take alpha", taken_with(&scene, &[])),
            if_not_reported,
            "{cause}"
        );
        assert_eq!(scene.broken_by("take alpha", taken_with(&scene, &both)), "", "{cause}");
        let answer = taken_with(&scene, &both);
        scene.learn_answer("take alpha", answer);
        assert!(!captured_paths(&scene).iter().any(|path| path.starts_with("app.db")), "{cause}");
    }
}

#[test]
fn capture_units_ignores_a_unit_whose_members_are_all_ignored() {
    let mut scene = scene(true);
    write(&mut scene, ".gitignore", "*.db*\n");
    write(&mut scene, "app.db", "1");
    write(&mut scene, "app.db-wal", "1");
    assert_eq!(scene.broken_by("take alpha", taken_with(&scene, &[])), "");
}

#[test]
fn capture_units_may_leave_out_a_unit_in_use_if_all_its_files_are_reported() {
    let mut scene = scene(true);
    write(&mut scene, "app.db", "1");
    write(&mut scene, "app.db-journal", "1");
    write(&mut scene, "other", "x");
    let database = ("app.db", "keeps changing");
    let journal = ("app.db-journal", "keeps changing");
    assert_eq!(scene.broken_by("take alpha", taken_with(&scene, &[database])), "unit/captured");
    let uninformative = [("app.db", "no"), ("app.db-journal", "no")];
    assert_eq!(scene.broken_by("take alpha", taken_with(&scene, &uninformative)), "unit/captured");
    assert_eq!(scene.broken_by("take alpha", taken_with(&scene, &[database, journal])), "");
    let answer = taken_with(&scene, &[database, journal]);
    scene.learn_answer("take alpha", answer);
    assert_eq!(captured_paths(&scene), ["other"]);
    // If the unit is left out again, the next checkpoint has nothing new.
    let Answer::Taken { skipped, .. } = taken_with(&scene, &[database, journal]) else { panic!() };
    let unchanged = Answer::Taken { outcome: CheckpointOutcome::Unchanged, skipped };
    assert_eq!(scene.broken_by("take alpha", unchanged), "");
    let if_not_reported = scene.broken_by("take alpha", taken(CheckpointOutcome::Unchanged));
    assert_eq!(if_not_reported, "capture/created unit/captured");
}

#[test]
fn restore_of_a_unit_removes_members_created_since() {
    let scene = written_since();
    let right = restored(&scene, "restore alpha 1", &[], &["app.db-wal", "app.db-shm"]);
    assert_eq!(scene.broken_rules(&right), "");
    for (kept, removed) in [
        (&[][..], &["app.db-wal"][..]),
        (&[], &["app.db-shm"]),
        (&[], &[]),
        (&["app.db"], &["app.db-wal", "app.db-shm"]),
    ] {
        let torn = restored(&scene, "restore alpha 1", kept, removed);
        assert_eq!(scene.broken_rules(&torn), "unit/restored", "{kept:?} {removed:?}");
    }
    // An implementation without units treats each file separately.
    let mut plain = self::scene(false);
    write(&mut plain, "app.db", "1");
    plain.perform("take alpha");
    write(&mut plain, "app.db", "2");
    write(&mut plain, "app.db-wal", "2");
    plain.perform("restore alpha 1");
}

#[test]
fn restore_keeps_a_unit_with_all_its_files_and_reports_it() {
    let scene = written_since();
    let kept = |why: &str, names: &[&str]| {
        let mut observation = restored(&scene, "restore alpha 1", &["app.db", "app.db-wal"], &[]);
        let Answer::Restored(report) = &mut observation.answer else { panic!() };
        report.kept =
            names.iter().map(|path| Remark { path: (*path).into(), why: why.into() }).collect();
        scene.broken_rules(&observation)
    };
    assert_eq!(kept("another process is using app.db", &["app.db", "app.db-wal"]), "");
    assert_eq!(kept("in use", &["app.db", "app.db-wal", "app.db-shm"]), "");
    assert_eq!(kept("in use", &["app.db"]), "unit/restored unit/restored");
    assert_eq!(kept("no reason", &["app.db", "app.db-wal"]), "unit/restored");
    // A member that cannot be captured now would be lost.
    let mut scene = written_since();
    write(&mut scene, ".gitignore", "*.db-wal\n");
    let observation = restored(&scene, "restore alpha 1", &["app.db", "app.db-wal"], &[]);
    assert_eq!(scene.broken_rules(&observation), "");
    let lost = restored(&scene, "restore alpha 1", &[], &["app.db-wal", "app.db-shm"]);
    assert_eq!(scene.broken_rules(&lost), "unit/undo");
    let torn = restored(&scene, "restore alpha 1", &["app.db-wal"], &[]);
    assert_eq!(scene.broken_rules(&torn), "unit/undo");
}

#[test]
fn restore_never_restores_part_of_a_unit_that_the_checkpoint_left_out() {
    let mut scene = scene(true);
    scene.world.settings.max_file_bytes = 40;
    write(&mut scene, "app.db", "much more than forty bytes of a database");
    write(&mut scene, "app.db-wal", "1");
    write(&mut scene, "other", "x");
    let both = [("app.db", "too large"), ("app.db-wal", "part of app.db")];
    let answer = taken_with(&scene, &both);
    scene.learn_answer("take alpha", answer);
    write(&mut scene, "app.db", "2");
    write(&mut scene, "app.db-wal", "2");
    write(&mut scene, "other", "y");
    for request in ["restore alpha 1", "restore alpha 1 exact"] {
        let kept = restored(&scene, request, &["app.db", "app.db-wal"], &[]);
        assert_eq!(scene.broken_rules(&kept), "", "{request}");
        let removed = restored(&scene, request, &[], &["app.db", "app.db-wal"]);
        assert_eq!(scene.broken_rules(&removed), "unit/restored", "{request}");
    }
}

#[test]
fn exact_restore_removes_a_new_unit_completely_or_keeps_it() {
    let mut scene = scene(true);
    write(&mut scene, "other", "x");
    scene.perform("take alpha");
    write(&mut scene, "app.db", "1");
    write(&mut scene, "app.db-wal", "1");
    write(&mut scene, "app.db-shm", "1");
    write_level(&mut scene, "rows");
    let level = ["level/000003.log", "level/CURRENT", "level/MANIFEST-000001", "level/LOG.old"];
    let members: Vec<&str> =
        ["app.db", "app.db-wal", "app.db-shm"].into_iter().chain(level).collect();
    let exact = "restore alpha 1 exact";
    let removing = |removed: &[&str]| restored(&scene, exact, &[], removed);
    assert_eq!(scene.broken_rules(&removing(&members)), "");
    let all_except = |left_out: &str| -> Vec<&str> {
        members.iter().copied().filter(|path| *path != left_out).collect()
    };
    let mut without = restored(&scene, exact, &["app.db-wal"], &all_except("app.db-wal"));
    assert_eq!(scene.broken_rules(&without), "unit/restored");
    without = restored(&scene, exact, &[], &all_except("app.db-shm"));
    assert_eq!(scene.broken_rules(&without), "unit/restored");
    without = restored(&scene, exact, &["level/000003.log"], &all_except("level/000003.log"));
    assert_eq!(scene.broken_rules(&without), "unit/restored");
}

#[test]
fn pre_restore_checkpoint_may_lack_an_untouched_unit_if_the_layout_is_not_readable() {
    for reads in [true, false] {
        let capabilities = CAPABILITIES.into_iter().filter(|capability| *capability != "layout");
        let capabilities = capabilities.chain(["capture.units"]).chain(reads.then_some("layout"));
        let mut scene = Scene::with_capabilities(capabilities.collect(), "");
        write(&mut scene, "other", "x");
        scene.perform("take alpha");
        write(&mut scene, "app.db", "1");
        write(&mut scene, "app.db-wal", "1");
        scene.perform("restore alpha 1");
        assert_eq!(scene.world.newest(b"work/alpha").unwrap().captured.is_some(), reads);
    }
}

#[test]
fn restore_file_of_one_member_restores_its_unit() {
    let scene = written_since();
    let request = "file alpha 1 app.db";
    let right = restored(&scene, request, &[], &["app.db-wal", "app.db-shm"]);
    assert_eq!(scene.broken_rules(&right), "");
    let torn = restored(&scene, request, &[], &[]);
    assert_eq!(scene.broken_rules(&torn), "unit/restored");
    assert_eq!(scene.broken_by(request, refused(Code::WouldOverwrite)), "");
}

#[test]
fn restore_does_not_change_an_unchanged_unit() {
    let mut scene = scene(true);
    write(&mut scene, "app.db", "1");
    write(&mut scene, "app.db-wal", "1");
    write(&mut scene, "other", "x");
    scene.perform("take alpha");
    write(&mut scene, "app.db-shm", "1");
    write(&mut scene, "other", "y");
    let right = restored(&scene, "restore alpha 1", &[], &[]);
    assert_eq!(scene.broken_rules(&right), "");
    let touched = restored(&scene, "restore alpha 1", &[], &["app.db-shm"]);
    assert_eq!(scene.broken_rules(&touched), "unit/restored");
}

#[test]
fn diff_may_show_or_omit_a_unit_that_a_restore_keeps() {
    let mut scene = written_since();
    write(&mut scene, ".gitignore", "*.db-wal\n");
    let entry = |path: &str, change| DiffEntry { path: path.into(), change };
    use crate::answer::Change::{Added, Deleted, Modified};
    let diff = |entries: &[DiffEntry]| Answer::Diffed {
        entries: entries.to_vec(),
        stats: Stats { files: 0, added: 0, removed: 0 },
    };
    let ignore = entry(".gitignore", Added);
    for entries in [
        &[ignore.clone()][..],
        &[
            ignore.clone(),
            entry("app.db", Modified),
            entry("app.db-wal", Added),
            entry("app.db-shm", Added),
        ],
        &[ignore.clone(), entry("app.db", Deleted)],
    ] {
        assert_eq!(scene.broken_by("diff alpha 1", diff(entries)), "", "{entries:?}");
    }
    assert_eq!(scene.broken_by("diff alpha 1", diff(&[entry("app.db", Modified)])), "diff/preview");
}
