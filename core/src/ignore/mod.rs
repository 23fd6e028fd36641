//! Decides which entries of a project git's ignore rules exclude, and reports the pattern that does.
//!
//! It judges single entries; the caller walks the project and must not descend into excluded
//! directories. [`pattern`] reads the lines of ignore files and matches them.

mod index;
mod pattern;
mod wildcards;

use crate::path::{ancestors, join, name_of, shown};
use crate::remark::escaped;
use index::RuleIndex;
use pattern::Rule;
use serde::Serialize;
use std::fmt;

/// The default excludes, as hermes-agent ships them, without the secrets.
#[rustfmt::skip]
pub const DEFAULT_EXCLUDES: &[&str] = &[
    "node_modules/", "dist/", "build/", "target/", "out/", ".next/", ".nuxt/", "__pycache__/",
    "*.pyc", "*.pyo", ".cache/", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", "coverage/",
    ".coverage", ".venv/", "venv/", "env/", ".git/", ".hg/", ".svn/", ".worktrees/", "*.so",
    "*.dylib", "*.dll", "*.o", "*.a", "*.jar", "*.class", "*.exe", "*.obj", "*.mp4", "*.mov",
    "*.mkv", "*.webm", "*.zip", "*.tar", "*.tar.gz", "*.tgz", "*.7z", "*.rar", "*.iso",
    ".DS_Store", "Thumbs.db", "*.log",
];

/// The ignore files of a directory, in the order in which they are read: the last line that matches decides.
// rule: capture/own-ignore-file
pub const IGNORE_FILES: [&str; 2] = [GITIGNORE, ".hermaignore"];
const GITIGNORE: &str = ".gitignore";

/// The largest part of an ignore file that is read, in bytes; no sensible one is larger.
pub const IGNORE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Up to so many rules are tried one by one.
const UNINDEXED_MAX: usize = 256;

/// The default excludes that no project file can re-include.
pub const SECRETS: &[&str] = &[".env", ".env.*", ".env.local", ".env.*.local"];

/// The patterns that hold in every project: the default excludes and the secrets that no project
/// file can re-include.
#[derive(Clone, Debug)]
pub struct Excludes {
    defaults: IgnoreFile,
    secrets: IgnoreFile,
}

/// The parsed text of one ignore file.
#[derive(Clone, Debug)]
pub struct IgnoreFile {
    name: &'static str,
    rules: Vec<Rule>,
    /// Finds the rules that may match, where there are many.
    index: Option<RuleIndex>,
}

/// The pattern that excludes an entry, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Exclusion {
    /// Where it is.
    #[serde(flatten)]
    pub source: PatternSource,
    /// The pattern.
    #[serde(serialize_with = "escaped")]
    pub pattern: Vec<u8>,
}

/// Where a pattern is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum PatternSource {
    /// It is built in, and holds in every project.
    BuiltIn,
    /// The same, and no file of the project can undo it.
    Final,
    /// In an ignore file of the project.
    IgnoreFile {
        /// The file, relative to the project.
        #[serde(rename = "file", serialize_with = "escaped")]
        path: Vec<u8>,
        /// The line, from 1.
        line: usize,
    },
}

/// What an entry is, as far as patterns are concerned.
#[derive(Clone, Copy)]
pub(crate) enum EntryKind {
    /// A folder, but not a link to a folder.
    Folder,
    /// Anything else.
    File,
    /// A member of a unit, to which the default excludes do not apply.
    Member,
}

/// The rule that decides about an entry.
enum Decision<'a> {
    /// The entry is a repository.
    Repository,
    Secret(&'a Rule),
    /// The rule is in an ignore file of this directory.
    IgnoreFile(&'a [u8], &'a IgnoreFile, &'a Rule),
    Default(&'a Rule),
}

/// For people.
impl fmt::Display for Exclusion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = shown(&self.pattern);
        match &self.source {
            PatternSource::BuiltIn => {
                write!(formatter, "excluded by the built-in pattern {pattern}")
            }
            PatternSource::Final => write!(
                formatter,
                "excluded by the built-in pattern {pattern}, which no file of a project can undo"
            ),
            PatternSource::IgnoreFile { path, line } => {
                write!(formatter, "excluded by {pattern} in line {line} of {}", shown(path))
            }
        }
    }
}

impl Decision<'_> {
    fn excludes(&self) -> bool {
        match self {
            Decision::Repository => true,
            Decision::Secret(rule) | Decision::IgnoreFile(.., rule) | Decision::Default(rule) => {
                !rule.includes
            }
        }
    }

    fn exclusion(self) -> Exclusion {
        match self {
            Decision::Repository => {
                Exclusion { pattern: b".git".to_vec(), source: PatternSource::Final }
            }
            Decision::Secret(rule) => {
                Exclusion { pattern: rule.text(), source: PatternSource::Final }
            }
            Decision::IgnoreFile(directory, file, rule) => Exclusion {
                pattern: rule.text(),
                source: PatternSource::IgnoreFile {
                    path: join(directory, file.name.as_bytes()),
                    line: rule.line,
                },
            },
            Decision::Default(rule) => {
                Exclusion { pattern: rule.text(), source: PatternSource::BuiltIn }
            }
        }
    }
}

impl IgnoreFile {
    /// Reads the text of a `.gitignore`. Every text is legal.
    pub fn parse(text: &[u8]) -> IgnoreFile {
        IgnoreFile::of(GITIGNORE, text)
    }

