//! Groups failures by their cause, so that a report has one entry for each cause.
//!
//! Two failures have the same cause if their shortest histories need the same special things ([`crate::special`]), at
//! least one, and the store fails at these in the same way: with the same error, or as if they did not exist. No
//! verdict, gate or exit code depends on this.

use super::FailureFound;
use crate::divergence::Fingerprint;
use herma_model::rules::{self, RuleRef};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Rules about what a restore brings back; it leaves a path as it is if the store does not see the path.
static RESTORED: &[RuleRef] = &[
    &rules::CAPTURE_ANY_NAME,
    &rules::CAPTURE_BYTES,
    &rules::CAPTURE_EXECUTABLE,
    &rules::CAPTURE_INDEPENDENT,
    &rules::CAPTURE_NESTED_REPOSITORY,
    &rules::CAPTURE_SYMLINK,
    &rules::RESTORE_BYTES,
    &rules::RESTORE_EXACT,
    &rules::RESTORE_EXECUTABLE,
    &rules::RESTORE_TARGET,
    &rules::RESTORE_TYPE,
];

/// The failures with one cause.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The first failure, which a report shows completely.
    pub failure: &'a FailureFound,
    /// The failures with the same cause.
    pub same_cause: Vec<&'a FailureFound>,
}

impl<'a> Entry<'a> {
    /// The fingerprints of all its failures.
    pub fn fingerprints(&self) -> impl Iterator<Item = &'a Fingerprint> {
        let failures = std::iter::once(self.failure).chain(self.same_cause.iter().copied());
        failures.map(|failure| &failure.fingerprint)
    }

    /// The failures with the same cause as text, one for each line, with the command that shows each.
    pub fn lines(&self) -> String {
        let line = |failure: &&FailureFound| {
            let FailureFound { fingerprint, replay, .. } = failure;
            format!(
                "  also breaks: {}: {}; replay: {replay}\n",
                fingerprint.rule, fingerprint.symptom
            )
        };
        self.same_cause.iter().map(line).collect()
    }
}

/// How a store fails at special things.
#[derive(PartialEq, Eq)]
enum Symptom {
    /// With an error of these words, without paths, ids and numbers.
    Error(Vec<String>),
    /// As if they did not exist.
    Unseen,
}

/// What the failures of one entry have in common.
#[derive(PartialEq, Eq)]
struct Cause<'a> {
    special: &'a BTreeSet<String>,
    symptom: Symptom,
}

/// Groups failures; each entry has the position of its first failure.
pub fn entries<'a>(failures: impl IntoIterator<Item = &'a FailureFound>) -> Vec<Entry<'a>> {
    let mut entries: Vec<(Option<Cause<'a>>, Entry<'a>)> = Vec::new();
    for failure in failures {
        let cause = cause(failure);
        let same = entries.iter_mut().find(|(known, _)| cause.is_some() && *known == cause);
        match same {
            Some((_, entry)) => entry.same_cause.push(failure),
            None => entries.push((cause, Entry { failure, same_cause: Vec::new() })),
        }
    }
    entries.into_iter().map(|(_, entry)| entry).collect()
}

/// The cause of a failure; `None` if nothing special is known to be needed for it.
fn cause(failure: &FailureFound) -> Option<Cause<'_>> {
    let special = &failure.special;
    if special.is_empty() {
        return None;
    }
    let symptom = match error_words(&failure.found) {
        Some(words) => Symptom::Error(words),
        None => is_unseen(failure).then_some(Symptom::Unseen)?,
    };
    Some(Cause { special, symptom })
}

/// The words of the error that an answer contains; `None` if it contains no error with words.
fn error_words(found: &str) -> Option<Vec<String>> {
    let answer: Value = serde_json::from_str(found).ok()?;
    let message = answer.pointer("/refused/message").or_else(|| answer.get("crashed"))?.as_str()?;
    let is_word = |word: &&str| {
        let is_letter = |letter: char| letter.is_ascii_alphabetic() || "_-".contains(letter);
        word.len() > 1 && word.chars().all(is_letter)
    };
    let parts = message
        .split(|letter: char| letter.is_whitespace() || "'\"`()[]{}<>,;:=!?".contains(letter));
    let words = parts.map(|part| part.trim_end_matches('.')).filter(is_word);
    let words: Vec<String> = words.map(str::to_owned).collect();
    (!words.is_empty()).then_some(words)
}

