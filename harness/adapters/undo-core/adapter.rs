//! Drives the `Undo` of undo-core in-process. Translates, and repairs nothing.
//!
//! Started as: adapter VERSION PACKAGES; it is built when it is installed. A checkpoint is a mark in a
//! journal, and what was captured after it: `undo run` sets the mark and captures the whole project,
//! and so does this. The folder `.undo` of a project is its store, which the suite makes, as
//! `undo init` would (that also writes into the project's `.gitignore`). A rollback takes the journal
//! back with it, as undoing does in an editor: what was captured since the mark is gone then.
//!
//! Not claimed: leaving files created since (it always removes them); one file (`revert` takes back
//! its last capture, and no checkpoint can be named); a comparison (with the last checkpoint only);
//! fifos (capturing one waits for whoever writes to it); a pre-rollback checkpoint (what `redo` brings
//! back is on no list). What it leaves out by name is not used at all.

use serde_json::{Value, json};
use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use undo_core::{Row, Undo};

const CAPABILITIES: [&str; 4] =
    ["capture.no_repositories", "checkpoint", "list.reason", "restore.exact"];

/// What it takes for noise wherever it is.
const AVOIDS: [&str; 17] = [
    "node_modules",
    "target",
    "dist",
    "build",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".turbo",
    ".venv",
    "venv",
    "__pycache__",
    ".mypy_cache",
    ".pytest_cache",
    ".gradle",
    ".idea",
    ".cargo",
    "vendor",
];

/// A refusal: its code is from the protocol's list.
struct Refused {
    code: &'static str,
    message: String,
}

impl Refused {
    fn new(code: &'static str, message: impl ToString) -> Self {
        Refused { code, message: message.to_string() }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused::new("internal", error)
    }
}

/// A path or target is a string, or `{"b64": ...}` if it is not UTF-8.
fn bytes(value: &Value) -> Result<Vec<u8>, Refused> {
    let read = match (value, &value["b64"]) {
        (Value::String(text), _) => Some(text.clone().into_bytes()),
        (_, Value::String(encoded)) => decode(encoded),
        _ => None,
    };
    read.ok_or_else(|| Refused::new("internal", format!("no bytes: {value}")))
}

/// Base64, which the standard library does not have.
fn decode(text: &str) -> Option<Vec<u8>> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0, 0);
    for letter in text.trim_end_matches('=').bytes() {
        bits = (bits << 6) | LETTERS.iter().position(|known| *known == letter)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

/// The project, which its command finds from the directory that it is started in.
fn project(asked: &Value) -> Result<Undo, Refused> {
    let directory = PathBuf::from(OsString::from_vec(bytes(&asked["dir"])?));
    // What a shell says to `cd` before the command is started at all.
    fs::read_dir(&directory).map_err(|error| {
        let code = match error.kind() {
            ErrorKind::NotFound => "missing_directory",
            ErrorKind::NotADirectory => "not_a_directory",
            ErrorKind::PermissionDenied => "permission",
            _ => "io",
        };
        Refused::new(code, error)
    })?;
    let found = Undo::discover(&directory)?;
    found.ok_or_else(|| Refused::new("store_unusable", "no .undo here — run `undo init` first"))
}

fn checkpoint(asked: &Value) -> Result<Value, Refused> {
    let undo = project(asked)?;
    let id = undo.checkpoint(asked["reason"].as_str().unwrap_or_default())?;
    undo.track(&undo.workdir().to_owned())?;
    Ok(json!({ "outcome": "created", "id": id }))
}

fn list(asked: &Value) -> Result<Value, Refused> {
    let rows = project(asked)?.log()?;
    let marks = rows.into_iter().rev().filter_map(|row| match row {
        Row::Checkpoint { id, label, ts } => Some((id, label, ts / 1000)),
        Row::Effect { .. } => None,
    });
    let listed: Vec<Value> = (1..)
        .zip(marks)
        .map(|(number, (id, reason, time))| {
            json!({ "number": number, "id": id, "time": time, "reason": reason })
        })
        .collect();
    Ok(json!({ "checkpoints": listed }))
}

fn restore(asked: &Value) -> Result<Value, Refused> {
    let undo = project(asked)?;
    let target = String::from_utf8(bytes(&asked["target"])?)
        .map_err(|error| Refused::new("bad_target", error))?;
    let report = undo.rollback(Some(&target)).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Refused::new("unknown_checkpoint", error),
        _ => error.into(),
    })?;
    // It describes an effect in a word of eight letters and its path, and says why it failed.
    let root = format!("{}/", undo.workdir().display());
    let failed = report.failed.iter().map(|said| {
        let (effect, why) = said.rsplit_once(" (error: ").unwrap_or((said, ""));
        let path = effect.split_once(&root).map_or(effect, |(_, path)| path);
        json!({ "path": path, "why": why.trim_end_matches(')') })
    });
    Ok(json!({ "failed": failed.collect::<Vec<_>>() }))
}

fn answer(asked: &Value, version: &str) -> Result<Value, Refused> {
    match asked["op"].as_str().unwrap_or_default() {
        "hello" => {
            let claimed = CAPABILITIES.map(|name| (name.to_owned(), Value::Bool(true)));
            Ok(json!({
                "protocol": 1,
                "impl": { "name": "undo-core", "version": version },
                "reusable": true,
                "capabilities": claimed.into_iter().collect::<serde_json::Map<_, _>>(),
                "store_folder": ".undo",
                "avoids": AVOIDS,
            }))
        }
        "open" | "close" => Ok(json!({})),
        "checkpoint" => checkpoint(asked),
        "list" => list(asked),
        "restore" => restore(asked),
        unknown => Err(Refused::new("unsupported", unknown)),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let version = env::args().nth(1).unwrap_or_default();
    let mut output = io::stdout();
    for line in io::stdin().lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        let id = &asked["id"];
        let reply = match answer(&asked, &version) {
            Ok(ok) => json!({ "id": id, "ok": ok }),
            Err(Refused { code, message }) => {
                json!({ "id": id, "err": { "code": code, "message": message } })
            }
        };
        writeln!(output, "{reply}")?;
        output.flush()?;
    }
    Ok(())
}
