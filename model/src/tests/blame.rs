//! Which of several broken rules is the cause, and in which words that is told.

use super::*;
use crate::blame::{CAUSES_FIRST, Failure, ONLY_SAID, STANDS_ALONE};
use crate::rules::{self, RuleRef};
use crate::verdict::{Judge, Kind, Mismatch, Violation, shown, symptom, word};
use pretty_assertions::assert_eq;

#[test]
fn every_rule_has_its_place_and_only_one() {
    let ranked = |rule: RuleRef| CAUSES_FIRST.iter().filter(|(one, _)| *one == rule).count();
    for rule in rules::catalogue() {
        let places = [ranked(rule) > 0, ONLY_SAID.contains(&rule), STANDS_ALONE.contains(&rule)];
        let places = places.into_iter().filter(|place| *place).count();
        assert_eq!(places, 1, "{}", rule.id);
        // Where one stands twice, its evidence is stronger the first time, and the second any.
        let all = CAUSES_FIRST.iter().filter(|(one, _)| *one == rule);
        let judges: Vec<_> = all.map(|(_, judge)| judge).collect();
        assert!(judges.len() <= 2, "{}", rule.id);
        assert!(judges.last().is_none_or(|judge| judge.is_none()), "{}", rule.id);
        assert!(judges.len() < 2 || judges[0].is_some(), "{}", rule.id);
    }
}

fn violation(rule: RuleRef, judge: Judge) -> Violation {
    Violation { rule, judge, mismatch: Mismatch::new("", "", "") }
}

/// The failures that violations come to: the cause and what follows of each.
fn parted(violations: &[Violation]) -> Vec<String> {
    let id = |one: &Violation| one.rule.id.to_owned();
    let told = |one: Failure| {
        std::iter::once(id(&one.cause)).chain(one.symptoms.iter().map(id)).collect::<Vec<_>>()
    };
    failures(violations.to_vec()).into_iter().map(|one| told(one).join(" < ")).collect()
}

#[test]
fn the_first_of_the_table_is_the_cause_of_all_that_may_follow_from_it() {
    let honest = violation(&rules::CAPTURE_HONEST, Judge::Git);
    let outside = violation(&rules::RESTORE_CONTAINED, Judge::Disk);
    let bytes = violation(&rules::RESTORE_BYTES, Judge::Disk);
    let time = violation(&rules::LIST_TIME, Judge::Answer);
    let stored_time = violation(&rules::LIST_TIME, Judge::Git);
    let private = violation(&rules::ISOLATION_PRIVATE, Judge::Git);
    let complete = violation(&rules::LIST_COMPLETE, Judge::Answer);
    let stored = violation(&rules::LIST_STABLE, Judge::Git);
    let listed = violation(&rules::LIST_STABLE, Judge::Answer);
    let reason = |one: &Violation| Violation {
        mismatch: one.mismatch.clone().kind(Kind::WrongReason),
        ..one.clone()
    };
    for (all, expected) in [
        (vec![], &[][..]),
        (vec![&bytes, &honest], &["capture/honest < restore/bytes"]),
        (vec![&time, &bytes], &["restore/bytes < list/time"]),
        (vec![&private, &bytes], &["restore/bytes", "isolation/private"]),
        // What was written outside of the project is said, whatever else is to blame.
        (vec![&bytes, &outside, &honest], &["capture/honest < restore/bytes", "restore/contained"]),
        (vec![&outside, &bytes], &["restore/contained < restore/bytes"]),
        (vec![&time, &private], &["isolation/private", "list/time"]),
        (vec![&time, &complete, &bytes], &["restore/bytes < list/complete < list/time"]),
        (vec![&complete, &stored], &["list/stable < list/complete"]),
        (vec![&listed, &complete], &["list/complete < list/stable"]),
        // What is noted wrongly in the store is not only said.
        (vec![&stored_time, &time], &["list/time < list/time"]),
        (vec![&reason(&honest), &bytes], &["restore/bytes < capture/honest"]),
        (vec![&reason(&honest), &time], &["capture/honest", "list/time"]),
    ] {
        let all: Vec<Violation> = all.into_iter().cloned().collect();
        assert_eq!(parted(&all), expected);
    }
    for (one, leaves) in [
        (&bytes, false),
        (&time, true),
        (&stored_time, false),
        (&private, true),
        (&reason(&bytes), true),
    ] {
        let [failure] = &failures(vec![one.clone()])[..] else { panic!("one failure") };
        assert_eq!(failure.leaves_the_rest_comparable(), leaves, "{}", one.rule.id);
        assert_eq!(failure.stands_alone(), one.rule == private.rule, "{}", one.rule.id);
    }
}

