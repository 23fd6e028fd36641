//! What an adapter is probed for: whether it keeps the protocol, serves what it claims, and brings a
//! file back.
//!
//! A probe that fails names what is wrong and what to change. None says anything about the rules.

use super::VERSION;
use super::capabilities::Capabilities;
use super::fault::{Fault, told};
use super::message::{Control, ErrorCode, Hello, Message, Open, Reply, Unsupported};
use super::process::Adapter;
use crate::history::History;
use crate::sandbox::Sandbox;
use herma_model::tool::Tool;
use herma_model::{ByteString, Request};
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;

/// What a probe found: what could be better, or what is wrong.
type Found = Result<Vec<String>, String>;

/// A probe: a sentence that should hold, and who looks.
pub type Probe = (&'static str, fn(&mut Talk<'_>) -> Found);

/// Every probe, in the order that they need.
pub const PROBES: [Probe; 13] = [
    ("it says who it is and speaks this version", hello),
    ("an operation that no version has is answered `unsupported`", unsupported),
    ("it opens a store", open),
    ("it takes a checkpoint of a project", checkpoint),
    ("it lists that checkpoint", list),
    ("a second checkpoint, of a changed project, has an id of its own", second),
    ("if it claims a diff, that names the changed file", diff),
    ("it brings the first checkpoint back", restore),
    ("if it claims to, it brings a single file back", restore_file),
    ("what it claims it serves", claimed),
    ("what it serves it claims", unclaimed),
    ("it closes the store", close),
    ("if it can be opened again, it knows nothing of another store then", open_again),
];

/// The file of the project, and what the first and the second checkpoint have of it.
const FILE: &str = "a.txt";
const FIRST: &str = "one\n";
// Of another size, since this is no test of how well a store looks.
const SECOND: &str = "two and more\n";

/// A conversation with an adapter, and what came of it so far.
pub struct Talk<'a> {
    adapter: Adapter,
    sandbox: &'a Sandbox,
    capabilities: Capabilities,
    /// The id of the first checkpoint, as the list has it.
    first: String,
}

impl<'a> Talk<'a> {
    /// Nothing was said yet.
    pub fn new(adapter: Adapter, sandbox: &'a Sandbox) -> Self {
        Talk { adapter, sandbox, capabilities: Capabilities::none(), first: String::new() }
    }

    /// Ends the adapter.
    ///
    /// # Errors
    /// It does not end as it should.
    pub fn finish(self) -> Result<(), Fault> {
        self.adapter.finish()
    }

    /// Says hello and opens a store.
    ///
    /// # Errors
    /// It does not open.
    pub fn opens(&mut self) -> Result<(), String> {
        hello(self)?;
        open(self).map(|_| ())
    }

    fn ask(&mut self, message: &Message) -> Result<Reply, String> {
        self.adapter.ask(message).map_err(|fault: Fault| {
            // How it ended holds that already.
            let is_told = matches!(fault, Fault::Exited { .. });
            let said = if is_told { String::new() } else { told(&self.adapter.complaint()) };
            format!("{fault}{said}")
        })
    }

    fn answered(&mut self, message: &Message) -> Result<Value, String> {
        let reply = self.ask(message)?;
        let refused = reply.err.map(|refusal| format!("refused: {refusal}"));
        reply.ok.ok_or_else(|| refused.unwrap_or_default())
    }

    fn requested(&mut self, request: Request) -> Result<Value, String> {
        self.answered(&Message::Request(request))
    }

    fn project(&self) -> ByteString {
        ByteString::from(self.sandbox.root().join("work/alpha").as_os_str().as_bytes())
    }

    fn write(&self, content: &str) -> Result<(), String> {
        let path = self.sandbox.root().join("work/alpha").join(FILE);
        std::fs::write(path, content).map_err(|error| error.to_string())
    }

    /// Whether the file holds that, as the disk has it.
    fn holds(&self, due: &str, by: &str) -> Found {
        let path = self.sandbox.root().join("work/alpha").join(FILE);
        let found = std::fs::read_to_string(path).unwrap_or_else(|error| format!("({error})"));
        if found == due {
            return Ok(Vec::new());
        }
        let (found, due) = (found.escape_debug(), due.escape_debug());
        Err(format!(
            "after {by}, {FILE} holds `{found}` and not `{due}`: write the files of the checkpoint \
             into `dir` before you answer"
        ))
    }

    /// The ids that are listed, newest first.
    fn ids(&mut self) -> Result<Vec<String>, String> {
        let dir = self.project();
        let listed = self.requested(Request::List { dir })?;
        let all = listed["checkpoints"].as_array().ok_or_else(|| {
            format!("the answer is {listed}: it needs `checkpoints`, a list, newest first")
        })?;
        let id = |one: &Value| one["id"].as_str().map(str::to_owned);
        all.iter()
            .map(|one| id(one).ok_or_else(|| format!("{one} has no `id` that is a text")))
            .collect()
    }
}

