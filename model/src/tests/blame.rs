//! Which of several broken rules is the cause, and how failures are worded.

use super::*;
use crate::blame::{CAUSES_FIRST, Failure, INDEPENDENT, ONLY_IN_ANSWERS};
use crate::rules::{self, RuleRef};
use crate::verdict::{Judge, Kind, Mismatch, Violation, shown, symptom, word};
use pretty_assertions::assert_eq;

#[test]
fn every_rule_is_in_exactly_one_of_causes_first_only_said_and_stands_alone() {
    let rows =
        |rule: RuleRef| CAUSES_FIRST.iter().filter(|(candidate, _)| *candidate == rule).count();
    for rule in rules::catalogue() {
        let memberships =
            [rows(rule) > 0, ONLY_IN_ANSWERS.contains(&rule), INDEPENDENT.contains(&rule)];
        let tables = memberships.into_iter().filter(|is_member| *is_member).count();
        assert_eq!(tables, 1, "{}", rule.id);
        // A rule with two rows has stronger evidence in the first and any evidence in the second.
        let ranked = CAUSES_FIRST.iter().filter(|(candidate, _)| *candidate == rule);
        let judges: Vec<_> = ranked.map(|(_, judge)| judge).collect();
        assert!(judges.len() <= 2, "{}", rule.id);
        assert!(judges.last().is_none_or(|judge| judge.is_none()), "{}", rule.id);
        assert!(judges.len() < 2 || judges[0].is_some(), "{}", rule.id);
    }
}

fn violation(rule: RuleRef, judge: Judge) -> Violation {
    Violation { rule, judge, mismatch: Mismatch::new("", "", "") }
}

/// The failures that violations are grouped into: each cause and its symptoms.
fn grouped(violations: &[Violation]) -> Vec<String> {
    let id = |violation: &Violation| violation.rule.id.to_owned();
    let ids = |failure: Failure| {
        std::iter::once(id(&failure.cause))
            .chain(failure.symptoms.iter().map(id))
            .collect::<Vec<_>>()
    };
    failures(violations.to_vec()).into_iter().map(|failure| ids(failure).join(" < ")).collect()
}

#[test]
fn failures_takes_the_first_rule_of_causes_first_as_the_cause() {
    let honest = violation(&rules::CAPTURE_HONEST, Judge::Git);
    let outside = violation(&rules::RESTORE_CONTAINED, Judge::Disk);
    let bytes = violation(&rules::RESTORE_BYTES, Judge::Disk);
    let time = violation(&rules::LIST_TIME, Judge::Answer);
    let stored_time = violation(&rules::LIST_TIME, Judge::Git);
    let private = violation(&rules::ISOLATION_PRIVATE, Judge::Git);
    let complete = violation(&rules::LIST_COMPLETE, Judge::Answer);
    let stored = violation(&rules::LIST_STABLE, Judge::Git);
    let listed = violation(&rules::LIST_STABLE, Judge::Answer);
    let reason = |violation: &Violation| Violation {
        mismatch: violation.mismatch.clone().kind(Kind::WrongReason),
        ..violation.clone()
    };
    for (violations, expected) in [
        (vec![], &[][..]),
        (vec![&bytes, &honest], &["capture/honest < restore/bytes"]),
        (vec![&time, &bytes], &["restore/bytes < list/time"]),
        (vec![&private, &bytes], &["restore/bytes", "isolation/private"]),
        // A write outside the project is always reported, whatever else is the cause.
        (vec![&bytes, &outside, &honest], &["capture/honest < restore/bytes", "restore/contained"]),
        (vec![&outside, &bytes], &["restore/contained < restore/bytes"]),
        (vec![&time, &private], &["isolation/private", "list/time"]),
        (vec![&time, &complete, &bytes], &["restore/bytes < list/complete < list/time"]),
        (vec![&complete, &stored], &["list/stable < list/complete"]),
        (vec![&listed, &complete], &["list/complete < list/stable"]),
        // A time that is wrong in the store is not wrong in the answer alone.
        (vec![&stored_time, &time], &["list/time < list/time"]),
        (vec![&reason(&honest), &bytes], &["restore/bytes < capture/honest"]),
        (vec![&reason(&honest), &time], &["capture/honest", "list/time"]),
    ] {
        let violations: Vec<Violation> = violations.into_iter().cloned().collect();
        assert_eq!(grouped(&violations), expected);
    }
    for (violation, comparable) in [
        (&bytes, false),
        (&time, true),
        (&stored_time, false),
        (&private, true),
        (&reason(&bytes), true),
    ] {
        let [failure] = &failures(vec![violation.clone()])[..] else { panic!("one failure") };
        assert_eq!(failure.keeps_world_comparable(), comparable, "{}", violation.rule.id);
        assert_eq!(
            failure.is_independent(),
            violation.rule == private.rule,
            "{}",
            violation.rule.id
        );
    }
}

#[test]
fn kind_is_wrong_reason_for_a_correct_refusal_with_the_wrong_error_code() {
    let scene = Scene::with("");
    let kind =
        |answer| scene.checks(&scene.observation("take none", answer)).violations[0].mismatch.kind;
    assert_eq!(kind(refused(Code::Io)), Kind::WrongReason);
    assert_eq!(kind(Answer::Done), Kind::Fail);
}

#[test]
fn word_describes_every_kind_of_answer() {
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
fn shown_describes_a_node_briefly_and_symptom_names_the_difference() {
    let scene = Scene::with("a=1 b=2 run*=1 secret?=1 both*?=1 l>a m>b s! d/");
    let node = |name: &str| scene.world.files.get(format!("work/alpha/{name}").as_bytes());
    for (allowed, found, expected) in [
        ("a", "b", "other bytes"),
        ("a", "run", "another executable bit"),
        ("a", "secret", "another read permission"),
        ("l", "m", "another link"),
        ("a", "none", "nothing, not a file"),
        ("l", "d", "a directory, not a link"),
        ("none", "s", "a special file, not nothing"),
        ("d", "l", "a link, not a directory"),
    ] {
        assert_eq!(symptom(node(allowed), node(found)), expected);
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
