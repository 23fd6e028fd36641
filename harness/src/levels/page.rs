//! The page of submitted reports, in Markdown: the levels of each implementation, and every rule.

use super::{ConformanceReport, ReportError};
use crate::suite::Verdict;
use herma_model::rules::{self, Tier};
use std::fmt::Write;

const HEAD: &str = "\
# Implementations and rules

Which levels each implementation earns, and its verdict on every rule. The page is generated from the reports in
[docs/reports](reports); `herma-conform level --submit FILE RESULTS.jsonl…` writes a report, and
`herma-conform level --check FILE…` checks it. An implementation earns each level separately: no MUST rule of the
level is broken, every applicable one was exercised, and a third of all held. SHOULD rules are only counted. A
verdict is that of the runs that the report names, each with the command that repeats it.

![Rules held, broken, not exercised and not applicable, by implementation](matrix.svg)
";

/// The page of these reports.
///
/// # Errors
/// A report is of an unknown version of the rule book.
pub fn page(reports: &[ConformanceReport]) -> Result<String, ReportError> {
    let mut page = format!("{HEAD}\n## Levels\n\n| implementation | version | date | rule book |");
    for tier in Tier::ALL {
        let _ = write!(page, " {} |", tier.word());
    }
    page += "\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for report in reports {
        let ConformanceReport { subject, date, rule_book, .. } = report;
        let _ = write!(page, "| {} | {} | {date} | {rule_book} |", subject.name, subject.version);
        for tally in report.tallies()? {
            let earned = if tally.is_earned() { "**earned**: " } else { "" };
            let should = match tally.should.rules {
                0 => String::new(),
                _ => format!("; SHOULD {}", tally.should),
            };
            let _ = write!(page, " {earned}MUST {}{should} |", tally.must);
        }
        page.push('\n');
    }
    page +=
        "\n## Rules\n\n✓ held, ✗ broken, ~ not reproduced, ○ not exercised, – not applicable.\n\n";
    page += "| rule | level | tier |";
    for ConformanceReport { subject, .. } in reports {
        let _ = write!(page, " {} {} |", subject.name, subject.version);
    }
    page += &format!("\n| --- | --- | --- |{}\n", " :---: |".repeat(reports.len()));
    for rule in rules::catalogue() {
        let anchor = rule.id.replace('/', "-");
        let tier = rule.tier.word();
        let _ = write!(page, "| [{}](rules.md#{anchor}) | {} | {tier} |", rule.id, rule.level);
        for report in reports {
            let _ = write!(page, " {} |", report.verdict(rule.id).map_or("", Verdict::symbol));
        }
        page.push('\n');
    }
    Ok(page)
}
