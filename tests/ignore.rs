//! Ignore files: compares the matchers of the model and the core with git itself, on written cases and on
//! generated projects.
//!
//! Scope: the verdict on a single path. How a checkpoint uses the verdicts is tested elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

/// The part of a project that matters to ignore rules.
#[derive(Clone, Debug)]
struct Project {
    /// What git reads from `info/exclude`.
    defaults: String,
    /// The patterns that nothing re-includes; git has no such list.
    secrets: &'static [&'static str],
    /// Directories and the text of the ignore file in them, root first.
    ignore_files: [(&'static str, String); 2],
    /// Paths, and whether they are directories.
    entries: BTreeMap<String, bool>,
}

impl Project {
    /// The project with so many copies of each ignore file one after the other that their rules are looked
    /// up in an index. That changes no verdict.
    fn repeated(&self) -> Project {
        let repeat = |text: &String| vec![text.trim_start_matches('\u{feff}'); 300].join("\n");
        let ignore_files =
            self.ignore_files.each_ref().map(|(directory, text)| (*directory, repeat(text)));
        Project { ignore_files, ..self.clone() }
    }

    /// A project with ignore files at its root and in its directory `d`. A path that ends in a slash is a
    /// directory, and so is every parent of a path.
    fn of(defaults: &str, root: &str, deeper: &str, paths: &[&str]) -> Project {
        let mut entries = BTreeMap::from([("d".to_string(), true)]);
        for path in paths {
            for (slash, _) in path.match_indices('/') {
                entries.insert(path[..slash].to_string(), true);
            }
            if !path.ends_with('/') {
                entries.entry(path.to_string()).or_insert(false);
            }
        }
        let ignore_files = [("", root.to_string()), ("d", deeper.to_string())];
        Project { defaults: defaults.to_string(), secrets: &[], ignore_files, entries }
    }
}

/// Defines a function that returns the entries of a project that an implementation excludes, together with
/// everything inside them.
macro_rules! implementation {
    ($name:ident, $module:path) => {
        fn $name(project: &Project) -> BTreeSet<String> {
            use $module as implementation;
            let excludes = implementation::Excludes::new(&[&project.defaults], project.secrets);
            let files = project.ignore_files.each_ref().map(|(directory, text)| {
                (*directory, implementation::IgnoreFile::parse(text.as_bytes()))
            });
            let mut excluded = BTreeSet::new();
            for (path, is_directory) in &project.entries {
                let above = files.iter().filter(|(directory, _)| is_inside(directory, path));
                let above: Vec<_> = above.map(|(path, file)| (path.as_bytes(), file)).collect();
                let is_closed = excluded.iter().any(|closed: &String| is_inside(closed, path));
                if is_closed || excludes.excludes(&above, path.as_bytes(), *is_directory) {
                    excluded.insert(path.clone());
                }
            }
            excluded
        }
    };
}

implementation!(excluded_by_model, herma_model::ignore);
implementation!(excluded_by_core, herma_core::ignore);

fn is_inside(directory: &str, path: &str) -> bool {
    let rest = path.strip_prefix(directory);
    directory.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
}

/// A repository in which git is run, isolated from the configuration of the machine.
struct Repository {
    home: TempDir,
    /// Git up to 2.51 treats the text after the literal beginning of a pattern as the beginning of a path
    /// component, so that `a**/b` matches `ab`; 2.52 does not.
    cuts_literal_text_off: bool,
}

impl Repository {
    fn new() -> Repository {
        let home = tempfile::tempdir().unwrap();
        let mut repository = Repository { home, cuts_literal_text_off: false };
        std::fs::create_dir(repository.root()).unwrap();
        assert!(repository.git(&["init", "-q"]).status().unwrap().success());
        let probe = Project::of("", "a**/b", "", &["ab"]);
        repository.cuts_literal_text_off = !repository.excluded(&probe).is_empty();
        repository
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("project")
    }

    fn git(&self, arguments: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(self.root()).env_clear();
        git.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        git.env("HOME", self.home.path());
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        git
    }

    /// The entries git excludes. Only directories and ignore files are written: for git, a path
    /// that does not exist is a file.
    fn excluded(&self, project: &Project) -> BTreeSet<String> {
        let root = self.root();
        for entry in std::fs::read_dir(&root).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true if entry.file_name() == ".git" => {}
                true => std::fs::remove_dir_all(entry.path()).unwrap(),
                false => std::fs::remove_file(entry.path()).unwrap(),
            }
        }
        for (path, _) in project.entries.iter().filter(|(_, is_directory)| **is_directory) {
            std::fs::create_dir_all(root.join(path)).unwrap();
        }
        std::fs::write(root.join(".git/info/exclude"), &project.defaults).unwrap();
        for (directory, text) in &project.ignore_files {
            std::fs::write(root.join(directory).join(".gitignore"), text).unwrap();
        }
        // The `./` keeps git from seeing pathspec magic in a name.
        let input: String = project.entries.keys().map(|path| format!("./{path}\0")).collect();
        let mut git = self.git(&["check-ignore", "--no-index", "--stdin", "-z"]);
        let mut git = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        git.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = git.wait_with_output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "git check-ignore: {output:?}");
        let excluded_paths = String::from_utf8(output.stdout).unwrap();
        excluded_paths.split_terminator('\0').map(|path| path.replacen("./", "", 1)).collect()
    }

    /// Whether this git is a reference for the project: for `**` glued to literal text, only git up to 2.51 is.
    fn is_reference_for(&self, project: &Project) -> bool {
        let is_glued = |text: &str| {
            let mut parts = text.as_bytes().windows(3);
            parts.any(|part| part[1..] == *b"**" && !b"/*\n".contains(&part[0]))
        };
        let [(_, root), (_, deeper)] = &project.ignore_files;
        self.cuts_literal_text_off
            || ![&project.defaults, root, deeper].into_iter().any(|text| is_glued(text))
    }
}

