//! Runs one history: makes each operation concrete, runs it, judges its result, and updates the expected world.
//!
//! For each request the model returns what is allowed, the oracle observes, the model compares, and the
//! world learns. Apart from that, only the history's edits change the world. Once world and subject
//! disagree, a run ends, or continues with the observed state; a later failure may then be a mere
//! consequence of the disagreement, and is marked so.
//!
//! A request passes through these levels, each of which adds one thing to the level below it:
//!
//! | Level | Adds |
//! |---|---|
//! | `request` | lists before and after a request that may evict; chooses how the request is judged |
//! | `judge_request`, `judge_injected`, `judge_measured`, `judge_together` | what the model allows; afterwards `compare_…`: compares, records and learns |
//! | `observe`, `observe_with`, `observe_injected`, `observe_lists` | the disk before and after, from the oracle |
//! | `Subject::ask`, `Subject::ask_injected`, `Subject::ask_measured` | the answer |

mod databases;
mod edits;
mod injected;
mod meanwhile;
mod measured;
mod record;
mod requests;
mod shown;
mod together;

use crate::database::Databases;
use crate::divergence::Fingerprint;
use crate::history::concrete::{self, ConcreteStep};
use crate::history::{CallPosition, History, InjectedEvent, Injection, Operation};
use crate::oracle::Oracle;
use crate::protocol::asked::supported_operations;
use crate::protocol::capabilities::Capabilities;
use crate::sandbox::{Sandbox, Scratch};
use crate::subject::{NewSubject, Subject};
use herma_model::injected::Injected;
use herma_model::{Files, World};
use meanwhile::Opening;
use shown::notify;
pub use shown::{Calls, Event, RequestRecord, Run, RunError, Watch};

/// When every history begins: 16 March 2026, 04:36 UTC.
pub const FIRST_SECOND: i64 = 1_773_635_760;

/// When the run of a history ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// Until the first failure after which world and subject disagree.
    #[default]
    Disagreement,
    /// Until the end of the history: after a disagreement the world is updated to the observed state.
    End,
}

/// How a history is run.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// When the run ends.
    pub until: Until,
    /// The capabilities that the run may use at most; a capability that the subject does not claim is never
    /// used.
    pub limit: Capabilities,
    /// Called with every event of the run. A watched history is run only once, even if its injection is for
    /// every call.
    pub watch: Watch<'a>,
}

/// Runs `history` in a fresh sandbox. If an injection of the history is for every call, the history is run
/// once for each call.
///
/// # Errors
/// The run itself could not be made. A failure of the subject is not an error: it is part of the result.
pub fn run<'a>(
    history: &'a History,
    new_subject: &'a NewSubject<'a>,
    scratch: &Scratch,
    options: RunOptions<'a>,
) -> Result<Run, RunError> {
    if options.watch.is_some() || !history.is_for_every_call() {
        let sandbox = Sandbox::new(scratch, history)?;
        return Runner::open(history, new_subject, sandbox, options)?.run_all(history);
    }
    let RunOptions { until, limit, .. } = options;
    injected::at_every_call(history, &|history| {
        let options = RunOptions { until, limit: limit.clone(), watch: None };
        let sandbox = Sandbox::new(scratch, history)?;
        Runner::open(history, new_subject, sandbox, options)?.run_all(history)
    })
}

struct Runner<'a> {
    sandbox: Sandbox,
    subject: Box<dyn Subject>,
    world: World,
    oracle: Oracle,
    run: Run,
    until: Until,
    /// The first failure after which world and subject disagreed.
    disagreement: Option<Fingerprint>,
    /// The failure after which the subject no longer answers.
    silent: Option<Fingerprint>,
    /// The line of the last reply; empty without a watcher.
    reply: String,
    /// The files before the last request that was judged.
    before: Files,
    databases: Databases,
    /// The injection for the next request that can have one.
    injection: Option<Injection>,
    /// Whether the next request that can have an injection is measured.
    measures: bool,
    /// The last injection that happened.
    injected: Option<(InjectedEvent, Injected)>,
    /// Whether all projects are listed after the next request that can have an injection, as after an
    /// injection.
    lists_next: bool,
    /// How another process is opened.
    opening: Opening<'a>,
    watch: Watch<'a>,
}

