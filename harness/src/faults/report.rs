//! What the lane found, as a person and as a program read it.

use super::{Chosen, Failure, Outcome, Story};
use crate::damage::judge::Rule;
use crate::faults::fault::{Calls, END, Fault, spelled};
use crate::subject::Identity;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// All that was found in one subject.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Who was asked.
    pub subject: Identity,
    /// The seed.
    pub seed: u64,
    /// What was run of each story.
    pub stories: Vec<Extent>,
    /// The faults of which something can be said.
    pub faults: Vec<Outcome>,
    /// What is answered wrongly where no fault comes, of each story: nothing is said of it here.
    pub anyway: Vec<(Story, BTreeSet<String>)>,
    /// Why nothing can be said of the others.
    pub not_judged: Vec<(Chosen, String)>,
    /// The command that repeats this, but for the subject.
    pub replay: String,
    /// How the subject is spelled at the end of that command.
    pub spelled: String,
}

/// So many of the questions that are answered wrongly anyway are shown to a person.
const ANYWAY_SHOWN: usize = 4;

/// How much of a story was run.
#[derive(Clone, Debug, Serialize)]
pub struct Extent {
    /// The story.
    pub story: Story,
    /// Which calls count.
    pub calls: Calls,
    /// How many of these calls its last operation makes.
    pub points: usize,
    /// Whether every one of them was run, and two runs made the same calls.
    pub exhaustive: bool,
    /// Why it was not run at all, if it was not.
    pub not_run: Option<String>,
}

impl Extent {
    fn said(&self) -> String {
        let Extent { story, points, .. } = self;
        let calls = match self.calls {
            Calls::Changing => "changing calls",
            Calls::Reading => "calls that read",
            Calls::All => "calls that change something or read",
        };
        match &self.not_run {
            Some(why) => format!("{story}: not run: {why}\n"),
            None if self.exhaustive => format!("{story}: each of its {points} {calls}\n"),
            None => format!("{story}: a sample of some {points} {calls}\n"),
        }
    }
}

/// By what failures are put together.
type Sort<'a> = (Rule, &'a Story, Fault);

impl Report {
    /// Whether anything was wrong.
    pub fn is_broken(&self) -> bool {
        self.faults.iter().any(|one| !one.failures.is_empty())
    }

    /// As JSON, for programs.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report holds only what JSON can say") + "\n"
    }

    /// For people: one failure of each sort with how often it showed, then the figures. With `all`
    /// every failure.
    pub fn text(&self, all: bool) -> String {
        let mut text = String::new();
        let mut sorts: BTreeMap<Sort<'_>, Vec<(&Outcome, &Failure)>> = BTreeMap::new();
        for one in &self.faults {
            for failure in &one.failures {
                let sort = (failure.rule, &one.chosen.story, one.chosen.fault);
                sorts.entry(sort).or_default().push((one, failure));
            }
        }
        for found in sorts.values() {
            let shown = if all { found.len() } else { 1 };
            for (one, failure) in &found[..shown] {
                text.push_str(&self.failure(one, failure));
            }
            let mut rest: Vec<String> =
                found[shown..].iter().map(|(one, _)| spelled(one.chosen.at)).collect();
            if !rest.is_empty() {
                let count = rest.len();
                rest.dedup();
                text.push_str(&format!("  and {count} more, at {}\n", rest.join(", ")));
            }
            text.push('\n');
        }
        text + &self.figures()
    }

    fn failure(&self, one: &Outcome, failure: &Failure) -> String {
        let Chosen { story, fault, at } = &one.chosen;
        let calls = fault.comes_at().calls();
        let mut extents = self.stories.iter();
        let extent = extents.find(|extent| extent.story == *story && extent.calls == calls);
        let points = extent.map_or(0, |extent| extent.points);
        let point = match &one.point {
            Some(point) => format!("{} of {}, point {at} of {points}", point.call, point.path),
            None if *at == END => "at the end".to_owned(),
            None => format!("point {at}, which it did not reach"),
        };
        format!(
            "{}: {}\n  rule:     {}\n  fault:    {}: {point}: {}\n  asked:    {}\n  due:      {}\n  found:    {}\n  \
             replay:   {} --only {story}:{fault}:{}{}\n",
            failure.rule,
            failure.rule.statement(),
            failure.book,
            told(story),
            fault.words(),
            failure.asked,
            failure.due,
            failure.found,
            self.replay,
            spelled(*at),
            self.spelled
        )
    }

    fn figures(&self) -> String {
        let mut table: BTreeMap<(&Story, Fault), [usize; 4]> = BTreeMap::new();
        for one in &self.faults {
            let figures = table.entry((&one.chosen.story, one.chosen.fault)).or_default();
            figures[0] += 1;
            figures[1] += one.checked;
            figures[2] += usize::from(!one.failures.is_empty());
            figures[3] += one.failures.len();
        }
        let mut text = format!(
            "{:<24} {:<11} {:>7} {:>9} {:>7} {:>9}\n",
            "story", "fault", "faults", "answers", "failed", "failures"
        );
        for ((story, fault), [faults, checked, failed, failures]) in table {
            text.push_str(&format!(
                "{story:<24} {fault:<11} {faults:>7} {checked:>9} {failed:>7} {failures:>9}\n"
            ));
        }
        let extents: BTreeSet<String> = self.stories.iter().map(Extent::said).collect();
        text.extend(extents);
        for (story, asked) in self.anyway.iter().filter(|(_, asked)| !asked.is_empty()) {
            let some: Vec<&str> = asked.iter().take(ANYWAY_SHOWN).map(String::as_str).collect();
            let (count, some) = (asked.len(), some.join("; "));
            text.push_str(&format!(
                "{story}: {count} questions are answered wrongly without a fault, too: {some}\n"
            ));
        }
        if let Some((chosen, why)) = self.not_judged.first() {
            let Chosen { story, fault, at } = chosen;
            let count = self.not_judged.len();
            let at = spelled(*at);
            text.push_str(&format!("not judged: {count} faults; {story}:{fault}:{at}: {why}\n"));
        }
        text
    }
}

/// The last operation of a story, and what came before it.
fn told(story: &Story) -> String {
    match story.to_string().rsplit_once('+') {
        Some((before, _)) => format!("{} (after {before})", story.last().words()),
        None => format!("{} (the first of all)", story.last().words()),
    }
}
