//! The cost lane: what a subject's processes take where one file is large, and where nothing changed.
//!
//! Each figure is taken twice, of a little and of a lot, and what counts is by how much it grew: what
//! an implementation takes anyway, and what it takes of bytes that it copies in steps, is its own
//! affair. Seconds are never judged. A [`meter`] takes the figures; [`report`] says them.

pub mod greedy;
pub mod meter;
pub mod report;

use crate::concurrent::{LaneError, Opened};
use crate::history::History;
use crate::runner::FIRST_SECOND;
use crate::sandbox::{Sandbox, Scratch};
use crate::subject::{AdapterCommand, ProcessSubject, Subject};
use herma_model::answer::CheckpointOutcome;
use herma_model::rules::{self, RuleRef};
use herma_model::{Answer, ByteString, Request, Settings};
use meter::Meter;
use report::{Figure, MANY_TIMES, NotJudged, Outcome};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Bytes of the large file when it is not large.
const LITTLE: u64 = 64 * 1024;
/// How many files of [`SMALL_FILE`] bytes nothing changes in.
const FILES: u64 = 500;
const SMALL_FILE: u64 = 64 * 1024;
/// So long after a change a subject may trust the times of files: longer than a second, which is the
/// tick of some tools.
const SETTLE: Duration = Duration::from_millis(1_100);
/// Seconds between two requests.
const STEP: i64 = 60;
/// The file that is large.
const LARGE: &str = "large";

/// The lane of one subject.
pub struct Lane<'a> {
    /// The subject.
    pub opened: &'a Opened<'a>,
    /// How it is started.
    pub start: &'a AdapterCommand,
    /// Bytes of the large file.
    pub bytes: u64,
}

impl Lane<'_> {
    /// Takes all figures; `progress` hears what comes next.
    ///
    /// # Errors
    /// The sandbox cannot be used, the adapter broke the protocol, or the subject does not do what is
    /// to be measured.
    pub fn run(&self, scratch: &Scratch, progress: &dyn Fn(&str)) -> Result<Outcome, LaneError> {
        let mut outcome = Outcome::new(self.opened.subject.clone());
        progress("a small file");
        let little = self.memory(LITTLE, scratch)?;
        progress("a large file");
        let large = self.memory(self.bytes, scratch)?;
        for ((operation, little), (_, large)) in little.into_iter().zip(large) {
            let (rule, grown_max) = (rules::COST_MEMORY.id, self.bytes / 2);
            let larger = None;
            outcome.figures.push(Figure { rule, operation, little, large, grown_max, larger });
        }
        if outcome.figures.iter().any(Figure::grew) {
            progress("a far larger file");
            let larger = self.memory(self.bytes * MANY_TIMES, scratch)?;
            for (figure, (_, larger)) in outcome.figures.iter_mut().zip(larger) {
                figure.larger = Some(larger);
            }
        }
        progress("nothing changed");
        match (self.reading(1, scratch)?, self.reading(SMALL_FILE, scratch)?) {
            (Ok(little), Ok(large)) => outcome.figures.push(Figure {
                rule: rules::COST_UNCHANGED.id,
                operation: "checkpoint, nothing changed",
                little,
                large,
                grown_max: FILES * SMALL_FILE / 2,
                larger: None,
            }),
            (Err(why), _) | (_, Err(why)) => {
                let rule: RuleRef = &rules::COST_UNCHANGED;
                outcome.not_judged.push(NotJudged { rule: rule.id, why });
            }
        }
        Ok(outcome)
    }

    /// The most memory that each operation takes where a file has so many bytes.
    fn memory(&self, bytes: u64, scratch: &Scratch) -> Result<Vec<(&'static str, u64)>, LaneError> {
        let mut ground = Ground::new(self, scratch)?;
        let mut figures = Vec::new();
        ground.write(LARGE, bytes, 1)?;
        ground.write("small", 10, 1)?;
        let mut measured = |ground: &mut Ground, name, request: &Request| {
            let (answer, memory) = ground.measured(request)?;
            figures.push((name, memory));
            Ok::<_, LaneError>(answer)
        };
        let (dir, take) = (ground.dir.clone(), ground.take());
        let list = Request::List { dir: dir.clone() };
        created(&measured(&mut ground, "the first checkpoint", &take)?)?;
        ground.write(LARGE, bytes, 2)?;
        created(&measured(&mut ground, "a checkpoint", &take)?)?;
        let id = match measured(&mut ground, "list", &list)? {
            Answer::Listed(listed) if listed.len() == 2 => listed[1].id.clone(),
            answer => return Err(not_done("a list of two checkpoints", &answer)),
        };
        let target = ByteString::from(id.as_str());
        if self.opened.capabilities.has("diff") {
            let diff = Request::Diff { dir: dir.clone(), target: target.clone() };
            measured(&mut ground, "diff", &diff)?;
        }
        let restore = Request::Restore { dir: dir.clone(), target, exact: false, force: false };
        let answer = measured(&mut ground, "restore", &restore)?;
        if !ground.holds(LARGE, bytes, 1)? {
            // One that leaves large files out takes no memory for them, and says nothing here.
            return Err(not_done("the large file is to come back", &answer));
        }
        Ok(figures)
    }

    /// How many bytes are read for a checkpoint of files of so many bytes, none of which changed.
    fn reading(&self, bytes: u64, scratch: &Scratch) -> Result<Result<u64, String>, LaneError> {
        let mut ground = Ground::new(self, scratch)?;
        let take = ground.take();
        for number in 0..FILES {
            ground.write(&number.to_string(), bytes, number)?;
        }
        thread::sleep(SETTLE);
        for number in 0..2 {
            ground.write("changed", 10, number)?;
            created(&ground.ask(&take)?)?;
        }
        ground.read_by(&take)
    }
}