#[test]
fn a_refusal_for_a_reason_that_is_none_is_told_as_that() {
    let scene = Scene::with("");
    let kind = |answer| scene.checks(&scene.seen("take none", answer)).violations[0].mismatch.kind;
    assert_eq!(kind(refused(Code::Io)), Kind::WrongReason);
    assert_eq!(kind(Answer::Done), Kind::Fail);
}

#[test]
fn every_kind_of_answer_has_a_word() {
    use CheckpointOutcome::{Deduped, Disabled, Unchanged};
    let counts = Counts::default();
    for (answer, expected) in [
        (Answer::Done, "done"),
        (Answer::Project(None), "no project"),
        (Answer::Project(Some("x".into())), "a project"),
        (Answer::Classified { changes_files: true }, "changes files"),
        (Answer::Classified { changes_files: false }, "changes no files"),
        (created(1), "created"),
        (taken(Deduped), "deduped"),
        (taken(Unchanged), "unchanged"),
        (taken(Disabled), "disabled"),
        (Answer::Listed(vec![]), "listed"),
        (Answer::Diffed { entries: vec![], stats: Stats::default() }, "diffed"),
        (Answer::Restored(Restored::default()), "restored"),
        (swept(SweepOutcome::Done, counts), "swept"),
        (swept(SweepOutcome::Off, counts), "not swept"),
        (Answer::Status { projects: vec![], archives: vec![] }, "a status"),
        (refused(Code::Io), "refused io"),
        (Answer::Crashed("x".into()), "died"),
    ] {
        assert_eq!(word(&answer), expected);
    }
}

#[test]
fn what_stands_at_a_path_is_shown_in_short_and_its_fault_without_the_path() {
    let scene = Scene::with("a=1 b=2 run*=1 secret?=1 both*?=1 l>a m>b s! d/");
    let node = |name: &str| scene.world.files.get(format!("work/alpha/{name}").as_bytes());
    for (due, found, expected) in [
        ("a", "b", "other bytes"),
        ("a", "run", "another executable bit"),
        ("a", "secret", "another right to read"),
        ("l", "m", "another link"),
        ("a", "none", "nothing, not a file"),
        ("l", "d", "a directory, not a link"),
        ("none", "s", "a special file, not nothing"),
        ("d", "l", "a link, not a directory"),
    ] {
        assert_eq!(symptom(node(due), node(found)), expected);
    }
    for (name, expected) in [
        ("a", "a file of 1 bytes \"1\""),
        ("run", "a file of 1 bytes \"1\", executable"),
        ("secret", "a file of 1 bytes \"1\", unreadable"),
        ("both", "a file of 1 bytes \"1\", executable, unreadable"),
        ("l", "a link to 1 bytes \"a\""),
        ("s", "a socket"),
        ("d", "a directory"),
        ("none", "nothing"),
    ] {
        assert_eq!(shown(node(name)), expected);
    }
    let long = Node::Link { target: vec![b'x'; 99].into() };
    assert_eq!(shown(Some(&long)), format!("a link to 99 bytes \"{}\"", "x".repeat(60)));
    let judges = [Judge::Answer, Judge::Disk, Judge::Git].map(|judge| format!("{judge:>20}"));
    assert_eq!(judges, ["the subject's answer", "            the disk", "           plain git"]);
    assert_eq!(Kind::WrongReason.to_string(), "wrong_reason");
}
