//! The allowed outcomes of a request for a restore: which path it names, what must be refused, and
//! whether a pre-restore checkpoint is taken.

use super::*;
use crate::allowed::AllowedRestore;
use pretty_assertions::assert_eq;

fn allowed(scene: &Scene, request: &str) -> Box<AllowedRestore> {
    match scene.allows(request) {
        Allowed::Restore(restore) => restore,
        unexpected => panic!("{request}: {unexpected:?}"),
    }
}

/// Whether a pre-restore checkpoint is taken, and the rule that decides it.
fn safety(scene: &Scene, request: &str) -> (bool, &'static str) {
    let safety = allowed(scene, request).safety;
    (safety.0, safety.1.id)
}

const TAKEN: (bool, &str) = (true, "restore/safety-checkpoint");
const SKIPPED: (bool, &str) = (false, "restore/safety-skipped");

#[test]
fn restore_is_allowed_with_the_target_and_the_current_files() {
    let scene = Scene::changed("a=1 d/b=1", "a=2 new=");
    let full = allowed(&scene, "restore alpha 1 exact");
    assert_eq!(full.project, "work/alpha".into());
    assert_eq!(texts(full.before.tree.keys()), ["a", "new"]);
    assert_eq!(texts(full.target.tree.keys()), ["a", "d/b"]);
    assert!(full.exact && !full.undo && !full.deleted && !full.evicting);
    assert!(full.only.is_none() && !full.is_forced());
    assert_eq!(safety(&scene, "restore alpha 1"), TAKEN);
    for typed in ["a", "./a", "d/../a", "d/.//..//a/", "none/../a"] {
        let single = allowed(&scene, &format!("file alpha 1 {typed}"));
        assert_eq!((single.only, single.exact), (Some("a".into()), false), "{typed}");
    }
}

#[test]
fn restore_of_a_deleted_project_takes_no_pre_restore_checkpoint() {
    let mut scene = Scene::changed("a=1", "-/work/alpha");
    assert!(allowed(&scene, "restore alpha 1").deleted);
    assert_eq!(safety(&scene, "restore alpha 1"), SKIPPED);
    scene.edit("/work/alpha=");
    let found = refusals(&scene.allows("restore alpha 1"));
    assert_eq!(found, [(&[Code::NotADirectory][..], "scope/no-directory")]);
    for (path, code, rules) in [
        ("a", Code::NotADirectory, ""),
        ("a", Code::NotInCheckpoint, "scope/no-directory"),
        ("b", Code::NotADirectory, ""),
        ("b", Code::NotInCheckpoint, ""),
        ("..", Code::NotADirectory, ""),
        ("..", Code::BadPath, ""),
    ] {
        let found = scene.broken_by(&format!("file alpha 1 {path}"), refused(code));
        assert_eq!(found, rules, "{path} {code}");
    }
}

#[test]
fn restore_is_undone_by_restoring_the_pre_restore_checkpoint() {
    let mut scene = Scene::changed("a=1", "a=2");
    scene.perform("restore alpha 1");
    let [_, before] = scene.world.history(b"work/alpha") else { panic!("two checkpoints") };
    assert_eq!((before.safety, &before.reason), (true, &None));
    assert!(allowed(&scene, "restore alpha 1").undo && !allowed(&scene, "restore alpha 2").undo);
    // If the newest checkpoint holds all files, no pre-restore checkpoint is needed.
    scene.perform("restore alpha 1");
    scene.perform("take alpha");
    assert_eq!(safety(&scene, "restore alpha 2"), SKIPPED);
    let observation = scene.correct_observation("restore alpha 2");
    assert_eq!(count(&scene.checks(&observation), "restore/target"), 1);
}

