//! The versions of one implementation: how many rules have each verdict, and what changed from one to the next.

use super::{Implementation, matrix, rule_anchor};
use crate::results::delta::{ChangedRule, delta, verdict_word};
use maud::{Markup, html};

/// The section; nothing if every implementation has one set of results.
pub(super) fn section(implementations: &[Implementation<'_>]) -> Option<Markup> {
    let histories = implementations.chunk_by(|left, right| left.name() == right.name());
    let histories: Vec<_> = histories.filter(|versions| versions.len() > 1).collect();
    (!histories.is_empty()).then(|| html! {
        section.view #versions aria-labelledby="versions-title" {
            h2 #versions-title tabindex="-1" { "Versions" }
            @for versions in histories {
                h3 { (versions.first().map_or("", Implementation::name)) }
                ol.versions {
                    @for (index, version) in versions.iter().enumerate() {
                        li {
                            h4 { (version.version()) " " small { (version.plan) } }
                            (matrix::bar(version))
                            @if let Some(previous) = index.checked_sub(1).and_then(|index| versions.get(index)) {
                                (changes(previous, version))
                            }
                        }
                    }
                }
            }
        }
    })
}

fn changes(previous: &Implementation<'_>, version: &Implementation<'_>) -> Markup {
    let delta = delta(previous.results, version.results);
    html! {
        @if delta.is_empty() { p.dim { "no rule changed" } }
        (list("Newly broken", "broken", &delta.broken))
        (list("Newly held", "held", &delta.held))
        (list("No longer judged", "not-exercised", &delta.vanished))
        @for caveat in &delta.caveats { p.dim { "Note: " (caveat) "." } }
    }
}

fn list(title: &str, class: &str, changes: &[ChangedRule]) -> Markup {
    html! { @if !changes.is_empty() {
        p { span class={ "mark " (class) } { (title) ": " (changes.len()) } }
        ul.list { @for change in changes { li {
            a href={ "#" (rule_anchor(&change.rule)) } { (change.rule) }
            span.dim { " " (verdict_word(change.before)) " → " (verdict_word(change.after)) " " (change.detail) }
        } } }
    } }
}
