//! Activity of other processes while a call of a request waits: edits of files, or a second request.

use crate::history::concrete::{self, ConcreteStep};
use crate::history::{InjectedEvent, Injection};
use crate::inject::Gate;
use crate::sandbox::{Sandbox, edits};
use crate::subject::{NewSubject, Subject};
use herma_model::edit::Change;
use herma_model::{Answer, Request, Settings, World};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long a call waits for another process that may itself wait for the held process.
const PATIENCE: Duration = Duration::from_millis(200);

/// The subject that another process opens.
#[derive(Clone, Copy)]
pub(super) struct Opening<'a> {
    pub(super) new_subject: &'a NewSubject<'a>,
    pub(super) settings: &'a Settings,
}

/// Another process: where and when it opens its subject.
pub(super) struct OtherProcess<'a> {
    pub(super) sandbox: Sandbox,
    pub(super) seconds: i64,
    pub(super) opening: Opening<'a>,
}

impl<'a> OtherProcess<'a> {
    pub(super) fn shared(&self) -> OtherProcess<'a> {
        OtherProcess { sandbox: self.sandbox.shared(), ..*self }
    }

    pub(super) fn open(&self) -> Box<dyn Subject> {
        (self.opening.new_subject)(&self.sandbox, self.opening.settings, self.seconds)
    }
}

/// The activity while a call waits.
pub(super) enum Meanwhile {
    /// These changes of files.
    Edits(Vec<Change>),
    /// This request to another process.
    Request(Request),
}

/// The outcome of the activity.
#[derive(Default)]
pub(super) struct MeanwhileOutcome {
    /// Whether a change could not be made.
    pub(super) is_prevented: bool,
    /// The request to another process, and its answer.
    pub(super) answered: Option<(Request, Answer)>,
}

impl MeanwhileOutcome {
    /// Whether the injected event changed anything; `changes` are the edits of files.
    pub(super) fn has_effect(&self, event: InjectedEvent, changes: &[Change]) -> bool {
        match event {
            // Where no order of two requests defines what is right, the second was not made.
            InjectedEvent::Overlap => self.answered.is_some(),
            InjectedEvent::Hold => !changes.is_empty(),
            _ => true,
        }
    }
}

impl Meanwhile {
    /// The activity of an injection during `request` in that world; none if no order of the two requests
    /// defines what is right.
    pub(super) fn of(request: &Request, injection: &Injection, world: &World) -> Self {
        let mut edited_world = world.clone();
        let mut changes = Vec::new();
        for operation in &injection.meanwhile {
            match concrete::step(operation, world) {
                ConcreteStep::Edit(edit) => changes.extend(edited_world.edit(&edit)),
                ConcreteStep::Ask(requests) if injection.what == InjectedEvent::Overlap => {
                    let has_order = |second: &Request| world.has_order(request, second);
                    if let Some(second) = requests.into_iter().find(has_order) {
                        return Meanwhile::Request(second);
                    }
                }
                _ => {}
            }
        }
        Meanwhile::Edits(changes)
    }

    /// Waits for the call, and carries out the activity. Drops `is_ready` before it waits.
    pub(super) fn run(
        self,
        gate: &Gate,
        is_ready: mpsc::Sender<()>,
        process: &OtherProcess<'_>,
    ) -> MeanwhileOutcome {
        match self {
            // A change may be impossible by now, since the request has already changed the files.
            Meanwhile::Edits(changes) => {
                drop(is_ready);
                let root = process.sandbox.root();
                let apply = || changes.iter().try_for_each(|change| edits::apply(root, change));
                let is_prevented = gate.wait() && apply().is_err();
                gate.end();
                MeanwhileOutcome { is_prevented, answered: None }
            }
            Meanwhile::Request(request) => {
                let mut subject = process.open();
                drop(is_ready);
                if !gate.wait() {
                    return MeanwhileOutcome::default();
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
                MeanwhileOutcome { is_prevented: false, answered: Some((request, answer)) }
            }
        }
    }
}
