//! The allowed and forbidden outcomes of a request for a checkpoint.

use super::*;
use crate::allowed::AllowedCheckpoint;
use CheckpointKind::{Created, Deduped, Disabled, Unchanged};
use pretty_assertions::assert_eq;

fn allowed(scene: &Scene, request: &str) -> Box<AllowedCheckpoint> {
    match scene.allows(request) {
        Allowed::Checkpoint(checkpoint) => checkpoint,
        unexpected => panic!("{request}: {unexpected:?}"),
    }
}

/// The allowed outcome of a request, and the rule that decides it.
fn verdict(scene: &Scene, request: &str) -> (CheckpointKind, &'static str) {
    let allowed = allowed(scene, request);
    (allowed.kind, allowed.rule.id)
}

/// The rules broken by declining the request.
fn if_declined(scene: &Scene, request: &str) -> String {
    scene.broken_by(request, taken(CheckpointOutcome::Deduped))
}

#[test]
fn ensure_checkpoint_takes_one_checkpoint_per_project_and_turn() {
    let mut scene = Scene::with("a=1 /work/beta/b=1");
    let first = allowed(&scene, "ensure alpha");
    assert_eq!((first.kind, first.rule.id), (Created, "capture/created"));
    assert_eq!(first.project, "work/alpha".into());
    assert_eq!(texts(first.captured.unwrap().tree.keys()), ["a"]);
    assert_eq!(if_declined(&scene, "ensure alpha"), "capture/created");
    scene.perform("ensure alpha");
    let again = allowed(&scene, "ensure alpha");
    assert_eq!((again.kind, again.rule.id), (Deduped, "turn/once"));
    assert_eq!(again.project, "work/alpha".into());
    assert!(again.may_refuse.is_empty() && again.may_be_unchanged.is_none());
    assert_eq!(if_declined(&scene, "ensure beta"), "turn/per-project capture/created");
    for renewal in ["turn", "reopen"] {
        scene.perform(renewal);
        scene.edit(&format!("a={renewal}"));
        assert_eq!(verdict(&scene, "ensure alpha"), (Created, "capture/created"));
        assert_eq!(if_declined(&scene, "ensure alpha"), "turn/reset capture/created");
        scene.perform("ensure alpha");
    }
    // A project that is out of scope by now may also be refused, for that reason.
    scene.edit("-/work/alpha");
    assert_eq!(allowed(&scene, "ensure alpha").may_refuse[0].codes, [Code::MissingDirectory]);
    for (code, broken) in [(Code::MissingDirectory, ""), (Code::Io, "scope/no-directory")] {
        assert_eq!(scene.broken_by("ensure alpha", refused(code)), broken);
    }
}

#[test]
fn ensure_checkpoint_uses_the_slot_of_the_turn_when_nothing_changed_but_not_on_failure() {
    let mut scene = Scene::with("");
    assert_eq!(verdict(&scene, "ensure alpha"), (Unchanged, "capture/empty-first"));
    scene.perform("ensure alpha");
    assert_eq!(verdict(&scene, "ensure alpha"), (Deduped, "turn/nothing-uses-slot"));
    assert_eq!(scene.broken_by("ensure alpha", created(1)), "turn/nothing-uses-slot");

    let mut scene = Scene::with("a=1 /work/beta/b=1");
    scene.world.settings.max_files = 0;
    scene.perform("ensure alpha");
    scene.world.settings.max_files = 1;
    // A failed attempt for another project does not matter.
    assert_eq!(if_declined(&scene, "ensure beta"), "capture/created");
    assert_eq!(if_declined(&scene, "ensure alpha"), "turn/failure-keeps-slot capture/created");
}

#[test]
fn pre_restore_checkpoint_does_not_use_the_slot_of_the_turn() {
    let mut scene = Scene::changed("a=1", "a=2");
    scene.perform("restore alpha 1");
    scene.edit("a=3");
    let outside = "restore/safety-outside-turn capture/created";
    assert_eq!(if_declined(&scene, "ensure alpha"), outside);
    scene.edit("/work/beta/b=");
    assert_eq!(if_declined(&scene, "ensure beta"), "capture/created");
    scene.perform("turn");
    assert_eq!(if_declined(&scene, "ensure alpha"), "capture/created");
}

