//! The fault lane: at one call of one operation something happens to the subject's process, and then
//! everything is asked. What was reported before is there still, what is reported is so, and the next
//! operation works.
//!
//! [`Lane::points`] notes the calls of an operation that change something; at each of them [`Lane::run`]
//! lets one [`fault`] come, in a store of its own. The faults come from outside, by a command that
//! supervises any program (`herma-conform supervised`); what is asked afterwards is what the damage
//! lane asks. See `herma-conform faults --help`.

pub mod fault;
pub mod hold;
mod operation;
pub mod report;

use crate::damage::cost::Cost;
use crate::damage::ground::{Ground, changed_elsewhere, tree_in};
use crate::damage::inquiry::Inquiry;
use crate::damage::judge::{self, Broken, Rule, Seen, said};
use crate::damage::naive::Naive;
use crate::damage::past::{Checkpoint, Past};
use crate::damage::plan::{Packing, Plan};
use crate::damage::{DamageError, Failure, Opened};
use crate::sandbox::{Sandbox, Scratch};
use crate::subject::{AdapterCommand, Identity, Subject};
use fault::Fault;
use herma_model::answer::{Changed, CheckpointOutcome};
use herma_model::{Answer, Files, Request, Settings, rules};
use hold::Hold;
pub use operation::Operation;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io, thread};

/// As it is served to be the canary.
pub const NAIVE: &str = "naive";
/// The project that the operation is about.
const SUBJECT: usize = 0;
/// Another one.
const OTHER: usize = 1;
/// How many projects and checkpoints there are before it: few, since all are asked for each time.
const PROJECTS: usize = 2;
const CHECKPOINTS: usize = 2;

/// One call that changes something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// What the call does.
    pub call: String,
    /// To which file, below the sandbox.
    pub path: String,
}

/// A fault at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Chosen {
    /// Of this operation.
    pub operation: Operation,
    /// What happens.
    pub fault: Fault,
    /// At which of its calls, from 1.
    pub at: usize,
}

/// One fault, and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Which.
    #[serde(flatten)]
    pub chosen: Chosen,
    /// The call that it came at; none where the operation made fewer this time.
    pub point: Option<Point>,
    /// How many answers were judged.
    pub checked: usize,
    /// What was wrong.
    pub failures: Vec<Failure>,
}

/// A subject behind an adapter, and how faults are put before it.
pub struct Lane<'a> {
    /// Who is asked, and how it is opened without a fault.
    pub opened: &'a Opened<'a>,
    /// How its adapter is started.
    pub start: &'a AdapterCommand,
    /// The command that supervises another, without its arguments.
    pub supervised: &'a [OsString],
    /// Of the past.
    pub seed: u64,
}

/// What an operation did.
struct Acted {
    answer: Answer,
    /// Of which project another process was asked for a checkpoint while it was held, and what that
    /// answered; or of none, for another operation.
    meanwhile: Option<(Option<usize>, Answer)>,
    before: Files,
    after: Files,
    points: Vec<Point>,
}

