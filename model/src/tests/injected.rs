//! A request that ended without an answer, or of which a call failed: what may be answered, and what is
//! known afterwards.

use super::restored::left;
use super::*;
use crate::injected::Injected::{self, CallFailed, Killed};
use crate::injected::Lists;
use pretty_assertions::assert_eq;

/// Two checkpoints of `alpha`, which holds something else by now.
fn scene() -> Scene {
    let mut scene = Scene::with("first=1 second=1");
    scene.ask("take alpha");
    scene.set("first=2 second=2");
    scene.ask("take alpha");
    scene.set("first=3 second=3");
    scene
}

/// The list of `alpha` with these checkpoints, newest first.
fn lists(numbers: &[usize]) -> Lists {
    let listed = |(at, number): (usize, &usize)| Listed {
        number: at + 1,
        id: id(*number),
        time: START,
        reason: "take alpha".into(),
        stats: None,
    };
    let listed = numbers.iter().enumerate().map(listed).collect();
    Lists::from([("work/alpha".into(), listed)])
}

/// The rules that are broken by what was seen where a call failed, or the process ended.
fn judged(scene: &Scene, seen: &Observation) -> String {
    let allowed = scene.world.allows(&seen.request);
    broken(scene.world.compare_injected(&allowed, seen, CallFailed))
}

fn ids(scene: &Scene) -> Vec<String> {
    scene.world.listed(b"work/alpha").iter().map(|one| one.id.clone()).collect()
}

fn learn(scene: &mut Scene, seen: &Observation, injected: Injected, listed: &[usize]) {
    let allowed = scene.world.allows(&seen.request);
    let after = scene.world.aftermath(&allowed, seen, lists(listed));
    scene.world.learn_injected(seen, injected, &after);
}

/// A request that came to no end, after which that is listed.
fn ended(scene: &mut Scene, asked: &str, listed: &[usize]) {
    let seen = scene.seen(asked, Answer::Crashed("ended".into()));
    let allowed = scene.world.allows(&seen.request);
    assert_eq!(broken(scene.world.compare_injected(&allowed, &seen, Killed)), "");
    learn(scene, &seen, Killed, listed);
}

#[test]
fn a_checkpoint_that_came_to_no_end_is_there_where_it_is_listed() {
    let (mut done, mut not_done) = (scene(), scene());
    ended(&mut done, "take alpha", &[3, 2, 1]);
    ended(&mut not_done, "take alpha", &[2, 1]);
    assert_eq!((ids(&done).len(), ids(&not_done).len()), (3, 2));
    // It holds what was there, as a whole.
    done.ids = 3;
    done.set("first=4");
    let held = done.right("restore alpha 1 exact");
    let all = ["first", "second"]
        .map(|name| held.files.get(format!("work/alpha/{name}").as_bytes()).is_some());
    assert_eq!((done.broken(&held).as_str(), all), ("", [true, true]));
    let half = done.broken(&left(&done, "restore alpha 1", "first=3"));
    assert!(half.contains("restore/bytes"), "{half}");
}

#[test]
fn an_automatic_one_leaves_open_whether_the_turn_has_its_checkpoint() {
    let mut scene = scene();
    let seen = scene.seen("ensure alpha", refused(Code::Io));
    learn(&mut scene, &seen, CallFailed, &[3, 2, 1]);
    scene.set("first=4");
    for answer in [taken(CheckpointOutcome::Deduped), created(4)] {
        assert_eq!(scene.answered("ensure alpha", answer), "");
    }
}

#[test]
fn who_makes_room_first_may_have_made_it() {
    let full = || {
        let mut scene = scene();
        scene.world.settings.max_snapshots = 2;
        scene
    };
    for (listed, left) in [(&[2][..], 1), (&[2, 1], 2), (&[1], 2), (&[3, 2], 2)] {
        let mut scene = full();
        ended(&mut scene, "take alpha", listed);
        assert_eq!(ids(&scene).len(), left, "{listed:?}");
    }
    // A bound on the size of the store may cost any but the newest.
    let mut bounded = scene();
    bounded.world.settings.max_total_bytes = 1;
    ended(&mut bounded, "take alpha", &[2]);
    assert_eq!(ids(&bounded), [id(2)]);
}

#[test]
fn a_restore_that_came_to_no_end_leaves_what_it_leaves() {
    let mut scene = scene();
    let half = left(&scene, "restore alpha 1", "first=2 second=3 .tmp-1=2");
    let half = Observation { answer: Answer::Crashed("ended".into()), ..half };
    let allowed = scene.world.allows(&half.request);
    assert_eq!(texts(&scene.world.debris(&allowed, &half)), ["work/alpha/.tmp-1"]);
    assert_eq!(scene.world.debris(&Allowed::Unknown, &half), []);
    learn(&mut scene, &half, Killed, &[3, 2, 1]);
    assert_eq!(scene.world.files, half.files);
    // The checkpoint before it holds what was there before.
    scene.ids = 3;
    assert_eq!(scene.broken(&left(&scene, "restore alpha 1 exact", "first=3 second=3")), "");
}

