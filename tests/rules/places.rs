//! Where the tree speaks of each rule, found in its text.
//!
//! A place is a file, never a line: every line that somebody adds further up would make the page of
//! the rule book out of date, in every branch at once. The name of the rule is found in a file as
//! fast.

use herma_harness::cases::Case;
use herma_harness::planted;
use herma_model::rules::RuleRef;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The folder of the reference implementation.
pub const CORE: &str = "core/src";

/// The folder of what draws histories.
pub const GENERATORS: &str = "harness/src/generate";

/// Where the model decides.
const MODEL: &str = "model/src";

/// Something in the tree that a rule has to do with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, as seen from the root of the tree.
    pub path: String,
    /// What it is called on the page.
    pub name: String,
}

/// By the id of a rule, or by its constant: the places, each once, in the order of files and names.
type ByRule = BTreeMap<String, BTreeSet<Place>>;

/// Everything the page leads to.
#[derive(Default)]
pub struct Places {
    model: ByRule,
    core: ByRule,
    planted: ByRule,
    cases: ByRule,
    generated: ByRule,
}

impl Places {
    /// Looks through the tree at `root`.
    pub fn of_the_tree(root: &Path) -> Places {
        let mut places = Places {
            model: naming(root, MODEL, constants),
            core: naming(root, CORE, tags),
            generated: naming(root, GENERATORS, tags),
            ..Places::default()
        };
        let sources_of_bugs = sources(root, "harness/src/planted", "rs");
        for bug in planted::catalogue() {
            let quoted = format!("\"{}\"", bug.name);
            let file = sources_of_bugs.iter().find(|(_, text)| text.contains(&quoted));
            let (path, _) = file.expect("a planted bug is called by its name somewhere");
            let place = Place { path: path.clone(), name: bug.name.to_owned() };
            places.planted.entry(bug.rule.id.to_owned()).or_default().insert(place);
        }
        for (path, text) in sources(root, "harness/cases", "yaml") {
            let case = Case::from_yaml(&text, Path::new(&path)).unwrap();
            for id in case.rules {
                let place = Place { path: path.clone(), name: case.id.clone() };
                places.cases.entry(id).or_default().insert(place);
            }
        }
        places
    }

    /// What of the model decides the rule.
    pub fn in_the_model(&self, rule: RuleRef) -> impl Iterator<Item = &Place> {
        self.model.get(&constant(rule)).into_iter().flatten()
    }

    /// What of the core keeps it.
    pub fn in_the_core(&self, rule: RuleRef) -> impl Iterator<Item = &Place> {
        self.core.get(rule.id).into_iter().flatten()
    }

    /// What draws histories with this rule in mind.
    pub fn generated(&self, rule: RuleRef) -> impl Iterator<Item = &Place> {
        self.generated.get(rule.id).into_iter().flatten()
    }

    /// The bugs that break it.
    pub fn planted(&self, rule: RuleRef) -> impl Iterator<Item = &Place> {
        self.planted.get(rule.id).into_iter().flatten()
    }

    /// The written cases that are there for it.
    pub fn cases(&self, rule: RuleRef) -> impl Iterator<Item = &Place> {
        self.cases.get(rule.id).into_iter().flatten()
    }
}

/// The name of the rule's constant, which follows from its id.
pub fn constant(rule: RuleRef) -> String {
    rule.id.to_uppercase().replace(['/', '-'], "_")
}

/// The files below a folder by the rules that they name, tests left out.
pub fn naming(root: &Path, folder: &str, named: fn(&str) -> Vec<String>) -> ByRule {
    let mut places = ByRule::new();
    for (path, text) in sources(root, folder, "rs").into_iter().filter(|(path, _)| counts(path)) {
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(&text);
        let name = path[folder.len() + 1..].to_owned();
        for rule in named(code) {
            let place = Place { path: path.clone(), name: name.clone() };
            places.entry(rule).or_default().insert(place);
        }
    }
    places
}

/// Whether a file may say where a rule is decided or kept: the rule book, and the order of blame,
/// name them all, and tests decide nothing.
fn counts(path: &str) -> bool {
    let names_all = path.starts_with("model/src/rules/") || path == "model/src/blame.rs";
    !(names_all || path.contains("/tests/") || path.ends_with("/tests.rs"))
}

/// The rules in the tags `rule: subject/statement` of comments. A tag may name several with commas
/// between them, and what follows an id after a blank or a colon is for the reader.
pub fn tags(text: &str) -> Vec<String> {
    let tags = text.lines().filter_map(|line| line.split_once("// rule: "));
    let ids = tags.flat_map(|(_, tag)| {
        let ids = tag.split(',').map(|id| id.trim().split([' ', ':', '.']).next().unwrap_or(id));
        // The first is meant to be an id whatever it looks like, so that a slip is seen.
        ids.enumerate().filter(|(nth, id)| *nth == 0 || id.contains('/')).map(|(_, id)| id)
    });
    ids.map(str::to_owned).collect()
}

/// The constants of the rules that code, or its documentation, names as `rules::CONSTANT`.
fn constants(text: &str) -> Vec<String> {
    let is_name = |one: &char| one.is_ascii_uppercase() || *one == '_';
    let named = text.split("rules::").skip(1);
    let mut constants: Vec<String> =
        named.map(|rest| rest.chars().take_while(is_name).collect()).collect();
    // `rules::catalogue`, `rules::RuleRef` and the like are no rules.
    constants.retain(|name| name.len() > 1);
    constants
}

/// The files of a kind below a folder, sorted, each with its text.
fn sources(root: &Path, folder: &str, extension: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut pending = vec![root.join(folder)];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|one| one == extension) {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_tag_may_name_several_rules_and_say_more() {
    let text = "// rule: a/one, a/two: both at once, or so\nlet x = 0; // rule: slip\n";
    assert_eq!(tags(text), ["a/one", "a/two", "slip"]);
}
