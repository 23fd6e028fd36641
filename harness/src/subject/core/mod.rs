//! The core as a subject: translates requests and answers, adds nothing and repairs nothing.

mod agent_state;
mod checkpoints;
mod convert;
mod maintenance;

use super::agent::Agent;
use super::{Identity, Measurable, Subject};
use crate::history::InjectedEvent;
use crate::inject::{HookedDisk, Injected, Injector, Point};
use crate::protocol::capabilities::Capabilities;
use crate::sandbox::Sandbox;
use checkpoints::{classified, diffed, restored, taken};
use convert::{DAY_SECONDS, HOUR_SECONDS, done, path};
use herma_core::agent::{CheckpointManager, Policy};
use herma_core::disk::Disk;
use herma_core::{
    Clock, Config, Environment, Error, Manager, Occasion, PruneOptions, RestoreOptions,
};
use herma_model::answer::{Answer, Changed};
use herma_model::{Code, Request, Settings};
use maintenance::{configuration, prune_options, status, swept};
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A clock that is set explicitly.
struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn seconds(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The core, opened in one sandbox.
pub struct CoreSubject {
    checkpoints: CheckpointManager,
    disk: Arc<dyn Disk>,
    clock: Arc<ManualClock>,
    environment: Environment,
    config: Config,
    agent: Agent,
    injector: Arc<Injector>,
}

impl CoreSubject {
    /// Opens the core in a sandbox.
    pub fn new(sandbox: &Sandbox, settings: &Settings, seconds: i64) -> Self {
        let disk = Arc::new(HookedDisk::of_an_ordinary_user());
        let injector = disk.injector();
        let environment = CoreSubject::environment_in(sandbox);
        CoreSubject::in_environment(disk, environment, settings, seconds).with_injector(injector)
    }

    /// The same subject, with the injector of its disk.
    pub fn with_injector(self, injector: Arc<Injector>) -> Self {
        CoreSubject { injector, ..self }
    }

    /// The environment that the core has in a sandbox.
    pub fn environment_in(sandbox: &Sandbox) -> Environment {
        Environment {
            home: sandbox.home(),
            current_directory: sandbox.current_directory(),
            base: sandbox.base(),
        }
    }

    /// Opens the core on a given disk and in a given environment.
    pub fn in_environment(
        disk: Arc<dyn Disk>,
        environment: Environment,
        settings: &Settings,
        seconds: i64,
    ) -> Self {
        let clock = Arc::new(ManualClock(AtomicI64::new(seconds)));
        let config = Config {
            enabled: settings.enabled,
            max_snapshots: settings.max_snapshots,
            max_file_bytes: settings.max_file_bytes,
            max_files: settings.max_files,
            policy: Policy { every_turns: 1, ..Policy::default() },
            max_total_bytes: settings.max_total_bytes,
            auto_prune: settings.auto_prune,
            retention_seconds: settings.retention_days.saturating_mul(DAY_SECONDS),
            delete_orphans: settings.delete_orphans,
            include: Vec::new(),
            min_interval_seconds: settings.min_interval_hours.saturating_mul(HOUR_SECONDS),
        };
        let agent = Agent::new(&environment.base, disk.clone(), clock.clone());
        let checkpoints =
            CheckpointManager::on(disk.clone(), clock.clone(), environment.clone(), config.clone())
                .with_state(agent.state());
        recover(&checkpoints);
        CoreSubject {
            checkpoints,
            disk,
            clock,
            environment,
            config,
            agent,
            injector: Arc::default(),
        }
    }

    /// Opens the core as a subject of the suite.
    pub fn boxed(sandbox: &Sandbox, settings: &Settings, seconds: i64) -> Box<dyn Subject> {
        let subject = Box::new(CoreSubject::new(sandbox, settings, seconds));
        let sandbox = sandbox.shared();
        let settings = settings.clone();
        Measurable { subject, bug: None, sandbox, settings, seconds }.boxed()
    }

    /// The core itself, for calls that no request makes.
    ///
    /// # Panics
    /// Never: checkpoints can only be switched off by a configuration file, and none is read.
    pub fn manager(&self) -> &Manager {
        self.checkpoints.manager().expect("no configuration file was read")
    }

    /// A new manager of the agent in this environment.
    fn new_manager(&self, environment: Environment) -> CheckpointManager {
        let disk = self.disk.clone();
        let clock = self.clock.clone();
        CheckpointManager::on(disk, clock, environment, self.config.clone())
            .with_state(self.agent.state())
    }

    fn answer(&mut self, request: &Request) -> Result<Answer, Error> {
        Ok(match request {
            Request::NewTurn => {
                self.checkpoints.new_turn();
                Answer::Done
            }
            Request::Reopen => {
                self.restart();
                Answer::Done
            }
            Request::SetClock { seconds } => {
                self.clock.0.store(*seconds, Ordering::Relaxed);
                Answer::Done
            }
            Request::ProjectOf { file } => self.project_of(path(file)),
            Request::Classify { command } => classified(command),
            Request::EnsureCheckpoint { dir, reason } => {
                taken(self.checkpoints.manager_mut()?.ensure_checkpoint(path(dir), reason)?)
            }
            Request::BeforeTool { dir, tool } => self.protect(path(dir), tool),
            Request::WithoutBackend { dir, reason } => self.without_backend(path(dir), reason),
            Request::Checkpoint { dir, reason } => {
                taken(self.manager().checkpoint(path(dir), reason)?)
            }
            Request::List { dir } => self.list(path(dir))?,
            Request::PrintList { dir } => self.print_list(path(dir))?,
            Request::Diff { dir, target } => diffed(self.manager().diff(path(dir), target)?),
            Request::Restore { dir, target, exact, force } => {
                self.restore(path(dir), target, RestoreOptions { exact: *exact, force: *force })?
            }
            // The newest checkpoint has number 1.
            Request::RestoreLatest { dir, exact } => {
                self.restore(path(dir), b"1", RestoreOptions { exact: *exact, force: false })?
            }
            Request::RestoreFile { dir, target, path: file } => {
                restored(self.manager().restore_file(path(dir), target, file)?)
            }
            Request::Undo { dir } => self.restore(path(dir), b"undo", RestoreOptions::default())?,
            Request::Redo { dir } => self.restore(path(dir), b"redo", RestoreOptions::default())?,
            Request::ToolWrites { dir, path: file } => {
                self.manager().tool_writes(path(dir), &[file]).map(done)?
            }
            Request::ToolWrote { dir, path: file } => {
                self.manager().tool_wrote(path(dir), &[file]).map(done)?
            }
            Request::SetState { part, value } => self.set_state(*part, value),
            Request::GetState { part } => self.state(*part),
            Request::Label { dir, label } => {
                taken(self.manager().checkpoint_for(path(dir), &Occasion::labelled(label))?)
            }
            Request::Pin { dir, target } => self.manager().pin(path(dir), target).map(done)?,
            Request::Unpin { dir, target } => self.manager().unpin(path(dir), target).map(done)?,
            Request::External { action, compensation } => {
                self.record_external(action, compensation.as_ref()).map(done)?
            }
            Request::Compensate => Answer::Compensated(self.agent.compensate()?),
            Request::Accept => self.agent.accept().map(done)?,
            Request::Event { dir, event } => self.happens(path(dir), event),
            Request::Spawn => self.spawn(),
            Request::Join => self.join(),
            Request::Sweep => swept(&self.manager().sweep()),
            Request::Prune { retention_days, max_total_bytes, delete_orphans } => {
                self.prune(&prune_options(*retention_days, *max_total_bytes, *delete_orphans))?
            }
            Request::PruneAsConfigured => self.prune(&PruneOptions::from(&self.configured()?))?,
            Request::Configured => Answer::Configured(configuration(&self.configured()?)),
            Request::Status => status(self.manager().status()?),
            Request::ClearLegacy => self.manager().clear_legacy().map(done)?,
            Request::Clear => self.manager().clear().map(done)?,
        })
    }
}

impl CoreSubject {
    /// Starts to count calls; the injection happens at its call.
    ///
    /// # Errors
    /// The disk cannot be read.
    pub fn arm(&self, point: &Point) -> io::Result<()> {
        let Environment { base, current_directory, .. } = &self.environment;
        self.injector.arm(point.clone(), base, current_directory)
    }

    /// The injection that happened during the current request, if any.
    pub fn happened(&self) -> Option<InjectedEvent> {
        self.injector
            .happens()
            .and_then(|(injection, has_happened)| has_happened.then_some(injection))
    }

    /// Whether the injection ended the process.
    pub fn is_dead(&self) -> bool {
        self.injector.is_dead()
    }

    /// Ends the injection after the request, with its answer; a process that the injection ended is started
    /// again.
    ///
    /// # Errors
    /// The result of a power loss cannot be written.
    pub fn disarm(&mut self, point: &Point, answer: Answer) -> io::Result<Injected> {
        let injected = self.injector.disarm(answer)?;
        if injected.came && point.what.ends_process() {
            self.restart();
        }
        Ok(injected)
    }

    /// Starts again as a new process does.
    fn restart(&mut self) {
        self.agent.end();
        self.checkpoints = self.new_manager(self.environment.clone());
        recover(&self.checkpoints);
    }
}

impl Subject for CoreSubject {
    fn identity(&self) -> Identity {
        Identity::new("herma-core", env!("CARGO_PKG_VERSION"))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of_the_core()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let answer = self.answer(request);
            // The next observation sees the store after its deferred work.
            self.checkpoints.collect_deferred();
            answer
        }));
        match caught {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                let code = code(error.code());
                let message = error.to_string();
                // Changes before a failure are part of a restore's answer; an error changed nothing unless it
                // reports so.
                let changed = match error {
                    Error::RestoreUndone { left: Some(_), .. } => Changed::Partial,
                    _ => Changed::None,
                };
                Answer::Refused { code, message, changed }
            }
            Err(panic) => Answer::Crashed(panic_text(panic.as_ref())),
        }
    }

    fn ask_injected(&mut self, request: &Request, point: &Point) -> io::Result<Option<Injected>> {
        self.arm(point)?;
        let answer = self.ask(request);
        let injected = self.disarm(point, answer)?;
        Ok(Some(injected))
    }
}

/// Recovers the store as an agent does when it starts. Later requests report errors of the store.
fn recover(checkpoints: &CheckpointManager) {
    let _ = checkpoints.manager().map(Manager::recover);
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".into())
}

/// The code of the shared list for a code of the core; a code that is not in the list counts as an
/// internal error.
fn code(word: &str) -> Code {
    let word: StrDeserializer<'_, serde::de::value::Error> = StrDeserializer::new(word);
    Code::deserialize(word).unwrap_or(Code::Internal)
}