/// Whether the store behaved as if the differing path did not exist: a restore left it as it was, or a preview
/// does not show it.
fn is_unseen(failure: &FailureFound) -> bool {
    let rule = &failure.fingerprint.rule;
    if *rule == rules::DIFF_PREVIEW.id {
        return is_unseen_in_preview(failure).unwrap_or_default();
    }
    let Some(trees) = failure.trees.last() else { return false };
    let line_of = |path: &str| {
        let is_of_path =
            |line: &&String| line.strip_prefix(path).is_some_and(|rest| rest.starts_with(": "));
        trees.before.iter().find(is_of_path)
    };
    let is_as_before = match failure.found.strip_suffix(": nothing") {
        Some(path) => line_of(path).is_none_or(|line| *line == failure.found),
        None => trees.before.contains(&failure.found),
    };
    is_as_before && RESTORED.iter().any(|restored| restored.id == rule)
}

/// Whether a preview shows nothing at the paths that it should show, or shows a changed path as if it did not exist
/// on one side.
fn is_unseen_in_preview(failure: &FailureFound) -> Option<bool> {
    let changes = |text: &str| -> Option<BTreeMap<String, String>> {
        let changes = text.strip_prefix("changed files: ")?;
        let changes: Vec<(String, String)> = serde_json::from_str(changes).ok()?;
        Some(changes.into_iter().collect())
    };
    let expected = changes(&failure.expected)?;
    let found = changes(&failure.found)?;
    Some(found.iter().all(|(path, change)| {
        expected.get(path).is_some_and(|expected| expected == change || expected == "modified")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Results;
    use crate::results::junit::tests::results;
    use crate::results::{AcceptedFailures, github, junit, text};

    /// A failure with an error of these words at a request about that special thing.
    fn refused(rule: &str, message: &str, special: &str) -> FailureFound {
        let found = format!("{{\"refused\":{{\"code\":\"internal\",\"message\":{message:?}}}}}");
        let mut failure = results("refused internal", &found).failures.remove(0);
        failure.fingerprint.rule = rule.into();
        failure.special = [special.to_owned()].into();
        failure
    }

    fn rules(failures: &[FailureFound]) -> Vec<Vec<&str>> {
        let mut rules = Vec::new();
        for entry in entries(failures) {
            rules.push(entry.fingerprints().map(|found| &*found.rule).collect());
        }
        rules
    }

    #[test]
    fn entries_joins_the_same_error_at_the_same_special_things_only() {
        let failures = [
            refused("capture/created", "Bad('utf-8', '/tmp/x1/a', 28, 'not allowed')", "a name"),
            refused("restore/target", "Bad('utf-8', '/tmp/y/b c.txt', 9, 'not allowed')", "a name"),
            refused("restore/happens", "Bad('utf-8', '/tmp/x/a', 28, 'not allowed')", "a link"),
            refused("restore/bytes", "Bad('utf-8', 'allowed')", "a name"),
        ];
        let expected = [
            vec!["capture/created", "restore/target"],
            vec!["restore/happens"],
            vec!["restore/bytes"],
        ];
        assert_eq!(rules(&failures), expected);
    }

    #[test]
    fn entries_keeps_failures_apart_that_need_nothing_special() {
        let mut failures = ["a/b", "c/d"].map(|rule| refused(rule, "It is broken", "a link"));
        assert_eq!(rules(&failures), [["a/b", "c/d"]]);
        failures.iter_mut().for_each(|failure| failure.special.clear());
        assert_eq!(rules(&failures), [["a/b"], ["c/d"]]);
    }

    #[test]
    fn reports_show_an_entry_once_and_name_each_of_its_rules() {
        let mut results: Results = results("odd", "three");
        results.failures = ["list/at-most", "turn/once"]
            .map(|rule| refused(rule, "It is broken", "a link"))
            .into();
        let accepted = AcceptedFailures::default();
        let report = text::report(&results, text::Style::default());
        let line =
            "  also breaks: turn/once: refused internal; replay: herma-conform replay a.yaml\n";
        assert!(report.contains(line) && report.contains("2 failures, of 1 cause\n"), "{report}");
        assert_eq!(report.matches("expected: two").count(), 1);
        assert_eq!(github::annotations(&results).lines().count(), 1);
        assert!(github::annotations(&results).contains("also breaks: turn/once"));
        let summary = github::summary(&results, &accepted);
        assert!(summary.contains("| also breaks turn/once | wrong\\_reason |"), "{summary}");
        assert!(text::json(&results).contains("\"causes\""));
        // A rule without its own test case would look as if it held.
        results.rules[2].verdict = crate::suite::Verdict::Broken;
        let xml = junit::report(&results, &accepted);
        assert_eq!(xml.matches("<failure ").count(), 2, "{xml}");
        assert_eq!(xml.matches("same cause as list/at-most").count(), 1, "{xml}");
    }
}
