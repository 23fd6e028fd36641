//! A history as a shell script: it makes the same files, sends the same requests to the same adapter,
//! prints the replies, and needs nothing of this suite. It exits with 1 if the subject replies and leaves
//! files as in the recorded run, so that the failure is reproduced.
//!
//! The history is run once to make everything concrete. Where a request contains an id that the
//! subject chose, the script uses the id that it received itself.

mod damage;

use crate::database;
use crate::history::{History, Injection};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::check::environment;
use crate::protocol::message::{Control, Envelope, Message, Open};
use crate::runner::{Event, FIRST_SECOND, RunError, RunOptions, run};
use crate::sandbox::{Sandbox, Scratch};
use crate::subject::AdapterCommand;
use herma_model::answer::{Answer, CheckpointOutcome};
use herma_model::edit::Change;
use herma_model::files::SpecialKind;
use herma_model::plain::plain;
use herma_model::{ByteString, Files, Node, Request, Settings};
use serde_json::Value;
use std::cell::RefCell;
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;

const HEAD: &str = r#"#!/usr/bin/env bash
# Drives an adapter through one history, in a directory of its own. Prints each request and reply,
# and the project at the end. Exits with 1 if the failure shows, with 0 if it does not, and with 2 if
# a script cannot tell. Written by `herma-conform export`.
set -u
ROOT=$(mktemp -d)
IDS=()
SHOWN=unknown
trap 'rm -rf -- "$ROOT"' EXIT
start() {
    coproc ADAPTER { cd "$FOLDER" && exec env -i "${ENVIRONMENT[@]}" "${COMMAND[@]}"; }
    exec {TO}>&"${ADAPTER[1]}" {FROM}<&"${ADAPTER[0]}"
    # The adapter sees the end of its input once nobody holds the other side any more.
    eval "exec ${ADAPTER[1]}>&- ${ADAPTER[0]}<&-"
}
stop() {
    exec {TO}>&- {FROM}<&-
    wait "${ADAPTER_PID-}" 2>/dev/null
}
ask() {
    printf '> %s\n' "$1"
    printf '%s\n' "$1" >&"$TO"
    IFS= read -r -t "$SECONDS_MAX" REPLY <&"$FROM"
    if [ $? -gt 128 ]; then
        REPLY=
        echo "no reply within $SECONDS_MAX s: the adapter is killed"
        { kill -KILL "$ADAPTER_PID"; wait "$ADAPTER_PID"; } 2>/dev/null
    fi
    printf '< %s\n' "$REPLY"
}
field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" <<<"$REPLY"; }
# A reply without what is another one each time: places, ids, times and the words of a refusal.
plain() {
    local line=${1//"$ROOT"/ROOT} id
    for id in "${IDS[@]}"; do
        [ "${#id}" -lt 4 ] || line=${line//"$id"/ID}
    done
    sed -E 's/[0-9a-f]{7,}/#/g; s/"id": *[0-9]+/"id":#/; s/"message": *"([^"\\]|\\.)*"/"message":#/' <<<"$line"
}
# What is in the projects below a folder.
files() {
    (cd "$1/work" && find . -name .git -prune -o -print0 | LC_ALL=C sort -z |
        while IFS= read -r -d '' path; do
            if [ -L "$path" ]; then printf '%q -> %q\n' "$path" "$(readlink "$path")"
            elif [ -f "$path" ]; then
                [ -x "$path" ] && printf x
                printf '%q %s\n' "$path" "$(cksum 2>/dev/null <"$path")"
            elif [ -d "$path" ]; then printf '%q/\n' "$path"
            elif [ -p "$path" ]; then printf '%q|\n' "$path"
            else printf '%q=\n' "$path"; fi
        done)
}
"#;

/// No shell command makes a socket. The path of a socket must be short, so it is made and then moved.
const SOCKET: &str = r#"make_socket() {
    (cd "$ROOT" && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(".s")') &&
        mv -T -- "$ROOT/.s" "$1" || { echo 'no socket was made: that takes python3' >&2; exit 2; }
}
"#;

/// Comes after the failing operation: compares its reply and the files with those recorded.
const COMPARE: &str = r#"SHOWN=no
if [ "$(plain "$REPLY")" = "$RECORDED" ] && [ "$(files "$ROOT")" = "$(files "$ROOT/recorded")" ]; then
    SHOWN=yes
fi
"#;

/// How the script ends.
const END: &str = r#"stop
find "$ROOT/work" -not -path '*/.git*' -exec ls -ld {} +
case $SHOWN in
yes) echo 'the failure shows: it was answered, and left, as when this was written'; exit 1 ;;
no) echo 'the failure does not show: something was answered or left otherwise'; exit 0 ;;
*) echo 'a script cannot tell whether the failure shows'; exit 2 ;;
esac
"#;

