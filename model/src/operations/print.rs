//! The printed list of checkpoints. It is compared with the list in the same answer, so that an error of
//! the list itself is not counted here.

use crate::answer::{Listed, Stats};
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

/// The fewest digits of a shortened id.
const SHORT_MIN: usize = 4;
/// The largest offset of a time zone from UTC, in minutes.
const ZONE_MAX: i64 = 14 * 60;
/// All time zones differ by a multiple of this, in minutes.
const ZONE_STEP: i64 = 15;

/// Compares the printed line of each checkpoint with its entry in the list.
///
/// Implements [`rules::LIST_LAYOUT`] and [`rules::CAPTURE_REASON_ONE_LINE`].
pub(super) fn compare(world: &World, listed: &[Listed], printed: &str, checks: &mut Checks) {
    for entry in listed {
        let is_of_entry = |line: &PrintedLine<'_>| {
            let has_id = line.id.len() >= SHORT_MIN && entry.id.starts_with(line.id);
            line.number == entry.number && has_id
        };
        let line = printed.split('\n').filter_map(PrintedLine::read).find(is_of_entry);
        let wrong = |symptom: &str, expected: &str| {
            let found = line.as_ref().map_or(printed, |line| line.whole);
            Mismatch::new(symptom, format!("{expected}: {}", plain(entry)), plain(found))
        };
        checks.check(Judge::Answer, &rules::LIST_LAYOUT, line.is_some(), || {
            wrong("no such line", "a line with its name, short id, date and time")
        });
        let Some(line) = &line else { continue };
        if world.has("test.clock") {
            let offset = line.minutes - entry.time.div_euclid(60);
            let holds = offset.abs() <= ZONE_MAX && offset % ZONE_STEP == 0;
            checks.check(Judge::Answer, &rules::LIST_LAYOUT, holds, || {
                wrong("another time", "its date and time in some time zone")
            });
        }
        let reason: RuleRef = &rules::CAPTURE_REASON_ONE_LINE;
        if world.has("list.reason") {
            let harmless = !line.whole.contains(char::is_control);
            checks.check(Judge::Answer, reason, harmless, || {
                wrong("a control character", "a line without control characters")
            });
            let has_all = has_words(line.rest, &entry.reason);
            checks.check(Judge::Answer, reason, has_all, || {
                wrong("not the complete reason", "the reason on this line")
            });
            if !has_all {
                continue;
            }
        }
        if let Some(stats) = entry.stats.filter(|stats| world.has("list.stats") && stats.files > 0)
        {
            let holds = line.rest.trim_end().ends_with(&figures(stats));
            // A reason of several lines puts its changes on a line without a checkpoint.
            let has_figures_only = |line: &str| {
                PrintedLine::read(line).is_none() && line.trim_end().ends_with(&figures(stats))
            };
            let broken = world.has("list.reason") && printed.split('\n').any(has_figures_only);
            let rule = if broken { reason } else { &rules::LIST_LAYOUT };
            checks.check(Judge::Answer, rule, holds, || {
                wrong("no changes", "its changes after the reason")
            });
        }
    }
}

/// The figures as the first document prints them.
fn figures(Stats { files, added, removed }: Stats) -> String {
    let noun = if files == 1 { "file" } else { "files" };
    format!("({files} {noun}, +{added}/-{removed})")
}

/// Whether a line has all words of a reason that need no escape, in order, or shows that it is cut.
fn has_words(line: &str, reason: &str) -> bool {
    let mut rest = line;
    let words = reason.split(|character: char| !character.is_ascii_alphanumeric());
    let has_all = words.into_iter().all(|word| {
        let found = rest.split_once(word);
        rest = found.map_or("", |(_, after)| after);
        found.is_some()
    });
    has_all || line.contains("...") || line.contains('…')
}

/// One printed line, about one checkpoint.
struct PrintedLine<'a> {
    whole: &'a str,
    number: usize,
    id: &'a str,
    /// Its date and time as minutes since the epoch, in its own time zone.
    minutes: i64,
    /// The text after the time.
    rest: &'a str,
}

impl<'a> PrintedLine<'a> {
    /// Parses a line; `None` if it is not about a checkpoint.
    fn read(whole: &'a str) -> Option<PrintedLine<'a>> {
        let (name, rest) = whole.trim_start_matches(' ').split_once('.')?;
        // A pre-restore checkpoint that has no number has another name.
        let is_word = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let number = name.parse().unwrap_or_default();
        let (id, rest) = word(rest);
        let (date, rest) = word(rest);
        let (time, rest) = word(rest);
        let minutes = days(date).filter(|_| is_word)? * 24 * 60 + minutes(time)?;
        Some(PrintedLine { whole, number, id, minutes, rest })
    }
}

/// The first word, and the text after it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches(' ');
    text.split_once(' ').unwrap_or((text, ""))
}

/// The days from the epoch to a date such as `2026-03-16`.
fn days(date: &str) -> Option<i64> {
    let mut parts = date.split('-').map(str::parse::<i64>);
    let year = parts.next()?.ok()?;
    let month = parts.next()?.ok()?;
    let day = parts.next()?.ok()?;
    if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // In a year that begins in March, the leap day is the last day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468)
}

/// The minutes of a time of day such as `04:36`, which may have seconds.
fn minutes(time: &str) -> Option<i64> {
    let (hours, rest) = time.split_once(':')?;
    let minutes = rest.split(':').next()?;
    Some(hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_counts_a_date_from_the_epoch() {
        for (date, expected) in [
            ("1970-01-01", Some(0)),
            ("1969-12-31", Some(-1)),
            ("2000-02-29", Some(11_016)),
            ("2000-03-01", Some(11_017)),
            ("2026-03-16", Some(20_528)),
            ("2026-13-16", None),
            ("2026-03", None),
            ("2026-03-16-1", None),
        ] {
            assert_eq!(days(date), expected, "{date}");
        }
    }

    #[test]
    fn has_words_accepts_an_escaped_or_cut_reason_and_no_missing_one() {
        assert!(has_words(r"  two\nlines", "two\nlines"));
        assert!(!has_words("  two", "two\nlines"));
        assert!(!has_words("  lines two", "two\nlines"));
        assert!(has_words("  tw…", "two\nlines"));
        assert!(has_words("  (no reason)", ""));
    }
}
