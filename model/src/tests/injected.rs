//! A request whose process was killed or of which a call failed: the allowed answers, and what is
//! known afterwards.

use super::restored::left;
use super::*;
use crate::injected::Injected::{self, CallFailed, Killed};
use crate::injected::Lists;
use pretty_assertions::assert_eq;

/// Two checkpoints of `alpha`, whose files changed since.
fn scene() -> Scene {
    let mut scene = Scene::with("first=1 second=1");
    scene.perform("take alpha");
    scene.replace_files("first=2 second=2");
    scene.perform("take alpha");
    scene.replace_files("first=3 second=3");
    scene
}

/// The list of `alpha` with these checkpoints, newest first.
fn lists(numbers: &[usize]) -> Lists {
    let listed = |(index, number): (usize, &usize)| Listed {
        number: index + 1,
        id: checkpoint_id(*number),
        time: START,
        reason: "take alpha".into(),
        stats: None,
    };
    let listed = numbers.iter().enumerate().map(listed).collect();
    Lists::from([("work/alpha".into(), listed)])
}

/// The rules broken by the observation of a request in which a call failed.
fn judged(scene: &Scene, observation: &Observation) -> String {
    let allowed = scene.world.allows(&observation.request);
    broken_rules(scene.world.compare_injected(&allowed, observation, CallFailed))
}

fn ids(scene: &Scene) -> Vec<String> {
    scene.world.listed(b"work/alpha").iter().map(|checkpoint| checkpoint.id.clone()).collect()
}

fn learn(scene: &mut Scene, observation: &Observation, injected: Injected, listed: &[usize]) {
    let allowed = scene.world.allows(&observation.request);
    let after = scene.world.aftermath(&allowed, observation, lists(listed));
    scene.world.learn_injected(observation, injected, &after);
}

/// Performs a request that is killed, after which these checkpoints are listed.
fn perform_killed(scene: &mut Scene, request: &str, listed: &[usize]) {
    let observation = scene.observation(request, Answer::Crashed("ended".into()));
    let allowed = scene.world.allows(&observation.request);
    assert_eq!(broken_rules(scene.world.compare_injected(&allowed, &observation, Killed)), "");
    learn(scene, &observation, Killed, listed);
}

#[test]
fn killed_checkpoint_exists_if_it_is_listed() {
    let mut done = scene();
    let mut not_done = scene();
    perform_killed(&mut done, "take alpha", &[3, 2, 1]);
    perform_killed(&mut not_done, "take alpha", &[2, 1]);
    assert_eq!((ids(&done).len(), ids(&not_done).len()), (3, 2));
    // The checkpoint holds all files that were there.
    done.ids = 3;
    done.replace_files("first=4");
    let restored = done.correct_observation("restore alpha 1 exact");
    let exist = ["first", "second"]
        .map(|name| restored.files.get(format!("work/alpha/{name}").as_bytes()).is_some());
    assert_eq!((done.broken_rules(&restored).as_str(), exist), ("", [true, true]));
    let half = done.broken_rules(&left(&done, "restore alpha 1", "first=3"));
    assert!(half.contains("restore/bytes"), "{half}");
}

#[test]
fn failed_ensure_checkpoint_leaves_open_whether_the_slot_of_the_turn_is_used() {
    let mut scene = scene();
    let observation = scene.observation("ensure alpha", refused(Code::Io));
    learn(&mut scene, &observation, CallFailed, &[3, 2, 1]);
    scene.replace_files("first=4");
    for answer in [taken(CheckpointOutcome::Deduped), created(4)] {
        assert_eq!(scene.broken_by("ensure alpha", answer), "");
    }
}

