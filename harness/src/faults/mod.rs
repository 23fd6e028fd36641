//! The fault lane: at one call of one operation something happens to the subject's process, and then
//! everything is asked. What was reported before is there still, what is reported is so, and the next
//! operation works.
//!
//! [`Lane::points`] notes the calls of the last operation of a [`Story`] that change something, or that
//! read; at each of them [`Lane::run`] lets one [`fault`] come, in a store of its own. The faults come
//! from outside, by a command that supervises any program (`herma-conform supervised`); what the
//! operation answers is [`verdict`]'s, what is asked afterwards is what the damage lane asks. See
//! `herma-conform faults --help`.

pub mod actor;
mod beside;
mod canary;
pub mod fault;

mod operation;
pub mod report;
mod story;
mod unchanged;
mod verdict;

use crate::damage::cost::Cost;
use crate::damage::ground::Ground;
use crate::damage::inquiry::Inquiry;
use crate::damage::judge::Broken;
use crate::damage::past::{Checkpoint, Past};
use crate::damage::plan::{Packing, Plan};
use crate::damage::{DamageError, Failure, Opened};
use crate::inject::hold::{Hold, power_went};
use crate::sandbox::Scratch;
use crate::subject::AdapterCommand;
use actor::Actor;
pub use canary::{Canary, NAIVE, naive, opened_naive};
use fault::{Calls, Fault};
use herma_model::answer::CheckpointOutcome;
use herma_model::tree::{Difference, differences};
use herma_model::{Answer, ByteString, Files, Request, Tree, rules};
pub use operation::Operation;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io, thread};
pub use story::Story;
use unchanged::{Known, everything};

/// The project that the operation is about.
const SUBJECT: usize = 0;
/// Another one.
const OTHER: usize = 1;
/// How many projects there are before it: few, since all are asked for each time.
const PROJECTS: usize = 2;

/// One call that changes something, or that reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// What the call does.
    pub call: String,
    /// To which file, below the sandbox.
    pub path: String,
}

/// A fault at a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Chosen {
    /// Of the last operation of this story.
    pub story: Story,
    /// What happens.
    pub fault: Fault,
    /// At which of its calls, from 1, or [`fault::END`]: the moment after it was answered.
    pub at: usize,
}

/// One fault, and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Which.
    #[serde(flatten)]
    pub chosen: Chosen,
    /// The call that it came at; none where it came at the end, or where the operation made fewer.
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
    /// Paths of a project that do not come back although nothing happens: no project has them.
    pub uncaptured: BTreeSet<ByteString>,
    /// What was found where an operation changed nothing.
    known: Known,
}

/// What an operation did.
struct Acted {
    answer: Answer,
    /// Of which project another process was asked for a checkpoint while it was held, and what that
    /// answered; or of none, for another operation, and for who works in the project and answers
    /// nothing.
    meanwhile: Option<(Option<usize>, Answer)>,
    before: Files,
    after: Files,
    /// Whether everything in the sandbox is as it was.
    is_unchanged: bool,
    points: Vec<Point>,
}

impl<'a> Lane<'a> {
    /// A lane in which every path is captured, as far as is known.
    pub fn new(
        opened: &'a Opened<'a>,
        start: &'a AdapterCommand,
        supervised: &'a [OsString],
        seed: u64,
    ) -> Self {
        let (uncaptured, known) = (BTreeSet::new(), Known::default());
        Lane { opened, start, supervised, seed, uncaptured, known }
    }
}

