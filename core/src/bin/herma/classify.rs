//! `herma classify`: whether a shell command changes files, and which of its words do.

use crate::commands::{Answer, Failure};
use crate::pages::{self, Page};
use crate::text;
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
pub fn answer(command: &str, json: bool) -> Result<Answer, Failure> {
    let found = reasons(command);
    let data = Classified { command, changes_files: !found.is_empty(), reasons: &found };
    Answer::of(json, &data, || page(command, &found))
}

fn page(command: &str, found: &[Reason]) -> String {
    if found.is_empty() {
        return "Probably changes no files\n".to_owned();
    }
    let words = found.iter().map(|reason| text::line(&command.as_bytes()[reason.range.clone()]));
    let words: Vec<String> = words.collect();
    let longest = words.iter().map(|word| word.chars().count()).max().unwrap_or_default();
    let width = longest.min(pages::NAME_WIDTH_MAX);
    let mut page = Page("May change files:\n".to_owned());
    for (word, reason) in words.iter().zip(found) {
        writeln!(page, "  {word:<width$}  {}", reason.why);
    }
    page.0
}
