//! Answers for programs: one JSON object on one line.
//!
//! The report types of the core define the content of this object. This module adds the project, and
//! escapes harmful characters, because people may read the output, too.

use crate::commands::Failure;
use crate::text::is_harmful;
use herma_core::{Interrupted, Listed, LossyPath, Unlisted};
use serde::Serialize;
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// An answer about one project.
#[derive(Serialize)]
pub struct InProject<'a, T> {
    pub project: &'a str,
    #[serde(flatten)]
    pub answer: T,
}

/// The answer to `herma rollback`.
#[derive(Serialize)]
pub struct Listing<'a> {
    pub checkpoints: &'a [Listed],
    /// Pre-restore checkpoints that are beyond the limit of the list.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub unlisted: &'a [Unlisted],
    /// The interrupted rollback, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<&'a Interrupted>,
    /// Other projects that have checkpoints, if this project has none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub elsewhere: &'a [LossyPath],
    /// What hooks removed lately, for people.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub notices: &'a [String],
}

/// The answer to `herma checkpoints clear` and `clear-legacy`.
#[derive(Serialize)]
pub struct Clearing<T> {
    pub declined: bool,
    #[serde(flatten)]
    pub cleared: T,
}

/// The answer to `herma --version`.
#[derive(Serialize)]
pub struct Version {
    pub version: &'static str,
}

/// Why there is no answer.
#[derive(Serialize)]
pub struct Refusal<'a> {
    pub error: &'a Failure,
}

/// The JSON text of an answer, with the reason why a part was not done as another member.
pub fn with_error(answer: &[u8], error: &Failure) -> serde_json::Result<Vec<u8>> {
    let Some(members) = answer.strip_suffix(b"}\n") else { return Ok(answer.to_vec()) };
    let error = json(&Refusal { error })?;
    Ok([members, b",", error.strip_prefix(b"{").unwrap_or(&error)].concat())
}

/// The JSON text of an answer, with its line end.
pub fn json(answer: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, HarmlessFormatter);
    answer.serialize(&mut serializer)?;
    text.push(b'\n');
    Ok(text)
}

/// Escapes more than JSON requires; a parser reads the same strings.
struct HarmlessFormatter;

impl Formatter for HarmlessFormatter {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + Write,
    {
        let mut units = [0; 2];
        for character in fragment.chars() {
            if is_harmful(character) {
                for unit in character.encode_utf16(&mut units) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            } else {
                write!(writer, "{character}")?;
            }
        }
        Ok(())
    }
}