impl Lane<'_> {
    /// The same without what the subject does not capture at all: what is wrong with that is known
    /// without any fault, and would hide, or be taken for, what a fault does.
    ///
    /// # Errors
    /// As [`Lane::points`].
    pub fn of_what_is_captured(self, scratch: &Scratch) -> Result<Self, DamageError> {
        let (mut ground, past) = self.ground(&Story::after_two_checkpoints(), scratch)?;
        let mut uncaptured = self.uncaptured.clone();
        for Checkpoint { id, tree } in &past.projects[SUBJECT].checkpoints {
            if let Some(held) = beside::held(&mut ground, &past, id)? {
                let lost = |(_, how): &(_, Difference<'_>)| !matches!(how, Difference::Added(_));
                let lost = differences(tree, &held).into_iter().filter(lost);
                uncaptured.extend(lost.map(|(path, _)| path.clone()));
            }
        }
        Ok(Lane { uncaptured, ..self })
    }

    /// The calls of the last operation of a story that a fault can come at, where it does not.
    ///
    /// # Errors
    /// The subject cannot be asked, or cannot be supervised.
    pub fn points(
        &self,
        story: &Story,
        fault: Fault,
        scratch: &Scratch,
    ) -> Result<Vec<Point>, DamageError> {
        let (mut ground, past) = self.ground(story, scratch)?;
        let supervised = Supervised { fault: Some(fault), at: None };
        Ok(self.act(&mut ground, &past, story.last(), &supervised, scratch)?.points)
    }

    /// Which questions are answered wrongly where no fault comes.
    ///
    /// # Errors
    /// As [`Lane::points`].
    pub fn anyway(
        &self,
        story: &Story,
        scratch: &Scratch,
    ) -> Result<BTreeSet<String>, DamageError> {
        let outcome = self.run_with(story, &Supervised { fault: None, at: None }, scratch)?;
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
        let supervised = Supervised { fault: Some(chosen.fault), at: Some(chosen.at) };
        let (mut points, mut failures, checked) =
            self.run_with(&chosen.story, &supervised, scratch)?;
        failures.retain(|failure| !anyway.contains(&failure.asked));
        let point = (chosen.at <= points.len()).then(|| points.swap_remove(chosen.at - 1));
        Ok(Outcome { chosen, point, checked, failures })
    }

    fn run_with(
        &self,
        story: &Story,
        supervised: &Supervised,
        scratch: &Scratch,
    ) -> Result<(Vec<Point>, Vec<Failure>, usize), DamageError> {
        let (mut ground, mut past) = self.ground(story, scratch)?;
        let operation = story.last();
        let acted = self.act(&mut ground, &past, operation, supervised, scratch)?;
        let fault = supervised.fault;
        let book = fault.map_or(&rules::CRASH_KILL, Fault::rule);
        let failure = |Broken { rule, due, found }| {
            let (book, asked) = (rule.in_the_book(book).id, operation.words().to_owned());
            Failure { rule, book, asked, due, found }
        };
        let judged = verdict::judged(operation, &past, &acted, fault);
        let mut failures: Vec<Failure> = judged.into_iter().map(failure).collect();
        let is_changed = if let Some(actor) = fault.and_then(Fault::actor) {
            ground.keep()?;
            let found = beside::judged(actor, operation, (&mut ground, &mut past), &acted)?;
            failures.extend(found.into_iter().map(failure));
            true
        } else {
            learn(&mut past, &acted) > 0 || !acted.is_unchanged
        };
        if let Some(known) = self.known.get(story, fault).filter(|_| !is_changed) {
            failures.extend(known);
            return Ok((acted.points, failures, 1));
        }
        if self.opened.capabilities.keeps_agent() {
            // It starts again before anybody works on, and undoes what died.
            drop(ground.open());
        }
        for project in [SUBJECT, OTHER] {
            ground.put(&past, project, past.now(project))?;
        }
        ground.keep()?;
        let mut inquiry = Inquiry::new(&mut ground, &past, None, Cost::of_a_fault(book));
        inquiry.ask_all()?;
        if !is_changed {
            self.known.keep(story, fault, &inquiry.failures);
        }
        failures.append(&mut inquiry.failures);
        Ok((acted.points, failures, inquiry.checked + 1))
    }

    /// What is there before the last operation of a story.
    fn ground(&self, story: &Story, scratch: &Scratch) -> Result<(Ground<'_>, Past), DamageError> {
        let mut plan = Plan::draw(self.seed, 0, PROJECTS);
        plan.trees.iter_mut().for_each(|trees| trees.truncate(story.takes()));
        for tree in plan.starts.iter_mut().chain(plan.trees.iter_mut().flatten()) {
            tree.retain(|path, _| !self.uncaptured.contains(path));
        }
        let plan = Plan { packing: Packing::Never, few: false, ..plan };
        let (mut ground, mut past) = Ground::new(&plan, self.opened, scratch)?;
        let mut subject = ground.open();
        for operation in story.middle() {
            let before: Tree = operation.before(&past, SUBJECT);
            ground.put(&past, SUBJECT, &before)?;
            ground.turn(subject.as_mut());
            let answer = subject.ask(&operation.request(&ground, &past, SUBJECT));
            match (operation, taken_whole(&answer), answer) {
                (Operation::Take, Some(id), _) => {
                    past.projects[SUBJECT].checkpoints.push(Checkpoint { id, tree: before });
                }
                (Operation::Restore, _, Answer::Restored(_)) => {}
                (Operation::Prune, _, Answer::Swept { .. }) => {}
                (operation, _, answer) => {
                    let said = crate::damage::judge::said(&answer);
                    let why = format!("{}, and the answer was: {said}", operation.words());
                    return Err(DamageError::NoPast(why));
                }
            }
        }
        drop(subject);
        Ok((ground, past))
    }

    /// Has a supervised subject do the operation.
    fn act(
        &self,
        ground: &mut Ground<'_>,
        past: &Past,
        operation: Operation,
        supervised: &Supervised,
        scratch: &Scratch,
    ) -> Result<Acted, DamageError> {
        let folder = scratch.temporary()?;
        let noted = folder.path().join("points");
        let Supervised { fault, at } = *supervised;
        let (meanwhile, actor) = (fault.and_then(Fault::meanwhile), fault.and_then(Fault::actor));
        // A checkpoint beside a restore of the same project may hold anything of both.
        let other = if operation.restores() { OTHER } else { SUBJECT };
        let held = operation.before(past, SUBJECT);
        let held = actor.map_or(held.clone(), |actor| actor.before(operation, held));
        ground.put(past, SUBJECT, &held)?;
        actor.map_or(Ok(()), |actor| actor.prepare(ground.sandbox()))?;
        if meanwhile == Some(Operation::Take) {
            ground.put(past, other, &Operation::Take.before(past, other))?;
        }
        let (before, all_before) = (ground.look()?, everything(ground.sandbox())?);
        ground.later();
        let hold = Hold::beside(&noted);
        let (shared, is_over) = (&*ground, AtomicBool::new(false));
        let (answer, adapter, meanwhile) = thread::scope(|scope| {
            let work = meanwhile.map(Beside::Process).or(actor.map(Beside::Actor));
            let other = work.filter(|_| at.is_some()).map(|work| {
                let is_over = || is_over.load(Ordering::SeqCst);
                let hold = &hold;
                let work = move || work.happens((shared, past), operation, other);
                scope.spawn(move || while_held(hold, &is_over, work))
            });
            // It may be held while it starts.
            let mut subject = shared.open_by(&|sandbox, settings, seconds| {
                let below = [sandbox.base(), sandbox.root().join("work")];
                let mut start = self.start.clone();
                start.command.splice(0..0, supervised.command(self.supervised, &below, &noted));
                start.opener()(sandbox, settings, seconds)
            });
            shared.tell_turn(subject.as_mut());
            let answer = subject.ask(&operation.request(shared, past, SUBJECT));
            is_over.store(true, Ordering::SeqCst);
            let died = || Err(io::Error::other("who asked the other process died"));
            let other = other.map(|other| other.join().unwrap_or_else(|_| died()));
            (answer, subject.fault().cloned(), other)
        });
        let meanwhile = meanwhile.transpose()?.flatten();
        let ends_it = at.is_some() && fault.is_some_and(Fault::ends_it);
        if let Some(adapter) = adapter.filter(|_| !ends_it) {
            return Err(DamageError::Adapter(adapter));
        }
        if at.is_some() && matches!(fault, Some(Fault::Power(_))) && !power_went(&noted).exists() {
            return Err(DamageError::NoPast("the power did not go".into()));
        }
        let points = points(&fs::read(&noted)?, ground.sandbox());
        let is_unchanged = everything(ground.sandbox())? == all_before;
        Ok(Acted { answer, meanwhile, before, after: ground.look()?, is_unchanged, points })
    }
}

