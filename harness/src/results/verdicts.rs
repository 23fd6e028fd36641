//! The verdicts of the rules as text: a line for each area of the rule book, or a row for each rule.

use super::text::word;
use super::{Results, RuleJudged, excused};
use crate::suite::Verdict;

/// At most this many rules that were not judged are listed with the reason.
const LISTED_MAX: usize = 12;

/// The area of a rule: the first part of its id.
fn area(rule: &RuleJudged) -> &str {
    rule.id.split('/').next().unwrap_or(&rule.id)
}

/// A line for each area: how many of its applicable rules held, and which did not. Then the areas without
/// an applicable rule, and the rules that no history came to, with the reason.
pub(super) fn by_area(results: &Results, colour: bool) -> String {
    let mut text = String::new();
    let mut not_applicable = Vec::new();
    for rules in results.rules.chunk_by(|left, right| area(left) == area(right)) {
        let count = |verdict| rules.iter().filter(|rule| rule.verdict == verdict).count();
        let held = count(Verdict::Held);
        let applicable = rules.len() - count(Verdict::NotApplicable);
        if applicable == 0 {
            not_applicable.push(area(&rules[0]));
            continue;
        }
        let mut line = format!("{:<12} {held:>3} of {applicable:<3} held", area(&rules[0]));
        for verdict in [Verdict::Broken, Verdict::Unstable] {
            let ids = rules.iter().filter(|rule| rule.verdict == verdict);
            let ids: Vec<&str> = ids.map(|rule| rule.id.as_str()).collect();
            if !ids.is_empty() {
                line += &format!("  {}: {}", painted(verdict, 0, colour), ids.join(", "));
            }
        }
        for verdict in [Verdict::NotExercised, Verdict::NotApplicable] {
            if count(verdict) > 0 {
                line += &format!("  {} {}", count(verdict), painted(verdict, 0, colour));
            }
        }
        text += &(line + "\n");
    }
    if !not_applicable.is_empty() {
        let word = painted(Verdict::NotApplicable, 0, colour);
        text += &format!("{word}: {}\n", not_applicable.join(", "));
    }
    text + &not_exercised(results)
}

fn not_exercised(results: &Results) -> String {
    let rules = results.rules.iter().filter(|rule| rule.verdict == Verdict::NotExercised);
    let lines: Vec<String> = rules
        .map(|rule| {
            let why = rule.why_not().map(|why| format!(": {why}")).unwrap_or_default();
            format!("  {}{why}\n", rule.id)
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let more = match lines.len().saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!("  and {more} more: --rules lists all\n"),
    };
    format!("not exercised:\n{}{more}", lines[..lines.len().min(LISTED_MAX)].concat())
}

/// A row for each rule: its id, its verdict, and the number of checks or why there is no verdict.
pub(super) fn by_rule(results: &Results, colour: bool) -> String {
    let row = |rule: &RuleJudged| {
        let checks = match rule.why_not() {
            Some(why) => why,
            None if rule.checks > 0 => {
                let excused = excused::of_rule(rule).map(|text| format!(", {text}"));
                format!("{} checks{}", rule.checks, excused.unwrap_or_default())
            }
            None => excused::of_rule(rule).unwrap_or_default(),
        };
        let row = format!("{:<32} {} {checks}", rule.id, painted(rule.verdict, 16, colour));
        row.trim_end().to_owned() + "\n"
    };
    results.rules.iter().map(row).collect()
}

/// The word for a verdict, at least `width` wide, in its colour on a terminal.
fn painted(verdict: Verdict, width: usize, colour: bool) -> String {
    let (word, code) = word(verdict);
    let word = format!("{word:<width$}");
    if colour { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word }
}

#[cfg(test)]
mod tests {
    use super::super::junit::tests::results;
    use super::*;

    #[test]
    fn by_area_counts_held_rules_and_names_the_others() {
        let text = by_area(&results("too many", "three"), false);
        let expected = "\
scope          1 of 1   held
list           0 of 1   held  BROKEN: list/at-most
turn           0 of 1   held  1 not exercised
not applicable: restore
not exercised:
  turn/once
";
        assert_eq!(text, expected);
    }

    #[test]
    fn by_area_lists_only_the_first_rules_that_were_not_exercised() {
        let mut results = results("too many", "three");
        let rule = results.rules.iter().find(|rule| rule.verdict == Verdict::NotExercised);
        let rule = rule.cloned().unwrap();
        results.rules = (0..20).map(|_| rule.clone()).collect();
        let text = by_area(&results, false);
        assert!(text.contains("0 of 20  held  20 not exercised"), "{text}");
        assert!(text.ends_with("and 8 more: --rules lists all\n"), "{text}");
    }
}