/// A name, the text of the ignore file at the root, a path (a directory with a slash at its end),
/// and whether that path is excluded.
struct Case(&'static str, &'static str, &'static str, bool);

const YES: bool = true;
const NO: bool = false;

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case("a name at the root", "a", "a", YES),
    Case("a name at every depth", "a", "b/b/a", YES),
    Case("a name is compared whole", "a", "aa", NO),
    Case("the last line needs no line end", "b\na", "a", YES),
    Case("a comment", "#a", "#a", NO),
    Case("an escaped comment", "\\#a", "#a", YES),
    Case("a blank before a hash makes no comment", " #a", " #a", YES),
    Case("a re-included name", "a*\n!ab", "ab", NO),
    Case("the last match decides", "!ab\na*", "ab", YES),
    Case("an escaped exclamation mark", "\\!a", "!a", YES),
    Case("two exclamation marks", "*a\n!!a", "!a", NO),
    Case("trailing blanks are dropped", "a  ", "a", YES),
    Case("an escaped trailing blank", "a\\ ", "a ", YES),
    Case("only the escaped one is kept", "a\\   ", "a ", YES),
    Case("an escaped backslash protects no blank", "a\\\\ ", "a\\", YES),
    Case("a trailing tab is kept", "a\t", "a", NO),
    Case("a tab alone is a name", "\t", "\t", YES),
    Case("blanks alone are nothing", "   ", " ", NO),
    Case("a Windows line end", "a\r\nb\r\n", "a", YES),
    Case("a Windows line end cut short", "a\r", "a", YES),
    Case("only one carriage return goes", "a\r\r\n", "a\r", YES),
    Case("blanks before a Windows line end", "a  \r\n", "a", YES),
    Case("a byte order mark", "\u{feff}a", "a", YES),
    Case("a byte order mark on the second line", "b\n\u{feff}a", "a", NO),
    Case("a NUL ends a line", "a\0b", "a", YES),
    Case("a directory asked for and found", "a/", "a/", YES),
    Case("a directory asked for, a file found", "a/", "a", NO),
    Case("a directory is not a prefix", "/a/", "ab/", NO),
    Case("a leading slash anchors", "/a", "b/a", NO),
    Case("a leading slash at the root", "/a", "a", YES),
    Case("a middle slash anchors", "a/b", "b/a/b", NO),
    Case("a middle slash at the root", "a/b", "a/b", YES),
    Case("a star in a name", "a*b", "ab", YES),
    Case("a star at the end stays in its component", "/a*\n!/ab/", "ab/c", NO),
    Case("a star stays in its component", "/a*b", "a/b", NO),
    Case("a star for a directory", "a/*/b", "a/b/b", YES),
    Case("a star is not two directories", "a/*/b", "a/d/d/b", NO),
    Case("a suffix", "*.a", "b/.a", YES),
    Case("an anchored suffix", "/*.a", "b/b.a", NO),
    Case("a question mark", "a?", "ab", YES),
    Case("a question mark takes one byte", "a?", "a\u{e9}", NO),
    Case("a question mark takes no slash", "/a?b", "a/b", NO),
    Case("leading double star", "**/a", "b/b/a", YES),
    Case("leading double star at the root", "**/a/b", "a/b", YES),
    Case("trailing double star spares the directory", "a/**", "a/", NO),
    Case("trailing double star takes every depth", "a/**\n!a/b/", "a/b/c", YES),
    Case("double star for no directory", "a/**/b", "a/b", YES),
    Case("double star for two directories", "a/**/b", "a/a/b/b", YES),
    Case("three stars are two", "a/***/b", "a/b/a/b", YES),
    Case("double star before an escaped slash", "a/**\\/b", "a/b", NO),
    Case("double star in a name is a star", "**a**/b", "a/d/b", NO),
    Case("double star glued to literal text", "a**/b", "ab", YES),
    Case("double star glued to escaped text", "\\a**/b", "ab", NO),
    Case("glued double star and an empty end", "a**//", "a/", YES),
    Case("a bracket", "[ab]", "b", YES),
    Case("a range", "[a-c]", "b", YES),
    Case("an inverted bracket", "[!a]", "a", NO),
    Case("a closing bracket comes first", "[]a]", "]", YES),
    Case("an escape in a bracket", "[\\]]", "]", YES),
    Case("a dash that ends a bracket", "[a-]", "-", YES),
    Case("an escaped start of a range", "[\\a-[:alpha:]]", "a", NO),
    Case("a bracket takes no slash", "/a[!b]b", "a/b", NO),
    Case("a class", "[[:digit:]]", "7", YES),
    Case("git's spaces", "[[:space:]]", "\u{b}", NO),
    Case("an unknown class", "[[:foo:]a]", "a", NO),
    Case("what only looks like a class", "[[:a]", ":", YES),
    Case("what was found before it stays", "[a[:]", "a", YES),
    Case("it holds its own bracket", "[[:a]", "[", YES),
    Case("it holds no other byte", "[[:a]", "b", NO),
    Case("an unclosed bracket", "[a", "[a", NO),
    Case("a backslash at the end", "a\\", "a\\", NO),
    Case("a needless escape", "\\a", "a", YES),
];

