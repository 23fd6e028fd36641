//! The results as a person reads them on a terminal: each failure, a verdict for every rule, the
//! figures.

use super::{FailureFound, Results};
use crate::depth::Depth;
use crate::history::file::to_yaml;
use crate::suite::Verdict;
use serde_json::json;

/// What is said of a failure that never failed again.
pub(super) const UNSTABLE: &str =
    "it did not show again, so that its rule is neither held nor broken";

/// A failure with the history that shows it.
pub fn failure(one: &FailureFound) -> String {
    let unstable =
        if one.is_unstable() { format!("UNSTABLE: {UNSTABLE}\n") } else { String::new() };
    let mut text = format!(
        "{unstable}{} [{}]: {}\n  source:   {}\n  judged by {}, at operation {}: {}\n  expected: {}\n  found:    {}\n",
        one.fingerprint.rule,
        one.severity,
        one.statement,
        one.source,
        one.judge,
        one.operation,
        one.fingerprint.symptom,
        one.expected,
        one.found,
    );
    for line in one.tree.iter().filter(|_| one.tree.len() > 2) {
        text.push_str(&format!("    {line}\n"));
    }
    for line in one.history.conditions() {
        text.push_str(&format!("  with      {line}\n"));
    }
    for other in &one.also {
        text.push_str(&format!("  or else:  {other}\n"));
    }
    if let Some(hint) = &one.hint {
        text.push_str(&format!("  hint:     {hint}\n"));
    }
    let again = match one.reproduced {
        None => "known, and not shortened again".into(),
        Some((times, of)) => format!(
            "shortened in {} executions, and failed again {times} times of {of}",
            one.executions
        ),
    };
    text.push_str(&format!(
        "  first in {}, {} in all; {again}\n  replay:   {}\n{}",
        one.origin,
        counted(one.histories, "history", "histories"),
        one.replay,
        history(one),
    ));
    text
}

/// The history that shows a failure: as it was asked and answered, or else as its file has it.
fn history(one: &FailureFound) -> String {
    let operations = counted(one.history.operations.len() as u64, "operation", "operations");
    if one.asked.is_empty() {
        return format!("{operations}:\n{}", to_yaml(&one.history));
    }
    format!("{operations}, as asked (>) and answered (<):\n{}", asked(one))
}

/// The lines of that history, each set in.
pub(super) fn asked(one: &FailureFound) -> String {
    one.asked.iter().map(|line| format!("    {line}\n")).collect()
}

pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The word for a verdict, and its colour on a terminal.
pub(super) fn word(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Held => ("held", "32"),
        Verdict::Broken => ("BROKEN", "31"),
        Verdict::Unstable => ("UNSTABLE", "31"),
        Verdict::NotExercised => ("not exercised", "33"),
        Verdict::NotApplicable => ("not applicable", "90"),
    }
}

/// The whole report.
pub fn report(results: &Results, colour: bool) -> String {
    let mut text = String::new();
    for (_, failures) in results.by_rule() {
        for one in failures {
            text.push_str(&failure(one));
            text.push('\n');
        }
    }
    text.push_str(&following(results));
    for rule in &results.rules {
        let (word, code) = word(rule.verdict);
        let word = format!("{word:<16}");
        let word = if colour { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word };
        let checks = match rule.why_not() {
            Some(why) => why,
            None if rule.checks > 0 => format!("{} checks", rule.checks),
            None => String::new(),
        };
        text.push_str(format!("{:<30} {word} {checks}", rule.id).trim_end());
        text.push('\n');
    }
    text.push_str(&figures(results));
    text
}

/// What is no accusation, since it only showed after one.
pub(crate) fn following(results: &Results) -> String {
    let line = |one: &super::FollowingFound| {
        format!(
            "may follow    {}\n              from {}, in {}\n",
            one.fingerprint,
            one.seen.follows,
            counted(one.seen.histories, "history", "histories")
        )
    };
    results.following.iter().map(line).collect()
}

/// How much was judged, and whose the time was.
fn depth(results: &Results) -> String {
    let (depth, finished) = (&results.finished.depth, &results.finished);
    let share = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
    let spent = finished.seconds * finished.jobs.max(1) as f64;
    format!(
        "{} operations drawn: {:.0}% judged ({:.0}% after a failure), {:.0}% not asked for want of a \
         capability\n{:.0}% of the time was the subject's; the search for short histories took another {:.1} s\n",
        depth.drawn,
        share(depth.judged, depth.drawn),
        share(depth.after_failure, depth.drawn),
        share(depth.not_asked, depth.drawn),
        100.0 * depth.answering.as_secs_f64() / spent.max(1e-9),
        finished.shortening_seconds,
    ) + &ended_early(depth)
}

/// What was not reached, and why.
fn ended_early(depth: &Depth) -> String {
    let line = |(failure, histories): (&String, &u64)| {
        format!("{} ended early at {failure}\n", counted(*histories, "history", "histories"))
    };
    let lines: String = depth.ended_early.iter().map(line).collect();
    match depth.not_reached {
        0 => lines,
        some => {
            lines + &counted(some, "operation was", "operations were") + " not reached for that\n"
        }
    }
}

/// The figures, and how to run the same again.
pub fn figures(results: &Results) -> String {
    let (started, finished) = (&results.started, &results.finished);
    let verdicts: Vec<String> = finished
        .rules
        .iter()
        .map(|(verdict, count)| format!("{count} {}", word(*verdict).0.to_lowercase()))
        .collect();
    let planned = match finished.planned > finished.histories {
        true => format!("of {} ", finished.planned),
        false => String::new(),
    };
    format!(
        "\n{} {}\nrules: {}\n{} {planned}histories, {} operations, {:.1} s, {:.0} operations per second and \
         core ({} at a time)\n{}{} behaviours covered (class of state, operation, outcome)\nthe canary \
         failed, as it must: {}\nseed {}\nreplay: {}\n",
        started.subject.name,
        started.subject.version,
        verdicts.join(", "),
        finished.histories,
        finished.operations,
        finished.seconds,
        finished.operations_per_second_and_core(),
        finished.jobs,
        depth(results),
        finished.behaviours,
        started.canary,
        started.seeds(),
        started.replay
    )
}

/// The results for programs, as one JSON document.
pub fn json(results: &Results) -> String {
    let document = json!({
        "started": results.started,
        "failures": results.failures,
        "rules": results.rules,
        "met": results.coverage,
        "finished": results.finished,
    });
    serde_json::to_string_pretty(&document).expect("a JSON value always serializes") + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::junit::tests::results;
    use super::*;

    #[test]
    fn what_did_not_run_is_said_with_the_reason() {
        let mut results = results("too many", "three");
        let said = figures(&results);
        assert!(said.contains("\n3 histories, ") && !said.contains("early"), "{said}");
        results.finished.planned = 9;
        results.finished.depth.end_early("list/complete (crash: it died)", 6);
        results.finished.depth.end_early("list/complete (crash: it died)", 1);
        let said = figures(&results);
        assert!(said.contains("\n3 of 9 histories, "), "{said}");
        let early = "\n2 histories ended early at list/complete (crash: it died)\n7 operations were not \
                     reached for that\n";
        assert!(said.contains(early), "{said}");
    }
}
