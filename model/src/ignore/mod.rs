//! Git's ignore rules for a single entry, as pure functions on bytes. A checkpoint leaves out the entries
//! that these rules exclude.
//!
//! This module ends at the verdict on one entry. It reads no file and walks no tree: the caller passes the
//! text of each `.gitignore` above the entry, and does not descend into excluded directories.

mod parse;
#[cfg(test)]
mod tests;
mod wildmatch;

use crate::bytes::ancestors;
use parse::Pattern;

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

/// The default excludes that no project file can re-include.
pub const SECRETS: &[&str] = &[".env", ".env.*", ".env.local", ".env.*.local"];

/// The name of git's ignore file.
pub const GITIGNORE: &[u8] = b".gitignore";
/// The name of a store's own ignore file, where the store declares no other name.
pub const OWN_IGNORE_FILE: &str = ".hermaignore";

/// The patterns that apply to every project: the default excludes and the secrets that no project
/// file can re-include.
#[derive(Clone, Debug)]
pub struct Excludes {
    defaults: IgnoreFile,
    secrets: IgnoreFile,
    excludes_git: bool,
}

/// The parsed text of one ignore file.
#[derive(Clone, Debug)]
pub struct IgnoreFile {
    patterns: Vec<Pattern>,
}

impl IgnoreFile {
    /// Reads the text of an ignore file. Every text is legal: a line that can match nothing is
    /// dropped.
    pub fn parse(text: &[u8]) -> IgnoreFile {
        IgnoreFile { patterns: parse::patterns(text) }
    }

    /// Whether any excluding line matches the file at `path`, relative to the directory of this
    /// ignore file, or a directory above it, regardless of other lines.
    pub fn names(&self, path: &[u8]) -> bool {
        let is_named = |entry: &[u8], is_directory| {
            let excluding = self.patterns.iter().filter(|pattern| !pattern.negated);
            excluding.into_iter().any(|pattern| pattern.matches(entry, is_directory))
        };
        ancestors(path).any(|directory| is_named(directory, true)) || is_named(path, false)
    }

    /// The verdict of the last matching line on the entry at `path`, relative to the directory of
    /// this file: excluded (`true`), re-included (`false`), or `None` if no line matches.
    fn verdict(&self, path: &[u8], is_directory: bool) -> Option<bool> {
        let last = self.patterns.iter().rev().find(|pattern| pattern.matches(path, is_directory));
        last.map(|pattern| !pattern.negated)
    }
}

impl Excludes {
    /// Parses the patterns that apply everywhere; each string is one line of an ignore file at the
    /// root. Entries named `.git` are excluded as well.
    pub fn new(defaults: &[&str], secrets: &[&str]) -> Excludes {
        let parse = |lines: &[&str]| IgnoreFile::parse(lines.join("\n").as_bytes());
        Excludes { defaults: parse(defaults), secrets: parse(secrets), excludes_git: true }
    }

    /// Treats `.git` like any other name.
    pub fn with_repositories(self) -> Excludes {
        Excludes { excludes_git: false, ..self }
    }

    /// Whether the entry at `path` (project-relative, '/'-separated, no leading or trailing slash)
    /// is excluded by itself, given the ignore files of the directories above it, root first, each
    /// with its project-relative directory (empty for the root).
    ///
    /// The caller does not descend into an excluded directory, so parents are not examined here. A
    /// symlink to a directory is not a directory.
    ///
    /// Implements [`crate::rules::CAPTURE_DEFAULT_EXCLUDES`], [`crate::rules::CAPTURE_SECRETS`],
    /// [`crate::rules::CAPTURE_GITIGNORE`], [`crate::rules::CAPTURE_OWN_IGNORE_FILE`] and
    /// [`crate::rules::CAPTURE_NESTED_REPOSITORY`].
    pub fn excludes(
        &self,
        ignore_files: &[(&[u8], &IgnoreFile)],
        path: &[u8],
        is_directory: bool,
    ) -> bool {
        if (self.excludes_git && name_of(path) == b".git")
            || self.secrets.verdict(path, is_directory) == Some(true)
        {
            return true;
        }
        // Of the files with a matching line, the last one of the deepest directory decides, and the defaults come last, as in git's
        // info/exclude.
        ignore_files
            .iter()
            .rev()
            .find_map(|(directory, file)| file.verdict(below(directory, path)?, is_directory))
            .or_else(|| self.defaults.verdict(path, is_directory))
            .unwrap_or(false)
    }
}

/// The last component of a path.
fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// The path relative to `directory`, or `None` when it is outside.
fn below<'a>(directory: &[u8], path: &'a [u8]) -> Option<&'a [u8]> {
    if directory.is_empty() {
        return Some(path);
    }
    path.strip_prefix(directory)?.strip_prefix(b"/")
}
