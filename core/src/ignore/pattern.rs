//! The patterns of ignore files: reads a line and matches it with a path, as git does.
//!
//! No existing crate is used, because `gix-ignore` reads some lines and brackets differently from git, gives up
//! at 64 stars, and takes exponential time for repeated `**/`. A project could use such a pattern in its own
//! ignore file to stall a checkpoint.

use super::wildcards;
use crate::path::name_of;

/// One line of an ignore file.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The number of the line, from 1.
    pub line: usize,
    /// Whether the line began with `!`.
    pub includes: bool,
    /// The pattern without the `!` and the slashes at its ends.
    pub pattern: Box<[u8]>,
    /// The byte that all matches end in, if there is one: a quick test for most rules.
    ending: Option<u8>,
    /// How many bytes of the pattern come before its first wildcard or backslash.
    literal: usize,
    /// Whether the pattern is a star and literal text.
    is_suffix: bool,
    /// Whether only directories are meant.
    directories_only: bool,
    /// Whether the pattern is matched with the whole path, or with the last component.
    is_anchored: bool,
}

impl Rule {
    /// The rules of a text, one a line; blank lines and comments are none.
    pub fn read_all(text: &[u8]) -> Vec<Rule> {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        let lines = text.split(|byte| *byte == b'\n').enumerate();
        lines.filter_map(|(index, text)| Rule::read(index + 1, text)).collect()
    }

    /// The rule on one line, unless it is blank or a comment.
    fn read(line: usize, text: &[u8]) -> Option<Rule> {
        if matches!(text, [] | [b'#', ..]) {
            return None;
        }
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        // To git a line is a C string, which ends at a NUL.
        let text = text.split(|byte| *byte == 0).next().unwrap_or(text);
        let mut pattern = trim_end(text);
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
        Some(Rule {
            line,
            includes,
            pattern,
            ending,
            literal,
            is_suffix,
            directories_only,
            is_anchored,
        })
    }

    /// A pattern with the meaning of the rule: as it was written, but for slashes that mean nothing.
    pub fn text(&self) -> Vec<u8> {
        let slash = |is_there: bool| if is_there { &b"/"[..] } else { b"" };
        let leading = self.is_anchored && !self.pattern.contains(&b'/');
        [slash(leading), &self.pattern, slash(self.directories_only)].concat()
    }

    /// Whether the rule matches the entry at `path`, relative to the directory of the file.
    pub fn matches(&self, path: &[u8], is_directory: bool) -> bool {
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
        subject.strip_prefix(literal).is_some_and(|rest| wildcards::is_match(wild, rest))
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
