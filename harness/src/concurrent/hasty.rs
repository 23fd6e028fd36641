//! A deliberately hasty store, as a canary: it reads its list, takes its time, and writes the list back
//! with one more. Who does the same meanwhile is forgotten. A lane that misses that misses everything.

use crate::protocol::capabilities::Capabilities;
use crate::sandbox::Sandbox;
use crate::subject::{Identity, Subject};
use herma_model::answer::{Answer, Changed, CheckpointOutcome, Code, Listed};
use herma_model::world::hash_of;
use herma_model::{ByteString, Request, Settings};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// As it is served.
pub const HASTY: &str = "hasty";
/// Longer than processes that are asked together begin apart, on any machine.
const HESITATION: Duration = Duration::from_millis(150);

struct Hasty {
    store: PathBuf,
}

/// What it can be asked: whatever it is asked to take it takes, changed or not.
pub(super) fn able_to() -> Capabilities {
    ["checkpoint", "list.reason", "project.any_directory"]
        .into_iter()
        .fold(Capabilities::none(), Capabilities::with)
}

/// Opens it in a sandbox.
pub fn opened_hasty(sandbox: &Sandbox, _: &Settings, _: i64) -> Box<dyn Subject> {
    Box::new(Hasty { store: sandbox.store() })
}

impl Hasty {
    /// The reasons of all checkpoints of a project, oldest first.
    fn reasons(&self, dir: &ByteString) -> Vec<String> {
        let text = fs::read_to_string(self.store.join(hash_of(dir))).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn take(&self, dir: &ByteString, reason: &str) -> io::Result<Answer> {
        let mut reasons = self.reasons(dir);
        thread::sleep(HESITATION);
        reasons.push(reason.to_owned());
        fs::create_dir_all(&self.store)?;
        // Moved there, so that nobody reads half of it: what is wrong here is the haste alone.
        let fresh = self.store.join(format!("{}-{}", hash_of(dir), std::process::id()));
        fs::write(&fresh, reasons.join("\n"))?;
        fs::rename(&fresh, self.store.join(hash_of(dir)))?;
        let outcome = CheckpointOutcome::Created { id: id_of(dir, reason) };
        Ok(Answer::Taken { outcome, skipped: Vec::new() })
    }
}

/// No two checkpoints have the same reason in this lane.
fn id_of(dir: &ByteString, reason: &str) -> String {
    hash_of(&[&dir[..], b"\n", reason.as_bytes()].concat()).repeat(2) + "00000000"
}

impl Subject for Hasty {
    fn identity(&self) -> Identity {
        Identity::new(HASTY, env!("CARGO_PKG_VERSION"))
    }

    fn capabilities(&self) -> Capabilities {
        able_to()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let refused =
            |message| Answer::Refused { code: Code::Internal, message, changed: Changed::Unknown };
        match request {
            Request::SetClock { .. } => Answer::Done,
            Request::Checkpoint { dir, reason } => {
                self.take(dir, reason).unwrap_or_else(|error| refused(error.to_string()))
            }
            Request::List { dir } => {
                let newest_first = self.reasons(dir).into_iter().rev().enumerate();
                let listed = newest_first.map(|(at, reason)| Listed {
                    number: at + 1,
                    id: id_of(dir, &reason),
                    time: 0,
                    reason,
                    stats: None,
                });
                Answer::Listed(listed.collect())
            }
            other => refused(format!("{} is not asked of it", other.name())),
        }
    }
}