#[test]
fn killed_checkpoint_may_have_evicted_an_old_one_first() {
    let full = || {
        let mut scene = scene();
        scene.world.settings.max_snapshots = 2;
        scene
    };
    for (listed, left) in [(&[2][..], 1), (&[2, 1], 2), (&[1], 2), (&[3, 2], 2)] {
        let mut scene = full();
        perform_killed(&mut scene, "take alpha", listed);
        assert_eq!(ids(&scene).len(), left, "{listed:?}");
    }
    // A limit on the size of the store may evict any checkpoint but the newest.
    let mut bounded = scene();
    bounded.world.settings.max_total_bytes = 1;
    perform_killed(&mut bounded, "take alpha", &[2]);
    assert_eq!(ids(&bounded), [checkpoint_id(2)]);
}

#[test]
fn killed_restore_may_leave_partial_files_and_debris() {
    let mut scene = scene();
    let half = left(&scene, "restore alpha 1", "first=2 second=3 .tmp-1=2");
    let half = Observation { answer: Answer::Crashed("ended".into()), ..half };
    let allowed = scene.world.allows(&half.request);
    assert_eq!(texts(&scene.world.debris(&allowed, &half)), ["work/alpha/.tmp-1"]);
    assert_eq!(scene.world.debris(&Allowed::Unknown(crate::excuse::Excuse::NoRule), &half), []);
    learn(&mut scene, &half, Killed, &[3, 2, 1]);
    assert_eq!(scene.world.files, half.files);
    // The pre-restore checkpoint holds the previous files.
    scene.ids = 3;
    assert_eq!(scene.broken_rules(&left(&scene, "restore alpha 1 exact", "first=3 second=3")), "");
}

#[test]
fn killed_sweep_leaves_open_what_it_removed() {
    let mut swept = scene();
    perform_killed(&mut swept, "sweep", &[2, 1]);
    for outcome in [SweepOutcome::Done, SweepOutcome::NotDue] {
        let observation = Observation {
            contents: Some(swept.contents()),
            base: Some(swept.base()),
            ..swept.observation("sweep", super::swept(outcome, Counts::default()))
        };
        assert_eq!(swept.broken_rules(&observation), "");
    }
    let mut gone = scene();
    gone.edit("-/work/alpha");
    gone.world.settings.delete_orphans = true;
    perform_killed(&mut gone, "sweep", &[]);
    assert_eq!(gone.broken_by("list alpha", Answer::Listed(Vec::new())), "");
}

#[test]
fn failed_restore_states_the_cause_and_names_half_restored_paths() {
    let scene = scene();
    let refusal = |code, changed, message: &str| Answer::Refused {
        code,
        message: message.to_owned(),
        changed,
    };
    let half =
        |answer| Observation { answer, ..left(&scene, "restore alpha 1", "first=2 second=3") };
    let half = |message: &str| judged(&scene, &half(refusal(Code::Io, Changed::Partial, message)));
    let not_named = "fault/names-half-restored";
    for (message, rules) in [
        ("the disk is full", not_named),
        ("second: no space", ""),
        ("only `first` was restored", ""),
        ("firsts and a second/x", not_named),
    ] {
        assert_eq!(half(message), rules, "{message}");
    }
    let refusing =
        |code| judged(&scene, &scene.observation("take alpha", refusal(code, Changed::None, "no")));
    assert_eq!(
        (refusing(Code::Io), refusing(Code::Internal)),
        ("".into(), "fault/clear-refusal".into())
    );
    // An answer that reports no change must be true.
    let restored = left(&scene, "restore alpha 1", "first=2 second=2");
    let restored = Observation { answer: refusal(Code::Io, Changed::None, "no"), ..restored };
    assert_eq!(judged(&scene, &restored), "restore/refusal-changes-nothing");
}

#[test]
fn failed_restore_does_not_name_a_file_by_a_word_of_a_sentence() {
    let mut scene = Scene::with("a=1 b=1");
    scene.perform("take alpha");
    scene.replace_files("a=2 b=2");
    for (message, rules) in
        [("a file stays", "fault/names-half-restored"), ("failed: b", ""), ("b: no space", "")]
    {
        let code = Code::Io;
        let changed = Changed::Unknown;
        let message = message.to_owned();
        let answer = Answer::Refused { code, message, changed };
        let observation = Observation { answer, ..left(&scene, "restore alpha 1", "a=1 b=2") };
        assert_eq!(judged(&scene, &observation), rules);
    }
}