/// A [`Case`] with default patterns before the ignore files of the root and of the directory `d`.
struct Layered(&'static str, &'static str, [&'static str; 2], &'static str, bool);

#[rustfmt::skip]
const LAYERED: &[Layered] = &[
    Layered("a default", "a", ["", ""], "d/a", YES),
    Layered("a default re-included", "a", ["!a", ""], "d/a", NO),
    Layered("a default cannot re-include", "!a", ["a", ""], "d/a", YES),
    Layered("the deeper file decides", "", ["a", "!a"], "d/a", NO),
    Layered("the deeper file excludes", "", ["!a", "a"], "d/a", YES),
    Layered("the deeper file has no opinion", "", ["a", "b"], "d/a", YES),
    Layered("the deeper file is not for its parent", "", ["", "a"], "a", NO),
    Layered("the deeper file anchors at its directory", "", ["", "/a"], "d/a", YES),
    Layered("the deeper file anchors at no other", "", ["", "/a"], "d/d/a", NO),
    Layered("the deeper file does not see its directory", "", ["", "d/a"], "d/a", NO),
    Layered("the root names the whole path", "", ["d/a", ""], "d/a", YES),
    Layered("an excluded directory closes the file in it", "", ["d", "!a"], "d/a", YES),
];

/// Asserts that the model, the core and git return the expected verdict on the entry at `path`.
fn check(repository: &Repository, name: &str, project: &Project, path: &str, expected: bool) {
    let path = path.trim_end_matches('/');
    let model = excluded_by_model(project).contains(path);
    let core = excluded_by_core(project).contains(path);
    assert_eq!((model, core), (expected, expected), "model and core on {name}: {project:?}");
    if repository.is_reference_for(project) {
        let git = repository.excluded(project).contains(path);
        assert_eq!(git, expected, "git on {name}: {project:?}");
    }
}

#[test]
fn model_core_and_git_agree_on_written_cases() {
    let repository = Repository::new();
    for Case(name, text, path, expected) in CASES {
        check(&repository, name, &Project::of("", text, "", &[path]), path, *expected);
    }
    for Layered(name, defaults, [root, deeper], path, expected) in LAYERED {
        let project = Project::of(defaults, root, deeper, &[path]);
        check(&repository, name, &project, path, *expected);
    }
}

#[test]
fn every_bracket_class_matches_the_same_bytes_as_in_git() {
    let repository = Repository::new();
    let names: Vec<String> = (1..=127u8)
        .map(char::from)
        .filter(|character| !"./".contains(*character))
        .map(String::from)
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for class in [
        "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
        "upper", "xdigit",
    ] {
        let project = Project::of("", &format!("[[:{class}:]]"), "", &names);
        let git = repository.excluded(&project);
        assert!(!git.is_empty(), "{class}");
        assert_eq!(excluded_by_model(&project), git, "the model on {class}");
        assert_eq!(excluded_by_core(&project), git, "the core on {class}");
    }
}

/// The pieces of generated lines: few, and likely to form patterns together.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "a", "a", "b", "b", "d", ".", "*", "*", "**", "?", "[", "]", "!", "/", "/", "\\", "#", "-", " ",
    "**/", "/**", "[a-b]", "[!a]", "[^", "[[:alpha:]", "[:", ":]", "$", "\t", "\r",
];