/// A sandbox with one project, and the process that is asked.
struct Ground {
    sandbox: Sandbox,
    project: PathBuf,
    dir: ByteString,
    subject: ProcessSubject,
    seconds: i64,
}

impl Ground {
    fn new(lane: &Lane<'_>, scratch: &Scratch) -> Result<Self, LaneError> {
        let history = History { plain_home: true, ..History::default() };
        let sandbox = Sandbox::new(scratch, &history)?;
        let project = sandbox.root().join("work/alpha");
        fs::create_dir_all(&project)?;
        let settings = Settings { max_file_bytes: 0, max_total_bytes: 0, ..Settings::default() };
        let settings = lane.opened.capabilities.restrict_settings(&settings);
        let subject = lane.start.process_opener()(&sandbox, &settings, FIRST_SECOND);
        let dir = ByteString::from(project.as_os_str().as_bytes());
        Ok(Ground { sandbox, project, dir, subject, seconds: FIRST_SECOND })
    }

    fn write(&self, name: &str, bytes: u64, seed: u64) -> io::Result<()> {
        debug_assert!(self.project.starts_with(self.sandbox.root()));
        let mut file = File::create(self.project.join(name))?;
        noise(bytes, seed, |step| file.write_all(step))
    }

    fn holds(&self, name: &str, bytes: u64, seed: u64) -> io::Result<bool> {
        same(&self.project.join(name), bytes, seed)
    }

    fn take(&self) -> Request {
        let (dir, reason) = (self.dir.clone(), "cost".to_owned());
        match self.subject.capabilities().has("checkpoint") {
            true => Request::Checkpoint { dir, reason },
            false => Request::EnsureCheckpoint { dir, reason },
        }
    }

    /// Asks in a turn of its own.
    fn ask(&mut self, request: &Request) -> Result<Answer, LaneError> {
        self.seconds += STEP;
        let capabilities = self.subject.capabilities();
        if capabilities.has("test.clock") {
            self.subject.ask(&Request::SetClock { seconds: self.seconds });
        }
        if capabilities.has("ensure_checkpoint") {
            self.subject.ask(&Request::NewTurn);
        }
        let answer = self.subject.ask(request);
        match self.subject.fault() {
            Some(fault) => Err(LaneError::Adapter(fault.clone())),
            None => Ok(answer),
        }
    }

