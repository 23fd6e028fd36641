//! A subject behind an adapter: every request goes to another process, and only the model judges
//! the answers.
//!
//! If the process dies or hangs, that is the subject's answer. If it breaks the protocol, there is
//! no verdict.

use super::meter::{self, Meter};
use super::outside::Supervised;
use super::{Identity, Subject};
use crate::history::{CallPosition, InjectedEvent};
use crate::inject::{Injected, Point};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::check::environment;
use crate::protocol::fault::Fault;
use crate::protocol::known::{INJECTION, MEASUREMENT};
use crate::protocol::message::{Control, Hello, Message, Open, Reply};
use crate::protocol::process::{Adapter, Limits};
use crate::protocol::translate;
use crate::sandbox::Sandbox;
use herma_model::observation::Measured;
use herma_model::{Answer, Request, Settings};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How an adapter is started.
#[derive(Clone, Debug, Default)]
pub struct AdapterCommand {
    /// Its program and arguments.
    pub command: Vec<OsString>,
    /// The directory it is started in.
    pub directory: PathBuf,
    /// Its time limits.
    pub limits: Limits,
    /// The command that supervises the adapter for injections, without its arguments, if there is one.
    pub supervisor: Option<Vec<OsString>>,
    /// Whether the store may be damaged if its layout is known, whatever the adapter claims.
    pub is_damageable: bool,
}

impl AdapterCommand {
    /// The command of this suite that serves the core, or a planted bug.
    ///
    /// # Errors
    /// There is no current directory.
    pub fn bundled_core(program: &Path, bug: Option<&str>) -> io::Result<Self> {
        let mut command: Vec<OsString> = vec![program.into(), "adapter".into(), "serve".into()];
        command.extend(bug.into_iter().flat_map(|bug| ["--bug".into(), bug.into()]));
        let directory = std::env::current_dir()?;
        Ok(AdapterCommand { command, directory, ..AdapterCommand::default() })
    }

    /// Opens the subject behind the adapter. A reusable process serves one history after the other in plain
    /// homes, unless the sandbox wants a fresh process.
    pub fn opener(&self) -> impl Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync {
        let open = self.process_opener();
        move |sandbox, settings, seconds| Box::new(open(sandbox, settings, seconds))
    }

    /// As [`AdapterCommand::opener`], but returns the concrete type.
    pub fn process_opener(&self) -> impl Fn(&Sandbox, &Settings, i64) -> ProcessSubject + Sync {
        let shared = Shared::default();
        move |sandbox, settings, seconds| {
            ProcessSubject::new(self, &shared, sandbox, settings, seconds)
        }
    }
}

/// A process that has answered hello.
struct GreetedProcess {
    adapter: Adapter,
    hello: Hello,
}

impl GreetedProcess {
    /// Whether the process can serve no other sandbox: its environment names the home of the sandbox
    /// in which it was started, and that home is removed with the sandbox. The git configuration rightly
    /// applies to a store in the project's own repository, and its sandbox has a plain home.
    fn depends_on_home(&self, hostile: bool) -> bool {
        hostile && self.hello.needs.is_empty()
    }
}

/// The state that the subjects of one opener share.
#[derive(Clone, Default)]
struct Shared {
    /// Processes that wait for their next store.
    idle: Arc<Mutex<Vec<GreetedProcess>>>,
    reply_limit: Arc<ReplyLimit>,
}

impl Shared {
    fn take(&self, hostile: bool) -> Option<GreetedProcess> {
        let mut idle = self.idle.lock().expect("no thread panics while it holds this");
        let is_usable = idle.last().is_some_and(|process| !process.depends_on_home(hostile));
        if is_usable { idle.pop() } else { None }
    }

    /// Closes the store, and keeps the process if it can open another store. A process that fails to
    /// close is not used again.
    fn keep(&self, mut process: GreetedProcess, hostile: bool) {
        let close = Message::Control(Control::Close);
        let is_kept = process.hello.reusable
            && !process.depends_on_home(hostile)
            && process.adapter.ask(&close).is_ok_and(|reply| reply.ok.is_some());
        if is_kept {
            self.idle.lock().expect("no thread panics while it holds this").push(process);
        }
    }
}

/// The time limit of a reply: after a process hung, based on the slowest reply so far, since a history
/// that hangs is run many times during shrinking.
#[derive(Default)]
struct ReplyLimit {
    slowest_millis: AtomicU64,
    has_hung: AtomicBool,
}

impl ReplyLimit {
    fn current(&self, limits: Limits) -> Duration {
        if !self.has_hung.load(Relaxed) {
            return limits.reply;
        }
        let likely = Duration::from_millis(self.slowest_millis.load(Relaxed) * 10);
        limits.reply.min(likely.max(HANG_MIN))
    }

