//! The patterns of ignore files: reads a line and matches it with a path, as git does.
//!
//! No existing crate is used, because `gix-ignore` reads some lines and brackets differently from git, gives up
//! at 64 stars, and takes exponential time for repeated `**/`. A project could use such a pattern in its own
//! ignore file to stall a checkpoint.

use crate::path::name_of;
use std::ops::ControlFlow::{self, Break, Continue};

/// One line of an ignore file.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The number of the line, from 1.
    pub line: usize,
    /// Whether the line began with `!`.
    pub includes: bool,
    /// The pattern without the `!` and the slashes at its ends.
    pattern: Box<[u8]>,
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
        subject.strip_prefix(literal).is_some_and(|rest| Matching::is_match(wild, rest))
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
