//! Tests of the scripted model: which step a conversation selects, and that each dialect says it.

use super::dialect::{Dialect, Reply};
use super::{ModelStep, Script, Server, ToolCall};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;

fn script() -> Script {
    let tool = |content: &str| ToolCall {
        name: "write".to_owned(),
        arguments: json!({ "path": "a.txt", "content": content }),
    };
    let calls = |tools| ModelStep { text: String::new(), tools };
    let steps =
        vec![calls(vec![tool("1"), tool("2")]), calls(vec![tool("3")]), ModelStep::saying("done")];
    Script(
        [("one".to_owned(), steps), ("two".to_owned(), vec![ModelStep::saying("second")])].into(),
    )
}

/// A conversation of chat messages: what a user says begins with `>`, anything else is a message with tool calls.
fn asked(lines: &[&str]) -> Value {
    let message = |line: &&str| match line.strip_prefix('>') {
        Some(text) => json!({ "role": "user", "content": [{ "type": "text", "text": text }] }),
        None => json!({ "role": "assistant", "content": line, "tool_calls": [{}, {}] }),
    };
    json!({ "messages": lines.iter().map(message).collect::<Vec<_>>(), "tools": [{}] })
}

#[test]
fn next_selects_the_newest_turn_and_counts_the_messages_with_tools_since() {
    for (lines, selected, said) in [
        (&["> #one please"][..], Some(("one", 0)), ""),
        (&["> #one please", "calls"], Some(("one", 1)), ""),
        (&["> #one please", "calls", "calls"], Some(("one", 2)), "done"),
        (&["> #one please", "calls", "> context without a marker"], Some(("one", 1)), ""),
        (&["> #one", "calls", "calls", "calls", "calls"], Some(("one", 4)), "end of the turn"),
        (&["> #one", "calls", "> #two, not #three"], Some(("two", 0)), "second"),
        // A rolled back turn does not count.
        (&["> #two", "> #one"], Some(("one", 0)), ""),
        (&["> nothing of the script"], None, "ok"),
    ] {
        let conversation = Dialect::Chat.read("/v1/chat/completions", &asked(lines));
        let (found, step) = script().next(&conversation);
        let found = found.as_ref().map(|(name, step)| (name.as_str(), *step));
        assert_eq!((found, step.text.as_str()), (selected, said), "{lines:?}");
    }
    let mut title = asked(&["> #one"]);
    title["tools"] = json!([]);
    assert_eq!(script().next(&Dialect::Chat.read("", &title)).1, ModelStep::saying("ok"));
}

#[test]
fn read_understands_the_same_conversation_in_every_dialect() {
    let tools = json!([{ "name": "write" }]);
    let requests = [
        ("/v1/chat/completions", asked(&["> #one", "calls"])),
        (
            "/v1/messages",
            json!({ "tools": tools, "messages": [
            { "role": "user", "content": "#one" },
            { "role": "assistant", "content": [{ "type": "tool_use", "name": "write" }] },
            { "role": "user", "content": [{ "type": "tool_result", "content": "done" }] }] }),
        ),
        (
            "/v1/responses",
            json!({ "tools": tools, "input": [
            { "role": "user", "content": [{ "type": "input_text", "text": "#one" }] },
            { "type": "function_call", "name": "write" }, { "type": "function_call", "name": "write" },
            { "type": "function_call_output" }, { "type": "function_call_output" }] }),
        ),
        (
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            json!({ "tools": tools, "contents": [
            { "role": "user", "parts": [{ "text": "#one" }] },
            { "role": "model", "parts": [{ "functionCall": { "name": "write" } }] },
            { "role": "user", "parts": [{ "functionResponse": {} }] }] }),
        ),
    ];
    for (path, request) in requests {
        let dialect = Dialect::of_path(path).unwrap();
        let (selected, _) = script().next(&dialect.read(path, &request));
        assert_eq!(selected, Some(("one".to_owned(), 1)), "{path}");
    }
}

#[test]
fn write_says_the_step_in_every_dialect() {
    let step = &script().0["one"][0];
    for (dialect, name, arguments) in [
        (Dialect::Chat, "/choices/0/message/tool_calls/1/function/name", "tool_calls"),
        (Dialect::Responses, "/output/1/name", "function_call_arguments.delta"),
        (Dialect::Messages, "/content/1/name", "input_json_delta"),
        (Dialect::Gemini, "/candidates/0/content/parts/1/functionCall/name", "functionCall"),
    ] {
        let Reply::Document(document) = dialect.write(step, "x1", false) else { panic!() };
        assert_eq!(document.pointer(name), Some(&json!("write")), "{document}");
        let Reply::Events(events) = dialect.write(step, "x1", true) else { panic!() };
        assert!(events.contains(arguments), "{events}");
        for line in events.lines().filter_map(|line| line.strip_prefix("data: ")) {
            assert!(line == "[DONE]" || serde_json::from_str::<Value>(line).is_ok(), "{line}");
        }
        let Reply::Document(said) = dialect.write(&ModelStep::saying("words"), "x1", false) else {
            panic!()
        };
        assert!(said.to_string().contains("words"), "{said}");
    }
}

fn post(port: u16, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let length = body.len();
    write!(stream, "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn serve_answers_on_the_loopback_interface_and_keeps_every_request() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record.jsonl");
    let server = Server::bind(0, script(), Some(&record)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| server.serve());
        let answer =
            post(server.port(), "/v1/chat/completions", &asked(&["> #one", "calls", "calls"]));
        assert!(answer.contains("\"content\":\"done\""), "{answer}");
        let mut streamed = asked(&["> #two"]);
        streamed["stream"] = true.into();
        let answer = post(server.port(), "/v1/chat/completions", &streamed);
        assert!(answer.contains("text/event-stream") && answer.contains("[DONE]"), "{answer}");
        assert!(post(server.port(), "/v1/models", &json!({})).contains("scripted"));
        assert!(Server::bind(server.port(), script(), None).is_err(), "the port is in use");
        server.stop();
    });
    let kept = server.exchanges();
    let selected: Vec<_> = kept.iter().map(|exchange| exchange.selected.clone().unwrap()).collect();
    assert_eq!(selected, [("one".to_owned(), 2), ("two".to_owned(), 0)]);
    let lines = std::fs::read_to_string(record).unwrap();
    assert_eq!(lines.lines().count(), 2);
}
