//! Files that belong together: what a checkpoint and a restore may make of them.

use super::*;
use pretty_assertions::assert_eq;

/// The beginnings of a database, its `-wal` and its `-journal`.
const DATABASE: &[u8] = b"SQLite format 3\0";
const WAL: &[u8] = b"\x37\x7f\x06\x82";
const JOURNAL: &[u8] = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";

/// A scene of an implementation that knows units, or of one that does not.
fn scene(knows: bool) -> Scene {
    let known = knows.then_some("capture.units");
    Scene::able(CAPABILITIES.into_iter().chain(["restore.exact"]).chain(known).collect(), "")
}

/// Writes what belongs at a path, with this at its end; an empty text removes it.
fn put(scene: &mut Scene, path: &str, end: &str) {
    let beginning = match path {
        _ if path.ends_with("-wal") => WAL,
        _ if path.ends_with("-journal") => JOURNAL,
        _ if path.ends_with(".db") => DATABASE,
        _ => b"",
    };
    let path = ByteString::from(&*format!("work/alpha/{path}"));
    let edit = match end {
        "" => Edit::Remove { path },
        _ => {
            let content = ByteString([beginning, end.as_bytes()].concat());
            Edit::Write { path, content, executable: false }
        }
    };
    scene.world.edit(&edit);
}

/// A folder as LevelDB lays it out.
fn put_level(scene: &mut Scene, log: &str) {
    put(scene, "level/CURRENT", "MANIFEST-000001\n");
    put(scene, "level/MANIFEST-000001", "manifest");
    put(scene, "level/000003.log", log);
    put(scene, "level/LOG.old", "text");
}

fn taken_with(scene: &Scene, skipped: &[(&str, &str)]) -> Answer {
    let remark =
        |(path, why): &(&str, &str)| Remark { path: (*path).into(), why: (*why).to_owned() };
    Answer::Taken {
        outcome: CheckpointOutcome::Created { id: id(scene.ids + 1) },
        skipped: skipped.iter().map(remark).collect(),
    }
}

/// The paths of the newest checkpoint of `alpha`.
fn held(scene: &Scene) -> Vec<String> {
    texts(scene.world.newest(b"work/alpha").unwrap().captured.as_ref().unwrap().tree.keys())
}

/// What is seen of a restore of the newest checkpoint that leaves these paths as they are now, removes
/// these, and brings back the others; with the truth about it.
fn restored(scene: &Scene, asked: &str, (kept, removed): (&[&str], &[&str])) -> Observation {
    let mut seen = scene.right(asked);
    let full = |path: &str| format!("work/alpha/{path}").into_bytes();
    for path in kept {
        let was = scene.world.files.get(&full(path)).cloned();
        seen.files.remove(&full(path));
        if let Some(node) = was {
            seen.files.make_parents(&full(path));
            seen.files.insert(&full(path), node);
        }
    }
    removed.iter().for_each(|path| seen.files.remove(&full(path)));
    let tree = &scene.world.newest(b"work/alpha").unwrap().captured.clone().unwrap().tree;
    let before = scene.world.files.clone();
    let Answer::Restored(said) = &mut seen.answer else { panic!("{:?}", seen.answer) };
    let changed = |path: &&ByteString| {
        before.get(&full(&path.to_string())) != seen.files.get(&full(&path.to_string()))
    };
    said.restored = tree
        .keys()
        .filter(changed)
        .filter(|path| seen.files.get(&full(&path.to_string())).is_some())
        .cloned()
        .collect();
    let gone = before
        .below(b"work/alpha")
        .filter(|(path, node)| **node != Node::Directory && seen.files.get(path).is_none());
    said.removed =
        gone.map(|(path, _)| bytes::below(b"work/alpha", path).unwrap().into()).collect();
    let is_in = |path: &ByteString, all: &[&str]| all.iter().any(|one| **path == *one.as_bytes());
    said.left.retain(|path| !is_in(path, removed) && !is_in(path, kept));
    said.kept = kept
        .iter()
        .map(|path| Remark { path: (*path).into(), why: "part of app.db".into() })
        .collect();
    seen
}

