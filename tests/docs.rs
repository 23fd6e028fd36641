//! The pages of `docs/`: generated pages are up to date (`UPDATE_DOCS=1` writes them), and examples run.

use herma_harness::bundled::{Bundled, CATALOGUE, in_python};
use herma_harness::careful;
use herma_harness::expectations::Expectations;
use herma_harness::front_door::{self, DoorResults};
use herma_harness::levels::{self, ConformanceReport};
use herma_tests::built_binary;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::iter::once;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The root of the tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Asserts that a page has this text, or writes the page if `UPDATE_DOCS` is set.
pub fn assert_page(page: &str, text: &str) {
    let path = root().join("docs").join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "docs/{page} is out of date: run `just docs` (or see CONTRIBUTING)");
}

/// The files with an extension below a folder of the tree, sorted by path, each with its text.
pub fn sources(folder: &str, extension: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut pending = vec![root().join(folder)];
    while let Some(path) = pending.pop() {
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|actual| actual == extension) {
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            found.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    found.sort();
    found
}

/// The Rust files below a folder, sorted, each with the first sentence of its module doc.
fn modules(folder: &str) -> Vec<(String, String)> {
    let files = sources(folder, "rs").into_iter();
    files.map(|(path, text)| (path, first_sentence(&text))).collect()
}

/// The first sentence of a module doc.
pub fn first_sentence(source: &str) -> String {
    let doc = source.lines().map_while(|line| line.strip_prefix("//!"));
    let paragraph = doc.take_while(|line| !line.trim().is_empty());
    let text = paragraph.map(str::trim).collect::<Vec<_>>().join(" ");
    match text.split_once(". ") {
        Some((sentence, _)) => format!("{sentence}."),
        None => text,
    }
}

#[test]
fn the_published_protocol_schema_matches_the_types() {
    assert_page("protocol.schema.json", &herma_harness::protocol::schema::text());
}

/// The fenced blocks of a Markdown page: the words after the opening fence, and the text.
pub fn blocks(page: &str) -> Vec<(Vec<&str>, String)> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(words) = line.strip_prefix("```") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push((words.split(' ').collect(), text.join("\n") + "\n"));
        }
    }
    found
}

/// The value of `PATH` with the folders of these commands in front, and of Python itself: what many machines
/// have in its place starts a dozen shells first.
pub fn path_with_commands(binaries: &[&Path]) -> OsString {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let path = std::env::var_os("PATH").unwrap();
    let python = PYTHON.get_or_init(|| Some(in_python(Path::new("")).ok()?.swap_remove(0).into()));
    let binaries = binaries.iter().copied().chain(python.as_deref());
    let folders = binaries.filter_map(Path::parent).map(Path::to_owned);
    std::env::join_paths(folders.chain(std::env::split_paths(&path))).unwrap()
}

#[test]
fn every_command_and_file_of_docs_adapters_md_works_verbatim() {
    let is_installed = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let folder = tempfile::tempdir().unwrap();
    let binary = built_binary("herma-conform");
    let search_path = path_with_commands(&[&binary]);
    let page = fs::read_to_string(root().join("docs/adapters.md")).unwrap();
    let mut ran = 0;
    for (words, text) in blocks(&page) {
        if let [_, file] = words[..] {
            fs::write(folder.path().join(file), &text).unwrap();
            continue;
        }
        assert_eq!(words, ["sh"], "a block is a file with its name, or commands");
        for line in text.lines() {
            let (command, code) = line.split_once("  # ends with ").unwrap_or((line, "0"));
            if let Some(program) =
                ["python3", "node"].into_iter().find(|name| command.contains(name))
                && !is_installed(program)
            {
                eprintln!("not run: {command} (no {program} on this machine)");
                continue;
            }
            let mut shell = Command::new("bash");
            shell.args(["-c", command]).current_dir(&folder).env("PATH", &search_path);
            let output = shell.output().unwrap();
            assert_eq!(output.status.code(), code.parse().ok(), "{command}: {output:?}");
            ran += 1;
        }
    }
    assert!(ran > 1, "nothing was run");
}

#[test]
fn docs_capabilities_md_matches_the_protocol() {
    assert_page("capabilities.md", &herma_harness::protocol::claims::page());
}

/// The page has one row for each failure that a gate expects, with the recorded reason.
#[test]
fn docs_known_failures_md_matches_the_expectations() {
    let mut page = "# What the gates expect to fail\n\nGenerated from `harness/expectations/`, which \
        `herma-conform gate SUBJECT` holds and `herma-conform update` writes: do not edit it. How each failure \
        was seen without the suite is in [foreign-subjects.md](foreign-subjects.md).\n"
        .to_owned();
    // Several versions of one package share a file.
    let mut seen = BTreeSet::new();
    let files = |subject: &'static Bundled| once(subject.expectations).chain(subject.injected());
    for text in CATALOGUE.iter().flat_map(files).filter(|text| seen.insert(*text)) {
        let expectations = Expectations::read(text, "a bundled file".into()).unwrap();
        let subject = &expectations.subject;
        let seeds = &expectations.seeds;
        let histories = expectations.histories;
        let injected = if expectations.inject { ", while something happens" } else { "" };
        page +=
            &format!("\n## {subject}{injected}\n\nSeeds {seeds:?}, {histories} histories each.\n");
        page += "\n| rule | versions | what shows | why |\n|---|---|---|---|\n";
        for entry in &expectations.expect {
            let design = if entry.is_by_design() { "By design: " } else { "" };
            let cells = [&entry.rule, &entry.versions.to_string(), &entry.symptom, &entry.reason];
            let [rule, versions, symptom, reason] = cells.map(|cell| cell.replace('|', "\\|"));
            page += &format!("| {rule} | {versions} | {symptom} | {design}{reason} |\n");
        }
    }
    assert_page("known-failures.md", &page);
}

