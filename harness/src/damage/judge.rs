//! What is broken, and how an answer is held against what is due. Nothing here asks or touches a disk.

use super::past::{Past, Which};
use herma_model::answer::{Answer, Change, DiffEntry, Listed, Remark, Restored};
use herma_model::rules::{self, RuleRef};
use herma_model::tree::{Difference, differences};
use herma_model::verdict::word;
use herma_model::{ByteString, Tree};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// What a damaged store must still keep to; the names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Every question is answered in time.
    Hangs,
    /// No question ends the process.
    Crashes,
    /// What does not need what is damaged is as before.
    CostsMore,
    /// The same for checkpoints that only a damaged commit leads to, and takes on top of it.
    BehindACommit,
    /// The same where a fifo or a folder stands in the way of a file.
    InTheWay,
    /// A restore that is said to be complete is so.
    FalseSuccess,
    /// What a take reports is stored.
    NotStoredAgain,
    /// A refused restore changes nothing.
    RefusalChanges,
    /// A restore changes nothing outside its project.
    ReachesElsewhere,
    /// Upkeep removes nothing that is whole.
    UpkeepLoses,
}

impl Rule {
    /// The rule of the book that it comes under.
    pub fn in_the_book(self) -> RuleRef {
        match self {
            Rule::FalseSuccess => &rules::RESTORE_HONEST,
            Rule::NotStoredAgain => &rules::CAPTURE_STORED,
            Rule::RefusalChanges => &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
            Rule::ReachesElsewhere => &rules::RESTORE_CONTAINED,
            _ => &rules::MAINTENANCE_DAMAGE,
        }
    }

    /// In a sentence: what must be.
    pub fn statement(self) -> &'static str {
        match self {
            Rule::Hangs => "every question is answered in time, whatever is damaged",
            Rule::Crashes => "no question ends the process, whatever is damaged",
            Rule::CostsMore => {
                "a damage costs what needs it: everything else is listed, compared, restored and \
                 taken as before"
            }
            Rule::BehindACommit => {
                "a damaged commit costs its own checkpoint: those before it are there still, and \
                 the next is taken"
            }
            Rule::InTheWay => {
                "a fifo or a folder in the place of a file costs no more than its loss"
            }
            Rule::FalseSuccess => {
                "after a restore every recorded path is as recorded, or named as not restored"
            }
            Rule::NotStoredAgain => {
                "what a take reports is stored: a damaged object counts as absent and is stored again"
            }
            Rule::RefusalChanges => "a refused restore changes nothing",
            Rule::ReachesElsewhere => "a restore changes nothing outside its project",
            Rule::UpkeepLoses => "a prune or sweep removes no checkpoint that is whole",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Rule::Hangs => "hangs",
            Rule::Crashes => "crashes",
            Rule::CostsMore => "costs-more",
            Rule::BehindACommit => "behind-a-commit",
            Rule::InTheWay => "in-the-way",
            Rule::FalseSuccess => "false-success",
            Rule::NotStoredAgain => "not-stored-again",
            Rule::RefusalChanges => "refusal-changes",
            Rule::ReachesElsewhere => "reaches-elsewhere",
            Rule::UpkeepLoses => "upkeep-loses",
        })
    }
}

/// One broken rule: what was due, and what was found instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The rule.
    pub rule: Rule,
    /// What was due.
    pub due: String,
    /// What was found.
    pub found: String,
}

/// Which of the checkpoints that must be listed are missing; a refusal misses all of them.
pub fn listed(
    past: &Past,
    due: impl Iterator<Item = (Which, Rule)>,
    answer: &Answer,
) -> Vec<Broken> {
    let ids: BTreeSet<&str> = match answer {
        Answer::Listed(listed) => listed.iter().map(|one: &Listed| &one.id[..]).collect(),
        _ => BTreeSet::new(),
    };
    let id = |which: &Which| &past.projects[which.project].checkpoints[which.at].id[..];
    let missing = due.filter(|(which, _)| !ids.contains(id(which)));
    let broken = |(which, rule)| {
        let due = format!("{} is listed", past.name(which));
        Broken { rule, due, found: said(answer) }
    };
    missing.map(broken).collect()
}

