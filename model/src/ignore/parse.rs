//! From the text of an ignore file to its patterns, as git reads them: lines, comments, blanks,
//! negation, the slashes that anchor a pattern or ask for a directory.
//!
//! It ends where the wildcards begin: those are the business of [`super::wildmatch`].

use super::name_of;
use super::wildmatch::Glob;

/// One line of an ignore file that can match something.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// The line began with `!`: a match re-includes.
    pub(super) negated: bool,
    /// The line ended with a slash: only directories match.
    directory_only: bool,
    /// The line has no other slash: it is held against the last component alone, at every depth.
    name_only: bool,
    /// The byte every match ends in, when there is one. Most patterns are turned away by it at
    /// once.
    last_byte: Option<u8>,
    matcher: Matcher,
}

/// How a pattern is held against a path or a name; the first two are the fast ways of the third.
#[derive(Clone, Debug)]
enum Matcher {
    /// The text itself.
    Literal(Vec<u8>),
    /// A name that ends with this, as in `*.log`.
    Suffix(Vec<u8>),
    /// A literal beginning, and wildcards for the rest.
    Glob { prefix: Vec<u8>, rest: Glob },
}

/// The patterns of a whole ignore file, in the order of its lines.
pub(super) fn patterns(text: &[u8]) -> Vec<Pattern> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    text.split(|byte| *byte == b'\n').filter_map(pattern).collect()
}

/// The pattern on one line, if the line holds one and something could match it.
fn pattern(line: &[u8]) -> Option<Pattern> {
    if line.is_empty() || line.starts_with(b"#") {
        return None;
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Git keeps a line as a C string, so a NUL ends it.
    let line = line.split(|byte| *byte == 0).next().unwrap_or(line);
    let line = without_trailing_blanks(line);
    let (negated, line) = match line.strip_prefix(b"!") {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (directory_only, line) = match line.strip_suffix(b"/") {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let name_only = !line.contains(&b'/');
    let matcher = matcher(line.strip_prefix(b"/").unwrap_or(line), name_only)?;
    let last_byte = match &matcher {
        Matcher::Literal(text) | Matcher::Suffix(text) => text.last().copied(),
        Matcher::Glob { rest, .. } => rest.last_byte(),
    };
    Some(Pattern { negated, directory_only, name_only, last_byte, matcher })
}

/// The line up to its trailing blanks; a backslash keeps the blank it stands before.
fn without_trailing_blanks(line: &[u8]) -> &[u8] {
    let mut kept = 0;
    let mut position = 0;
    while let Some(byte) = line.get(position) {
        position += if *byte == b'\\' { 2 } else { 1 };
        if *byte != b' ' {
            kept = position.min(line.len());
        }
    }
    &line[..kept]
}

/// The cheapest way to hold `text` against an entry, or nothing if no entry could match it.
fn matcher(text: &[u8], name_only: bool) -> Option<Matcher> {
    let special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\');
    let literal = text.iter().position(special).unwrap_or(text.len());
    // Git (up to 2.51) cuts the literal beginning off before it looks at the wildcards, so that
    // what follows counts as the beginning of a component: `a**/b` matches `ax/y/b`. We do as it
    // does.
    let (prefix, rest) = text.split_at(literal);
    let rest = Glob::compile(rest)?;
    if let Some(literals) = rest.as_literals() {
        return (!text.is_empty()).then(|| Matcher::Literal([prefix, &literals].concat()));
    }
    match rest.as_suffix() {
        Some(suffix) if name_only && prefix.is_empty() => Some(Matcher::Suffix(suffix)),
        _ => Some(Matcher::Glob { prefix: prefix.to_vec(), rest }),
    }
}

impl Pattern {
    /// Whether the entry at `path`, relative to the directory of the ignore file, matches.
    pub(super) fn matches(&self, path: &[u8], is_directory: bool) -> bool {
        if self.directory_only && !is_directory {
            return false;
        }
        if self.last_byte.is_some() && self.last_byte != path.last().copied() {
            return false;
        }
        let subject = if self.name_only { name_of(path) } else { path };
        match &self.matcher {
            Matcher::Literal(text) => subject == text,
            Matcher::Suffix(suffix) => subject.ends_with(suffix),
            Matcher::Glob { prefix, rest } => {
                subject.strip_prefix(prefix.as_slice()).is_some_and(|end| rest.matches(end))
            }
        }
    }
}
