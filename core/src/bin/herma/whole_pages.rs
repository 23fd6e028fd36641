//! What people read about an agent's state beside its files, in the layout of the document that
//! describes it: what came back, what was done outside, and what a checkpoint carries.

use crate::pages::Page;
use crate::text::{Style, Tone, count, line, local_time};
use crate::whole::since;
use herma_core::printed::{SHORT, short};
use herma_core::state::{Action, Compensated, Decided, INTERRUPTED, Standing};
use herma_core::{ActionNote, AgentRestored, Envelope, Listed, PartNote, Remark, Restored};
use serde_json::Value;

/// What a person calls a part after a rollback, and in an envelope.
const NAMES: [(&str, &str, &str); 4] = [
    ("kanban", "kanban state", "kanban_state"),
    ("goal", "goal state", "goal_state"),
    ("memory", "memory index head", "memory_index"),
    ("history", "tool history tail", "tool_history_tail"),
];

fn known(part: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    NAMES.iter().find(|(name, ..)| *name == part)
}

fn called(part: &str) -> &str {
    known(part).map_or(part, |(_, called, _)| called)
}

/// A part and how much of it there is.
fn told(part: &PartNote) -> String {
    let amount = part.about.iter().find_map(|(name, value)| match (&name[..], value.as_u64()) {
        ("cards", Some(number)) => Some(count(number as usize, "card", "cards")),
        ("last_n", Some(number)) => Some(count(number as usize, "call", "calls")),
        _ => None,
    });
    let amount = amount.map_or_else(String::new, |amount| format!(" ({amount})"));
    format!("{}{amount}", called(&part.name))
}

/// What a rollback of a whole agent did; the paths follow on their own.
// rule: agent/external-listed
pub fn rolled_back(style: Style, restored: &Restored, agent: &AgentRestored) -> String {
    let mut page = Page::default();
    let id = short(style, &restored.id);
    match agent.trigger {
        Some(trigger) => page.line(format_args!(
            "Rolling back to {id} ({}, {}).",
            trigger.word(),
            since(agent.taken_at)
        )),
        None => page.line(format_args!("Rolling back to {id}.")),
    }
    let good = style.paint(Tone::Good, "✓");
    let files = |number: usize| count(number, "file", "files");
    if !restored.restored.is_empty() {
        let number = restored.restored.len();
        page.line(format_args!("{good} Restored {}", files(number)));
    }
    if !restored.removed.is_empty() {
        page.line(format_args!("{good} Removed {}", files(restored.removed.len())));
    }
    for part in &agent.parts {
        page.line(format_args!("{good} Restored {}", told(part)));
    }
    page.0 += &left_behind(style, agent);
    page.0
}

/// What a rollback would do beside files.
pub fn would_roll_back(style: Style, agent: &AgentRestored) -> String {
    let mut page = Page::default();
    for part in &agent.parts {
        page.line(format_args!("  restore  {}", told(part)));
    }
    page.0 += &left_behind(style, agent);
    page.0
}

/// What was done outside since, and what else a person should know.
fn left_behind(style: Style, agent: &AgentRestored) -> String {
    let mut page = Page::default();
    let notable = style.paint(Tone::Notable, "⚠");
    for notice in &agent.notices {
        page.line(format_args!("{notable} {}", line(notice.as_bytes())));
    }
    if agent.external_actions.is_empty() {
        return page.0;
    }
    page.line(format_args!("{notable} External actions since checkpoint:"));
    for one in &agent.external_actions {
        page.line(format_args!(" - {} ({})", action(&one.note), line(one.state.as_bytes())));
    }
    page.line("Run /rollback-actions to compensate, or /accept-external to keep as-is.");
    page.line("(On the command line: herma actions compensate, herma actions accept.)");
    page.0
}

fn action(note: &ActionNote) -> String {
    line(note.to_string().as_bytes())
}

/// Everything that was done outside.
pub fn actions(style: Style, all: &[Action], is_running: bool) -> Vec<u8> {
    let mut page = Page::default();
    if all.is_empty() {
        page.line("Nothing was done outside");
    }
    for one in all {
        let (tone, state) = match &one.standing {
            Standing::Begun => (Tone::Notable, "began, and may not have happened".to_owned()),
            Standing::Open => (Tone::Place, "done".to_owned()),
            Standing::Compensating if is_running => {
                (Tone::Notable, "is being compensated".to_owned())
            }
            Standing::Compensating => (Tone::Bad, INTERRUPTED.to_owned()),
            Standing::Compensated => (Tone::Good, "compensated".to_owned()),
            Standing::Failed { why } => (Tone::Bad, format!("its compensation failed: {why}")),
            Standing::Accepted => (Tone::Good, "stays".to_owned()),
        };
        let left = match &one.left_by {
            Some(id) if one.standing.is_undecided() => {
                let place = one.left_in.as_deref();
                let place = place.map_or_else(String::new, |place| format!(" in {place}"));
                format!(", left behind by a rollback to {}{place}", id.get(..SHORT).unwrap_or(id))
            }
            _ => String::new(),
        };
        let (state, left) = (style.paint(tone, &line(state.as_bytes())), line(left.as_bytes()));
        let number = one.note.number;
        page.line(format_args!("  {number}. {} ({state}{left})", action(&one.note)));
    }
    page.0.into_bytes()
}

