//! Probes of an adapter: whether it keeps the protocol at all, before anything is judged by it.
//!
//! A probe that fails names what is wrong. None says anything about the rules.

use super::VERSION;
use super::capabilities::Capabilities;
use super::fault::Fault;
use super::message::{Control, ErrorCode, Hello, Message, Open, Reply, Unsupported};
use super::process::{Adapter, Limits};
use crate::history::History;
use crate::sandbox::{Sandbox, Scratch};
use herma_model::{ByteString, Request};
use serde_json::Value;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What one probe showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// What was probed, as a sentence that should hold.
    pub probe: &'static str,
    /// What is wrong, if it does not hold.
    pub wrong: Option<String>,
}

/// What many users' shells have set: programs that ask somebody something. No store may run one.
const PROGRAMS: [&str; 8] = [
    "EDITOR",
    "VISUAL",
    "PAGER",
    "GIT_EDITOR",
    "GIT_PAGER",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_SSH_COMMAND",
];

/// The environment of an adapter: a home of its own, where programs are, and programs that ask.
pub fn environment(sandbox: &Sandbox) -> Vec<(OsString, OsString)> {
    let mut variables = vec![
        ("HOME".into(), sandbox.home().into_os_string()),
        ("HERMES_HOME".into(), sandbox.home().join(".hermes").into_os_string()),
        ("TZ".into(), "UTC".into()),
        ("LC_ALL".into(), "C.UTF-8".into()),
        ("HERMA_PROTOCOL".into(), VERSION.to_string().into()),
    ];
    variables.extend(PROGRAMS.map(|name| (name.into(), "/nowhere/asks".into())));
    if let Some(path) = std::env::var_os("PATH") {
        variables.push(("PATH".into(), path));
    }
    variables
}

/// Runs every probe on the adapter that `command` starts. The first failure ends the run, since
/// later probes would only repeat it.
///
/// # Errors
/// The sandbox cannot be made.
pub fn check(
    command: &[OsString],
    directory: &Path,
    scratch: &Scratch,
    limits: Limits,
) -> std::io::Result<Vec<Probed>> {
    let sandbox = Sandbox::new(scratch, &History::default())?;
    std::fs::write(sandbox.root().join("work/alpha/a.txt"), "one\n")?;
    let mut probed = Vec::new();
    let mut adapter = match Adapter::start(command, directory, &environment(&sandbox), limits) {
        Ok(adapter) => adapter,
        Err(fault) => {
            probed.push(Probed { probe: "it starts", wrong: Some(fault.to_string()) });
            return Ok(probed);
        }
    };
    for (probe, run) in PROBES {
        let wrong = run(&mut adapter, &sandbox).err();
        let failed = wrong.is_some();
        probed.push(Probed { probe, wrong });
        if failed {
            return Ok(probed);
        }
    }
    let wrong = adapter.finish().err().map(|fault| fault.to_string());
    probed.push(Probed { probe: "it ends with its input and leaves nothing running", wrong });
    Ok(probed)
}

