//! `herma man`: man pages, generated from the arguments of the command, so that they cannot be outdated.

use crate::arguments;
use crate::commands::{Answer, Failure};
use clap::Command;
use clap::builder::Resettable;
use clap_mangen::Man;
use serde::Serialize;

/// The answer of `herma man` in JSON.
#[derive(Serialize)]
struct Page<'a> {
    page: &'a str,
    source: &'a str,
}

/// The man page of a subcommand, or of the command itself, in JSON or as its source.
pub fn page(subcommand: Option<&str>, json: bool) -> Result<Answer, Failure> {
    let root = root_command();
    let pages = pages(&root);
    let title =
        subcommand.map_or_else(|| "herma".to_owned(), |subcommand| format!("herma-{subcommand}"));
    let Some((_, command)) = pages.iter().find(|(name, _)| *name == title) else {
        let names = names().join(", ");
        let subcommand = subcommand.unwrap_or_default();
        let message = format!("no such page: \"{subcommand}\". The pages are {names}");
        return Err(Failure::new("unknown_page", message));
    };
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let notes = arguments_described(command) + &notes;
    let man = Man::new((*command).clone().after_help(Resettable::Reset));
    let mut source = Vec::new();
    // Only the writer can fail, and writing to memory does not.
    let rendered = man.title(title.to_uppercase()).source("herma").render(&mut source);
    rendered.map_err(|error| Failure::answer_not_written(&error))?;
    source.extend(sections(&notes).bytes());
    let data = Page { page: &title, source: &String::from_utf8_lossy(&source) };
    Answer::of(json, &data, || source.clone())
}

/// The names of all pages but that of the command itself.
pub fn names() -> Vec<String> {
    let root = root_command();
    let names = pages(&root).into_iter();
    names.filter_map(|(name, _)| name.strip_prefix("herma-").map(str::to_owned)).collect()
}

/// The command with all subcommands except `help`, which has no page.
fn root_command() -> Command {
    let mut root = arguments::command().disable_help_subcommand(true);
    root.build();
    root
}

/// A command and all its subcommands, each with the name of its page.
fn pages(command: &Command) -> Vec<(String, &Command)> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).replace(' ', "-");
    let mut subcommands: Vec<&Command> = command.get_subcommands().collect();
    subcommands.sort_by_key(|subcommand| subcommand.get_display_order());
    std::iter::once((name, command)).chain(subcommands.into_iter().flat_map(pages)).collect()
}

/// The section "Arguments" of a command whose help template describes them, since clap does not know
/// what they mean.
fn arguments_described(command: &Command) -> String {
    if !command.get_positionals().any(|argument| argument.is_hide_set()) {
        return String::new();
    }
    let help = command.clone().render_help().to_string();
    let described = help.split("\n\n").find(|part| part.starts_with("Arguments:\n"));
    described.map(|part| format!("{part}\n\n")).unwrap_or_default()
}

/// The help text after the options, as sections. Its columns are kept line by line; clap_mangen would
/// make a single paragraph of it.
fn sections(notes: &str) -> String {
    let mut sections = String::new();
    for part in notes.split("\n\n").filter(|part| !part.is_empty()) {
        let (first, rest) = part.split_once('\n').unwrap_or((part, ""));
        let (title, lines) = match first.split_once(':') {
            Some(("Exit codes", "")) => ("EXIT STATUS", rest),
            Some(("Exit codes", _)) => ("EXIT STATUS", &part["Exit codes: ".len()..]),
            Some(("Examples", "")) => ("EXAMPLES", rest),
            Some(("Arguments", "")) => ("ARGUMENTS", rest),
            Some(("Environment", "")) => ("ENVIRONMENT", rest),
            _ => ("NOTES", part),
        };
        let lines: String = lines.lines().map(|line| escaped(line) + "\n").collect();
        sections += &format!(".SH \"{title}\"\n.nf\n{lines}.fi\n");
    }
    sections
}

/// A line, escaped so that a man page shows it unchanged.
fn escaped(line: &str) -> String {
    let shown = line.chars().map(|character| match character {
        '\\' => "\\(rs".to_owned(),
        // Unescaped, some of these are shown as other characters, and commands could not be copied.
        '-' => "\\-".to_owned(),
        '\'' => "\\(aq".to_owned(),
        '`' => "\\(ga".to_owned(),
        '~' => "\\(ti".to_owned(),
        '^' => "\\(ha".to_owned(),
        plain => plain.to_string(),
    });
    let start = if line.starts_with('.') { "\\&" } else { "" };
    start.to_owned() + &shown.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_keeps_columns_and_escapes_lines_that_begin_with_a_dot() {
        let notes = "Some words.\n\nExamples:\n  herma 'a'   one\n.x\n\nExit codes: 0 done.";
        let words = ".SH \"NOTES\"\n.nf\nSome words.\n.fi\n";
        let examples = ".SH \"EXAMPLES\"\n.nf\n  herma \\(aqa\\(aq   one\n\\&.x\n.fi\n";
        let codes = ".SH \"EXIT STATUS\"\n.nf\n0 done.\n.fi\n";
        assert_eq!(sections(notes), [words, examples, codes].concat());
    }

    #[test]
    fn every_subcommand_has_a_page() {
        let root = root_command();
        let pages = pages(&root);
        let names: Vec<_> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for name in ["herma", "herma-rollback", "herma-checkpoints-prune", "herma-man"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        for (name, _) in &pages {
            let source = page(name.strip_prefix("herma-"), false).ok().unwrap();
            let source = String::from_utf8(source.bytes).unwrap();
            assert!(source.contains(".SH \"EXIT STATUS\"") || name == "herma-checkpoints-status");
        }
    }
}