/// Runs `history` on the adapter and returns a script that does the same.
///
/// # Errors
/// The run could not be made.
pub fn script(
    history: &History,
    adapter: &AdapterCommand,
    scratch: &Scratch,
) -> Result<String, RunError> {
    let opening: Mutex<Option<(Vec<u8>, Vec<String>)>> = Mutex::default();
    let open = |sandbox: &Sandbox, settings: &Settings, seconds| {
        let root = sandbox.root().as_os_str().as_bytes().to_vec();
        let variables = environment(sandbox)
            .iter()
            .filter(|(name, _)| name != "PATH")
            .map(|(name, value)| {
                let pair = [name.as_bytes(), b"=", value.as_bytes()].concat();
                shell(&pair, &root)
            })
            .collect();
        *opening.lock().expect("no thread panics here") = Some((root, variables));
        adapter.opener()(sandbox, settings, seconds)
    };
    let events = RefCell::new(Vec::new());
    let mut watch = |event| events.borrow_mut().push(event);
    let options = RunOptions { watch: Some(&mut watch), ..RunOptions::default() };
    let run = run(history, &open, scratch, options)?;
    let (root, variables) =
        opening.into_inner().expect("no thread panics here").unwrap_or_default();
    let command: Vec<String> =
        adapter.command.iter().map(|word| shell(word.as_bytes(), &root)).collect();
    let conditions: String =
        history.conditions().iter().map(|line| format!("# With {line}\n")).collect();
    let mut script =
        Script { text: format!("{HEAD}{conditions}"), root, ids: Vec::new(), requests: 0 };
    script.text.push_str(&format!(
        "FOLDER={}\nCOMMAND=({})\nENVIRONMENT=(\"PATH=$PATH\" {})\n\
         # How long a reply may take.\nSECONDS_MAX={}\n\n",
        script.quoted(adapter.directory.as_os_str().as_bytes()),
        command.join(" "),
        variables.join(" "),
        adapter.limits.reply.as_secs().max(1)
    ));
    let settings = run.capabilities.restrict_settings(&history.settings);
    let mut is_opened = false;
    let events = events.into_inner();
    let failing = run.divergences.first().and_then(|first| {
        let is_failing =
            |event: &Event| matches!(event, Event::Requested(record) if record.step == first.step);
        events.iter().rposition(is_failing)
    });
    for (number, event) in events.into_iter().enumerate() {
        match event {
            Event::Began { files, .. } => script.make_files(&files),
            Event::Edited(changes) => changes.iter().for_each(|change| script.change(change)),
            Event::DatabaseWritten(database, _) => {
                let path = script.quoted_path(&database.path);
                script.line(&format!("mkdir -p -- \"$(dirname -- {path})\""));
                script.line(&database::command(&path, &database));
            }
            Event::Injects(injection) => {
                let Injection { call, what: injected, .. } = injection;
                let event = injected.word();
                script.line(&format!(
                "echo 'a script cannot make this happen at call {call} of the next request: {event}'; \
                     exit 2"
                ));
            }
            Event::Measures => {
                script.line("# The suite measures what the next request takes.");
                script.open(&settings, &run.capabilities, is_opened);
                is_opened = true;
            }
            Event::StoreEdited(edit, file) => match script.store_edit(&edit, file.as_deref()) {
                Some(line) => {
                    if !script.text.contains(damage::FUNCTIONS) {
                        script.text.push_str(damage::FUNCTIONS);
                    }
                    script.line(&line);
                }
                // A shell script cannot make a repository as v1 made it.
                None => {
                    let text = plain(&edit);
                    script.line(&format!("# do this manually before going on: {text}"));
                }
            },
            Event::Requested(record) => {
                if !is_opened || record.request == Request::Reopen {
                    script.open(&settings, &run.capabilities, is_opened);
                    is_opened = true;
                }
                script.ask(&record.request, &record.answer);
                if failing == Some(number) {
                    // A process that died or hung did not reply.
                    let has_crashed = matches!(record.answer, Answer::Crashed(_));
                    let reply = if has_crashed { "" } else { &record.reply };
                    script.compare(reply, &record.after);
                }
            }
        }
    }
    script.text.push_str(END);
    for divergence in &run.divergences {
        let description = format!(
            "{}\nexpected: {}\nfound: {}",
            divergence.rule.id, divergence.mismatch.expected, divergence.mismatch.found
        );
        let comment = description.lines().map(|line| format!("# {line}\n")).collect::<String>();
        script.text.push_str(&comment);
    }
    Ok(script.text)
}

