//! The results as JUnit XML: one test case for every rule.

use super::{AcceptedFailures, Entry, FailureFound, Results, RuleJudged, text};
use crate::suite::Verdict;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// The complete report: one suite with one test case per rule. A rule that is broken only by accepted failures
/// is skipped; what else is wrong with the expectations is one more test case.
pub fn report(results: &Results, accepted: &AcceptedFailures) -> String {
    let started = &results.started;
    let finished = &results.finished;
    let subject = &started.subject;
    let commit = subject.commit.as_ref().map(|commit| format!(" ({commit})")).unwrap_or_default();
    let mut suite = TestSuite::new(format!("{} {}", subject.name, subject.version));
    suite.set_time(Duration::try_from_secs_f64(finished.seconds).unwrap_or_default());
    // How to repeat the run.
    suite.add_properties([
        ("seed", started.seeds().as_str()),
        ("replay", &started.replay),
        ("suite", &started.suite),
        ("subject", &format!("{} {}{commit}", subject.name, subject.version)),
    ]);
    let entries = results.entries_of(|failure| accepted.is_unexpected(failure));
    suite.add_test_cases(results.rules.iter().map(|rule| case(rule, results, accepted, &entries)));
    suite.add_test_cases((!accepted.problems.is_empty()).then(|| problems(accepted)));
    let mut report = Report::unnamed();
    report.add_test_suite(suite);
    report.to_string().expect("a report in memory takes all that is written")
}

fn case(
    rule: &RuleJudged,
    results: &Results,
    accepted: &AcceptedFailures,
    entries: &[Entry<'_>],
) -> TestCase {
    let of_rule = || results.failures.iter().filter(|found| found.fingerprint.rule == rule.id);
    let mut failures = of_rule().filter(|found| accepted.is_unexpected(found)).peekable();
    let status = match rule.verdict {
        Verdict::Broken if failures.peek().is_none() => {
            let reasons: Vec<&str> = of_rule().filter_map(|found| accepted.reason(found)).collect();
            let mut status = TestCaseStatus::skipped();
            status.set_message(shown(&reasons.join("; ")).replace('\n', "␊"));
            status
        }
        Verdict::Broken => failure(NonSuccessKind::Failure, failures, entries),
        Verdict::Unstable => failure(NonSuccessKind::Error, failures, entries),
        _ => {
            why_skipped(rule.verdict).map_or_else(TestCaseStatus::success, |why| skipped(why, rule))
        }
    };
    let mut case = TestCase::new(rule.id.as_str(), status);
    let area = rule.id.split('/').next().unwrap_or_default();
    case.set_classname(format!("herma.{area}"));
    case
}

/// Why the gate does not hold although every failure is accepted.
fn problems(accepted: &AcceptedFailures) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(shown(&accepted.problems.join("; ")).replace('\n', "␊"));
    let mut case = TestCase::new("expectations", status);
    case.set_classname("herma.gate");
    case
}

/// Every failure of a rule; a reader of the report sees the first one at once.
fn failure<'a>(
    kind: NonSuccessKind,
    failures: impl Iterator<Item = &'a FailureFound>,
    entries: &[Entry<'_>],
) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    let mut failures: Vec<&FailureFound> = failures.collect();
    failures.sort_by_key(|failure| failure.is_unstable());
    if let Some(first) = failures.first() {
        let symptom = &first.fingerprint.symptom;
        let unstable = if first.is_unstable() { "unstable: " } else { "" };
        let message =
            format!("{unstable}{symptom}: expected {}, found {}", first.expected, first.found);
        status.set_type(first.fingerprint.verdict.to_string());
        // XML readers turn a line end in an attribute into a space.
        status.set_message(shown(&message).replace('\n', "␊"));
        let texts: Vec<String> = failures
            .iter()
            .map(|failure| text::failure(failure) + &same_cause(failure, entries))
            .collect();
        status.set_description(shown(&texts.join("\n")));
    }
    status
}

/// A line with the failure that a reader should look at first, if this one has the same cause.
fn same_cause(failure: &FailureFound, entries: &[Entry<'_>]) -> String {
    let is_failure = |found: &FailureFound| found.fingerprint == failure.fingerprint;
    let entry = entries.iter().find(|entry| entry.same_cause.iter().any(|found| is_failure(found)));
    entry.map_or_else(String::new, |entry| format!("same cause as {}\n", entry.failure.fingerprint))
}

/// Why a rule was not judged.
fn skipped(why: &str, rule: &RuleJudged) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(match rule.why_not() {
        Some(reason) => format!("{why}: {reason}"),
        None => why.to_owned(),
    });
    status
}

