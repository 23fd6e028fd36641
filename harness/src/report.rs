//! What a person reads: a counterexample, and a verdict for every rule.

use crate::history::History;
use crate::history::file::to_yaml;
use crate::oracle::Divergence;
use crate::suite::{Findings, Verdict};
use herma_model::rules::{self, State};
use serde_json::json;
use std::path::Path;

/// A failure with the history that shows it.
pub fn counterexample(history: &History, divergence: &Divergence) -> String {
    format!(
        "{}: {}\n  source:   {}\n  judged by {}, at operation {}\n  expected: {}\n  found:    {}\n\
         the shortest history found, {} operations:\n{}",
        divergence.rule.id,
        divergence.rule.statement,
        divergence.rule.source,
        divergence.judge,
        divergence.step + 1,
        divergence.expected,
        divergence.found,
        history.operations.len(),
        to_yaml(history)
    )
}

/// The rule book as a table.
pub fn rules_text() -> String {
    let mut text = String::new();
    for rule in rules::catalogue() {
        text.push_str(&format!(
            "{:<30} tier {}  {}\n    {}\n    source: {}\n",
            rule.id, rule.tier, rule.state, rule.statement, rule.source
        ));
    }
    let modelled = rules::catalogue().filter(|rule| rule.state == State::Modelled).count();
    text.push_str(&format!("{} rules, {modelled} modelled\n", rules::catalogue().count()));
    text
}

/// The rule book for programs.
pub fn rules_json() -> String {
    let rules: Vec<_> = rules::catalogue()
        .map(|rule| {
            json!({
                "id": rule.id,
                "tier": rule.tier.to_string(),
                "state": rule.state.to_string(),
                "statement": rule.statement,
                "source": rule.source,
            })
        })
        .collect();
    pretty(&json!(rules))
}

/// What a suite found: each failure, then a verdict for every rule, then the figures.
pub fn findings_text(
    findings: &Findings,
    seed: u64,
    replay: &str,
    keep: &Path,
    colour: bool,
) -> String {
    let mut text = String::new();
    for (rule, failure) in &findings.failures {
        let file = keep.join(format!("{}.yaml", rule.replace('/', "-")));
        text.push_str(&counterexample(&failure.shrunk.history, &failure.shrunk.divergence));
        text.push_str(&format!(
            "first in {}, and first to break in {} histories; shrunk in {} executions\n\
             replay: herma-conform replay {}\n\n",
            failure.origin,
            failure.histories,
            failure.shrunk.executions,
            file.display()
        ));
    }
    for rule in rules::catalogue() {
        let count = findings.checks.get(rule.id).copied().unwrap_or_default();
        let (word, code) = match findings.verdict(rule) {
            Verdict::Held => ("held", "32"),
            Verdict::Broken => ("BROKEN", "31"),
            Verdict::NotExercised => ("not exercised", "33"),
            Verdict::NotApplicable => ("not applicable", "90"),
            Verdict::NotModelled => ("not yet modelled", "90"),
        };
        let word = format!("{word:<16}");
        let word = if colour { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word };
        let checks = match findings.claims.lacking(rule) {
            Some(claim) => format!("`{claim}` is not claimed"),
            None if count > 0 => format!("{count} checks"),
            None => String::new(),
        };
        text.push_str(format!("{:<30} {word} {checks}", rule.id).trim_end());
        text.push('\n');
    }
    text.push_str(&format!(
        "\n{} histories, {} operations, {:.1} s, {:.0} operations per second and core ({} cores)\n\
         seed {seed}\nreplay: {replay}\n",
        findings.histories,
        findings.operations,
        findings.elapsed.as_secs_f64(),
        findings.operations_per_second_and_core(),
        findings.jobs
    ));
    text
}

/// What a suite found, for programs.
pub fn findings_json(findings: &Findings, seed: u64, replay: &str) -> String {
    let rules: Vec<_> = rules::catalogue()
        .map(|rule| {
            let failure = findings.failures.get(rule.id).map(|failure| {
                let divergence = &failure.shrunk.divergence;
                json!({
                    "judge": divergence.judge.to_string(),
                    "operation": divergence.step,
                    "expected": divergence.expected,
                    "found": divergence.found,
                    "histories": failure.histories,
                    "history": failure.shrunk.history,
                })
            });
            let verdict = match findings.verdict(rule) {
                Verdict::Held => "held",
                Verdict::Broken => "broken",
                Verdict::NotExercised => "not_exercised",
                Verdict::NotApplicable => "not_applicable",
                Verdict::NotModelled => "not_modelled",
            };
            let checks = findings.checks.get(rule.id).copied().unwrap_or_default();
            json!({ "id": rule.id, "verdict": verdict, "checks": checks, "failure": failure })
        })
        .collect();
    pretty(&json!({
        "seed": seed,
        "replay": replay,
        "histories": findings.histories,
        "operations": findings.operations,
        "seconds": findings.elapsed.as_secs_f64(),
        "operations_per_second_and_core": findings.operations_per_second_and_core(),
        "rules": rules,
    }))
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value always serializes") + "\n"
}