/// Whether a preview shows what changed since a checkpoint.
pub fn diffed(rule: Rule, due: &Tree, now: &Tree, answer: &Answer) -> Option<Broken> {
    let change = |difference: &Difference<'_>| match difference {
        Difference::Added(_) => Change::Added,
        Difference::Deleted(_) => Change::Deleted,
        Difference::Modified(..) => Change::Modified,
    };
    let mut expected: Vec<DiffEntry> = differences(due, now)
        .iter()
        .map(|(path, how)| DiffEntry { path: (*path).clone(), change: change(how) })
        .collect();
    if let Answer::Diffed { entries, .. } = answer {
        let mut entries = entries.clone();
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        expected.sort_by(|one, other| one.path.cmp(&other.path));
        if entries == expected {
            return None;
        }
    }
    let due = format!("{} changed paths are shown", expected.len());
    Some(Broken { rule, due, found: said(answer) })
}

/// A restore, and what the project held before and after it.
pub struct Seen<'a> {
    /// What the checkpoint holds.
    pub due: &'a Tree,
    /// Whether files created since were to be removed.
    pub exact: bool,
    /// What the project held before.
    pub before: &'a Tree,
    /// What it holds now.
    pub after: &'a Tree,
}

/// What is wrong with a restore. `rule` is what is broken where the checkpoint does not come back
/// whole; where it need not, the answer must still be true.
pub fn restored(rule: Option<Rule>, seen: &Seen<'_>, answer: &Answer) -> Vec<Broken> {
    let mut found = Vec::new();
    let wrong = wrong(seen);
    match answer {
        Answer::Restored(restored) => {
            let silent: Vec<&ByteString> =
                wrong.iter().copied().filter(|path| !names(restored, path)).collect();
            if !silent.is_empty() {
                let due = "every path that is not as recorded is named".to_owned();
                let text = format!("{} are neither as recorded nor named", shown(&silent));
                found.push(Broken { rule: Rule::FalseSuccess, due, found: text });
            }
        }
        _ if seen.before != seen.after => {
            let changed: Vec<_> = differences(seen.before, seen.after).into_keys().collect();
            let due = "nothing is changed where the restore is refused".to_owned();
            let text = format!("{}; changed: {}", said(answer), shown(&changed));
            found.push(Broken { rule: Rule::RefusalChanges, due, found: text });
        }
        _ => {}
    }
    let complete = wrong.is_empty() && matches!(answer, Answer::Restored(_));
    // One cause, one failure: what is said to be there and is not has been named already.
    if let Some(rule) = rule.filter(|_| !complete && found.is_empty()) {
        let text = match wrong[..] {
            [] => said(answer),
            _ => format!("{}; not as recorded: {}", said(answer), shown(&wrong)),
        };
        found.push(Broken { rule, due: "it is restored whole".into(), found: text });
    }
    found
}

/// The paths that are not as recorded. A link or file that was to be removed counts where the restore
/// is exact.
fn wrong<'a>(seen: &Seen<'a>) -> Vec<&'a ByteString> {
    let all = differences(seen.due, seen.after).into_iter();
    let counts = |how: &Difference<'_>| seen.exact || !matches!(how, Difference::Added(_));
    all.filter(|(_, how)| counts(how)).map(|(path, _)| path).collect()
}

