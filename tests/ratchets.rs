//! Ratchets: habits that make the code hard to read are counted, and no count may rise.
//!
//! The counts read the text as rustfmt leaves it: an item ends at the first `}` of its own indentation. A
//! count that falls fails as well, so that its ceiling is lowered in the same change.

use crate::docs::{root, sources};
use std::collections::BTreeMap;
use std::{fs, iter};

/// Finds the occurrences in the text of one file.
type Find = fn(&str) -> Vec<String>;

/// What is counted, its ceiling, and the function that finds the occurrences in one file.
const RATCHETS: &[(&str, usize, Find)] = &[
    ("closures with a parameter `one`", 0, closures_of_one),
    ("lets of two values at once, `let (a, b) = (x, y)`", 0, tuple_lets),
    ("functions with a tuple as a parameter", 0, tuple_parameters),
    ("functions with more than four parameters besides self", 16, many_parameters),
    ("functions of more than 70 lines", 0, long_functions),
    ("files of more than 450 lines", 0, long_files),
];
/// Type names that stand for more than two types of the workspace.
const AMBIGUOUS_TYPES: usize = 22;
/// Pages that a test or a command writes; their lines have any width.
const GENERATED: [&str; 7] = [
    "matrix.md",
    "rules.md",
    "known-failures.md",
    "capabilities.md",
    "kill-matrix.md",
    "excuses.md",
    "worlds.md",
];
/// The columns of a line of prose in a page; a row of a table may be wider.
const PAGE_COLUMNS: usize = 120;

/// Every Rust file of the workspace with its path, but for this one: its patterns would count as what they find.
/// An adapter with its own package is built where it is installed.
fn workspace() -> BTreeMap<String, String> {
    let folders = ["core", "model", "harness", "tests"].into_iter();
    let files = folders.flat_map(|folder| sources(folder, "rs"));
    files.filter(|(path, _)| path != "tests/ratchets.rs" && !path.contains("/adapters/")).collect()
}

/// The lines that are not comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//"))
}

fn lines_with(text: &str, is_match: impl Fn(&str) -> bool) -> Vec<String> {
    code(text).filter(|line| is_match(line)).map(|line| line.trim().to_owned()).collect()
}

fn closures_of_one(text: &str) -> Vec<String> {
    lines_with(text, |line| line.contains("|one|") || line.contains("|&one|"))
}

/// A `let … else` of several values may have them, since it has one way out.
fn tuple_lets(text: &str) -> Vec<String> {
    lines_with(text, |line| {
        line.trim_start().starts_with("let (")
            && line.contains(") = (")
            && !line.contains(" else {")
    })
}

/// The name, parameters and number of lines of each function.
fn functions(text: &str) -> Vec<(String, Vec<String>, usize)> {
    let lines: Vec<&str> = code(text).collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        // A visibility such as `pub(super)` has a bracket of its own.
        let item = line.split_once(") fn ").map_or(*line, |(_, rest)| rest);
        let head = item.split(['(', '<']).next().unwrap_or_default();
        let words: Vec<&str> = head.split_whitespace().collect();
        let follows_visibility = item != *line && words.len() == 1;
        let is_head = words.iter().rev().nth(1) == Some(&"fn") || follows_visibility;
        if !is_head || head.contains('"') {
            continue;
        }
        let indentation = &line[..line.len() - line.trim_start().len()];
        let is_end = |line: &&str| {
            line.strip_prefix(indentation)
                .is_some_and(|rest| rest == "}" || rest.ends_with(';') && !rest.starts_with(' '))
        };
        let ends_at_once = line.ends_with(';') || line.ends_with('}');
        let end = lines[start..].iter().position(is_end).filter(|_| !ends_at_once).unwrap_or(0);
        let text = lines[start..=start + end].join(" ");
        let name = line.split("fn ").nth(1).unwrap_or_default();
        let name = name.split(['(', '<']).next().unwrap_or_default();
        found.push((name.to_owned(), parameters(&text, name), end + 1));
    }
    found
}

/// The parameters of a function besides self.
fn parameters(function: &str, name: &str) -> Vec<String> {
    let rest = function.split_once(&format!("fn {name}")).map_or("", |(_, rest)| rest);
    let mut depth = 0;
    let mut before = ' ';
    let mut current = String::new();
    let mut found = Vec::new();
    // Generics come first; what they enclose is at depth 1, too, and holds no parameter list.
    let mut is_open = false;
    for character in rest.chars() {
        match character {
            '(' if depth == 0 => is_open = true,
            ')' if depth == 1 && is_open => break,
            ',' if depth == 1 && is_open => {
                found.push(std::mem::take(&mut current));
                before = character;
                continue;
            }
            _ => {}
        }
        if is_open && depth >= 1 {
            current.push(character);
        }
        depth += i32::from("([{<".contains(character));
        depth -= i32::from(")]}".contains(character) || character == '>' && before != '-');
        before = character;
    }
    found.push(current);
    let found = found.iter().map(|parameter| parameter.trim());
    let is_self = |text: &str| text.split(':').next().is_some_and(|name| name.ends_with("self"));
    found.filter(|text| !text.is_empty() && !is_self(text)).map(str::to_owned).collect()
}

