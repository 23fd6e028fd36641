//! What a checkpoint carries beside its files: why it was taken, its label, the parts of the agent's
//! state, and what the agent did outside since the checkpoint before.
//!
//! Here is what an envelope says and how that is written; where it is kept is in
//! [`crate::store::envelopes`].

use crate::policy::Trigger;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version that is written. An envelope of a later one is passed over.
pub const VERSION: u32 = 1;

/// A part of the agent's state in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartNote {
    /// The name of the part.
    pub name: String,
    /// The blob that holds it, by its full id.
    pub hash: String,
    /// What a person sees of it, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<(String, Value)>,
}

/// Something that the agent did outside, which no rollback undoes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionNote {
    /// Its number among all of the agent; later ones have larger numbers.
    pub number: u64,
    /// What was done, such as `github.pr.opened`.
    pub kind: String,
    /// To which thing, such as `1234`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Towards whom, such as `#eng`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// What a checkpoint carries beside its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// Of this form; see [`VERSION`].
    pub version: u32,
    /// When the checkpoint was taken, in seconds since the epoch.
    pub taken_at: i64,
    /// Why, in one word.
    pub trigger: Trigger,
    /// Why, in the words of whoever asked.
    pub reason: String,
    /// The name that a person gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The turn of the conversation that it belongs to, by the id of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The checkpoint that it follows, by its full id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The tree of its files, by its full id.
    pub tree: String,
    /// The parts of the agent's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartNote>,
    /// What the agent did outside since the checkpoint before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_actions: Vec<ActionNote>,
    /// The number of the last action that the agent had done outside.
    #[serde(default)]
    pub external_through: u64,
}

/// The version of an envelope, which every form of it says.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Envelope {
    /// As it is stored.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec_pretty(self)
    }

    /// What is stored, or why nobody here can read it.
    pub fn of_json(bytes: &[u8]) -> Result<Self, String> {
        let unreadable = |error: serde_json::Error| format!("its envelope cannot be read: {error}");
        let Versioned { version } = serde_json::from_slice(bytes).map_err(unreadable)?;
        if version > VERSION {
            return Err(format!(
                "its envelope is of version {version}, and only up to {VERSION} is known here"
            ));
        }
        serde_json::from_slice(bytes).map_err(unreadable)
    }

    /// The parts, each by its name and blob.
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
    fn an_envelope_is_read_as_it_is_written() {
        let bytes = envelope().to_json().unwrap();
        assert_eq!(Envelope::of_json(&bytes).unwrap(), envelope());
    }

    #[test]
    fn one_of_a_later_version_or_damaged_is_said_to_be_so() {
        let later = Envelope { version: VERSION + 1, ..envelope() };
        let why = Envelope::of_json(&later.to_json().unwrap()).unwrap_err();
        assert!(why.contains("version 2"), "{why}");
        // Whatever else a later version says.
        let why = Envelope::of_json(br#"{"version": 9, "parts": "all"}"#).unwrap_err();
        assert!(why.contains("version 9"), "{why}");
        let bytes = envelope().to_json().unwrap();
        assert!(Envelope::of_json(&bytes[..bytes.len() / 2]).is_err());
        let text = String::from_utf8(bytes).unwrap().replace("pre_destructive_action", "lunch");
        assert_eq!(Envelope::of_json(text.as_bytes()).unwrap().trigger, Trigger::Other);
    }
}