#[test]
fn manual_checkpoint_ignores_the_turn_and_the_enabled_setting() {
    let mut scene = Scene::with("a=1");
    assert_eq!(if_declined(&scene, "take alpha"), "capture/created");
    scene.perform("ensure alpha");
    scene.edit("a=2");
    assert_eq!(verdict(&scene, "take alpha"), (Created, "capture/created"));
    assert_eq!(if_declined(&scene, "take alpha"), "turn/manual capture/created");
    assert_eq!(if_declined(&scene, "take beta"), "capture/created");
    scene.perform("ensure beta");
    assert_eq!(if_declined(&scene, "take beta"), "turn/manual capture/created");
    scene.perform("turn");
    scene.world.settings.enabled = false;
    assert_eq!(verdict(&scene, "ensure alpha"), (Disabled, "turn/disabled"));
    assert_eq!(if_declined(&scene, "take beta"), "turn/manual capture/created");
    // Declining a request that must be refused means the project was not examined.
    let gone = "turn/manual scope/no-directory";
    assert_eq!(scene.broken_by("take none", taken(CheckpointOutcome::Disabled)), gone);
    assert_eq!(
        scene.broken_by("take none", taken(CheckpointOutcome::Unchanged)),
        "scope/no-directory"
    );
}

#[test]
fn checkpoint_records_its_time_and_reason() {
    let mut scene = Scene::with("a=1");
    scene.wait(7);
    scene.perform("take alpha");
    let [only] = scene.world.history(b"work/alpha") else { panic!("one checkpoint") };
    assert_eq!((only.time, only.reason.as_deref()), (START + 7, Some("take alpha")));
    assert!(!only.safety);
}

#[test]
fn max_files_counts_captured_files_only() {
    let counts = "scope/counts-captured";
    let too_many = "scope/too-many-files";
    for (files, limit, rules) in [
        ("a= b= c= d/", 3, vec![too_many]),
        (".gitignore=c a= b= c=", 3, vec![counts, too_many]),
        (".gitignore=c a= b= c=", 4, vec![too_many]),
        // As many files are left out as the limit allows.
        (".env= a=", 1, vec![counts, too_many]),
    ] {
        let mut scene = Scene::with(files);
        scene.world.settings.max_files = limit;
        let wrongly = scene.broken_by("take alpha", refused(Code::TooManyFiles));
        assert_eq!(wrongly, rules.join(" "), "{files}");
        let right = scene.checks(&scene.correct_observation("take alpha"));
        for rule in [counts, too_many] {
            assert_eq!(count(&right, rule), u64::from(rules.contains(&rule)), "{files}");
        }
        scene.world.settings.max_files = 0;
        let refused = refusals(&scene.allows("take alpha"));
        assert_eq!(refused, [(&[Code::TooManyFiles][..], too_many)]);
    }
}

#[test]
fn checkpoint_of_an_unchanged_project_is_declined_if_take_unchanged_is_supported() {
    let unchanged = || taken(CheckpointOutcome::Unchanged);
    let mut scene = Scene::without("take.unchanged take.declines_empty", "/work/beta/b=1");
    for outcome in [unchanged(), created(1)] {
        assert_eq!(scene.broken_by("take alpha", outcome), "");
    }
    for request in ["take alpha", "take beta"] {
        assert_eq!(allowed(&scene, request).kind, Created);
        scene.perform(request);
        assert_eq!(allowed(&scene, request).kind, Created);
        // An implementation may recognise this without declaring the capability.
        assert_eq!(scene.broken_by(request, unchanged()), "");
        scene.edit("a=2 /work/beta/b=2");
        assert_eq!(scene.broken_by(request, unchanged()), "capture/created");
        scene.edit("-a /work/beta/b=1");
    }
    // An implementation that takes a first checkpoint of nothing takes no second one.
    let mut scene = Scene::without("take.declines_empty", "");
    scene.learn_answer("take alpha", created(1));
    assert_eq!(verdict(&scene, "take alpha"), (Unchanged, "capture/unchanged"));
    let mut scene = Scene::with("");
    assert_eq!(scene.broken_by("take alpha", created(1)), "capture/empty-first");
    assert_eq!(allowed(&scene, "take alpha").may_be_unchanged, None);
    scene.edit("a=1");
    scene.perform("take alpha");
    assert_eq!(verdict(&scene, "take alpha"), (Unchanged, "capture/unchanged"));
    assert_eq!(scene.broken_by("take alpha", created(2)), "capture/unchanged");
    // An empty project is a change if it had files before.
    scene.edit("-a");
    assert_eq!(verdict(&scene, "take alpha"), (Created, "capture/created"));
}

