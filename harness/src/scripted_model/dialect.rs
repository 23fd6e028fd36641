//! The dialects of four interfaces of language models: OpenAI chat completions and responses, Anthropic messages, Gemini
//! generateContent; each as one answer or as a stream of events.

use super::{ModelStep, ToolCall};
use serde_json::{Value, json};

/// An interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Chat,
    Responses,
    Messages,
    Gemini,
}

/// A conversation as an agent sends it.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked {
    pub messages: Vec<Message>,
    /// Whether the agent offers tools.
    pub has_tools: bool,
    /// Whether it wants events.
    pub is_streamed: bool,
}

/// One message.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    pub is_user: bool,
    pub text: String,
    /// How many tools the model called in it.
    pub calls: usize,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    /// One document.
    Document(Value),
    /// Events, as text in the form of server-sent events.
    Events(String),
}

impl Dialect {
    /// The dialect of a path; `None` if it is no request to a model.
    pub fn of_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path);
        match path {
            _ if path.ends_with("/chat/completions") => Some(Dialect::Chat),
            _ if path.ends_with("/responses") => Some(Dialect::Responses),
            _ if path.ends_with("/messages") => Some(Dialect::Messages),
            _ if path.contains("enerateContent") => Some(Dialect::Gemini),
            _ => None,
        }
    }

    /// Reads a request.
    pub fn read(self, path: &str, request: &Value) -> Asked {
        let list = |name: &str| request[name].as_array().cloned().unwrap_or_default();
        let messages = match self {
            Dialect::Chat | Dialect::Messages => list("messages").iter().map(of_message).collect(),
            Dialect::Gemini => list("contents").iter().map(of_content).collect(),
            Dialect::Responses => match &request["input"] {
                Value::String(text) => {
                    vec![Message { is_user: true, text: text.clone(), calls: 0 }]
                }
                _ => of_items(&list("input")),
            },
        };
        Asked {
            messages,
            has_tools: !list("tools").is_empty(),
            is_streamed: match self {
                Dialect::Gemini => path.contains("streamGenerateContent"),
                _ => request["stream"] == true,
            },
        }
    }

    /// Writes an answer; `id` is one that no other answer has.
    pub fn write(self, step: &ModelStep, id: &str, is_streamed: bool) -> Reply {
        match self {
            Dialect::Chat => chat(step, id, is_streamed),
            Dialect::Responses => responses(step, id, is_streamed),
            Dialect::Messages => messages(step, id, is_streamed),
            Dialect::Gemini => gemini(step, id, is_streamed),
        }
    }
}

/// The text of a string, or of parts of which some have a text.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn of_message(message: &Value) -> Message {
    let parts = message["content"].as_array().into_iter().flatten();
    let uses = parts.filter(|part| part["type"] == "tool_use").count();
    let calls = message["tool_calls"].as_array().map_or(0, Vec::len);
    let text = text_of(&message["content"]);
    Message { is_user: message["role"] == "user", text, calls: uses + calls }
}

fn of_content(content: &Value) -> Message {
    let parts = content["parts"].as_array().into_iter().flatten();
    let calls = parts.filter(|part| part["functionCall"].is_object()).count();
    Message { is_user: content["role"] != "model", text: text_of(&content["parts"]), calls }
}

/// Calls that follow each other are of one message.
fn of_items(items: &[Value]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for message in items.iter().map(of_item) {
        match messages.last_mut() {
            Some(last) if last.calls > 0 && message.calls > 0 => last.calls += message.calls,
            _ => messages.push(message),
        }
    }
    messages
}

fn of_item(item: &Value) -> Message {
    let is_call = item["type"].as_str().is_some_and(|kind| kind.ends_with("_call"));
    let text = text_of(&item["content"]);
    Message { is_user: item["role"] == "user", text, calls: usize::from(is_call) }
}

/// Events, each with its name if the dialect names them.
fn events<'a>(events: impl IntoIterator<Item = (Option<&'a str>, Value)>) -> String {
    let event = |(name, data): (Option<&str>, Value)| {
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {data}\n\n")
    };
    events.into_iter().map(event).collect()
}

/// Events that carry their name as their type.
fn typed_events(list: Vec<Value>) -> String {
    let events: Vec<(String, Value)> = list
        .into_iter()
        .map(|event| (event["type"].as_str().unwrap_or_default().to_owned(), event))
        .collect();
    self::events(events.iter().map(|(name, event)| (Some(name.as_str()), event.clone())))
}

fn numbered(step: &ModelStep) -> impl Iterator<Item = (usize, &ToolCall)> {
    step.tools.iter().enumerate()
}

fn chat(step: &ModelStep, id: &str, is_streamed: bool) -> Reply {
    let call = |(index, tool): (usize, &ToolCall)| {
        let function = json!({ "name": tool.name, "arguments": tool.arguments.to_string() });
        json!({ "index": index, "id": format!("call_{id}_{index}"), "type": "function", "function": function })
    };
    let mut message = json!({ "role": "assistant", "content": step.text });
    if !step.tools.is_empty() {
        message["tool_calls"] = numbered(step).map(call).collect();
    }
    let reason = if step.tools.is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    let envelope = |object: &str, choices: Value| json!({ "id": id, "object": object, "created": 0, "model": "scripted", "choices": choices });
    if !is_streamed {
        let choice = json!([{ "index": 0, "message": message, "finish_reason": reason }]);
        let mut document = envelope("chat.completion", choice);
        document["usage"] = usage;
        return Reply::Document(document);
    }
    let chunk = |delta: Value, reason: Value| {
        let choice = json!([{ "index": 0, "delta": delta, "finish_reason": reason }]);
        (None, envelope("chat.completion.chunk", choice))
    };
    let mut last = envelope("chat.completion.chunk", json!([]));
    last["usage"] = usage;
    let chunks = [chunk(message, Value::Null), chunk(json!({}), reason.into()), (None, last)];
    Reply::Events(events(chunks) + "data: [DONE]\n\n")
}