/// Whether the answer says that this path, or a folder that it is in, is not as recorded.
fn names(restored: &Restored, path: &ByteString) -> bool {
    let covers = |remark: &&Remark| {
        let rest = path.strip_prefix(&remark.path[..]);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    restored.kept.iter().chain(&restored.failed).any(|remark| covers(&remark))
        || restored.left.contains(path)
}

fn shown(paths: &[&ByteString]) -> String {
    let some: Vec<String> = paths.iter().take(3).map(|path| format!("{path:?}")).collect();
    let more = paths.len().saturating_sub(3);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    some.join(", ") + &more
}

/// A message is shown up to so many characters.
const MESSAGE_MAX: usize = 300;

/// An answer in a few words.
pub fn said(answer: &Answer) -> String {
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

#[cfg(test)]
mod tests {
    use super::super::past::{Checkpoint, Project};
    use super::super::plan::file;
    use super::*;
    use herma_model::Code;
    use herma_model::answer::{Changed, Stats};

    fn tree(files: &[(&str, &str)]) -> Tree {
        files.iter().map(|(path, content)| ((*path).into(), file(content))).collect()
    }

    fn refused() -> Answer {
        let message = "no".to_owned();
        Answer::Refused { code: Code::CorruptCheckpoint, message, changed: Changed::None }
    }

    fn rules(rule: Option<Rule>, after: &Tree, exact: bool, answer: &Answer) -> Vec<Rule> {
        let (due, before) = (tree(&[("a/b", "1"), ("c", "1")]), tree(&[("c", "2"), ("new", "2")]));
        let seen = Seen { due: &due, exact, before: &before, after };
        restored(rule, &seen, answer).into_iter().map(|one| one.rule).collect()
    }

    #[test]
    fn a_restore_that_is_whole_is_right_and_one_that_is_not_and_says_nothing_is_a_lie() {
        let done = Answer::Restored(Restored::default());
        let (whole, with_more) =
            (tree(&[("a/b", "1"), ("c", "1")]), tree(&[("a/b", "1"), ("c", "1"), ("new", "2")]));
        for rule in [None, Some(Rule::CostsMore)] {
            assert_eq!(rules(rule, &whole, true, &done), []);
            assert_eq!(rules(rule, &with_more, false, &done), []);
            assert_eq!(rules(rule, &with_more, true, &done), [Rule::FalseSuccess]);
            assert_eq!(rules(rule, &tree(&[("c", "1")]), true, &done), [Rule::FalseSuccess]);
        }
    }

    #[test]
    fn what_is_named_is_no_lie_but_may_be_a_cost() {
        let remark = |path: &str| Remark { path: path.into(), why: String::new() };
        let said =
            |path| Answer::Restored(Restored { failed: vec![remark(path)], ..Restored::default() });
        let half = tree(&[("c", "1")]);
        for path in ["a/b", "a"] {
            assert_eq!(rules(None, &half, true, &said(path)), []);
            assert_eq!(rules(Some(Rule::CostsMore), &half, true, &said(path)), [Rule::CostsMore]);
        }
        assert_eq!(rules(None, &half, true, &said("a/")), [Rule::FalseSuccess]);
        assert_eq!(rules(None, &half, true, &said("c")), [Rule::FalseSuccess]);
    }

    #[test]
    fn a_refusal_costs_what_must_come_back_and_changes_nothing() {
        let before = tree(&[("c", "2"), ("new", "2")]);
        assert_eq!(rules(None, &before, true, &refused()), []);
        assert_eq!(rules(Some(Rule::InTheWay), &before, true, &refused()), [Rule::InTheWay]);
        let rule = Some(Rule::CostsMore);
        assert_eq!(rules(rule, &tree(&[("c", "2")]), true, &refused()), [Rule::RefusalChanges]);
    }

    #[test]
    fn what_must_be_listed_and_is_not_is_named() {
        let checkpoint = |id: &str| Checkpoint { id: id.into(), tree: Tree::new() };
        let checkpoints = vec![checkpoint("one"), checkpoint("two")];
        let (dir, hash, start) = ("".into(), String::new(), Tree::new());
        let project = Project { name: "alpha", dir, hash, start, checkpoints };
        let past = Past { projects: vec![project], most: None };
        let due = || (0..2).map(|at| (Which { project: 0, at }, Rule::CostsMore));
        let entry = |id: &str| Listed {
            number: 1,
            id: id.into(),
            time: 0,
            reason: String::new(),
            stats: None,
        };
        let missing = |answer| listed(&past, due(), &answer).len();
        assert_eq!(missing(Answer::Listed(vec![entry("two"), entry("one")])), 0);
        assert_eq!(missing(Answer::Listed(vec![entry("two"), entry("three")])), 1);
        assert_eq!(missing(refused()), 2);
    }

    #[test]
    fn a_preview_shows_every_changed_path_and_how_it_changed() {
        let (due, now) = (tree(&[("a", "1"), ("b", "1")]), tree(&[("a", "2"), ("c", "1")]));
        let entry = |path: &str, change| DiffEntry { path: path.into(), change };
        let answer = |entries| Answer::Diffed { entries, stats: Stats::default() };
        let right = vec![
            entry("c", Change::Added),
            entry("a", Change::Modified),
            entry("b", Change::Deleted),
        ];
        let judged = |answer: &Answer| diffed(Rule::CostsMore, &due, &now, answer).is_some();
        assert!(!judged(&answer(right.clone())));
        assert!(judged(&answer(right[1..].to_vec())));
        assert!(judged(&refused()));
    }
}
