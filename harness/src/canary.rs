//! The canary: one history that must always fail, run on every subject before anything else.
//!
//! The subject answers as it always does, except that each list ends with a checkpoint that was
//! never taken. If the suite does not notice, it cannot detect failures, and its verdicts mean
//! nothing.

use crate::divergence::Divergence;
use crate::history::{History, Operation};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::fault::Fault;
use crate::runner::{RunError, RunOptions, run};
use crate::sandbox::{Sandbox, Scratch};
use crate::subject::{Identity, NewSubject, Subject};
use herma_model::answer::Listed;
use herma_model::{Answer, ByteString, Edit, Request, Settings};

/// Runs the canary on a subject and returns how it failed; `None` if it did not.
///
/// # Errors
/// A run could not be made.
pub fn canary(
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Option<Divergence>, RunError> {
    let open = |sandbox: &Sandbox, settings: &Settings, seconds| -> Box<dyn Subject> {
        Box::new(ListsExtraCheckpoint(new_subject(sandbox, settings, seconds)))
    };
    Ok(run(&history(), &open, scratch, RunOptions::default())?.divergences.into_iter().next())
}

fn history() -> History {
    let dir = || ByteString::from("work/alpha");
    let path = "work/alpha/a".into();
    let content = "1".into();
    let operations = vec![
        Operation::Edit(Edit::Write { path, content, executable: false }),
        Operation::Ask(Request::Checkpoint { dir: dir(), reason: "canary".into() }),
        Operation::Ask(Request::List { dir: dir() }),
    ];
    // The rules judge what a hostile home does to the subject; the canary runs in a plain one.
    History { operations, plain_home: true, ..History::default() }
}

struct ListsExtraCheckpoint(Box<dyn Subject>);

impl Subject for ListsExtraCheckpoint {
    fn ask(&mut self, request: &Request) -> Answer {
        match self.0.ask(request) {
            Answer::Listed(mut listed) => {
                let number = listed.len() + 1;
                let id = "0123456789".repeat(4);
                listed.push(Listed { number, id, time: 0, reason: "canary".into(), stats: None });
                Answer::Listed(listed)
            }
            answer => answer,
        }
    }

    fn identity(&self) -> Identity {
        self.0.identity()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn fault(&self) -> Option<&Fault> {
        self.0.fault()
    }
}
