//! What an implementation submits: its verdicts, the runs that they come from, and the levels that they earn.

use super::{LevelLists, RULE_BOOK, Tally, tallies};
use crate::history::reading;
use crate::results::{Results, RuleJudged};
use crate::share::Share;
use crate::subject::Identity;
use crate::suite::Verdict;
use herma_model::rules;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The version of the format.
pub const SCHEMA: u32 = 1;
/// What an implementation lacks if its store is in the project.
const NO_STORE_OUTSIDE: &str = "a store outside the project";

/// The verdicts on one version of an implementation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConformanceReport {
    /// The version of the format.
    pub schema: u32,
    /// The version of the rule book.
    pub rule_book: String,
    /// The version of the suite.
    pub suite: String,
    /// The day of the report, such as 2026-01-31.
    pub date: String,
    /// The implementation.
    pub subject: Identity,
    /// The levels that are earned.
    pub levels: Vec<String>,
    /// The runs.
    pub runs: Vec<ReportedRun>,
    /// The capabilities of the implementation.
    pub capabilities: Vec<String>,
    /// The rules that held.
    pub held: Vec<String>,
    /// The broken rules, each with its symptoms.
    pub broken: BTreeMap<String, Vec<String>>,
    /// The rules with a failure that was not reproduced.
    pub unstable: Vec<String>,
    /// The rules that no history exercised, each with the reason.
    pub not_exercised: BTreeMap<String, String>,
    /// The rules that cannot be judged, each with the missing capability.
    pub not_applicable: BTreeMap<String, String>,
}

/// One run of the suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportedRun {
    /// The seeds.
    pub seeds: Vec<u64>,
    /// How many histories were generated for each seed.
    pub histories: u64,
    /// The maximum number of operations of a history.
    pub operations: usize,
    /// How many injections happened.
    pub injections: u64,
    /// How many of the planned histories did not run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_run: u64,
    /// The command that repeats the run.
    pub replay: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Why a report is not made or not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// No results.
    #[error("there are no results")]
    NoResults,
    /// Results of different implementations, versions or adapters.
    #[error("the results are of different implementations or suites: {0} and {1}")]
    Different(String, String),
    /// Only a part of a run.
    #[error("these are the results of one part of a run: `merge` all parts first")]
    OnePart,
    /// The document is not valid.
    #[error("{0}")]
    Parse(String),
    /// The levels of this version are unknown.
    #[error("the rule book {0:?} has no levels here")]
    RuleBook(String),
    /// A field has a wrong value.
    #[error("{0} has a wrong value: {1}")]
    Field(&'static str, String),
    /// A rule does not have exactly one verdict.
    #[error("{0} has {1} verdicts; each rule of the rule book needs one")]
    Verdicts(String, usize),
    /// A verdict does not fit the capabilities.
    #[error("{0} does not fit the capabilities: {1}")]
    Capability(String, String),
    /// A verdict without its reason.
    #[error("{0} has no reason or symptom")]
    NoReason(String),
    /// The claim is wrong.
    #[error("the verdicts earn [{0}], and [{1}] is claimed")]
    Claim(String, String),
}

impl ConformanceReport {
    /// The report of these runs of one implementation. The worst verdict of a rule counts.
    ///
    /// # Errors
    /// The results are not of one implementation, or only of a part of a run.
    pub fn of(results: &[Results], date: &str) -> Result<Self, ReportError> {
        let first = &results.first().ok_or(ReportError::NoResults)?.started;
        let describe = |results: &Results| {
            let subject = &results.started.subject;
            format!("{} {}, suite {}", subject.name, subject.version, results.started.suite)
        };
        for run in results {
            let started = &run.started;
            let is_same = started.subject == first.subject
                && started.suite == first.suite
                && started.capabilities == first.capabilities;
            if !is_same {
                return Err(ReportError::Different(describe(&results[0]), describe(run)));
            }
            if started.share != Share::default() {
                return Err(ReportError::OnePart);
            }
        }
        let mut report = ConformanceReport {
            schema: SCHEMA,
            rule_book: RULE_BOOK.to_owned(),
            suite: first.suite.clone(),
            date: date.to_owned(),
            subject: first.subject.clone(),
            levels: Vec::new(),
            runs: results.iter().map(ReportedRun::of).collect(),
            capabilities: first.capabilities.clone(),
            held: Vec::new(),
            broken: BTreeMap::new(),
            unstable: Vec::new(),
            not_exercised: BTreeMap::new(),
            not_applicable: BTreeMap::new(),
        };
        for rule in rules::catalogue() {
            report.add(rule.id, results);
        }
        report.levels = report.earned(&report.tallies()?);
        Ok(report)
    }

    fn add(&mut self, id: &str, results: &[Results]) {
        let judged = |run: &'_ Results| run.rules.iter().find(|rule| rule.id == id).cloned();
        let judged: Vec<RuleJudged> = results.iter().filter_map(judged).collect();
        let find = |verdict| judged.iter().find(|rule| rule.verdict == verdict);
        if find(Verdict::Broken).is_some() {
            let failures = results.iter().flat_map(|run| &run.failures);
            let of_rule = failures.filter(|found| found.fingerprint.rule == id);
            let symptoms: BTreeSet<String> =
                of_rule.map(|failure| failure.fingerprint.symptom.clone()).collect();
            self.broken.insert(id.to_owned(), symptoms.into_iter().collect());
        } else if find(Verdict::Unstable).is_some() {
            self.unstable.push(id.to_owned());
        } else if find(Verdict::Held).is_some() {
            self.held.push(id.to_owned());
        } else if let Some(rule) = find(Verdict::NotExercised) {
            self.not_exercised.insert(id.to_owned(), rule.why_not().unwrap_or_default());
        } else if let Some(rule) = find(Verdict::NotApplicable) {
            self.not_applicable.insert(id.to_owned(), rule.lacking.clone().unwrap_or_default());
        }
    }