/// The database is closed at the checkpoint and has a `-wal` and a `-shm` now.
fn written_since() -> Scene {
    let mut scene = scene(true);
    put(&mut scene, "app.db", "1");
    scene.ask("take alpha");
    put(&mut scene, "app.db", "2");
    put(&mut scene, "app.db-wal", "2");
    put(&mut scene, "app.db-shm", "2");
    scene
}

#[test]
fn members_of_a_folder_are_captured_whatever_the_default_excludes_say() {
    for (knows, log) in [(true, true), (false, false)] {
        let mut scene = scene(knows);
        put_level(&mut scene, "rows");
        put(&mut scene, "x.log", "text");
        put(&mut scene, "app.db", "1");
        put(&mut scene, "app.db-shm", "1");
        scene.ask("take alpha");
        let names = held(&scene);
        assert_eq!(names.contains(&"level/000003.log".to_owned()), log);
        assert_eq!(names.contains(&"app.db-shm".to_owned()), !knows);
        assert!(
            !names.contains(&"x.log".to_owned()) && names.contains(&"level/LOG.old".to_owned())
        );
    }
}

#[test]
fn a_unit_of_which_one_member_is_left_out_is_left_out_and_each_file_is_named() {
    for cause in ["ignored", "too large", "unreadable"] {
        let mut scene = scene(true);
        put(&mut scene, "app.db", "1");
        put(&mut scene, "app.db-wal", "2");
        put(&mut scene, "other", "x");
        match cause {
            "ignored" => put(&mut scene, ".gitignore", "*-wal"),
            "too large" => {
                scene.world.settings.max_file_bytes = 18;
                put(&mut scene, "app.db-wal", "more than eighteen bytes");
            }
            _ => {
                let path = "work/alpha/app.db-wal".into();
                scene.world.edit(&Edit::SetReadable { path, readable: false });
            }
        }
        let both = [("app.db", "part of app.db"), ("app.db-wal", "part of app.db")];
        let unsaid = if cause == "unreadable" {
            "capture/unreadable unit/captured"
        } else {
            "unit/captured"
        };
        assert_eq!(scene.answered("take alpha", taken_with(&scene, &[])), unsaid, "{cause}");
        assert_eq!(scene.answered("take alpha", taken_with(&scene, &both)), "", "{cause}");
        let answer = taken_with(&scene, &both);
        scene.told("take alpha", answer);
        assert!(!held(&scene).iter().any(|path| path.starts_with("app.db")), "{cause}");
    }
}

#[test]
fn a_unit_whose_members_are_all_ignored_is_ignored_like_any_file() {
    let mut scene = scene(true);
    put(&mut scene, ".gitignore", "*.db*\n");
    put(&mut scene, "app.db", "1");
    put(&mut scene, "app.db-wal", "1");
    assert_eq!(scene.answered("take alpha", taken_with(&scene, &[])), "");
}

#[test]
fn a_unit_that_is_in_use_may_be_left_out_if_that_is_said_of_all_its_files() {
    let mut scene = scene(true);
    put(&mut scene, "app.db", "1");
    put(&mut scene, "app.db-journal", "1");
    put(&mut scene, "other", "x");
    let (one, two) = (("app.db", "keeps changing"), ("app.db-journal", "keeps changing"));
    assert_eq!(scene.answered("take alpha", taken_with(&scene, &[one])), "unit/captured");
    let dull = [("app.db", "no"), ("app.db-journal", "no")];
    assert_eq!(scene.answered("take alpha", taken_with(&scene, &dull)), "unit/captured");
    assert_eq!(scene.answered("take alpha", taken_with(&scene, &[one, two])), "");
    let answer = taken_with(&scene, &[one, two]);
    scene.told("take alpha", answer);
    assert_eq!(held(&scene), ["other"]);
    // The next checkpoint has nothing new, where it is left out again.
    let Answer::Taken { skipped, .. } = taken_with(&scene, &[one, two]) else { panic!() };
    let unchanged = Answer::Taken { outcome: CheckpointOutcome::Unchanged, skipped };
    assert_eq!(scene.answered("take alpha", unchanged), "");
    let unsaid = scene.answered("take alpha", taken(CheckpointOutcome::Unchanged));
    assert_eq!(unsaid, "capture/created unit/captured");
}

