//! Decides which entries of a project git's ignore rules exclude: reads ignore files and matches
//! entries.
//!
//! It judges single entries; the caller walks the project and must not descend into excluded
//! directories. No existing crate is used, because `gix-ignore` reads some lines and brackets
//! differently from git, gives up at 64 stars, and takes exponential time for repeated `**/`. A project
//! could use such a pattern in its own ignore file to stall a checkpoint.

use crate::path::name_of;
use std::ops::ControlFlow::{self, Break, Continue};

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

/// The largest part of an ignore file that is read, in bytes; no sensible one is larger.
pub const IGNORE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The default excludes that no project file can re-include.
pub const SECRETS: &[&str] = &[".env", ".env.*", ".env.local", ".env.*.local"];

/// The patterns that hold in every project: the default excludes and the secrets that no project
/// file can re-include.
#[derive(Clone, Debug)]
pub struct Excludes {
    defaults: IgnoreFile,
    secrets: IgnoreFile,
}

/// The parsed text of one directory's `.gitignore`.
#[derive(Clone, Debug, Default)]
pub struct IgnoreFile {
    rules: Vec<Rule>,
}

/// One line of an ignore file.
#[derive(Clone, Debug)]
struct Rule {
    /// The pattern without the `!` and the slashes at its ends.
    pattern: Box<[u8]>,
    /// The byte that all matches end in, if there is one: a quick test for most rules.
    ending: Option<u8>,
    /// How many bytes of the pattern come before its first wildcard or backslash.
    literal: usize,
    /// Whether the pattern is a star and literal text.
    is_suffix: bool,
    /// Whether the line began with `!`.
    includes: bool,
    /// Whether only directories are meant.
    directories_only: bool,
    /// Whether the pattern is matched with the whole path, or with the last component.
    is_anchored: bool,
}

impl IgnoreFile {
    /// Reads the text of an ignore file. Every text is legal.
    pub fn parse(text: &[u8]) -> IgnoreFile {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        IgnoreFile { rules: text.split(|byte| *byte == b'\n').filter_map(Rule::read).collect() }
    }

    /// Whether the last rule that matches excludes the entry at `path`, relative to the directory
    /// of this file; `None` if no rule matches.
    fn verdict(&self, path: &[u8], is_directory: bool) -> Option<bool> {
        let last = self.rules.iter().rev().find(|rule| rule.matches(path, is_directory));
        last.map(|rule| !rule.includes)
    }
}

impl Excludes {
    /// The default excludes and the secrets.
    pub(crate) fn of_every_project() -> Excludes {
        Excludes::new(DEFAULT_EXCLUDES, SECRETS)
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
        // rule: capture/default-excludes
        let default = || self.defaults.verdict(path, is_directory);
        self.by_project(ignore_files, path, is_directory).or_else(default).unwrap_or(false)
    }

    /// As [`Excludes::excludes`], for a member of a unit: the default excludes do not apply to it.
    pub(crate) fn excludes_member(
        &self,
        ignore_files: &[(&[u8], &IgnoreFile)],
        path: &[u8],
    ) -> bool {
        self.by_project(ignore_files, path, false).unwrap_or(false)
    }

    /// As [`Excludes::excludes`], without the default excludes, which do not apply to what git tracks. Secrets
    /// stay excluded.
    pub(crate) fn excludes_tracked(
        &self,
        ignore_files: &[(&[u8], &IgnoreFile)],
        path: &[u8],
        is_directory: bool,
    ) -> bool {
        self.by_project(ignore_files, path, is_directory).unwrap_or(false)
    }

    /// The verdict of everything but the default excludes about an entry.
    fn by_project(
        &self,
        ignore_files: &[(&[u8], &IgnoreFile)],
        path: &[u8],
        is_directory: bool,
    ) -> Option<bool> {
        // rule: capture/secrets
        let is_secret = self.secrets.verdict(path, is_directory) == Some(true);
        // rule: capture/nested-repository
        // rule: isolation/user-repository
        if is_secret || name_of(path) == b".git" {
            return Some(true);
        }
        // rule: capture/gitignore
        ignore_files.iter().rev().find_map(|(directory, file)| {
            let path = inside(directory, path)?;
            file.verdict(path, is_directory)
        })
    }
}