    /// Reads a report.
    ///
    /// # Errors
    /// The document is not valid.
    pub fn from_yaml(text: &str) -> Result<Self, ReportError> {
        reading::read(text).map_err(ReportError::Parse)
    }

    /// The report as a YAML document.
    pub fn to_yaml(&self) -> String {
        serde_saphyr::to_string(self).expect("a report holds only what YAML can say")
    }

    /// The name of its file.
    pub fn file_name(&self) -> String {
        format!("{}-{}.yaml", self.subject.name, self.subject.version)
    }

    /// How each level is counted.
    ///
    /// # Errors
    /// There are no levels for this version of the rule book.
    pub fn tallies(&self) -> Result<Vec<Tally>, ReportError> {
        let lists = LevelLists::frozen(&self.rule_book);
        let lists = lists.ok_or_else(|| ReportError::RuleBook(self.rule_book.clone()))?;
        Ok(tallies(self, &lists))
    }

    fn earned(&self, tallies: &[Tally]) -> Vec<String> {
        let earned = tallies.iter().filter(|tally| tally.is_earned());
        earned.map(|tally| tally.tier.word().to_owned()).collect()
    }

    /// The verdict on a rule, if there is one.
    pub fn verdict(&self, id: &str) -> Option<Verdict> {
        self.verdicts(id).into_iter().next()
    }

    fn verdicts(&self, id: &str) -> Vec<Verdict> {
        let is_listed = |list: &[String]| list.iter().filter(|rule| *rule == id).count();
        [
            (Verdict::Held, is_listed(&self.held)),
            (Verdict::Broken, usize::from(self.broken.contains_key(id))),
            (Verdict::Unstable, is_listed(&self.unstable)),
            (Verdict::NotExercised, usize::from(self.not_exercised.contains_key(id))),
            (Verdict::NotApplicable, usize::from(self.not_applicable.contains_key(id))),
        ]
        .into_iter()
        .flat_map(|(verdict, times)| std::iter::repeat_n(verdict, times))
        .collect()
    }

    /// Checks a submitted report: it is complete, nothing is skipped without a reason, and it claims the levels that
    /// its verdicts earn.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), ReportError> {
        let tallies = self.tallies()?;
        if self.schema != SCHEMA {
            return Err(ReportError::Field("schema", self.schema.to_string()));
        }
        if self.date.parse::<jiff::civil::Date>().is_err() {
            return Err(ReportError::Field("date", self.date.clone()));
        }
        if self.runs.is_empty() {
            return Err(ReportError::NoResults);
        }
        let lists = LevelLists::frozen(&self.rule_book);
        let lists = lists.ok_or_else(|| ReportError::RuleBook(self.rule_book.clone()))?;
        for rule in lists.rules() {
            self.check_rule(rule)?;
        }
        let named = [&self.held, &self.unstable].into_iter().flatten();
        let named = named.chain(self.broken.keys()).chain(self.not_exercised.keys());
        let mut named = named.chain(self.not_applicable.keys());
        if let Some(unknown) = named.find(|id| !lists.rules().any(|rule| rule == *id)) {
            return Err(ReportError::Field("a rule", unknown.clone()));
        }
        let earned = self.earned(&tallies);
        if earned != self.levels {
            return Err(ReportError::Claim(earned.join(", "), self.levels.join(", ")));
        }
        Ok(())
    }

    fn check_rule(&self, id: &str) -> Result<(), ReportError> {
        let verdicts = self.verdicts(id);
        let &[verdict] = &verdicts[..] else {
            return Err(ReportError::Verdicts(id.to_owned(), verdicts.len()));
        };
        let reasons = [self.not_exercised.get(id), self.not_applicable.get(id)];
        let is_unsaid = reasons.into_iter().flatten().any(|reason| reason.trim().is_empty())
            || self.broken.get(id).is_some_and(Vec::is_empty);
        if is_unsaid {
            return Err(ReportError::NoReason(id.to_owned()));
        }
        let Some(rule) = rules::find(id) else { return Ok(()) };
        let lacks = |need: &str| !self.capabilities.iter().any(|name| name == need);
        let lacking = self.not_applicable.get(id);
        let is_right = lacking.is_none_or(|name| {
            name == NO_STORE_OUTSIDE || rule.needs.contains(&&name[..]) && lacks(name)
        });
        if let (false, Some(name)) = (is_right, lacking) {
            return Err(ReportError::Capability(id.to_owned(), name.clone()));
        }
        let missing = rule.needs.iter().find(|need| lacks(need));
        match missing.filter(|_| verdict != Verdict::NotApplicable) {
            Some(need) => Err(ReportError::Capability(id.to_owned(), (*need).to_owned())),
            None => Ok(()),
        }
    }
}

impl ReportedRun {
    fn of(results: &Results) -> Self {
        let started = &results.started;
        let finished = &results.finished;
        ReportedRun {
            seeds: started.seeds.clone(),
            histories: started.histories,
            operations: started.operations,
            injections: finished.injections,
            not_run: finished.planned.saturating_sub(finished.histories),
            replay: started.replay.clone(),
        }
    }

    /// How many histories were generated for all seeds.
    pub fn generated(&self) -> u64 {
        self.histories * self.seeds.len() as u64
    }
}
