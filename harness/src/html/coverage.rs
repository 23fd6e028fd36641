//! What was generated and what never was: how often each request was made, in which states and with which outcomes,
//! which behaviours only other results have, and which rules no history exercised.

use super::{Implementation, prose, rule_anchor};
use crate::coverage::Behaviour;
use crate::results::text::counted;
use crate::results::{MetBehaviour, RuleJudged};
use crate::suite::Verdict;
use herma_model::request::{Effect, REQUESTS, RequestKind};
use maud::{Markup, html};
use std::collections::BTreeSet;

pub(super) fn section(implementations: &[Implementation<'_>]) -> Markup {
    let requests: Vec<&RequestKind> =
        REQUESTS.iter().filter(|kind| kind.effect != Effect::Tells).collect();
    html! {
        section.view #coverage aria-labelledby="coverage-title" {
            h2 #coverage-title tabindex="-1" { "Coverage" }
            p.lead { "How often each request was made and judged. A rule that held is not verified for \
                      situations that never occurred." }
            div.scroll tabindex="0" role="region" aria-label="Requests" { table.counts {
                thead { tr {
                    th scope="col" { "Request" }
                    @for implementation in implementations { th scope="col" { (implementation.title()) } }
                } }
                tbody { @for kind in &requests { tr {
                    th scope="row" { code { (kind.name) } }
                    @for implementation in implementations { (count(kind, implementation)) }
                } } }
            } }
            @for implementation in implementations { (details(implementation, implementations)) }
        }
    }
}

/// The behaviours of a request; an exact restore is a request of the same name.
fn of_request<'a>(
    kind: &RequestKind,
    implementation: &Implementation<'a>,
) -> impl Iterator<Item = &'a MetBehaviour> {
    let is_of_kind =
        |met: &&MetBehaviour| met.behaviour.operation.split(',').next() == Some(kind.name);
    implementation.results.coverage.iter().filter(is_of_kind)
}

fn count(kind: &RequestKind, implementation: &Implementation<'_>) -> Markup {
    let times: u64 = of_request(kind, implementation).map(|met| met.times).sum();
    let capabilities = &implementation.results.started.capabilities;
    let lacking = kind.capability.filter(|(name, _)| !capabilities.iter().any(|has| has == name));
    html! {
        @if times > 0 { td { (times) " " span.dim { "in "
            (counted(of_request(kind, implementation).count() as u64, "way", "ways")) } } }
        @else if let Some((name, _)) = lacking { td.not-applicable { "never" span.dim { ": lacks " code { (name) } } } }
        @else { td.not-exercised { "never" } }
    }
}

fn details(implementation: &Implementation<'_>, implementations: &[Implementation<'_>]) -> Markup {
    let finished = &implementation.results.finished;
    let depth = &finished.depth;
    let own: BTreeSet<&Behaviour> = behaviours(implementation).collect();
    let all: BTreeSet<&Behaviour> = implementations.iter().flat_map(behaviours).collect();
    let only_others: Vec<&&Behaviour> = all.difference(&own).collect();
    let rules = implementation.results.rules.iter();
    let unexercised: Vec<&RuleJudged> =
        rules.filter(|rule| rule.verdict == Verdict::NotExercised).collect();
    html! {
        h3 { (implementation.title()) }
        p { (depth.drawn) " operations generated, " (depth.judged) " judged (" (depth.after_failure)
            " of them after a failure), " (depth.not_asked) " skipped for lack of a capability, "
            (depth.not_reached) " not reached; " (finished.injections) " injections; " (own.len())
            " behaviours covered (class of state, request, outcome)." }
        @if !depth.ended_early.is_empty() { ul.list {
            @for (failure, times) in &depth.ended_early { li { (times) " ended early at " (failure) } }
        } }
        details { summary { "Rules that no history exercised: " (unexercised.len()) }
            ul.list { @for rule in unexercised { li {
                a href={ "#" (rule_anchor(&rule.id)) } { (rule.id) } ": " (prose(&rule.why_not().unwrap_or_default()))
            } } }
        }
        details { summary { "Behaviours that occurred: " (own.len()) }
            (table(implementation.results.coverage.iter().map(|met| (&met.behaviour, Some(met.times)))))
        }
        @if implementations.len() > 1 {
            details { summary { "Behaviours that only other results have: " (only_others.len()) }
                (table(only_others.into_iter().map(|behaviour| (*behaviour, None))))
            }
        }
    }
}

fn behaviours<'a>(implementation: &Implementation<'a>) -> impl Iterator<Item = &'a Behaviour> {
    implementation.results.coverage.iter().map(|met| &met.behaviour)
}

fn table<'a>(behaviours: impl Iterator<Item = (&'a Behaviour, Option<u64>)>) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label="Behaviours" { table.counts {
        thead { tr { th scope="col" { "Request" } th scope="col" { "State before" }
            th scope="col" { "Outcome" } th scope="col" { "Times" } } }
        tbody { @for (behaviour, times) in behaviours { tr {
            td { code { (behaviour.operation) } } td { (behaviour.state) } td { (behaviour.outcome) }
            td { @match times { Some(times) => (times), None => "never" } }
        } } }
    } } }
}
