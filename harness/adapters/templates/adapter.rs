//! A complete adapter, for a toy that copies whole trees. Replace the `Toy` by your implementation.
//!
//! To make a crate of it: `cargo new adapter`, `cargo add serde_json` in there, and paste this over
//! `src/main.rs`. It is started as `target/release/adapter` after `cargo build --release`.
//!
//! The runner writes one JSON object on a line to standard input and reads one reply on a line from
//! standard output. Print nothing else there; diagnostics go to standard error.

use serde_json::{Value, json};
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// A refusal: its code is from the protocol's list, and it says what was changed on the disk.
struct Refused {
    code: &'static str,
    message: String,
    changed: &'static str,
}

impl Refused {
    fn new(code: &'static str, message: impl ToString) -> Self {
        Refused { code, message: message.to_string(), changed: "none" }
    }
}

/// Any other error is an answer, too.
impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused { code: "internal", message: error.to_string(), changed: "unknown" }
    }
}

/// A path is a string, or `{"b64": ...}` if it is not UTF-8.
fn path(value: &Value) -> Result<PathBuf, Refused> {
    let bytes = match (value, &value["b64"]) {
        (Value::String(text), _) => Some(text.clone().into_bytes()),
        (_, Value::String(encoded)) => decode(encoded),
        _ => None,
    };
    let bytes = bytes.ok_or_else(|| Refused::new("internal", format!("no path: {value}")))?;
    Ok(OsString::from_vec(bytes).into())
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

/// Copies a tree over what is there. If something cannot be copied, the rest still is.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    let entries = fs::read_dir(from)?.collect::<io::Result<Vec<_>>>()?;
    fs::create_dir_all(to)?;
    let mut outcome = Ok(());
    for entry in entries {
        outcome = outcome.and(copy(&entry, &to.join(entry.file_name())));
    }
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    outcome
}

fn copy(entry: &fs::DirEntry, to: &Path) -> io::Result<()> {
    let (from, kind) = (entry.path(), entry.file_type()?);
    if kind.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if kind.is_dir() {
        return copy_tree(&from, to);
    }
    // Like cp, copies a file into a directory that is in its place.
    let place = if to.is_dir() { to.join(entry.file_name()) } else { to.to_owned() };
    // Opening a pipe would wait for its other end.
    if !kind.is_file() || (place.exists() && !place.is_file()) {
        let message = format!("{} or {} is no file", from.display(), place.display());
        return Err(io::Error::other(message));
    }
    fs::copy(from, place).map(drop)
}

/// Keeps a copy of the whole tree for every checkpoint.
struct Toy {
    store: PathBuf,
}

impl Toy {
    fn open(store: PathBuf) -> Result<Self, Refused> {
        fs::create_dir_all(&store)?;
        Ok(Toy { store })
    }

    fn ids(&self) -> Result<Vec<String>, Refused> {
        let entries = fs::read_dir(&self.store)?;
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut ids = entries.map(|entry| entry.map(name)).collect::<io::Result<Vec<_>>>()?;
        ids.sort();
        ids.reverse();
        Ok(ids)
    }

    fn checkpoint(&self, project: &Path, reason: &str) -> Result<String, Refused> {
        if !project.is_dir() {
            return Err(Refused::new("missing_directory", project.display()));
        }
        // Digits alone would be read as a number of the list when typed.
        let id = format!("c{:07x}", self.ids()?.len() + 1);
        let folder = self.store.join(&id);
        copy_tree(project, &folder.join("tree"))?;
        fs::write(folder.join("reason"), reason)?;
        Ok(id)
    }

    fn list(&self) -> Result<Vec<Value>, Refused> {
        let describe = |(index, id): (usize, &String)| {
            let name = self.store.join(id).join("reason");
            let (reason, seconds) = (fs::read_to_string(&name)?, fs::metadata(&name)?.mtime());
            Ok(json!({ "number": index + 1, "id": id, "time": seconds, "reason": reason }))
        };
        self.ids()?.iter().enumerate().map(describe).collect()
    }

    fn restore(&self, project: &Path, target: &Path) -> Result<(), Refused> {
        let tree = self.store.join(target).join("tree");
        if !tree.is_dir() {
            return Err(Refused::new("unknown_checkpoint", target.display()));
        }
        Ok(copy_tree(&tree, project)?)
    }
}

fn answer(asked: &Value, opened: &mut Option<Toy>) -> Result<Value, Refused> {
    let toy = opened.as_ref().ok_or_else(|| Refused::new("internal", "no store is open"));
    match asked["op"].as_str().unwrap_or_default() {
        "hello" => Ok(json!({
            "protocol": 1,
            "impl": { "name": "copy-tree", "version": "0.1.0" },
            // One process may serve one history after another: `open` begins with a new store.
            "reusable": true,
            // Everyone is asked to list and restore; anything else needs a capability.
            "capabilities": { "checkpoint": true },
        })),
        "open" => {
            *opened = Some(Toy::open(path(&asked["store"])?)?);
            Ok(json!({}))
        }
        "checkpoint" => {
            let reason = asked["reason"].as_str().unwrap_or_default();
            let id = toy?.checkpoint(&path(&asked["dir"])?, reason)?;
            Ok(json!({ "outcome": "created", "id": id }))
        }
        "list" => Ok(json!({ "checkpoints": toy?.list()? })),
        "restore" => {
            toy?.restore(&path(&asked["dir"])?, &path(&asked["target"])?)?;
            Ok(json!({}))
        }
        "close" => Ok(json!({})),
        unknown => Err(Refused::new("unsupported", unknown)),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut toy = None;
    let mut output = io::stdout();
    for line in io::stdin().lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        let id = &asked["id"];
        let reply = match answer(&asked, &mut toy) {
            Ok(ok) => json!({ "id": id, "ok": ok }),
            Err(Refused { code, message, changed }) => {
                json!({ "id": id, "err": { "code": code, "message": message, "changed": changed } })
            }
        };
        writeln!(output, "{reply}")?;
        output.flush()?;
    }
    Ok(())
}
