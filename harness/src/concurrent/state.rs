//! The world of the model as a state of the search: what may follow a call, and why an answer is none
//! that may be given.

use super::checker::State;
use super::judge::Sort;
use super::record::{Call, Contents, Round, fill};
use crate::protocol::capabilities::Capabilities;
use herma_model::allowed::CheckpointKind;
use herma_model::answer::{CheckpointOutcome, Counts, SweepOutcome};
use herma_model::blame;
use herma_model::request::About;
use herma_model::rules::{self, RuleRef};
use herma_model::verdict::{Kind, Violation};
use herma_model::{Allowed, Answer, ByteString, Code, Files, Observation, Request, World};

/// A call, and what it may have done if nobody knows.
pub(super) struct Asked<'a> {
    /// The round that it was made in.
    pub(super) round: &'a Round,
    pub(super) call: &'a Call,
    /// The ids that its checkpoint may have.
    pub(super) ids: Vec<String>,
    /// Whether the one that was reported is another's.
    pub(super) is_doubted: bool,
    /// Whether it is known to be wrong, and passed over.
    pub(super) is_wrong: bool,
}

/// Why an answer is none that may be given.
#[derive(Clone, Debug)]
pub(super) struct Wrong {
    pub(super) rule: RuleRef,
    pub(super) sort: Sort,
    pub(super) due: String,
    pub(super) found: String,
}

/// What is stored and what the projects hold.
#[derive(Clone)]
pub(super) struct Held<'a> {
    pub(super) world: World,
    pub(super) able: &'a Capabilities,
}

impl Held<'_> {
    /// Nothing runs: the runner has changed the files, and set the clock.
    pub(super) fn at_the_begin_of(mut self, round: &Round) -> Self {
        self.world.files = files(round);
        let clock = Request::SetClock { seconds: round.seconds };
        let seen = self.observation(clock, Answer::Done, None);
        self.world.learn(&seen);
        self
    }

    /// What was seen of a call. All that it left in files is in its own project.
    fn observation(
        &self,
        request: Request,
        answer: Answer,
        after: Option<&Contents>,
    ) -> Observation {
        let mut files = self.world.files.clone();
        let project = request.dir().and_then(|dir| self.world.canonical(dir));
        if let (Some(after), Some(project)) = (after, project) {
            fill(&mut files, &project, after);
        }
        Observation::new(request, answer, files)
    }

    /// The state after a call that was answered.
    ///
    /// Judges [`rules::CONCURRENT_SERIAL`], [`rules::CONCURRENT_KEEPS`] and [`rules::LOCK_STALE`].
    fn answered(&self, call: &Call, answer: &Answer) -> Result<Self, Box<Wrong>> {
        let is_busy = matches!(answer, Answer::Refused { code: Code::Busy, .. });
        if is_busy && call.process.is_some() {
            return Ok(self.clone());
        }
        let seen =
            self.observation(of_a_turn(&call.request), judged(call, answer), call.after.as_ref());
        let allowed = self.world.allows(&seen.request);
        let mut wrong = self.world.compare(&allowed, &seen).violations;
        let ended = |one: &Violation| matches!(one.mismatch.kind, Kind::Crash | Kind::Timeout);
        wrong.retain(|one| self.able.lacking(one.rule).is_none() || ended(one));
        if let Some(failure) = blame::failures(wrong).into_iter().next() {
            let Violation { rule, mismatch, .. } = failure.cause;
            let sort = Sort {
                request: call.request.name().to_owned(),
                rule: rule.id.to_owned(),
                symptom: mismatch.symptom,
            };
            let rule = rule_of(call, answer, &sort.symptom, mismatch.kind);
            let (due, found) = (mismatch.expected, mismatch.found);
            return Err(Box::new(Wrong { rule, sort, due, found }));
        }
        let mut next = self.clone();
        next.world.learn(&seen);
        Ok(next)
    }

    /// The state after a call that is wrong: what it reports is there, and so is what it shows where
    /// nothing else ran.
    fn passed_over(&self, call: &Call, answer: &Answer) -> Self {
        let mut next = self.clone();
        if leaves_doubt(call) {
            let answer = judged(call, answer);
            let after = call.after.as_ref();
            next.world.learn(&self.observation(of_a_turn(&call.request), answer, after));
        }
        next
    }

    /// Every state after a call that was never answered and took effect now.
    fn unanswered(&self, asked: &Asked<'_>) -> Vec<Self> {
        let request = of_a_turn(&asked.call.request);
        // It has seen the files and the time of its own round.
        let then = self.clone().at_the_begin_of(asked.round);
        let answers: Vec<Answer> = match (&request, then.world.allows(&request)) {
            (Request::Checkpoint { .. }, Allowed::Checkpoint(due))
                if due.kind == CheckpointKind::Created =>
            {
                let created = |id: &String| CheckpointOutcome::Created { id: id.clone() };
                let taken = |outcome| Answer::Taken { outcome, skipped: Vec::new() };
                asked.ids.iter().map(created).map(taken).collect()
            }
            (Request::Sweep | Request::Prune { .. }, Allowed::Sweep(due)) if due.may_run => {
                vec![Answer::Swept { outcome: SweepOutcome::Done, counts: Counts::default() }]
            }
            _ => Vec::new(),
        };
        let after = |answer| {
            let mut next = then.clone();
            next.world.learn(&then.observation(request.clone(), answer, None));
            let clock = Request::SetClock { seconds: self.world.seconds() };
            next.world.learn(&self.observation(clock, Answer::Done, None));
            next
        };
        answers.into_iter().map(after).collect()
    }
}

