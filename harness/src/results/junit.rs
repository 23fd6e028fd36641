//! The results as JUnit XML: one test case for every rule.

use super::{FailureFound, Results, RuleJudged, text};
use crate::suite::Verdict;

/// The whole report, one suite of one test case a rule.
pub fn report(results: &Results) -> String {
    let (started, finished) = (&results.started, &results.finished);
    let count = |of: fn(Verdict) -> bool| {
        results.rules.iter().filter(|rule| of(rule.verdict)).count().to_string()
    };
    let subject = format!("{} {}", started.subject.name, started.subject.version);
    let suite = open(
        "testsuite",
        &[
            ("name", &subject),
            ("tests", &results.rules.len().to_string()),
            ("failures", &count(|verdict| verdict == Verdict::Broken)),
            ("errors", "0"),
            ("skipped", &count(|verdict| why_skipped(verdict).is_some())),
            ("time", &format!("{:.3}", finished.seconds)),
        ],
    );
    let mut xml = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n{suite}>\n");
    xml.push_str(&properties(results));
    for rule in &results.rules {
        xml.push_str(&case(rule, results));
    }
    xml.push_str("</testsuite>\n</testsuites>\n");
    xml
}

/// What the suite says of itself: how to run the same again.
fn properties(results: &Results) -> String {
    let started = &results.started;
    let subject = &started.subject;
    let commit = subject.commit.as_ref().map(|commit| format!(" ({commit})")).unwrap_or_default();
    let values = [
        ("seed", started.seed.to_string()),
        ("replay", started.replay.clone()),
        ("suite", started.suite.clone()),
        ("subject", format!("{} {}{commit}", subject.name, subject.version)),
    ];
    let one = |(name, value): &(&str, String)| {
        open("property", &[("name", name), ("value", value)]) + "/>\n"
    };
    let all: String = values.iter().map(one).collect();
    format!("<properties>\n{all}</properties>\n")
}

fn case(rule: &RuleJudged, results: &Results) -> String {
    let area = rule.id.split('/').next().unwrap_or_default();
    let start = open("testcase", &[("classname", &format!("herma.{area}")), ("name", &rule.id)]);
    let inside = if rule.verdict == Verdict::Broken {
        let own = results.failures.iter().filter(|one| one.fingerprint.rule == rule.id);
        own.map(failure).collect()
    } else {
        skipped(rule)
    };
    if inside.is_empty() {
        return start + "/>\n";
    }
    format!("{start}>\n{inside}</testcase>\n")
}

fn failure(one: &FailureFound) -> String {
    let kind = one.fingerprint.verdict.to_string();
    let symptom = &one.fingerprint.symptom;
    let message = format!("{symptom}: expected {}, found {}", one.expected, one.found);
    let start = open("failure", &[("type", &kind), ("message", &message)]);
    format!("{start}>{}</failure>\n", escaped(&text::failure(one)))
}

/// Why a rule was not judged; nothing of one that was.
fn skipped(rule: &RuleJudged) -> String {
    let Some(why) = why_skipped(rule.verdict) else { return String::new() };
    let why = match &rule.lacking {
        Some(claim) => format!("{why}: `{claim}` is not claimed"),
        None => why.to_owned(),
    };
    open("skipped", &[("message", &why)]) + "/>\n"
}

fn why_skipped(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Held | Verdict::Broken => None,
        Verdict::NotApplicable => Some("not applicable"),
        Verdict::NotExercised => Some("not exercised: nothing that ran put it to the test"),
        Verdict::NotModelled => Some("not yet modelled: the model does not decide it"),
    }
}

/// The start of a tag, without what closes it.
fn open(name: &str, attributes: &[(&str, &str)]) -> String {
    let mut tag = format!("<{name}");
    for (attribute, value) in attributes {
        // Readers make a space of every line end and tab in an attribute that is not escaped.
        let value = escaped(value).replace('"', "&quot;").replace('\n', "&#10;");
        tag.push_str(&format!(" {attribute}=\"{}\"", value.replace('\t', "&#9;")));
    }
    tag
}