#[test]
fn evicting_is_set_if_the_pre_restore_checkpoint_evicts_the_restored_checkpoint() {
    for (limit, target, changes, evicting) in [
        (2, "2", "a=3", true),
        (2, "2", "", false),
        (2, "1", "a=3", false),
        (3, "2", "a=3", false),
        (4, "2", "a=3", false),
    ] {
        let mut scene = Scene::changed("a=1", "a=2");
        scene.perform("take alpha");
        scene.edit(changes);
        scene.world.settings.max_snapshots = limit;
        let restore = allowed(&scene, &format!("restore alpha {target}"));
        assert_eq!(restore.evicting, evicting, "{limit} {target} {changes}");
    }
}

#[test]
fn restore_takes_a_pre_restore_checkpoint_only_if_supported_and_needed() {
    for (lacks, now, if_full, if_single) in [
        ("restore.safety", "a=2", SKIPPED, SKIPPED),
        ("restore.file_safety", "a=2", TAKEN, SKIPPED),
        ("take.unchanged", "a=2", TAKEN, TAKEN),
        ("take.unchanged", "a=1", SKIPPED, SKIPPED),
    ] {
        let mut scene = Scene::without(lacks, "a=1");
        scene.perform("take alpha");
        scene.replace_files(now);
        assert_eq!(safety(&scene, "restore alpha 1"), if_full, "{lacks} {now}");
        assert_eq!(safety(&scene, "file alpha 1 a"), if_single, "{lacks} {now}");
    }
}

#[test]
fn restore_without_a_pre_restore_checkpoint_is_refused_unless_forced() {
    let mut scene = Scene::changed("a=1", "a=2 new=");
    scene.world.settings.max_files = 1;
    let codes: &[Code] = &[Code::NoSafetyCheckpoint, Code::TooManyFiles];
    let found = refusals(&scene.allows("restore alpha 1"));
    assert_eq!(found, [(codes, "restore/safety-required")]);
    assert_eq!(safety(&scene, "restore alpha 1 force"), (false, "restore/safety-required"));
    // Exactly the limit is not too many files, and then no force is needed.
    scene.world.settings.max_files = 2;
    assert_eq!(safety(&scene, "restore alpha 1 force"), TAKEN);
}

#[test]
fn max_files_does_not_stop_a_restore_without_a_pre_restore_checkpoint() {
    for (lacks, request) in [
        ("restore.safety", "restore alpha 1"),
        ("restore.safety", "restore alpha 1 exact"),
        ("restore.safety", "file alpha 1 a"),
        ("restore.file_safety", "file alpha 1 a"),
    ] {
        let mut scene = Scene::without(lacks, "a=1");
        scene.perform("take alpha");
        scene.edit("a=2 new=");
        scene.world.settings.max_files = 1;
        assert_eq!(safety(&scene, request), SKIPPED, "{lacks} {request}");
        let observation = scene.correct_observation(request);
        assert_eq!(scene.broken_rules(&observation), "", "{lacks} {request}");
        // An implementation that applies the limit anyway must give that code.
        assert_eq!(scene.broken_by(request, refused(Code::TooManyFiles)), "", "{lacks} {request}");
        assert_eq!(scene.broken_by(request, refused(Code::Io)), "scope/too-many-files");
    }
}

#[test]
fn restore_and_diff_of_a_checkpoint_that_was_only_listed_allow_any_result() {
    let mut scene = Scene::with("a=1");
    let unseen =
        Listed { number: 1, id: checkpoint_id(9), time: 0, reason: String::new(), stats: None };
    scene.learn_answer("list alpha", Answer::Listed(vec![unseen]));
    for request in ["restore alpha 1", "diff alpha 1", "file alpha 1 b"] {
        assert!(matches!(scene.allows(request), Allowed::Unknown(_)), "{request}");
        assert_eq!(scene.broken_by(request, refused(Code::Io)), "", "{request}");
    }
    // The unseen checkpoint may hold the current files.
    for outcome in
        [CheckpointOutcome::Unchanged, CheckpointOutcome::Created { id: checkpoint_id(1) }]
    {
        assert_eq!(scene.broken_by("take alpha", taken(outcome)), "");
    }
}

