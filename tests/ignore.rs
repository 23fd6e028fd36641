//! What an ignore file means: the model's reading, the core's and git's own are held against each
//! other, on written cases and on generated projects.
//!
//! It ends at single verdicts; what a checkpoint does with them is said elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

/// A project as far as ignore rules see it.
#[derive(Clone)]
struct Project {
    /// What git reads from `info/exclude`.
    defaults: String,
    /// Directories and the text of the ignore file in them, root first.
    ignore_files: Vec<(Vec<u8>, Vec<u8>)>,
    /// Paths, and whether they are directories.
    entries: BTreeMap<Vec<u8>, bool>,
}

impl std::fmt::Debug for Project {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(formatter, "defaults {:?}", self.defaults)?;
        for (directory, text) in &self.ignore_files {
            let (directory, text) = (directory.escape_ascii(), text.escape_ascii());
            writeln!(formatter, "file in '{directory}': \"{text}\"")?;
        }
        for (path, is_directory) in &self.entries {
            let slash = if *is_directory { "/" } else { "" };
            writeln!(formatter, "entry '{}{slash}'", path.escape_ascii())?;
        }
        Ok(())
    }
}

/// Defines a function that gives the entries of a project that an implementation leaves out,
/// together with everything inside of them.
macro_rules! implementation {
    ($name:ident, $module:path) => {
        fn $name(project: &Project) -> BTreeSet<Vec<u8>> {
            use $module as implementation;
            let excludes = implementation::Excludes::new(&[&project.defaults], &[]);
            let parse = |file: &(Vec<u8>, Vec<u8>)| {
                (file.0.clone(), implementation::IgnoreFile::parse(&file.1))
            };
            let files: Vec<_> = project.ignore_files.iter().map(parse).collect();
            let mut excluded = BTreeSet::new();
            for (path, is_directory) in &project.entries {
                let above = files.iter().filter(|(directory, _)| is_inside(directory, path));
                let above: Vec<_> = above.map(|(path, file)| (path.as_slice(), file)).collect();
                if excluded.iter().any(|directory: &Vec<u8>| is_inside(directory, path))
                    || excludes.excludes(&above, path, *is_directory)
                {
                    excluded.insert(path.clone());
                }
            }
            excluded
        }
    };
}

implementation!(excluded_by_model, herma_model::ignore);
implementation!(excluded_by_core, herma_core::ignore);

fn is_inside(directory: &[u8], path: &[u8]) -> bool {
    let rest = path.strip_prefix(directory);
    directory.is_empty() || rest.is_some_and(|rest| rest.starts_with(b"/"))
}

/// A repository in which git is asked, far from any settings of the machine.
struct Repository {
    home: TempDir,
    /// Git up to 2.51 takes what follows the literal text a pattern begins with for the beginning
    /// of a component, so that `a**/b` matches `ab`; 2.52 does not.
    cuts_literal_text_off: bool,
}

impl Repository {
    fn new() -> Repository {
        let home = tempfile::tempdir().unwrap();
        let mut repository = Repository { home, cuts_literal_text_off: false };
        std::fs::create_dir(repository.root()).unwrap();
        assert!(repository.git(&["init", "-q"]).status().unwrap().success());
        let probe = project(&Case("probe", b"a**/b", "ab", true));
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
    fn excluded(&self, project: &Project) -> BTreeSet<Vec<u8>> {
        let root = self.root();
        for entry in std::fs::read_dir(&root).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true if entry.file_name() == ".git" => {}
                true => std::fs::remove_dir_all(entry.path()).unwrap(),
                false => std::fs::remove_file(entry.path()).unwrap(),
            }
        }
        let under_root = |path: &[u8]| root.join(Path::new(OsStr::from_bytes(path)));
        for (path, _) in project.entries.iter().filter(|(_, is_directory)| **is_directory) {
            std::fs::create_dir_all(under_root(path)).unwrap();
        }
        std::fs::write(root.join(".git/info/exclude"), &project.defaults).unwrap();
        for (directory, text) in &project.ignore_files {
            std::fs::write(under_root(directory).join(".gitignore"), text).unwrap();
        }
        // The `./` keeps git from seeing pathspec magic in a name.
        let question = project.entries.keys().flat_map(|path| [b"./", path.as_slice(), b"\0"]);
        let mut git = self.git(&["check-ignore", "--no-index", "--stdin", "-z"]);
        let mut git = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        git.stdin.take().unwrap().write_all(&question.collect::<Vec<_>>().concat()).unwrap();
        let output = git.wait_with_output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "git check-ignore: {output:?}");
        let paths = output.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        paths.map(|path| path.strip_prefix(b"./").unwrap().to_vec()).collect()
    }

    /// Whether git itself reads the project in the way we have settled on.
    fn is_reference_for(&self, project: &Project) -> bool {
        let glued = |text: &[u8]| {
            text.windows(3).any(|part| part[1..] == *b"**" && !b"/*\n".contains(&part[0]))
        };
        let mut texts = project.ignore_files.iter().map(|(_, text)| text.as_slice());
        self.cuts_literal_text_off || !(glued(project.defaults.as_bytes()) || texts.any(glued))
    }
}

