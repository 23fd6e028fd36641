//! What the model says of calls that overlap: the world is the state of the search, and what it
//! allows after one order of calls is what may be answered after that order.
//!
//! A refusal because another process holds something did nothing, and is explained wherever another
//! process was at work. One where nothing else ran is not. What nobody answered is in no rule but
//! this: it took effect as a whole, once, or not at all.

use super::checker::{Explained, Timed, Unexplained, Verdict, explain};
use super::record::{Call, Record, Round, told};
use super::state::{Asked, Held, Wrong, leaves_doubt, reason, reported_by};
use herma_model::answer::Listed;
use herma_model::rules::RuleRef;
use herma_model::verdict::word;
use herma_model::{Answer, ByteString, Files, World};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How many steps may be spent on one round.
pub const BUDGET: usize = 200_000;

/// So many calls of one round may be wrong before the rest is no longer judged.
const WRONG_MAX: usize = 4;

/// What is known of a record.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// What no order explains, as it came. Each call that was wrong is passed over after that.
    pub broken: Vec<Broken>,
    /// The round, from 0, in which the budget was spent or too much was wrong; nothing is known of it
    /// and of those after it.
    pub unknown: Option<usize>,
    /// The steps of the search.
    pub steps: usize,
    /// The most states that were possible at once between two rounds.
    pub states: usize,
}

/// What no order explains.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The round, from 0.
    pub round: usize,
    /// The rule that is broken.
    pub rule: RuleRef,
    /// What is the same for every failure of its sort.
    pub sort: Sort,
    /// The calls of the round in an order that explains as many answers as any.
    pub order: Vec<String>,
    /// The first call that comes after it and that none explains.
    pub call: String,
    /// What the model allows there.
    pub due: String,
    /// What was answered.
    pub found: String,
    /// Whether it may only follow from an earlier one, after which it is not known what is stored.
    pub follows: bool,
}

/// By what failures are put together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Sort {
    /// What was asked.
    pub request: String,
    /// The rule of the model that does not allow the answer.
    pub rule: String,
    /// In which way.
    pub symptom: String,
}

/// Judges all rounds of a record.
pub fn judge(record: &Record) -> Judgement {
    let able = record.able_to();
    let names: BTreeSet<&'static str> = able.names().collect();
    let (layout, settings) = (record.layout(), record.settings.clone());
    let seconds = record.rounds.first().map_or(0, |round| round.seconds);
    let world = World::new(Files::default(), layout, settings, names, seconds);
    let mut standing = vec![Standing { state: Held { world, able: &able }, open: Vec::new() }];
    let mut judgement = Judgement { states: 1, ..Judgement::default() };
    let (mut reported, mut is_doubtful) = (BTreeSet::new(), false);
    for (at, round) in record.rounds.iter().enumerate() {
        reported.extend(round.calls.iter().filter_map(own_report));
        let mut wrong = Vec::new();
        loop {
            let mut budget = BUDGET;
            let next = follow(at, round, &standing, (&reported, &wrong), &mut budget);
            judgement.steps += BUDGET - budget;
            match next {
                Next::Standing(next) => {
                    standing = next;
                    break;
                }
                Next::Broken(broken, begin) if wrong.len() < WRONG_MAX => {
                    judgement.broken.push(Broken { follows: is_doubtful, ..broken });
                    is_doubtful |=
                        round.calls.iter().any(|one| one.begin == begin && leaves_doubt(one));
                    wrong.push(begin);
                }
                Next::Broken(..) | Next::Unknown => {
                    judgement.unknown = Some(at);
                    return judgement;
                }
            }
        }
        judgement.states = judgement.states.max(standing.len());
    }
    judgement
}

/// A state that is possible between two rounds.
#[derive(Clone)]
struct Standing<'a> {
    state: Held<'a>,
    /// The calls that were never answered and have not taken effect, with their rounds.
    open: Vec<(&'a Round, &'a Call)>,
}

/// What follows a round.
enum Next<'a> {
    /// Every state that is possible after it.
    Standing(Vec<Standing<'a>>),
    /// None; when the call began that is not explained.
    Broken(Broken, u64),
    /// The budget was spent.
    Unknown,
}

/// What follows a round, but for the calls that are `wrong` anyway, by when they began.
fn follow<'a>(
    at: usize,
    round: &'a Round,
    standing: &[Standing<'a>],
    (reported, wrong): (&BTreeSet<Own<String>>, &[u64]),
    budget: &mut usize,
) -> Next<'a> {
    let (mut next, mut broken, mut is_unknown) = (Vec::new(), None, false);
    for one in standing {
        let state = one.state.clone().at_the_begin_of(round);
        let sightings = Sightings::of(round, &state, reported);
        let own = round.calls.iter().map(|call| (round, call));
        let all = one.open.iter().copied().chain(own);
        let calls: Vec<Timed<Asked<'a>>> =
            all.map(|(of, call)| sightings.timed(of, call, wrong)).collect();
        match explain(&state, &calls, budget) {
            Verdict::Explained(all) => {
                next.extend(all.into_iter().map(|Explained { state, open }| {
                    let call = |at: usize| (calls[at].call.round, calls[at].call.call);
                    Standing { state, open: open.into_iter().map(call).collect() }
                }));
            }
            Verdict::Unexplained(why) => {
                let longer = |(other, _): &(Broken, u64)| other.order.len() < why.order.len();
                if broken.as_ref().is_none_or(longer) {
                    let begin = calls[why.first].begin;
                    broken = Some((told_of(at, &calls, why), begin));
                }
            }
            Verdict::Unknown => is_unknown = true,
        }
    }
    match broken {
        _ if !next.is_empty() => Next::Standing(next),
        Some((broken, begin)) if !is_unknown => Next::Broken(broken, begin),
        _ => Next::Unknown,
    }
}

