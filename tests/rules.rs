//! The rule book as a way in: its page is current, and whatever names a rule names one of the book.

mod page;
mod places;

use crate::docs::{is_current, root};
use herma_model::rules;
use places::Places;

#[test]
fn the_page_of_the_rule_book_is_current() {
    is_current("rules.md", &page::text(&Places::of_the_tree(&root())));
}

#[test]
fn the_page_of_the_rule_book_links_to_nothing_that_is_not_there() {
    let page = page::text(&Places::of_the_tree(&root()));
    for (target, _) in page.split("](").skip(1).filter_map(|rest| rest.split_once(')')) {
        let there = match target.strip_prefix('#') {
            Some(anchor) => page.contains(&format!("<a id=\"{anchor}\"></a>")),
            None => root().join("docs").join(target).is_file(),
        };
        assert!(there, "docs/rules.md links to {target}");
    }
}

/// The page finds its way by this: from an id to the constant and to the file of its subject.
#[test]
fn a_rule_stands_in_the_file_of_its_subject_under_the_name_of_its_id() {
    for rule in rules::catalogue() {
        let path = page::record(rule);
        let text = std::fs::read_to_string(root().join(&path)).unwrap();
        let opening = format!("    {} {{\n        id: \"{}\",", places::constant(rule), rule.id);
        assert!(text.contains(&opening), "{path} does not declare {}", rule.id);
    }
}

#[test]
fn every_tag_in_the_core_and_the_generators_names_a_rule_of_the_book() {
    let unknown: Vec<_> = [places::CORE, places::GENERATORS]
        .into_iter()
        .flat_map(|folder| places::tags(&root(), folder))
        .filter(|(id, _)| rules::find(id).is_none())
        .map(|(id, place)| format!("{}: {id}", place.path))
        .collect();
    assert!(unknown.is_empty(), "tags of rules that are not in the book: {unknown:#?}");
}

/// By a function whose documentation says what it implements. What the oracle decides by itself cannot
/// be read in the model, and no other judge can be held to it.
#[test]
fn every_rule_is_decided_somewhere_in_the_model() {
    let places = Places::of_the_tree(&root());
    let undecided: Vec<_> = rules::catalogue()
        .filter(|rule| places.in_the_model(rule).next().is_none())
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