#[test]
fn restore_file_refuses_a_path_outside_the_project() {
    let scene =
        Scene::changed("a=1 deep/b=1 link>deep out>../beta", "a=2 deep/b=2 link>deep out>../beta");
    let bad: &[Code] = &[Code::BadPath];
    let project: &[Code] = &[Code::BadPath, Code::NotInCheckpoint];
    for (typed, codes) in [
        ("", bad),
        ("/a", bad),
        ("a\0", bad),
        ("..", bad),
        ("../alpha/a", bad),
        ("deep/../../alpha/a", bad),
        ("link/../a", bad),
        (".", project),
        ("deep/..", project),
        ("out/b", project),
    ] {
        let found = refusals(&scene.allows(&format!("file alpha 1 {typed}")));
        assert_eq!(found, [(codes, "restore/bad-path")], "{typed:?}");
    }
    // A link that stays in the project is allowed.
    let found = refusals(&scene.allows("file alpha 1 link/b"));
    let codes: &[Code] = &[Code::NotInCheckpoint, Code::BadPath];
    assert_eq!(found, [(codes, "restore/file-literal")]);
    let missing: &[Code] = &[Code::NotInCheckpoint];
    for typed in ["none", "deep", "deep/none", "none/a"] {
        let found = refusals(&scene.allows(&format!("file alpha 1 {typed}")));
        assert_eq!(found, [(missing, "restore/file-literal")], "{typed:?}");
    }
    // Both target and path are wrong, and either may be reported.
    let both = refusals(&scene.allows("file alpha 9 ..")).into_iter().map(|(_, rule)| rule);
    assert_eq!(both.collect::<Vec<_>>(), ["restore/bad-target", "restore/bad-path"]);
}

#[test]
fn restore_file_never_overwrites_another_path() {
    let overwrites: &[Code] = &[Code::WouldOverwrite];
    let above: &[Code] = &[Code::WouldOverwrite, Code::NotInCheckpoint, Code::BadPath];
    for (now, path, codes, rule) in [
        ("deep=", "deep/b", above, "restore/file-only"),
        ("a/inside=", "a", overwrites, "restore/file-only"),
    ] {
        let scene = Scene::changed("a=1 deep/b=1", now);
        let found = refusals(&scene.allows(&format!("file alpha 1 {path}")));
        assert_eq!(found, [(codes, rule)], "{now}");
    }
    // An uncaptured file may be kept; a refusal is allowed as well.
    let uncaptured = allowed(&Scene::changed("a=1", "a!"), "file alpha 1 a").may_refuse;
    let found: Vec<_> = uncaptured.iter().map(|refusal| (refusal.codes, refusal.rule.id)).collect();
    assert_eq!(found, [(overwrites, "restore/protects")]);
    let mut crowded = Scene::changed("a=1", "a! b= c=");
    crowded.world.settings.max_files = 1;
    let rules: Vec<_> =
        refusals(&crowded.allows("file alpha 1 a")).into_iter().map(|(_, rule)| rule).collect();
    assert_eq!(rules, ["restore/protects", "restore/safety-required"]);
    // Nothing is lost with a directory that has no files.
    for now in ["a/empty/", "a=2", "deep/"] {
        let scene = Scene::changed("a=1", now);
        assert_eq!(allowed(&scene, "file alpha 1 a").only, Some("a".into()), "{now}");
    }
}

