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
    /// Calls without an answer: a kill ended them, or what the adapter said was none.
    pub unanswered: usize,
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
    /// Whether each of them may only follow from another one.
    pub follows: bool,
    /// How many reruns of the same rounds show it, of how many.
    pub again: Option<(usize, usize)>,
    /// Where all that happened is written down.
    pub record: Option<PathBuf>,
}

impl Failure {
    /// What was found in a store.
    pub fn new(broken: &Broken, store: u64) -> Self {
        let Broken { round, rule, sort, order, call, due, found, follows } = broken.clone();
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
            follows,
            again,
            record,
        }
    }

    /// One failure of each sort, with how many there are: the first that follows from no other.
    pub fn of_each_sort<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Vec<Self> {
        let mut sorts: BTreeMap<Sort, Failure> = BTreeMap::new();
        for outcome in outcomes {
            for broken in &outcome.judgement.broken {
                let new = || Failure { count: 0, ..Failure::new(broken, outcome.store) };
                let failure = sorts.entry(broken.sort.clone()).or_insert_with(new);
                if failure.follows && !broken.follows {
                    *failure = Failure { count: failure.count, ..new() };
                }
                failure.count += 1;
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
        if self.follows {
            text +=
                "  follows:  perhaps from an earlier failure of that store, so it does not count\n";
        }
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
                    self.unanswered += 1;
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
        text += &format!(
            "{} refused as busy, {} killed before an answer\n",
            self.busy, self.unanswered
        );
        text += &format!("{} steps of the search, {} states at once\n", self.steps, self.states);
        if self.anyway > 0 {
            let anyway = self.anyway;
            text +=
                &format!("{anyway} failures show where nobody overlaps, too, and do not count\n");
        }
        if !self.unknown.is_empty() {
            let unknown: Vec<_> = self.unknown.iter().map(u64::to_string).collect();
            text += &format!("could not look at all of the stores {}\n", unknown.join(", "));
        }
        text
    }
}

impl Report {
    /// Whether anything was wrong.
    pub fn is_broken(&self) -> bool {
        self.failures.iter().any(|failure| !failure.follows)
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

#[cfg(test)]
mod tests {
    use super::super::judge::Judgement;
    use super::super::record::{Call, Record, Round};
    use super::*;
    use herma_model::{ByteString, Request, Settings, rules};

    fn broken(symptom: &str, follows: bool) -> Broken {
        let sort = Sort {
            request: "list".into(),
            rule: "list/complete".into(),
            symptom: symptom.to_owned(),
        };
        Broken {
            round: 2,
            rule: &rules::CONCURRENT_KEEPS,
            sort,
            order: vec!["process 0: checkpoint alpha: created".into()],
            call: "alone: list alpha".into(),
            due: "one".into(),
            found: "none".into(),
            follows,
        }
    }

    fn outcome(store: u64, all: Vec<Broken>) -> Outcome {
        let call = |answer| Call {
            process: Some(0),
            request: Request::Status,
            answer,
            begin: 0,
            end: None,
            after: None,
        };
        let message = String::new();
        let busy = Answer::Refused { code: Code::Busy, message, changed: Default::default() };
        let round = Round { calls: vec![call(Some(busy)), call(None)], ..Round::default() };
        let record = Record {
            subject: Identity::default(),
            capabilities: Vec::new(),
            settings: Settings::default(),
            root: ByteString::default(),
            seed: 1,
            store,
            rounds: vec![round],
        };
        let judgement = Judgement { broken: all, steps: 10, states: 2, unknown: None };
        Outcome { store, record, judgement, anyway: 1 }
    }

    fn report(outcomes: &[Outcome]) -> Report {
        let mut figures = Figures::default();
        outcomes.iter().for_each(|outcome| figures.add(outcome));
        Report {
            subject: Identity::new("it", "1"),
            seed: 1,
            processes: 4,
            figures,
            failures: Failure::of_each_sort(outcomes.iter()),
            replay: "herma-conform concurrent --seed 1".into(),
            spelled: " it@1".into(),
        }
    }

    #[test]
    fn a_person_reads_which_order_explains_most_and_what_was_answered_after_it() {
        let mut report = report(&[outcome(7, vec![broken("too few", false)])]);
        report.failures[0].again = Some((2, 5));
        report.failures[0].record = Some("a/record.json".into());
        let text = report.text();
        for part in [
            "concurrent/keeps: A checkpoint that was reported disappears only by limits",
            "  sort:     list: too few (list/complete), 1 in all",
            "  where:    round 3 of store 7",
            "  order:     1. process 0: checkpoint alpha: created",
            "  asked:    alone: list alpha",
            "  again:    2 of 5 reruns show it",
            "  judged:   herma-conform concurrent --judge a/record.json",
            "  replay:   herma-conform concurrent --seed 1 --only 7 it@1",
            "1 stores, 1 rounds (0 beside `git gc`), 1 answers: 1 status",
            "1 refused as busy, 1 killed before an answer",
            "1 failures show where nobody overlaps, too",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let value: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(value["failures"][0]["sort"]["symptom"], "too few");
        assert_eq!(value["figures"]["states"], 2);
    }

    #[test]
    fn what_may_only_follow_does_not_count_and_one_that_does_not_is_shown_first() {
        let alone = report(&[outcome(1, vec![broken("too few", true)])]);
        assert!(!alone.is_broken());
        assert!(alone.text().contains("  follows:  perhaps from an earlier failure"));
        let both = [
            outcome(1, vec![broken("too few", true)]),
            outcome(2, vec![broken("too few", false), broken("other ids", true)]),
        ];
        let both = report(&both);
        assert!(both.is_broken());
        let shown: Vec<_> =
            both.failures.iter().map(|one| (one.store, one.count, one.follows)).collect();
        assert_eq!(shown, [(2, 1, true), (2, 2, false)]);
    }
}