    /// Reads the text of an ignore file with one of the names [`IGNORE_FILES`].
    pub(crate) fn of(name: &'static str, text: &[u8]) -> IgnoreFile {
        let rules = Rule::read_all(text);
        let patterns = || rules.iter().map(|rule| &*rule.pattern);
        let index = (rules.len() > UNINDEXED_MAX).then(|| RuleIndex::of(patterns));
        IgnoreFile { name, rules, index }
    }

    /// The last rule that matches the entry at `path`, relative to the directory of this file.
    fn deciding(&self, path: &[u8], is_directory: bool) -> Option<&Rule> {
        let is_match = |rule: &Rule| rule.matches(path, is_directory);
        match &self.index {
            None => self.rules.iter().rev().find(|rule| is_match(rule)),
            Some(index) => {
                let last = index.last(path, |position| is_match(&self.rules[position]));
                last.map(|position| &self.rules[position])
            }
        }
    }
}

impl Excludes {
    /// The default excludes and the secrets, without what the user includes. A secret is included only by a
    /// pattern without wildcards: one such as `*.local` is not meant for secrets.
    pub(crate) fn except(include: &[String]) -> Excludes {
        let is_literal = |pattern: &&String| !pattern.contains(['*', '?', '[', '\\']);
        let lines = |excludes: &[&str], included: Vec<&String>| {
            let included = included.into_iter().map(|pattern| format!("!{pattern}"));
            let excludes = excludes.iter().map(|pattern| (*pattern).to_owned());
            excludes.chain(included).collect::<Vec<String>>().join("\n")
        };
        let defaults = lines(DEFAULT_EXCLUDES, include.iter().collect());
        let secrets = lines(SECRETS, include.iter().filter(is_literal).collect());
        Excludes::new(&[&defaults], &[&secrets])
    }

    /// Reads the patterns that hold everywhere, each a line of an ignore file at the root.
    pub fn new(defaults: &[&str], secrets: &[&str]) -> Excludes {
        let read = |lines: &[&str]| IgnoreFile::parse(lines.join("\n").as_bytes());
        Excludes { defaults: read(defaults), secrets: read(secrets) }
    }

    /// Whether the entry at `path` (project-relative, '/'-separated, no leading or trailing slash)
    /// is excluded by itself, given the ignore files of the directories above it, root first, each
    /// with its project-relative directory (empty for the root).
    ///
    /// The caller does not descend into an excluded directory, so parents are not examined here. A
    /// symlink to a directory is not a directory.
    pub fn excludes(
        &self,
        ignore_files: &[(&[u8], &IgnoreFile)],
        path: &[u8],
        is_directory: bool,
    ) -> bool {
        self.decide(ignore_files, path, is_directory).is_some_and(|decision| decision.excludes())
    }

    /// As [`Excludes::excludes`], without the default excludes, which apply neither to a member of a unit nor
    /// to what git tracks. Secrets stay excluded.
    pub(crate) fn excludes_by_project(
        &self,
        ignore_files: &[(&[u8], &IgnoreFile)],
        path: &[u8],
        is_directory: bool,
    ) -> bool {
        let decision = self.decide_by_project(ignore_files, path, is_directory);
        decision.is_some_and(|decision| decision.excludes())
    }

    /// The pattern that excludes the entry at `path`, or the outermost excluded folder above it.
    pub(crate) fn exclusion(
        &self,
        ignore_files: &[(&[u8], &IgnoreFile)],
        path: &[u8],
        kind: EntryKind,
    ) -> Option<Exclusion> {
        let folders = ancestors(path).map(|folder| self.decide(ignore_files, folder, true));
        let above = folders.flatten().find(|decision| decision.excludes());
        let decide = || match kind {
            EntryKind::Folder => self.decide(ignore_files, path, true),
            EntryKind::File => self.decide(ignore_files, path, false),
            EntryKind::Member => self.decide_by_project(ignore_files, path, false),
        };
        let decision = above.or_else(|| decide().filter(|decision| decision.excludes()));
        decision.map(Decision::exclusion)
    }

    fn decide<'a>(
        &'a self,
        ignore_files: &[(&'a [u8], &'a IgnoreFile)],
        path: &[u8],
        is_directory: bool,
    ) -> Option<Decision<'a>> {
        // rule: capture/default-excludes
        let default = || self.defaults.deciding(path, is_directory).map(Decision::Default);
        self.decide_by_project(ignore_files, path, is_directory).or_else(default)
    }

    /// The decision of everything but the default excludes about an entry.
    fn decide_by_project<'a>(
        &'a self,
        ignore_files: &[(&'a [u8], &'a IgnoreFile)],
        path: &[u8],
        is_directory: bool,
    ) -> Option<Decision<'a>> {
        // rule: capture/secrets
        let secret = self.secrets.deciding(path, is_directory).filter(|rule| !rule.includes);
        if let Some(rule) = secret {
            return Some(Decision::Secret(rule));
        }
        // rule: capture/nested-repository
        // rule: isolation/user-repository
        if name_of(path) == b".git" {
            return Some(Decision::Repository);
        }
        // rule: capture/gitignore
        ignore_files.iter().rev().find_map(|(directory, file)| {
            let path = inside(directory, path)?;
            let rule = file.deciding(path, is_directory)?;
            Some(Decision::IgnoreFile(directory, file, rule))
        })
    }
}

/// The path relative to a directory; `None` if it is not inside the directory.
fn inside<'a>(directory: &[u8], path: &'a [u8]) -> Option<&'a [u8]> {
    match path.strip_prefix(directory)? {
        rest if directory.is_empty() => Some(rest),
        rest => rest.strip_prefix(b"/"),
    }
}
