//! Drives the checkpoints of microclaw-engine in-process. Translates, and repairs nothing.
//!
//! Started as: adapter VERSION PACKAGES; it is built when it is installed. The engine takes a
//! checkpoint where a turn begins, by `snapshot`, with a label that says when; here the label is the
//! reason. `/rewind` is `list` and `restore`. A list has the first digits of ids, which are looked up
//! in the repository that it was read from.
//!
//! Not claimed: turns (the engine takes one at the beginning of each, unasked); leaving files created
//! since (they are always removed); a single file, a comparison, a bound or a pre-rollback checkpoint
//! (there are none); numbers (`/rewind` takes ids); spellings (a project is configured, not typed).

use chrono::DateTime;
use microclaw_engine::checkpoint;
use serde_json::{json, Value};
use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tokio::runtime::{Builder, Runtime};

const CAPABILITIES: [&str; 11] = [
    "capture.default_excludes",
    "capture.gitignore",
    "capture.no_repositories",
    "checkpoint",
    "files.special",
    "list.reason",
    "project.any_directory",
    "restore.exact",
    "take.unchanged",
    "target.short",
    "test.clock",
];

/// More than any history takes.
const ALL: usize = 1_000_000;

/// What its errors say, and what that means.
const ERRORS: [(&str, &str); 11] = [
    ("working directory does not exist", "missing_directory"),
    ("git spawn failed: No such file or directory", "missing_directory"),
    ("git spawn failed: Not a directory", "not_a_directory"),
    ("invalid commit hash", "bad_target"),
    ("no checkpoint repo exists", "unknown_checkpoint"),
    ("is ambiguous", "ambiguous_checkpoint"),
    ("Not a valid object name", "unknown_checkpoint"),
    ("failed to unpack tree object", "unknown_checkpoint"),
    (".lock': File exists", "busy"),
    ("No space left on device", "no_space"),
    ("Permission denied", "permission"),
];

/// A refusal: its code is from the protocol's list.
struct Refused {
    code: &'static str,
    message: String,
}

impl From<String> for Refused {
    fn from(message: String) -> Self {
        let known = ERRORS.iter().find(|(said, _)| message.contains(said));
        Refused { code: known.map_or("internal", |(_, code)| code), message }
    }
}

/// What was opened, and what runs its futures.
struct Driven {
    runtime: Runtime,
    root: PathBuf,
}

/// A path or target is a string, or `{"b64": ...}` if it is not UTF-8.
fn bytes(value: &Value) -> Result<Vec<u8>, Refused> {
    let read = match (value, &value["b64"]) {
        (Value::String(text), _) => Some(text.clone().into_bytes()),
        (_, Value::String(encoded)) => decode(encoded),
        _ => None,
    };
    read.ok_or_else(|| format!("no bytes: {value}").into())
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

fn path(value: &Value) -> Result<PathBuf, Refused> {
    Ok(PathBuf::from(OsString::from_vec(bytes(value)?)))
}

impl Driven {
    /// A project and the repository of its checkpoints, as the engine finds it.
    fn project(&self, asked: &Value) -> Result<(PathBuf, PathBuf), Refused> {
        let directory = path(&asked["dir"])?;
        Ok((checkpoint::shadow_repo_path(&self.root, &directory), directory))
    }

    fn checkpoint(&self, asked: &Value) -> Result<Value, Refused> {
        let (repository, directory) = self.project(asked)?;
        let reason = asked["reason"].as_str().unwrap_or_default();
        let taken = checkpoint::snapshot(&repository, &directory, reason);
        Ok(match self.runtime.block_on(taken)? {
            Some(id) => json!({ "outcome": "created", "id": id }),
            None => json!({ "outcome": "unchanged" }),
        })
    }

    fn list(&self, asked: &Value) -> Result<Value, Refused> {
        let (repository, directory) = self.project(asked)?;
        let listed = checkpoint::list(&repository, &directory, ALL);
        let listed = self.runtime.block_on(listed)?;
        let ids = whole(&repository, listed.iter().map(|entry| entry.commit.as_str()))?;
        let entries = (1..).zip(&listed).zip(ids).map(|((number, entry), id)| {
            let time = DateTime::parse_from_rfc3339(&entry.timestamp);
            let time = time.map_err(|error| format!("{:?}: {error}", entry.timestamp))?;
            let (time, reason) = (time.timestamp(), &entry.label);
            Ok(json!({ "number": number, "id": id, "time": time, "reason": reason }))
        });
        Ok(json!({ "checkpoints": entries.collect::<Result<Vec<_>, Refused>>()? }))
    }

    fn restore(&self, asked: &Value) -> Result<Value, Refused> {
        let (repository, directory) = self.project(asked)?;
        let target = String::from_utf8(bytes(&asked["target"])?)
            .map_err(|error| Refused { code: "bad_target", message: error.to_string() })?;
        self.runtime.block_on(checkpoint::restore(&repository, &directory, &target))?;
        Ok(json!({}))
    }
}

/// The whole ids of which a list has the first digits.
fn whole<'a>(
    repository: &Path,
    short: impl Iterator<Item = &'a str>,
) -> Result<Vec<String>, Refused> {
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(repository).arg("rev-parse").args(short);
    let output = git.output().map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

fn hello(version: &str) -> Value {
    let claimed = CAPABILITIES.map(|name| (name.to_owned(), Value::Bool(true)));
    json!({
        "protocol": 1,
        "impl": { "name": "microclaw-engine", "version": version },
        "reusable": true,
        "git": true,
        "capabilities": claimed.into_iter().collect::<serde_json::Map<_, _>>(),
    })
}

fn open(driven: &mut Driven, asked: &Value) -> Result<Value, Refused> {
    // Its folder in the data folder.
    driven.root = path(&asked["store"])?.join("checkpoints");
    env::set_var("HOME", path(&asked["home"])?);
    env::remove_var("GIT_COMMITTER_DATE");
    Ok(json!({}))
}

fn answer(driven: &mut Driven, asked: &Value, version: &str) -> Result<Value, Refused> {
    match asked["op"].as_str().unwrap_or_default() {
        "hello" => Ok(hello(version)),
        "open" => open(driven, asked),
        "close" => Ok(json!({})),
        "test.clock" => {
            // A list has the time of the commit, which git takes from the environment.
            env::set_var("GIT_COMMITTER_DATE", format!("@{} +0000", asked["seconds"]));
            Ok(json!({}))
        }
        "checkpoint" => driven.checkpoint(asked),
        "list" => driven.list(asked),
        "restore" => driven.restore(asked),
        unknown => Err(Refused { code: "unsupported", message: unknown.to_owned() }),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let version = env::args().nth(1).unwrap_or_default();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut driven = Driven { runtime, root: PathBuf::new() };
    let mut output = io::stdout();
    for line in io::stdin().lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        let id = &asked["id"];
        let reply = match answer(&mut driven, &asked, &version) {
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
