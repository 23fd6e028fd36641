//! A history as a shell script: it makes the same files, drives the same adapter with the same
//! requests, prints what is answered, and needs nothing of this suite. It exits with 1 where the subject
//! answers and leaves what it did here, so that the failure is shown again.
//!
//! The history is run once to make everything concrete. Where a request contains an id that the
//! subject chose, the script uses the id that it received itself.

mod damage;

use crate::database;
use crate::history::{History, Injection};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::check::environment;
use crate::protocol::message::{Control, Envelope, Message, Open};
use crate::runner::{Event, FIRST_SECOND, RunError, Until, run_watched};
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

/// No command of a shell makes a socket. Its whole path must be short, so it is moved.
const SOCKET: &str = r#"make_socket() {
    (cd "$ROOT" && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(".s")') &&
        mv -T -- "$ROOT/.s" "$1" || { echo 'no socket was made: that takes python3' >&2; exit 2; }
}
"#;

/// What comes after the operation that fails: whether it was answered, and left, as recorded.
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

/// Runs `history` on the adapter and returns the script that does the same.
///
/// # Errors
/// The run could not be made.
pub fn script(
    history: &History,
    start: &AdapterCommand,
    scratch: &Scratch,
) -> Result<String, RunError> {
    let opened: Mutex<Option<(Vec<u8>, Vec<String>)>> = Mutex::default();
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
        *opened.lock().expect("no thread panics here") = Some((root, variables));
        start.opener()(sandbox, settings, seconds)
    };
    let events = RefCell::new(Vec::new());
    let mut watch = |event| events.borrow_mut().push(event);
    let run = run_watched(
        Until::Disagreement,
        history,
        &open,
        scratch,
        &Capabilities::default(),
        Some(&mut watch),
    )?;
    let (root, variables) = opened.into_inner().expect("no thread panics here").unwrap_or_default();
    let command: Vec<String> =
        start.command.iter().map(|word| shell(word.as_bytes(), &root)).collect();
    let conditions: String =
        history.conditions().iter().map(|line| format!("# With {line}\n")).collect();
    let mut script =
        Script { text: format!("{HEAD}{conditions}"), root, ids: Vec::new(), requests: 0 };
    script.text.push_str(&format!(
        "FOLDER={}\nCOMMAND=({})\nENVIRONMENT=(\"PATH=$PATH\" {})\n\
         # How long a reply may take.\nSECONDS_MAX={}\n\n",
        script.quoted(start.directory.as_os_str().as_bytes()),
        command.join(" "),
        variables.join(" "),
        start.limits.reply.as_secs().max(1)
    ));
    let settings = run.capabilities.restrict_settings(&history.settings);
    let mut opened = false;
    let events = events.into_inner();
    let failing = run.divergences.first().and_then(|first| {
        let is_it =
            |event: &Event| matches!(event, Event::Requested(asked) if asked.step == first.step);
        events.iter().rposition(is_it)
    });
    for (number, event) in events.into_iter().enumerate() {
        match event {
            Event::Began { files, .. } => script.make_all(&files),
            Event::Edited(changes) => changes.iter().for_each(|change| script.change(change)),
            Event::DatabaseWritten(database, _) => {
                let place = script.place(&database.path);
                script.line(&format!("mkdir -p -- \"$(dirname -- {place})\""));
                script.line(&database::command(&place, &database));
            }
            Event::Injects(injection) => {
                let Injection { call, what, .. } = injection;
                let what = what.word();
                script.line(&format!(
                    "echo 'a script cannot make this happen at call {call} of the next request: {what}'; \
                     exit 2"
                ));
            }
            Event::Measures => {
                script.line("# The suite measures what the next request takes.");
                script.open(&settings, &run.capabilities, opened);
                opened = true;
            }
            Event::StoreEdited(edit, file) => match script.store_edit(&edit, file.as_deref()) {
                Some(line) => {
                    if !script.text.contains(damage::FUNCTIONS) {
                        script.text.push_str(damage::FUNCTIONS);
                    }
                    script.line(&line);
                }
                // A shell script has no way to make a repository as v1 made it.
                None => {
                    let text = plain(&edit);
                    script.line(&format!("# do this manually before going on: {text}"));
                }
            },
            Event::Requested(asked) => {
                if !opened || asked.request == Request::Reopen {
                    script.open(&settings, &run.capabilities, opened);
                    opened = true;
                }
                script.ask(&asked.request, &asked.answer);
                if failing == Some(number) {
                    // Whoever died or hung replied nothing.
                    let ended = matches!(asked.answer, Answer::Crashed(_));
                    let reply = if ended { "" } else { &asked.reply };
                    script.compare(reply, &asked.after);
                }
            }
        }
    }
    script.text.push_str(END);
    for one in &run.divergences {
        let told = format!(
            "{}\nexpected: {}\nfound: {}",
            one.rule.id, one.mismatch.expected, one.mismatch.found
        );
        let comment = told.lines().map(|line| format!("# {line}\n")).collect::<String>();
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

    fn place(&self, path: &ByteString) -> String {
        format!("\"$ROOT\"/{}", self.quoted(path))
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn make_all(&mut self, files: &Files) {
        self.line("mkdir -p \"$ROOT\"/home/.hermes/checkpoints");
        for (path, node) in files.iter() {
            self.make(path, node);
        }
    }

    fn make(&mut self, path: &ByteString, node: &Node) {
        let place = self.place(path);
        match node {
            Node::Directory => self.line(&format!("mkdir -p -- {place}")),
            Node::Special(SpecialKind::Fifo) => self.line(&format!("mkfifo -- {place}")),
            Node::Special(SpecialKind::Socket) => {
                if !self.text.contains(SOCKET) {
                    self.text.push_str(SOCKET);
                }
                self.line(&format!("make_socket {place}"));
            }
            Node::Link { target } => {
                let target = self.quoted(target);
                self.line(&format!("ln -s -- {target} {place}"));
            }
            Node::File { content, executable, readable } => {
                self.write(&place, content);
                if *executable || !*readable {
                    let mode = if *executable { 0o755 } else { 0o644 };
                    let mode = if *readable { mode } else { mode & 0o333 };
                    self.line(&format!("chmod {mode:o} -- {place}"));
                }
            }
        }
    }

    fn write(&mut self, place: &str, content: &[u8]) {
        // A word of a shell cannot hold a zero byte, so the format holds those.
        let parts: Vec<&[u8]> = content.split(|byte| *byte == 0).collect();
        let format = vec!["%s"; parts.len()].join("\\0");
        let words: Vec<String> = parts.into_iter().map(|part| self.quoted(part)).collect();
        self.line(&format!("printf '{format}' {} > {place}", words.join(" ")));
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Remove(path) => {
                let place = self.place(path);
                self.line(&format!("rm -rf -- {place}"));
            }
            Change::Make(path, node) => self.make(path, node),
            Change::Rewrite(path, content) => {
                let place = self.place(path);
                self.line(&format!("touch -r {place} \"$ROOT\"/.before"));
                self.write(&place, content);
                self.line(&format!("touch -m -r \"$ROOT\"/.before -- {place}"));
                self.line("rm -- \"$ROOT\"/.before");
            }
            Change::SetReadable(path, readable) => {
                let (place, sign) = (self.place(path), if *readable { '+' } else { '-' });
                self.line(&format!("chmod u{sign}r -- {place}"));
            }
            Change::SetPermissions(path, bits) => {
                let place = self.place(path);
                self.line(&format!("chmod {bits:03o} -- {place}"));
            }
            Change::HardLink(path, to) => {
                let (path, to) = (self.place(path), self.place(to));
                self.line(&format!("ln -- {to} {path}"));
            }
            Change::Rename(from, to) => {
                let (from, to) = (self.place(from), self.place(to));
                self.line(&format!("mv -T -- {from} {to}"));
            }
        }
    }

    fn open(&mut self, settings: &Settings, capabilities: &Capabilities, again: bool) {
        if again {
            self.say(&Message::Control(Control::Close));
            self.line("stop");
        }
        self.line("start");
        let inside = |path: &[u8]| ByteString([&self.root[..], b"/", path].concat());
        let open = Open {
            store: inside(b"home/.hermes/checkpoints"),
            home: inside(b"home"),
            current_directory: inside(b"work"),
            settings: settings.clone(),
        };
        self.say(&Message::Control(Control::hello()));
        self.say(&Message::Control(Control::Open(open)));
        if capabilities.has("test.clock") {
            self.say(&Message::Request(Request::SetClock { seconds: FIRST_SECOND }));
        }
    }

    fn ask(&mut self, request: &Request, answer: &Answer) {
        if *request == Request::Reopen {
            return;
        }
        self.say(&Message::Request(request.clone()));
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

    /// Compares what the operation that fails came to with what it came to here.
    fn compare(&mut self, reply: &str, after: &Files) {
        self.line("mkdir -p \"$ROOT\"/recorded/work");
        for (path, node) in after.iter().filter(|(path, _)| path.starts_with(b"work/")) {
            if path.split(|byte| *byte == b'/').all(|name| name != b".git") {
                self.make(&ByteString([b"recorded/", &path[..]].concat()), node);
            }
        }
        let plain = without_chance(reply, &String::from_utf8_lossy(&self.root), &self.ids);
        self.line(&format!("RECORDED={}", shell(plain.as_bytes(), b"")));
        self.text.push_str(COMPARE);
    }

    fn say(&mut self, message: &Message) {
        self.requests += 1;
        let envelope = Envelope { id: self.requests, message };
        let mut value = serde_json::to_value(&envelope).unwrap_or_default();
        let target = value.get("target").and_then(|target| target.as_str()).map(str::to_owned);
        // A target that is an id, or begins one, is replaced by the script's own id.
        let known = target.as_ref().and_then(|target| {
            let begins = |id: &&String| target.len() >= 4 && id.starts_with(target.as_str());
            let at = self.ids.iter().rposition(|id| begins(&id))?;
            Some((at + 1, target.len()))
        });
        if known.is_some() {
            value["target"] = "HERMA_TARGET".into();
        }
        let mut encoded = Vec::new();
        self.take_encoded(&mut value, &mut encoded);
        let mut word = self.quoted(value.to_string().as_bytes());
        for (number, path) in encoded.iter().enumerate() {
            let again = format!("'\"$(printf %s {} | base64 -w 0)\"$'", self.quoted(path));
            word = word.replace(&format!("HERMA_ENCODED_{number}_"), &again);
        }
        if let Some((number, digits)) = known {
            let cut = format!("'\"${{ID{number}:0:{digits}}}\"$'");
            word = word.replace("HERMA_TARGET", &cut);
        }
        self.line(&format!("ask {word}"));
    }

    /// Paths below the sandbox that are encoded, since they are no text: the script encodes its own.
    fn take_encoded(&self, value: &mut Value, found: &mut Vec<ByteString>) {
        match value {
            Value::Object(fields) => {
                let path = serde_json::from_value::<ByteString>(Value::Object(fields.clone()));
                if let Some(path) = path.ok().filter(|path| path.starts_with(&self.root)) {
                    let own = format!("HERMA_ENCODED_{}_", found.len());
                    fields.insert("b64".into(), own.into());
                    found.push(path);
                    return;
                }
                fields.values_mut().for_each(|one| self.take_encoded(one, found));
            }
            Value::Array(all) => all.iter_mut().for_each(|one| self.take_encoded(one, found)),
            _ => {}
        }
    }
}

/// A reply without what is another one each time, as `plain` of the script does it.
fn without_chance(reply: &str, root: &str, ids: &[String]) -> String {
    let mut line = reply.trim_end().replace(root, "ROOT");
    for id in ids.iter().filter(|id| id.len() >= 4) {
        line = line.replace(id.as_str(), "ID");
    }
    let (mut text, mut run) = (String::new(), String::new());
    for one in line.chars().map(Some).chain([None]) {
        match one {
            Some(digit) if digit.is_ascii_digit() || ('a'..='f').contains(&digit) => {
                run.push(digit)
            }
            other => {
                text.push_str(if run.len() >= 7 { "#" } else { &run });
                run.clear();
                text.extend(other);
            }
        }
    }
    let text = without_value(&text, "\"id\":", |value| {
        Some(value.trim_start_matches(|one: char| one.is_ascii_digit()))
    });
    without_value(&text, "\"message\":", |value| {
        let (mut rest, mut escaped) = (value.strip_prefix('"')?.chars(), false);
        while escaped || !rest.as_str().starts_with('"') {
            escaped = rest.next()? == '\\' && !escaped;
        }
        rest.as_str().get(1..)
    })
}

/// The line without the first value of a field; `rest` is what comes behind it.
fn without_value(line: &str, field: &str, rest: impl Fn(&str) -> Option<&str>) -> String {
    let Some((before, value)) = line.split_once(field) else { return line.to_owned() };
    let value = value.trim_start_matches(' ');
    match rest(value).filter(|rest| rest.len() < value.len()) {
        Some(rest) => format!("{before}{field}#{rest}"),
        None => line.to_owned(),
    }
}

/// The bytes as one word of bash, with the sandbox's path replaced by the script's.
fn shell(bytes: &[u8], root: &[u8]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = bytes;
    loop {
        let at = rest.windows(root.len().max(1)).position(|window| window == root);
        let plain = &rest[..at.unwrap_or(rest.len())];
        parts.push(format!("$'{}'", escaped(plain)));
        match at {
            Some(at) => rest = &rest[at + root.len()..],
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
            other => text.push_str(&format!("\\x{other:02x}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_another_one_each_time_is_left_out_of_a_reply() {
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
            assert_eq!(without_chance(reply, "/tmp/x", &ids), plain);
        }
    }
}
