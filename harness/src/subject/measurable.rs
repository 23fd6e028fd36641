//! A subject in this process that can be measured: the program that the sandbox names serves the same
//! subject on the same store, and measured requests go to that process.

use super::{AdapterCommand, Identity, Subject};
use crate::inject::{Injected, Point};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::known::MEASUREMENT;
use crate::sandbox::Sandbox;
use herma_model::observation::Measured;
use herma_model::{Answer, Request, Settings};
use std::io;

/// A subject, and how it was opened.
pub struct Measurable {
    /// The subject in this process.
    pub subject: Box<dyn Subject>,
    /// The name of the planted bug; `None` for the core.
    pub bug: Option<&'static str>,
    /// Its sandbox.
    pub sandbox: Sandbox,
    /// Its settings.
    pub settings: Settings,
    /// The time, in seconds since the epoch.
    pub seconds: i64,
}

impl Measurable {
    /// The measurable subject; the subject itself if nothing can be measured.
    pub fn boxed(self) -> Box<dyn Subject> {
        match self.sandbox.program() {
            Some(_) if super::meter::is_available() => Box::new(self),
            _ => self.subject,
        }
    }
}

impl Subject for Measurable {
    fn ask(&mut self, request: &Request) -> Answer {
        if let Request::SetClock { seconds } = request {
            self.seconds = *seconds;
        }
        self.subject.ask(request)
    }

    fn ask_measured(&mut self, request: &Request) -> (Answer, Option<Measured>) {
        let program = self.sandbox.program();
        let start = program.map(|program| AdapterCommand::bundled_core(program, self.bug));
        let Some(Ok(start)) = start else { return (self.ask(request), None) };
        let open = start.process_opener();
        let measured = open(&self.sandbox, &self.settings, self.seconds).ask_measured(request);
        self.subject.ask(&Request::Reopen);
        measured
    }

    fn ask_injected(&mut self, request: &Request, point: &Point) -> io::Result<Option<Injected>> {
        self.subject.ask_injected(request, point)
    }

    fn identity(&self) -> Identity {
        self.subject.identity()
    }

    fn capabilities(&self) -> Capabilities {
        self.subject.capabilities().with(MEASUREMENT)
    }
}
