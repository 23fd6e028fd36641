//! What the lane measured, as a person and as a program read it.

use crate::subject::Identity;
use herma_model::rules;
use serde::Serialize;

/// One figure, of a little and of a lot, in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// The id of the rule that it is judged by.
    pub rule: &'static str,
    /// What was done.
    pub operation: &'static str,
    /// What it took of a little.
    pub little: u64,
    /// What it took of a lot.
    pub large: u64,
    /// By how much it may have grown.
    pub grown_max: u64,
    /// What it took of [`MANY_TIMES`] as much, where that was looked at.
    pub larger: Option<u64>,
}

/// What grew by more than it may is measured once more of so many times as much: buffers that are
/// filled once do not grow again.
pub const MANY_TIMES: u64 = 4;

impl Figure {
    /// Whether it grew by more than it may.
    pub fn grew(&self) -> bool {
        self.large.saturating_sub(self.little) > self.grown_max
    }

    /// Whether it also did so once more, where that was looked at.
    pub fn is_broken(&self) -> bool {
        let most = self.grown_max * (MANY_TIMES - 1);
        let grew_again = |larger: u64| larger.saturating_sub(self.large) > most;
        self.grew() && self.larger.is_none_or(grew_again)
    }
}

/// A rule of which nothing can be said, and why.
#[derive(Clone, Debug, Serialize)]
pub struct NotJudged {
    /// Its id.
    pub rule: &'static str,
    /// Why.
    pub why: String,
}

/// All that was measured of one subject.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Who was asked.
    pub subject: Identity,
    /// What was measured.
    pub figures: Vec<Figure>,
    /// What was not.
    pub not_judged: Vec<NotJudged>,
}

impl Outcome {
    /// Nothing is measured yet.
    pub fn new(subject: Identity) -> Self {
        Outcome { subject, figures: Vec::new(), not_judged: Vec::new() }
    }

    /// The figures that grew by more than they may.
    pub fn broken(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(|figure| figure.is_broken())
    }

    /// As JSON, for programs.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report holds only what JSON can say") + "\n"
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for figure in self.broken() {
            if let Some(rule) = rules::find(figure.rule) {
                text.push_str(&format!("{} ({}): {}\n", rule.id, rule.level, rule.statement));
            }
            let [little, large] = [figure.little, figure.large].map(mebibytes);
            let larger = figure.larger.map_or(String::new(), |larger| {
                format!(", and {} of {MANY_TIMES} times as much", mebibytes(larger))
            });
            text.push_str(&format!("  {}: {little} became {large}{larger}\n\n", figure.operation));
        }
        text.push_str(&format!(
            "{:<16} {:<28} {:>12} {:>12} {:>14} {:>12}\n",
            "rule", "operation", "of a little", "of a lot", "may grow by", "of far more"
        ));
        for figure in &self.figures {
            let [little, large, most] =
                [figure.little, figure.large, figure.grown_max].map(mebibytes);
            let larger = figure.larger.map_or("-".to_owned(), mebibytes);
            let verdict = if figure.is_broken() { "  BROKEN" } else { "" };
            let (rule, operation) = (figure.rule, figure.operation);
            text.push_str(&format!(
                "{rule:<16} {operation:<28} {little:>12} {large:>12} {most:>14} {larger:>12}{verdict}\n"
            ));
        }
        for NotJudged { rule, why } in &self.not_judged {
            text.push_str(&format!("not judged: {rule}: {why}\n"));
        }
        text
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grew_by_more_than_it_may_is_said_first_and_what_was_not_measured_last() {
        let figure = |operation, large, larger| Figure {
            rule: rules::COST_MEMORY.id,
            operation,
            little: 1 << 20,
            large,
            grown_max: 8 << 20,
            larger,
        };
        let mut outcome = Outcome::new(Identity::new("it", "1"));
        outcome.figures = vec![
            figure("list", 9 << 20, None),
            figure("buffered", 20 << 20, Some(44 << 20)),
            figure("restore", 20 << 20, Some((44 << 20) + 1)),
        ];
        outcome.not_judged.push(NotJudged { rule: rules::COST_UNCHANGED.id, why: "so".into() });
        let text = outcome.text();
        assert!(text.starts_with("cost/memory (SHOULD): The memory that"), "{text}");
        assert!(
            text.contains("\n  restore: 1.0 MiB became 20.0 MiB, and 44.0 MiB of 4 times"),
            "{text}"
        );
        assert!(text.ends_with("not judged: cost/unchanged: so\n"), "{text}");
        assert_eq!(text.matches("BROKEN").count(), 1);
        assert_eq!(outcome.broken().count(), 1);
        let value: serde_json::Value = serde_json::from_str(&outcome.json()).unwrap();
        assert_eq!(value["figures"][2]["operation"], "restore");
    }
}
