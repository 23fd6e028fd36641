//! The rule book: every statement that a checkpoint system must satisfy, one record for each.
//!
//! There is one file for each topic, named after the first part of its rules' ids. A record contains what
//! is known of a rule without running anything:
//!
//! - what is promised, and how firmly
//! - the source of the promise
//! - the capabilities that an implementation needs before it can be judged by the rule
//! - where to look when the rule fails
//!
//! The model cites rules by their constants, the oracle counts its checks by rule, and a report names the
//! rules. This module does not know how a rule is checked; `docs/rules.md` is generated from it, with links
//! to the code that checks each rule.

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
    /// Nothing is lost, nothing leaks, no answer is false.
    Integrity,
    /// The same under crashes, I/O errors and concurrent processes.
    Durability,
    /// Checkpoints of the agent state, not of files alone.
    Agent,
}

impl Tier {
    /// Every tier, the first that an implementation earns first.
    pub const ALL: [Tier; 4] = [Tier::Documented, Tier::Integrity, Tier::Durability, Tier::Agent];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Tier::Documented => "documented",
            Tier::Integrity => "integrity",
            Tier::Durability => "durability",
            Tier::Agent => "agent",
        }
    }
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
    /// Breaking it loses or leaks data, makes an answer false, or contradicts documented behaviour.
    Must,
    /// An implementation may have good reasons to do otherwise: it is about presentation, or the
    /// behaviour is left open.
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
    /// The version of the rule book that introduced it.
    pub since: &'static str,
    /// Where it comes from: a section of the behaviour page, or the seed that states it.
    pub source: &'static str,
    /// The capabilities without which it cannot be judged, the most significant first.
    ///
    /// They are names from the harness's list, and plain text here: the model does not know how an
    /// implementation declares its capabilities.
    pub needs: &'static [&'static str],
    /// The usual cause of a failure and its most common fix: first for any kind of store, and from the
    /// words "With git" on for stores of git. Never part of a verdict: the actual cause may differ.
    pub hint: &'static str,
}

impl Rule {
    /// The subject it belongs to: the first part of its id.
    pub fn subject(&self) -> &'static str {
        self.id.split('/').next().unwrap_or(self.id)
    }

    /// The hint for a store; its part about git only if the store uses git.
    pub fn hint_for(&self, uses_git: bool) -> &'static str {
        let general = self.hint.split(" With git").next().unwrap_or(self.hint);
        if uses_git { self.hint } else { general }
    }
}

/// Rules are singletons, so their identity is their id.
impl PartialEq for Rule {
    fn eq(&self, rule: &Self) -> bool {
        self.id == rule.id
    }
}

impl Eq for Rule {}

/// A reference to a rule, as all code uses it.
pub type RuleRef = &'static Rule;

/// Declares the rules of one subject: a static for each, documented by its statement, and the list
/// of all of them. A missing or misplaced field does not compile.
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

/// The rule with this id, if the rule book has it.
pub fn find(id: &str) -> Option<RuleRef> {
    catalogue().find(|rule| rule.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn find_returns_each_rule_of_the_catalogue_by_its_unique_id() {
        assert!(find("scope/identity").is_some_and(|rule| *rule == SCOPE_IDENTITY));
        let ids: BTreeSet<_> = catalogue().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), catalogue().count());
        for rule in catalogue() {
            assert!(rule.id.contains('/'), "{}", rule.id);
            assert!(rule.id.starts_with(rule.subject()) && !rule.subject().contains('/'));
            assert!(rule.statement.ends_with('.'), "{}", rule.id);
            assert!(!rule.source.is_empty(), "{}", rule.id);
            assert_eq!(find(rule.id), Some(rule));
            assert_eq!(
                catalogue().filter(|candidate| *candidate == rule).count(),
                1,
                "{}",
                rule.id
            );
        }
        assert_eq!(find("no/such-rule"), None);
    }

    #[test]
    fn every_hint_is_at_most_180_bytes_without_a_line_break() {
        for rule in catalogue() {
            let hint = rule.hint;
            assert!(hint.ends_with('.') && !hint.contains('\n'), "{}", rule.id);
            assert!(hint.len() <= 180, "{}: {} bytes", rule.id, hint.len());
        }
    }

    #[test]
    fn hint_for_a_store_without_git_does_not_mention_git() {
        let is_separator = |character: char| !character.is_alphanumeric() && character != '.';
        for rule in catalogue() {
            assert_eq!(rule.hint_for(true), rule.hint);
            // A store that is laid out as the rule book says uses git.
            if rule.needs.contains(&"layout") {
                continue;
            }
            let general = rule.hint_for(false);
            assert!(general.ends_with('.'), "{}: {general}", rule.id);
            let mut words = general.split(is_separator);
            let is_of_git = |word: &str| matches!(word, "git" | "GIT" | "gitlink");
            assert!(!words.any(is_of_git), "{}: {general}", rule.id);
        }
        assert!(CAPTURE_CREATED.hint.contains("stale index lock"));
        assert!(!CAPTURE_CREATED.hint_for(false).contains("index lock"));
    }

    #[test]
    fn catalogue_keeps_the_rules_of_a_subject_together() {
        let mut subjects: Vec<_> = catalogue().map(Rule::subject).collect();
        subjects.dedup();
        let distinct: BTreeSet<_> = subjects.iter().collect();
        assert_eq!(distinct.len(), subjects.len(), "{subjects:?}");
    }

    #[test]
    fn since_is_at_most_the_current_version_for_every_rule() {
        let version = |text: &str| -> Vec<u32> {
            text.split('.').map(|part| part.parse().expect("a version is numbers")).collect()
        };
        for rule in catalogue() {
            assert!(version(rule.since) <= version(env!("CARGO_PKG_VERSION")), "{}", rule.id);
        }
    }

    #[test]
    fn needs_lists_no_capability_twice() {
        for rule in catalogue() {
            let needs: BTreeSet<_> = rule.needs.iter().collect();
            assert_eq!(needs.len(), rule.needs.len(), "{}", rule.id);
        }
    }

    #[test]
    fn display_of_tiers_and_levels_pads_to_the_requested_width() {
        assert_eq!(Tier::ALL.map(Tier::word), ["documented", "integrity", "durability", "agent"]);
        assert_eq!(Tier::ALL.map(|tier| format!("{tier:<2}|")), ["1 |", "2 |", "3 |", "A |"]);
        assert_eq!(format!("{:<7}|{}", Level::Must, Level::Should), "MUST   |SHOULD");
    }
}
