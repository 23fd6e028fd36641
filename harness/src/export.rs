//! A history as a shell script: it makes the same files, sends the same requests to the same adapter,
//! prints the replies, and needs nothing of this suite. It exits with 1 if the subject replies and leaves
//! files as in the recorded run, so that the failure is reproduced.
//!
//! The history is first run once, to turn its symbolic requests into concrete ones. If a request contains
//! an id that the subject chose, the script uses the id that it received itself.

mod bash;
mod damage;
mod files;
mod reply;
mod requests;

use crate::database;
use crate::divergence::Divergence;
use crate::history::{History, Injection};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::check::environment;
use crate::runner::{Event, RunError, RunOptions, run};
use crate::sandbox::{Sandbox, Scratch};
use crate::subject::AdapterCommand;
use bash::{END, HEAD, shell};
use herma_model::plain::plain;
use herma_model::{ByteString, Request, Settings};
use std::cell::RefCell;
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;

/// Runs `history` on the adapter and returns a script that does the same.
///
/// # Errors
/// The run could not be made.
pub fn script(
    history: &History,
    adapter: &AdapterCommand,
    scratch: &Scratch,
) -> Result<String, RunError> {
    let opening: Mutex<Opening> = Mutex::default();
    let open = |sandbox: &Sandbox, settings: &Settings, seconds| {
        *opening.lock().expect("no thread panics here") = Opening::of(sandbox);
        adapter.opener()(sandbox, settings, seconds)
    };
    let events = RefCell::new(Vec::new());
    let mut watch = |event| events.borrow_mut().push(event);
    let options = RunOptions { watch: Some(&mut watch), ..RunOptions::default() };
    let run = run(history, &open, scratch, options)?;
    let Opening { root, variables } = opening.into_inner().expect("no thread panics here");
    let mut script = Script {
        text: HEAD.to_owned(),
        root,
        settings: run.capabilities.restrict_settings(&history.settings),
        capabilities: run.capabilities,
        ..Script::default()
    };
    history.conditions().iter().for_each(|line| script.line(&format!("# With {line}")));
    script.define_adapter(adapter, &variables);
    let events = events.into_inner();
    let failing = run.divergences.first().and_then(|first| {
        let is_failing =
            |event: &Event| matches!(event, Event::Requested(record) if record.step == first.step);
        events.iter().rposition(is_failing)
    });
    for (number, event) in events.iter().enumerate() {
        script.event(event);
        if let Event::Requested(record) = event
            && failing == Some(number)
        {
            script.compare(record);
        }
    }
    script.text.push_str(END);
    run.divergences.iter().for_each(|divergence| script.comment(divergence));
    Ok(script.text)
}

/// The sandbox in which an adapter was opened.
#[derive(Default)]
struct Opening {
    root: Vec<u8>,
    /// The variables of the adapter's environment, as words of bash.
    variables: Vec<String>,
}

impl Opening {
    fn of(sandbox: &Sandbox) -> Self {
        let root = sandbox.root().as_os_str().as_bytes().to_vec();
        let variables = environment(sandbox)
            .iter()
            .filter(|(name, _)| name != "PATH")
            .map(|(name, value)| {
                let pair = [name.as_bytes(), b"=", value.as_bytes()].concat();
                shell(&pair, &root)
            })
            .collect();
        Opening { root, variables }
    }
}

#[derive(Default)]
struct Script {
    text: String,
    root: Vec<u8>,
    settings: Settings,
    capabilities: Capabilities,
    is_opened: bool,
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

    /// Defines the command of the adapter and its environment.
    fn define_adapter(&mut self, adapter: &AdapterCommand, variables: &[String]) {
        let words = adapter.command.iter().map(|word| self.quoted(word.as_bytes()));
        let command: Vec<String> = words.collect();
        self.text.push_str(&format!(
            "FOLDER={}\nCOMMAND=({})\nENVIRONMENT=(\"PATH=$PATH\" {})\n\
             # How long a reply may take.\nSECONDS_MAX={}\n\n",
            self.quoted(adapter.directory.as_os_str().as_bytes()),
            command.join(" "),
            variables.join(" "),
            adapter.limits.reply.as_secs().max(1)
        ));
    }

    /// Repeats an event of the run.
    fn event(&mut self, event: &Event) {
        match event {
            Event::Began { files, .. } => self.make_files(files),
            Event::Edited(changes) => changes.iter().for_each(|change| self.change(change)),
            Event::DatabaseWritten(database, _) => {
                let path = self.quoted_path(&database.path);
                self.line(&format!("mkdir -p -- \"$(dirname -- {path})\""));
                self.line(&database::command(&path, database));
            }
            Event::Injects(injection) => {
                let Injection { call, what: injected, .. } = injection;
                let event = injected.word();
                self.line(&format!(
                "echo 'a script cannot make this happen at call {call} of the next request: {event}'; \
                     exit 2"
                ));
            }
            Event::Measures => {
                self.line("# The suite measures what the next request takes.");
                self.open();
            }
            Event::StoreEdited(edit, file) => match self.store_edit(edit, file.as_deref()) {
                Some(line) => {
                    if !self.text.contains(damage::FUNCTIONS) {
                        self.text.push_str(damage::FUNCTIONS);
                    }
                    self.line(&line);
                }
                // A shell script cannot make a repository as v1 made it.
                None => {
                    let text = plain(edit);
                    self.line(&format!("# do this manually before going on: {text}"));
                }
            },
            Event::Requested(record) => {
                if !self.is_opened || record.request == Request::Reopen {
                    self.open();
                }
                self.ask(&record.request, &record.answer);
            }
        }
    }

    /// Describes a difference of the run in a comment.
    fn comment(&mut self, divergence: &Divergence) {
        let description = format!(
            "{}\nexpected: {}\nfound: {}",
            divergence.rule.id, divergence.mismatch.expected, divergence.mismatch.found
        );
        description.lines().for_each(|line| self.line(&format!("# {line}")));
    }
}