fn hello(talk: &mut Talk<'_>) -> Found {
    let said = talk.answered(&Message::Control(Control::hello()))?;
    let hello: Hello =
        serde_json::from_value(said).map_err(|error| format!("no hello: {error}"))?;
    if hello.protocol != VERSION {
        return Err(format!("it speaks version {}, this runner {VERSION}", hello.protocol));
    }
    talk.capabilities = Capabilities::of(&hello)?;
    if let Some(folder) = talk.capabilities.store_folder() {
        talk.sandbox.make_stores(folder).map_err(|error| error.to_string())?;
    }
    let vague = ["main", "master", "dev", ""].contains(&&hello.implementation.version[..]);
    if vague && hello.implementation.commit.is_none() {
        return Err("a version that moves needs a commit, too".into());
    }
    Ok(Vec::new())
}

fn unsupported(talk: &mut Talk<'_>) -> Found {
    let reply = talk.ask(&Message::Control(Control::NoSuchOperation))?;
    match (is_unsupported(&reply), reply.err) {
        (true, _) => Ok(Vec::new()),
        (false, Some(refusal)) => Err(format!("refused: {refusal}")),
        (false, None) => Err("it was answered as if there were such an operation".into()),
    }
}

fn is_unsupported(reply: &Reply) -> bool {
    let code = reply.err.as_ref().map(|refusal| refusal.code);
    code == Some(ErrorCode::Unsupported(Unsupported::Unsupported))
}

fn open(talk: &mut Talk<'_>) -> Found {
    let open = Open::of(talk.sandbox, History::default().settings);
    talk.answered(&Message::Control(Control::Open(open))).map(|_| Vec::new())
}

fn checkpoint(talk: &mut Talk<'_>) -> Found {
    let (dir, reason) = (talk.project(), "probe".to_owned());
    let request = match talk.capabilities.has("checkpoint") {
        true => Request::Checkpoint { dir, reason },
        // Without manual checkpoints, an automatic one is taken, in a turn of its own.
        false if talk.capabilities.has("ensure_checkpoint") => {
            talk.requested(Request::NewTurn)?;
            Request::EnsureCheckpoint { dir, reason }
        }
        false => {
            return Err("it claims neither `checkpoint` nor `ensure_checkpoint`, so that nothing \
                        can be judged: claim the one that the implementation has"
                .into());
        }
    };
    let taken = talk.requested(request)?;
    match taken["outcome"].as_str() {
        Some("created") => Ok(Vec::new()),
        _ => Err(format!(
            "a changed project gave {taken}: answer {{\"outcome\": \"created\", \"id\": …}}"
        )),
    }
}

fn list(talk: &mut Talk<'_>) -> Found {
    match &talk.ids()?[..] {
        [one] => talk.first.clone_from(one),
        ids => return Err(format!("after one checkpoint {} are listed", ids.len())),
    }
    let digits = talk.first.bytes().all(|byte| byte.is_ascii_digit());
    let hint = "its ids are digits alone, and it claims `target.number`: a number of the list and an \
                id cannot be told apart; give ids a letter, or do not claim it";
    let ambiguous = digits && talk.capabilities.has("target.number");
    Ok(ambiguous.then(|| hint.to_owned()).into_iter().collect())
}

fn second(talk: &mut Talk<'_>) -> Found {
    talk.write(SECOND)?;
    checkpoint(talk)?;
    let ids = talk.ids()?;
    match &ids[..] {
        [newest, oldest] if *oldest == talk.first && newest != oldest => Ok(Vec::new()),
        [newest, _] if *newest == talk.first => {
            Err("the list is oldest first: turn it round".into())
        }
        _ => Err(format!(
            "the list is now {}, and the first checkpoint was `{}`: an id stays what it is as long as \
             it is listed",
            ids.join(", "),
            talk.first
        )),
    }
}

fn diff(talk: &mut Talk<'_>) -> Found {
    if !talk.capabilities.has("diff") {
        return Ok(Vec::new());
    }
    let (dir, target) = (talk.project(), ByteString::from(&talk.first[..]));
    let said = talk.requested(Request::Diff { dir, target })?;
    let entries = said["entries"].as_array().cloned().unwrap_or_default();
    let paths: BTreeSet<&str> = entries.iter().filter_map(|one| one["path"].as_str()).collect();
    if paths == BTreeSet::from([FILE]) {
        return Ok(Vec::new());
    }
    Err(format!(
        "{FILE} alone changed, and the entries are {}: name paths relative to the project",
        said["entries"]
    ))
}