/// A name, the text of the ignore file at the root, a path (a directory with a slash at its end),
/// and whether that path is excluded.
struct Case(&'static str, &'static [u8], &'static str, bool);

fn project(case: &Case) -> Project {
    Project {
        defaults: String::new(),
        ignore_files: vec![(Vec::new(), case.1.to_vec())],
        entries: entries([case.2]),
    }
}

fn entries<'a>(paths: impl IntoIterator<Item = &'a str>) -> BTreeMap<Vec<u8>, bool> {
    let mut entries = BTreeMap::new();
    for path in paths {
        for (slash, _) in path.match_indices('/') {
            entries.insert(path.as_bytes()[..slash].to_vec(), true);
        }
        if !path.ends_with('/') {
            entries.entry(path.as_bytes().to_vec()).or_insert(false);
        }
    }
    entries
}

const YES: bool = true;
const NO: bool = false;

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case("an empty file", b"", "a", NO),
    Case("a name at the root", b"a", "a", YES),
    Case("a name at every depth", b"a", "b/b/a", YES),
    Case("a name is compared whole", b"a", "aa", NO),
    Case("a name is compared by case", b"a", "A", NO),
    Case("the last line needs no line end", b"b\na", "a", YES),
    Case("a comment", b"#a", "#a", NO),
    Case("an escaped comment", b"\\#a", "#a", YES),
    Case("a blank before a hash makes no comment", b" #a", " #a", YES),
    Case("a re-included name", b"a*\n!ab", "ab", NO),
    Case("the last match decides", b"!ab\na*", "ab", YES),
    Case("an escaped exclamation mark", b"\\!a", "!a", YES),
    Case("two exclamation marks", b"*a\n!!a", "!a", NO),
    Case("an exclamation mark alone", b"a\n!", "a", YES),
    Case("trailing blanks are dropped", b"a  ", "a", YES),
    Case("an escaped trailing blank", b"a\\ ", "a ", YES),
    Case("only the escaped one is kept", b"a\\   ", "a ", YES),
    Case("an escaped backslash protects no blank", b"a\\\\ ", "a\\", YES),
    Case("a trailing tab is kept", b"a\t", "a", NO),
    Case("a tab alone is a name", b"\t", "\t", YES),
    Case("blanks alone are nothing", b"   ", " ", NO),
    Case("a leading blank is kept", b" a", "a", NO),
    Case("a Windows line end", b"a\r\nb\r\n", "a", YES),
    Case("a Windows line end cut short", b"a\r", "a", YES),
    Case("only one carriage return goes", b"a\r\r\n", "a\r", YES),
    Case("blanks before a Windows line end", b"a  \r\n", "a", YES),
    Case("a byte order mark", b"\xEF\xBB\xBFa", "a", YES),
    Case("a byte order mark on the second line", b"b\n\xEF\xBB\xBFa", "a", NO),
    Case("a mark git does not know", b"\xFF\xFEa", "a", NO),
    Case("a NUL ends a line", b"a\0b", "a", YES),
    Case("a directory asked for and found", b"a/", "a/", YES),
    Case("a directory asked for, a file found", b"a/", "a", NO),
    Case("a directory asked for at every depth", b"a/", "b/a/", YES),
    Case("a directory is not a prefix", b"/a/", "ab/", NO),
    Case("a leading slash anchors", b"/a", "b/a", NO),
    Case("a leading slash at the root", b"/a", "a", YES),
    Case("a middle slash anchors", b"a/b", "b/a/b", NO),
    Case("a middle slash at the root", b"a/b", "a/b", YES),
    Case("a slash alone", b"/", "a/", NO),
    Case("a star in a name", b"a*b", "aXb", YES),
    Case("a star takes nothing", b"a*b", "ab", YES),
    Case("a star stays in its component", b"/a*b", "a/b", NO),
    Case("a star for a directory", b"a/*/b", "a/b/b", YES),
    Case("a star is not two directories", b"a/*/b", "a/b/b/b", NO),
    Case("a suffix", b"*.a", "b/.a", YES),
    Case("an anchored suffix", b"/*.a", "b/b.a", NO),
    Case("a question mark", b"a?", "ab", YES),
    Case("a question mark takes one byte", b"a?", "a\u{e9}", NO),
    Case("a question mark takes no slash", b"/a?b", "a/b", NO),
    Case("leading double star", b"**/a", "b/b/a", YES),
    Case("leading double star at the root", b"**/a/b", "a/b", YES),
    Case("trailing double star", b"a/**", "a/b/", YES),
    Case("trailing double star spares the directory", b"a/**", "a/", NO),
    Case("double star for no directory", b"a/**/b", "a/b", YES),
    Case("double star for two directories", b"a/**/b", "a/a/b/b", YES),
    Case("three stars are two", b"a/***/b", "a/b/a/b", YES),
    Case("double star before an escaped slash", b"a/**\\/b", "a/b", NO),
    Case("double star in a name is a star", b"**a**/b", "a/b/b", NO),
    Case("double star glued to literal text", b"a**/b", "ab", YES),
    Case("double star glued to escaped text", b"\\a**/b", "ab", NO),
    Case("glued double star and an empty end", b"a**//", "a/", YES),
    Case("a bracket", b"[ab]", "b", YES),
    Case("an inverted bracket", b"[!a]", "a", NO),
    Case("a caret inverts too", b"[^a]", "b", YES),
    Case("a range", b"[a-c]", "b", YES),
    Case("a hyphen at the end", b"[a-]", "-", YES),
    Case("a closing bracket comes first", b"[]a]", "]", YES),
    Case("an escape in a bracket", b"[\\]]", "]", YES),
    Case("an escaped start of a range", b"[\\a-[:alpha:]]", "a", NO),
    Case("a bracket takes no slash", b"a[!b]b", "a/b", NO),
    Case("a class", b"[[:digit:]]", "7", YES),
    Case("git's spaces", b"[[:space:]]", "\u{b}", NO),
    Case("an unknown class", b"[[:foo:]a]", "a", NO),
    Case("what only looks like a class", b"[[:a]", ":", YES),
    Case("an unclosed bracket", b"[a", "[a", NO),
    Case("a backslash at the end", b"a\\", "a\\", NO),
    Case("an escaped star", b"\\*", "a", NO),
    Case("a needless escape", b"\\a", "a", YES),
];

