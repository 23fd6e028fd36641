//! `herma classify`: whether a shell command changes files, and which of its words do.

use crate::commands::Failure;
use crate::{pages, programs, text};
use herma_core::triggers::{Reason, reasons};
use serde::Serialize;

/// The answer in JSON.
#[derive(Serialize)]
struct Classified<'a> {
    command: &'a str,
    changes_files: bool,
    reasons: &'a [Reason],
}

/// The answer, in JSON or as text for people.
pub fn answer(command: &str, json: bool) -> Result<Vec<u8>, Failure> {
    let found = reasons(command);
    if json {
        let changes_files = !found.is_empty();
        return Ok(programs::json(&Classified { command, changes_files, reasons: &found })?);
    }
    if found.is_empty() {
        return Ok(b"Probably changes no files\n".to_vec());
    }
    let words = found.iter().map(|reason| text::line(&command.as_bytes()[reason.range.clone()]));
    let words: Vec<String> = words.collect();
    let longest = words.iter().map(|word| word.chars().count()).max().unwrap_or_default();
    let width = longest.min(pages::NAME_WIDTH_MAX);
    let lines = words
        .iter()
        .zip(&found)
        .map(|(word, reason)| format!("  {word:<width$}  {}\n", reason.why));
    Ok(format!("May change files:\n{}", lines.collect::<String>()).into_bytes())
}
