//! What the lane found, as a person and as a program read it.

use super::Outcome;
use super::judge::{Broken, Sort};
use crate::subject::Identity;
use herma_model::Answer;
use herma_model::answer::Code;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// All that was found in one subject.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Who was asked.
    pub subject: Identity,
    /// The seed.
    pub seed: u64,
    /// How many processes there were.
    pub processes: usize,
    /// What was run and found in all.
    pub figures: Figures,
    /// What no order explains.
    pub failures: Vec<Failure>,
    /// The command that repeats this, but for the subject.
    pub replay: String,
    /// How the subject is spelled at the end of that command.
    pub spelled: String,
}

/// What was run and found in all.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figures {
    /// Stores.
    pub stores: usize,
    /// Rounds.
    pub rounds: usize,
    /// Calls that were answered, by the name of their request.
    pub answers: BTreeMap<String, usize>,
    /// Those among them that were refused since another process held something.
    pub busy: usize,
    /// Calls that a kill ended.
    pub killed: usize,
    /// Rounds in which git collected garbage.
    pub git_collects: usize,
    /// Steps of the search for an order.
    pub steps: usize,
    /// The most states that were possible at once between two rounds.
    pub states: usize,
    /// Stores of which not all is known, since the budget was spent or too much was wrong.
    pub unknown: Vec<u64>,
    /// How much is wrong where nobody overlaps, too.
    pub anyway: usize,
}

/// What no order explains, once for each sort.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// The rule that is broken.
    pub rule: String,
    /// What it says.
    pub statement: String,
    /// What is the same for every failure of its sort.
    pub sort: Sort,
    /// The store.
    pub store: u64,
    /// Its round, from 1.
    pub round: usize,
    /// The calls of the round in an order that explains as many answers as any.
    pub order: Vec<String>,
    /// The first call that comes after it and that none explains.
    pub call: String,
    /// What the model allows there.
    pub due: String,
    /// What was answered.
    pub found: String,
    /// How many failures of that sort there are in all.
    pub count: usize,
    /// How many reruns of the same rounds show it, of how many.
    pub again: Option<(usize, usize)>,
    /// Where all that happened is written down.
    pub record: Option<PathBuf>,
}

impl Failure {
    /// What was found in a store.
    pub fn new(broken: &Broken, store: u64) -> Self {
        let Broken { round, rule, sort, order, call, due, found } = broken.clone();
        let (rule, statement) = (rule.id.to_owned(), rule.statement.to_owned());
        let (round, count, again, record) = (round + 1, 1, None, None);
        Failure {
            rule,
            statement,
            sort,
            store,
            round,
            order,
            call,
            due,
            found,
            count,
            again,
            record,
        }
    }

    /// The first failure of each sort, with how many there are.
    pub fn of_each_sort<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Vec<Self> {
        let mut sorts: BTreeMap<Sort, Failure> = BTreeMap::new();
        for outcome in outcomes {
            for broken in &outcome.judgement.broken {
                let new = || Failure { count: 0, ..Failure::new(broken, outcome.store) };
                sorts.entry(broken.sort.clone()).or_insert_with(new).count += 1;
            }
        }
        sorts.into_values().collect()
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!("{}: {}\n", self.rule, self.statement);
        let Sort { request, rule, symptom } = &self.sort;
        text += &format!("  sort:     {request}: {symptom} ({rule}), {} in all\n", self.count);
        text += &format!("  where:    round {} of store {}\n", self.round, self.store);
        for (at, call) in self.order.iter().enumerate() {
            let head = if at == 0 { "order:" } else { "" };
            text += &format!("  {head:<9} {:>2}. {call}\n", at + 1);
        }
        text += &format!("  asked:    {}\n", self.call);
        text += &format!("  due:      {}\n  found:    {}\n", self.due, self.found);
        if let Some((shown, all)) = self.again {
            text += &format!("  again:    {shown} of {all} reruns show it\n");
        }
        if let Some(record) = &self.record {
            let record = record.display();
            text += &format!("  judged:   herma-conform concurrent --judge {record}\n");
        }
        text
    }
}

impl Figures {
    /// Counts what came of a store.
    pub fn add(&mut self, outcome: &Outcome) {
        self.stores += 1;
        self.steps += outcome.judgement.steps;
        self.states = self.states.max(outcome.judgement.states);
        self.anyway += outcome.anyway;
        if outcome.judgement.unknown.is_some() {
            self.unknown.push(outcome.store);
        }
        for round in &outcome.record.rounds {
            self.rounds += 1;
            self.git_collects += usize::from(round.git_collects);
            for call in &round.calls {
                let Some(answer) = &call.answer else {
                    self.killed += 1;
                    continue;
                };
                *self.answers.entry(call.request.name().to_owned()).or_default() += 1;
                let is_busy = matches!(answer, Answer::Refused { code: Code::Busy, .. });
                self.busy += usize::from(is_busy);
            }
        }
    }

    /// Whether anything was judged.
    pub fn is_any_judged(&self) -> bool {
        self.stores > self.unknown.len()
    }

    /// For people.
    pub fn text(&self) -> String {
        let answers: usize = self.answers.values().sum();
        let of_each: Vec<String> =
            self.answers.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let mut text = format!(
            "{} stores, {} rounds ({} beside `git gc`), {answers} answers: {}\n",
            self.stores,
            self.rounds,
            self.git_collects,
            of_each.join(", ")
        );
        text +=
            &format!("{} refused as busy, {} killed without an answer\n", self.busy, self.killed);
        text += &format!("{} steps of the search, {} states at once\n", self.steps, self.states);
        if self.anyway > 0 {
            let anyway = self.anyway;
            text +=
                &format!("{anyway} failures show where nobody overlaps, too, and do not count\n");
        }
        if !self.unknown.is_empty() {
            let unknown = &self.unknown;
            text += &format!("could not look at all of stores {unknown:?}\n");
        }
        text
    }
}

impl Report {
    /// Whether anything was wrong.
    pub fn is_broken(&self) -> bool {
        !self.failures.is_empty()
    }

    /// As JSON, for programs.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report holds only what JSON can say") + "\n"
    }

    /// For people: one failure of each sort, then the figures.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for failure in &self.failures {
            let Report { replay, spelled, .. } = self;
            text += &failure.text();
            text += &format!("  replay:   {replay} --only {}{spelled}\n\n", failure.store);
        }
        text + &self.figures.text()
    }
}