impl Lane<'_> {
    /// The calls of an operation that change something, where no fault comes.
    ///
    /// # Errors
    /// The subject cannot be asked, or cannot be supervised.
    pub fn points(
        &self,
        operation: Operation,
        scratch: &Scratch,
    ) -> Result<Vec<Point>, DamageError> {
        let (mut ground, past) = self.ground(scratch)?;
        Ok(self.act(&mut ground, &past, operation, None, scratch)?.points)
    }

    /// Which questions are answered wrongly where no fault comes.
    ///
    /// # Errors
    /// As [`Lane::points`].
    pub fn anyway(
        &self,
        operation: Operation,
        scratch: &Scratch,
    ) -> Result<BTreeSet<String>, DamageError> {
        let outcome = self.run_with(operation, None, scratch)?;
        Ok(outcome.1.into_iter().map(|failure| failure.asked).collect())
    }

    /// Lets one fault come, and asks everything.
    ///
    /// # Errors
    /// As [`Lane::points`].
    pub fn run(
        &self,
        chosen: Chosen,
        anyway: &BTreeSet<String>,
        scratch: &Scratch,
    ) -> Result<Outcome, DamageError> {
        let fault = Some((chosen.at, chosen.fault));
        let (mut points, mut failures, checked) =
            self.run_with(chosen.operation, fault, scratch)?;
        failures.retain(|failure| !anyway.contains(&failure.asked));
        let point = (chosen.at <= points.len()).then(|| points.swap_remove(chosen.at - 1));
        Ok(Outcome { chosen, point, checked, failures })
    }

    fn run_with(
        &self,
        operation: Operation,
        fault: Option<(usize, Fault)>,
        scratch: &Scratch,
    ) -> Result<(Vec<Point>, Vec<Failure>, usize), DamageError> {
        let (mut ground, mut past) = self.ground(scratch)?;
        let acted = self.act(&mut ground, &past, operation, fault, scratch)?;
        let is_killed = fault.is_some_and(|(_, fault)| fault == Fault::Kill);
        let book = fault.map_or(&rules::CRASH_KILL, |(_, fault)| fault.rule());
        let mut failures: Vec<Failure> = judged(operation, &past, &acted, is_killed)
            .into_iter()
            .map(|Broken { rule, due, found }| Failure {
                rule,
                book: rule.in_the_book(book).id,
                asked: operation.words().to_owned(),
                due,
                found,
            })
            .collect();
        let of_other =
            acted.meanwhile.iter().filter_map(|(project, answer)| Some(((*project)?, answer)));
        for (project, answer) in of_other.chain([(SUBJECT, &acted.answer)]) {
            if let Answer::Taken { outcome: CheckpointOutcome::Created { id }, skipped } = answer
                && skipped.is_empty()
            {
                let tree = Operation::Take.before(&past, project);
                let taken = Checkpoint { id: id.clone(), tree };
                past.projects[project].checkpoints.push(taken);
            }
        }
        for project in [SUBJECT, OTHER] {
            ground.put(&past, project, past.now(project))?;
        }
        ground.keep()?;
        let mut inquiry = Inquiry::new(&mut ground, &past, None, Cost::of_a_fault(book));
        inquiry.ask_all()?;
        failures.append(&mut inquiry.failures);
        Ok((acted.points, failures, inquiry.checked + 1))
    }

    fn ground(&self, scratch: &Scratch) -> Result<(Ground<'_>, Past), DamageError> {
        let mut plan = Plan::draw(self.seed, 0, PROJECTS);
        plan.trees.iter_mut().for_each(|trees| trees.truncate(CHECKPOINTS));
        Ground::new(&Plan { packing: Packing::Never, few: false, ..plan }, self.opened, scratch)
    }

    /// Has a supervised subject do the operation.
    fn act(
        &self,
        ground: &mut Ground<'_>,
        past: &Past,
        operation: Operation,
        fault: Option<(usize, Fault)>,
        scratch: &Scratch,
    ) -> Result<Acted, DamageError> {
        let folder = scratch.temporary()?;
        let noted = folder.path().join("points");
        let meanwhile = fault.and_then(|(_, fault)| fault.meanwhile());
        // A checkpoint beside a restore of the same project may hold anything of both.
        let other = if operation == Operation::Restore { OTHER } else { SUBJECT };
        if meanwhile == Some(Operation::Take) {
            ground.put(past, other, &Operation::Take.before(past, other))?;
        }
        if meanwhile != Some(Operation::Take) || operation != Operation::Prune {
            ground.put(past, SUBJECT, &operation.before(past, SUBJECT))?;
        }
        let before = ground.look()?;
        let mut subject = ground.open_by(&|sandbox, settings, seconds| {
            let below = [sandbox.base(), sandbox.root().join("work")];
            let mut start = self.start.clone();
            start.command.splice(0..0, self.command(&below, &noted, fault));
            start.opener()(sandbox, settings, seconds)
        });
        ground.turn(subject.as_mut());
        let hold = Hold::beside(&noted);
        let (shared, is_over) = (&*ground, AtomicBool::new(false));
        let (answer, meanwhile) = thread::scope(|scope| {
            let other = meanwhile.map(|asked| {
                let is_over = || is_over.load(Ordering::SeqCst);
                let hold = &hold;
                scope.spawn(move || {
                    while_held(hold, &is_over, || {
                        let of = (asked == Operation::Take).then_some(other);
                        let request = renamed(asked.request(shared, past, other));
                        (of, shared.open().ask(&request))
                    })
                })
            });
            let answer = subject.ask(&operation.request(shared, past, SUBJECT));
            is_over.store(true, Ordering::SeqCst);
            let died = || Err(io::Error::other("who asked the other process died"));
            (answer, other.map(|other| other.join().unwrap_or_else(|_| died())))
        });
        let meanwhile = meanwhile.transpose()?.flatten();
        let adapter = subject.fault().cloned();
        drop(subject);
        let is_killed = fault.is_some_and(|(_, fault)| fault == Fault::Kill);
        if let Some(adapter) = adapter.filter(|_| !is_killed) {
            return Err(DamageError::Adapter(adapter));
        }
        let points = points(&fs::read(&noted)?, ground.sandbox());
        Ok(Acted { answer, meanwhile, before, after: ground.look()?, points })
    }

    fn command(
        &self,
        below: &[PathBuf],
        points: &Path,
        fault: Option<(usize, Fault)>,
    ) -> Vec<OsString> {
        let mut command = self.supervised.to_vec();
        for folder in below {
            command.extend(["--below".into(), folder.into()]);
        }
        command.extend(["--points".into(), points.into()]);
        if let Some((at, fault)) = fault {
            let at = at.to_string();
            command.extend(["--at".into(), at.into(), "--fault".into(), fault.name().into()]);
        }
        command.push("--".into());
        command
    }
}

