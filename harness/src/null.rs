//! Null subjects: implementations that do nothing useful, each in a different way. A check that a null
//! subject passes proves nothing, so no null subject may pass a written case.

use crate::protocol::capabilities::Capabilities;
use crate::sandbox::Sandbox;
use crate::subject::{CoreSubject, Identity, Subject};
use herma_model::answer::{
    Changed, CheckpointOutcome, Compensated, Counts, Restored, Stats, SweepOutcome,
};
use herma_model::configuration::Configuration;
use herma_model::request::Answered;
use herma_model::{Answer, ByteString, Code, Request, Settings};
use serde_json::Value;
use std::fs;

/// One way to do nothing.
pub struct Null {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Opens the subject in a sandbox.
    pub open: fn(&Sandbox, &Settings, i64) -> Box<dyn Subject>,
}

/// Every null subject.
pub static ALL: &[Null] = &[
    Null {
        name: "null-agrees",
        about: "Reports every request as done, and does nothing.",
        open: |_, _, _| {
            let mut taken = 0;
            subject("null-agrees", move |request| agreed(request, &mut taken))
        },
    },
    Null {
        name: "null-refuses",
        about: "Refuses everything, with the code that would be right most often.",
        open: |_, _, _| subject("null-refuses", |request| refused(likely_code(request))),
    },
    Null {
        name: "null-fails",
        about: "Refuses everything as an internal error.",
        open: |_, _, _| subject("null-fails", |_| refused(Code::Internal)),
    },
    Null {
        name: "null-forgets",
        about: "Does everything right in a store that it removes before each request.",
        open: |sandbox, settings, seconds| {
            let mut core = CoreSubject::new(sandbox, settings, seconds);
            let base = sandbox.base();
            subject("null-forgets", move |request| {
                // A store that cannot be removed was never made.
                let _ = fs::remove_dir_all(&base);
                core.ask(request)
            })
        },
    },
    Null {
        name: "null-stands-still",
        about: "Does nothing, and reports that nothing changed.",
        open: |_, _, _| subject("null-stands-still", as_before),
    },
];

/// The null subject of that name.
pub fn find(name: &str) -> Option<&'static Null> {
    ALL.iter().find(|null| null.name == name)
}

/// A subject that only computes answers: its name, and the function.
struct AnswerFunction<F>(&'static str, F);

impl<F: FnMut(&Request) -> Answer> Subject for AnswerFunction<F> {
    fn identity(&self) -> Identity {
        Identity::new(self.0, env!("CARGO_PKG_VERSION"))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of_the_core()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        (self.1)(request)
    }
}

fn subject(name: &'static str, ask: impl FnMut(&Request) -> Answer + 'static) -> Box<dyn Subject> {
    Box::new(AnswerFunction(name, ask))
}

/// The answer as if everything was done, with one more checkpoint taken each time.
fn agreed(request: &Request, taken: &mut u32) -> Answer {
    match request {
        Request::Checkpoint { .. }
        | Request::EnsureCheckpoint { .. }
        | Request::Label { .. }
        | Request::Event { .. } => {
            *taken += 1;
            let outcome = CheckpointOutcome::Created { id: format!("{taken:040x}") };
            Answer::Taken { outcome, skipped: Vec::new() }
        }
        Request::Sweep | Request::Prune { .. } | Request::PruneAsConfigured => {
            Answer::Swept { outcome: SweepOutcome::Done, counts: Counts::default() }
        }
        request => as_before(request),
    }
}

fn likely_code(request: &Request) -> Code {
    match request {
        Request::Checkpoint { .. } | Request::EnsureCheckpoint { .. } => Code::MissingDirectory,
        Request::Restore { target, .. } | Request::Diff { target, .. } => wrong_target(target),
        Request::RestoreFile { target, path, .. } if !path.is_empty() => wrong_target(target),
        Request::RestoreFile { .. } => Code::BadPath,
        Request::Undo { .. } | Request::Redo { .. } => Code::NothingToUndo,
        _ => Code::StoreUnusable,
    }
}

fn wrong_target(target: &ByteString) -> Code {
    let is_number = std::str::from_utf8(target).is_ok_and(|text| text.parse::<u32>().is_ok());
    let is_id = target.len() >= 4 && target.iter().all(u8::is_ascii_hexdigit);
    if is_number || is_id { Code::UnknownCheckpoint } else { Code::BadTarget }
}

fn refused(code: Code) -> Answer {
    Answer::Refused { code, message: "no".into(), changed: Changed::None }
}

/// The answer as if no checkpoint was ever taken and none is taken now.
fn as_before(request: &Request) -> Answer {
    match request.kind().answered {
        Answered::Done => Answer::Done,
        Answered::Project => Answer::Project(None),
        Answered::Classified => Answer::Classified { changes_files: false },
        Answered::Protected => Answer::Protected(Vec::new()),
        Answered::Taken => {
            Answer::Taken { outcome: CheckpointOutcome::Unchanged, skipped: Vec::new() }
        }
        Answered::Listed => Answer::Listed(Vec::new()),
        Answered::Printed => Answer::Printed { checkpoints: Vec::new(), printed: String::new() },
        Answered::Diffed => Answer::Diffed { entries: Vec::new(), stats: Stats::default() },
        Answered::Restored => Answer::Restored(Restored::default()),
        Answered::Swept => Answer::Swept { outcome: SweepOutcome::Off, counts: Counts::default() },
        Answered::Status => Answer::Status { projects: Vec::new(), archives: Vec::new() },
        Answered::Configured => Answer::Configured(Configuration::default()),
        Answered::State => Answer::State(Value::Null),
        Answered::Compensated => Answer::Compensated(Compensated::default()),
    }
}
