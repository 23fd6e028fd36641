//! The rule book: every statement a checkpoint system is held to, one record for each.
//!
//! One file for each subject, named after the first part of its rules' ids. A record says all that
//! is known of a rule without running anything: what is promised and how firmly, where it comes
//! from, what an implementation must offer before it can be judged, and where to look when it fails. The model's transitions cite the rules by constant, the oracle
//! counts a check against them, and a report names them. This module knows nothing of how a rule is
//! checked; `docs/rules.md` is made from it and leads to everything that does.

mod agent;
mod capture;
mod concurrent;
mod config;
mod cost;
mod crash;
mod diff;
mod fault;
mod isolation;
mod layout;
mod limit;
mod list;
mod lock;
mod maintenance;
mod migration;
mod restore;
mod scope;
mod sweep;
mod turn;
mod unit;

pub use agent::*;
pub use capture::*;
pub use concurrent::*;
pub use config::*;
pub use cost::*;
pub use crash::*;
pub use diff::*;
pub use fault::*;
pub use isolation::*;
pub use layout::*;
pub use limit::*;
pub use list::*;
pub use lock::*;
pub use maintenance::*;
pub use migration::*;
pub use restore::*;
pub use scope::*;
pub use sweep::*;
pub use turn::*;
pub use unit::*;

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

/// How firm a promise is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Breaking it loses or leaks data, makes an answer a lie, or goes against a documented
    /// behaviour.
    Must,
    /// An implementation may have good reasons to do otherwise: it is about presentation, or the
    /// behaviour is left free.
    Should,
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Level::Must => "MUST",
            Level::Should => "SHOULD",
        })
    }
}

/// One record of the rule book.
#[derive(Debug)]
pub struct Rule {
    /// Stable name, `subject/statement`.
    pub id: &'static str,
    /// The promise in one or two sentences.
    pub statement: &'static str,
    /// What kind of promise it is.
    pub tier: Tier,
    /// How firm it is.
    pub level: Level,
    /// The version of the rule book that it came with.
    pub since: &'static str,
    /// Where it comes from: a section of the behaviour page, or the seed that states it.
    pub source: &'static str,
    /// The capabilities without which it cannot be judged, the most telling first.
    ///
    /// They are names of the harness's list, and plain text here: the model knows nothing of how an
    /// implementation says what it can do.
    pub needs: &'static [&'static str],
    /// The usual cause of a failure and what most often mends it, for any kind of store first and
    /// for git after that. Never part of a verdict: the mistake at hand may well be another.
    pub hint: &'static str,
}

impl Rule {
    /// The subject it belongs to: the first part of its id.
    pub fn subject(&self) -> &'static str {
        self.id.split('/').next().unwrap_or(self.id)
    }
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

/// Declares the rules of one subject: a static for each, documented by its statement, and the list
/// of all of them. A field that is missing or out of place does not compile.
macro_rules! rules {
    ($($name:ident {
        id: $id:literal,
        statement: $statement:literal,
        tier: $tier:ident,
        level: $level:ident,
        since: $since:literal,
        source: $source:literal,
        needs: [$($capability:literal),*],
        hint: $hint:literal,
    })*) => {
        $(
            #[doc = $statement]
            pub static $name: $crate::rules::Rule = $crate::rules::Rule {
                id: $id,
                statement: $statement,
                tier: $crate::rules::Tier::$tier,
                level: $crate::rules::Level::$level,
                since: $since,
                source: $source,
                needs: &[$($capability),*],
                hint: $hint,
            };
        )*
        pub(super) static RULES: &[$crate::rules::RuleRef] = &[$(&$name),*];
    };
}
use rules;

/// Every rule, in the order of the rule book.
pub fn catalogue() -> impl Iterator<Item = RuleRef> {
    [
        scope::RULES,
        turn::RULES,
        capture::RULES,
        list::RULES,
        diff::RULES,
        restore::RULES,
        unit::RULES,
        isolation::RULES,
        layout::RULES,
        limit::RULES,
        sweep::RULES,
        maintenance::RULES,
        migration::RULES,
        config::RULES,
        crash::RULES,
        fault::RULES,
        concurrent::RULES,
        cost::RULES,
        lock::RULES,
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
            assert!(rule.id.starts_with(rule.subject()) && !rule.subject().contains('/'));
            assert!(rule.statement.ends_with('.'), "{}", rule.id);
            assert!(!rule.source.is_empty(), "{}", rule.id);
            assert_eq!(find(rule.id), Some(rule));
            assert_eq!(catalogue().filter(|other| *other == rule).count(), 1, "{}", rule.id);
        }
        assert_eq!(find("no/such-rule"), None);
    }

    #[test]
    fn a_hint_is_a_line_or_two() {
        for rule in catalogue() {
            let hint = rule.hint;
            assert!(hint.ends_with('.') && !hint.contains('\n'), "{}", rule.id);
            assert!(hint.len() <= 180, "{}: {} bytes", rule.id, hint.len());
        }
    }

    #[test]
    fn the_rules_of_a_subject_stand_together() {
        let mut subjects: Vec<_> = catalogue().map(Rule::subject).collect();
        subjects.dedup();
        let once: BTreeSet<_> = subjects.iter().collect();
        assert_eq!(once.len(), subjects.len(), "{subjects:?}");
    }

    #[test]
    fn a_rule_came_with_this_version_of_the_book_or_an_earlier_one() {
        let version = |text: &str| -> Vec<u32> {
            text.split('.').map(|part| part.parse().expect("a version is numbers")).collect()
        };
        for rule in catalogue() {
            assert!(version(rule.since) <= version(env!("CARGO_PKG_VERSION")), "{}", rule.id);
        }
    }

    #[test]
    fn a_capability_is_needed_once() {
        for rule in catalogue() {
            let needs: BTreeSet<_> = rule.needs.iter().collect();
            assert_eq!(needs.len(), rule.needs.len(), "{}", rule.id);
        }
    }

    #[test]
    fn tiers_and_levels_are_shown_as_wide_as_is_asked() {
        let tiers = [Tier::Documented, Tier::Integrity, Tier::Durability, Tier::Agent];
        assert_eq!(tiers.map(|tier| format!("{tier:<2}|")), ["1 |", "2 |", "3 |", "A |"]);
        assert_eq!(format!("{:<7}|{}", Level::Must, Level::Should), "MUST   |SHOULD");
    }
}
