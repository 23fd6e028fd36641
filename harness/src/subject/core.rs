//! The core as a subject: translates requests and answers, adds nothing and repairs nothing.

use super::agent::{Agent, action};
use super::{Identity, Measurable, Subject, patch};
use crate::history::InjectedEvent;
use crate::inject::{HookedDisk, Injected, Injector, Point};
use crate::protocol::capabilities::Capabilities;
use crate::sandbox::Sandbox;
use herma_core::agent::{CheckpointManager, Policy};
use herma_core::disk::Disk;
use herma_core::text::Style;
use herma_core::{
    Change, Clock, Config, Environment, Error, Manager, Occasion, Outcome, ProjectState,
    PruneOptions, Pruned, RestoreOptions, Swept,
};
use herma_model::agent::AgentEvent;
use herma_model::answer::{
    self, Answer, Changed, CheckpointOutcome, Counts, DiffEntry, Listed, ProjectStatus, Protected,
    Remark, Stats, SweepOutcome, Taken,
};
use herma_model::configuration::Configuration;
use herma_model::tool::Tool;
use herma_model::{ByteString, Code, Request, Settings};
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const MEGABYTE: u64 = 1024 * 1024;
const DAY_SECONDS: u64 = 24 * 60 * 60;
const HOUR_SECONDS: u64 = 60 * 60;

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
            Request::ProjectOf { file } => {
                let disk = self.disk.as_ref();
                let found = herma_core::project_of_file(disk, &self.environment, path(file));
                Answer::Project(found.map(|path| bytes(path.as_os_str().as_bytes())))
            }
            Request::Classify { command } => Answer::Classified {
                changes_files: !herma_core::triggers::reasons(command).is_empty(),
            },
            Request::EnsureCheckpoint { dir, reason } => {
                taken(self.checkpoints.manager_mut()?.ensure_checkpoint(path(dir), reason)?)
            }
            Request::BeforeTool { dir, tool } => self.protect(path(dir), tool),
            Request::WithoutBackend { dir, reason } => self.without_backend(path(dir), reason),
            Request::Checkpoint { dir, reason } => {
                taken(self.manager().checkpoint(path(dir), reason)?)
            }
            Request::List { dir } => {
                Answer::Listed(self.manager().list(path(dir))?.into_iter().map(listed).collect())
            }
            Request::PrintList { dir } => {
                let checkpoints = self.manager().list(path(dir))?;
                let style = Style::of_output(false, |_| None);
                let printed = herma_core::printed::list(style, &checkpoints).join("\n");
                let checkpoints = checkpoints.into_iter().map(listed).collect();
                Answer::Printed { checkpoints, printed }
            }
            Request::Diff { dir, target } => diffed(self.manager().diff(path(dir), target)?),
            Request::Restore { dir, target, exact, force } => {
                let options = RestoreOptions { exact: *exact, force: *force };
                self.restore(dir, target, options)?
            }
            // The newest checkpoint has number 1.
            Request::RestoreLatest { dir, exact } => {
                self.restore(dir, b"1", RestoreOptions { exact: *exact, force: false })?
            }
            Request::RestoreFile { dir, target, path: file } => {
                restored(self.manager().restore_file(path(dir), target, file)?)
            }
            Request::ToolWrites { dir, path: file } => {
                self.manager().tool_writes(path(dir), &[file])?;
                Answer::Done
            }
            Request::ToolWrote { dir, path: file } => {
                self.manager().tool_wrote(path(dir), &[file])?;
                Answer::Done
            }
            Request::SetState { part, value } => self
                .agent
                .set(*part, value)
                .map_or_else(|error| state_error(&error), |()| Answer::Done),
            Request::GetState { part } => {
                self.agent.get(*part).map_or_else(|error| state_error(&error), Answer::State)
            }
            Request::Label { dir, label } => {
                taken(self.manager().checkpoint_for(path(dir), &Occasion::labelled(label))?)
            }
            Request::Pin { dir, target } => {
                self.manager().pin(path(dir), target)?;
                Answer::Done
            }
            Request::Unpin { dir, target } => {
                self.manager().unpin(path(dir), target)?;
                Answer::Done
            }
            Request::External { action, compensation } => {
                if self.agent.record(action, compensation.as_ref())? {
                    self.checkpoints.manager_mut()?.set_state(self.agent.state());
                }
                Answer::Done
            }
            Request::Compensate => Answer::Compensated(self.agent.compensate()?),
            Request::Accept => {
                self.agent.accept()?;
                Answer::Done
            }
            Request::Event { dir, event } => self.happens(path(dir), event),
            Request::Spawn => {
                let manager = self.new_manager(self.environment.clone());
                self.agent.spawn(std::mem::replace(&mut self.checkpoints, manager));
                Answer::Done
            }
            Request::Join => {
                if let Some(parent) = self.agent.join() {
                    self.checkpoints = parent;
                }
                Answer::Done
            }
            Request::Sweep => swept(&self.manager().sweep()),
            Request::Prune { retention_days, max_total_bytes, delete_orphans } => {
                let options = PruneOptions {
                    retention_seconds: retention_days.saturating_mul(DAY_SECONDS),
                    max_total_bytes: *max_total_bytes,
                    delete_orphans: *delete_orphans,
                };
                let pruned = self.manager().prune(&options, &mut |_| {})?;
                Answer::Swept { outcome: SweepOutcome::Done, counts: counts(&pruned) }
            }
            Request::PruneAsConfigured => {
                let options = PruneOptions::from(&self.configured()?);
                let pruned = self.manager().prune(&options, &mut |_| {})?;
                Answer::Swept { outcome: SweepOutcome::Done, counts: counts(&pruned) }
            }
            Request::Configured => Answer::Configured(configuration(&self.configured()?)),
            Request::Status => status(self.manager().status()?),
            Request::ClearLegacy => {
                self.manager().clear_legacy()?;
                Answer::Done
            }
            Request::Clear => {
                self.manager().clear()?;
                Answer::Done
            }
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

    fn protect(&mut self, directory: &Path, tool: &Tool) -> Answer {
        let body;
        let tool = match tool {
            Tool::WriteFile { path: file } => {
                herma_core::agent::Tool::WriteFile { path: path(file), directory }
            }
            Tool::Patch { form, files } => {
                body = patch::body(*form, files);
                herma_core::agent::Tool::Patch { body: &body, directory }
            }
            Tool::Terminal { command } => herma_core::agent::Tool::Terminal { command, directory },
        };
        let protected = |protected: herma_core::agent::Protected| Protected {
            project: bytes(protected.project.as_os_str().as_bytes()),
            taken: protected.taken.map(model_taken),
        };
        Answer::Protected(self.checkpoints.protect(&tool).into_iter().map(protected).collect())
    }

    /// Lets an agent take a checkpoint where no store can be made: below a path that is not a folder.
    fn without_backend(&self, directory: &Path, reason: &str) -> Answer {
        let base = "/dev/null/checkpoints".into();
        let mut checkpoints = self.new_manager(Environment { base, ..self.environment.clone() });
        match checkpoints.ensure_checkpoint(directory, reason) {
            Some(checkpoint) => taken(checkpoint),
            None => {
                let message = checkpoints.trouble().join("; ");
                Answer::Refused { code: Code::StoreUnusable, message, changed: Changed::None }
            }
        }
    }

    fn restore(
        &mut self,
        dir: &ByteString,
        target: &[u8],
        options: RestoreOptions,
    ) -> Result<Answer, Error> {
        let report = self.manager().restore(path(dir), target, options)?;
        self.checkpoints.rolled_back();
        Ok(restored(report))
    }

    fn happens(&mut self, dir: &Path, event: &AgentEvent) -> Answer {
        let event = self.agent.event(event);
        match self.checkpoints.happens(dir, &event) {
            (_, Some(checkpoint)) => taken(checkpoint),
            // The reason that no checkpoint was taken is only for people.
            (_, None) => Answer::Taken { outcome: CheckpointOutcome::NotDue, skipped: Vec::new() },
        }
    }

    fn configured(&self) -> Result<Config, Error> {
        let file = self.environment.configuration_file();
        Ok(herma_core::configuration::read(self.disk.as_ref(), &file)?.config)
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

/// The refusal when a part of the agent's state cannot be read or written.
fn state_error(error: &std::io::Error) -> Answer {
    Answer::Refused { code: Code::Io, message: error.to_string(), changed: Changed::None }
}

fn path(bytes: &ByteString) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

fn bytes(bytes: &[u8]) -> ByteString {
    ByteString::from(bytes)
}

fn paths(paths: &[Vec<u8>]) -> Vec<ByteString> {
    paths.iter().map(|path| bytes(path)).collect()
}

fn remarks(remarks: Vec<herma_core::Remark>) -> Vec<Remark> {
    remarks
        .into_iter()
        .map(|remark| Remark { path: bytes(&remark.path), why: remark.why })
        .collect()
}

fn stats(stats: &herma_core::Stats) -> Stats {
    Stats { files: stats.files, added: stats.added, removed: stats.removed }
}

fn taken(taken: herma_core::Taken) -> Answer {
    let Taken { outcome, skipped } = model_taken(taken);
    Answer::Taken { outcome, skipped }
}

fn model_taken(taken: herma_core::Taken) -> Taken {
    let outcome = match taken.outcome {
        Outcome::Created { id } => CheckpointOutcome::Created { id },
        Outcome::Deduped => CheckpointOutcome::Deduped,
        Outcome::Unchanged => CheckpointOutcome::Unchanged,
        Outcome::Disabled => CheckpointOutcome::Disabled,
    };
    Taken { outcome, skipped: remarks(taken.skipped) }
}

fn configuration(config: &Config) -> Configuration {
    Configuration {
        enabled: config.enabled,
        max_snapshots: config.max_snapshots as u64,
        max_total_size_mb: config.max_total_bytes / MEGABYTE,
        max_file_size_mb: config.max_file_bytes / MEGABYTE,
        auto_prune: config.auto_prune,
        retention_days: config.retention_seconds / DAY_SECONDS,
        delete_orphans: config.delete_orphans,
        min_interval_hours: config.min_interval_seconds / HOUR_SECONDS,
    }
}

fn listed(checkpoint: herma_core::Listed) -> Listed {
    Listed {
        number: checkpoint.number,
        id: checkpoint.id,
        time: checkpoint.time,
        reason: checkpoint.reason,
        stats: checkpoint.stats.as_ref().map(stats),
    }
}

fn diffed(diff: herma_core::Diff) -> Answer {
    let model_change = |change| match change {
        Change::Added => answer::Change::Added,
        Change::Deleted => answer::Change::Deleted,
        Change::Modified => answer::Change::Modified,
    };
    let entries = diff
        .entries
        .iter()
        .map(|entry| DiffEntry { path: bytes(&entry.path), change: model_change(entry.change) })
        .collect();
    Answer::Diffed { entries, stats: stats(&diff.stats) }
}

fn restored(report: herma_core::Restored) -> Answer {
    Answer::Restored(answer::Restored {
        restored: paths(&report.restored),
        removed: paths(&report.removed),
        left: paths(&report.left),
        kept: remarks([report.kept, report.missing].concat()),
        failed: remarks(report.failed),
        safety: report.safety,
        forced_past: report.forced_past.is_some(),
        undoes_turn: report.undoes_turn,
        others: report.others.as_deref().map(paths),
        external: report.agent.map(|agent| {
            agent.external_actions.iter().map(|listed| action(&listed.note)).collect()
        }),
    })
}

fn counts(pruned: &Pruned) -> Counts {
    Counts {
        scanned: pruned.scanned,
        orphans: pruned.orphans,
        stale: pruned.stale,
        errors: pruned.errors,
        bytes_freed: pruned.bytes_freed,
    }
}

fn swept(swept: &Swept) -> Answer {
    let (outcome, counts) = match swept {
        Swept::Off => (SweepOutcome::Off, Counts::default()),
        Swept::NotDue => (SweepOutcome::NotDue, Counts::default()),
        Swept::Done(pruned) => (SweepOutcome::Done, counts(pruned)),
    };
    Answer::Swept { outcome, counts }
}

fn status(status: herma_core::Status) -> Answer {
    let model_state = |state| match state {
        ProjectState::Live => answer::ProjectState::Live,
        ProjectState::Orphan => answer::ProjectState::Orphan,
        ProjectState::Unknown => answer::ProjectState::Unknown,
    };
    let project = |project: herma_core::ProjectStatus| ProjectStatus {
        workdir: project.workdir.map(|workdir| bytes(workdir.as_bytes())),
        checkpoints: project.checkpoints,
        state: model_state(project.state),
    };
    Answer::Status {
        projects: status.projects.into_iter().map(project).collect(),
        archives: status.legacy.into_iter().map(|(name, _)| name).collect(),
    }
}
