//! What changed between two results of one implementation: rules newly broken, newly held, and no longer judged.

use super::github::command;
use super::merge::plan;
use super::text::word;
use super::{Results, RuleJudged};
use crate::suite::Verdict;
use herma_model::rules;
use std::collections::BTreeSet;

/// One rule whose verdict changed, or that is broken in a new way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRule {
    /// The id of the rule.
    pub rule: String,
    /// The verdict before; `None` if the results do not have the rule.
    pub before: Option<Verdict>,
    /// The verdict after.
    pub after: Option<Verdict>,
    /// Of a broken rule, the symptoms that are new; of another one, why it is not judged.
    pub detail: String,
}

/// The changes between two results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Rules that are broken now, or broken in a new way.
    pub broken: Vec<ChangedRule>,
    /// Rules that hold now.
    pub held: Vec<ChangedRule>,
    /// Rules that were judged and are not now.
    pub vanished: Vec<ChangedRule>,
    /// What else differs between the runs, so that the changes may have another cause.
    pub caveats: Vec<String>,
}

/// Compares two results.
pub fn delta(old: &Results, new: &Results) -> Delta {
    let mut delta = Delta { caveats: caveats(old, new), ..Delta::default() };
    let ids = |results: &Results| results.rules.iter().map(|rule| rule.id.clone()).collect();
    let mut rules: Vec<String> = ids(new);
    let removed: Vec<String> = ids(old);
    rules.extend(removed.into_iter().filter(|id| !new.rules.iter().any(|rule| rule.id == *id)));
    for rule in rules {
        let old_rule = find(old, &rule);
        let new_rule = find(new, &rule);
        let before = old_rule.map(|rule| rule.verdict);
        let after = new_rule.map(|rule| rule.verdict);
        let symptoms = new_symptoms(old, new, &rule);
        let changed = |detail| ChangedRule { rule: rule.clone(), before, after, detail };
        match (before, after) {
            (_, Some(Verdict::Broken)) if !symptoms.is_empty() => {
                delta.broken.push(changed(symptoms.join(", ")));
            }
            (before, Some(Verdict::Held)) if before != after => {
                delta.held.push(changed(String::new()));
            }
            (Some(Verdict::Held | Verdict::Broken), after)
                if !matches!(after, Some(Verdict::Held | Verdict::Broken)) =>
            {
                let why = new_rule.and_then(RuleJudged::why_not).unwrap_or_default();
                delta.vanished.push(changed(why));
            }
            _ => {}
        }
    }
    delta
}

fn find<'a>(results: &'a Results, id: &str) -> Option<&'a RuleJudged> {
    results.rules.iter().find(|rule| rule.id == id)
}

/// The symptoms of a rule that only the newer results have.
fn new_symptoms(old: &Results, new: &Results, rule: &str) -> Vec<String> {
    let symptoms = |results: &Results| -> BTreeSet<String> {
        let failures = results.failures.iter();
        let of_rule =
            failures.filter(|found| found.fingerprint.rule == rule && !found.is_unstable());
        of_rule.map(|failure| failure.fingerprint.symptom.clone()).collect()
    };
    symptoms(new).difference(&symptoms(old)).cloned().collect()
}

fn caveats(old: &Results, new: &Results) -> Vec<String> {
    let before = &old.started;
    let after = &new.started;
    [
        ("the implementations differ", before.subject.name != after.subject.name),
        ("the plans differ", plan(before) != plan(after)),
        ("the suites differ", before.suite != after.suite),
        ("the capabilities differ", before.capabilities != after.capabilities),
    ]
    .into_iter()
    .filter(|(_, differs)| *differs)
    .map(|(caveat, _)| caveat.to_owned())
    .collect()
}

/// The words for a verdict before or after.
pub(crate) fn verdict_word(verdict: Option<Verdict>) -> String {
    verdict.map_or("not in the rule book".into(), |verdict| word(verdict).0.to_lowercase())
}

impl Delta {
    /// Whether no rule changed.
    pub fn is_empty(&self) -> bool {
        self.broken.is_empty() && self.held.is_empty() && self.vanished.is_empty()
    }

    /// The changes as Markdown, for a comment on a pull request.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for (title, changes) in [
            ("Newly broken", &self.broken),
            ("Newly held", &self.held),
            ("No longer judged", &self.vanished),
        ] {
            if changes.is_empty() {
                continue;
            }
            text += &format!("### {title}: {}\n\n", changes.len());
            text += "| Rule | Level | Before | After | |\n| --- | --- | --- | --- | --- |\n";
            for ChangedRule { rule, before, after, detail } in changes {
                let level = rules::find(rule).map(|rule| rule.level.to_string());
                text += &format!(
                    "| {rule} | {} | {} | {} | {} |\n",
                    level.unwrap_or_default(),
                    verdict_word(*before),
                    verdict_word(*after),
                    detail.replace('|', "\\|")
                );
            }
            text.push('\n');
        }
        if self.is_empty() {
            text += "No rule changed.\n";
        }
        for caveat in &self.caveats {
            text += &format!("Note: {caveat}, so a change may have another cause.\n");
        }
        text
    }

    /// The rules newly broken and no longer judged, as annotations for GitHub.
    pub fn annotations(&self) -> String {
        let line = |(title, change): (&str, &ChangedRule)| {
            let before = verdict_word(change.before);
            let message = format!("{title}: {}; before: {before}", change.detail);
            command("title", &change.rule, &message)
        };
        let broken = self.broken.iter().map(|change| ("newly broken", change));
        let vanished = self.vanished.iter().map(|change| ("no longer judged", change));
        broken.chain(vanished).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::junit::tests::results;
    use super::*;

    fn ids(changes: &[ChangedRule]) -> Vec<&str> {
        changes.iter().map(|change| change.rule.as_str()).collect()
    }

    #[test]
    fn delta_lists_rules_newly_broken_newly_held_and_no_longer_judged() {
        let old = results("too many", "three");
        assert!(delta(&old, &old).is_empty());
        assert_eq!(ids(&delta(&old, &results("too few", "one")).broken), ["list/at-most"]);
        let mut new = old.clone();
        new.failures.clear();
        let verdicts = [Verdict::NotExercised, Verdict::Held, Verdict::NotExercised];
        for (rule, verdict) in new.rules.iter_mut().zip(verdicts) {
            rule.verdict = verdict;
        }
        let changes = delta(&old, &new);
        assert_eq!(ids(&changes.broken), [""; 0]);
        assert_eq!(ids(&changes.held), ["list/at-most"]);
        assert_eq!(ids(&changes.vanished), ["scope/never-root"]);
        assert_eq!(ids(&delta(&new, &old).broken), ["list/at-most"]);
        let annotations = changes.annotations();
        assert!(
            annotations.starts_with("::error title=scope/never-root::no longer"),
            "{annotations}"
        );
        assert!(changes.markdown().contains("| held | not exercised |"), "{}", changes.markdown());
        new.started.seeds = vec![8];
        assert_eq!(delta(&old, &new).caveats, ["the plans differ"]);
    }
}