#[test]
fn restore_with_a_failed_call_names_every_failed_path() {
    let scene = scene();
    let failed = |paths: &[&str]| {
        let failed = paths.iter().map(|path| remark((*path).into())).collect();
        Answer::Restored(Restored { failed, ..Restored::default() })
    };
    let answering =
        |answer| Observation { answer, ..left(&scene, "restore alpha 2", "first=1 second=3") };
    assert_eq!(judged(&scene, &answering(failed(&["second"]))), "");
    for paths in [&[][..], &["first"]] {
        assert_eq!(judged(&scene, &answering(failed(paths))), "fault/names-half-restored");
    }
    let mut elsewhere = answering(failed(&["second"]));
    elsewhere.files.insert(b"work/beta/x", Node::Directory);
    assert_eq!(judged(&scene, &elsewhere), "restore/contained");
}

#[test]
fn checkpoint_may_skip_unreadable_files_if_it_reports_them() {
    let mut scene = scene();
    let skipped = vec![remark("second".into())];
    let outcome = CheckpointOutcome::Created { id: checkpoint_id(3) };
    let observation = scene.observation("take alpha", Answer::Taken { outcome, skipped });
    assert_eq!(judged(&scene, &observation), "");
    learn(&mut scene, &observation, CallFailed, &[3, 2, 1]);
    scene.ids = 3;
    scene.replace_files("second=9");
    assert_eq!(scene.broken_rules(&left(&scene, "restore alpha 1", "first=3 second=9")), "");
}

#[test]
fn compare_injected_judges_a_successful_answer_as_usual() {
    let mut scene = scene();
    for (answer, rules) in [
        (Answer::Listed(Vec::new()), "list/complete"),
        (scene.correct_observation("list alpha").answer, ""),
        (refused(Code::Io), ""),
    ] {
        assert_eq!(judged(&scene, &scene.observation("list alpha", answer)), rules);
    }
    let counts = Counts { errors: 1, ..Counts::default() };
    let observation = scene.observation("sweep", swept(SweepOutcome::Done, counts));
    assert_eq!(judged(&scene, &observation), "");
    learn(&mut scene, &observation, CallFailed, &[2, 1]);
    let after = scene.observation("sweep", swept(SweepOutcome::NotDue, Counts::default()));
    assert_eq!(scene.broken_rules(&after), "");
}

#[test]
fn takes_injection_holds_for_requests_that_use_checkpoints() {
    let takes_injection = |request: &str| parse_request(request).takes_injection();
    for request in ["take alpha", "ensure alpha", "list alpha", "diff alpha 1", "sweep", "status"] {
        assert!(takes_injection(request), "{request}");
    }
    for request in ["turn", "reopen", "clock 1", "classify ls", "pin alpha 1"] {
        assert!(!takes_injection(request), "{request}");
    }
}

#[test]
fn killed_restore_leaves_open_whether_the_reports_of_tools_are_still_recorded() {
    let capabilities = CAPABILITIES.into_iter().chain(["restore.others"]).collect();
    let mut scene = Scene::with_capabilities(capabilities, "first=1");
    for request in ["take alpha", "begins alpha second"] {
        scene.perform(request);
    }
    scene.edit("second=2");
    perform_killed(&mut scene, "restore alpha 1", &[1]);
    for others in ["", "second"] {
        let mut observation = scene.correct_observation("restore alpha 1 exact");
        if let Answer::Restored(report) = &mut observation.answer {
            report.others = Some(others.split_whitespace().map(ByteString::from).collect());
        }
        assert_eq!(scene.broken_rules(&observation), "", "{others}");
    }
}