fn restore(talk: &mut Talk<'_>) -> Found {
    let (dir, target) = (talk.project(), ByteString::from(&talk.first[..]));
    // Who always removes what was created since cannot be asked to leave it.
    let exact =
        talk.capabilities.has("restore.exact") && !talk.capabilities.has("restore.leaves_new");
    talk.requested(Request::Restore { dir, target, exact, force: false })?;
    talk.holds(FIRST, "a restore of the first checkpoint")
}

fn restore_file(talk: &mut Talk<'_>) -> Found {
    if !talk.capabilities.has("restore.file") {
        return Ok(Vec::new());
    }
    talk.write(SECOND)?;
    let (dir, target) = (talk.project(), ByteString::from(&talk.first[..]));
    talk.requested(Request::RestoreFile { dir, target, path: FILE.into() })?;
    talk.holds(FIRST, "a restore of that file alone")
}

/// The requests that take a capability, nothing of the store being lost by them but by the last.
fn optional(talk: &Talk<'_>) -> Vec<Request> {
    let (dir, target) = (talk.project(), ByteString::from(&talk.first[..]));
    let file = ByteString([&dir[..], b"/", FILE.as_bytes()].concat());
    let delete_orphans = false;
    vec![
        Request::ProjectOf { file },
        Request::Classify { command: "ls".into() },
        Request::BeforeTool { dir: dir.clone(), tool: Tool::WriteFile { path: FILE.into() } },
        Request::EnsureCheckpoint { dir: dir.clone(), reason: "probe".into() },
        Request::WithoutBackend { dir: dir.clone(), reason: "probe".into() },
        Request::PrintList { dir: dir.clone() },
        Request::Diff { dir: dir.clone(), target: target.clone() },
        Request::RestoreFile { dir: dir.clone(), target, path: FILE.into() },
        Request::ToolWrites { dir: dir.clone(), path: FILE.into() },
        Request::ToolWrote { dir, path: FILE.into() },
        Request::Status,
        Request::Sweep,
        Request::Prune { retention_days: 0, max_total_bytes: 0, delete_orphans },
        Request::PruneAsConfigured,
        Request::Configured,
        Request::ClearLegacy,
        Request::Clear,
    ]
}

fn claimed(talk: &mut Talk<'_>) -> Found {
    // What clears is asked last, by nobody who does not claim it: the next probe.
    let asked = optional(talk).into_iter().filter(|one| *one != Request::Clear);
    for request in asked.collect::<Vec<_>>() {
        let claim = request.kind().capability.map(|one| one.0);
        let Some(claim) = claim.filter(|claim| talk.capabilities.has(claim)) else { continue };
        let name = request.name();
        if is_unsupported(&talk.ask(&Message::Request(request))?) {
            return Err(format!(
                "it claims `{claim}` and answers `{name}` with `unsupported`: serve it, or do not \
                 claim it"
            ));
        }
    }
    Ok(Vec::new())
}

fn unclaimed(talk: &mut Talk<'_>) -> Found {
    let mut hints = Vec::new();
    for request in optional(talk) {
        let claim = request.kind().capability.map(|one| one.0);
        let Some(claim) = claim.filter(|claim| !talk.capabilities.has(claim)) else { continue };
        let name = request.name();
        if !is_unsupported(&talk.ask(&Message::Request(request))?) {
            hints.push(format!(
                "it answers `{name}` and does not claim `{claim}`: claim it, so that its rules are \
                 judged, or answer `unsupported`"
            ));
        }
    }
    Ok(hints)
}

fn close(talk: &mut Talk<'_>) -> Found {
    talk.answered(&Message::Control(Control::Close)).map(|_| Vec::new())
}

fn open_again(talk: &mut Talk<'_>) -> Found {
    let said = talk.answered(&Message::Control(Control::hello()))?;
    if said["reusable"] != true {
        return Ok(Vec::new());
    }
    let below = |name: &str| -> std::io::Result<ByteString> {
        let path = talk.sandbox.root().join(name);
        std::fs::create_dir_all(&path)?;
        Ok(ByteString::from(path.as_os_str().as_bytes()))
    };
    let other = |error: std::io::Error| error.to_string();
    let first = Open::of(talk.sandbox, History::default().settings);
    let (home, store) = (below("again").map_err(other)?, below("again/store").map_err(other)?);
    talk.answered(&Message::Control(Control::Open(Open { home, store, ..first })))?;
    let ids = talk.ids()?;
    // A store that lies in the project is the same one, wherever the rest is.
    let in_project = said["store_folder"].is_string() || said["needs"].is_array();
    if ids.is_empty() || in_project {
        return close(talk);
    }
    Err(format!("a new store lists {}: let go of the old one with `close`", ids.join(", ")))
}