/// The same for another reason, so that two checkpoints of the same are not one.
fn renamed(request: Request) -> Request {
    let reason = "meanwhile".to_owned();
    match request {
        Request::Checkpoint { dir, .. } => Request::Checkpoint { dir, reason },
        Request::EnsureCheckpoint { dir, .. } => Request::EnsureCheckpoint { dir, reason },
        request => request,
    }
}

/// Does something while the supervised process is held; nothing where it comes to an end without.
fn while_held<T>(
    hold: &Hold,
    is_over: &dyn Fn() -> bool,
    work: impl FnOnce() -> T,
) -> io::Result<Option<T>> {
    let done = hold.wait(is_over).then(work);
    hold.release()?;
    Ok(done)
}

/// Plain git with nothing around it, opened in a sandbox.
pub fn opened_naive(sandbox: &Sandbox, settings: &Settings, seconds: i64) -> Box<dyn Subject> {
    Naive::boxed(sandbox, settings, seconds)
}

/// Whether plain git with nothing around it, killed or held at a call of a take, fails in this lane.
///
/// # Errors
/// It cannot be asked, or cannot be supervised.
pub fn naive(
    program: &OsString,
    supervised: &[OsString],
    scratch: &Scratch,
) -> Result<bool, DamageError> {
    let start = AdapterCommand::of_a_bug(program, NAIVE)?;
    let (subject, capabilities) = (Identity::new(NAIVE, ""), Naive::able_to());
    let opened = Opened { open: &start.opener(), subject, capabilities };
    let lane = Lane { opened: &opened, start: &start, supervised, seed: 0 };
    let points = lane.points(Operation::Take, scratch)?;
    let is_lock = |point: &Point| point.path.contains("refs/") && point.path.ends_with(".lock");
    let anyway = lane.anyway(Operation::Take, scratch)?;
    let fails = |fault, at: Option<usize>| -> Result<bool, DamageError> {
        let Some(at) = at else { return Ok(false) };
        let chosen = Chosen { operation: Operation::Take, fault, at: at + 1 };
        Ok(!lane.run(chosen, &anyway, scratch)?.failures.is_empty())
    };
    // Where the ref is written: it stays locked. Before it is locked: it is moved from what it was
    // before another process moved it.
    Ok(fails(Fault::Kill, points.iter().rposition(is_lock))?
        && fails(Fault::HoldTake, points.iter().position(is_lock))?)
}

fn points(noted: &[u8], root: &Path) -> Vec<Point> {
    let text = String::from_utf8_lossy(noted);
    let root = format!("{}/", root.display());
    let point = |(call, path): (&str, &str)| Point {
        call: call.to_owned(),
        path: path.strip_prefix(&root).unwrap_or(path).to_owned(),
    };
    text.lines().filter_map(|line| line.split_once('\t')).map(point).collect()
}

fn crashed(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Crashed(text) => Some(text),
        _ => None,
    }
}

/// What is wrong with the answer of the operation itself, or with what it did to the files.
fn judged(operation: Operation, past: &Past, acted: &Acted, is_killed: bool) -> Vec<Broken> {
    let Acted { answer, meanwhile, before, after, .. } = acted;
    let name = past.projects[SUBJECT].name;
    let mut broken = Vec::new();
    let elsewhere = match operation {
        Operation::Restore => changed_elsewhere(before, after, name),
        _ => (before != after).then(|| name.into()),
    };
    if let Some(path) = elsewhere {
        let due = "nothing else is changed".to_owned();
        broken.push(Broken {
            rule: Rule::ReachesElsewhere,
            due,
            found: format!("{path:?} is another"),
        });
    }
    let answers = meanwhile.iter().map(|(_, answer)| answer).chain([answer]);
    for text in answers.filter_map(crashed).filter(|_| !is_killed) {
        let rule = if text.starts_with("silent:") { Rule::Hangs } else { Rule::Crashes };
        broken.push(Broken { rule, due: "an answer".into(), found: text.to_owned() });
    }
    match answer {
        Answer::Crashed(_) => {}
        Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. } => {}
        // Who came first may have taken it, whatever it answered.
        Answer::Taken { .. } if meanwhile.iter().any(|(of, _)| *of == Some(SUBJECT)) => {}
        Answer::Taken { .. } => {
            let due = "a checkpoint of what was edited, or a refusal".to_owned();
            broken.push(Broken { rule: Rule::FalseSuccess, due, found: said(answer) });
        }
        // What it says of a half-done restore is its own answer.
        Answer::Refused { changed: Changed::Partial | Changed::Unknown, .. } => {}
        _ if operation == Operation::Restore => {
            let (before, after) = (tree_in(before, name), tree_in(after, name));
            let due = &past.projects[SUBJECT].checkpoints[0].tree;
            let seen = Seen { due, exact: false, before: &before, after: &after };
            broken.extend(judge::restored(None, &seen, answer));
        }
        _ => {}
    }
    broken
}
