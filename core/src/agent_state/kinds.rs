//! The four parts of the agent state that the seed names: the file of each, its format, and what users
//! see of it in a checkpoint.

use crate::store::object::{Kind as ObjectKind, id_of};
use serde_json::Value;

/// The number of tool calls that the tail of the history keeps.
pub const TAIL_MAX: usize = 50;

/// A part that many agents have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A board of cards: `{"cards": [{"id": "c1", "title": "…", "state": "doing"}]}`.
    Kanban,
    /// A goal: `{"active": "Ship it", "progress": 0.62}`.
    Goal,
    /// The head of the index of memories: `{"head": "mem_1", "entries": […]}`.
    Memory,
    /// The last calls of tools: `{"calls": […]}`.
    History,
}

impl Kind {
    /// All kinds, in the order in which a checkpoint shows them.
    pub const ALL: [Kind; 4] = [Kind::Kanban, Kind::Goal, Kind::Memory, Kind::History];

    /// Its name, which is also that of its file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Kanban => "kanban",
            Kind::Goal => "goal",
            Kind::Memory => "memory",
            Kind::History => "history",
        }
    }

    /// What users see of the state.
    // rule: agent/parts
    pub fn describe(self, state: &str) -> Vec<(String, Value)> {
        let parsed: Value = serde_json::from_str(state).unwrap_or_default();
        let count = |field: &str| parsed[field].as_array().map_or(0, Vec::len);
        let field_value = |field: &str| (field.to_owned(), parsed[field].clone());
        let hash = || ("hash".to_owned(), Value::from(short_hash(state)));
        match self {
            Kind::Kanban => vec![("cards".to_owned(), count("cards").into()), hash()],
            Kind::Goal => vec![field_value("active"), field_value("progress")],
            Kind::Memory => vec![field_value("head")],
            Kind::History => vec![("last_n".to_owned(), count("calls").into()), hash()],
        }
    }
}

/// The first digits of the hash of a text, as they are shown.
fn short_hash(text: &str) -> String {
    let id = id_of(ObjectKind::Blob, text.as_bytes()).to_string();
    id.get(..6).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn describe_summarizes_each_kind() {
        let about = |kind: Kind, state: Value| {
            let about = kind.describe(&state.to_string()).into_iter();
            about.filter(|(name, _)| name != "hash").collect::<Vec<_>>()
        };
        let named = |name: &str, value: Value| (name.to_owned(), value);
        assert_eq!(about(Kind::Kanban, json!({"cards": [1, 2]})), [named("cards", json!(2))]);
        assert_eq!(
            about(Kind::Goal, json!({"active": "ship", "progress": 0.5})),
            [named("active", json!("ship")), named("progress", json!(0.5))]
        );
        assert_eq!(about(Kind::Memory, json!({"head": "m"})), [named("head", json!("m"))]);
        assert_eq!(about(Kind::History, json!(null)), [named("last_n", json!(0))]);
    }
}
