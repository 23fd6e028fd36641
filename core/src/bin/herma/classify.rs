//! `herma classify`: whether a shell command changes files, and which of its words do.

use crate::commands::{Answer, Failure};
use crate::layout::{name_width, padded};
use crate::pages::Page;
use crate::text::{self, Style};
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
pub fn answer(command: &str, json: bool, style: Style) -> Result<Answer, Failure> {
    let found = reasons(command);
    let data = Classified { command, changes_files: !found.is_empty(), reasons: &found };
    Answer::of(json, &data, || page(command, &found, style))
}

fn page(command: &str, found: &[Reason], style: Style) -> String {
    if found.is_empty() {
        return "Probably changes no files\n".to_owned();
    }
    let words = found.iter().map(|reason| text::line(&command.as_bytes()[reason.range.clone()]));
    let words: Vec<String> = words.collect();
    let width = name_width(style, &words);
    let mut page = Page("May change files:\n".to_owned());
    for (word, reason) in words.iter().zip(found) {
        writeln!(page, "  {}  {}", padded(word, width), reason.why);
    }
    page.0
}