#[test]
fn a_restored_unit_loses_what_came_since() {
    let scene = written_since();
    let right = restored(&scene, "restore alpha 1", (&[], &["app.db-wal", "app.db-shm"]));
    assert_eq!(scene.broken(&right), "");
    for (kept, removed) in [
        (&[][..], &["app.db-wal"][..]),
        (&[], &["app.db-shm"]),
        (&[], &[]),
        (&["app.db"], &["app.db-wal", "app.db-shm"]),
    ] {
        let torn = restored(&scene, "restore alpha 1", (kept, removed));
        assert_eq!(scene.broken(&torn), "unit/restored", "{kept:?} {removed:?}");
    }
    // Of who does not know units, each file is one by itself.
    let mut plain = self::scene(false);
    put(&mut plain, "app.db", "1");
    plain.ask("take alpha");
    put(&mut plain, "app.db", "2");
    put(&mut plain, "app.db-wal", "2");
    plain.ask("restore alpha 1");
}

#[test]
fn a_kept_unit_is_kept_with_all_its_files_and_named() {
    let scene = written_since();
    let kept = |why: &str, names: &[&str]| {
        let mut seen = restored(&scene, "restore alpha 1", (&["app.db", "app.db-wal"], &[]));
        let Answer::Restored(said) = &mut seen.answer else { panic!() };
        said.kept =
            names.iter().map(|path| Remark { path: (*path).into(), why: why.into() }).collect();
        scene.broken(&seen)
    };
    assert_eq!(kept("another process is using app.db", &["app.db", "app.db-wal"]), "");
    assert_eq!(kept("in use", &["app.db", "app.db-wal", "app.db-shm"]), "");
    assert_eq!(kept("in use", &["app.db"]), "unit/restored unit/restored");
    assert_eq!(kept("no reason", &["app.db", "app.db-wal"]), "unit/restored");
    // Something that cannot be captured now would be lost.
    let mut scene = written_since();
    put(&mut scene, ".gitignore", "*.db-wal\n");
    let seen = restored(&scene, "restore alpha 1", (&["app.db", "app.db-wal"], &[]));
    assert_eq!(scene.broken(&seen), "");
    let lost = restored(&scene, "restore alpha 1", (&[], &["app.db-wal", "app.db-shm"]));
    assert_eq!(scene.broken(&lost), "unit/undo");
    let torn = restored(&scene, "restore alpha 1", (&["app.db-wal"], &[]));
    assert_eq!(scene.broken(&torn), "unit/undo");
}

#[test]
fn what_the_checkpoint_left_out_is_never_restored_in_part() {
    let mut scene = scene(true);
    scene.world.settings.max_file_bytes = 40;
    put(&mut scene, "app.db", "much more than forty bytes of a database");
    put(&mut scene, "app.db-wal", "1");
    put(&mut scene, "other", "x");
    let both = [("app.db", "too large"), ("app.db-wal", "part of app.db")];
    let answer = taken_with(&scene, &both);
    scene.told("take alpha", answer);
    put(&mut scene, "app.db", "2");
    put(&mut scene, "app.db-wal", "2");
    put(&mut scene, "other", "y");
    for asked in ["restore alpha 1", "restore alpha 1 exact"] {
        let kept = restored(&scene, asked, (&["app.db", "app.db-wal"], &[]));
        assert_eq!(scene.broken(&kept), "", "{asked}");
        let removed = restored(&scene, asked, (&[], &["app.db", "app.db-wal"]));
        assert_eq!(scene.broken(&removed), "unit/restored", "{asked}");
    }
}