/// The names of generated entries: matched by the pieces, or nearly so.
const NAMES: &[&str] = &[
    "a", "b", "d", "ab", "ba", "a.b", ".a", "aab", "a-b", "!a", "#a", "$a", "a ", " ", "-", "*",
    "?", "[a]", "a]", "]", ":", "a:]", "\\", "a\\", "**", "\t", "\r", "a\r", "\u{e9}",
];

fn texts() -> impl Strategy<Value = String> {
    let line = proptest::collection::vec(select(PIECES), 0..7);
    let lines = proptest::collection::vec(line.prop_map(|pieces| pieces.concat()), 0..4);
    (lines, any::<bool>()).prop_map(|(lines, ends_with_newline)| {
        lines.join("\n") + if ends_with_newline { "\n" } else { "" }
    })
}

fn projects() -> impl Strategy<Value = Project> {
    let path = (proptest::collection::vec(select(NAMES), 1..4), select(&["", "", "/"][..]));
    let paths = proptest::collection::vec(path, 1..24);
    (texts(), texts(), texts(), paths).prop_map(|(defaults, root, deeper, paths)| {
        let paths = paths.iter().map(|(names, end)| names.join("/") + end);
        let paths: Vec<String> = paths.collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        Project::of(&defaults, &root, &deeper, &paths)
    })
}

#[test]
fn model_core_and_git_agree_on_generated_projects() {
    let repository = Repository::new();
    // A counterexample belongs in the table above, not in a file of seeds.
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let outcome = TestRunner::new(config).run(&projects(), |project| {
        let model = excluded_by_model(&project);
        prop_assert_eq!(&model, &excluded_by_core(&project), "model and core");
        prop_assert_eq!(
            &model,
            &excluded_by_core(&project.repeated()),
            "with an index of the rules"
        );
        if repository.is_reference_for(&project) {
            prop_assert_eq!(&model, &repository.excluded(&project), "model and git");
        }
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn a_hostile_pattern_costs_no_exponential_time() {
    let directories = "**/a/".repeat(60) + "b";
    let stars = "*a".repeat(90);
    let text = format!("{directories}\n{stars}b");
    let long = ["a/".repeat(90) + "c", "a".repeat(200)];
    let project = Project::of("", &text, "", &[&long[0], &long[1]]);
    assert_eq!(excluded_by_model(&project), BTreeSet::new());
    assert_eq!(excluded_by_core(&project), BTreeSet::new());
}

/// The verdict of both implementations on one entry under the real default excludes.
fn is_excluded_by_default(text: &str, path: &str) -> bool {
    use herma_core::ignore::{DEFAULT_EXCLUDES, SECRETS};
    let project = Project::of(&DEFAULT_EXCLUDES.join("\n"), text, "", &[path]);
    let project = Project { secrets: SECRETS, ..project };
    let model = excluded_by_model(&project);
    assert_eq!(model, excluded_by_core(&project), "model and core: {project:?}");
    model.contains(path.trim_end_matches('/'))
}

#[test]
fn no_project_file_re_includes_a_secret_or_the_git_directory() {
    let text = "!*\n!.git\n!.git/\n!.env\n!.env.*\n!/a/.env";
    for path in
        [".env", "a/.env/", ".env.local", ".env.example", "a/.env.x.local", ".git", "a/.git/"]
    {
        assert!(is_excluded_by_default(text, path), "{path}");
    }
    for path in ["env/", ".envrc", "a.env", ".gitignore", ".github/"] {
        assert!(!is_excluded_by_default(text, path), "{path}");
    }
}

#[test]
fn a_project_file_re_includes_any_other_default() {
    for pattern in herma_core::ignore::DEFAULT_EXCLUDES {
        let path = pattern.replace('*', "a");
        assert!(is_excluded_by_default("", &path), "{pattern}");
        let re_included = !is_excluded_by_default(&format!("!{pattern}"), &path);
        assert_eq!(re_included, path != ".git/", "{pattern}");
    }
}

#[test]
fn both_implementations_ship_the_same_lists() {
    assert_eq!(herma_model::ignore::DEFAULT_EXCLUDES, herma_core::ignore::DEFAULT_EXCLUDES);
    assert_eq!(herma_model::ignore::SECRETS, herma_core::ignore::SECRETS);
}

#[test]
fn a_file_of_comments_and_blank_lines_excludes_nothing() {
    for text in ["", "\n\n", "# a\n   \n/\n!\n", "\u{feff}# a\r\n\r\n"] {
        let project = Project::of("", text, "", &["a", "#", "# a", "!", " ", "\u{feff}"]);
        assert_eq!(excluded_by_model(&project), BTreeSet::new(), "{text:?}");
        assert_eq!(excluded_by_core(&project), BTreeSet::new(), "{text:?}");
    }
}
