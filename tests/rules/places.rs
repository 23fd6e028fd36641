//! Finds the locations in the repository that refer to each rule, by searching its text.
//!
//! A location is a file and the name of an item in it, not a line number: every line added further up would
//! make the page of the rule book out of date, in every branch at once. A function is found as quickly by
//! its name. It is seldom renamed without another reason to look at the page.

use crate::docs::sources;
use herma_harness::cases::Case;
use herma_harness::planted;
use herma_model::rules::{self, RuleRef};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The folder of the reference implementation.
pub const CORE: &str = "core/src";

/// The folder of the generators of histories.
pub const GENERATORS: &str = "harness/src/generate";

/// In a tag or a documentation: this item decides the rule, and those without the word serve it.
const DECIDES: &str = "decides";

/// An item in the repository that refers to a rule. The item to read first is the least.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// Whether the rule is decided elsewhere: the tag or the documentation of the item does not say "decides".
    pub is_secondary: bool,
    /// The number of other rules to which the item refers, where that ranks items.
    pub other_rules: usize,
    /// The path of the file from the root of the repository.
    pub path: String,
    /// The name to search for in the file.
    pub name: String,
}

/// By the id of a rule: its locations, without duplicates, ordered by file and name.
type ByRule = BTreeMap<String, BTreeSet<Location>>;

/// Every location to which the page links.
#[derive(Default)]
pub struct RuleLocations {
    model: ByRule,
    core: ByRule,
    planted: ByRule,
    cases: ByRule,
    generated: ByRule,
    tests: ByRule,
}

