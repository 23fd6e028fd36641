//! Where the tree speaks of each rule, found in its text.
//!
//! A place is a file and the name of what stands there, never a line: every line that somebody adds
//! further up would make the page of the rule book out of date, in every branch at once. A function
//! is found by its name as fast, and is seldom renamed without a reason to look at the page.

use herma_harness::cases::Case;
use herma_harness::planted;
use herma_model::rules::{self, RuleRef};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The folder of the reference implementation.
pub const CORE: &str = "core/src";

/// The folder of what draws histories.
pub const GENERATORS: &str = "harness/src/generate";

/// Something in the tree that a rule has to do with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, as seen from the root of the tree.
    pub path: String,
    /// What to look for in it.
    pub name: String,
}

/// By the id of a rule: the places, each once, in the order of files and names.
type ByRule = BTreeMap<String, BTreeSet<Place>>;

/// Everything the page leads to.
#[derive(Default)]
pub struct Places {
    model: ByRule,
    core: ByRule,
    planted: ByRule,
    cases: ByRule,
    generated: ByRule,
    tests: ByRule,
}

impl Places {
    /// Looks through the tree at `root`.
    pub fn of_the_tree(root: &Path) -> Places {
        let mut places = Places::default();
        for (path, text) in sources(root, "model/src", "rs") {
            for (constant, place) in citations(&path, &text) {
                places.model.entry(constant).or_default().insert(place);
            }
        }
        places.core = tagged(root, CORE);
        places.generated = tagged(root, GENERATORS);
        for folder in ["model/src/tests", "core/src", "tests"] {
            for (path, text) in sources(root, folder, "rs") {
                for (id, place) in tested(&path, &text) {
                    places.tests.entry(id.to_owned()).or_default().insert(place);
                }
            }
        }
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

    /// The tests that name it.
    pub fn tests(&self, rule: RuleRef) -> impl Iterator<Item = &Place> {
        self.tests.get(rule.id).into_iter().flatten()
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

/// The places that a tag below a folder is of, tests left out.
fn tagged(root: &Path, folder: &str) -> ByRule {
    let mut places = ByRule::new();
    for (path, text) in sources(root, folder, "rs") {
        let behaves = &text[..begin_of_tests(&path, &text)];
        for (id, place) in tags_of(&path, behaves) {
            places.entry(id).or_default().insert(place);
        }
    }
    places
}

/// Each test of a file with a rule that it names.
fn tested(path: &str, text: &str) -> Vec<(&'static str, Place)> {
    let lines: Vec<&str> = text.lines().collect();
    let behaves = text[..begin_of_tests(path, text)].lines().count();
    let is_word = |one: char| one.is_ascii_alphanumeric() || "-_".contains(one);
    let called: Vec<(RuleRef, String)> =
        rules::catalogue().map(|rule| (rule, format!("rules::{}", constant(rule)))).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(behaves) {
        for (rule, constant) in &called {
            let names =
                |name: &str| line.split(name).skip(1).any(|behind| !behind.starts_with(is_word));
            if names(rule.id) || names(constant) {
                let name = owner(path, &lines, described(&lines, at));
                found.push((rule.id, Place { path: path.to_owned(), name }));
            }
        }
    }
    found
}

/// Where in the text of a file its tests begin.
fn begin_of_tests(path: &str, text: &str) -> usize {
    let is_whole =
        path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs");
    if is_whole { 0 } else { text.find("\nmod tests {").unwrap_or(text.len()) }
}

/// Every tag `rule: subject/statement` in a comment below a folder, and what it stands at.
pub fn tags(root: &Path, folder: &str) -> Vec<(String, Place)> {
    sources(root, folder, "rs").iter().flat_map(|(path, text)| tags_of(path, text)).collect()
}

/// The tags of one file. A tag may name several rules with commas between them, and what follows
/// an id after a blank or a colon is for the reader.
fn tags_of(path: &str, text: &str) -> Vec<(String, Place)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((_, tag)) = line.split_once("// rule: ") else { continue };
        let name = owner(path, &lines, described(&lines, at));
        let ids = tag.split(',').map(|id| id.trim().split([' ', ':', '.']).next().unwrap_or(id));
        // The first is meant to be an id whatever it looks like, so that a slip is seen.
        for (_, id) in ids.enumerate().filter(|(nth, id)| *nth == 0 || id.contains('/')) {
            found.push((id.to_owned(), Place { path: path.to_owned(), name: name.clone() }));
        }
    }
    found
}

/// Every `rules::CONSTANT` in a paragraph of documentation that says what is implemented there, and
/// what it stands above. Code that blames or counts a rule does not decide it.
fn citations(path: &str, text: &str) -> Vec<(String, Place)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let counts = line.trim_start().starts_with("///") && implements(&lines, at);
        for rest in line.split("rules::").skip(1).filter(|_| counts) {
            let is_name =
                |one: char| one.is_ascii_uppercase() || one.is_ascii_digit() || one == '_';
            let name: String = rest.chars().take_while(|one| is_name(*one)).collect();
            let owner = owner(path, &lines, described(&lines, at));
            found.push((name, Place { path: path.to_owned(), name: owner }));
        }
    }
    found
}

