//! Parses the text of an ignore file into patterns as git does: lines, comments, blanks, negation, and the
//! slashes that anchor a pattern or restrict it to directories.
//!
//! Wildcards in a pattern are left to [`super::wildmatch`].

use super::name_of;
use super::wildmatch::Glob;

/// One line of an ignore file that can match something.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// The line began with `!`: a match re-includes.
    pub(super) negated: bool,
    /// The line ended with a slash: only directories match.
    directory_only: bool,
    /// The line has no other slash: only the last component is compared with it, at every depth.
    name_only: bool,
    /// The literal text before the first wildcard.
    prefix: Vec<u8>,
    /// The rest of the line, from the first wildcard on.
    rest: Glob,
}

/// The patterns of an ignore file, in the order of its lines.
pub(super) fn patterns(text: &[u8]) -> Vec<Pattern> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    text.split(|byte| *byte == b'\n').filter_map(pattern).collect()
}

/// The pattern of one line, if the line holds a pattern and something could match it.
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
    let text = line.strip_prefix(b"/").unwrap_or(line);
    if text.is_empty() {
        return None;
    }
    // Git (up to 2.51) strips the literal prefix before it matches the wildcards, so that the rest
    // counts as the start of a component: `a**/b` matches `ax/y/b`. This code does the same.
    let special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\');
    let (prefix, rest) = text.split_at(text.iter().position(special).unwrap_or(text.len()));
    let rest = Glob::compile(rest)?;
    Some(Pattern { negated, directory_only, name_only, prefix: prefix.to_vec(), rest })
}

/// The line without its trailing blanks; a backslash keeps the blank that follows it.
fn without_trailing_blanks(line: &[u8]) -> &[u8] {
    let mut kept = 0;
    let mut rest = line.iter();
    while let Some(byte) = rest.next() {
        if *byte == b'\\' {
            rest.next();
        }
        if *byte != b' ' {
            kept = line.len() - rest.len();
        }
    }
    &line[..kept]
}

impl Pattern {
    /// Whether the entry at `path`, relative to the directory of the ignore file, matches.
    pub(super) fn matches(&self, path: &[u8], is_directory: bool) -> bool {
        if self.directory_only && !is_directory {
            return false;
        }
        let subject = if self.name_only { name_of(path) } else { path };
        subject.strip_prefix(&self.prefix[..]).is_some_and(|end| self.rest.matches(end))
    }
}