/// The text between tags; what XML 1.0 cannot hold, not even escaped, is replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\r' => escaped.push_str("&#13;"),
            '\t' | '\n' => escaped.push(one),
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => escaped.push(char::REPLACEMENT_CHARACTER),
            _ => escaped.push(one),
        }
    }
    escaped
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Results of five rules, one of each verdict; the broken one is broken in one way, with this
    /// symptom, `found` as what was found.
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
                "claims": [], "seed": 7, "histories": 3, "operations": 5,
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
            rule("agent/later", "not_modelled", 0, Value::Null),
            json!({
                "event": "finished", "histories": 3, "operations": 15, "seconds": 1.5, "jobs": 2,
                "rules": {
                    "held": 1, "broken": 1, "not_exercised": 1, "not_applicable": 1,
                    "not_modelled": 1,
                },
            }),
        ];
        Results::read(&lines.map(|line| line.to_string()).join("\n")).unwrap()
    }

    /// Checks that every tag is closed by its own, every `&` begins a reference, and no character
    /// is forbidden; answers the tags that were opened.
    fn tags(xml: &str) -> Vec<&str> {
        let allowed = |one: char| one >= ' ' || "\t\n".contains(one);
        assert!(xml.chars().all(allowed), "{xml:?}");
        let references = ["amp;", "lt;", "gt;", "quot;", "#9;", "#10;", "#13;"];
        for after in xml.split('&').skip(1) {
            assert!(references.iter().any(|one| after.starts_with(one)), "{after}");
        }
        let (mut within, mut opened) = (Vec::new(), Vec::new());
        let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
        for tag in body.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').unwrap();
            let name = tag.split([' ', '/']).next().unwrap();
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            match tag.strip_prefix('/') {
                Some(closed) => assert_eq!(within.pop(), Some(closed)),
                None if tag.ends_with('/') => opened.push(name),
                None => {
                    within.push(name);
                    opened.push(name);
                }
            }
        }
        assert!(within.is_empty(), "{within:?} are open");
        opened
    }

    #[test]
    fn every_rule_is_a_test_case_and_the_counts_are_theirs() {
        let xml = report(&results("too many", "three"));
        let tags = tags(&xml);
        let count = |name| tags.iter().filter(|tag| **tag == name).count();
        assert_eq!((count("testsuite"), count("testcase"), count("property")), (1, 5, 4));
        assert_eq!((count("failure"), count("skipped")), (1, 3));
        assert!(xml.contains(
            "<testsuite name=\"a &amp; b 1.2.3\" tests=\"5\" failures=\"1\" errors=\"0\" \
             skipped=\"3\" time=\"1.500\">"
        ));
        assert!(xml.contains("<testcase classname=\"herma.scope\" name=\"scope/never-root\"/>"));
        assert!(xml.contains("<property name=\"subject\" value=\"a &amp; b 1.2.3 (abc)\"/>"));
        assert!(xml.contains("message=\"not applicable: `restore.exact` is not claimed\""));
        assert!(xml.contains(
            "<failure type=\"wrong_reason\" message=\"too many: expected two, found three\">\
             list/at-most: It lists few."
        ));
    }

    #[test]
    fn whatever_was_found_leaves_the_report_well_formed() {
        let found = "a <b> & \"c\"\r\n\td ]]> \u{0}\u{1b}[31m\u{fffe}\u{ffff} ü 🐚";
        let xml = report(&results("it's <odd>", found));
        tags(&xml);
        assert!(xml.contains(
            "message=\"it's &lt;odd&gt;: expected two, found a &lt;b&gt; &amp; \
             &quot;c&quot;&#13;&#10;&#9;d ]]&gt; \u{fffd}\u{fffd}[31m\u{fffd}\u{fffd} ü 🐚\""
        ));
        assert!(xml.contains("found:    a &lt;b&gt; &amp; \"c\"&#13;\n\td ]]&gt; \u{fffd}"));
    }
}
