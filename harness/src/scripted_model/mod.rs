//! A scripted model: what a coding agent takes for a language model, on the loopback interface. It answers in the four
//! dialects that agents speak, and keeps every request, since what an agent sends after a rollback is an observation.
//!
//! It is stateless: the newest user message that names a turn of the script, as `#NAME`, selects the turn, and the
//! number of messages with tool calls after it selects the step. So titles, summaries, retries and rewound
//! conversations cannot shift the script.
//!
//! `dialect` knows the dialects, `server` the protocol below them. Nothing here starts an agent.

mod dialect;
mod server;

pub use server::{Error, Server};

use dialect::{Asked, Dialect};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The turns of a script, each with its steps in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Script(pub BTreeMap<String, Vec<ModelStep>>);

/// What the model says at one step: words, tool calls, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ModelStep {
    /// What it says.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The tools that it calls, all in one message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolCall>,
}

/// A call of a tool, with a name and arguments as the agent knows them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The name of the tool.
    pub name: String,
    /// Its arguments, an object.
    #[serde(default)]
    pub arguments: Value,
}

/// One request of an agent, and what it was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// The path of the request.
    pub path: String,
    /// The turn and the step that were selected, if any.
    pub selected: Option<(String, usize)>,
    /// What was answered.
    pub step: ModelStep,
    /// The whole request.
    pub request: Value,
}

impl Exchange {
    /// The texts of the user's messages in the request.
    pub fn user_texts(&self) -> Vec<String> {
        let Some(dialect) = Dialect::of_path(&self.path) else { return Vec::new() };
        let messages = dialect.read(&self.path, &self.request).messages.into_iter();
        messages.filter(|message| message.is_user).map(|message| message.text).collect()
    }
}

impl ModelStep {
    fn saying(text: &str) -> Self {
        ModelStep { text: text.to_owned(), tools: Vec::new() }
    }
}

impl Script {
    /// What is said in a conversation, and the turn and step that this is.
    fn next(&self, conversation: &Asked) -> (Option<(String, usize)>, ModelStep) {
        // A title or a summary is asked for without tools.
        if !conversation.has_tools {
            return (None, ModelStep::saying("ok"));
        }
        let named = |text: &str| {
            let names = text.split('#').skip(1).map(|rest| {
                let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
                &rest[..end.unwrap_or(rest.len())]
            });
            names.filter(|name| self.0.contains_key(*name)).last().map(str::to_owned)
        };
        let turns = conversation.messages.iter().enumerate().rev();
        let newest = turns
            .filter(|(_, message)| message.is_user)
            .find_map(|(at, message)| Some((at, named(&message.text)?)));
        let Some((at, name)) = newest else { return (None, ModelStep::saying("ok")) };
        let step =
            conversation.messages[at + 1..].iter().filter(|message| message.calls > 0).count();
        let said = self.0.get(&name).and_then(|steps| steps.get(step)).cloned();
        (Some((name, step)), said.unwrap_or_else(|| ModelStep::saying("end of the turn")))
    }
}

#[cfg(test)]
mod tests;