impl Location {
    /// The item `name` in the file at `path`.
    pub fn new(path: &str, name: &str) -> Location {
        Location {
            is_secondary: true,
            other_rules: 0,
            path: path.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl RuleLocations {
    /// Searches the tree.
    pub fn in_tree() -> RuleLocations {
        let mut locations = RuleLocations::default();
        for (path, text) in sources("model/src", "rs") {
            for (constant, location) in citations(&path, &text) {
                locations.model.entry(constant).or_default().insert(location);
            }
        }
        locations.core = tagged(CORE);
        locations.generated = tagged(GENERATORS);
        for folder in ["model/src", "core/src", "tests"] {
            for (path, text) in sources(folder, "rs") {
                for (id, location) in tested(&path, &text) {
                    locations.tests.entry(id.to_owned()).or_default().insert(location);
                }
            }
        }
        let bug_sources = sources("harness/src/planted", "rs");
        for bug in planted::catalogue() {
            let quoted = format!("\"{}\"", bug.name);
            let file = bug_sources.iter().find(|(_, text)| text.contains(&quoted));
            let (path, _) = file.expect("a planted bug is called by its name somewhere");
            let location = Location::new(path, bug.name);
            locations.planted.entry(bug.rule.id.to_owned()).or_default().insert(location);
        }
        for (path, text) in sources("harness/cases", "yaml") {
            let case = Case::from_yaml(&text, Path::new(&path)).unwrap();
            for id in case.rules {
                let location = Location::new(&path, &case.id);
                locations.cases.entry(id).or_default().insert(location);
            }
        }
        for by_rule in [&mut locations.model, &mut locations.core] {
            by_rule.values_mut().for_each(keep_first);
        }
        rank_by_other_rules(&mut locations.tests);
        locations
    }

    /// The functions of the model that decide the rule.
    pub fn in_the_model(&self, rule: RuleRef) -> impl Iterator<Item = &Location> {
        self.model.get(&constant(rule)).into_iter().flatten()
    }

    /// The functions of the core that implement the rule.
    pub fn in_the_core(&self, rule: RuleRef) -> impl Iterator<Item = &Location> {
        self.core.get(rule.id).into_iter().flatten()
    }

    /// The tests that name the rule.
    pub fn tests(&self, rule: RuleRef) -> impl Iterator<Item = &Location> {
        self.tests.get(rule.id).into_iter().flatten()
    }

    /// The generators that target the rule.
    pub fn generated(&self, rule: RuleRef) -> impl Iterator<Item = &Location> {
        self.generated.get(rule.id).into_iter().flatten()
    }

    /// The planted bugs that break the rule.
    pub fn planted(&self, rule: RuleRef) -> impl Iterator<Item = &Location> {
        self.planted.get(rule.id).into_iter().flatten()
    }

    /// The written cases for the rule.
    pub fn cases(&self, rule: RuleRef) -> impl Iterator<Item = &Location> {
        self.cases.get(rule.id).into_iter().flatten()
    }
}

/// Keeps one location of an item that refers to the rule several times: the one that decides it.
fn keep_first(locations: &mut BTreeSet<Location>) {
    let mut items = BTreeSet::new();
    locations.retain(|location| items.insert((location.path.clone(), location.name.clone())));
}

/// The test that refers to the fewest other rules shows a rule best.
fn rank_by_other_rules(by_rule: &mut ByRule) {
    let mut counts: BTreeMap<Location, usize> = BTreeMap::new();
    for location in by_rule.values().flatten() {
        *counts.entry(location.clone()).or_default() += 1;
    }
    for locations in by_rule.values_mut() {
        let ranked = std::mem::take(locations)
            .into_iter()
            .map(|location| Location { other_rules: counts[&location] - 1, ..location });
        *locations = ranked.collect();
    }
}

/// The name of the rule's constant, which follows from its id.
pub fn constant(rule: RuleRef) -> String {
    rule.id.to_uppercase().replace(['/', '-'], "_")
}

/// The locations of the tags below a folder, without tests.
fn tagged(folder: &str) -> ByRule {
    let mut locations = ByRule::new();
    for (path, text) in sources(folder, "rs") {
        let code = &text[..tests_offset(&path, &text)];
        for (id, location) in tags_of(&path, code) {
            locations.entry(id).or_default().insert(location);
        }
    }
    locations
}

/// Each rule that a test of a file names, with the test. A rule that a helper or a constant names belongs to the
/// tests that use it.
fn tested(path: &str, text: &str) -> Vec<(&'static str, Location)> {
    let lines: Vec<&str> = text.lines().collect();
    let first_line = text[..tests_offset(path, text)].lines().count();
    let is_word = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let constants: Vec<(RuleRef, String)> =
        rules::catalogue().map(|rule| (rule, format!("rules::{}", constant(rule)))).collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate().skip(first_line) {
        for (rule, constant) in &constants {
            let contains =
                |name: &str| line.split(name).skip(1).any(|rest| !rest.starts_with(is_word));
            if contains(rule.id) || contains(constant) {
                let tests = tests_with(path, &lines, described_line(&lines, index));
                found.extend(tests.into_iter().map(|location| (rule.id, location)));
            }
        }
    }
    found
}

/// The test that contains the line, or the tests of the file that use the item which contains it.
fn tests_with(path: &str, lines: &[&str], index: usize) -> Vec<Location> {
    let is_test = |start: usize| {
        let above = lines[..start].iter().rev().map(|line| line.trim_start());
        above
            .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
            .any(|line| line == "#[test]")
    };
    let location = |index| Location::new(path, &owner(path, lines, index));
    // In a file of tests items begin in the first column, in a module of tests in the fifth.
    let is_item = |line: &str| indentation(line) <= 4 && item_name(line.trim_start()).is_some();
    let Some(start) = (0..=index).rev().find(|start| is_item(lines[*start])) else {
        return vec![location(index)];
    };
    if is_test(start) {
        return vec![location(start)];
    }
    let name = item_name(lines[start].trim_start()).unwrap_or_default();
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let uses = |line: &str| line.split(|end| !is_word(end)).any(|word| word == name);
    let items: Vec<usize> = (0..lines.len()).filter(|start| is_item(lines[*start])).collect();
    let ends = items.iter().skip(1).copied().chain([lines.len()]);
    let tests = items.iter().copied().zip(ends).filter(|(start, _)| is_test(*start));
    let users = tests.filter(|(start, end)| lines[*start..*end].iter().any(|line| uses(line)));
    users.map(|(start, _)| location(start)).collect()
}

/// The offset in the text of a file at which its tests begin.
fn tests_offset(path: &str, text: &str) -> usize {
    let is_test_file =
        path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs");
    if is_test_file { 0 } else { text.find("\nmod tests {").unwrap_or(text.len()) }
}

/// Every tag `rule: subject/statement` in a comment below a folder, and the location of the tag.
pub fn tags(folder: &str) -> Vec<(String, Location)> {
    sources(folder, "rs").iter().flat_map(|(path, text)| tags_of(path, text)).collect()
}

/// The tags of one file. A tag may name several rules, separated by commas; text after an id and a blank or a
/// colon is a remark for readers.
fn tags_of(path: &str, text: &str) -> Vec<(String, Location)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some((_, tag)) = line.split_once("// rule: ") else { continue };
        let name = owner(path, &lines, described_line(&lines, index));
        for (position, part) in tag.split(',').enumerate() {
            let id = part.trim().split([' ', ':', '.']).next().unwrap_or(part);
            // The first word counts as an id even if it does not look like one, so that a typo is found.
            if position > 0 && !id.contains('/') {
                continue;
            }
            let is_secondary = !part.contains(DECIDES);
            found.push((id.to_owned(), Location { is_secondary, ..Location::new(path, &name) }));
        }
    }
    found
}

/// Every `rules::CONSTANT` in a doc paragraph, on or below its line with "Implements", and the documented item.
/// Code that only blames or counts a rule does not decide it.
fn citations(path: &str, text: &str) -> Vec<(String, Location)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let counts = line.trim_start().starts_with("///") && implements(&lines, index);
        for rest in line.split("rules::").skip(1).filter(|_| counts) {
            let is_name = |character: char| {
                character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_'
            };
            let name: String = rest.chars().take_while(|character| is_name(*character)).collect();
            let owner = owner(path, &lines, described_line(&lines, index));
            let is_secondary = !rest[name.len()..].starts_with(&format!("`] ({DECIDES})"));
            found.push((name, Location { is_secondary, ..Location::new(path, &owner) }));
        }
    }
    found
}