fn responses(step: &ModelStep, id: &str, is_streamed: bool) -> Reply {
    let call = |(index, tool): (usize, &ToolCall)| {
        json!({ "type": "function_call", "id": format!("fc_{id}_{index}"), "call_id": format!("call_{id}_{index}"),
                "name": tool.name, "arguments": tool.arguments.to_string(), "status": "completed" })
    };
    let mut output: Vec<Value> = numbered(step).map(call).collect();
    if !step.text.is_empty() {
        let content = json!([{ "type": "output_text", "text": step.text, "annotations": [] }]);
        output.push(json!({ "type": "message", "id": format!("msg_{id}"), "role": "assistant",
                            "status": "completed", "content": content }));
    }
    let usage = json!({ "input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
                        "input_tokens_details": { "cached_tokens": 0 },
                        "output_tokens_details": { "reasoning_tokens": 0 } });
    let response = |status: &str, output: Value| {
        json!({ "id": format!("resp_{id}"), "object": "response", "created_at": 0, "status": status,
                "model": "scripted", "output": output, "usage": usage })
    };
    let completed = response("completed", output.clone().into());
    if !is_streamed {
        return Reply::Document(completed);
    }
    let mut list =
        vec![json!({ "type": "response.created", "response": response("in_progress", json!([])) })];
    for (index, item) in output.iter().enumerate() {
        let mut begun = item.clone();
        let is_call = item["type"] == "function_call";
        let (field, kind) = match is_call {
            true => ("arguments", "response.function_call_arguments.delta"),
            false => ("content", "response.output_text.delta"),
        };
        begun[field] = if is_call { json!("") } else { json!([]) };
        let delta = if is_call { item["arguments"].clone() } else { step.text.clone().into() };
        list.push(
            json!({ "type": "response.output_item.added", "output_index": index, "item": begun }),
        );
        list.push(
            json!({ "type": kind, "output_index": index, "content_index": 0, "item_id": item["id"],
                          "delta": delta }),
        );
        list.push(
            json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
        );
    }
    list.push(json!({ "type": "response.completed", "response": completed }));
    for (number, event) in list.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    Reply::Events(typed_events(list))
}

fn messages(step: &ModelStep, id: &str, is_streamed: bool) -> Reply {
    let call = |(index, tool): (usize, &ToolCall)| json!({ "type": "tool_use", "id": format!("toolu_{id}_{index}"), "name": tool.name, "input": tool.arguments });
    let text = Some(&step.text).filter(|text| !text.is_empty());
    let text = text.map(|text| json!({ "type": "text", "text": text }));
    let content: Vec<Value> = text.into_iter().chain(numbered(step).map(call)).collect();
    let reason = if step.tools.is_empty() { "end_turn" } else { "tool_use" };
    let message = |content: Value, reason: Value| {
        json!({ "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": "scripted",
                "content": content, "stop_reason": reason, "stop_sequence": null,
                "usage": { "input_tokens": 10, "output_tokens": 5 } })
    };
    if !is_streamed {
        return Reply::Document(message(content.into(), reason.into()));
    }
    let mut list =
        vec![json!({ "type": "message_start", "message": message(json!([]), Value::Null) })];
    for (index, block) in content.iter().enumerate() {
        let is_call = block["type"] == "tool_use";
        let mut begun = block.clone();
        begun[if is_call { "input" } else { "text" }] = if is_call { json!({}) } else { json!("") };
        let delta = match is_call {
            true => {
                json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() })
            }
            false => json!({ "type": "text_delta", "text": block["text"] }),
        };
        list.push(json!({ "type": "content_block_start", "index": index, "content_block": begun }));
        list.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        list.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let end = json!({ "stop_reason": reason, "stop_sequence": null });
    list.push(json!({ "type": "message_delta", "delta": end, "usage": { "output_tokens": 5 } }));
    list.push(json!({ "type": "message_stop" }));
    Reply::Events(typed_events(list))
}

fn gemini(step: &ModelStep, id: &str, is_streamed: bool) -> Reply {
    let call = |(index, tool): (usize, &ToolCall)| {
        let call =
            json!({ "id": format!("{id}-{index}"), "name": tool.name, "args": tool.arguments });
        json!({ "functionCall": call })
    };
    let text = Some(&step.text).filter(|text| !text.is_empty());
    let text = text.map(|text| json!({ "text": text }));
    let parts: Vec<Value> = text.into_iter().chain(numbered(step).map(call)).collect();
    let content = json!({ "role": "model", "parts": parts });
    let usage = json!({ "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 });
    let document = json!({ "candidates": [{ "content": content, "finishReason": "STOP", "index": 0 }],
                           "modelVersion": "scripted", "usageMetadata": usage });
    match is_streamed {
        true => Reply::Events(events([(None, document)])),
        false => Reply::Document(document),
    }
}
