//! Splits a line into words as a shell does, each with its range in the line: blanks separate words,
//! quotes and backslashes keep them together, and nothing is ever expanded.

use super::SyntaxError;
use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its text, without quotes.
    pub bytes: Vec<u8>,
    /// Its range in the line, including its quotes.
    pub range: Range<usize>,
}

/// A line and its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The line as it was typed, or as it can be typed.
    pub text: Vec<u8>,
    /// Its words.
    pub words: Vec<Word>,
}

impl Line {
    /// Splits a typed line.
    ///
    /// # Errors
    /// A quote that is not closed, or a backslash at the end.
    pub fn split(text: &[u8]) -> Result<Line, SyntaxError> {
        let mut words = Vec::new();
        let mut at = 0;
        while let Some(start) = (at..text.len()).find(|at| !text[*at].is_ascii_whitespace()) {
            let (word, end) = word(text, start)?;
            words.push(Word { bytes: word, range: start..end });
            at = end;
        }
        Ok(Line { text: text.to_vec(), words })
    }

    /// A line that a shell would split into these words.
    pub fn of_words(words: &[OsString]) -> Line {
        let mut line = Line::default();
        for word in words {
            if !line.words.is_empty() {
                line.text.push(b' ');
            }
            let start = line.text.len();
            line.text.extend_from_slice(quoted(word.as_bytes()).as_bytes());
            let range = start..line.text.len();
            line.words.push(Word { bytes: word.as_bytes().to_vec(), range });
        }
        line
    }
}

/// The word that begins at `start`, and the offset where it ends.
fn word(text: &[u8], start: usize) -> Result<(Vec<u8>, usize), SyntaxError> {
    let mut bytes = Vec::new();
    let mut at = start;
    while let Some(byte) = text.get(at).filter(|byte| !byte.is_ascii_whitespace()) {
        let opened = at;
        at += 1;
        match byte {
            b'\\' => match text.get(at) {
                Some(escaped) => {
                    bytes.push(*escaped);
                    at += 1;
                }
                None => {
                    let message = "there is nothing after this backslash";
                    return Err(SyntaxError::new(message, opened..at));
                }
            },
            quote @ (b'\'' | b'"') => loop {
                match text.get(at) {
                    None => {
                        let message = "this quote is not closed";
                        return Err(SyntaxError::new(message, opened..text.len()));
                    }
                    Some(byte) if byte == quote => {
                        at += 1;
                        break;
                    }
                    Some(b'\\')
                        if *quote == b'"' && matches!(text.get(at + 1), Some(b'"' | b'\\')) =>
                    {
                        bytes.push(text[at + 1]);
                        at += 2;
                    }
                    Some(byte) => {
                        bytes.push(*byte);
                        at += 1;
                    }
                }
            },
            byte => bytes.push(*byte),
        }
    }
    Ok((bytes, at))
}

/// Quotes a word so that it stays one word when it is typed; bytes that are not UTF-8 are replaced.
pub fn quoted(word: &[u8]) -> String {
    let is_plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+=:@%,~".contains(byte) || *byte >= 0x80;
    let text = String::from_utf8_lossy(word);
    if !word.is_empty() && word.iter().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
