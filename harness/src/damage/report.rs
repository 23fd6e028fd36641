//! What the lane found, as a person and as a program read it.

use super::harm::Harm;
use super::judge::Rule;
use super::places::Kind;
use super::{Failure, Outcome};
use crate::subject::Identity;
use serde::Serialize;
use std::collections::BTreeMap;

/// All that was found in one subject.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Who was asked.
    pub subject: Identity,
    /// The seed of the damages.
    pub seed: u64,
    /// Those of which something can be said, by their numbers.
    pub damages: Vec<Outcome>,
    /// Of the others, why not.
    pub not_judged: BTreeMap<u64, String>,
    /// The command that repeats the damages, but for the subject.
    pub replay: String,
    /// How the subject is spelled at the end of that command.
    pub spelled: String,
}

/// Figures of one kind of file and one kind of damage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Figures {
    damages: usize,
    checked: usize,
    failures: usize,
}

impl Report {
    /// Whether anything was wrong.
    pub fn is_broken(&self) -> bool {
        self.damages.iter().any(|one| !one.failures.is_empty())
    }

    /// As JSON, for programs.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report holds only what JSON can say") + "\n"
    }

    /// For people: one failure of each sort with how often it showed, then the figures. With `all`
    /// every failure.
    pub fn text(&self, all: bool) -> String {
        let mut text = String::new();
        let mut sorts: BTreeMap<Sort, Vec<(&Outcome, &Failure)>> = BTreeMap::new();
        for one in &self.damages {
            for failure in &one.failures {
                sorts.entry((failure.rule, one.kind, one.harm)).or_default().push((one, failure));
            }
        }
        for found in sorts.values() {
            let shown = if all { found.len() } else { 1 };
            for (one, failure) in &found[..shown] {
                text.push_str(&self.failure(one, failure));
            }
            if let Some(rest) = found.get(shown..).filter(|rest| !rest.is_empty()) {
                let mut numbers: Vec<String> =
                    rest.iter().map(|(one, _)| one.number.to_string()).collect();
                numbers.dedup();
                let numbers = numbers.join(", ");
                text.push_str(&format!("  and {} more, of {numbers}\n", rest.len()));
            }
            text.push('\n');
        }
        text + &self.figures() + &self.rules()
    }

    fn failure(&self, one: &Outcome, failure: &Failure) -> String {
        format!(
            "{}: {}\n  rule:     {}\n  damaged:  {}, {}: {}\n  asked:    {}\n  due:      {}\n  found:    {}\n  \
             replay:   {} --only {}{}\n",
            failure.rule,
            failure.rule.statement(),
            failure.book,
            one.kind.words(),
            one.file,
            one.harm.words(),
            failure.asked,
            failure.due,
            failure.found,
            self.replay,
            one.number,
            self.spelled
        )
    }

    fn figures(&self) -> String {
        let mut table: BTreeMap<(Kind, Harm), Figures> = BTreeMap::new();
        let mut sum = Figures::default();
        for one in &self.damages {
            for figures in [table.entry((one.kind, one.harm)).or_default(), &mut sum] {
                figures.damages += 1;
                figures.checked += one.checked;
                figures.failures += one.failures.len();
            }
        }
        let line = |what: &str, harm: &str, figures: &Figures| {
            let Figures { damages, checked, failures } = figures;
            format!("{what:<34} {harm:<36} {damages:>7} {checked:>8} {failures:>8}\n")
        };
        let mut text = format!(
            "{:<34} {:<36} {:>7} {:>8} {:>8}\n",
            "file", "damage", "damages", "answers", "failures"
        );
        for ((kind, harm), figures) in &table {
            text.push_str(&line(kind.words(), harm.words(), figures));
        }
        text + &line("all", "", &sum)
    }

    fn rules(&self) -> String {
        let mut counts: BTreeMap<Rule, (usize, usize)> = BTreeMap::new();
        for one in &self.damages {
            let mut seen = Vec::new();
            for failure in &one.failures {
                let (failures, damages) = counts.entry(failure.rule).or_default();
                *failures += 1;
                *damages += usize::from(!seen.contains(&failure.rule));
                seen.push(failure.rule);
            }
        }
        let mut text = String::new();
        for (rule, (failures, damages)) in counts {
            text.push_str(&format!("{rule:<18} {failures} failures in {damages} damages\n"));
        }
        let anyway: usize = self.damages.iter().map(|one| one.without_damage).sum();
        if anyway > 0 {
            text.push_str(&format!(
                "{anyway} failures showed without the damage too, and do not count\n"
            ));
        }
        if let Some((number, why)) = self.not_judged.first_key_value() {
            let count = self.not_judged.len();
            text.push_str(&format!("not judged: {count} damages; number {number}: {why}\n"));
        }
        text
    }
}

/// By what failures are put together.
type Sort = (Rule, Kind, Harm);

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let failure = |rule: Rule| Failure {
            rule,
            book: rule.in_the_book().id,
            asked: "a restore".into(),
            due: "it is restored whole".into(),
            found: "refused".into(),
        };
        let outcome = |number, failures| Outcome {
            number,
            kind: Kind::Blob,
            file: "alpha 1: a.txt".into(),
            harm: Harm::Emptied,
            checked: 10,
            failures,
            without_damage: 1,
        };
        let twice = vec![failure(Rule::CostsMore), failure(Rule::CostsMore)];
        Report {
            subject: Identity::new("it", "1"),
            seed: 3,
            damages: vec![
                outcome(4, twice),
                outcome(7, vec![failure(Rule::Hangs)]),
                outcome(8, vec![]),
            ],
            not_judged: BTreeMap::from([(9, "no past".to_owned())]),
            replay: "herma-conform damage --seed 3".into(),
            spelled: " it@1".into(),
        }
    }

    #[test]
    fn a_person_reads_what_was_damaged_asked_due_and_found_and_how_to_see_it_again() {
        let text = report().text(false);
        for part in [
            "damaged:  loose blob, alpha 1: a.txt: emptied",
            "asked:    a restore",
            "due:      it is restored whole",
            "found:    refused",
            "replay:   herma-conform damage --seed 3 --only 4 it@1",
            "  and 1 more, of 4",
            "costs-more         2 failures in 1 damages",
            "3 failures showed without the damage too",
            "not judged: 1 damages; number 9: no past",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert_eq!(text.matches("costs-more: ").count(), 1);
        assert_eq!(report().text(true).matches("costs-more: ").count(), 2);
        let all = text.lines().find(|line| line.starts_with("all")).unwrap();
        let figures: Vec<&str> = all.split_whitespace().skip(1).collect();
        assert_eq!(figures, ["3", "30", "3"]);
    }

    #[test]
    fn a_program_reads_the_same() {
        let value: serde_json::Value = serde_json::from_str(&report().json()).unwrap();
        assert_eq!(value["damages"][0]["kind"], "blob");
        assert_eq!(value["damages"][0]["failures"][1]["rule"], "costs-more");
        assert_eq!(value["not_judged"]["9"], "no past");
        assert!(report().is_broken());
    }
}
