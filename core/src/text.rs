//! Formats text that is safe to print: no name, reason or message moves the cursor, hides a part of
//! itself or pretends to be another line. Also formats sizes and times for people.
//!
//! This module does not depend on checkpoints.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::ffi::OsString;

/// How text is styled for an output; by default as for a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Whether the output is a terminal, which a person reads directly.
    pub terminal: bool,
    colour: bool,
}

/// The meaning of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug)]
pub enum Tone {
    /// Something added or done.
    Good,
    /// Something removed or gone wrong.
    Bad,
    /// Something to look at.
    Notable,
    /// A position, such as that of a hunk.
    Place,
    /// A heading.
    Head,
}

impl Style {
    /// The style of an output that is a terminal, or is not; `variable` looks up the environment.
    pub fn of_output(terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let is_refused = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_able = variable("TERM").is_some_and(|term| term != "dumb");
        Style { terminal, colour: terminal && is_able && !is_refused }
    }

    /// The text in its colour, where there are colours.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let number = match tone {
            Tone::Good => 32,
            Tone::Bad => 31,
            Tone::Notable => 33,
            Tone::Place => 36,
            Tone::Head => 1,
        };
        format!("\x1b[{number}m{text}\x1b[m")
    }
}

/// Whether printing this character could do anything but print one visible character.
pub fn is_harmful(character: char) -> bool {
    let is_invisible_or_bidirectional = matches!(
        character,
        '\u{61c}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    );
    character.is_control() || is_invisible_or_bidirectional
}

/// Any text on one line, with everything harmful escaped.
pub fn line(text: impl AsRef<[u8]>) -> String {
    escape(text.as_ref(), &[])
}

/// The beginning of an error, which may repeat what was read.
pub fn beginning(error: &impl std::fmt::Display) -> String {
    const SHOWN_MAX: usize = 200;
    let text = error.to_string();
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A file name or path: as it is, or in quotes where the bare name would mislead.
pub fn name(path: impl AsRef<[u8]>) -> String {
    let path = path.as_ref();
    let escaped = escape(path, &['"', '\\']);
    let is_bare = escaped.as_bytes() == path && !path.is_empty();
    if is_bare && !path.starts_with(b" ") && !path.ends_with(b" ") {
        return escaped;
    }
    format!("\"{escaped}\"")
}

/// The characters of a text, and the bytes that are not UTF-8.
fn pieces(text: &[u8]) -> impl Iterator<Item = Result<char, u8>> {
    text.utf8_chunks().flat_map(|chunk| {
        chunk.valid().chars().map(Ok).chain(chunk.invalid().iter().copied().map(Err))
    })
}

fn escape(text: &[u8], quotes: &[char]) -> String {
    let escaped = |piece| match piece {
        Ok('\n') => "\\n".to_owned(),
        Ok('\r') => "\\r".to_owned(),
        Ok('\t') => "\\t".to_owned(),
        Ok(control) if control.is_ascii_control() => format!("\\x{:02x}", u32::from(control)),
        Ok(harmful) if is_harmful(harmful) => format!("\\u{{{:x}}}", u32::from(harmful)),
        Ok(quote) if quotes.contains(&quote) => format!("\\{quote}"),
        Ok(plain) => plain.to_string(),
        Err(byte) => format!("\\x{byte:02x}"),
    };
    pieces(text).map(escaped).collect()
}

/// A word quoted for any shell, so that a printed command can be typed. Bytes that must not be printed take a form
/// that bash, zsh and ksh read, but not every `sh`.
pub fn shell_word(word: impl AsRef<[u8]>) -> String {
    let word = word.as_ref();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+=:@%,".contains(byte);
    if !word.is_empty() && word.iter().all(is_plain) {
        return line(word);
    }
    if pieces(word).all(|piece| piece.is_ok_and(|character| !is_harmful(character))) {
        return format!("'{}'", String::from_utf8_lossy(word).replace('\'', "'\\''"));
    }
    let escaped = |piece| match piece {
        Ok(quote @ ('\'' | '\\')) => format!("\\{quote}"),
        Ok(harmful) if is_harmful(harmful) => {
            let mut bytes = [0; 4];
            harmful.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\x{byte:02x}")).collect()
        }
        Ok(plain) => plain.to_string(),
        Err(byte) => format!("\\x{byte:02x}"),
    };
    format!("$'{}'", pieces(word).map(escaped).collect::<String>())
}

/// The digits of an id that are printed: its first.
pub fn short_id(id: &str) -> &str {
    id.get(..7).unwrap_or(id)
}

/// `1 file`, `2 files`.
pub fn count(number: usize, singular: &str, plural: &str) -> String {
    format!("{number} {}", if number == 1 { singular } else { plural })
}

/// Bytes in the largest unit in which the amount is at least 1.
pub fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut amount = bytes as f64;
    let mut unit = "B";
    for larger in ["KB", "MB", "GB", "TB"] {
        // An amount that would round to 1024.0 is printed as 1.0 of the next unit.
        if amount < 1023.95 {
            break;
        }
        amount /= 1024.0;
        unit = larger;
    }
    format!("{amount:.1} {unit}")
}

/// A time in the local time zone.
pub fn local_time(seconds: i64) -> String {
    match Timestamp::from_second(seconds) {
        Ok(moment) => moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
        // Only a damaged store has a time outside the calendar.
        Err(_) => format!("@{seconds}"),
    }
}

/// How long ago a moment was.
pub fn ago(seconds: i64, now: i64) -> String {
    let passed = now.saturating_sub(seconds);
    match passed {
        ..0 => "in the future".to_owned(),
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{}m ago", passed / 60),
        3_600..86_400 => format!("{}h ago", passed / 3_600),
        _ => format!("{}d ago", passed / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_output_colours_only_a_capable_terminal_without_no_color() {
        let style = |terminal, set: &[(&str, &str)]| {
            let found = |name: &str| set.iter().find(|(given, _)| *given == name);
            Style::of_output(terminal, |name| found(name).map(|(_, value)| value.into()))
        };
        let able = ("TERM", "xterm");
        let coloured = |terminal, set: &[(&str, &str)]| style(terminal, set).colour;
        assert!(coloured(true, &[able]));
        assert!(coloured(true, &[able, ("NO_COLOR", "")]), "an empty one refuses nothing");
        assert!(!coloured(true, &[able, ("NO_COLOR", "1")]));
        assert!(!coloured(true, &[("TERM", "dumb")]));
        assert!(!coloured(true, &[]));
        assert!(!coloured(false, &[able]));
        assert!(style(true, &[]).terminal);
    }

    #[test]
    fn size_uses_the_largest_unit_in_which_the_amount_is_at_least_one() {
        assert_eq!([size(0), size(1_023), size(1_024)], ["0 B", "1023 B", "1.0 KB"]);
        assert_eq!([size(1_048_524), size(1_048_525)], ["1023.9 KB", "1.0 MB"]);
        assert_eq!(size(u64::MAX), "16777216.0 TB");
    }

    #[test]
    fn name_quotes_names_that_would_mislead() {
        assert_eq!(name(b"a b.txt"), "a b.txt");
        assert_eq!(name(b" a"), "\" a\"");
        assert_eq!(name(b"a\"b\\c"), "\"a\\\"b\\\\c\"");
        assert_eq!(name(b""), "\"\"");
    }

    #[test]
    fn ago_uses_the_largest_whole_unit() {
        let ago_after = |passed: i64| ago(1_000_000, 1_000_000 + passed);
        assert_eq!(ago_after(-1), "in the future");
        assert_eq!([ago_after(0), ago_after(59)], ["just now", "just now"]);
        assert_eq!([ago_after(60), ago_after(3_599)], ["1m ago", "59m ago"]);
        assert_eq!([ago_after(3_600), ago_after(86_399)], ["1h ago", "23h ago"]);
        assert_eq!([ago_after(86_400), ago_after(200_000)], ["1d ago", "2d ago"]);
    }
}
