//! The results for people on a terminal: each failure, a verdict for every rule, and the figures.

use super::{FailureFound, Results, excused, verdicts};
use crate::depth::Depth;
use crate::divergence::Fingerprint;
use crate::history::file::to_yaml;
use crate::suite::Verdict;
use serde_json::json;

/// The explanation of a failure that did not show again.
pub(crate) const UNSTABLE: &str = "it was not reproduced, so its rule is neither held nor broken";

/// A failure with the history that shows it.
pub fn failure(failure: &FailureFound) -> String {
    let unstable =
        if failure.is_unstable() { format!("UNSTABLE: {UNSTABLE}\n") } else { String::new() };
    let mut text = format!(
        "{unstable}{} [{}]: {}\n  source:   {}\n  judged by {}, at operation {}: {}\n  expected: {}\n  found:    {}\n",
        failure.fingerprint.rule,
        failure.severity,
        failure.statement,
        failure.source,
        failure.judge,
        failure.operation,
        failure.fingerprint.symptom,
        failure.expected,
        failure.found,
    );
    for line in failure.tree.iter().filter(|_| failure.tree.len() > 2) {
        text.push_str(&format!("    {line}\n"));
    }
    for line in failure.history.conditions() {
        text.push_str(&format!("  with      {line}\n"));
    }
    for alternative in &failure.also {
        text.push_str(&format!("  also:     {alternative}\n"));
    }
    if let Some(hint) = &failure.hint {
        text.push_str(&format!("  hint:     {hint}\n"));
    }
    if failure.question.is_some() {
        text.push_str(&format!("  {}", failure.question_line()));
    }
    let again = again(failure);
    text.push_str(&format!(
        "  first in {}, {} in all; {again}\n  replay:   {}\n{}",
        failure.origin,
        counted(failure.histories, "history", "histories"),
        failure.replay,
        history(failure),
    ));
    text
}

/// How the history of a failure was shrunk and run again.
pub(crate) fn again(failure: &FailureFound) -> String {
    let executions = failure.executions;
    match failure.reproduced {
        None if executions == 0 => "neither shrunk nor run again".into(),
        None => format!("shrunk in {executions} executions, and not run again"),
        Some((times, of)) => {
            format!("shrunk in {executions} executions, and reproduced {times} times of {of}")
        }
    }
}

/// The history that shows a failure: its requests and replies, or else its file. A history that was not shrunk
/// is too long to read.
fn history(failure: &FailureFound) -> String {
    let operations = counted(failure.history.operations.len() as u64, "operation", "operations");
    if failure.asked.is_empty() && failure.reproduced.is_none() {
        return format!("{operations}; the replay prints its requests and replies\n");
    }
    if failure.asked.is_empty() {
        return format!("{operations}:\n{}", to_yaml(&failure.history));
    }
    format!("{operations}, requests (>) and replies (<):\n{}", asked(failure))
}

/// The requests and replies of the history that shows a failure, each line indented.
pub(super) fn asked(failure: &FailureFound) -> String {
    failure.asked.iter().map(|line| format!("    {line}\n")).collect()
}

pub(crate) fn counted(count: u64, singular: &str, plural: &str) -> String {
    format!("{count} {}", if count == 1 { singular } else { plural })
}

/// The word for a verdict, and its colour on a terminal.
pub(crate) fn word(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Held => ("held", "32"),
        Verdict::Broken => ("BROKEN", "31"),
        Verdict::Unstable => ("UNSTABLE", "31"),
        Verdict::NotExercised => ("not exercised", "33"),
        Verdict::NotApplicable => ("not applicable", "90"),
    }
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Whether the verdicts have colours.
    pub colour: bool,
    /// Whether every rule has a row of its own, instead of a line for each area of the rule book.
    pub rules: bool,
}

/// The complete report: failures first, then the verdicts, then the figures.
pub fn report(results: &Results, style: Style) -> String {
    let mut text = String::new();
    let entries = results.entries();
    for entry in &entries {
        text.push_str(&format!("{}{}\n", failure(entry.failure), entry.lines()));
    }
    if entries.len() < results.failures.len() {
        let causes = counted(entries.len() as u64, "cause", "causes");
        text.push_str(&format!("{} failures, of {causes}\n", results.failures.len()));
    }
    text.push_str(&following(results));
    text.push_str(&match style.rules {
        true => verdicts::by_rule(results, style.colour),
        false => verdicts::by_area(results, style.colour),
    });
    text.push_str(&figures(results));
    text.push_str(&excused::line(results));
    text
}