    fn learn(&self, elapsed: Duration, reply: &Result<Reply, Fault>) {
        match reply {
            Err(Fault::Silent { .. }) => self.has_hung.store(true, Relaxed),
            _ => {
                let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX / 10);
                self.slowest_millis.fetch_max(millis, Relaxed);
            }
        }
    }
}

/// The minimum time limit after a process hung.
const HANG_MIN: Duration = Duration::from_secs(5);

/// A subject in another process.
pub struct ProcessSubject {
    start: AdapterCommand,
    shared: Shared,
    environment: Vec<(OsString, OsString)>,
    open: Open,
    capabilities: Capabilities,
    run_by_root: bool,
    wants_fresh_process: bool,
    hostile: bool,
    identity: Identity,
    seconds: i64,
    process: Result<GreetedProcess, Fault>,
}

impl ProcessSubject {
    /// Opens a store in the sandbox, in an idle process or a new process.
    fn new(
        start: &AdapterCommand,
        shared: &Shared,
        sandbox: &Sandbox,
        settings: &Settings,
        seconds: i64,
    ) -> Self {
        let mut subject = ProcessSubject {
            start: start.clone(),
            shared: shared.clone(),
            environment: environment(sandbox),
            open: Open::of(sandbox, settings.clone()),
            capabilities: Capabilities::default(),
            run_by_root: fs::metadata(sandbox.root()).is_ok_and(|root| root.uid() == 0),
            wants_fresh_process: sandbox.wants_fresh_process(),
            hostile: sandbox.is_hostile(),
            identity: Identity::default(),
            seconds,
            process: Err(Fault::NotStarted("it was not tried yet".into())),
        };
        subject.process = subject.open_process();
        subject
    }

    fn open_process(&mut self) -> Result<GreetedProcess, Fault> {
        let is_fresh = self.wants_fresh_process;
        let idle = if is_fresh { None } else { self.shared.take(self.hostile) };
        let mut process = idle.map_or_else(|| self.start_process(), Ok)?;
        self.identity = process.hello.implementation.clone();
        self.capabilities = Capabilities::of(&process.hello)
            .map_err(|why| Fault::BadAnswer { op: "hello".into(), why })?;
        // No file is unreadable for a process that runs and reads as root.
        if self.run_by_root && !self.capabilities.has("user.ordinary") {
            let why = "root reads every file: run as an ordinary user";
            self.capabilities = self.capabilities.withhold("files.unreadable", why);
        }
        let has_own_store = !self.capabilities.needs_repository();
        if self.start.supervisor.is_some() && has_own_store {
            self.capabilities = self.capabilities.clone().with(INJECTION);
        }
        let is_observable = self.capabilities.has("layout");
        if self.start.is_damageable && (self.capabilities.has("test.store") || !is_observable) {
            self.capabilities = self.capabilities.clone().with("test.damage");
        }
        if meter::is_available() {
            self.capabilities = self.capabilities.clone().with(MEASUREMENT);
        }
        let settings = self.capabilities.restrict_settings(&self.open.settings);
        let open = Open { settings, ..self.open.clone() };
        let adapter = &mut process.adapter;
        expect_ok(adapter.ask(&Message::Control(Control::Open(open)))?)?;
        if self.capabilities.has("test.clock") {
            let clock = Request::SetClock { seconds: self.seconds };
            expect_ok(adapter.ask(&Message::Request(clock))?)?;
        }
        Ok(process)
    }

    fn start_process(&self) -> Result<GreetedProcess, Fault> {
        let AdapterCommand { command, directory, limits, .. } = &self.start;
        let mut adapter = Adapter::start(command, directory, &self.environment, *limits)?;
        let hello = read_hello(adapter.ask(&Message::Control(Control::hello()))?)?;
        Ok(GreetedProcess { adapter, hello })
    }

    /// Ends the process properly and opens the same store in another process: only stored data
    /// survives.
    fn reopen(&mut self) -> Result<(), Fault> {
        let ended = std::mem::replace(&mut self.process, Err(Fault::LeavesAChild));
        let mut adapter = ended?.adapter;
        adapter.ask(&Message::Control(Control::Close))?;
        adapter.finish()?;
        self.process = Ok(self.open_process()?);
        Ok(())
    }

    /// Opens the same store in a new process, started by that command. If this fails, the fault is the answer
    /// to the next request.
    fn reopen_fresh(&mut self, command: Vec<OsString>) {
        let previous_command = std::mem::replace(&mut self.start.command, command);
        let wanted_fresh_process = std::mem::replace(&mut self.wants_fresh_process, true);
        self.ask(&Request::Reopen);
        self.start.command = previous_command;
        self.wants_fresh_process = wanted_fresh_process;
    }