impl<'a> Runner<'a> {
    /// Opens the subject in its sandbox, and starts with a world of the existing files.
    fn open(
        history: &'a History,
        new_subject: &'a NewSubject<'a>,
        sandbox: Sandbox,
        options: RunOptions<'a>,
    ) -> Result<Self, RunError> {
        let RunOptions { until, limit, watch } = options;
        if let Some(marker) = sandbox.marker_above() {
            return Err(RunError::MarkerAbove(marker));
        }
        let mut oracle = Oracle::new(&sandbox)?;
        let files = oracle.files(&sandbox)?.clone();
        let subject = new_subject(&sandbox, &history.settings, FIRST_SECOND);
        if let Some(fault) = subject.fault() {
            return Err(RunError::Adapter { step: None, fault: fault.clone() });
        }
        let capabilities = subject.capabilities().in_common(&limit);
        let settings = capabilities.restrict_settings(&history.settings);
        let names = capabilities.names().collect();
        let mut world = World::new(files, sandbox.layout(), settings, names, FIRST_SECOND);
        if let Some(name) = capabilities.own_ignore_file() {
            world = world.with_own_ignore_file(&name.into());
        }
        oracle.opened(capabilities.has("layout"));
        let checks = world.compare_opening(oracle.files(&sandbox)?);
        if let Some(folder) = capabilities.store_folder() {
            sandbox.make_stores(folder)?;
            oracle.set_store_folder(folder);
        }
        world.files.clone_from(oracle.files(&sandbox)?);
        let run = Run { capabilities, subject: subject.identity(), ..Run::default() };
        let mut runner = Runner {
            sandbox,
            subject,
            world,
            oracle,
            run,
            until,
            disagreement: None,
            silent: None,
            reply: String::new(),
            before: Files::default(),
            databases: Databases::default(),
            injection: None,
            measures: false,
            injected: None,
            lists_next: false,
            opening: Opening { new_subject, settings: &history.settings },
            watch,
        };
        runner.record(0, checks);
        let root = runner.sandbox.layout().root;
        let files = &runner.world.files;
        notify(&mut runner.watch, || Event::Began { root, files: files.clone() });
        Ok(runner)
    }

    /// Applies the operations of the history, and compares the final state.
    fn run_all(mut self, history: &History) -> Result<Run, RunError> {
        self.run.depth.drawn = history.operations.len() as u64;
        let mut remaining = 0;
        for (step, operation) in history.operations.iter().enumerate() {
            if self.has_ended() {
                remaining = (history.operations.len() - step) as u64;
                break;
            }
            let agreed = self.disagreement.is_none();
            // Steps are counted in the history as written.
            let operations = supported_operations(&self.run.capabilities, operation, &self.world);
            let mut judged = false;
            for operation in &operations {
                judged |= self.apply(step, operation)?;
            }
            self.run.depth.count(!operations.is_empty(), judged, agreed);
        }
        if !self.has_ended() {
            self.close(history)?;
        }
        if let Some(failure) = &self.silent {
            self.run.depth.end_early(&failure.to_string(), remaining);
        }
        Ok(self.run)
    }

    /// Whether nothing more can be observed.
    fn has_ended(&self) -> bool {
        self.silent.is_some() || self.until == Until::Disagreement && self.disagreement.is_some()
    }

    /// Applies one operation; returns whether anything was judged.
    fn apply(&mut self, step: usize, operation: &Operation) -> Result<bool, RunError> {
        if self.has_ended() {
            return Ok(false);
        }
        let mut judged = true;
        match concrete::step(operation, &self.world) {
            ConcreteStep::Edit(edit) => self.edit(step, &edit)?,
            ConcreteStep::Store(edit) => self.edit_store(&edit)?,
            ConcreteStep::Database(database) => self.write_database(step, &database)?,
            ConcreteStep::Inject(injection) if injection.call == CallPosition::Call(0) => {
                for operation in &injection.meanwhile {
                    self.apply(step, operation)?;
                }
                self.lists_next = true;
            }
            ConcreteStep::Inject(injection) => {
                notify(&mut self.watch, || Event::Injects(injection.clone()));
                self.injection = Some(injection);
            }
            ConcreteStep::Measure => {
                notify(&mut self.watch, || Event::Measures);
                self.measures = true;
            }
            ConcreteStep::Ask(requests) => {
                judged = false;
                for request in &requests {
                    if !self.has_ended() {
                        judged |= self.request(step, request)?;
                    }
                }
            }
        }
        Ok(judged)
    }
}