#[test]
fn a_refused_restore_breaks_the_rule_for_its_error_code() {
    let keeps = "restore/safety-keeps-target";
    let required = "restore/safety-required";
    let happens = "restore/happens";
    for (now, limit, request, code, rules) in [
        ("a=2", 1, "restore alpha 1", Code::BadTarget, "restore/target"),
        ("a=2", 9, "file alpha 1 a", Code::AmbiguousCheckpoint, "restore/target"),
        ("a=2", 9, "restore alpha 1", Code::NoSafetyCheckpoint, required),
        ("a=2", 9, "restore alpha 1", Code::TooManyFiles, required),
        ("a=2", 1, "restore alpha 1", Code::Io, keeps),
        ("a=2", 1, "restore alpha 1", Code::Internal, happens),
        ("-/work/alpha", 9, "restore alpha 1", Code::Io, "restore/deleted-project"),
        ("a=2", 9, "restore alpha 1", Code::UnknownCheckpoint, "restore/target"),
        ("a=2", 9, "file alpha 1 a", Code::UnknownCheckpoint, "restore/target"),
        ("a=2", 9, "file alpha 1 a", Code::Io, happens),
        ("a=2", 9, "file alpha 1 a", Code::NotInCheckpoint, "restore/file-literal"),
        ("a=2", 9, "restore alpha 1", Code::Busy, happens),
        ("a=2 b?=", 9, "restore alpha 1", Code::Permission, "restore/happens capture/unreadable"),
        ("a=2 b?=", 9, "restore alpha 1", Code::Internal, "restore/happens capture/unreadable"),
        (
            "a=2 b!",
            9,
            "restore alpha 1",
            Code::NoSafetyCheckpoint,
            "restore/safety-required capture/special",
        ),
        ("a=2 b?=", 9, "restore alpha 1", Code::Busy, happens),
    ] {
        let mut scene = Scene::changed("a=1", now);
        scene.world.settings.max_snapshots = limit;
        assert_eq!(scene.broken_by(request, refused(code)), rules, "{request} {now} {code}");
    }
    // A forced restore does not need the pre-restore checkpoint.
    let mut scene = Scene::changed("a=1", "a=2 b= c?=");
    scene.world.settings.max_files = 1;
    assert_eq!(scene.broken_by("restore alpha 1 force", refused(Code::Io)), happens);
}

#[test]
fn restore_file_accepts_a_folder_if_restore_directory_is_supported() {
    let folders = CAPABILITIES.into_iter().chain(["restore.directory"]).collect();
    let mut scene = Scene::with_capabilities(folders, "deep/b=1 a=1");
    scene.perform("take alpha");
    scene.edit("deep/b=2 deep/c=1");
    let Allowed::Restore(restore) = scene.allows("file alpha 1 deep") else { panic!("a restore") };
    assert_eq!(restore.only, Some("deep".into()));
    let found = refusals(&scene.allows("file alpha 1 none"));
    assert_eq!(found[0].1, "restore/file-literal");
}

#[test]
fn a_refused_restore_without_restore_safety_is_not_blamed_on_a_special_file() {
    for (lacks, rules) in
        [("restore.safety", "restore/happens"), ("list.reason", "restore/happens capture/special")]
    {
        let mut scene = Scene::without(lacks, "a=1");
        scene.perform("take alpha");
        scene.edit("a=2 b!");
        assert_eq!(scene.broken_by("restore alpha 1", refused(Code::Internal)), rules, "{lacks}");
    }
}

#[test]
fn restore_file_treats_a_link_in_the_project_as_an_obstacle_not_as_a_bad_path() {
    let scene = Scene::changed("deep/b=1 other/b=2", "deep>other other/b=2");
    let found = refusals(&scene.allows("file alpha 1 deep/b"));
    assert_eq!(found[0].1, "restore/file-only");
    // The paths of an unknown checkpoint cannot be resolved.
    for (path, is_refused) in
        [("deep", true), ("deep/b", true), ("other/b", false), ("other", false)]
    {
        let found = refusals(&scene.allows(&format!("file alpha 9f9f {path}")));
        let is_bad_path = found.iter().any(|(_, rule)| *rule == "restore/bad-path");
        assert_eq!(is_bad_path, is_refused, "{path}");
    }
}
