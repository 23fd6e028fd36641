//! `herma man`: man pages, made from the help pages, so that they cannot be outdated.

use crate::arguments;
use crate::commands::{Answer, Failure};
use crate::help::AFTER_HELP;
use crate::layout::{HelpEntry, help_entries};
use clap::Command;
use serde::Serialize;

/// The sections of a page, each with the title that its part of a help page has.
const SECTIONS: [(&str, &str); 10] = [
    ("SYNOPSIS", "Usage:"),
    ("DESCRIPTION", "Description:"),
    ("ARGUMENTS", "Arguments:"),
    ("COMMANDS", "Commands:"),
    ("OPTIONS", "Options:"),
    ("CONFIGURATION", "Configuration,"),
    ("ENVIRONMENT", "Environment:"),
    ("FILES", FILES),
    ("EXIT STATUS", "Exit codes:"),
    ("EXAMPLES", "Examples:"),
];
const SYNOPSIS: usize = 0;
/// The section of the parts without a title.
const DESCRIPTION: usize = 1;
/// The title of a part of the help page of the command that is in every man page.
const FILES: &str = "Files:";

/// The answer of `herma man` in JSON.
#[derive(Serialize)]
struct ManPage<'a> {
    page: &'a str,
    source: &'a str,
}

/// The help page of a command, and the name of its man page.
struct HelpPage {
    name: String,
    text: String,
}

/// The man page of a subcommand, or of the command itself, in JSON or as its source.
pub fn page(subcommand: Option<&str>, json: bool) -> Result<Answer, Failure> {
    let pages = pages();
    let HelpPage { name, text } = named(&pages, subcommand)?;
    let is_below = |name: &str, above: &str| name.starts_with(&format!("{above}-"));
    let others = pages.iter().map(|page| &page.name);
    let related = others.filter(|other| is_below(other, name) || is_below(name, other));
    let related: Vec<String> = related.map(|name| format!(".BR {} (1)", escaped(name))).collect();
    let source = format!(
        ".TH \"{}\" \"1\" \"\" \"herma\"\n.nh\n.SH NAME\n{} \\- {}\n{}.SH SEE ALSO\n{}\n",
        name.to_uppercase(),
        escaped(name),
        escaped(text.lines().next().unwrap_or_default()),
        sections(text),
        related.join(",\n")
    );
    Answer::of(json, &ManPage { page: name, source: &source }, || source.clone())
}

/// The help page of a subcommand, or of the command itself.
pub fn help_page(subcommand: Option<&str>) -> Result<String, Failure> {
    named(&pages(), subcommand).map(|page| page.text.clone())
}

/// The names of all pages but that of the command itself.
pub fn names() -> Vec<String> {
    let pages = pages().into_iter();
    pages.filter_map(|page| page.name.strip_prefix("herma-").map(str::to_owned)).collect()
}

/// The pages of the command and of all subcommands except `help`, which has none.
fn pages() -> Vec<HelpPage> {
    let mut root = arguments::command().disable_help_subcommand(true);
    root.build();
    pages_of(&root)
}

fn pages_of(command: &Command) -> Vec<HelpPage> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).replace(' ', "-");
    let page = HelpPage { name, text: command.clone().render_help().to_string() };
    let mut subcommands: Vec<&Command> = command.get_subcommands().collect();
    subcommands.sort_by_key(|subcommand| subcommand.get_display_order());
    std::iter::once(page).chain(subcommands.into_iter().flat_map(pages_of)).collect()
}

/// The page of a subcommand, or of the command itself.
fn named<'a>(pages: &'a [HelpPage], subcommand: Option<&str>) -> Result<&'a HelpPage, Failure> {
    let name = subcommand.map_or_else(|| "herma".to_owned(), |name| format!("herma-{name}"));
    pages.iter().find(|page| page.name == name).ok_or_else(|| {
        let names = names().join(", ");
        let subcommand = subcommand.unwrap_or_default();
        let message = format!("no such page: \"{subcommand}\". The pages are {names}");
        Failure::new("unknown_page", message)
    })
}