/// Whether the paragraph of documentation that holds this line opens with what it implements.
fn implements(lines: &[&str], at: usize) -> bool {
    let doc = lines[..=at].iter().rev().map_while(|line| line.trim_start().strip_prefix("///"));
    let mut paragraph = doc.take_while(|text| !text.trim().is_empty());
    paragraph.any(|text| text.contains("Implements"))
}

/// The line of what a comment at `at` stands above; `at` itself where it is no comment.
fn described(lines: &[&str], at: usize) -> usize {
    let is_above =
        |line: &&str| ["//", "#["].iter().any(|start| line.trim_start().starts_with(start));
    let above = lines[at..].iter().take_while(|line| is_above(line)).count();
    (at + above).min(lines.len() - 1)
}

/// The name of what the line belongs to: its function with the type it is of, or the constant; the
/// module where there is neither.
fn owner(path: &str, lines: &[&str], at: usize) -> String {
    let module = path.trim_end_matches("/mod.rs").trim_end_matches(".rs");
    let module = module.rsplit('/').next().unwrap_or(module);
    let mut inside = indentation(lines[at]) + 1;
    let mut item = None;
    for line in lines[..=at].iter().rev() {
        let text = line.trim_start();
        // The end of a long signature stands as far left as its beginning.
        let is_signature = text.starts_with(')') || text.starts_with("where") || text == "{";
        if text.is_empty() || indentation(line) >= inside || is_signature {
            continue;
        }
        inside = indentation(line);
        match (&item, named(text)) {
            (None, Some(name)) => item = Some(name),
            (Some(item), _) => {
                if let Some(of) = implemented(text) {
                    return format!("{of}::{item}");
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

/// The name of the function or constant that begins here.
fn named(text: &str) -> Option<&str> {
    let item = match text.strip_prefix("pub") {
        Some(visible) => visible.split_once(' ')?.1,
        None => text,
    };
    let mut words = item.split([' ', '(', '<', ':']);
    match (words.next()?, words.next()?) {
        ("const", "fn") => words.next(),
        ("fn" | "const" | "static", name) => Some(name),
        _ => None,
    }
}

/// The type whose methods begin here.
fn implemented(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("impl")?.trim_end_matches(['{', ' ']);
    let of = rest.rsplit_once(" for ").map_or(rest, |(_, of)| of);
    let of = if of.starts_with('<') { of.split_once("> ")?.1 } else { of };
    of.trim().split('<').next()
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
fn a_place_is_called_by_its_function_and_type() {
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
    let found: Vec<_> =
        found.iter().map(|(constant, place)| (constant.as_str(), place.name.as_str())).collect();
    let expected = [("A_DOC", "World::step"), ("A_SECOND", "World::step")];
    assert_eq!(found, expected);
}

#[test]
fn a_tag_is_of_the_function_that_it_stands_in_or_above() {
    let text = "\
impl Store {
    // rule: a/above
    /// Something.
    pub fn open() {
        walk(|one| {
            // rule: a/one, a/two: both at once, or so
            one.close()
        });
    }
}
const CAP: u64 = 0; // rule: a/beside
// rule: slip
fn alone() {}
";
    let found = tags_of("core/src/store.rs", text);
    let found: Vec<_> =
        found.iter().map(|(id, place)| (id.as_str(), place.name.as_str())).collect();
    let expected = [
        ("a/above", "Store::open"),
        ("a/one", "Store::open"),
        ("a/two", "Store::open"),
        ("a/beside", "store::CAP"),
        ("slip", "store::alone"),
    ];
    assert_eq!(found, expected);
}
