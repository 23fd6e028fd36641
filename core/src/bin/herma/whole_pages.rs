//! Texts for people about the agent state, in the layout of the document that describes it
//! (`seed 003`): what was restored, which external actions were done, and what a checkpoint contains.

use crate::pages::Page;
use crate::text::{Style, Tone, count, line, local_time, short_id};
use herma_core::state::{Action, ActionStatus, Compensated, Decided, INTERRUPTED};
use herma_core::{ActionNote, AgentRestored, Envelope, Listed, PartNote, Remark};
use serde_json::Value;

/// Each part, its name in the answer of a rollback, and its name in an envelope.
const NAMES: [(&str, &str, &str); 4] = [
    ("kanban", "board", "kanban_state"),
    ("goal", "goal", "goal_state"),
    ("memory", "memories", "memory_index"),
    ("history", "latest tool calls", "tool_history_tail"),
];

fn names_of(part: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    NAMES.iter().find(|(name, ..)| *name == part)
}

/// The parts of the state that a rollback changed, or would change.
pub fn changed_parts(agent: &AgentRestored) -> impl Iterator<Item = String> {
    let is_changed = |part: &&PartNote| agent.changed.contains(&part.name);
    agent.parts.iter().filter(is_changed).map(|PartNote { name, .. }| {
        let name = names_of(name).map_or(name.as_str(), |(_, name, _)| name);
        format!("the agent's {name}")
    })
}

/// Notices, and the external actions since the checkpoint.
// rule: agent/external-listed
pub fn left_behind(style: Style, agent: &AgentRestored) -> String {
    let mut page = Page::default();
    let notable = style.paint(Tone::Notable, "⚠");
    for notice in &agent.notices {
        writeln!(page, "{notable} {}", line(notice));
    }
    if agent.external_actions.is_empty() {
        return page.0;
    }
    writeln!(
        page,
        "{notable} External actions since the checkpoint, which a rollback does not undo:"
    );
    for action in &agent.external_actions {
        writeln!(page, " - {} ({})", description(&action.note), line(&action.state));
    }
    writeln!(page, "Run /rollback-actions to compensate them, or /accept-external to accept them.");
    writeln!(page, "(On the command line: herma actions compensate, herma actions accept.)");
    page.0
}

fn description(note: &ActionNote) -> String {
    line(note.to_string())
}

/// All external actions.
pub fn actions(style: Style, actions: &[Action], is_running: bool) -> String {
    let mut page = Page::default();
    if actions.is_empty() {
        writeln!(page, "There are no external actions");
    }
    for action in actions {
        let (tone, state) = match &action.standing {
            ActionStatus::Begun => (Tone::Notable, "started, and may not have happened".to_owned()),
            ActionStatus::Open => (Tone::Place, "done".to_owned()),
            ActionStatus::Compensating if is_running => {
                (Tone::Notable, "is being compensated".to_owned())
            }
            ActionStatus::Compensating => (Tone::Bad, INTERRUPTED.to_owned()),
            ActionStatus::Compensated => (Tone::Good, "compensated".to_owned()),
            ActionStatus::Failed { why } => (Tone::Bad, format!("compensation failed: {why}")),
            ActionStatus::Accepted => (Tone::Good, "accepted".to_owned()),
        };
        let left = match &action.left_by {
            Some(id) if action.standing.is_undecided() => {
                let project = action.left_in.as_deref();
                let project = project.map_or_else(String::new, |project| format!(" in {project}"));
                format!(", left behind by a rollback to {}{project}", short_id(id))
            }
            _ => String::new(),
        };
        let state = style.paint(tone, &line(state));
        let left = line(left);
        let number = action.note.number;
        writeln!(page, "  {number}. {} ({state}{left})", description(&action.note));
    }
    page.0
}

/// Every decision about an external action.
pub fn audit(decisions: &[Decided]) -> String {
    let mut page = Page::default();
    if decisions.is_empty() {
        writeln!(page, "There are no decisions");
    }
    for Decided { at, who: actor, action, what: decision } in decisions {
        let time = local_time(*at);
        let actor = line(actor);
        writeln!(page, "  {time}  {action}. {} ({actor})", line(decision));
    }
    page.0
}

/// The actions whose effects were accepted.
pub fn accepted(style: Style, actions: &[ActionNote]) -> String {
    let mut page = Page::default();
    if actions.is_empty() {
        writeln!(page, "There is nothing to accept");
    }
    let good = style.paint(Tone::Good, "✓");
    for note in actions {
        writeln!(page, "{good} Accepted {}", description(note));
    }
    page.0
}

