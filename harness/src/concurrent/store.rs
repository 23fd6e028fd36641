//! One store and the processes on it: they are asked together, round after round, and all that is
//! asked and answered is written down. Nothing is judged here.

use super::Lane;
use super::LaneError;
use super::plan::{self, PROJECTS, Plan, Planned};
use super::record::{Call, Contents, Record, Round};
use crate::history::History;
use crate::runner::FIRST_SECOND;
use crate::sandbox::{Sandbox, Scratch, store_edits};
use crate::subject::{ProcessSubject, Subject};
use herma_model::{Answer, ByteString, Request, Settings};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

/// Seconds between two rounds: more than between two sweeps.
const STEP: i64 = 25 * 60 * 60;
/// So long after a change a subject may trust the times of files.
const SETTLE: Duration = Duration::from_millis(20);
/// How many checkpoints of a project are compared after each round, the newest first.
const COMPARED: usize = 4;

/// How the processes are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// All at the same time, with whatever else the plan says.
    Together,
    /// One call after the other, and nobody is killed.
    InTurn,
}

/// A store with its processes.
pub(super) struct Store<'a> {
    lane: &'a Lane<'a>,
    open: &'a (dyn Fn(&Sandbox, &Settings, i64) -> ProcessSubject + Sync),
    sandbox: Sandbox,
    settings: Settings,
    processes: Vec<ProcessSubject>,
    /// The checkpoints of each project when the last round was over, newest first.
    listed: Vec<Vec<String>>,
    clock: AtomicU64,
}

impl<'a> Store<'a> {
    /// A store that nobody has used.
    pub(super) fn new(
        lane: &'a Lane<'a>,
        open: &'a (dyn Fn(&Sandbox, &Settings, i64) -> ProcessSubject + Sync),
        store: u64,
        scratch: &Scratch,
    ) -> Result<Self, LaneError> {
        let history = History { plain_home: true, ..History::default() };
        let sandbox = Sandbox::new(scratch, &history)?;
        let able = &lane.opened.capabilities;
        let few = plan::few(lane.seed, store).filter(|_| able.has("settings.max_snapshots"));
        let settings = Settings {
            max_snapshots: few.unwrap_or(Settings::default().max_snapshots),
            retention_days: 0,
            ..Settings::default()
        };
        let settings = able.restrict_settings(&settings);
        if let Some(folder) = able.store_folder() {
            sandbox.make_stores(folder)?;
        }
        let (processes, listed) = (Vec::new(), vec![Vec::new(); PROJECTS.len()]);
        let clock = AtomicU64::new(0);
        Ok(Store { lane, open, sandbox, settings, processes, listed, clock })
    }

    /// Runs the first rounds of that store.
    pub(super) fn run(
        mut self,
        store: u64,
        rounds: usize,
        manner: Manner,
    ) -> Result<Record, LaneError> {
        let able = &self.lane.opened.capabilities;
        let mut record = Record {
            subject: self.lane.opened.subject.clone(),
            capabilities: able.names().map(str::to_owned).collect(),
            settings: self.settings.clone(),
            root: ByteString::from(self.sandbox.root().as_os_str().as_bytes()),
            seed: self.lane.seed,
            store,
            rounds: Vec::new(),
        };
        for round in 0..rounds {
            let number = (self.lane.seed, store, round);
            let plan = Plan::draw(number, self.lane.processes, able);
            let round = self.round(&plan, round, manner)?;
            let ended = |one: &Call| one.process.is_none() && is_without_answer(one);
            let is_over = round.calls.iter().any(ended);
            record.rounds.push(round);
            if is_over {
                break;
            }
        }
        Ok(record)
    }

    fn round(&mut self, plan: &Plan, number: usize, manner: Manner) -> Result<Round, LaneError> {
        for (project, contents) in &plan.files {
            self.put(&self.sandbox.root().join(project), contents)?;
        }
        thread::sleep(SETTLE);
        let seconds = FIRST_SECOND + STEP * number as i64;
        self.begin(seconds)?;
        let asked = self.requests(plan, number);
        let may_collect = self.lane.git_gc && manner == Manner::Together;
        let git_collects = plan.git_collects && may_collect && self.has_store();
        let collector = git_collects.then(|| self.collect_garbage()).transpose()?;
        let mut calls = match manner {
            Manner::Together => self.together(plan, &asked),
            Manner::InTurn => self.in_turn(&asked),
        };
        if let Some(mut collector) = collector {
            collector.wait()?;
        }
        if let Some(kill) = plan.kill.filter(|_| manner == Manner::Together) {
            // However late the signal came, nothing more is asked of it.
            drop(self.processes.remove(kill.process));
        }
        for call in calls.iter_mut().filter(|call| matches!(call.answer, Some(Answer::Restored(_))))
        {
            call.after = call.request.dir().map(|dir| self.contents_of(dir)).transpose()?;
        }
        self.look(plan, seconds, &mut calls)?;
        calls.sort_by_key(|call| call.begin);
        Ok(Round { seconds, files: plan.files.clone(), git_collects, calls })
    }

