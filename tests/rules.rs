//! The rule book: its page is current, and every rule that the tree names exists.

mod page;
mod places;

use crate::docs::{assert_page, root};
use herma_model::rules;
use places::{Location, RuleLocations};

#[test]
fn docs_rules_md_is_current() {
    assert_page("rules.md", &page::text(&RuleLocations::in_tree()));
}

#[test]
fn docs_rules_md_has_no_broken_link() {
    let page = page::text(&RuleLocations::in_tree());
    for (target, _) in page.split("](").skip(1).filter_map(|rest| rest.split_once(')')) {
        let exists = match target.strip_prefix('#') {
            Some(anchor) => page.contains(&format!("<a id=\"{anchor}\"></a>")),
            None => root().join("docs").join(target).is_file(),
        };
        assert!(exists, "docs/rules.md links to {target}");
    }
}

/// The page relies on this to find the constant and the file of a rule from its id.
#[test]
fn every_rule_is_declared_in_the_file_of_its_subject_under_the_constant_of_its_id() {
    for rule in rules::catalogue() {
        let path = page::record_path(rule);
        let text = std::fs::read_to_string(root().join(&path)).unwrap();
        let declaration =
            format!("    {} {{\n        id: \"{}\",", places::constant(rule), rule.id);
        assert!(text.contains(&declaration), "{path} does not declare {}", rule.id);
    }
}

#[test]
fn every_rule_has_a_place_in_the_model_and_in_the_core_and_a_test() {
    let locations = RuleLocations::in_tree();
    for rule in rules::catalogue() {
        assert!(locations.in_the_model(rule).next().is_some(), "{}: nothing decides it", rule.id);
        assert!(locations.in_the_core(rule).next().is_some(), "{}: no tag in the core", rule.id);
        assert!(locations.tests(rule).next().is_some(), "{}: no test names it", rule.id);
    }
}

/// A reader opens the first location; where there are many, it must be the right one.
#[test]
fn a_rule_with_more_than_two_locations_has_one_that_decides_it() {
    let locations = RuleLocations::in_tree();
    let undecided = |found: Vec<&Location>| {
        let deciding = found.iter().filter(|location| !location.is_secondary).count();
        deciding > 1 || deciding == 0 && found.len() > 2
    };
    let rules = rules::catalogue().filter(|rule| {
        undecided(locations.in_the_model(rule).collect())
            || undecided(locations.in_the_core(rule).collect())
    });
    let rules: Vec<_> = rules.map(|rule| rule.id).collect();
    assert!(rules.is_empty(), "one location of these rules must say that it decides: {rules:#?}");
}

#[test]
fn every_tag_in_the_core_and_the_generators_names_a_rule_of_the_book() {
    let unknown: Vec<_> = [places::CORE, places::GENERATORS]
        .into_iter()
        .flat_map(places::tags)
        .filter(|(id, _)| rules::find(id).is_none())
        .map(|(id, location)| format!("{}: {id}", location.path))
        .collect();
    assert!(unknown.is_empty(), "tags of rules that are not in the book: {unknown:#?}");
}

/// The documentation of a function in the model must declare that it implements the rule: a decision of the
/// oracle alone cannot be read in the model, and would bind no other judge.
#[test]
fn every_rule_is_implemented_by_a_documented_function_of_the_model() {
    let locations = RuleLocations::in_tree();
    let undecided: Vec<_> = rules::catalogue()
        .filter(|rule| locations.in_the_model(rule).next().is_none())
        .map(|rule| {
            format!(
                "{}: no documentation in model/src says `Implements [`rules::{}`]`",
                rule.id,
                places::constant(rule)
            )
        })
        .collect();
    assert!(undecided.is_empty(), "{} rules: {undecided:#?}", undecided.len());
}