fn told_of(round: usize, calls: &[Timed<Asked<'_>>], why: Unexplained<Box<Wrong>>) -> Broken {
    let line = |at: &usize| {
        let call = calls[*at].call.call;
        let answer = call.answer.as_ref().map_or("killed; it took effect".to_owned(), said);
        format!("{}: {answer}", told(call))
    };
    let Wrong { rule, sort, due, found } = *why.why;
    let (order, call) = (why.order.iter().map(line).collect(), told(calls[why.first].call.call));
    Broken { round, rule, sort, order, call, due, found, follows: false }
}

/// An id and the directory of its project: other projects may have the same ids.
type Own<Id> = (ByteString, Id);

fn own<Id>(call: &Call, id: Id) -> Own<Id> {
    (call.request.dir().cloned().unwrap_or_default(), id)
}

/// The id of the checkpoint that an answer reports.
fn own_report(call: &Call) -> Option<Own<String>> {
    reported_by(call).map(|id| own(call, id))
}

/// The ids that are listed in a round, and what is said of them.
struct Sightings<'a> {
    round: &'a Round,
    /// The reason of each.
    reasons: BTreeMap<Own<&'a str>, &'a str>,
    /// Those that nobody knew before the round.
    new: BTreeSet<Own<&'a str>>,
    reported: &'a BTreeSet<Own<String>>,
    with_reasons: bool,
}

impl<'a> Sightings<'a> {
    fn of(round: &'a Round, state: &Held<'_>, reported: &'a BTreeSet<Own<String>>) -> Self {
        let lists = round.calls.iter().filter_map(|call| match &call.answer {
            Some(Answer::Listed(listed)) => Some((call, listed)),
            _ => None,
        });
        let each = |(call, listed): (&Call, &'a Vec<Listed>)| {
            let row = |one: &'a Listed| (own(call, one.id.as_str()), one.reason.as_str());
            listed.iter().map(row).collect::<Vec<_>>()
        };
        let reasons: BTreeMap<Own<&str>, &str> = lists.flat_map(each).collect();
        let mut new: BTreeSet<Own<&str>> = reasons.keys().cloned().collect();
        new.retain(|(dir, id)| {
            let project = state.world.canonical(dir).unwrap_or_default();
            state.world.history(&project).iter().all(|one| one.id != **id)
        });
        let with_reasons = state.able.has("list.reason");
        Sightings { round, reasons, new, reported, with_reasons }
    }

    /// A call, with the ids that its checkpoint may have where that is not known. One that was
    /// dropped before anybody listed it is of its own round, and is seen by what else is unchanged.
    fn timed<'b>(&self, of: &'b Round, call: &'b Call, wrong: &[u64]) -> Timed<Asked<'b>> {
        let dir = call.request.dir();
        let fits = |one: &&Own<&str>| match self.with_reasons {
            _ if Some(&one.0) != dir => false,
            true => self.reasons.get(*one).copied() == reason(&call.request),
            false => !self.reported.contains(&(one.0.clone(), one.1.to_owned())),
        };
        let mut ids: Vec<String> =
            self.new.iter().filter(fits).map(|(_, id)| (*id).to_owned()).collect();
        if std::ptr::eq(of, self.round) {
            ids.push(format!("never listed, begun at {}", call.begin));
        }
        let (is_wrong, is_doubted) = (wrong.contains(&call.begin), self.is_doubted(call));
        let call = Asked { round: of, call, ids, is_doubted, is_wrong };
        Timed { begin: call.call.begin, end: call.call.end, call }
    }

    /// Whether a checkpoint was reported by the id of another one: who looks for the id afterwards
    /// finds the newest. That is seen by its reason, or where two report the same.
    fn is_doubted(&self, call: &Call) -> bool {
        let Some(id) = reported_by(call) else { return false };
        let listed = self.reasons.get(&own(call, id.as_str())).copied();
        let reason = reason(&call.request).filter(|_| self.with_reasons);
        let is_of_another = listed.is_some() && reason.is_some() && listed != reason;
        let report = own_report(call);
        let reporting = |other: &&Call| own_report(other) == report;
        is_of_another || self.round.calls.iter().filter(reporting).count() > 1
    }
}

/// A message is shown up to so many characters.
const MESSAGE_MAX: usize = 300;

/// An answer in a few words.
fn said(answer: &Answer) -> String {
    match answer {
        Answer::Refused { code, message, .. } => {
            let line = message.lines().map(str::trim).collect::<Vec<_>>().join(" / ");
            let dots = if line.chars().count() > MESSAGE_MAX { "…" } else { "" };
            let some: String = line.chars().take(MESSAGE_MAX).collect();
            format!("refused: {code}: {some}{dots}")
        }
        Answer::Listed(listed) => format!("a list of {}", listed.len()),
        Answer::Diffed { entries, .. } => format!("a preview of {} paths", entries.len()),
        Answer::Restored(one) => {
            format!("restored, with {} paths kept and {} failed", one.kept.len(), one.failed.len())
        }
        Answer::Crashed(text) => text.clone(),
        other => word(other),
    }
}