#[test]
fn compare_reports_the_deciding_rule_for_every_wrong_checkpoint_answer() {
    use CheckpointOutcome as Outcome;
    let mut scene = Scene::with("a=1");
    assert_eq!(if_declined(&scene, "take alpha"), "capture/created");
    let broken_and_symptom = |scene: &Scene, request: &str, answer| {
        let checks = scene.checks(&scene.observation(request, answer));
        let symptom = symptoms(&checks).join(", ");
        (broken_rules(checks), symptom)
    };
    for (answer, symptom) in [
        (taken(Outcome::Deduped), "deduped"),
        (taken(Outcome::Disabled), "disabled, not created"),
        (taken(Outcome::Unchanged), "unchanged, not created"),
        (refused(Code::Io), "refused io, not created"),
        (Answer::Done, "done, not created"),
    ] {
        let found = broken_and_symptom(&scene, "take alpha", answer);
        assert_eq!(found, ("capture/created".into(), symptom.into()));
    }
    scene.perform("ensure alpha");
    for answer in [created(2), taken(Outcome::Unchanged), refused(Code::Io)] {
        let found = broken_and_symptom(&scene, "ensure alpha", answer);
        assert_eq!(found, ("turn/once".into(), "not deduped".into()));
    }
    let disabled = taken(Outcome::Disabled);
    assert_eq!(
        broken_and_symptom(&scene, "ensure alpha", disabled),
        ("turn/once".into(), "not deduped".into())
    );
    scene.world.settings.enabled = false;
    assert_eq!(if_declined(&scene, "ensure alpha"), "turn/disabled");
    scene.edit("a=2");
    let (rules, symptom) = broken_and_symptom(&scene, "take alpha", created(1));
    assert_eq!((&*rules, &*symptom), ("capture/honest", "an earlier id"));
}

#[test]
fn checkpoint_may_reuse_the_id_of_an_evicted_checkpoint_with_the_same_content() {
    let mut scene = Scene::with("a=1");
    scene.world.settings.max_snapshots = 1;
    scene.perform("take alpha");
    scene.edit("a=2");
    scene.perform("take alpha");
    scene.edit("a=1");
    assert_eq!(scene.broken_by("take alpha", created(1)), "");
    // The id of a listed checkpoint must not be reused, and new content needs a new id.
    assert_eq!(scene.broken_by("take alpha", created(2)), "capture/honest");
    scene.edit("a=3");
    assert_eq!(scene.broken_by("take alpha", created(1)), "capture/honest");
}

#[test]
fn files_that_are_left_out_do_not_stop_a_checkpoint() {
    let scene = Scene::with("a=1 b?= c!");
    let broken = scene.broken_by("take alpha", refused(Code::Io));
    assert_eq!(broken, "capture/created capture/unreadable capture/special");
    assert_eq!(Scene::with("a=").broken_by("take alpha", refused(Code::Io)), "capture/created");
}

#[test]
fn compare_blames_a_missed_change_on_the_rule_that_explains_it() {
    for (before, now, rules) in [
        ("a=1", "a*=1", "capture/executable capture/created"),
        ("a=1", "a=1 b>a", "capture/symlink capture/created"),
        ("a=1", "a=2", "capture/created"),
    ] {
        let mut scene = Scene::changed(before, now);
        let unchanged = || taken(CheckpointOutcome::Unchanged);
        assert_eq!(scene.broken_by("take alpha", unchanged()), rules, "{now}");
        // A declined request did not examine the project.
        assert_eq!(if_declined(&scene, "take alpha"), "capture/created", "{now}");
        scene.perform("take alpha");
        assert_eq!(scene.broken_by("take alpha", unchanged()), "", "{now}");
    }
}

#[test]
fn checkpoint_reports_unreadable_files_as_skipped_and_no_captured_file() {
    let broken_with = |scene: &Scene, names: &str| {
        let skipped = names.split_whitespace().map(|name| remark(name.into())).collect();
        let outcome = CheckpointOutcome::Created { id: checkpoint_id(1) };
        scene.broken_by("take alpha", Answer::Taken { outcome, skipped })
    };
    let scene = Scene::with("a=1 b?= c!");
    for (names, rules) in
        [("b", ""), ("b c", ""), ("", "capture/unreadable"), ("a b", "capture/honest")]
    {
        assert_eq!(broken_with(&scene, names), rules, "{names}");
    }
    assert_eq!(broken_with(&Scene::without("take.skipped", "a=1 b?="), ""), "");
    // A checkpoint that is not expected captures nothing, so nothing must be named.
    let empty = Scene::with("b?=");
    assert_eq!(broken_with(&empty, ""), "capture/empty-first");
}