impl<'a> State for Held<'a> {
    type Call = Asked<'a>;
    type Key = String;
    type Refusal = Box<Wrong>;

    fn after(&self, asked: &Asked<'a>) -> Result<Vec<Self>, Box<Wrong>> {
        match &asked.call.answer {
            Some(answer) if asked.is_wrong => Ok(vec![self.passed_over(asked.call, answer)]),
            Some(Answer::Taken { skipped, .. }) if asked.is_doubted => {
                let created = |id: &String| CheckpointOutcome::Created { id: id.clone() };
                let taken = |outcome| Answer::Taken { outcome, skipped: skipped.clone() };
                let answers = asked.ids.iter().map(created).map(taken);
                answers.map(|answer| self.answered(asked.call, &answer)).collect()
            }
            Some(answer) => self.answered(asked.call, answer).map(|next| vec![next]),
            None => Ok(self.unanswered(asked)),
        }
    }

    fn key(&self) -> String {
        let mut key = match self.world.allows(&Request::Sweep) {
            Allowed::Sweep(due) => format!("{} {}", due.may_run, due.may_decline),
            _ => String::new(),
        };
        for (project, all) in self.world.histories() {
            let ids: Vec<&str> = all.iter().map(|one| one.id.as_str()).collect();
            let listed = self.world.listed(project).len();
            key += &format!("\n{project} {listed} {}", ids.join(" "));
        }
        // Only a restore changes them, and which ones are done is told by the calls that are.
        key
    }
}

/// An automatic checkpoint in a turn of its own is a manual one: turns are those of each process.
fn of_a_turn(request: &Request) -> Request {
    match request.clone() {
        Request::EnsureCheckpoint { dir, reason } => Request::Checkpoint { dir, reason },
        request => request,
    }
}

/// An answer as it is judged: what could not be done while others were at work is no error.
fn judged(call: &Call, answer: &Answer) -> Answer {
    match answer.clone() {
        Answer::Swept { outcome, counts } if call.process.is_some() => {
            Answer::Swept { outcome, counts: Counts { errors: 0, ..counts } }
        }
        answer => answer,
    }
}

/// The rule that is broken where a call was answered so.
fn rule_of(call: &Call, answer: &Answer, symptom: &str, kind: Kind) -> RuleRef {
    let is_refused = matches!(answer, Answer::Refused { .. });
    let looks_for_one =
        call.request.target().is_some() || matches!(call.request, Request::List { .. });
    match answer {
        Answer::Refused { code: Code::Busy, .. } => &rules::LOCK_STALE,
        _ if kind == Kind::Timeout => &rules::LOCK_STALE,
        // Nothing else runs, so all that can hold it up was left by a process that is dead.
        _ if is_refused && call.process.is_none() && reason(&call.request).is_some() => {
            &rules::LOCK_STALE
        }
        _ if looks_for_one && (is_refused || symptom == "too few") => &rules::CONCURRENT_KEEPS,
        _ => &rules::CONCURRENT_SERIAL,
    }
}

/// The id of the checkpoint that an answer reports.
pub(super) fn reported_by(call: &Call) -> Option<String> {
    match call.answer.as_ref()? {
        Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } => Some(id.clone()),
        Answer::Restored(restored) => restored.safety.clone(),
        _ => None,
    }
}

/// Whether it is not known what is stored once a call was wrong: it stores something, or shows what
/// is stored when nothing else runs.
pub(super) fn leaves_doubt(call: &Call) -> bool {
    let about_one = call.request.kind().about == About::Project;
    call.process.is_none() || about_one && !call.request.only_looks()
}

/// Why a checkpoint was asked for.
pub(super) fn reason(request: &Request) -> Option<&str> {
    match request {
        Request::Checkpoint { reason, .. } | Request::EnsureCheckpoint { reason, .. } => {
            Some(reason)
        }
        _ => None,
    }
}

fn files(round: &Round) -> Files {
    let mut files = Files::default();
    for (project, contents) in &round.files {
        fill(&mut files, &ByteString::from(project.as_str()), contents);
    }
    files
}
