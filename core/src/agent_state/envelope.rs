//! What a checkpoint holds in addition to its files: why it was taken, its label, the parts of the
//! agent's state, and the agent's external actions since the checkpoint before.
//!
//! This module defines the content and format of an envelope; [`crate::agent_state::envelopes`] stores it.

use crate::policy::Trigger;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version that is written. An envelope of a later version is not read.
pub const VERSION: u32 = 1;

/// A part of the agent's state in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartNote {
    /// The name of the part.
    pub name: String,
    /// The blob that holds it, by its full id.
    pub hash: String,
    /// What is printed about it, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<(String, Value)>,
}

/// An external action of the agent, which no restore undoes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionNote {
    /// Its number among the external actions of the agent; later ones have larger numbers.
    pub number: u64,
    /// What was done, such as `github.pr.opened`.
    pub kind: String,
    /// The id of the affected object, such as `1234`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The recipient, such as `#eng`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// What a checkpoint holds in addition to its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// The version of the format; see [`VERSION`].
    pub version: u32,
    /// When the checkpoint was taken, in seconds since the epoch.
    pub taken_at: i64,
    /// Why it was taken, as a category.
    pub trigger: Trigger,
    /// Why it was taken, in the words of the caller.
    pub reason: String,
    /// The name that the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The id of the conversation turn that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The checkpoint before it, by its full id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The tree of its files, by its full id.
    pub tree: String,
    /// The parts of the agent's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartNote>,
    /// The external actions of the agent since the checkpoint before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_actions: Vec<ActionNote>,
    /// The number of the last external action of the agent.
    #[serde(default)]
    pub external_through: u64,
}

/// The version of an envelope, which every version of the format has.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Envelope {
    /// Serializes the envelope as it is stored.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec_pretty(self)
    }

    /// Parses a stored envelope, or returns why it cannot be read.
    pub fn of_json(bytes: &[u8]) -> Result<Self, String> {
        let unreadable =
            |error: serde_json::Error| format!("the agent state in it is unreadable: {error}");
        let Versioned { version } = serde_json::from_slice(bytes).map_err(unreadable)?;
        if version > VERSION {
            return Err(format!(
                "the agent state in it has version {version}, but this herma knows only versions up to {VERSION}"
            ));
        }
        serde_json::from_slice(bytes).map_err(unreadable)
    }

    /// The names and blob ids of the parts.
    pub fn blobs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().map(|part| (&part.name[..], &part.hash[..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope() -> Envelope {
        let about = vec![("cards".to_owned(), Value::from(14))];
        Envelope {
            version: VERSION,
            taken_at: 1,
            trigger: Trigger::PreDestructiveAction,
            reason: "About to run migration 042".into(),
            label: Some("before".into()),
            turn: None,
            base: None,
            tree: "0".repeat(40),
            parts: vec![PartNote { name: "kanban".into(), hash: "1".repeat(40), about }],
            external_actions: vec![ActionNote {
                number: 1,
                kind: "github.pr.opened".into(),
                id: Some("1234".into()),
                to: None,
            }],
            external_through: 1,
        }
    }

    #[test]
    fn of_json_reads_what_to_json_wrote() {
        let bytes = envelope().to_json().unwrap();
        assert_eq!(Envelope::of_json(&bytes).unwrap(), envelope());
    }

    #[test]
    fn of_json_refuses_later_versions_and_damage_and_accepts_unknown_triggers() {
        let later = Envelope { version: VERSION + 1, ..envelope() };
        let why = Envelope::of_json(&later.to_json().unwrap()).unwrap_err();
        assert!(why.contains("version 2"), "{why}");
        // Other fields may have changed in a later version.
        let why = Envelope::of_json(br#"{"version": 9, "parts": "all"}"#).unwrap_err();
        assert!(why.contains("version 9"), "{why}");
        let bytes = envelope().to_json().unwrap();
        assert!(Envelope::of_json(&bytes[..bytes.len() / 2]).is_err());
        let text = String::from_utf8(bytes).unwrap().replace("pre_destructive_action", "lunch");
        assert_eq!(Envelope::of_json(text.as_bytes()).unwrap().trigger, Trigger::Other);
    }
}
