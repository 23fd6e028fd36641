//! The failures: their list, and a section for each with its counterexample as a timeline.

use super::{Implementation, copied, prose, rule_anchor};
use crate::history::file::to_yaml;
use crate::results::FailureFound;
use crate::results::text::{UNSTABLE, again, counted};
use crate::transcript::TreesOfRequest;
use herma_model::plain::plain;
use maud::{Markup, html};
use std::collections::BTreeSet;

/// The list of the failures, for each implementation the worst first; failures with one cause follow one another.
pub(super) fn index(implementations: &[Implementation<'_>]) -> Markup {
    html! {
        section.view #failures aria-labelledby="failures-title" {
            h2 #failures-title tabindex="-1" { "Failures" }
            @for implementation in implementations {
                h3 { (implementation.title()) " " span.count { (implementation.failures.len()) } }
                @if implementation.failures.is_empty() { p.dim { "no failure" } }
                ul.failures { @for entry in implementation.entries() {
                    @for (index, (anchor, failure)) in entry.iter().enumerate() { li {
                        a href={ "#" (anchor) } {
                            span.of {
                                @if index == 0 { span.mark.broken { (failure.severity) } }
                                @else { span.dim { "also breaks" } }
                            } " "
                            strong { (failure.fingerprint.rule) } " "
                            span { (failure.fingerprint.symptom) }
                        }
                    } }
                } }
                (following(implementation))
            }
        }
    }
}

fn following(implementation: &Implementation<'_>) -> Markup {
    let following = &implementation.results.following;
    html! { @if !following.is_empty() { details {
        summary { (following.len()) " more that were seen only after another failure" }
        ul.list { @for difference in following { li {
            (difference.fingerprint) " after " (difference.seen.follows)
        } } }
    } } }
}

pub(super) fn sections(implementations: &[Implementation<'_>]) -> Markup {
    html! { @for implementation in implementations { @for (anchor, failure) in &implementation.failures {
        (section(anchor, failure, implementation))
    } } }
}

fn section(anchor: &str, failure: &FailureFound, implementation: &Implementation<'_>) -> Markup {
    let rule = &failure.fingerprint.rule;
    html! {
        section.view #(anchor) aria-labelledby={ (anchor) "-title" } {
            p.path { a href="#failures" { "Failures" } " / " (implementation.title()) }
            h2 id={ (anchor) "-title" } tabindex="-1" {
                a href={ "#" (rule_anchor(rule)) } { (rule) } ": " (failure.fingerprint.symptom)
            }
            p.lead { (prose(&failure.statement)) }
            p { span.mark.broken { (failure.severity) } " "
                span.dim { "judged by " (failure.judge) " at operation " (failure.operation) ", in "
                    (counted(failure.histories, "history", "histories")) "; first in " (failure.origin) "; "
                    (again(failure)) }
            }
            @if failure.is_unstable() { p { strong { "Unstable: " } (UNSTABLE) } }
            div.compared {
                div { h3 { "Expected" } p { code { (failure.expected) } } }
                div { h3 { "Found" } p { code { (failure.found) } } }
            }
            h3 { "What happened" }
            (timeline(failure))
            @if !failure.tree.is_empty() {
                h3 { "Files that differ from what the rule allows" }
                (difference(&failure.tree))
            }
            @if !failure.also.is_empty() {
                p { strong { "The same operation also broke: " } (failure.also.join("; ")) }
            }
            @if let Some(hint) = &failure.hint { p { strong { "Usual cause: " } (prose(hint)) } }
            @if let Some(question) = &failure.question { p { strong { "Question: " } (prose(question)) } }
            h3 { "Again" }
            p { "The command that replays it:" }
            (copied(&failure.replay))
            @if let Some(export) = export(failure, implementation) {
                p { "The command that prints it as a script without this suite:" }
                (copied(&export))
            }
            details { summary { "The history as YAML" } (copied(&to_yaml(&failure.history))) }
        }
    }
}

