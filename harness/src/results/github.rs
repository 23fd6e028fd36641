//! The results for GitHub: annotations on the command's output, and a step summary in Markdown.

use super::text::{UNSTABLE, asked, counted, word};
use super::{AcceptedFailures, Entry, FailureFound, Results, RuleJudged};
use crate::suite::Verdict;

/// Every entry as an annotation.
pub fn annotations(results: &Results) -> String {
    results.entries().iter().map(annotation).collect()
}

/// One entry as an annotation.
pub(crate) fn annotation(entry: &Entry<'_>) -> String {
    let failure = entry.failure;
    let unstable =
        if failure.is_unstable() { format!("unstable, {UNSTABLE}: ") } else { String::new() };
    let message = format!(
        "{unstable}{}: expected {}, found {}\n{}\n{}replay: {}\n{}{}",
        failure.fingerprint.symptom,
        failure.expected,
        failure.found,
        failure.statement,
        failure.question_line(),
        failure.replay,
        entry.lines(),
        asked(failure)
    );
    let message = message.trim_end();
    command("title", &failure.fingerprint.rule, message)
}

/// A line that GitHub turns into an annotation.
pub(crate) fn command(property: &str, value: &str, message: &str) -> String {
    let value = escaped(value).replace(':', "%3A").replace(',', "%2C");
    format!("::error {property}={value}::{}\n", escaped(message))
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The summary of a step, in Markdown; the tables have no accepted failures.
pub fn summary(results: &Results, accepted: &AcceptedFailures) -> String {
    let started = &results.started;
    let finished = &results.finished;
    let name = plain(&started.subject.name);
    let version = plain(&started.subject.version);
    let unexpected = results.entries_of(|failure| accepted.is_unexpected(failure));
    format!(
        "## {name} {version}\n\n{} {} histories with {} operations ran in {:.1} s, with seed \
         {}.\n\n{}{}{}| Verdict | Rules |\n| --- | ---: |\n{}\nRepeat this run: {}\n",
        headline(results, accepted),
        finished.histories,
        finished.operations,
        finished.seconds,
        started.seeds(),
        problems(accepted),
        broken(&unexpected),
        shown(&unexpected),
        verdicts(results),
        code(&started.replay),
    )
}

fn headline(results: &Results, accepted: &AcceptedFailures) -> String {
    let rules = |verdict| results.rules.iter().filter(move |rule| rule.verdict == verdict);
    let is_unexpected = |rule: &&RuleJudged| {
        let mut failures = results.failures.iter();
        failures.any(|found| found.fingerprint.rule == rule.id && accepted.is_unexpected(found))
    };
    let judged = rules(Verdict::Held).count() + rules(Verdict::Broken).count();
    let expected = accepted.reasons.len();
    let broken = if expected == 0 { "broken" } else { "broken unexpectedly" };
    let mut text = match rules(Verdict::Broken).filter(is_unexpected).count() {
        0 => format!("None of the {judged} rules that were judged is {broken}."),
        1 => format!("**1 rule is {broken}** of the {judged} that were judged."),
        count => format!("**{count} rules are {broken}** of the {judged} that were judged."),
    };
    if expected > 0 {
        let failures = counted(expected as u64, "failure is", "failures are");
        text += &format!(" {failures} expected.");
    }
    match rules(Verdict::Unstable).count() {
        0 => text,
        1 => format!("{text} **1 rule is unstable**: a failure was not reproduced."),
        unstable => {
            format!("{text} **{unstable} rules are unstable**: failures were not reproduced.")
        }
    }
}

/// Why the gate does not hold, apart from its failures.
fn problems(accepted: &AcceptedFailures) -> String {
    let lines: String =
        accepted.problems.iter().map(|problem| format!("- {}\n", plain(problem))).collect();
    if lines.is_empty() { lines } else { format!("The expectations need work:\n\n{lines}\n") }
}

/// The table of failures, each followed by those with the same cause; empty if there are none.
fn broken(entries: &[Entry<'_>]) -> String {
    let row = |(failure, mark): (&FailureFound, &str)| {
        let again =
            failure.reproduced.map_or("not run".into(), |(times, of)| format!("{times} of {of}"));
        let rule = plain(&failure.fingerprint.rule);
        let symptom = plain(&failure.fingerprint.symptom);
        let verdict = plain(&failure.fingerprint.verdict.to_string());
        format!("| {mark}{rule} | {verdict} | {symptom} | {} | {again} |\n", failure.histories)
    };
    let rows: String = entries
        .iter()
        .flat_map(|entry| {
            let same_cause = entry.same_cause.iter().map(|failure| (*failure, "also breaks "));
            std::iter::once((entry.failure, "")).chain(same_cause)
        })
        .map(row)
        .collect();
    if rows.is_empty() {
        return rows;
    }
    format!(
        "| Broken rule | Verdict | Symptom | Histories | Reproduced |\n\
         | --- | --- | --- | ---: | ---: |\n{rows}\n"
    )
}

/// Each entry with the shortest history that shows it, collapsed.
fn shown(entries: &[Entry<'_>]) -> String {
    let details = |failure: &FailureFound| {
        let rule = plain(&failure.fingerprint.rule);
        let symptom = plain(&failure.fingerprint.symptom);
        // An indented block needs no fence, which a reply could end.
        format!(
            "<details><summary>{} ({}): {symptom}</summary>\n\nExpected {}, found {}. Replay: \
             {}\n\n{}\n</details>\n\n",
            rule,
            failure.severity,
            plain(&failure.expected),
            plain(&failure.found),
            code(&failure.replay),
            asked(failure)
        )
    };
    let failures = entries.iter().map(|entry| entry.failure);
    failures.filter(|failure| !failure.asked.is_empty()).map(details).collect()
}

fn verdicts(results: &Results) -> String {
    let rules = results.finished.rules.iter();
    rules
        .map(|(verdict, count)| format!("| {} | {count} |\n", word(*verdict).0.to_lowercase()))
        .collect()
}

/// Text on one line, escaped so that Markdown shows it unchanged, also in a table cell.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if "\\`*_~[]<>&|".contains(character) {
            plain.push('\\');
        }
        plain.push(if character.is_control() { ' ' } else { character });
    }
    plain
}

