//! Texts for people that are not results of a run: a single counterexample, and the rule book.

use crate::divergence::Divergence;
use crate::history::History;
use crate::history::file::to_yaml;
use herma_model::rules::{self, RuleRef};
use serde_json::json;

/// A failure with the history that shows it.
pub fn counterexample(history: &History, divergence: &Divergence) -> String {
    let operations = history.operations.len();
    let difference = difference(divergence);
    let history = to_yaml(history);
    format!("{difference}the shortest history found, {operations} operations:\n{history}")
}

/// What is wrong, without the history that shows the failure.
pub fn difference(divergence: &Divergence) -> String {
    let Divergence { rule, judge, step, mismatch, symptoms, .. } = divergence;
    let tree: String = mismatch.tree.iter().map(|line| format!("    {line}\n")).collect();
    let also: String = symptoms
        .iter()
        .map(|violation| {
            format!("  also broken: {} ({})\n", violation.rule.id, violation.mismatch.symptom)
        })
        .collect();
    format!(
        "{}: {}\n  source:   {}\n  judged by {judge}, at operation {}\n  expected: {}\n  found:    \
         {}\n{tree}{also}",
        rule.id,
        rule.statement,
        rule.source,
        step + 1,
        mismatch.expected,
        mismatch.found,
    )
}

/// The rule book as a table.
pub fn rules_text() -> String {
    let mut text = String::new();
    for rule in rules::catalogue() {
        text.push_str(&format!(
            "{:<30} tier {}\n    {}\n    source: {}\n",
            rule.id, rule.tier, rule.statement, rule.source
        ));
    }
    text.push_str(&format!("{} rules\n", rules::catalogue().count()));
    text
}

/// The rule book as a JSON document, each rule with its complete record.
pub fn rules_json() -> String {
    let record = |rule: RuleRef| {
        json!({
            "id": rule.id,
            "statement": rule.statement,
            "tier": rule.tier.to_string(),
            "level": rule.level.to_string(),
            "since": rule.since,
            "source": rule.source,
            "needs": rule.needs,
            "hint": rule.hint,
        })
    };
    let rules: Vec<_> = rules::catalogue().map(record).collect();
    serde_json::to_string_pretty(&rules).expect("a JSON value always serializes") + "\n"
}