/// The submitted reports, sorted by the names of their files.
#[test]
fn every_submitted_report_is_right_and_docs_matrix_md_is_built_from_them() {
    let mut reports = Vec::new();
    for (file, text) in sources("docs/reports", "yaml") {
        let report = ConformanceReport::from_yaml(&text).unwrap();
        assert_eq!(report.check(), Ok(()), "{file}");
        assert_eq!(file, format!("docs/reports/{}", report.file_name()));
        reports.push(report);
    }
    assert!(!reports.is_empty());
    assert_page("matrix.md", &levels::page::page(&reports).unwrap());
    assert_page("matrix.svg", &levels::chart::chart(&reports));
}

#[test]
fn docs_agents_md_adds_up_the_kept_results_of_docs_agents() {
    let kept = sources("docs/agents", "json").into_iter();
    let runs: Vec<DoorResults> =
        kept.map(|(_, text)| serde_json::from_str(&text).unwrap()).collect();
    assert!(!runs.is_empty());
    assert_page("agents.md", &front_door::page(&front_door::merged(runs)));
}

/// Only the names are checked here; CI recomputes the kills, a part of them at a time.
#[test]
fn docs_kill_matrix_md_names_every_planted_bug() {
    let page = fs::read_to_string(root().join("docs/kill-matrix.md")).unwrap();
    let missing = herma_harness::planted::catalogue()
        .map(|bug| bug.name)
        .filter(|name| !page.contains(&format!("\n| {name} | ")));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0], "see CONTRIBUTING for how to write the page");
}

/// The book has no pages of its own: its folder holds links into the tree.
#[test]
fn every_page_of_docs_is_once_in_the_summary_of_the_book() {
    let summary = fs::read_to_string(root().join("book/SUMMARY.md")).unwrap();
    let links = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut chapters: Vec<&str> = links.collect();
    chapters.sort_unstable();
    for chapter in &chapters {
        assert!(root().join("book").join(chapter).is_file(), "{chapter}");
    }
    let pages = sources("docs", "md");
    let pages: Vec<&str> = pages.iter().map(|(path, _)| path.as_str()).collect();
    chapters.retain(|chapter| chapter.starts_with("docs/"));
    assert_eq!(chapters, pages);
}

/// The names are between backticks, in the third column of the tables.
#[test]
fn every_row_of_docs_reported_md_names_existing_cases_tests_or_planted_bugs() {
    let page = fs::read_to_string(root().join("docs/reported.md")).unwrap();
    let folders = ["tests", "core/src", "model/src", "harness/src"].into_iter();
    let code: String =
        folders.flat_map(|folder| sources(folder, "rs")).map(|(_, text)| text).collect();
    let tests: BTreeSet<&str> = code
        .split("#[test]\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("fn ")?.1.split('(').next())
        .collect();
    let exists = |name: &str| match name.split_once('/') {
        Some(_) => root().join(format!("harness/cases/{name}.yaml")).is_file(),
        None => {
            tests.contains(name)
                || herma_harness::planted::find(name).is_some()
                || careful::ALL.iter().any(|subject| subject.name == name)
        }
    };
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| id |");
    let mut rows = 0;
    for row in page.lines().filter(is_row) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 6, "{row}");
        let mut names = cells[3].split('`').skip(1).step_by(2).peekable();
        assert!(names.peek().is_some() || cells[3] == "nothing", "{row}");
        assert_eq!(names.find(|name| !exists(name)), None, "{row}");
        rows += 1;
    }
    assert!(rows > 80, "{rows} rows");
}

#[test]
fn every_module_doc_has_a_first_sentence() {
    for folder in ["model", "core", "harness", "fuzz", "tests"] {
        for (name, sentence) in modules(folder) {
            assert!(!sentence.is_empty(), "{name} does not say what it is");
        }
    }
}

#[test]
fn the_model_mentions_no_other_crate_and_the_core_neither_model_nor_harness() {
    for (krate, forbidden) in [
        ("model", &["herma_core", "herma_harness", "std::fs", "std::time", "std::thread"][..]),
        ("core", &["herma_model", "herma_harness"][..]),
    ] {
        for (name, _) in modules(krate) {
            let text = fs::read_to_string(root().join(&name)).unwrap();
            for word in forbidden {
                assert!(!text.contains(word), "{name} mentions {word}");
            }
        }
    }
}

#[test]
fn the_readme_example_is_the_doctest_of_the_harness() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let shown = readme.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("```"));
    let (shown, _) = shown.expect("the README has an example in Rust");
    let source = fs::read_to_string(root().join("harness/src/lib.rs")).unwrap();
    let doc = source.lines().filter_map(|line| line.strip_prefix("//!"));
    let doc = doc.map(|line| line.strip_prefix(' ').unwrap_or(line));
    // Hidden lines of the doctest.
    let doc = doc.filter(|line| !line.trim_start().starts_with("# "));
    let run: String = doc.map(|line| format!("{line}\n")).collect();
    assert!(run.contains(shown), "{run}");
}