    /// Ends the process, unless it has ended, as `point` requires, and opens the same store in another
    /// process.
    fn end_supervised(&mut self, point: &Point) -> Result<(), Fault> {
        let ended = std::mem::replace(&mut self.process, Err(Fault::LeavesAChild));
        if let Ok(GreetedProcess { mut adapter, .. }) = ended {
            if point.what == InjectedEvent::Kill {
                adapter.killer().kill();
            } else if adapter.ask(&Message::Control(Control::Close)).is_ok() {
                adapter.finish()?;
            }
        }
        self.process = Ok(self.open_process()?);
        Ok(())
    }

    fn try_ask(&mut self, request: &Request) -> Result<Answer, Fault> {
        match request {
            Request::Reopen => return self.reopen().map(|()| Answer::Done),
            Request::SetClock { seconds } => self.seconds = *seconds,
            _ => {}
        }
        let process = self.process.as_mut().map_err(|fault| fault.clone())?;
        let reply_limit = &self.shared.reply_limit;
        let start = Instant::now();
        let limit = reply_limit.current(self.start.limits);
        let reply = process.adapter.ask_within(&Message::Request(request.clone()), limit);
        reply_limit.learn(start.elapsed(), &reply);
        translate::answer(request, reply?)
    }
}

fn read_hello(reply: Reply) -> Result<Hello, Fault> {
    serde_json::from_value(expect_ok(reply)?)
        .map_err(|error| Fault::BadAnswer { op: "hello".into(), why: error.to_string() })
}

/// The answer to an operation that every adapter must serve; a refusal violates the protocol.
fn expect_ok(reply: Reply) -> Result<Value, Fault> {
    let refused = reply.err.map(|refusal| format!("refused: {refusal}")).unwrap_or_default();
    reply.ok.ok_or(Fault::BadAnswer { op: "hello, open or test.clock".into(), why: refused })
}

impl Subject for ProcessSubject {
    fn restarts_for_injections(&self) -> bool {
        self.start.supervisor.is_some()
    }

    fn ask_injected(&mut self, request: &Request, point: &Point) -> io::Result<Option<Injected>> {
        let Some(supervisor) = &self.start.supervisor else { return Ok(None) };
        let supervised = Supervised::new(point, &self.open)?;
        let command = supervised.command(supervisor, &self.start.command);
        let answer = supervised.run_with_hold(|| {
            // The injection may happen while the process starts.
            self.reopen_fresh(command);
            self.ask(request)
        })?;
        let is_at_end = point.call == CallPosition::End;
        let is_alive = self.process.is_ok();
        if let Err(fault) = self.end_supervised(point) {
            self.process = Err(fault);
        }
        let (calls, has_happened) = supervised.calls()?;
        let ends_process = point.what.ends_process();
        let is_answered = is_alive || !(has_happened && ends_process);
        Ok(Some(Injected {
            answer: is_answered.then_some(answer),
            came: has_happened && (ends_process || !is_at_end),
            calls,
        }))
    }

    fn ask_measured(&mut self, request: &Request) -> (Answer, Option<Measured>) {
        self.reopen_fresh(self.start.command.clone());
        let meter = self.process.as_ref().ok().map(|process| Meter::of(process.adapter.leader()));
        let read = || meter.and_then(|meter| meter.bytes_read().ok());
        let (Some(meter), Some(before)) = (meter, read()) else { return (self.ask(request), None) };
        let (answer, memory) = meter.memory(|| self.ask(request));
        let bytes_read = read().map(|after| after.saturating_sub(before));
        self.ask(&Request::Reopen);
        (answer, bytes_read.map(|bytes_read| Measured { memory, bytes_read }))
    }

    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        match self.try_ask(request) {
            Ok(answer) => answer,
            Err(fault) => {
                let text = fault.to_string();
                self.process = Err(fault);
                Answer::Crashed(text)
            }
        }
    }

    fn replied(&self) -> Option<String> {
        self.process.as_ref().ok().map(|process| process.adapter.replied().to_owned())
    }

    fn fault(&self) -> Option<&Fault> {
        self.process.as_ref().err().filter(|fault| !fault.is_the_subjects())
    }
}

impl Drop for ProcessSubject {
    fn drop(&mut self) {
        let process = std::mem::replace(&mut self.process, Err(Fault::LeavesAChild));
        if let Ok(process) = process {
            self.shared.keep(process, self.hostile);
        }
    }
}