struct Script {
    text: String,
    root: Vec<u8>,
    /// Every id in the answers so far, in order; the script's variables have the same numbers.
    ids: Vec<String>,
    requests: u64,
}

impl Script {
    fn quoted(&self, bytes: &[u8]) -> String {
        shell(bytes, &self.root)
    }

    fn quoted_path(&self, path: &ByteString) -> String {
        format!("\"$ROOT\"/{}", self.quoted(path))
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn make_files(&mut self, files: &Files) {
        self.line("mkdir -p \"$ROOT\"/home/.hermes/checkpoints");
        for (path, node) in files.iter() {
            self.make(path, node);
        }
    }

    fn make(&mut self, path: &ByteString, node: &Node) {
        let quoted = self.quoted_path(path);
        match node {
            Node::Directory => self.line(&format!("mkdir -p -- {quoted}")),
            Node::Special(SpecialKind::Fifo) => self.line(&format!("mkfifo -- {quoted}")),
            Node::Special(SpecialKind::Socket) => {
                if !self.text.contains(SOCKET) {
                    self.text.push_str(SOCKET);
                }
                self.line(&format!("make_socket {quoted}"));
            }
            Node::Link { target } => {
                let target = self.quoted(target);
                self.line(&format!("ln -s -- {target} {quoted}"));
            }
            Node::File { content, executable, readable } => {
                self.write(&quoted, content);
                if *executable || !*readable {
                    let mode = if *executable { 0o755 } else { 0o644 };
                    let mode = if *readable { mode } else { mode & 0o333 };
                    self.line(&format!("chmod {mode:o} -- {quoted}"));
                }
            }
        }
    }

    fn write(&mut self, path: &str, content: &[u8]) {
        // A shell word cannot hold zero bytes, so the format string holds them.
        let parts: Vec<&[u8]> = content.split(|byte| *byte == 0).collect();
        let format = vec!["%s"; parts.len()].join("\\0");
        let words: Vec<String> = parts.into_iter().map(|part| self.quoted(part)).collect();
        self.line(&format!("printf '{format}' {} > {path}", words.join(" ")));
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Remove(path) => {
                let quoted = self.quoted_path(path);
                self.line(&format!("rm -rf -- {quoted}"));
            }
            Change::Make(path, node) => self.make(path, node),
            Change::Rewrite(path, content) => {
                let quoted = self.quoted_path(path);
                self.line(&format!("touch -r {quoted} \"$ROOT\"/.before"));
                self.write(&quoted, content);
                self.line(&format!("touch -m -r \"$ROOT\"/.before -- {quoted}"));
                self.line("rm -- \"$ROOT\"/.before");
            }
            Change::SetReadable(path, readable) => {
                let quoted = self.quoted_path(path);
                let sign = if *readable { '+' } else { '-' };
                self.line(&format!("chmod u{sign}r -- {quoted}"));
            }
            Change::SetPermissions(path, bits) => {
                let quoted = self.quoted_path(path);
                self.line(&format!("chmod {bits:03o} -- {quoted}"));
            }
            Change::HardLink(path, to) => {
                let path = self.quoted_path(path);
                let to = self.quoted_path(to);
                self.line(&format!("ln -- {to} {path}"));
            }
            Change::Rename(from, to) => {
                let from = self.quoted_path(from);
                let to = self.quoted_path(to);
                self.line(&format!("mv -T -- {from} {to}"));
            }
        }
    }