/// Every decision.
pub fn audit(all: &[Decided]) -> Vec<u8> {
    let mut page = Page::default();
    if all.is_empty() {
        page.line("Nothing was decided");
    }
    for Decided { at, who, action, what } in all {
        let (time, who) = (local_time(*at), line(who.as_bytes()));
        page.line(format_args!("  {time}  {action}. {} ({who})", line(what.as_bytes())));
    }
    page.0.into_bytes()
}

/// What stays from now on.
pub fn accepted(style: Style, all: &[ActionNote]) -> Vec<u8> {
    let mut page = Page::default();
    if all.is_empty() {
        page.line("There was nothing to decide about");
    }
    let good = style.paint(Tone::Good, "✓");
    for one in all {
        page.line(format_args!("{good} {} stays", action(one)));
    }
    page.0.into_bytes()
}

/// What compensations came to.
pub fn compensated(style: Style, all: &[Compensated], waiting: usize) -> Vec<u8> {
    let mut page = Page::default();
    if all.is_empty() {
        page.line("There was nothing to compensate");
    }
    if waiting > 0 {
        let failed = count(waiting, "compensation", "compensations");
        page.line(format_args!(
            "{failed} failed or ended before anybody knew how: with --again they are tried once more, also \
             where they had their effect"
        ));
    }
    for Compensated { note, failure } in all {
        match failure {
            None => {
                let good = style.paint(Tone::Good, "✓");
                page.line(format_args!("{good} Compensated {}", action(note)));
            }
            Some(why) => {
                let bad = style.paint(Tone::Bad, "✗");
                let why = line(why.as_bytes());
                page.line(format_args!("{bad} {} was not compensated: {why}", action(note)));
            }
        }
    }
    page.0.into_bytes()
}

/// A text as a scalar of YAML, which JSON's are.
fn scalar(value: &Value) -> String {
    line(value.to_string().as_bytes())
}

fn quoted(text: &str) -> String {
    scalar(&Value::from(text))
}

/// What a checkpoint carries, as YAML.
// rule: agent/parts
pub fn envelope(id: &str, listed: Option<&Listed>, envelope: Option<&Envelope>) -> String {
    let mut page = Page::default();
    page.line("checkpoint:");
    page.line(format_args!("  id: {id}"));
    let Some(envelope) = envelope else {
        if let Some(one) = listed {
            page.line(format_args!("  taken_at: {}", quoted(&utc(one.time))));
            page.line(format_args!("  reason: {}", quoted(&one.reason)));
        }
        page.line("  # it carries nothing beside its files");
        return page.0;
    };
    page.line(format_args!("  taken_at: {}", quoted(&utc(envelope.taken_at))));
    page.line(format_args!("  trigger: {}", envelope.trigger.word()));
    page.line(format_args!("  reason: {}", quoted(&envelope.reason)));
    if let Some(label) = &envelope.label {
        page.line(format_args!("  label: {}", quoted(label)));
    }
    page.line(format_args!("  pinned: {}", listed.is_some_and(|one| one.pinned)));
    if let Some(turn) = &envelope.turn {
        page.line(format_args!("  turn: {}", quoted(turn)));
    }
    page.line("  contents:");
    page.line("    workdir_diff:");
    let base = envelope.base.as_deref().unwrap_or("null");
    page.line(format_args!("      base: {base}"));
    page.line(format_args!("      tree: {}", envelope.tree));
    for part in &envelope.parts {
        let name = known(&part.name).map_or(&part.name[..], |(.., name)| name);
        page.line(format_args!("    {name}:"));
        for (name, value) in &part.about {
            page.line(format_args!("      {name}: {}", scalar(value)));
        }
    }
    page.line("  external_actions:");
    let none = envelope.external_actions.is_empty();
    page.line(format_args!("    since_last_checkpoint:{}", if none { " []" } else { "" }));
    for ActionNote { kind, id, to, .. } in &envelope.external_actions {
        let more = [("id", id), ("to", to)].into_iter();
        let more = more.filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let more: String =
            more.map(|(name, value)| format!(", {name}: {}", quoted(value))).collect();
        page.line(format_args!("      - {{ kind: {}{more} }}", quoted(kind)));
    }
    page.0
}

/// What a checkpoint left out, as a further entry of that YAML.
// rule: restore/left-out
pub fn left_out(left_out: &[Remark]) -> String {
    let mut page = Page::default();
    if !left_out.is_empty() {
        page.line("  left_out:");
    }
    for Remark { path, why } in left_out {
        let path = quoted(&path.escape_ascii().to_string());
        page.line(format_args!("    - {{ path: {path}, why: {} }}", quoted(why)));
    }
    page.0
}

/// A time as it is written in an envelope.
fn utc(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .map_or_else(|_| format!("@{seconds}"), |moment| moment.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_checkpoint_left_out_is_quoted_as_yaml() {
        let why = "part of a \"database\"".to_owned();
        let one = [Remark { path: b"caf\xe9".to_vec(), why }];
        let entry = "  left_out:\n    - { path: \"caf\\\\xe9\", why: ";
        assert!(left_out(&one).starts_with(entry), "{}", left_out(&one));
        assert_eq!(left_out(&[]), "");
    }
}
