//! The probes of an adapter: whether it follows the protocol, serves what it claims, and restores a file.
//!
//! A failing probe reports what is wrong and what to change. No probe judges the rules.

use super::VERSION;
use super::capabilities::Capabilities;
use super::fault::{Fault, with_complaint};
use super::message::{Control, ErrorCode, Hello, Message, Open, Reply, Unsupported};
use super::process::Adapter;
use crate::history::History;
use crate::sandbox::Sandbox;
use herma_model::tool::Tool;
use herma_model::{ByteString, Request};
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;

/// The result of a probe: hints for improvement, or an error.
type ProbeResult = Result<Vec<String>, String>;

/// A probe: a sentence that should hold, and the function that checks it.
pub type Probe = (&'static str, fn(&mut Conversation<'_>) -> ProbeResult);

/// Every probe, in the order in which they depend on each other.
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

/// The file of the project, and its content in the first and the second checkpoint.
const FILE: &str = "a.txt";
const FIRST: &str = "one\n";
// The size differs, since this does not test whether a store detects equal sizes.
const SECOND: &str = "two and more\n";

/// A conversation with an adapter, and its results so far.
pub struct Conversation<'a> {
    adapter: Adapter,
    sandbox: &'a Sandbox,
    capabilities: Capabilities,
    /// The id of the first checkpoint, as the list has it.
    first: String,
}

impl<'a> Conversation<'a> {
    /// A conversation without messages.
    pub fn new(adapter: Adapter, sandbox: &'a Sandbox) -> Self {
        Conversation { adapter, sandbox, capabilities: Capabilities::none(), first: String::new() }
    }

    /// Ends the adapter.
    ///
    /// # Errors
    /// The adapter does not end properly.
    pub fn finish(self) -> Result<(), Fault> {
        self.adapter.finish()
    }

    /// Sends hello and opens a store.
    ///
    /// # Errors
    /// The store does not open.
    pub fn opens(&mut self) -> Result<(), String> {
        hello(self)?;
        open(self).map(|_| ())
    }

