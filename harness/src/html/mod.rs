//! Results as one HTML page that needs no network: the rules of several implementations side by side, a section for
//! each rule and each failure, what was generated, and how the versions of an implementation differ.
//!
//! The page is built from results and the rule book alone; no verdict is made here. Every section has an anchor:
//! the style shows the section that the address names, so that the page works without its script, which adds
//! filters and keys.

mod coverage;
mod failure;
mod matrix;
mod rule;
mod versions;

use crate::history::file::HistoryError;
use crate::results::text::word;
use crate::results::{Entry, FailureFound, Results, RuleJudged};
use crate::subject::Identity;
use crate::suite::Verdict;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use semver::Version;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// One set of results, as the page names it.
struct Implementation<'a> {
    results: &'a Results,
    /// The failures in the order of their entries, each with the anchor of its section.
    failures: Vec<(String, &'a FailureFound)>,
    /// What distinguishes two results of the same version; empty if there are no two.
    plan: String,
    /// The anchor of its section.
    anchor: String,
}

impl<'a> Implementation<'a> {
    fn new(index: usize, results: &'a Results, same: usize) -> Self {
        let entries = results.entries().into_iter();
        let failures =
            entries.flat_map(|entry| std::iter::once(entry.failure).chain(entry.same_cause));
        let anchored = |(number, failure)| (format!("failure-{index}-{number}"), failure);
        let injections = if results.started.inject { ", injections" } else { "" };
        let plan = format!("seed {}{injections}", results.started.seeds());
        Implementation {
            results,
            failures: failures.enumerate().map(anchored).collect(),
            plan: if same > 1 { plan } else { String::new() },
            anchor: format!("implementation-{index}"),
        }
    }

    fn name(&self) -> &'a str {
        &self.results.started.subject.name
    }

    fn version(&self) -> &'a str {
        &self.results.started.subject.version
    }

    fn title(&self) -> String {
        format!("{} {} {}", self.name(), self.version(), self.plan).trim_end().to_owned()
    }

    fn rule(&self, id: &str) -> Option<&'a RuleJudged> {
        self.results.rules.iter().find(|rule| rule.id == id)
    }

    /// The failures of each entry.
    fn entries(&self) -> Vec<&[(String, &'a FailureFound)]> {
        let mut failures = &self.failures[..];
        let mut next = |entry: &Entry<'_>| {
            let (of_entry, rest) = failures.split_at(1 + entry.same_cause.len());
            failures = rest;
            of_entry
        };
        self.results.entries().iter().map(&mut next).collect()
    }

    fn failures_of<'b>(
        &'b self,
        rule: &'b str,
    ) -> impl Iterator<Item = &'b (String, &'a FailureFound)> {
        self.failures.iter().filter(move |(_, failure)| failure.fingerprint.rule == rule)
    }
}

/// The implementations by name, then by version.
fn implementations(results: &[Results]) -> Vec<Implementation<'_>> {
    let key = |results: &Results| {
        let subject = &results.started.subject;
        (subject.name.clone(), Version::parse(&subject.version).ok(), subject.version.clone())
    };
    let mut sorted: Vec<&Results> = results.iter().collect();
    sorted.sort_by_cached_key(|results| key(results));
    let same = |subject: &Identity| {
        sorted.iter().filter(|results| results.started.subject == *subject).count()
    };
    let numbered = sorted.iter().enumerate();
    numbered
        .map(|(index, results)| Implementation::new(index, results, same(&results.started.subject)))
        .collect()
}

/// The complete page.
///
/// # Errors
/// A written case of this suite is not valid.
pub fn page(results: &[Results]) -> Result<String, HistoryError> {
    let implementations = implementations(results);
    let failures = implementations.iter().map(|implementation| implementation.failures.len());
    let versions = versions::section(&implementations);
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Herma: results" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#rules" { "Skip to the rules" }
                header {
                    h1 { a href="#rules" { "Herma" } }
                    nav aria-label="Sections" {
                        a href="#rules" { "Rules" }
                        a href="#failures" { "Failures " span.count { (failures.sum::<usize>()) } }
                        a href="#coverage" { "Coverage" }
                        @if versions.is_some() { a href="#versions" { "Versions" } }
                    }
                }
                main {
                    (matrix::section(&implementations))
                    (failure::index(&implementations))
                    (coverage::section(&implementations))
                    @if let Some(versions) = versions { (versions) }
                    (rule::sections(&implementations)?)
                    (failure::sections(&implementations))
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    Ok(document.into_string())
}

/// The anchor of the section of a rule.
fn rule_anchor(id: &str) -> String {
    format!("rule-{}", id.replace('/', "-"))
}

/// The class of a verdict in the style, its symbol, and its word.
struct Mark {
    class: &'static str,
    symbol: &'static str,
    word: String,
}

impl Mark {
    fn of(verdict: Option<Verdict>) -> Mark {
        let Some(verdict) = verdict else {
            return Mark { class: "absent", symbol: "", word: "not in these results".into() };
        };
        let class = match verdict {
            Verdict::Held => "held",
            Verdict::Broken => "broken",
            Verdict::Unstable => "unstable",
            Verdict::NotExercised => "not-exercised",
            Verdict::NotApplicable => "not-applicable",
        };
        Mark { class, symbol: verdict.symbol(), word: word(verdict).0.to_lowercase() }
    }

    /// The symbol and the word.
    fn in_full(&self) -> Markup {
        html! { span class={ "mark " (self.class) } { (self.symbol) " " (self.word) } }
    }
}

/// Prose, in which backticks enclose code.
fn prose(text: &str) -> Markup {
    html! { @for (index, part) in text.split('`').enumerate() {
        @if index % 2 == 1 { code { (part) } } @else { (part) }
    } }
}

/// A text that is copied with a button.
fn copied(text: &str) -> Markup {
    html! { div.copied { pre tabindex="0" { code { (text) } } } }
}

#[cfg(test)]
mod tests;