    /// Every process is there, and knows what time it is.
    fn begin(&mut self, seconds: i64) -> Result<(), LaneError> {
        // One that was killed, or died.
        self.processes.retain(|process| process.killer().is_some());
        while self.processes.len() < self.lane.processes {
            self.processes.push((self.open)(&self.sandbox, &self.settings, seconds));
        }
        for process in &mut self.processes {
            if self.lane.opened.capabilities.has("test.clock") {
                process.ask(&Request::SetClock { seconds });
            }
            if let Some(fault) = process.fault() {
                return Err(LaneError::Adapter(fault.clone()));
            }
        }
        Ok(())
    }

    /// What each process is asked, with what is known of the checkpoints.
    fn requests(&self, plan: &Plan, round: usize) -> Vec<Vec<Request>> {
        let request = |process: usize, at: usize, planned: &Planned| {
            let reason = format!("round {round}, process {process}, call {at}");
            self.request(*planned, reason)
        };
        let of = |(process, calls): (usize, &Vec<Planned>)| {
            calls.iter().enumerate().filter_map(|(at, one)| request(process, at, one)).collect()
        };
        plan.calls.iter().enumerate().map(of).collect()
    }

    /// None where there is no checkpoint to ask about.
    fn request(&self, planned: Planned, reason: String) -> Option<Request> {
        let target = |project: usize, back: usize| {
            let listed = &self.listed[project];
            listed.get(back % listed.len().max(1)).map(|id| ByteString::from(id.as_str()))
        };
        let dir = |project| self.dir(project);
        Some(match planned {
            Planned::Take(project) if self.lane.opened.capabilities.has("checkpoint") => {
                Request::Checkpoint { dir: dir(project), reason }
            }
            Planned::Take(project) => Request::EnsureCheckpoint { dir: dir(project), reason },
            Planned::List(project) => Request::List { dir: dir(project) },
            Planned::Diff(project, back) => {
                Request::Diff { dir: dir(project), target: target(project, back)? }
            }
            Planned::Restore(project, back) => {
                let exact = !self.lane.opened.capabilities.has("restore.leaves_new");
                let target = target(project, back)?;
                Request::Restore { dir: dir(project), target, exact, force: false }
            }
            Planned::Prune => {
                Request::Prune { retention_days: 0, max_total_bytes: 0, delete_orphans: true }
            }
            Planned::Sweep => Request::Sweep,
            Planned::Status => Request::Status,
        })
    }

    fn together(&mut self, plan: &Plan, asked: &[Vec<Request>]) -> Vec<Call> {
        let (clock, calls) = (&self.clock, Mutex::new(Vec::new()));
        let start = Barrier::new(asked.len());
        thread::scope(|scope| {
            for (number, (process, requests)) in self.processes.iter_mut().zip(asked).enumerate() {
                let kill = plan.kill.filter(|kill| kill.process == number);
                let (calls, start) = (&calls, &start);
                scope.spawn(move || {
                    start.wait();
                    for (at, request) in requests.iter().enumerate() {
                        let after = kill.filter(|kill| kill.call == at).map(|kill| kill.after);
                        let call = asked_once(process, number, request, after, clock);
                        let has_ended = process.killer().is_none();
                        let mut calls = calls.lock().expect("no thread panics while it holds this");
                        calls.push(call);
                        if has_ended || after.is_some() {
                            return;
                        }
                    }
                });
            }
        });
        calls.into_inner().expect("no thread panics while it holds this")
    }

    /// The first call of every process, then the second ones.
    fn in_turn(&mut self, asked: &[Vec<Request>]) -> Vec<Call> {
        let most = asked.iter().map(Vec::len).max().unwrap_or(0);
        let mut calls = Vec::new();
        for at in 0..most {
            for (number, process) in self.processes.iter_mut().enumerate() {
                if let Some(request) = asked[number].get(at) {
                    calls.push(asked_once(process, number, request, None, &self.clock));
                }
            }
        }
        calls
    }

