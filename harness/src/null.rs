//! Null subjects: implementations that do nothing useful, each in another way. What one of them
//! passes proves nothing, so none of them may pass a written case.

use crate::sandbox::Sandbox;
use crate::subject::{CoreSubject, Identity, Subject};
use herma_model::answer::{CheckpointOutcome, Counts, Restored, Stats, SweepOutcome};
use herma_model::request::Answered;
use herma_model::{Answer, ByteString, Request, Settings};
use std::fs;
use std::path::PathBuf;

/// One way to do nothing.
pub struct Null {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Opens it in a sandbox.
    pub open: fn(&Sandbox, &Settings, i64) -> Box<dyn Subject>,
}

/// Every null subject.
pub static ALL: &[Null] = &[
    Null {
        name: "null-agrees",
        about: "Reports every request as done, and does nothing.",
        open: |_, _, _| Box::new(Agrees { taken: 0 }),
    },
    Null {
        name: "null-refuses",
        about: "Refuses everything, with the code that would be right most often.",
        open: |_, _, _| Box::new(Refuses),
    },
    Null {
        name: "null-fails",
        about: "Refuses everything as an internal error.",
        open: |_, _, _| Box::new(Fails),
    },
    Null {
        name: "null-forgets",
        about: "Does everything right in a store that it removes before each request.",
        open: |sandbox, settings, seconds| {
            let core = CoreSubject::new(sandbox, settings, seconds);
            Box::new(Forgets { core, base: sandbox.base() })
        },
    },
    Null {
        name: "null-stands-still",
        about: "Does nothing, and reports that nothing changed.",
        open: |_, _, _| Box::new(StandsStill),
    },
];

/// The null subject of that name.
pub fn find(name: &str) -> Option<&'static Null> {
    ALL.iter().find(|null| null.name == name)
}

struct Agrees {
    taken: u32,
}

impl Subject for Agrees {
    fn identity(&self) -> Identity {
        Identity::new("null-agrees", env!("CARGO_PKG_VERSION"))
    }

    fn ask(&mut self, request: &Request) -> Answer {
        match request {
            Request::Checkpoint { .. } | Request::EnsureCheckpoint { .. } => {
                self.taken += 1;
                let outcome = CheckpointOutcome::Created { id: format!("{:040x}", self.taken) };
                Answer::Taken { outcome, skipped: Vec::new() }
            }
            Request::Sweep | Request::Prune { .. } => {
                Answer::Swept { outcome: SweepOutcome::Done, counts: Counts::default() }
            }
            request => as_before(request),
        }
    }
}

struct Refuses;

impl Subject for Refuses {
    fn identity(&self) -> Identity {
        Identity::new("null-refuses", env!("CARGO_PKG_VERSION"))
    }

    fn ask(&mut self, request: &Request) -> Answer {
        use herma_model::Code;
        let code = match request {
            Request::Checkpoint { .. } | Request::EnsureCheckpoint { .. } => Code::MissingDirectory,
            Request::Restore { target, .. } | Request::Diff { target, .. } => wrong_target(target),
            Request::RestoreFile { target, path, .. } if !path.is_empty() => wrong_target(target),
            Request::RestoreFile { .. } => Code::BadPath,
            _ => Code::StoreUnusable,
        };
        refused(code)
    }
}

fn wrong_target(target: &ByteString) -> herma_model::Code {
    let number = std::str::from_utf8(target).is_ok_and(|text| text.parse::<u32>().is_ok());
    let id = target.len() >= 4 && target.iter().all(u8::is_ascii_hexdigit);
    if number || id { herma_model::Code::UnknownCheckpoint } else { herma_model::Code::BadTarget }
}

struct Fails;

impl Subject for Fails {
    fn identity(&self) -> Identity {
        Identity::new("null-fails", env!("CARGO_PKG_VERSION"))
    }

    fn ask(&mut self, _: &Request) -> Answer {
        refused(herma_model::Code::Internal)
    }
}

fn refused(code: herma_model::Code) -> Answer {
    let (message, changed) = ("no".into(), herma_model::answer::Changed::None);
    Answer::Refused { code, message, changed }
}

struct Forgets {
    core: CoreSubject,
    base: PathBuf,
}

impl Subject for Forgets {
    fn identity(&self) -> Identity {
        Identity::new("null-forgets", env!("CARGO_PKG_VERSION"))
    }

    fn ask(&mut self, request: &Request) -> Answer {
        // If it cannot be removed, it was never made.
        let _ = fs::remove_dir_all(&self.base);
        self.core.ask(request)
    }
}

struct StandsStill;

impl Subject for StandsStill {
    fn identity(&self) -> Identity {
        Identity::new("null-stands-still", env!("CARGO_PKG_VERSION"))
    }

    fn ask(&mut self, request: &Request) -> Answer {
        as_before(request)
    }
}

/// The answer if no checkpoint was ever taken and none is taken now.
fn as_before(request: &Request) -> Answer {
    match request.kind().answered {
        Answered::Done => Answer::Done,
        Answered::Project => Answer::Project(None),
        Answered::Taken => {
            Answer::Taken { outcome: CheckpointOutcome::Unchanged, skipped: Vec::new() }
        }
        Answered::Listed => Answer::Listed(Vec::new()),
        Answered::Diffed => Answer::Diffed { entries: Vec::new(), stats: Stats::default() },
        Answered::Restored => Answer::Restored(Restored::default()),
        Answered::Swept => Answer::Swept { outcome: SweepOutcome::Off, counts: Counts::default() },
        Answered::Status => Answer::Status { projects: Vec::new(), archives: Vec::new() },
    }
}
