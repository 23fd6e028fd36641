//! Git's `wildmatch` in path mode. A pattern is compiled once. Matching makes one pass for each element of
//! the pattern over the set of positions reached in the text, so that no pattern takes exponential time.
//!
//! This module handles wildcards only; [`super::parse`] handles negation, anchoring slashes and the like.

use std::slice::Iter;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    elements: Vec<Element>,
    /// The literal text after the elements. It rejects most texts at once.
    end: Vec<u8>,
}

/// What one element of a pattern matches.
#[derive(Clone, Debug)]
enum Element {
    /// This byte.
    Byte(u8),
    /// Any byte except a slash.
    AnyByte,
    /// One byte of the set.
    OneOf(Box<ByteSet>),
    /// Any number of bytes except slashes, including zero.
    Star,
    /// `**/` at the start of a component: nothing, or any bytes up to and including a slash.
    AnyDirectories,
    /// `**` at the start of a component, at the end or before `\/`: any bytes at all.
    Anything,
}

/// A set of bytes: for each of the 256, whether it is a member.
#[derive(Clone, Debug)]
struct ByteSet([bool; 256]);

impl Glob {
    /// Compiles a pattern, or returns `None` if it is invalid, which for git means that nothing
    /// matches it.
    pub(super) fn compile(pattern: &[u8]) -> Option<Glob> {
        let mut rest = pattern.iter();
        let mut elements = Vec::new();
        let mut at_component = true;
        while let Some(byte) = rest.next() {
            let element = match byte {
                b'\\' => Element::Byte(*rest.next()?),
                b'?' => Element::AnyByte,
                b'[' => Element::OneOf(Box::new(class(&mut rest)?)),
                b'*' => stars(&mut rest, at_component),
                literal => Element::Byte(*literal),
            };
            at_component = matches!(element, Element::Byte(b'/') | Element::AnyDirectories);
            elements.push(element);
        }
        let literals = elements.iter().rev().map_while(Element::as_byte).count();
        let end = elements.split_off(elements.len() - literals);
        let end = end.iter().filter_map(Element::as_byte).collect();
        Some(Glob { elements, end })
    }

    /// Whether the whole text matches.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        let Some(text) = text.strip_suffix(&self.end[..]) else {
            return false;
        };
        // `reached[n]`: the elements so far can match exactly the first `n` bytes.
        let mut reached = vec![false; text.len() + 1];
        reached[0] = true;
        for element in &self.elements {
            if !element.advance(text, &mut reached) {
                return false;
            }
        }
        reached[text.len()]
    }
}

impl Element {
    fn as_byte(&self) -> Option<u8> {
        match self {
            Element::Byte(byte) => Some(*byte),
            _ => None,
        }
    }

    /// Moves the positions reached in the text past this element; returns whether any is left.
    fn advance(&self, text: &[u8], reached: &mut [bool]) -> bool {
        match self {
            Element::Byte(wanted) => step(text, reached, |byte| byte == *wanted),
            Element::AnyByte => step(text, reached, |byte| byte != b'/'),
            Element::OneOf(set) => step(text, reached, |byte| set.0[usize::from(byte)]),
            Element::Star => spread(text, reached, |before, byte| before && byte != b'/'),
            Element::Anything => spread(text, reached, |before, _| before),
            Element::AnyDirectories => {
                let mut begun = false;
                spread(text, reached, |before, byte| {
                    begun |= before;
                    begun && byte == b'/'
                })
            }
        }
        reached.contains(&true)
    }
}

/// Moves every reached position by exactly one byte. Back to front, since each position is computed
/// from its left neighbour.
fn step(text: &[u8], reached: &mut [bool], matches: impl Fn(u8) -> bool) {
    for (index, byte) in text.iter().enumerate().rev() {
        reached[index + 1] = reached[index] && matches(*byte);
    }
    reached[0] = false;
}

/// Keeps every reached position and adds the positions after a byte that the element can match.
fn spread(text: &[u8], reached: &mut [bool], mut matches: impl FnMut(bool, u8) -> bool) {
    for (index, byte) in text.iter().enumerate() {
        let before = reached[index];
        reached[index + 1] |= matches(before, *byte);
    }
}

/// Reads the rest of a run of stars. Two or more differ from one only as a complete component.
fn stars(rest: &mut Iter<'_, u8>, at_component: bool) -> Element {
    let more = rest.as_slice().iter().take_while(|byte| **byte == b'*').count();
    let behind = &rest.as_slice()[more..];
    *rest = behind.iter();
    match behind {
        _ if more == 0 || !at_component => Element::Star,
        [] | [b'\\', b'/', ..] => Element::Anything,
        [b'/', component @ ..] => {
            *rest = component.iter();
            Element::AnyDirectories
        }
        _ => Element::Star,
    }
}

/// Reads a bracket expression after its `[`. Returns `None` if it is invalid.
fn class(rest: &mut Iter<'_, u8>) -> Option<ByteSet> {
    let peek = |rest: &Iter<'_, u8>| rest.as_slice().first().copied();
    let inverted = matches!(peek(rest), Some(b'!' | b'^'));
    if inverted {
        rest.next();
    }
    let mut set = [false; 256];
    // The member that could start a range. A range or a named class cannot start another range.
    let mut previous = None;
    let mut is_first = true;
    loop {
        previous = match *rest.next()? {
            b']' if !is_first => break,
            b'\\' => rest.next().copied(),
            b'-' if previous.is_some() && !matches!(peek(rest), None | Some(b']')) => {
                let end = match *rest.next()? {
                    b'\\' => *rest.next()?,
                    end => end,
                };
                let start = previous?;
                (start..=end).for_each(|byte| set[usize::from(byte)] = true);
                None
            }
            b'[' if peek(rest) == Some(b':') => named_class(rest, &mut set)?,
            member => Some(member),
        };
        is_first = false;
        if let Some(member) = previous {
            set[usize::from(member)] = true;
        }
    }
    set.iter_mut().for_each(|member| *member ^= inverted);
    // No bracket expression matches a slash, whatever it lists.
    set[usize::from(b'/')] = false;
    Some(ByteSet(set))
}

/// Reads `[:name:]` after its `[` into the set; a mere look-alike is an ordinary `[`.
fn named_class(rest: &mut Iter<'_, u8>, set: &mut [bool; 256]) -> Option<Option<u8>> {
    let behind_colon = &rest.as_slice()[1..];
    let length = behind_colon.iter().position(|byte| *byte == b']')?;
    let Some(name) = behind_colon[..length].strip_suffix(b":") else {
        return Some(Some(b'['));
    };
    let holds = named_predicate(name)?;
    *rest = behind_colon[length + 1..].iter();
    for byte in 0..=u8::MAX {
        set[usize::from(byte)] |= holds(&byte);
    }
    Some(None)
}

/// The bytes of a POSIX class; git knows ASCII only, and its `space` class lacks `\v` and `\f`.
fn named_predicate(name: &[u8]) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| matches!(byte, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_compile_splits_off_the_literal_end_of_a_pattern() {
        for (pattern, elements, end) in
            [("*.log", 1, ".log"), ("?a*\\b", 3, "b"), ("a", 0, "a"), ("a*", 2, "")]
        {
            let glob = Glob::compile(pattern.as_bytes()).unwrap();
            assert_eq!(
                (glob.elements.len(), &glob.end[..]),
                (elements, end.as_bytes()),
                "{pattern}"
            );
        }
    }
}