fn many_parameters(text: &str) -> Vec<String> {
    let many = functions(text).into_iter().filter(|(_, parameters, _)| parameters.len() > 4);
    many.map(|(name, ..)| name).collect()
}

fn tuple_parameters(text: &str) -> Vec<String> {
    let is_tuple = |parameter: &String| {
        let kind = parameter.split_once(": ").map_or("", |(_, kind)| kind);
        kind.trim_start_matches('&').starts_with('(') && !kind.contains("dyn ")
    };
    let found = functions(text).into_iter();
    found.filter(|(_, list, _)| list.iter().any(is_tuple)).map(|(name, ..)| name).collect()
}

fn long_functions(text: &str) -> Vec<String> {
    let long = functions(text).into_iter().filter(|(.., lines)| *lines > 70);
    long.map(|(name, _, lines)| format!("{name}: {lines}")).collect()
}

fn long_files(text: &str) -> Vec<String> {
    let count = text.lines().count();
    iter::once(format!("{count} lines")).filter(|_| count > 450).collect()
}

fn ambiguous_types(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in files.values().flat_map(|text| code(text)) {
        let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
        if let (Some("struct" | "enum" | "trait" | "type"), Some(name)) =
            (words.next(), words.next())
        {
            let name = name.split(|end: char| !end.is_alphanumeric()).next().unwrap_or_default();
            *counts.entry(name).or_default() += 1;
        }
    }
    let many = counts.into_iter().filter(|(_, count)| *count > 2);
    many.map(|(name, count)| format!("{name}: {count} types")).collect()
}

/// Compares a count with its ceiling.
fn check(subject: &str, ceiling: usize, found: &[String]) {
    let count = found.len();
    assert!(count <= ceiling, "{subject}: {count}, at most {ceiling}:\n{}", found.join("\n"));
    assert_eq!(count, ceiling, "{subject}: fewer than before; lower the ceiling in this file");
}

#[test]
fn no_count_rises() {
    let files = workspace();
    for (subject, ceiling, find) in RATCHETS {
        let in_file = |(path, text): (&String, &String)| -> Vec<String> {
            find(text).iter().map(|found| format!("  {path}: {found}")).collect()
        };
        check(subject, *ceiling, &files.iter().flat_map(in_file).collect::<Vec<_>>());
    }
    check("type names with more than two meanings", AMBIGUOUS_TYPES, &ambiguous_types(&files));
}

#[test]
fn pages_fit_their_columns() {
    let pages = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let decisions = fs::read_dir(root().join("docs/decisions")).unwrap();
    let pages = pages.chain(decisions.map(|entry| entry.unwrap().path()));
    let pages = pages.chain(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
            .map(|name| root().join(name)),
    );
    let mut wide = Vec::new();
    for path in pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(&path).unwrap();
        if GENERATED.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        let prose = text.split("```").step_by(2).flat_map(str::lines);
        let is_wide = |line: &&str| {
            line.chars().count() > PAGE_COLUMNS
                && !line.starts_with('|')
                && !line.starts_with("    ")
        };
        wide.extend(prose.filter(is_wide).map(|line| format!("{}: {line}", path.display())));
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

#[test]
fn functions_finds_parameters_and_length() {
    let text = "    pub fn short(&self, a: u8, (b, c): (u8, u8)) -> u8 {\n        b\n    }\n";
    assert_eq!(
        functions(text),
        [("short".into(), vec!["a: u8".into(), "(b, c): (u8, u8)".into()], 3)]
    );
    assert_eq!(tuple_parameters(text), ["short"]);
    let generic = "fn generic<T: Fn(u8) -> u8>(\n    a: T,\n    b: BTreeMap<u8, (u8, u8)>,\n) -> u8 {\n    0\n}\n";
    assert_eq!(functions(generic)[0].1.len(), 2, "{:?}", functions(generic));
    assert_eq!(
        functions("pub(super) fn seen(a: u8) {\n}\n"),
        [("seen".into(), vec!["a: u8".into()], 2)]
    );
    let long = format!("fn long() {{\n{}}}\n", "    step();\n".repeat(70));
    assert_eq!(long_functions(&long), ["long: 72"]);
}