type Probe = (&'static str, fn(&mut Adapter, &Sandbox) -> Result<(), String>);

const PROBES: [Probe; 7] = [
    ("it says who it is and speaks this version", hello),
    ("an operation that no version has is answered `unsupported`", unsupported),
    ("it opens a store", open),
    ("it takes a checkpoint of a project", checkpoint),
    ("it lists that checkpoint", list),
    ("it closes the store", close),
    ("if it can be opened again, it knows nothing of another store then", open_again),
];

fn ask(adapter: &mut Adapter, message: &Message) -> Result<Reply, String> {
    adapter.ask(message).map_err(|fault: Fault| {
        let complaint = adapter.complaint();
        let said = if complaint.is_empty() { "" } else { "\nit printed to stderr:\n" };
        format!("{fault}{said}{complaint}")
    })
}

fn answered(adapter: &mut Adapter, message: &Message) -> Result<Value, String> {
    let reply = ask(adapter, message)?;
    reply.ok.ok_or_else(|| format!("refused: {:?}", reply.err))
}

fn hello(adapter: &mut Adapter, sandbox: &Sandbox) -> Result<(), String> {
    let said = answered(adapter, &Message::Control(Control::hello()))?;
    let hello: Hello =
        serde_json::from_value(said).map_err(|error| format!("no hello: {error}"))?;
    if hello.protocol != VERSION {
        return Err(format!("it speaks version {}, this runner {VERSION}", hello.protocol));
    }
    let capabilities = Capabilities::of(&hello)?;
    if let Some(folder) = capabilities.store_folder() {
        sandbox.make_stores(folder).map_err(|error| error.to_string())?;
    }
    let vague = ["main", "master", "dev", ""].contains(&&hello.implementation.version[..]);
    if vague && hello.implementation.commit.is_none() {
        return Err("a version that moves needs a commit, too".into());
    }
    Ok(())
}

fn unsupported(adapter: &mut Adapter, _: &Sandbox) -> Result<(), String> {
    let reply = ask(adapter, &Message::Control(Control::NoSuchOperation))?;
    match reply.err.map(|refusal| refusal.code) {
        Some(ErrorCode::Unsupported(Unsupported::Unsupported)) => Ok(()),
        other => Err(format!("answered {:?} {other:?}", reply.ok)),
    }
}

fn open(adapter: &mut Adapter, sandbox: &Sandbox) -> Result<(), String> {
    let open = Open::of(sandbox, History::default().settings);
    answered(adapter, &Message::Control(Control::Open(open))).map(|_| ())
}

fn open_again(adapter: &mut Adapter, sandbox: &Sandbox) -> Result<(), String> {
    let said = answered(adapter, &Message::Control(Control::hello()))?;
    if said["reusable"] != true {
        return Ok(());
    }
    let below = |name: &str| -> std::io::Result<ByteString> {
        let path = sandbox.root().join(name);
        std::fs::create_dir_all(&path)?;
        Ok(ByteString::from(path.as_os_str().as_bytes()))
    };
    let other = |error: std::io::Error| error.to_string();
    let first = Open::of(sandbox, History::default().settings);
    let (home, store) = (below("again").map_err(other)?, below("again/store").map_err(other)?);
    let open = Control::Open(Open { home, store, ..first });
    answered(adapter, &Message::Control(open))?;
    let listed = answered(adapter, &Message::Request(Request::List { dir: project(sandbox) }))?;
    // A store that lies in the project is the same one, wherever the rest is.
    let in_project = said["store_folder"].is_string() || said["needs"].is_array();
    match listed["checkpoints"].as_array().map(Vec::len) {
        Some(found) if found == 0 || in_project => close(adapter, sandbox),
        _ => Err(format!("of a new store the list is {listed}")),
    }
}

fn project(sandbox: &Sandbox) -> ByteString {
    ByteString::from(sandbox.root().join("work/alpha").as_os_str().as_bytes())
}

fn checkpoint(adapter: &mut Adapter, sandbox: &Sandbox) -> Result<(), String> {
    let (dir, reason) = (project(sandbox), "probe".to_owned());
    let manual = Message::Request(Request::Checkpoint { dir: dir.clone(), reason: reason.clone() });
    let mut reply = ask(adapter, &manual)?;
    let code = reply.err.as_ref().map(|refusal| refusal.code);
    if code == Some(ErrorCode::Unsupported(Unsupported::Unsupported)) {
        // Without manual checkpoints, an automatic one is taken.
        reply = ask(adapter, &Message::Request(Request::EnsureCheckpoint { dir, reason }))?;
    }
    let taken = reply.ok.ok_or_else(|| format!("refused: {:?}", reply.err))?;
    match taken["outcome"].as_str() {
        Some("created") => Ok(()),
        _ => Err(format!("a changed project gave {taken}")),
    }
}

fn list(adapter: &mut Adapter, sandbox: &Sandbox) -> Result<(), String> {
    let listed = answered(adapter, &Message::Request(Request::List { dir: project(sandbox) }))?;
    match listed["checkpoints"].as_array().map(Vec::len) {
        Some(1) => Ok(()),
        _ => Err(format!("after one checkpoint the list is {listed}")),
    }
}

fn close(adapter: &mut Adapter, _: &Sandbox) -> Result<(), String> {
    answered(adapter, &Message::Control(Control::Close)).map(|_| ())
}