/// The sections of the man page of a command with this help page.
fn sections(help: &str) -> String {
    let files = AFTER_HELP.split("\n\n").filter(|part| part.starts_with(FILES));
    let parts = help.trim_end().split("\n\n").filter(|part| !part.starts_with(FILES));
    let mut bodies = SECTIONS.map(|_| String::new());
    let mut section = DESCRIPTION;
    for part in parts.chain(files) {
        let titled = SECTIONS.iter().position(|(_, title)| part.starts_with(title));
        section = match titled {
            Some(section) => section,
            // A second table of the same section.
            None if part.lines().next().is_some_and(|line| line.ends_with(':')) => section,
            None => DESCRIPTION,
        };
        let text = titled.and_then(|_| part.strip_prefix(SECTIONS[section].1)).unwrap_or(part);
        let text = if section == SYNOPSIS { text } else { text.trim_start_matches(' ') };
        bodies[section] += &body(text);
    }
    let written = SECTIONS.iter().zip(&bodies).filter(|(_, body)| !body.is_empty());
    written.map(|((name, _), body)| format!(".SH {name}\n{body}")).collect()
}

/// The source of paragraphs, and of entries with a description in a column.
fn body(text: &str) -> String {
    let entries = help_entries(text).into_iter().filter(|entry| !entry.text.is_empty());
    let source = entries.map(|HelpEntry { text, column }| {
        if !text.starts_with(' ') {
            return format!(".PP\n{}\n", escaped(&text));
        }
        let (term, description) = text.split_at(column.unwrap_or(text.len()));
        let description = escaped(description);
        let end = if description.is_empty() { "" } else { "\n" };
        format!(".TP\n\\fB{}\\fR\n{description}{end}", escaped(term.trim()))
    });
    source.collect()
}

/// A text, escaped so that a man page shows it unchanged.
fn escaped(text: &str) -> String {
    let shown = text.chars().map(|character| match character {
        '\\' => "\\(rs".to_owned(),
        // Unescaped, some of these are shown as other characters, and commands could not be copied.
        '-' => "\\-".to_owned(),
        '\'' => "\\(aq".to_owned(),
        '`' => "\\(ga".to_owned(),
        '~' => "\\(ti".to_owned(),
        '^' => "\\(ha".to_owned(),
        plain => plain.to_string(),
    });
    let shown = shown.collect::<String>().replace("\n.", "\n\\&.");
    if shown.starts_with('.') { format!("\\&{shown}") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_sorts_the_parts_of_a_help_page_and_keeps_entries_apart() {
        let help = "What it does\n\nUsage: herma x [N]\n       herma x y\n\nOptions:\n  -h  Print\n      \
                    help\n\nSome words,\n.x and more.\n\nExamples:\n  herma 'a'\n\nExit codes: 0 done;\n3 not.\n";
        let found = sections(help);
        let files = found.find(".SH FILES\n").unwrap();
        let end = found.find(".SH EXIT").unwrap();
        let synopsis = ".SH SYNOPSIS\n.TP\n\\fBherma x [N]\\fR\n.TP\n\\fBherma x y\\fR\n";
        let words = ".SH DESCRIPTION\n.PP\nWhat it does\n.PP\nSome words,\n\\&.x and more.\n";
        let options = ".SH OPTIONS\n.TP\n\\fB\\-h\\fR\nPrint\nhelp\n";
        assert_eq!(found[..files], [synopsis, words, options].concat());
        let codes = ".SH EXIT STATUS\n.PP\n0 done;\n3 not.\n";
        let examples = ".SH EXAMPLES\n.TP\n\\fBherma \\(aqa\\(aq\\fR\n";
        assert_eq!(found[end..], [codes, examples].concat());
    }
}