#[test]
fn a_unit_created_since_goes_as_a_whole_or_stays() {
    let mut scene = scene(true);
    put(&mut scene, "other", "x");
    scene.ask("take alpha");
    put(&mut scene, "app.db", "1");
    put(&mut scene, "app.db-wal", "1");
    put(&mut scene, "app.db-shm", "1");
    put_level(&mut scene, "rows");
    let level = ["level/000003.log", "level/CURRENT", "level/MANIFEST-000001", "level/LOG.old"];
    let all: Vec<&str> = ["app.db", "app.db-wal", "app.db-shm"].into_iter().chain(level).collect();
    let exact = "restore alpha 1 exact";
    let seen = |removed: &[&str]| restored(&scene, exact, (&[], removed));
    assert_eq!(scene.broken(&seen(&all)), "");
    let but = |left_out: &str| -> Vec<&str> {
        all.iter().copied().filter(|path| *path != left_out).collect()
    };
    let mut without = restored(&scene, exact, (&["app.db-wal"], &but("app.db-wal")));
    assert_eq!(scene.broken(&without), "unit/restored");
    without = restored(&scene, exact, (&[], &but("app.db-shm")));
    assert_eq!(scene.broken(&without), "unit/restored");
    without = restored(&scene, exact, (&["level/000003.log"], &but("level/000003.log")));
    assert_eq!(scene.broken(&without), "unit/restored");
}

#[test]
fn a_pre_rollback_checkpoint_that_nobody_reads_may_lack_a_unit_that_the_restore_left_alone() {
    for reads in [true, false] {
        let capabilities = CAPABILITIES.into_iter().filter(|one| *one != "layout");
        let capabilities = capabilities.chain(["capture.units"]).chain(reads.then_some("layout"));
        let mut scene = Scene::able(capabilities.collect(), "");
        put(&mut scene, "other", "x");
        scene.ask("take alpha");
        put(&mut scene, "app.db", "1");
        put(&mut scene, "app.db-wal", "1");
        scene.ask("restore alpha 1");
        assert_eq!(scene.world.newest(b"work/alpha").unwrap().captured.is_some(), reads);
    }
}

#[test]
fn one_member_restored_alone_restores_its_unit() {
    let scene = written_since();
    let asked = "file alpha 1 app.db";
    let right = restored(&scene, asked, (&[], &["app.db-wal", "app.db-shm"]));
    assert_eq!(scene.broken(&right), "");
    let torn = restored(&scene, asked, (&[], &[]));
    assert_eq!(scene.broken(&torn), "unit/restored");
    assert_eq!(scene.answered(asked, refused(Code::WouldOverwrite)), "");
}

#[test]
fn what_is_as_recorded_is_not_touched() {
    let mut scene = scene(true);
    put(&mut scene, "app.db", "1");
    put(&mut scene, "app.db-wal", "1");
    put(&mut scene, "other", "x");
    scene.ask("take alpha");
    put(&mut scene, "app.db-shm", "1");
    put(&mut scene, "other", "y");
    let right = restored(&scene, "restore alpha 1", (&[], &[]));
    assert_eq!(scene.broken(&right), "");
    let touched = restored(&scene, "restore alpha 1", (&[], &["app.db-shm"]));
    assert_eq!(scene.broken(&touched), "unit/restored");
}

#[test]
fn a_preview_of_what_is_kept_is_free() {
    let mut scene = written_since();
    put(&mut scene, ".gitignore", "*.db-wal\n");
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
        assert_eq!(scene.answered("diff alpha 1", diff(entries)), "", "{entries:?}");
    }
    assert_eq!(scene.answered("diff alpha 1", diff(&[entry("app.db", Modified)])), "diff/preview");
}