impl Rule {
    /// The rule on one line, unless it is blank or a comment.
    fn read(line: &[u8]) -> Option<Rule> {
        if matches!(line, [] | [b'#', ..]) {
            return None;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // To git a line is a C string, which ends at a NUL.
        let line = line.split(|byte| *byte == 0).next().unwrap_or(line);
        let mut pattern = trim_end(line);
        let includes = take_first(&mut pattern, b'!');
        let directories_only = pattern.ends_with(b"/");
        pattern = &pattern[..pattern.len() - usize::from(directories_only)];
        let is_anchored = pattern.contains(&b'/');
        take_first(&mut pattern, b'/');
        if pattern.is_empty() {
            return None;
        }
        let literal = literal_length(pattern);
        let is_suffix = !is_anchored
            && pattern[0] == b'*'
            && literal_length(&pattern[1..]) + 1 == pattern.len();
        // A slash may stand for nothing, as part of `**/`.
        let is_certain = |byte: &u8| !matches!(byte, b'*' | b'?' | b'[' | b']' | b'\\' | b'/');
        let ending = pattern.last().copied().filter(is_certain);
        let pattern = pattern.into();
        Some(Rule { pattern, ending, literal, is_suffix, includes, directories_only, is_anchored })
    }

    /// Whether the rule matches the entry at `path`, relative to the directory of the file.
    fn matches(&self, path: &[u8], is_directory: bool) -> bool {
        if self.directories_only && !is_directory {
            return false;
        }
        if self.ending.is_some() && self.ending != path.last().copied() {
            return false;
        }
        let subject = if self.is_anchored { path } else { name_of(path) };
        if self.is_suffix {
            return subject.ends_with(&self.pattern[1..]);
        }
        if self.literal == self.pattern.len() {
            return *subject == *self.pattern;
        }
        let (literal, wild) = self.pattern.split_at(self.literal);
        // As in git up to 2.51, the end of the literal text counts as the end of a component.
        subject.strip_prefix(literal).is_some_and(|rest| Matching::is_match(wild, rest))
    }
}

/// The path relative to a directory; `None` if it is not inside the directory.
fn inside<'a>(directory: &[u8], path: &'a [u8]) -> Option<&'a [u8]> {
    match path.strip_prefix(directory)? {
        rest if directory.is_empty() => Some(rest),
        rest => rest.strip_prefix(b"/"),
    }
}

/// The line without its trailing spaces; a backslash protects the space after it.
fn trim_end(line: &[u8]) -> &[u8] {
    let trailing = |text: &[u8], byte| text.iter().rev().take_while(|end| **end == byte).count();
    let spaces = trailing(line, b' ');
    let text = line.len() - spaces;
    let protected = spaces > 0 && trailing(&line[..text], b'\\') % 2 == 1;
    &line[..text + usize::from(protected)]
}

/// Removes the first byte if it is `byte`, and returns whether it did.
fn take_first(text: &mut &[u8], byte: u8) -> bool {
    let rest = text.strip_prefix(&[byte]);
    *text = rest.unwrap_or(text);
    rest.is_some()
}

/// The number of bytes before the first special byte of a pattern.
fn literal_length(pattern: &[u8]) -> usize {
    let special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\');
    pattern.iter().position(special).unwrap_or(pattern.len())
}

/// The state of matching a pattern with a text, from left to right, with what is needed to
/// backtrack.
///
/// Only the last star and the last `**/` are ever extended: everything before them was matched as
/// early in the text as possible, and so left them every choice. The time stays polynomial.
struct Matching<'a> {
    pattern: &'a [u8],
    text: &'a [u8],
    /// Whether the next element of the pattern begins a component.
    at_component: bool,
    /// The pattern after the last star, and the text that is left when the star ends here.
    star: Option<(&'a [u8], &'a [u8])>,
    /// The pattern after the last `**/`, and the text that is left when the directories end here.
    directories: Option<(&'a [u8], &'a [u8])>,
}

impl<'a> Matching<'a> {
    fn is_match(pattern: &'a [u8], text: &'a [u8]) -> bool {
        let mut matching =
            Matching { pattern, text, at_component: true, star: None, directories: None };
        loop {
            match matching.step() {
                Break(answer) => return answer,
                Continue(true) => {}
                Continue(false) if matching.extend_star() || matching.extend_directories() => {}
                Continue(false) => return false,
            }
        }
    }