/// The results of compensations; `waiting` other ones run again only on request.
pub fn compensated(style: Style, compensated: &[Compensated], waiting: usize) -> String {
    let mut page = Page::default();
    if compensated.is_empty() {
        writeln!(page, "There is nothing to compensate");
    }
    if waiting > 0 {
        let failed = count(waiting, "compensation", "compensations");
        writeln!(
            page,
            "{failed} failed or were interrupted: --again runs them again, even if they had their effect"
        );
    }
    for Compensated { note, failure } in compensated {
        match failure {
            None => {
                let good = style.paint(Tone::Good, "✓");
                writeln!(page, "{good} Compensated {}", description(note));
            }
            Some(reason) => {
                let bad = style.paint(Tone::Bad, "✗");
                let reason = line(reason);
                writeln!(page, "{bad} Failed to compensate {}: {reason}", description(note));
            }
        }
    }
    page.0
}

/// A value as a YAML scalar, since every JSON scalar is one.
fn scalar(value: &Value) -> String {
    line(value.to_string())
}

fn quoted(text: &str) -> String {
    scalar(&Value::from(text))
}

/// What a checkpoint carries, as YAML.
// rule: agent/parts
pub fn envelope(id: &str, listed: Option<&Listed>, envelope: Option<&Envelope>) -> String {
    let mut page = Page::default();
    writeln!(page, "checkpoint:");
    writeln!(page, "  id: {id}");
    let Some(envelope) = envelope else {
        if let Some(checkpoint) = listed {
            writeln!(page, "  taken_at: {}", quoted(&utc(checkpoint.time)));
            writeln!(page, "  reason: {}", quoted(&checkpoint.reason));
            writeln!(page, "  pinned: {}", checkpoint.pinned);
        }
        writeln!(page, "  # only files, no agent state");
        return page.0;
    };
    writeln!(page, "  taken_at: {}", quoted(&utc(envelope.taken_at)));
    writeln!(page, "  trigger: {}", envelope.trigger.word());
    writeln!(page, "  reason: {}", quoted(&envelope.reason));
    if let Some(label) = &envelope.label {
        writeln!(page, "  label: {}", quoted(label));
    }
    writeln!(page, "  pinned: {}", listed.is_some_and(|checkpoint| checkpoint.pinned));
    if let Some(turn) = &envelope.turn {
        writeln!(page, "  turn: {}", quoted(turn));
    }
    writeln!(page, "  contents:");
    writeln!(page, "    workdir_diff:");
    let base = envelope.base.as_deref().unwrap_or("null");
    writeln!(page, "      base: {base}");
    writeln!(page, "      tree: {}", envelope.tree);
    for part in &envelope.parts {
        let name = names_of(&part.name).map_or(&part.name[..], |(.., name)| name);
        writeln!(page, "    {name}:");
        for (name, value) in &part.about {
            writeln!(page, "      {name}: {}", scalar(value));
        }
    }
    writeln!(page, "  external_actions:");
    let is_empty = envelope.external_actions.is_empty();
    writeln!(page, "    since_last_checkpoint:{}", if is_empty { " []" } else { "" });
    for ActionNote { kind, id, to, .. } in &envelope.external_actions {
        let details = [("id", id), ("to", to)].into_iter();
        let details = details.filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let details: String =
            details.map(|(name, value)| format!(", {name}: {}", quoted(value))).collect();
        writeln!(page, "      - {{ kind: {}{details} }}", quoted(kind));
    }
    page.0
}

/// The paths that a checkpoint left out, as another entry of this YAML.
// rule: restore/left-out
pub fn left_out(left_out: &[Remark]) -> String {
    let mut page = Page::default();
    if !left_out.is_empty() {
        writeln!(page, "  left_out:");
    }
    for Remark { path, why } in left_out {
        let path = quoted(&path.escape_ascii().to_string());
        writeln!(page, "    - {{ path: {path}, why: {} }}", quoted(why));
    }
    page.0
}

/// A time in the format of envelopes.
fn utc(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .map_or_else(|_| format!("@{seconds}"), |moment| moment.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_out_quotes_paths_and_reasons_as_yaml() {
        let why = "part of a \"database\"".to_owned();
        let remarks = [Remark { path: b"caf\xe9".to_vec(), why }];
        let entry = "  left_out:\n    - { path: \"caf\\\\xe9\", why: ";
        assert!(left_out(&remarks).starts_with(entry), "{}", left_out(&remarks));
        assert_eq!(left_out(&[]), "");
    }
}
