//! The output of a gate, on a terminal and as GitHub annotations.

use super::Judgement;
use crate::results::github::{annotation, command};
use crate::results::text::{counted, failure, figures, following};
use crate::results::{Results, entries};

/// The output of a gate on a terminal: everything unexpected, then the figures.
pub fn text(results: &Results, judgement: &Judgement<'_>) -> String {
    let mut text = String::new();
    for (word, failures) in
        [("NOT EXPECTED  ", &judgement.regressions), ("UNSTABLE      ", &judgement.unstable)]
    {
        for entry in entries(failures.iter().copied()) {
            let lines: String =
                entry.fingerprints().map(|found| format!("{word}{found}\n")).collect();
            text.push_str(&format!("{lines}{}{}\n", failure(entry.failure), entry.lines()));
        }
    }
    for sentence in &judgement.needs_work {
        text.push_str(&format!("NEEDS WORK    {sentence}\n"));
    }
    if let Some(sentence) = &judgement.too_little {
        text.push_str(&format!("TOO LITTLE    {sentence}\n"));
    }
    for (found, _) in &judgement.expected {
        text.push_str(&format!("expected      {}\n", found.fingerprint));
    }
    for (found, reason) in &judgement.by_design {
        text.push_str(&format!("by design     {}: {reason}\n", found.fingerprint));
    }
    let expected = judgement.expected.len() as u64;
    let by_design = judgement.by_design.len();
    if expected > 0 || by_design > 0 {
        let known_failures = counted(expected, "known failure", "known failures");
        text.push_str(&format!("{known_failures}, {by_design} by design\n"));
    }
    text.push_str(&following(results));
    text.push_str(&figures(results));
    let share = results.started.share;
    text.push_str(&match (judgement.holds(), share.is_whole()) {
        (true, true) => "the gate holds\n".to_owned(),
        (true, false) => format!("part {share}: nothing unexpected; `merge` all parts to judge\n"),
        (false, _) => "the gate DOES NOT HOLD\n".to_owned(),
    });
    text
}

/// Everything unexpected as annotations, on the expectations file where they concern the file.
pub fn annotations(judgement: &Judgement<'_>, file: &str) -> String {
    let failures = judgement.regressions.iter().chain(&judgement.unstable).copied();
    let failures = entries(failures).into_iter().map(|entry| annotation(&entry));
    let sentences = judgement.needs_work.iter().chain(&judgement.too_little);
    let on_file = sentences.map(|sentence| command("file", file, sentence));
    failures.chain(on_file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::junit::tests::results;
    use pretty_assertions::assert_eq;

    #[test]
    fn annotations_cover_unexpected_failures_and_problems_of_the_file() {
        let results = results("odd", "three");
        let judgement = Judgement {
            regressions: results.failures.iter().collect(),
            needs_work: vec!["50% are\nstale".into()],
            too_little: Some("1 rule was judged, and 2 must be".into()),
            ..Judgement::default()
        };
        let text = annotations(&judgement, "a:b,c%.toml");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("::error title=list/at-most::odd: expected two, found three"));
        assert_eq!(lines[1], "::error file=a%3Ab%2Cc%25.toml::50%25 are%0Astale");
        assert_eq!(lines[2], "::error file=a%3Ab%2Cc%25.toml::1 rule was judged, and 2 must be");
        assert_eq!(lines.len(), 3);
    }
}
