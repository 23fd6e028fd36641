//! The levels that an implementation can earn: one for each tier of the rule book, with a frozen list of rules.
//!
//! The lists of a version of the rule book are a file of `harness/levels`, which a test compares with the rule book,
//! so that a level changes only with that file. [`ConformanceReport`] is what an implementation submits; levels are
//! computed from it alone, so that anyone can repeat that. Whether its runs happened is not decided here: each names
//! the command that repeats it.

pub mod badge;
pub mod chart;
pub mod page;
mod report;
mod tally;

pub use report::{ConformanceReport, ReportError, ReportedRun, SCHEMA};
pub use tally::{Count, Tally, tallies};

use herma_model::rules::{self, Level, RuleRef, Tier};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The frozen lists of each version of the rule book.
const FROZEN: [&str; 1] = [include_str!("../../levels/0.1.toml")];

/// The version of the rule book of this program.
pub const RULE_BOOK: &str = "0.1";
/// A level needs at least so many generated histories.
const HISTORIES_MIN: u64 = 60;
/// These histories have at most so many operations, or more.
const OPERATIONS_MIN: usize = 40;
/// At least one in so many MUST rules of a level must hold; an implementation cannot earn it by lacking everything.
const FLOOR: usize = 3;

/// The levels of one version of the rule book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelLists {
    /// The version of the rule book.
    pub rule_book: String,
    /// At least so many histories must be generated, in all runs together.
    pub histories: u64,
    /// At least so many operations must be allowed in each of these histories.
    pub operations: usize,
    /// The rules of each level, by its name.
    pub levels: BTreeMap<String, LevelRules>,
}

/// The rules of one level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelRules {
    /// At least so many of the MUST rules must hold.
    pub floor: usize,
    /// The rules that must not be broken.
    pub must: Vec<String>,
    /// The rules that are counted, and do not decide.
    pub should: Vec<String>,
}

impl LevelLists {
    /// The levels as the rule book of this program has them.
    pub fn of_rule_book() -> Self {
        let ids = |tier: Tier, level: Level| -> Vec<String> {
            let is_of = |rule: &RuleRef| rule.tier == tier && rule.level == level;
            rules::catalogue().filter(is_of).map(|rule| rule.id.to_owned()).collect()
        };
        let rules_of = |tier: Tier| {
            let must = ids(tier, Level::Must);
            let floor = must.len().div_ceil(FLOOR);
            (tier.word().to_owned(), LevelRules { floor, must, should: ids(tier, Level::Should) })
        };
        LevelLists {
            rule_book: RULE_BOOK.to_owned(),
            histories: HISTORIES_MIN,
            operations: OPERATIONS_MIN,
            levels: Tier::ALL.into_iter().map(rules_of).collect(),
        }
    }

    /// The frozen levels of a version of the rule book, if there are any.
    pub fn frozen(rule_book: &str) -> Option<Self> {
        let read = |text: &&str| toml::from_str::<LevelLists>(text).ok();
        FROZEN.iter().filter_map(read).find(|lists| lists.rule_book == rule_book)
    }

    /// The levels as a file.
    pub fn to_toml(&self) -> String {
        let text = toml::to_string_pretty(self).expect("lists of names are TOML");
        format!(
            "# The rules of each level. A list of a published version of the rule book never changes.\n\n{text}"
        )
    }

    /// Every rule of every level.
    pub fn rules(&self) -> impl Iterator<Item = &String> {
        self.levels.values().flat_map(|level| level.must.iter().chain(&level.should))
    }
}

#[cfg(test)]
mod tests;
