//! Requests, and the handling of their replies, as lines of a shell script.

use super::Script;
use super::bash::{COMPARE, shell};
use super::reply::without_variable_parts;
use crate::protocol::message::{Control, Envelope, Message, Open};
use crate::runner::{FIRST_SECOND, RequestRecord};
use herma_model::answer::{Answer, CheckpointOutcome};
use herma_model::{ByteString, Request};
use serde_json::Value;

impl Script {
    /// Starts the adapter and opens the store, after closing it if it is open.
    pub(super) fn open(&mut self) {
        if self.is_opened {
            self.send(&Message::Control(Control::Close));
            self.line("stop");
        }
        self.is_opened = true;
        self.line("start");
        let in_sandbox = |path: &[u8]| ByteString::from([&self.root[..], b"/", path].concat());
        let open = Open {
            store: in_sandbox(b"home/.hermes/checkpoints"),
            home: in_sandbox(b"home"),
            current_directory: in_sandbox(b"work"),
            settings: self.settings.clone(),
        };
        self.send(&Message::Control(Control::hello()));
        self.send(&Message::Control(Control::Open(open)));
        if self.capabilities.has("test.clock") {
            self.send(&Message::Request(Request::SetClock { seconds: FIRST_SECOND }));
        }
    }

    /// Makes a request, and keeps the id in its reply.
    pub(super) fn ask(&mut self, request: &Request, answer: &Answer) {
        if *request == Request::Reopen {
            return;
        }
        self.send(&Message::Request(request.clone()));
        let (field, id) = match answer {
            Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } => ("id", id),
            Answer::Restored(restored) => match &restored.safety {
                Some(id) => ("safety", id),
                None => return,
            },
            _ => return,
        };
        self.ids.push(id.clone());
        let number = self.ids.len();
        self.line(&format!("ID{number}=$(field {field})\nIDS+=(\"$ID{number}\")"));
    }

    /// Compares the reply and the files of the failing operation with those of the recorded run.
    pub(super) fn compare(&mut self, record: &RequestRecord) {
        self.line("mkdir -p \"$ROOT\"/recorded/work");
        for (path, node) in record.after.iter().filter(|(path, _)| path.starts_with(b"work/")) {
            if path.split(|byte| *byte == b'/').all(|name| name != b".git") {
                self.make(&ByteString::from([b"recorded/", &path[..]].concat()), node);
            }
        }
        // A process that died or hung did not reply.
        let has_crashed = matches!(record.answer, Answer::Crashed(_));
        let reply = if has_crashed { "" } else { &record.reply };
        let plain_reply =
            without_variable_parts(reply, &String::from_utf8_lossy(&self.root), &self.ids);
        self.line(&format!("RECORDED={}", shell(plain_reply.as_bytes(), b"")));
        self.text.push_str(COMPARE);
    }

    fn send(&mut self, message: &Message) {
        self.requests += 1;
        let envelope = Envelope { id: self.requests, message };
        let mut value = serde_json::to_value(&envelope).unwrap_or_default();
        let target = value.get("target").and_then(|target| target.as_str()).map(str::to_owned);
        // A target that is an id, or a prefix of an id, is replaced by the script's own id.
        let target_id = target.as_ref().and_then(|target| {
            let has_prefix = |id: &&String| target.len() >= 4 && id.starts_with(target.as_str());
            let index = self.ids.iter().rposition(|id| has_prefix(&id))?;
            Some((index + 1, target.len()))
        });
        if target_id.is_some() {
            value["target"] = "HERMA_TARGET".into();
        }
        let mut encoded = Vec::new();
        self.replace_encoded(&mut value, &mut encoded);
        let mut word = self.quoted(value.to_string().as_bytes());
        for (number, path) in encoded.iter().enumerate() {
            let encoding = format!("'\"$(printf %s {} | base64 -w 0)\"$'", self.quoted(path));
            word = word.replace(&format!("HERMA_ENCODED_{number}_"), &encoding);
        }
        if let Some((number, digits)) = target_id {
            let prefix = format!("'\"${{ID{number}:0:{digits}}}\"$'");
            word = word.replace("HERMA_TARGET", &prefix);
        }
        self.line(&format!("ask {word}"));
    }

    /// Replaces the paths below the sandbox that are encoded, since they are not text, and collects them
    /// in `found`: the script encodes its own paths.
    fn replace_encoded(&self, value: &mut Value, found: &mut Vec<ByteString>) {
        match value {
            Value::Object(fields) => {
                let path = serde_json::from_value::<ByteString>(Value::Object(fields.clone()));
                if let Some(path) = path.ok().filter(|path| path.starts_with(&self.root)) {
                    let placeholder = format!("HERMA_ENCODED_{}_", found.len());
                    fields.insert("b64".into(), placeholder.into());
                    found.push(path);
                    return;
                }
                fields.values_mut().for_each(|field| self.replace_encoded(field, found));
            }
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.replace_encoded(item, found));
            }
            _ => {}
        }
    }
}
