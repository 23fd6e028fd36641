//! What somebody else does while a call of a request waits: edits files, or asks another process
//! something.

use crate::history::concrete::{self, Step};
use crate::history::{Injection, What};
use crate::inject::Gate;
use crate::sandbox::{Sandbox, edits};
use crate::subject::NewSubject;
use herma_model::edit::Change;
use herma_model::{Answer, Request, Settings, World};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long a call waits for a process that may itself wait for the one that is held.
const PATIENCE: Duration = Duration::from_millis(500);

/// How a process that was not there before is opened.
#[derive(Clone, Copy)]
pub(super) struct Opening<'a> {
    pub(super) new_subject: &'a NewSubject<'a>,
    pub(super) settings: &'a Settings,
}

/// What is done while a call waits.
pub(super) enum Meanwhile {
    /// These changes are made.
    Edits(Vec<Change>),
    /// Another process is asked that.
    Asks(Request),
}

/// What came of it.
#[derive(Default)]
pub(super) struct Done {
    /// Whether a change could not be made.
    pub(super) is_prevented: bool,
    /// What another process was asked, and its answer.
    pub(super) asked: Option<(Request, Answer)>,
}

impl Meanwhile {
    /// What is to be done beside a request in that world; nothing where no order of two requests could
    /// say what is right.
    pub(super) fn beside(request: &Request, injection: &Injection, world: &World) -> Self {
        let (mut then, mut changes) = (world.clone(), Vec::new());
        for operation in &injection.meanwhile {
            match concrete::step(operation, world) {
                Step::Edit(edit) => changes.extend(then.edit(&edit)),
                Step::Ask(asked) if injection.what == What::Overlap => {
                    let has_order = |other: &Request| world.has_order(request, other);
                    if let Some(other) = asked.into_iter().find(has_order) {
                        return Meanwhile::Asks(other);
                    }
                }
                _ => {}
            }
        }
        Meanwhile::Edits(changes)
    }

    /// Waits for the call, and does it. `is_ready` is told before that.
    pub(super) fn happens(
        self,
        (gate, is_ready): (&Gate, mpsc::Sender<()>),
        (sandbox, seconds): (Sandbox, i64),
        opening: Opening<'_>,
    ) -> Done {
        match self {
            // What cannot be made any more is not: the request is in the midst of it.
            Meanwhile::Edits(changes) => {
                drop(is_ready);
                let apply =
                    || changes.iter().try_for_each(|change| edits::apply(sandbox.root(), change));
                let is_prevented = gate.wait() && apply().is_err();
                gate.end();
                Done { is_prevented, asked: None }
            }
            Meanwhile::Asks(request) => {
                let mut subject = (opening.new_subject)(&sandbox, opening.settings, seconds);
                drop(is_ready);
                if !gate.wait() {
                    return Done::default();
                }
                let answer = thread::scope(|scope| {
                    let (is_done, done) = mpsc::channel::<()>();
                    scope.spawn(move || {
                        let _ = done.recv_timeout(PATIENCE);
                        gate.end();
                    });
                    let answer = subject.ask(&request);
                    drop(is_done);
                    answer
                });
                Done { is_prevented: false, asked: Some((request, answer)) }
            }
        }
    }
}