    /// Matches the next element of the pattern, and returns whether the text fits so far. An
    /// invalid element ends the matching.
    fn step(&mut self) -> ControlFlow<bool, bool> {
        let Some((first, pattern)) = self.pattern.split_first() else {
            return match self.text {
                [] => Break(true),
                _ => Continue(false),
            };
        };
        if *first == b'*' {
            return self.begin_star();
        }
        let Some((byte, text)) = self.text.split_first() else {
            return Continue(false);
        };
        let taken = match first {
            b'?' => Some((*byte != b'/', pattern)),
            b'[' => bracket(pattern, *byte),
            _ => unescaped(self.pattern).map(|(member, rest)| (member == *byte, rest)),
        };
        let Some((fits, pattern)) = taken else {
            return Break(false);
        };
        (self.pattern, self.text, self.at_component) = (pattern, text, *byte == b'/');
        Continue(fits)
    }

    /// Matches a run of stars. Two or more that fill a component may take slashes.
    fn begin_star(&mut self) -> ControlFlow<bool, bool> {
        let star = |byte: &&u8| **byte == b'*';
        let stars = self.pattern.iter().take_while(star).count();
        self.pattern = &self.pattern[stars..];
        let may_fill = stars > 1 && self.at_component;
        match self.pattern {
            [] if may_fill => return Break(true),
            [b'/', rest @ ..] | [b'\\', b'/', rest @ ..] if may_fill => {
                // An escaped slash does not belong to the element, so that the text must have a slash.
                let may_take_nothing = self.pattern[0] == b'/';
                (self.directories, self.star) = (Some((rest, self.text)), None);
                self.pattern = rest;
                return Continue(may_take_nothing);
            }
            rest => {
                self.star = Some((rest, self.text));
                self.at_component = false;
            }
        }
        Continue(true)
    }

    /// Lets the last star take one more byte, if a star can take it.
    fn extend_star(&mut self) -> bool {
        match self.star {
            Some((pattern, [byte, text @ ..])) if *byte != b'/' => {
                self.star = Some((pattern, text));
                (self.pattern, self.text, self.at_component) = (pattern, text, false);
                true
            }
            _ => false,
        }
    }

    /// Lets the last `**/` take everything up to and including the next slash.
    fn extend_directories(&mut self) -> bool {
        let Some((pattern, text)) = self.directories else {
            return false;
        };
        let Some(slash) = text.iter().position(|byte| *byte == b'/') else {
            return false;
        };
        let text = &text[slash + 1..];
        self.star = None;
        self.directories = Some((pattern, text));
        (self.pattern, self.text, self.at_component) = (pattern, text, true);
        true
    }
}

/// The first byte of a pattern, without a backslash before it, and the rest; `None` if it is empty.
fn unescaped(pattern: &[u8]) -> Option<(u8, &[u8])> {
    let pattern = pattern.strip_prefix(b"\\").unwrap_or(pattern);
    pattern.split_first().map(|(byte, rest)| (*byte, rest))
}

/// Matches a byte with the bracket expression whose `[` is before `pattern`: whether it matches,
/// and the pattern after the `]`. `None` if the expression is invalid, which does not depend on
/// the byte.
fn bracket(pattern: &[u8], byte: u8) -> Option<(bool, &[u8])> {
    let inverted = matches!(pattern, [b'!' | b'^', ..]);
    let members = &pattern[usize::from(inverted)..];
    let mut rest = members;
    let mut found = false;
    // What a range could begin with: the member just before, but not a range or a class.
    let mut start = None;
    loop {
        rest = match (rest, start) {
            ([b']', after @ ..], _) if rest.len() < members.len() => {
                return Some((found != inverted && byte != b'/', after));
            }
            ([b'-', end @ ..], Some(first)) if !matches!(end, [] | [b']', ..]) => {
                let (last, after) = unescaped(end)?;
                found |= (first..=last).contains(&byte);
                start = None;
                after
            }
            ([b'[', b':', class @ ..], _) => {
                let (name, after) = class.split_at(class.iter().position(|byte| *byte == b']')?);
                if let Some(name) = name.strip_suffix(b":") {
                    found |= is_in_class(name, byte)?;
                    start = None;
                    &after[1..]
                } else {
                    found |= byte == b'[';
                    start = Some(b'[');
                    &rest[1..]
                }
            }
            _ => {
                let (member, after) = unescaped(rest)?;
                found |= byte == member;
                start = Some(member);
                after
            }
        };
    }
}

/// Whether a POSIX class contains the byte, in ASCII as in git; `None` if there is no such class.
fn is_in_class(name: &[u8], byte: u8) -> Option<bool> {
    Some(match name {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => b" \t".contains(&byte),
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => byte.is_ascii_graphic() || byte == b' ',
        b"punct" => byte.is_ascii_punctuation(),
        // Git's own table: no vertical tab, no form feed.
        b"space" => b" \t\n\r".contains(&byte),
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => return None,
    })
}
