//! The first section: a card for each implementation, and the table of rules and implementations with its filters.

use super::{Implementation, Mark, prose, rule_anchor};
use crate::levels::ConformanceReport;
use crate::results::text::counted;
use crate::suite::Verdict;
use herma_model::rules::{self, Rule, RuleRef, Tier};
use maud::{Markup, html};

const VERDICTS: [Verdict; 5] = [
    Verdict::Held,
    Verdict::Broken,
    Verdict::Unstable,
    Verdict::NotExercised,
    Verdict::NotApplicable,
];

pub(super) fn section(implementations: &[Implementation<'_>]) -> Markup {
    html! {
        section.view #rules aria-labelledby="rules-title" {
            h2 #rules-title tabindex="-1" { "Rules and implementations" }
            div.cards { @for implementation in implementations { (card(implementation)) } }
            (filters())
            p.legend aria-label="Legend" {
                @for verdict in VERDICTS { (Mark::of(Some(verdict)).in_full()) " " }
            }
            div.scroll tabindex="0" role="region" aria-label="Verdicts" {
                (table(implementations))
            }
            p.empty hidden { "No rule matches. " button type="button" data-reset { "Show all rules" } }
        }
    }
}

fn card(implementation: &Implementation<'_>) -> Markup {
    let finished = &implementation.results.finished;
    let count = |verdict| finished.rules.get(&verdict).copied().unwrap_or_default();
    let judged = count(Verdict::Held) + count(Verdict::Broken) + count(Verdict::Unstable);
    html! {
        article.card #(implementation.anchor) {
            h3 { (implementation.name()) " " small { (implementation.version()) } }
            p { strong { (count(Verdict::Held)) } " of " (judged) " judged rules held" }
            (bar(implementation))
            p { "Levels: " (levels(implementation)) }
            p.dim {
                (counted(finished.histories, "history", "histories")) ", "
                (counted(finished.operations, "operation", "operations")) ", "
                (counted(finished.injections, "injection", "injections")) ", seed "
                (implementation.results.started.seeds())
            }
        }
    }
}

/// The levels that these results alone earn.
fn levels(implementation: &Implementation<'_>) -> String {
    let results = std::slice::from_ref(implementation.results);
    match ConformanceReport::of(results, "") {
        Err(error) => format!("none, {error}"),
        Ok(report) if report.levels.is_empty() => "none".into(),
        Ok(report) => report.levels.join(", "),
    }
}

/// How many rules have each verdict, as a bar.
pub(super) fn bar(implementation: &Implementation<'_>) -> Markup {
    let counts = &implementation.results.finished.rules;
    let parts = VERDICTS.iter().filter_map(|verdict| Some((*verdict, *counts.get(verdict)?)));
    let parts: Vec<(Mark, usize)> =
        parts.map(|(verdict, count)| (Mark::of(Some(verdict)), count)).collect();
    let words: Vec<String> =
        parts.iter().map(|(mark, count)| format!("{count} {}", mark.word)).collect();
    html! {
        div.bar role="img" aria-label=(words.join(", ")) title=(words.join(", ")) {
            @for (mark, count) in &parts { span class=(mark.class) style={ "flex-grow:" (count) } {} }
        }
    }
}

fn filters() -> Markup {
    html! {
        form.filters.scripted role="search" aria-label="Filter the rules" {
            label.wide { "Search " kbd { "/" }
                input type="search" name="text" autocomplete="off" placeholder="id or words of a rule";
            }
            label { "Tier" select name="tier" {
                option value="" { "all" }
                @for tier in Tier::ALL { option { (tier.word()) } }
            } }
            label { "Level" select name="level" {
                option value="" { "all" }
                @for level in ["MUST", "SHOULD"] { option { (level) } }
            } }
            label { "Verdict of any" select name="verdict" {
                option value="" { "all" }
                @for verdict in VERDICTS {
                    @let mark = Mark::of(Some(verdict));
                    option value=(mark.class) { (mark.word) }
                }
                option value="differs" { "implementations differ" }
            } }
            output aria-live="polite" {}
        }
    }
}

fn table(implementations: &[Implementation<'_>]) -> Markup {
    let catalogue: Vec<RuleRef> = rules::catalogue().collect();
    let columns = implementations.len() + 1;
    html! {
        table.matrix {
            thead { tr {
                th scope="col" { "Rule" }
                @for implementation in implementations {
                    th scope="col" { span { (implementation.name()) " "
                        small { (implementation.version()) " " (implementation.plan) } } }
                }
            } }
            @for rules in catalogue.chunk_by(|left, right| left.subject() == right.subject()) {
                tbody {
                    tr.area { th colspan=(columns) scope="rowgroup" {
                        (rules.first().map_or("", |rule| rule.subject()))
                    } }
                    @for rule in rules { (row(rule, implementations)) }
                }
            }
        }
    }
}

fn row(rule: &Rule, implementations: &[Implementation<'_>]) -> Markup {
    let verdict = |implementation: &Implementation<'_>| {
        Mark::of(implementation.rule(rule.id).map(|rule| rule.verdict))
    };
    let marks: Vec<Mark> = implementations.iter().map(verdict).collect();
    let mut classes: Vec<&str> = marks.iter().map(|mark| mark.class).collect();
    classes.sort_unstable();
    classes.dedup();
    if classes.len() > 1 {
        classes.push("differs");
    }
    html! {
        tr data-tier=(rule.tier.word()) data-level=(rule.level) data-verdicts=(classes.join(" ")) {
            th scope="row" {
                a href={ "#" (rule_anchor(rule.id)) } { (rule.id) }
                " " span.tag { (rule.level) } " " span.tag { (rule.tier.word()) }
                p { (prose(rule.statement)) }
            }
            @for (mark, implementation) in marks.iter().zip(implementations) {
                td class=(mark.class) { (cell(rule.id, mark, implementation)) }
            }
        }
    }
}

/// A verdict; a broken one links to its failure, or to the rule if there are several.
fn cell(rule: &str, mark: &Mark, implementation: &Implementation<'_>) -> Markup {
    let anchors: Vec<&String> =
        implementation.failures_of(rule).map(|(anchor, _)| anchor).collect();
    let target = match anchors[..] {
        [] => None,
        [anchor] => Some(anchor.clone()),
        _ => Some(rule_anchor(rule)),
    };
    let content = html! {
        span aria-hidden="true" { (mark.symbol) }
        span.word { (mark.word) @if anchors.len() > 1 { " in " (anchors.len()) " ways" } }
    };
    match target {
        Some(anchor) => html! { a href={ "#" (anchor) } { (content) } },
        None => content,
    }
}