/// What happens while a call is held.
#[derive(Clone, Copy)]
enum Beside {
    Process(Operation),
    Actor(Actor),
}

impl Beside {
    /// Does it; another process is asked about `project`.
    fn happens(
        self,
        (ground, past): (&Ground<'_>, &Past),
        operation: Operation,
        project: usize,
    ) -> io::Result<(Option<usize>, Answer)> {
        match self {
            Beside::Process(asked) => {
                let of = (asked == Operation::Take).then_some(project);
                let request = renamed(asked.request(ground, past, project));
                Ok((of, ground.open().ask(&request)))
            }
            Beside::Actor(actor) => {
                actor.act(operation, ground.sandbox(), &ground.root(past, SUBJECT))?;
                Ok((None, Answer::Done))
            }
        }
    }
}

/// Adds the checkpoints to the past that were reported, and from which nothing was left out; returns
/// how many those are.
fn learn(past: &mut Past, acted: &Acted) -> usize {
    let of_other = acted.meanwhile.iter();
    let of_other = of_other.filter_map(|(project, answer)| Some(((*project)?, answer)));
    let reported = of_other.chain([(SUBJECT, &acted.answer)]);
    let taken: Vec<(usize, Checkpoint)> = reported
        .filter_map(|(project, answer)| {
            let id = taken_whole(answer)?;
            Some((project, Checkpoint { id, tree: Operation::Take.before(past, project) }))
        })
        .collect();
    let count = taken.len();
    for (project, checkpoint) in taken {
        past.projects[project].checkpoints.push(checkpoint);
    }
    count
}

/// What comes at which call of a process. Without a number nothing comes, and what the fault could come
/// at is noted.
#[derive(Clone, Copy)]
struct Supervised {
    fault: Option<Fault>,
    at: Option<usize>,
}

impl Supervised {
    fn command(&self, supervised: &[OsString], below: &[PathBuf], points: &Path) -> Vec<OsString> {
        let mut command = supervised.to_vec();
        for folder in below {
            command.extend(["--below".into(), folder.into()]);
        }
        command.extend(["--points".into(), points.into()]);
        let calls = self.fault.map_or(Calls::Changing, |fault| fault.comes_at().calls());
        command.extend(["--calls".into(), calls.name().into()]);
        if let (Some(fault), Some(at)) = (self.fault, self.at) {
            let at = at.to_string();
            command.extend(["--at".into(), at.into(), "--fault".into(), fault.name().into()]);
        }
        command.push("--".into());
        command
    }
}

/// The id of a new checkpoint, from which nothing was left out.
fn taken_whole(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Taken { outcome: CheckpointOutcome::Created { id }, skipped } => {
            skipped.is_empty().then(|| id.clone())
        }
        _ => None,
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
    work: impl FnOnce() -> io::Result<T>,
) -> io::Result<Option<T>> {
    let done = hold.wait(is_over).then(work);
    hold.release()?;
    done.transpose()
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