/// The text with a visible symbol for each character that the library would drop or XML cannot
/// hold.
fn shown(text: &str) -> String {
    let picture = |character: char| match character {
        '\n' => character,
        '\0'..' ' => {
            char::from_u32(0x2400 + u32::from(character)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        _ => character,
    };
    text.chars().map(picture).collect()
}

fn why_skipped(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Held | Verdict::Broken | Verdict::Unstable => None,
        Verdict::NotApplicable => Some("not applicable"),
        Verdict::NotExercised => Some("not exercised"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Results of four rules, one of each verdict; the broken rule has one failure, with this symptom and
    /// with `found` as what was found.
    pub fn results(symptom: &str, found: &str) -> Results {
        let rule = |id: &str, verdict: &str, checks: u64, lacking: Value| {
            json!({
                "event": "rule", "id": id, "tier": "0", "verdict": verdict, "checks": checks,
                "lacking": lacking,
            })
        };
        let lines = [
            json!({
                "event": "started", "schema": super::super::SCHEMA, "suite": "0.1.0",
                "canary": { "rule": "list/complete", "verdict": "fail", "symptom": "too many" },
                "subject": { "name": "a & b", "version": "1.2.3", "commit": "abc" },
                "capabilities": [], "seeds": [7], "histories": 3, "operations": 5,
                "replay": "herma-conform run --seed 7",
            }),
            json!({
                "event": "failure", "rule": "list/at-most", "verdict": "wrong_reason",
                "symptom": symptom, "statement": "It lists few.", "source": "the page", "judge": "git",
                "operation": 2, "expected": "two", "found": found, "tree": [], "hint": null,
                "origin": "history 1", "histories": 2, "executions": 9, "reproduced": [2, 3],
                "history": { "operations": ["new_turn"] }, "replay": "herma-conform replay a.yaml",
            }),
            rule("scope/never-root", "held", 4, Value::Null),
            rule("list/at-most", "broken", 2, Value::Null),
            rule("turn/once", "not_exercised", 0, Value::Null),
            rule("restore/exact", "not_applicable", 0, json!("restore.exact")),
            json!({
                "event": "finished", "histories": 3, "operations": 15, "seconds": 1.5, "jobs": 2,
                "depth": { "drawn": 20, "judged": 15, "answering_seconds": 0.5 },
                "rules": { "held": 1, "broken": 1, "not_exercised": 1, "not_applicable": 1 },
            }),
        ];
        Results::read(&lines.map(|line| line.to_string()).join("\n")).unwrap()
    }

    #[test]
    fn report_has_a_test_case_for_every_rule_and_counts_them() {
        let xml = report(&results("too many", "three"), &AcceptedFailures::default());
        let count = |tag: &str| xml.matches(&format!("<{tag} ")).count();
        assert_eq!((count("testsuite"), count("testcase"), count("property")), (1, 4, 4));
        assert_eq!((count("failure"), count("skipped")), (1, 2));
        assert!(xml.contains(
            "<testsuite name=\"a &amp; b 1.2.3\" tests=\"4\" skipped=\"2\" errors=\"0\" \
             failures=\"1\" time=\"1.500\">"
        ));
        assert!(xml.contains("<testcase name=\"scope/never-root\" classname=\"herma.scope\"/>"));
        assert!(xml.contains("<property name=\"subject\" value=\"a &amp; b 1.2.3 (abc)\"/>"));
        assert!(xml.contains("message=\"not applicable: lacks `restore.exact`\""));
        assert!(xml.contains(
            "<failure message=\"too many: expected two, found three\" type=\"wrong_reason\">\
             list/at-most [wrong answer]: It lists few."
        ));
    }

    #[test]
    fn report_shows_whatever_was_found_and_is_well_formed() {
        let found = "a <b> & \"c\"\r\n\td ]]> \u{0}\u{1b}[31m\u{fffe}\u{ffff} ü 🐚";
        let xml = report(&results("it's <odd>", found), &AcceptedFailures::default());
        let allowed = |character: char| character >= ' ' || character == '\n';
        assert!(xml.chars().all(allowed), "{xml:?}");
        let shown = "a &lt;b&gt; &amp; &quot;c&quot;␍\n␉d ]]&gt; ␀␛[31m\u{fffd}\u{fffd} ü 🐚";
        assert!(xml.contains(&format!("found:    {shown}")), "{xml}");
        let message = shown.replace('\n', "␊");
        let message = format!("\"it&apos;s &lt;odd&gt;: expected two, found {message}\"");
        assert!(xml.contains(&message), "{xml}");
    }

    #[test]
    fn report_contains_every_failure_of_a_rule() {
        let mut results = results("too many", "three");
        let mut second = results.failures[0].clone();
        second.fingerprint.symptom = "too few".into();
        second.found = "one".into();
        results.failures.push(second);
        let xml = report(&results, &AcceptedFailures::default());
        assert_eq!(xml.matches("<failure ").count(), 1);
        assert!(xml.contains("found:    three") && xml.contains("found:    one"), "{xml}");
    }

    #[test]
    fn report_skips_a_rule_with_accepted_failures_and_reports_other_problems() {
        let results = results("too many", "three");
        let fingerprint = results.failures[0].fingerprint.clone();
        let mut accepted = AcceptedFailures::default();
        accepted.reasons.insert(fingerprint, "known failure: it is \"slow\"".into());
        let xml = report(&results, &accepted);
        assert!(xml.contains("skipped=\"3\" errors=\"0\" failures=\"0\""), "{xml}");
        assert!(
            xml.contains("<skipped message=\"known failure: it is &quot;slow&quot;\"/>"),
            "{xml}"
        );
        accepted.problems.push("an entry does not fail any more".into());
        let xml = report(&results, &accepted);
        assert!(xml.contains("<testcase name=\"expectations\" classname=\"herma.gate\">"), "{xml}");
        assert!(xml.contains("<failure message=\"an entry does not fail any more\""), "{xml}");
    }
}
