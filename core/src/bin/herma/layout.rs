//! Lays out text on a terminal: columns of names with wide characters, and lines that are longer than the terminal is
//! wide.

use crate::text::Style;
use std::os::fd::AsFd;
use unicode_width::UnicodeWidthStr;

/// Fewer columns than this are too narrow for words.
const COLUMNS_MIN: usize = 20;
/// The width of a column of names where the width of the terminal is unknown.
const NAME_WIDTH_MAX: usize = 60;
/// What a terminal leaves for the text after a column of names.
const AFTER_NAME_WIDTH: usize = 24;

/// How many columns a text takes.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// A text, followed by spaces up to that many columns.
pub fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// The width of a column of these names; longer ones move the rest to the right.
pub fn name_width(style: Style, names: &[String]) -> usize {
    let terminal = style.terminal.then(terminal_columns).flatten();
    let max = terminal.map_or(NAME_WIDTH_MAX, |width| width.saturating_sub(AFTER_NAME_WIDTH));
    names.iter().map(|name| columns(name)).max().unwrap_or_default().min(max)
}

/// The columns of the terminal on standard output, if it is one.
pub fn terminal_columns() -> Option<usize> {
    columns_of(std::io::stdout())
}

/// The columns of the terminal that is this output, if it is one.
pub fn columns_of(output: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(output).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns >= COLUMNS_MIN)
}

/// The text with its long lines broken at spaces; what follows is indented as far as the line, and two columns more.
pub fn wrapped(text: &str, width: usize) -> String {
    text.split_inclusive('\n').map(|line| wrapped_line(line, width)).collect()
}

/// A help page on a terminal that is narrower than its text: paragraphs and the descriptions in a column are laid out
/// anew.
pub fn wrapped_help(text: &str, width: usize) -> String {
    if text.lines().all(|line| columns(line) <= width) {
        return text.to_owned();
    }
    help_entries(text).iter().map(|entry| wrapped_entry(entry, width) + "\n").collect()
}

/// A paragraph, a title, an empty line, or an entry with its description in a column.
pub struct HelpEntry {
    /// Its lines, all but the first without indentation.
    pub text: String,
    /// The column in which it goes on, if it does.
    pub column: Option<usize>,
}

/// The entries of a help page.
pub fn help_entries(text: &str) -> Vec<HelpEntry> {
    let mut entries: Vec<HelpEntry> = Vec::new();
    for line in text.lines() {
        let words = line.trim_start();
        let indentation = line.len() - words.len();
        match entries.last_mut() {
            Some(HelpEntry { text, column })
                if !line.is_empty() && !text.is_empty() && *column == Some(indentation) =>
            {
                text.push('\n');
                text.push_str(words);
            }
            _ => entries.push(HelpEntry { text: line.to_owned(), column: described_column(line) }),
        }
    }
    entries
}

fn wrapped_entry(HelpEntry { text, column }: &HelpEntry, width: usize) -> String {
    let line = text.replace('\n', " ");
    let column = column.filter(|column| *column <= width * 2 / 3);
    column.map_or_else(|| wrapped_line(&line, width), |column| broken(&line, width, column))
}

/// The column in which a line of a help page goes on: that of its paragraph, or of what follows two spaces.
fn described_column(line: &str) -> Option<usize> {
    let words = line.trim_start();
    let indentation = line.len() - words.len();
    if indentation == 0 {
        return Some(0);
    }
    let gap = words.find("  ")?;
    Some(line.len() - words[gap..].trim_start().len())
}

fn wrapped_line(line: &str, width: usize) -> String {
    // A command without a description is copied from where the terminal breaks it.
    if line.starts_with("  herma ") && !line.trim().contains("  ") {
        return line.to_owned();
    }
    let indentation = line.len() - line.trim_start_matches(' ').len();
    broken(line, width, (indentation + 2).min(width / 2))
}

/// The line, broken at spaces; what follows is indented up to `column`.
fn broken(line: &str, width: usize, column: usize) -> String {
    let indentation = " ".repeat(column);
    let mut wrapped = String::new();
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        let columns = columns(&visible(word));
        // The space after a word may stand beyond the edge.
        let is_too_long = used + columns - usize::from(word.ends_with(' ')) > width;
        if is_too_long && used > indentation.len() {
            let end = wrapped.trim_end_matches(' ').len();
            wrapped.truncate(end);
            wrapped.push('\n');
            wrapped.push_str(&indentation);
            used = indentation.len();
        }
        wrapped.push_str(word);
        used += columns;
    }
    wrapped
}

/// The text without colours and its line end.
fn visible(text: &str) -> String {
    let mut visible = String::new();
    let mut is_colour = false;
    for character in text.chars().filter(|character| *character != '\n') {
        match character {
            '\x1b' => is_colour = true,
            'm' if is_colour => is_colour = false,
            _ if is_colour => {}
            _ => visible.push(character),
        }
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn padded_counts_the_columns_of_wide_characters() {
        assert_eq!(padded("日本", 6), "日本  ");
        assert_eq!(padded("ab", 6), "ab    ");
        assert_eq!(padded("longer", 3), "longer");
    }

    #[test]
    fn wrapped_breaks_at_spaces_and_does_not_count_colours() {
        let line = "  1. \x1b[33mabc\x1b[m  the reason is long (2 files, +1/-1)\n";
        let expected = "  1. \x1b[33mabc\x1b[m  the reason\n    is long (2 files,\n    +1/-1)\n";
        assert_eq!(wrapped(line, 21), expected);
        assert_eq!(wrapped(line, 80), line);
        let command = "  herma rollback 49097f1 --as-previewed 7e4ac887cc627a21\n";
        assert_eq!(wrapped(command, 40), command);
        let word = "a-word-that-is-longer-than-the-line\n";
        assert_eq!(wrapped(word, 20), word);
    }

    #[test]
    fn wrapped_help_lays_paragraphs_out_anew_and_leaves_what_fits() {
        let page = "What it does, in a line that is long,\nand in another.\n\nExamples:\n  herma list  shows all \
                    of them\n              and more\n  herma undo\n";
        let expected = "What it does, in a line that\nis long, and in another.\n\nExamples:\n  herma list  shows \
                        all of\n              them and more\n  herma undo\n";
        assert_eq!(wrapped_help(page, 28), expected);
        assert_eq!(wrapped_help(page, 80), page);
    }

    proptest! {
        #[test]
        fn wrapped_changes_nothing_but_spaces_and_line_ends(text in "[a-z日 \n]{0,80}", width in 20usize..60) {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let found = wrapped(&text, width);
            prop_assert_eq!(words(&found), words(&text));
            // Spaces at the end of a line may stand beyond the edge.
            let is_fitting =
                |line: &str| columns(line.trim_end()) <= width || !line.trim().contains(' ');
            prop_assert!(found.lines().all(is_fitting), "{}", found);
        }
    }
}
