//! The rule book: every statement a checkpoint system is held to, as data.
//!
//! One file per subject declares its rules as constants; the model's transitions cite them, the
//! oracle counts a check against them, and a report names them. A rule that is `Planned` is part
//! of the book but no transition decides it yet. This module knows nothing of how a rule is
//! checked.

mod agent;
mod capture;
mod durability;
mod isolation;
mod limits;
mod listing;
mod restore;
mod scope;
mod turn;

pub use agent::*;
pub use capture::*;
pub use durability::*;
pub use isolation::*;
pub use limits::*;
pub use listing::*;
pub use restore::*;
pub use scope::*;
pub use turn::*;

use std::fmt;

/// What kind of promise a rule is; an implementation earns each tier separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// A seed document states it.
    Documented,
    /// Nothing is lost, nothing leaks, an answer is never a lie.
    Integrity,
    /// The same under crashes, I/O errors and concurrent processes.
    Durability,
    /// The wider checkpoint of a whole agent.
    Agent,
}

impl fmt::Display for Tier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Tier::Documented => "1",
            Tier::Integrity => "2",
            Tier::Durability => "3",
            Tier::Agent => "A",
        })
    }
}

/// Whether the model already decides a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A transition decides it and the oracle counts its checks.
    Modelled,
    /// In the book only; nothing checks it yet.
    Planned,
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            State::Modelled => "modelled",
            State::Planned => "not yet modelled",
        })
    }
}

/// One statement of the rule book.
#[derive(Debug)]
pub struct Rule {
    /// Stable name, `subject/statement`.
    pub id: &'static str,
    /// What kind of promise it is.
    pub tier: Tier,
    /// The promise in one or two sentences.
    pub statement: &'static str,
    /// Where it comes from: a section of the behaviour page, or the seed that states it.
    pub source: &'static str,
    /// Whether the model decides it.
    pub state: State,
}

/// Rules are singletons, so their identity is their id.
impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Rule {}

/// How code everywhere refers to a rule.
pub type RuleRef = &'static Rule;

/// Declares the rules of one subject: a static for each, and the list of all of them.
macro_rules! rules {
    ($list:ident; $($name:ident = $id:literal, $tier:ident, $state:ident, $source:literal:
        $statement:literal;)*) => {
        $(
            #[doc = $statement]
            pub static $name: $crate::rules::Rule = $crate::rules::Rule {
                id: $id,
                tier: $crate::rules::Tier::$tier,
                statement: $statement,
                source: $source,
                state: $crate::rules::State::$state,
            };
        )*
        pub(super) static $list: &[$crate::rules::RuleRef] = &[$(&$name),*];
    };
}
use rules;

/// Every rule, in the order of the rule book.
pub fn catalogue() -> impl Iterator<Item = RuleRef> {
    [
        scope::RULES,
        turn::RULES,
        capture::RULES,
        listing::RULES,
        restore::RULES,
        isolation::RULES,
        limits::RULES,
        durability::RULES,
        agent::RULES,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// The rule of that id, if the book has it.
pub fn find(id: &str) -> Option<RuleRef> {
    catalogue().find(|rule| rule.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_has_its_own_id_and_says_what_it_is() {
        assert!(find("scope/identity").is_some_and(|rule| *rule == SCOPE_IDENTITY));
        let ids: BTreeSet<_> = catalogue().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), catalogue().count());
        for rule in catalogue() {
            assert!(rule.id.contains('/'), "{}", rule.id);
            assert!(rule.statement.ends_with('.'), "{}", rule.id);
            assert!(!rule.source.is_empty(), "{}", rule.id);
            assert_eq!(find(rule.id), Some(rule));
            assert_eq!(catalogue().filter(|other| *other == rule).count(), 1, "{}", rule.id);
        }
        assert_eq!(find("no/such-rule"), None);
    }

    #[test]
    fn tiers_and_states_are_shown_as_wide_as_is_asked() {
        let tiers = [Tier::Documented, Tier::Integrity, Tier::Durability, Tier::Agent];
        assert_eq!(tiers.map(|tier| format!("{tier:<2}|")), ["1 |", "2 |", "3 |", "A |"]);
        assert_eq!(format!("{:>10}", State::Modelled), "  modelled");
        assert_eq!(State::Planned.to_string(), "not yet modelled");
    }
}