    fn ask(&mut self, message: &Message) -> Result<Reply, String> {
        self.adapter.ask(message).map_err(|fault: Fault| {
            // `Fault::Exited` contains the complaint already.
            let is_reported = matches!(fault, Fault::Exited { .. });
            let complaint =
                if is_reported { String::new() } else { with_complaint(&self.adapter.complaint()) };
            format!("{fault}{complaint}")
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

    /// Checks the content of the file on the disk after `operation`.
    fn expect_content(&self, expected: &str, operation: &str) -> ProbeResult {
        let path = self.sandbox.root().join("work/alpha").join(FILE);
        let found = std::fs::read_to_string(path).unwrap_or_else(|error| format!("({error})"));
        if found == expected {
            return Ok(Vec::new());
        }
        let found = found.escape_debug();
        let expected = expected.escape_debug();
        Err(format!(
            "after {operation}, {FILE} holds `{found}` and not `{expected}`: write the files of the checkpoint \
             into `dir` before you answer"
        ))
    }

    /// The ids that are listed, newest first.
    fn ids(&mut self) -> Result<Vec<String>, String> {
        let dir = self.project();
        let listed = self.requested(Request::List { dir })?;
        let checkpoints = listed["checkpoints"].as_array().ok_or_else(|| {
            format!("the answer is {listed}: it needs `checkpoints`, a list, newest first")
        })?;
        let id = |checkpoint: &Value| checkpoint["id"].as_str().map(str::to_owned);
        checkpoints
            .iter()
            .map(|checkpoint| {
                id(checkpoint).ok_or_else(|| format!("{checkpoint} has no `id` that is a text"))
            })
            .collect()
    }
}

fn hello(conversation: &mut Conversation<'_>) -> ProbeResult {
    let answer = conversation.answered(&Message::Control(Control::hello()))?;
    let hello: Hello =
        serde_json::from_value(answer).map_err(|error| format!("no hello: {error}"))?;
    if hello.protocol != VERSION {
        return Err(format!("it speaks version {}, this runner {VERSION}", hello.protocol));
    }
    conversation.capabilities = Capabilities::of(&hello)?;
    if let Some(folder) = conversation.capabilities.store_folder() {
        conversation.sandbox.make_stores(folder).map_err(|error| error.to_string())?;
    }
    let is_moving = ["main", "master", "dev", ""].contains(&&hello.implementation.version[..]);
    if is_moving && hello.implementation.commit.is_none() {
        return Err("a version that moves needs a commit, too".into());
    }
    Ok(Vec::new())
}

fn unsupported(conversation: &mut Conversation<'_>) -> ProbeResult {
    let reply = conversation.ask(&Message::Control(Control::NoSuchOperation))?;
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

fn open(conversation: &mut Conversation<'_>) -> ProbeResult {
    let open = Open::of(conversation.sandbox, History::default().settings);
    conversation.answered(&Message::Control(Control::Open(open))).map(|_| Vec::new())
}

fn checkpoint(conversation: &mut Conversation<'_>) -> ProbeResult {
    let dir = conversation.project();
    let reason = "probe".to_owned();
    let request = match conversation.capabilities.has("checkpoint") {
        true => Request::Checkpoint { dir, reason },
        // Without manual checkpoints, an automatic checkpoint is taken in a new turn.
        false if conversation.capabilities.has("ensure_checkpoint") => {
            conversation.requested(Request::NewTurn)?;
            Request::EnsureCheckpoint { dir, reason }
        }
        false => {
            return Err("it claims neither `checkpoint` nor `ensure_checkpoint`, so that nothing \
                        can be judged: claim the one that the implementation has"
                .into());
        }
    };
    let answer = conversation.requested(request)?;
    match answer["outcome"].as_str() {
        Some("created") => Ok(Vec::new()),
        _ => Err(format!(
            "a changed project gave {answer}: answer {{\"outcome\": \"created\", \"id\": …}}"
        )),
    }
}

fn list(conversation: &mut Conversation<'_>) -> ProbeResult {
    match &conversation.ids()?[..] {
        [id] => conversation.first.clone_from(id),
        ids => return Err(format!("after one checkpoint {} are listed", ids.len())),
    }
    let is_number = conversation.first.bytes().all(|byte| byte.is_ascii_digit());
    let hint = "its ids are digits alone, and it claims `target.number`: a number of the list and an \
                id cannot be told apart; give ids a letter, or do not claim it";
    let is_ambiguous = is_number && conversation.capabilities.has("target.number");
    Ok(is_ambiguous.then(|| hint.to_owned()).into_iter().collect())
}

fn second(conversation: &mut Conversation<'_>) -> ProbeResult {
    conversation.write(SECOND)?;
    checkpoint(conversation)?;
    let ids = conversation.ids()?;
    match &ids[..] {
        [newest, oldest] if *oldest == conversation.first && newest != oldest => Ok(Vec::new()),
        [newest, _] if *newest == conversation.first => {
            Err("the list is oldest first: turn it round".into())
        }
        _ => Err(format!(
            "the list is now {}, and the first checkpoint was `{}`: an id stays what it is as long as \
             it is listed",
            ids.join(", "),
            conversation.first
        )),
    }
}

fn diff(conversation: &mut Conversation<'_>) -> ProbeResult {
    if !conversation.capabilities.has("diff") {
        return Ok(Vec::new());
    }
    let dir = conversation.project();
    let target = ByteString::from(&conversation.first[..]);
    let answer = conversation.requested(Request::Diff { dir, target })?;
    let entries = answer["entries"].as_array().cloned().unwrap_or_default();
    let paths: BTreeSet<&str> = entries.iter().filter_map(|entry| entry["path"].as_str()).collect();
    if paths == BTreeSet::from([FILE]) {
        return Ok(Vec::new());
    }
    Err(format!(
        "{FILE} alone changed, and the entries are {}: name paths relative to the project",
        answer["entries"]
    ))
}

fn restore(conversation: &mut Conversation<'_>) -> ProbeResult {
    let dir = conversation.project();
    let target = ByteString::from(&conversation.first[..]);
    // An implementation that always removes files created since cannot be asked to leave them.
    let exact = conversation.capabilities.has("restore.exact")
        && !conversation.capabilities.has("restore.leaves_new");
    conversation.requested(Request::Restore { dir, target, exact, force: false })?;
    conversation.expect_content(FIRST, "a restore of the first checkpoint")
}

fn restore_file(conversation: &mut Conversation<'_>) -> ProbeResult {
    if !conversation.capabilities.has("restore.file") {
        return Ok(Vec::new());
    }
    conversation.write(SECOND)?;
    let dir = conversation.project();
    let target = ByteString::from(&conversation.first[..]);
    conversation.requested(Request::RestoreFile { dir, target, path: FILE.into() })?;
    conversation.expect_content(FIRST, "a restore of that file alone")
}

/// The requests that need a capability; only the last one deletes anything of the store.
fn optional(conversation: &Conversation<'_>) -> Vec<Request> {
    let dir = conversation.project();
    let target = ByteString::from(&conversation.first[..]);
    let file = ByteString::from([&dir[..], b"/", FILE.as_bytes()].concat());
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
        Request::Prune { retention_days: 0, max_total_bytes: 0, delete_orphans: false },
        Request::PruneAsConfigured,
        Request::Configured,
        Request::ClearLegacy,
        Request::Clear,
    ]
}

fn claimed(conversation: &mut Conversation<'_>) -> ProbeResult {
    // Only the next probe requests a clear, and only if it is not claimed.
    let requests = optional(conversation).into_iter().filter(|request| *request != Request::Clear);
    for request in requests.collect::<Vec<_>>() {
        let claim = request.kind().capability.map(|capability| capability.0);
        let Some(claim) = claim.filter(|claim| conversation.capabilities.has(claim)) else {
            continue;
        };
        let name = request.name();
        if is_unsupported(&conversation.ask(&Message::Request(request))?) {
            return Err(format!(
                "it claims `{claim}` and answers `{name}` with `unsupported`: serve it, or do not \
                 claim it"
            ));
        }
    }
    Ok(Vec::new())
}

fn unclaimed(conversation: &mut Conversation<'_>) -> ProbeResult {
    let mut hints = Vec::new();
    for request in optional(conversation) {
        let claim = request.kind().capability.map(|capability| capability.0);
        let Some(claim) = claim.filter(|claim| !conversation.capabilities.has(claim)) else {
            continue;
        };
        let name = request.name();
        if !is_unsupported(&conversation.ask(&Message::Request(request))?) {
            hints.push(format!(
                "it answers `{name}` and does not claim `{claim}`: claim it, so that its rules are \
                 judged, or answer `unsupported`"
            ));
        }
    }
    Ok(hints)
}

fn close(conversation: &mut Conversation<'_>) -> ProbeResult {
    conversation.answered(&Message::Control(Control::Close)).map(|_| Vec::new())
}

fn open_again(conversation: &mut Conversation<'_>) -> ProbeResult {
    let hello = conversation.answered(&Message::Control(Control::hello()))?;
    if hello["reusable"] != true {
        return Ok(Vec::new());
    }
    let below = |name: &str| -> std::io::Result<ByteString> {
        let path = conversation.sandbox.root().join(name);
        std::fs::create_dir_all(&path)?;
        Ok(ByteString::from(path.as_os_str().as_bytes()))
    };
    let message = |error: std::io::Error| error.to_string();
    let first = Open::of(conversation.sandbox, History::default().settings);
    let home = below("again").map_err(message)?;
    let store = below("again/store").map_err(message)?;
    conversation.answered(&Message::Control(Control::Open(Open { home, store, ..first })))?;
    let ids = conversation.ids()?;
    // A store in the project is the same store, whatever home and base are.
    let in_project = hello["store_folder"].is_string() || hello["needs"].is_array();
    if ids.is_empty() || in_project {
        return close(conversation);
    }
    Err(format!("a new store lists {}: let go of the old one with `close`", ids.join(", ")))
}