#[test]
fn a_sweep_that_came_to_no_end_leaves_open_what_it_may_remove() {
    let mut swept = scene();
    ended(&mut swept, "sweep", &[2, 1]);
    for outcome in [SweepOutcome::Done, SweepOutcome::NotDue] {
        let seen = Observation {
            contents: Some(swept.contents()),
            base: Some(swept.base()),
            ..swept.seen("sweep", super::swept(outcome, Counts::default()))
        };
        assert_eq!(swept.broken(&seen), "");
    }
    let mut gone = scene();
    gone.put("-/work/alpha");
    gone.world.settings.delete_orphans = true;
    ended(&mut gone, "sweep", &[]);
    assert_eq!(gone.answered("list alpha", Answer::Listed(Vec::new())), "");
}

#[test]
fn a_refusal_says_why_and_names_what_is_half_restored() {
    let scene = scene();
    let refusal = |code, changed, message: &str| Answer::Refused {
        code,
        message: message.to_owned(),
        changed,
    };
    let half =
        |answer| Observation { answer, ..left(&scene, "restore alpha 1", "first=2 second=3") };
    let half = |message: &str| judged(&scene, &half(refusal(Code::Io, Changed::Partial, message)));
    let unsaid = "fault/names-half-restored";
    for (message, rules) in [
        ("the disk is full", unsaid),
        ("second: no space", ""),
        ("only `first` was restored", ""),
        ("firsts and a second/x", unsaid),
    ] {
        assert_eq!(half(message), rules, "{message}");
    }
    let said = |code| judged(&scene, &scene.seen("take alpha", refusal(code, Changed::None, "no")));
    assert_eq!((said(Code::Io), said(Code::Internal)), ("".into(), "fault/clear-refusal".into()));
    // Nothing was changed where that is said.
    let whole = left(&scene, "restore alpha 1", "first=2 second=2");
    let whole = Observation { answer: refusal(Code::Io, Changed::None, "no"), ..whole };
    assert_eq!(judged(&scene, &whole), "restore/refusal-changes-nothing");
}

#[test]
fn a_word_of_a_sentence_names_no_file() {
    let mut scene = Scene::with("a=1 b=1");
    scene.ask("take alpha");
    scene.set("a=2 b=2");
    for (message, rules) in
        [("a file stays", "fault/names-half-restored"), ("failed: b", ""), ("b: no space", "")]
    {
        let (code, changed, message) = (Code::Io, Changed::Unknown, message.to_owned());
        let answer = Answer::Refused { code, message, changed };
        let seen = Observation { answer, ..left(&scene, "restore alpha 1", "a=1 b=2") };
        assert_eq!(judged(&scene, &seen), rules);
    }
}

#[test]
fn a_restore_names_every_path_that_failed() {
    let scene = scene();
    let failed = |paths: &[&str]| {
        let failed = paths.iter().map(|path| remark((*path).into())).collect();
        Answer::Restored(Restored { failed, ..Restored::default() })
    };
    let seen =
        |answer| Observation { answer, ..left(&scene, "restore alpha 2", "first=1 second=3") };
    assert_eq!(judged(&scene, &seen(failed(&["second"]))), "");
    for unsaid in [&[][..], &["first"]] {
        assert_eq!(judged(&scene, &seen(failed(unsaid))), "fault/names-half-restored");
    }
    let mut elsewhere = seen(failed(&["second"]));
    elsewhere.files.insert(b"work/beta/x", Node::Directory);
    assert_eq!(judged(&scene, &elsewhere), "restore/contained");
}

#[test]
fn what_could_not_be_read_is_left_out_where_that_is_said() {
    let mut scene = scene();
    let skipped = vec![remark("second".into())];
    let outcome = CheckpointOutcome::Created { id: id(3) };
    let seen = scene.seen("take alpha", Answer::Taken { outcome, skipped });
    assert_eq!(judged(&scene, &seen), "");
    learn(&mut scene, &seen, CallFailed, &[3, 2, 1]);
    scene.ids = 3;
    scene.set("second=9");
    assert_eq!(scene.broken(&left(&scene, "restore alpha 1", "first=3 second=9")), "");
}

#[test]
fn an_answer_that_nothing_went_wrong_with_is_what_it_must_be() {
    let mut scene = scene();
    for (answer, rules) in [
        (Answer::Listed(Vec::new()), "list/complete"),
        (scene.right("list alpha").answer, ""),
        (refused(Code::Io), ""),
    ] {
        assert_eq!(judged(&scene, &scene.seen("list alpha", answer)), rules);
    }
    let counts = Counts { errors: 1, ..Counts::default() };
    let seen = scene.seen("sweep", swept(SweepOutcome::Done, counts));
    assert_eq!(judged(&scene, &seen), "");
    learn(&mut scene, &seen, CallFailed, &[2, 1]);
    let after = scene.seen("sweep", swept(SweepOutcome::NotDue, Counts::default()));
    assert_eq!(scene.broken(&after), "");
}

#[test]
fn an_injection_waits_for_what_uses_checkpoints() {
    let waits = |asked: &str| request(asked).takes_injection();
    for asked in ["take alpha", "ensure alpha", "list alpha", "diff alpha 1", "sweep", "status"] {
        assert!(waits(asked), "{asked}");
    }
    for asked in ["turn", "reopen", "clock 1", "classify ls", "pin alpha 1"] {
        assert!(!waits(asked), "{asked}");
    }
}
