//! A subject behind an adapter: every request goes to another process, and only the model judges
//! the answers.
//!
//! If the process dies or hangs, that is the subject's answer. If it breaks the protocol, there is
//! no verdict.

use super::{Identity, Subject};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::check::environment;
use crate::protocol::fault::Fault;
use crate::protocol::message::{Control, Hello, Message, Open, Reply};
use crate::protocol::process::{Adapter, Limits};
use crate::protocol::translate;
use crate::sandbox::Sandbox;
use herma_model::{Answer, Request, Settings};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// How an adapter is started.
#[derive(Clone, Debug)]
pub struct AdapterCommand {
    /// Its program and arguments.
    pub command: Vec<OsString>,
    /// The directory it is started in.
    pub directory: PathBuf,
    /// Its time limits.
    pub limits: Limits,
}

impl AdapterCommand {
    /// Opens the subject behind the adapter.
    pub fn opener(&self) -> impl Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync {
        |sandbox, settings, seconds| Box::new(ProcessSubject::new(self, sandbox, settings, seconds))
    }
}

/// A subject in another process.
pub struct ProcessSubject {
    start: AdapterCommand,
    environment: Vec<(OsString, OsString)>,
    open: Open,
    capabilities: Capabilities,
    run_by_root: bool,
    identity: Identity,
    seconds: i64,
    adapter: Result<Adapter, Fault>,
}

impl ProcessSubject {
    /// Starts the adapter and opens a store in the sandbox.
    pub fn new(
        start: &AdapterCommand,
        sandbox: &Sandbox,
        settings: &Settings,
        seconds: i64,
    ) -> Self {
        let mut subject = ProcessSubject {
            start: start.clone(),
            environment: environment(sandbox),
            open: Open::of(sandbox, settings.clone()),
            capabilities: Capabilities::default(),
            run_by_root: fs::metadata(sandbox.root()).is_ok_and(|root| root.uid() == 0),
            identity: Identity::default(),
            seconds,
            adapter: Err(Fault::NotStarted("it was not tried yet".into())),
        };
        subject.adapter = subject.started();
        subject
    }

    fn started(&mut self) -> Result<Adapter, Fault> {
        let AdapterCommand { command, directory, limits } = &self.start;
        let mut adapter = Adapter::start(command, directory, &self.environment, *limits)?;
        let said = adapter.ask(&Message::Control(Control::hello()))?;
        (self.identity, self.capabilities) = read_hello(said)?;
        // No file is unreadable to a process of root that reads as root.
        if self.run_by_root && !self.capabilities.has("user.ordinary") {
            self.capabilities = self.capabilities.without("files.unreadable");
        }
        let settings = self.capabilities.restrict_settings(&self.open.settings);
        let open = Open { settings, ..self.open.clone() };
        served(adapter.ask(&Message::Control(Control::Open(open)))?)?;
        if self.capabilities.has("test.clock") {
            let clock = Request::SetClock { seconds: self.seconds };
            served(adapter.ask(&Message::Request(clock))?)?;
        }
        Ok(adapter)
    }

    /// Ends the process properly and opens the same store in another one.
    fn reopen(&mut self) -> Result<(), Fault> {
        let ended = std::mem::replace(&mut self.adapter, Err(Fault::LeavesAChild));
        let mut adapter = ended?;
        adapter.ask(&Message::Control(Control::Close))?;
        adapter.finish()?;
        self.adapter = Ok(self.started()?);
        Ok(())
    }

    fn asked(&mut self, request: &Request) -> Result<Answer, Fault> {
        match request {
            Request::Reopen => return self.reopen().map(|()| Answer::Done),
            Request::SetClock { seconds } => self.seconds = *seconds,
            _ => {}
        }
        let adapter = self.adapter.as_mut().map_err(|fault| fault.clone())?;
        let reply = adapter.ask(&Message::Request(request.clone()))?;
        translate::answer(request, reply)
    }
}

/// The identity and the capabilities in a hello.
fn read_hello(said: Reply) -> Result<(Identity, Capabilities), Fault> {
    let hello = served(said)?;
    let hello: Hello = serde_json::from_value(hello)
        .map_err(|error| Fault::BadAnswer { op: "hello".into(), why: error.to_string() })?;
    let capabilities =
        Capabilities::of(&hello).map_err(|why| Fault::BadAnswer { op: "hello".into(), why })?;
    Ok((hello.implementation, capabilities))
}

/// The answer; refusing what every adapter must serve breaks the protocol.
fn served(reply: Reply) -> Result<Value, Fault> {
    let refused = format!("refused: {:?}", reply.err);
    reply.ok.ok_or(Fault::BadAnswer { op: "hello, open or test.clock".into(), why: refused })
}

impl Subject for ProcessSubject {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        match self.asked(request) {
            Ok(answer) => answer,
            Err(fault) => {
                let text = fault.to_string();
                self.adapter = Err(fault);
                Answer::Crashed(text)
            }
        }
    }

    fn fault(&self) -> Option<&Fault> {
        self.adapter.as_ref().err().filter(|fault| !fault.is_the_subjects())
    }
}