/// As a [`Case`], with the defaults and the ignore file of the directory `d` as well.
struct Layered(&'static str, &'static str, &'static str, &'static str, &'static str, bool);

#[rustfmt::skip]
const LAYERED: &[Layered] = &[
    Layered("a default", "a", "", "", "d/a", YES),
    Layered("a default re-included", "a", "!a", "", "d/a", NO),
    Layered("a default cannot re-include", "!a", "a", "", "d/a", YES),
    Layered("the deeper file decides", "", "a", "!a", "d/a", NO),
    Layered("the deeper file excludes", "", "!a", "a", "d/a", YES),
    Layered("the deeper file has no opinion", "", "a", "b", "d/a", YES),
    Layered("the deeper file is not for its parent", "", "", "a", "a", NO),
    Layered("the deeper file anchors at its directory", "", "", "/a", "d/a", YES),
    Layered("the deeper file anchors at no other", "", "", "/a", "d/d/a", NO),
    Layered("the deeper file does not see its directory", "", "", "d/a", "d/a", NO),
    Layered("the root names the whole path", "", "d/a", "", "d/a", YES),
    Layered("an excluded directory closes the file in it", "", "d", "!a", "d/a", YES),
];

/// Holds every implementation to the same answer about the last entry of a project.
fn check(repository: &Repository, name: &str, project: &Project, expected: bool) {
    let (path, _) = project.entries.last_key_value().unwrap();
    let model = excluded_by_model(project).contains(path);
    let core = excluded_by_core(project).contains(path);
    assert_eq!((model, core), (expected, expected), "model and core on {name}: {project:?}");
    if repository.is_reference_for(project) {
        assert_eq!(repository.excluded(project).contains(path), expected, "git on {name}");
    }
}

#[test]
fn model_core_and_git_agree_on_written_cases() {
    let repository = Repository::new();
    for case in CASES {
        check(&repository, case.0, &project(case), case.3);
    }
    for Layered(name, defaults, root, deeper, path, expected) in LAYERED {
        let texts = [("", root), ("d", deeper)];
        let files = texts.map(|(directory, text)| (directory.into(), text.as_bytes().to_vec()));
        let (defaults, ignore_files) = (defaults.to_string(), files.to_vec());
        let mut entries = entries([*path]);
        entries.insert(b"d".to_vec(), true);
        let project = Project { defaults, ignore_files, entries };
        let asked = Project { entries: entries_up_to(&project, path), ..project };
        check(&repository, name, &asked, *expected);
    }
}