/// A span of code, fenced by more backticks than `text` has in a row.
fn code(text: &str) -> String {
    let is_other = |character: char| character != '`';
    let without_control = |character: char| if character.is_control() { ' ' } else { character };
    let text: String = text.chars().map(without_control).collect();
    let longest = text.split(is_other).map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::junit::tests::results;
    use pretty_assertions::assert_eq;

    #[test]
    fn annotations_are_one_line_each_whatever_was_found() {
        let results = results("100% odd", "a\r\n::error::b, c");
        assert_eq!(
            annotations(&results),
            "::error title=list/at-most::100%25 odd: expected two, found a%0D%0A::error::b, c\
             %0AIt lists few.%0Areplay: herma-conform replay a.yaml\n"
        );
    }

    #[test]
    fn summary_has_the_broken_rules_and_the_counts() {
        let text = summary(&results("a | b\n\\| <c>", "three"), &AcceptedFailures::default());
        assert!(text.starts_with("## a \\& b 1.2.3\n\n**1 rule is broken** of the 2 that"));
        assert!(text.contains(
            "| list/at-most | wrong\\_reason | a \\| b \\\\\\| \\<c\\> | 2 | 2 of 3 |\n\n"
        ));
        assert!(text.contains("| not applicable | 1 |\n"));
        assert!(text.ends_with("Repeat this run: `herma-conform run --seed 7`\n"));
    }

    #[test]
    fn summary_without_failures_has_no_table_of_them() {
        let mut results = results("odd", "three");
        results.failures.clear();
        results.rules.retain(|rule| rule.verdict != Verdict::Broken);
        let text = summary(&results, &AcceptedFailures::default());
        assert!(text.contains("None of the 1 rules that were judged is broken."), "{text}");
        assert!(!text.contains("Reproduced"));
    }

    #[test]
    fn code_encloses_text_with_backticks() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a `b``c"), "```a `b``c```");
        assert_eq!(code("`a`"), "`` `a` ``");
    }

    #[test]
    fn summary_counts_accepted_failures_and_lists_other_problems() {
        let results = results("odd", "three");
        let fingerprint = results.failures[0].fingerprint.clone();
        let reasons = [(fingerprint, "known failure: slow".into())].into();
        let accepted = AcceptedFailures { reasons, problems: vec!["an entry is stale".into()] };
        let text = summary(&results, &accepted);
        assert!(text.contains("1 failure is expected."), "{text}");
        assert!(text.contains("need work:\n\n- an entry is stale\n"), "{text}");
        assert!(!text.contains("Reproduced"), "{text}");
    }
}