    /// Nothing else runs: whether a checkpoint is taken after a kill, what is listed of each project, how the newest checkpoints compare with what
    /// is there, and whether one comes back.
    fn look(&mut self, plan: &Plan, seconds: i64, calls: &mut Vec<Call>) -> Result<(), LaneError> {
        let mut fresh = (self.open)(&self.sandbox, &self.settings, seconds);
        if let Some(fault) = fresh.fault() {
            return Err(LaneError::Adapter(fault.clone()));
        }
        if plan.kill.is_some() {
            // Whatever the dead process held, the next checkpoint is taken.
            for project in 0..PROJECTS.len() {
                let reason = format!("alone, at {}", self.clock.load(Ordering::SeqCst));
                let take = self.request(Planned::Take(project), reason);
                calls.extend(take.map(|take| self.alone(&mut fresh, &take)));
            }
        }
        for project in 0..PROJECTS.len() {
            let call = self.list(&mut fresh, project);
            calls.push(call);
            let compared = COMPARED * usize::from(self.lane.opened.capabilities.has("diff"));
            for back in 0..compared.min(self.listed[project].len()) {
                let diff = self.request(Planned::Diff(project, back), String::new());
                calls.extend(diff.map(|diff| self.alone(&mut fresh, &diff)));
            }
        }
        let (project, back) = plan.restored_after;
        if let Some(restore) = self.request(Planned::Restore(project, back), String::new()) {
            let mut call = self.alone(&mut fresh, &restore);
            call.after = Some(self.contents_of(&self.dir(project))?);
            calls.push(call);
            let call = self.list(&mut fresh, project);
            calls.push(call);
        }
        Ok(())
    }

    fn list(&mut self, process: &mut ProcessSubject, project: usize) -> Call {
        let call = self.alone(process, &Request::List { dir: self.dir(project) });
        if let Some(Answer::Listed(listed)) = &call.answer {
            self.listed[project] = listed.iter().map(|one| one.id.clone()).collect();
        }
        call
    }

    fn alone(&self, process: &mut ProcessSubject, request: &Request) -> Call {
        Call { process: None, ..asked_once(process, 0, request, None, &self.clock) }
    }

    fn dir(&self, project: usize) -> ByteString {
        let dir = self.sandbox.root().join(PROJECTS[project]);
        ByteString::from(dir.as_os_str().as_bytes())
    }

    fn has_store(&self) -> bool {
        self.sandbox.store().join("HEAD").exists()
    }

    /// Plain git packs the store and removes what is garbage by its own rules.
    fn collect_garbage(&self) -> io::Result<Child> {
        let mut git = store_edits::collect_garbage(&self.sandbox.store());
        git.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    /// Whether an entry of a project is no file of it, but a repository or a store.
    fn is_apart(&self, name: &OsStr) -> bool {
        let folder = self.lane.opened.capabilities.store_folder();
        name == ".git" || folder.is_some_and(|folder| name == folder)
    }

    /// Makes a project hold exactly this.
    fn put(&self, root: &Path, contents: &Contents) -> io::Result<()> {
        for entry in fs::read_dir(root)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                _ if self.is_apart(&entry.file_name()) => {}
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
        for (path, content) in contents {
            let path = root.join(OsStr::from_bytes(path));
            fs::create_dir_all(path.parent().unwrap_or(root))?;
            fs::write(path, &content.0)?;
        }
        Ok(())
    }

    /// What the files of a project hold.
    fn contents_of(&self, dir: &ByteString) -> io::Result<Contents> {
        let root = PathBuf::from(OsStr::from_bytes(dir));
        let (mut contents, mut folders) = (BTreeMap::new(), vec![root.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let (path, kind) = (entry.path(), entry.file_type()?);
                if kind.is_dir() && !self.is_apart(&entry.file_name()) {
                    folders.push(path);
                } else if kind.is_file() {
                    let inside = path.strip_prefix(&root).unwrap_or(&path).as_os_str();
                    contents.insert(inside.as_bytes().into(), fs::read(&path)?.into());
                }
            }
        }
        Ok(contents)
    }
}

/// Asks once, and notes when; a process is killed so long after it was asked, if at all.
fn asked_once(
    process: &mut ProcessSubject,
    number: usize,
    request: &Request,
    killed_after: Option<Duration>,
    clock: &AtomicU64,
) -> Call {
    if matches!(request, Request::EnsureCheckpoint { .. }) {
        process.ask(&Request::NewTurn);
    }
    let has_ended = AtomicBool::new(false);
    let killer = process.killer();
    let (begin, answer, end) = thread::scope(|scope| {
        let begin = clock.fetch_add(1, Ordering::SeqCst);
        if let (Some(killer), Some(after)) = (killer, killed_after) {
            let has_ended = &has_ended;
            scope.spawn(move || {
                thread::sleep(after);
                if !has_ended.load(Ordering::SeqCst) {
                    killer.kill();
                }
            });
        }
        let answer = process.ask(request);
        let end = clock.fetch_add(1, Ordering::SeqCst);
        has_ended.store(true, Ordering::SeqCst);
        (begin, answer, end)
    });
    let is_killed = killed_after.is_some() && matches!(answer, Answer::Crashed(_));
    // What an adapter says that does not keep the protocol is no answer.
    let answer = (!is_killed && process.fault().is_none()).then_some(answer);
    let end = answer.is_some().then_some(end);
    Call { process: Some(number), request: request.clone(), answer, begin, end, after: None }
}

fn is_without_answer(call: &Call) -> bool {
    matches!(call.answer, None | Some(Answer::Crashed(_)))
}