/// Whether this line, or an earlier line of its doc paragraph, contains "Implements".
fn implements(lines: &[&str], index: usize) -> bool {
    let doc = lines[..=index].iter().rev().map_while(|line| line.trim_start().strip_prefix("///"));
    let mut paragraph = doc.take_while(|text| !text.trim().is_empty());
    paragraph.any(|text| text.contains("Implements"))
}

/// The line of the item below a comment at `index`; `index` itself if that line is not a comment.
fn described_line(lines: &[&str], index: usize) -> usize {
    let is_above =
        |line: &&str| ["//", "#["].iter().any(|start| line.trim_start().starts_with(start));
    let above = lines[index..].iter().take_while(|line| is_above(line)).count();
    (index + above).min(lines.len() - 1)
}

/// The name of the item that contains the line: a function with its type or module, or a constant; the module
/// if there is neither.
fn owner(path: &str, lines: &[&str], index: usize) -> String {
    let module = path.trim_end_matches("/mod.rs").trim_end_matches(".rs");
    let module = module.rsplit('/').next().unwrap_or(module);
    let mut inside = indentation(lines[index]) + 1;
    let mut item = None;
    for line in lines[..=index].iter().rev() {
        let text = line.trim_start();
        // The end of a long signature is indented like its beginning.
        let is_signature = text.starts_with(')') || text.starts_with("where") || text == "{";
        if text.is_empty() || indentation(line) >= inside || is_signature {
            continue;
        }
        inside = indentation(line);
        match (&item, item_name(text)) {
            (None, Some(name)) => item = Some(name),
            (Some(item), _) => {
                if let Some(type_name) = implemented_type(text) {
                    return format!("{type_name}::{item}");
                }
            }
            (None, None) => {}
        }
    }
    item.map_or_else(|| module.to_owned(), |item| format!("{module}::{item}"))
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The name of the function or constant that begins on this line.
fn item_name(text: &str) -> Option<&str> {
    let item = match text.strip_prefix("pub") {
        Some(rest) => rest.split_once(' ')?.1,
        None => text,
    };
    let mut words = item.split([' ', '(', '<', ':']);
    match (words.next()?, words.next()?) {
        ("const", "fn") => words.next(),
        ("fn" | "const" | "static", name) => Some(name),
        _ => None,
    }
}

/// The type whose methods begin on this line.
fn implemented_type(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("impl")?.trim_end_matches(['{', ' ']);
    let target = rest.rsplit_once(" for ").map_or(rest, |(_, target)| target);
    let target = if target.starts_with('<') { target.split_once("> ")?.1 } else { target };
    target.trim().split('<').next()
}

#[test]
fn citations_names_a_location_by_its_function_and_type() {
    let text = "\
impl<'a> Shown<'a> for World<'a> {
    /// Something.
    ///
    /// Implements [`rules::A_DOC`],
    /// [`rules::A_SECOND`].
    #[inline]
    pub(super) fn step(
        &self,
    ) -> &'static Rule {
        if self.is_so() {
            // As [`rules::A_COMMENT`] has it.
            return &rules::A_FIRST;
        }
    }
}

/// Unlike [`rules::A_MENTION`].
fn alone() -> &'static Rule { &rules::A_LAST }
";
    let found = citations("model/src/world/mod.rs", text);
    let found: Vec<_> = found
        .iter()
        .map(|(constant, location)| (constant.as_str(), location.name.as_str()))
        .collect();
    let expected = [("A_DOC", "World::step"), ("A_SECOND", "World::step")];
    assert_eq!(found, expected);
}

#[test]
fn tags_of_assigns_a_tag_to_the_function_that_contains_or_follows_it() {
    let text = "\
impl Store {
    // rule: a/above
    /// Something.
    pub fn open() {
        walk(|file| {
            // rule: a/one, a/two: both at once, or so
            file.close()
        });
    }
}
const CAP: u64 = 0; // rule: a/beside
// rule: slip
fn alone() {}
";
    let found = tags_of("core/src/store.rs", text);
    let found: Vec<_> =
        found.iter().map(|(id, location)| (id.as_str(), location.name.as_str())).collect();
    let expected = [
        ("a/above", "Store::open"),
        ("a/one", "Store::open"),
        ("a/two", "Store::open"),
        ("a/beside", "store::CAP"),
        ("slip", "store::alone"),
    ];
    assert_eq!(found, expected);
}
