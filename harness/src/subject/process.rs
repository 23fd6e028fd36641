//! A subject behind an adapter: every request goes to another process and comes back judged by
//! nobody but the oracle.
//!
//! That the process dies or hangs is the subject's answer; that it breaks the protocol is nobody's
//! verdict.

use super::Subject;
use crate::protocol::check::environment;
use crate::protocol::fault::Fault;
use crate::protocol::message::{Control, Message, Versions};
use crate::protocol::process::{Adapter, Limits};
use crate::protocol::{VERSION, translate};
use crate::sandbox::Sandbox;
use herma_model::{Answer, ByteString, Request, Settings};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How an adapter is started.
#[derive(Clone, Debug)]
pub struct AdapterCommand {
    /// Its program and arguments.
    pub command: Vec<OsString>,
    /// The directory it is started in.
    pub directory: PathBuf,
    /// How long it may take.
    pub limits: Limits,
}

/// A subject in another process.
pub struct ProcessSubject {
    start: AdapterCommand,
    environment: Vec<(OsString, OsString)>,
    open: Control,
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
        let bytes = |path: &Path| ByteString::from(path.as_os_str().as_bytes());
        let mut subject = ProcessSubject {
            start: start.clone(),
            environment: environment(sandbox),
            open: Control::Open {
                store: bytes(&sandbox.base()),
                home: bytes(&sandbox.home()),
                current_directory: bytes(&sandbox.current_directory()),
                settings: settings.clone(),
            },
            seconds,
            adapter: Err(Fault::NotStarted("it was not tried yet".into())),
        };
        subject.adapter = subject.started();
        subject
    }

    fn started(&self) -> Result<Adapter, Fault> {
        let AdapterCommand { command, directory, limits } = &self.start;
        let mut adapter = Adapter::start(command, directory, &self.environment, *limits)?;
        let protocol = Versions { min: VERSION, max: VERSION };
        let said = adapter.ask(&Message::Control(Control::Hello { protocol }))?;
        // Asking for what is not claimed would accuse an implementation of what it never said.
        if said.ok.is_none_or(|hello| hello["capabilities"]["complete"] != true) {
            return Err(Fault::Incomplete);
        }
        adapter.ask(&Message::Control(self.open.clone()))?;
        adapter.ask(&Message::Request(Request::SetClock { seconds: self.seconds }))?;
        Ok(adapter)
    }

    /// The process ends as it should, and another one opens the same store.
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

impl Subject for ProcessSubject {
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
