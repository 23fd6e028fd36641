//! Matches a pattern with wildcards, as git does, in polynomial time.

use std::ops::ControlFlow::{self, Break, Continue};

/// Whether a pattern matches a text completely.
pub fn is_match(pattern: &[u8], text: &[u8]) -> bool {
    Matching::is_match(pattern, text)
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