    fn open(&mut self, settings: &Settings, capabilities: &Capabilities, is_reopened: bool) {
        if is_reopened {
            self.send(&Message::Control(Control::Close));
            self.line("stop");
        }
        self.line("start");
        let in_sandbox = |path: &[u8]| ByteString([&self.root[..], b"/", path].concat());
        let open = Open {
            store: in_sandbox(b"home/.hermes/checkpoints"),
            home: in_sandbox(b"home"),
            current_directory: in_sandbox(b"work"),
            settings: settings.clone(),
        };
        self.send(&Message::Control(Control::hello()));
        self.send(&Message::Control(Control::Open(open)));
        if capabilities.has("test.clock") {
            self.send(&Message::Request(Request::SetClock { seconds: FIRST_SECOND }));
        }
    }

    fn ask(&mut self, request: &Request, answer: &Answer) {
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
    fn compare(&mut self, reply: &str, after: &Files) {
        self.line("mkdir -p \"$ROOT\"/recorded/work");
        for (path, node) in after.iter().filter(|(path, _)| path.starts_with(b"work/")) {
            if path.split(|byte| *byte == b'/').all(|name| name != b".git") {
                self.make(&ByteString([b"recorded/", &path[..]].concat()), node);
            }
        }
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

/// A reply without the parts that differ in each run, as `plain` of the script returns it.
fn without_variable_parts(reply: &str, root: &str, ids: &[String]) -> String {
    let mut line = reply.trim_end().replace(root, "ROOT");
    for id in ids.iter().filter(|id| id.len() >= 4) {
        line = line.replace(id.as_str(), "ID");
    }
    let mut text = String::new();
    let mut run = String::new();
    for character in line.chars().map(Some).chain([None]) {
        match character {
            Some(digit) if digit.is_ascii_digit() || ('a'..='f').contains(&digit) => {
                run.push(digit)
            }
            character => {
                text.push_str(if run.len() >= 7 { "#" } else { &run });
                run.clear();
                text.extend(character);
            }
        }
    }
    let text = without_value(&text, "\"id\":", |value| {
        Some(value.trim_start_matches(|digit: char| digit.is_ascii_digit()))
    });
    without_value(&text, "\"message\":", |value| {
        let mut rest = value.strip_prefix('"')?.chars();
        let mut is_escaped = false;
        while is_escaped || !rest.as_str().starts_with('"') {
            is_escaped = rest.next()? == '\\' && !is_escaped;
        }
        rest.as_str().get(1..)
    })
}

/// The line without the first value of a field; `skip_value` returns the text after the value.
fn without_value(line: &str, field: &str, skip_value: impl Fn(&str) -> Option<&str>) -> String {
    let Some((before, value)) = line.split_once(field) else { return line.to_owned() };
    let value = value.trim_start_matches(' ');
    match skip_value(value).filter(|rest| rest.len() < value.len()) {
        Some(rest) => format!("{before}{field}#{rest}"),
        None => line.to_owned(),
    }
}

/// The bytes as one word of bash, with the sandbox's path replaced by the script's path.
fn shell(bytes: &[u8], root: &[u8]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = bytes;
    loop {
        let index = rest.windows(root.len().max(1)).position(|window| window == root);
        let part = &rest[..index.unwrap_or(rest.len())];
        parts.push(format!("$'{}'", escaped(part)));
        match index {
            Some(index) => rest = &rest[index + root.len()..],
            None => break,
        }
    }
    parts.join("\"$ROOT\"")
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\'' | b'\\' => {
                text.push('\\');
                text.push(char::from(*byte));
            }
            b' '..=b'~' => text.push(char::from(*byte)),
            byte => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_variable_parts_leaves_ids_times_and_messages_out_of_a_reply() {
        let ids = ["c0ffee-1".to_owned()];
        for (reply, plain) in [
            (
                r#"{"id": 12, "ok": {"id": "c0ffee-1", "time": 1773635760}}"#,
                r#"{"id":#, "ok": {"id": "ID", "time": #}}"#,
            ),
            (r#"{"id":"a12","ok":["/tmp/x/y"]}"#, r#"{"id":"a12","ok":["ROOT/y"]}"#),
            (
                r#"{"id":3,"err":{"code":"internal","message":"a \\\"b\\\" c"}}"#,
                r#"{"id":#,"err":{"code":"internal","message":#}}"#,
            ),
            (r#"{"id":3,"err":{"message":"no end"#, r#"{"id":#,"err":{"message":"no end"#),
        ] {
            assert_eq!(without_variable_parts(reply, "/tmp/x", &ids), plain);
        }
    }
}
