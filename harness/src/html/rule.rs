//! A section for each rule: its record, its verdicts, the written cases that test it, and the planted bugs that
//! break it.

use super::{Implementation, Mark, prose, rule_anchor};
use crate::cases::{self, Case};
use crate::history::file::HistoryError;
use crate::planted::{self, PlantedBug};
use crate::results::excused;
use herma_model::rules::{self, RuleRef};
use maud::{Markup, html};

pub(super) fn sections(implementations: &[Implementation<'_>]) -> Result<Markup, HistoryError> {
    let cases = cases::bundled()?;
    Ok(html! {
        @for rule in rules::catalogue() { (section(rule, implementations, &cases)) }
    })
}

fn section(rule: RuleRef, implementations: &[Implementation<'_>], cases: &[Case]) -> Markup {
    let anchor = rule_anchor(rule.id);
    let covering: Vec<&Case> =
        cases.iter().filter(|case| case.rules().any(|covered| covered == rule)).collect();
    let bugs: Vec<&PlantedBug> = planted::catalogue().filter(|bug| bug.rule == rule).collect();
    let uses_git = |implementation: &Implementation<'_>| implementation.results.started.uses_git;
    let hint = rule.hint_for(implementations.iter().any(uses_git));
    html! {
        section.view #(anchor) aria-labelledby={ (anchor) "-title" } {
            p.path { a href="#rules" { "Rules" } " / " (rule.subject()) }
            h2 id={ (anchor) "-title" } tabindex="-1" { (rule.id) }
            p.lead { (prose(rule.statement)) }
            dl.facts {
                div { dt { "Level" } dd { (rule.level) } }
                div { dt { "Tier" } dd { (rule.tier.word()) } }
                div { dt { "Since" } dd { (rule.since) } }
                div { dt { "Source" } dd { (rule.source) } }
                div { dt { "Needs" } dd {
                    @if rule.needs.is_empty() { "no capability" }
                    @for need in rule.needs { code { (need) } " " }
                } }
            }
            h3 { "Verdicts" }
            (verdicts(rule, implementations))
            p { strong { "Usual cause of a failure: " } (prose(hint)) }
            h3 { "Written cases " span.count { (covering.len()) } }
            @if covering.is_empty() { p.dim { "none" } }
            ul.list { @for case in covering { li {
                code { (case.id) } ": " (prose(&case.origin))
            } } }
            h3 { "Planted bugs " span.count { (bugs.len()) } }
            @if bugs.is_empty() { p.dim { "none" } }
            ul.list { @for bug in bugs { li { code { (bug.name) } ": " (prose(bug.about)) } } }
        }
    }
}

fn verdicts(rule: RuleRef, implementations: &[Implementation<'_>]) -> Markup {
    html! {
        ul.verdicts { @for implementation in implementations {
            @let judged = implementation.rule(rule.id);
            li {
                (Mark::of(judged.map(|rule| rule.verdict)).in_full())
                div {
                    strong { (implementation.title()) }
                    @if let Some(judged) = judged {
                        span.dim { " " (judged.checks) " checks"
                            @if let Some(text) = excused::of_rule(judged) { ", " (text) }
                            @if let Some(why) = judged.why_not() { ": " (prose(&why)) }
                        }
                    }
                    @for (anchor, failure) in implementation.failures_of(rule.id) {
                        p { a href={ "#" (anchor) } { (failure.fingerprint.symptom) }
                            " expected " code { (failure.expected) } ", found " code { (failure.found) }
                        }
                    }
                }
            }
        } }
    }
}