    /// Asks a process that was asked nothing before: what one has taken it may keep.
    fn measured(&mut self, request: &Request) -> Result<(Answer, u64), LaneError> {
        self.ask(&Request::Reopen)?;
        let meter = self.meter()?;
        let (answer, memory) = meter.memory(|| self.ask(request));
        Ok((answer?, memory))
    }

    /// How many bytes are read for a request, if the system tells.
    fn read_by(&mut self, request: &Request) -> Result<Result<u64, String>, LaneError> {
        self.ask(&Request::Reopen)?;
        let meter = self.meter()?;
        let Ok(before) = meter.bytes_read() else {
            return Ok(Err("the system does not tell what a process reads".into()));
        };
        match self.ask(request)? {
            Answer::Taken { outcome: CheckpointOutcome::Unchanged, .. } => {}
            Answer::Taken { .. } => {
                return Ok(Err("it takes a checkpoint although nothing changed".into()));
            }
            answer => return Err(not_done("a checkpoint", &answer)),
        }
        Ok(Ok(meter.bytes_read()?.saturating_sub(before)))
    }

    fn meter(&self) -> Result<Meter, LaneError> {
        let gone = || LaneError::Setup("the process ended".into());
        Ok(Meter::of(self.subject.leader().ok_or_else(gone)?))
    }
}

fn created(answer: &Answer) -> Result<(), LaneError> {
    match answer {
        Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. } => Ok(()),
        answer => Err(not_done("a checkpoint", answer)),
    }
}

fn not_done(due: &str, answer: &Answer) -> LaneError {
    LaneError::Setup(format!("{due}, and the answer was {answer:?}"))
}

/// So many bytes that hardly compress, in steps.
fn noise(bytes: u64, seed: u64, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let (mut left, mut step) = (bytes, Vec::with_capacity(64 * 1024));
    while left > 0 {
        step.clear();
        while step.len() < 64 * 1024 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            step.extend_from_slice(&state.to_le_bytes());
        }
        step.truncate(left.min(64 * 1024) as usize);
        each(&step)?;
        left -= step.len() as u64;
    }
    Ok(())
}

/// Whether a file holds that noise.
fn same(path: &Path, bytes: u64, seed: u64) -> io::Result<bool> {
    let Ok(found) = fs::read(path) else { return Ok(false) };
    let (mut at, mut is_same) = (0, found.len() as u64 == bytes);
    noise(bytes, seed, |step| {
        is_same = is_same && found.get(at..at + step.len()) == Some(step);
        at += step.len();
        Ok(())
    })?;
    Ok(is_same)
}

/// Whether the lane notices a store that reads whole files into memory, whether they changed or not.
///
/// # Errors
/// As [`Lane::run`].
pub fn canary(program: &std::ffi::OsString, scratch: &Scratch) -> Result<bool, LaneError> {
    let start = AdapterCommand::of_a_bug(program, greedy::GREEDY)?;
    let opened = Opened {
        open: &start.opener(),
        subject: crate::subject::Identity::new(greedy::GREEDY, ""),
        capabilities: crate::protocol::capabilities::Capabilities::complete(),
    };
    let lane = Lane { opened: &opened, start: &start, bytes: CANARY_BYTES };
    let outcome = lane.run(scratch, &|_| {})?;
    let is_found = |rule: RuleRef| outcome.broken().any(|figure| figure.rule == rule.id);
    Ok(is_found(&rules::COST_MEMORY) && is_found(&rules::COST_UNCHANGED))
}

/// Enough to tell memory that grows from memory that does not.
const CANARY_BYTES: u64 = 32 * 1024 * 1024;