/// Differences that are not reported as failures, since they only showed after a failure.
pub(crate) fn following(results: &Results) -> String {
    let line = |difference: &super::FollowingFound| {
        format!(
            "may follow    {}\n              from {}, in {}\n",
            difference.fingerprint,
            difference.seen.follows,
            counted(difference.seen.histories, "history", "histories")
        )
    };
    results.following.iter().map(line).collect()
}

/// How many operations were judged, and how much of the time the subject used.
fn depth(results: &Results) -> String {
    let finished = &results.finished;
    let depth = &finished.depth;
    let share = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
    let spent = finished.seconds * finished.jobs.max(1) as f64;
    format!(
        "{} operations generated: {:.0}% judged ({:.0}% after a failure), {:.0}% skipped for lack of a \
         capability\n{:.0}% of the time was spent in the subject; shrinking took another {:.1} s\n",
        depth.drawn,
        share(depth.judged, depth.drawn),
        share(depth.after_failure, depth.drawn),
        share(depth.not_asked, depth.drawn),
        100.0 * depth.answering.as_secs_f64() / spent.max(1e-9),
        finished.shortening_seconds,
    ) + &ended_early(depth)
}

/// How many operations were not reached, and why.
fn ended_early(depth: &Depth) -> String {
    let line = |(failure, histories): (&String, &u64)| {
        format!("{} ended early at {failure}\n", counted(*histories, "history", "histories"))
    };
    let lines: String = depth.ended_early.iter().map(line).collect();
    match depth.not_reached {
        0 => lines,
        count => {
            lines + &counted(count, "operation was", "operations were") + " therefore not reached\n"
        }
    }
}

/// The figures, and the command that repeats the run.
pub fn figures(results: &Results) -> String {
    let started = &results.started;
    let finished = &results.finished;
    let verdicts: Vec<String> = finished
        .rules
        .iter()
        .map(|(verdict, count)| format!("{count} {}", word(*verdict).0.to_lowercase()))
        .collect();
    let planned = match finished.is_cut_short() {
        true => format!("of {} ", finished.planned),
        false => String::new(),
    };
    let cases = started.cases_of.as_ref().map_or_else(String::new, |text| {
        format!("of the written cases only those whose name or rules contain `{text}`\n")
    });
    format!(
        "\n{} {}\nrules: {}\n{cases}{} {planned}histories, {} operations, {} injections, {:.1} s, {:.0} operations per second and \
         core ({} jobs)\n{}{} behaviours covered (class of state, operation, outcome)\nthe canary \
         failed, as it must: {}\nseed {}\nreplay: {}\n",
        started.subject.name,
        started.subject.version,
        verdicts.join(", "),
        finished.histories,
        finished.operations,
        finished.injections,
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

/// The results for programs, as one JSON document; `causes` has the fingerprints of the failures with one cause.
pub fn json(results: &Results) -> String {
    let causes: Vec<Vec<&Fingerprint>> =
        results.entries().iter().map(|entry| entry.fingerprints().collect()).collect();
    let document = json!({
        "started": results.started,
        "failures": results.failures,
        "causes": causes,
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
    fn figures_report_what_did_not_run_and_why() {
        let mut results = results("too many", "three");
        let text = figures(&results);
        assert!(text.contains("\n3 histories, ") && !text.contains("early"), "{text}");
        results.finished.planned = 9;
        results.finished.depth.end_early("list/complete (crash: it died)", 6);
        results.finished.depth.end_early("list/complete (crash: it died)", 1);
        let text = figures(&results);
        assert!(text.contains("\n3 of 9 histories, "), "{text}");
        let ended_early = "\n2 histories ended early at list/complete (crash: it died)\n7 operations were \
                     therefore not reached\n";
        assert!(text.contains(ended_early), "{text}");
    }
}