/// The command that exports the history; a script cannot drive the core, which has no adapter command.
fn export(failure: &FailureFound, implementation: &Implementation<'_>) -> Option<String> {
    let arguments = failure.replay.strip_prefix("herma-conform replay ")?;
    let is_core = implementation.name() == "herma-core" && !arguments.contains(" -- ");
    (!is_core).then(|| format!("herma-conform export {arguments} > failure.sh"))
}

/// The requests and replies with the edits between them; of a known failure, the operations of its history.
fn timeline(failure: &FailureFound) -> Markup {
    let conditions = failure.history.conditions();
    if failure.asked.is_empty() {
        return html! { ol.timeline {
            @for line in conditions { li.condition { code { (line) } } }
            @for (index, operation) in failure.history.operations.iter().enumerate() {
                li.edit.fails[index + 1 == failure.operation] { code { (plain(operation)) } }
            }
        } };
    }
    let requests = failure.asked.iter().filter(|line| line.starts_with("> ")).count();
    let mut trees = failure.trees.iter();
    let mut request = 0;
    let mut lines = failure.asked.iter().enumerate().peekable();
    let mut steps = Vec::new();
    while let Some((index, line)) = lines.next() {
        let Some(sent) = line.strip_prefix("> ") else {
            steps.push(event(line, index < conditions.len()));
            continue;
        };
        let reply = lines.next_if(|(_, line)| line.starts_with("< "));
        let reply = reply.map_or("", |(_, line)| &line[2..]);
        request += 1;
        steps.push(exchange(sent, reply, trees.next(), request == requests));
    }
    html! { ol.timeline { @for step in steps { (step) } } }
}

/// A line between requests: an initial condition, an injection, or an edit of files.
fn event(line: &str, is_condition: bool) -> Markup {
    let is_injection =
        ["at call ", "beside ", "in the base "].iter().any(|start| line.starts_with(start));
    html! {
        @if is_condition { li.condition { b { "condition" } " " code { (line) } } }
        @else if is_injection { li.injection { b { "injection" } " " code { (line) } } }
        @else { li.edit { b { "edit" } " " code { (line) } } }
    }
}

/// A request and its reply, with the files around it.
fn exchange(sent: &str, reply: &str, trees: Option<&TreesOfRequest>, is_last: bool) -> Markup {
    let sent_fields: Option<serde_json::Value> = serde_json::from_str(sent).ok();
    let operation = sent_fields.as_ref().and_then(|fields| fields.get("op")?.as_str());
    html! {
        li.request.fails[is_last] {
            b { (operation.unwrap_or("request")) }
            @if let Some(trees) = trees { " " span.dim { "operation " (trees.operation) } }
            @if is_last { " " span.mark.broken { "here the rule is broken" } }
            pre.line tabindex="0" { span.dim { "> " } (sent) "\n" span.dim { "< " } (reply) }
            @if let Some(trees) = trees { (files(trees, is_last)) }
        }
    }
}

/// The files before and after a request, side by side; a changed line is marked.
fn files(trees: &TreesOfRequest, is_open: bool) -> Markup {
    let before: BTreeSet<&String> = trees.before.iter().collect();
    let after: BTreeSet<&String> = trees.after.iter().collect();
    let changed = before.symmetric_difference(&after).count();
    let list = |lines: &[String], others: &BTreeSet<&String>, class: &str| {
        html! {
            @if lines.is_empty() { p.dim { "as at the beginning" } }
            ul.tree { @for line in lines {
                li class=(if others.contains(line) { "" } else { class }) { code { (line) } }
            } }
        }
    };
    html! {
        details open[is_open] {
            summary { "Files: "
                @if changed == 0 { "not changed" } @else { "changed by this request" } }
            div.compared {
                div { h4 { "Before" } (list(&trees.before, &after, "removed")) }
                div { h4 { "After" } (list(&trees.after, &before, "added")) }
            }
        }
    }
}

/// The lines of a difference, `-` as expected and `+` as found.
fn difference(lines: &[String]) -> Markup {
    html! { ul.tree { @for line in lines {
        @match line.split_at_checked(2) {
            Some(("- ", rest)) => li.removed { b { "expected " } code { (rest) } },
            Some(("+ ", rest)) => li.added { b { "found " } code { (rest) } },
            _ => li { code { (line) } },
        }
    } } }
}
