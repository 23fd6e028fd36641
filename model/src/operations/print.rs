//! The list of checkpoints as a person sees it. It is held against what the same answer lists, so
//! that what is wrong with the list itself is for the list to say.

use crate::answer::{Listed, Stats};
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

/// An id is shortened to no fewer digits.
const SHORT_MIN: usize = 4;
/// No time zone is further from any other one than this, in minutes.
const ZONE_MAX: i64 = 14 * 60;
/// All time zones differ by a multiple of this, in minutes.
const ZONE_STEP: i64 = 15;

/// Compares what is printed of each checkpoint with what is known of it.
///
/// Implements [`rules::LIST_LAYOUT`] and [`rules::CAPTURE_REASON_ONE_LINE`].
pub(super) fn compare(world: &World, listed: &[Listed], printed: &str, checks: &mut Checks) {
    for one in listed {
        let of_it = |line: &Line<'_>| {
            line.number == one.number && line.id.len() >= SHORT_MIN && one.id.starts_with(line.id)
        };
        let line = printed.split('\n').filter_map(Line::read).find(of_it);
        let wrong = |symptom: &str, expected: &str| {
            let found = line.as_ref().map_or(printed, |line| line.whole);
            Mismatch::new(symptom, format!("{expected}: {}", plain(one)), plain(found))
        };
        checks.check(Judge::Answer, &rules::LIST_LAYOUT, line.is_some(), || {
            wrong("no such line", "a line with number, short id, date and time")
        });
        let Some(line) = &line else { continue };
        if world.has("test.clock") {
            let off = line.minutes - one.time.div_euclid(60);
            let holds = off.abs() <= ZONE_MAX && off % ZONE_STEP == 0;
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
            let has_all = has_words(line.rest, &one.reason);
            checks.check(Judge::Answer, reason, has_all, || {
                wrong("not the whole reason", "the reason on this line")
            });
            if !has_all {
                continue;
            }
        }
        if let Some(stats) = one.stats.filter(|stats| world.has("list.stats") && stats.files > 0) {
            let holds = line.rest.trim_end().ends_with(&figures(stats));
            // What stands behind a reason goes where that ends, on a line of no checkpoint.
            let is_behind = |line: &str| {
                Line::read(line).is_none() && line.trim_end().ends_with(&figures(stats))
            };
            let broken = world.has("list.reason") && printed.split('\n').any(is_behind);
            let rule = if broken { reason } else { &rules::LIST_LAYOUT };
            checks.check(Judge::Answer, rule, holds, || {
                wrong("no changes", "its changes behind the reason")
            });
        }
    }
}

/// As the first document prints them.
fn figures(Stats { files, added, removed }: Stats) -> String {
    let noun = if files == 1 { "file" } else { "files" };
    format!("({files} {noun}, +{added}/-{removed})")
}

/// Whether a line has all of a reason that nobody need escape, in order; or says that it is cut.
fn has_words(line: &str, reason: &str) -> bool {
    let mut left = line;
    let words = reason.split(|one: char| !one.is_ascii_alphanumeric());
    let has_all = words.into_iter().all(|word| {
        let found = left.split_once(word);
        left = found.map_or("", |(_, behind)| behind);
        found.is_some()
    });
    has_all || line.contains("...") || line.contains('…')
}

/// One line of what is printed, about one checkpoint.
struct Line<'a> {
    whole: &'a str,
    number: usize,
    id: &'a str,
    /// Since the epoch, in its own time zone.
    minutes: i64,
    /// What stands behind the time.
    rest: &'a str,
}

impl<'a> Line<'a> {
    /// The line, if it is one.
    fn read(whole: &'a str) -> Option<Line<'a>> {
        let (number, rest) = whole.trim_start_matches(' ').split_once('.')?;
        let (id, rest) = word(rest);
        let (date, rest) = word(rest);
        let (time, rest) = word(rest);
        let minutes = days(date)? * 24 * 60 + minutes(time)?;
        Some(Line { whole, number: number.parse().ok()?, id, minutes, rest })
    }
}

/// The first word, and what stands behind it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches(' ');
    text.split_once(' ').unwrap_or((text, ""))
}

/// The days since the epoch until such a date as `2026-03-16`.
fn days(date: &str) -> Option<i64> {
    let mut parts = date.split('-').map(str::parse::<i64>);
    let (year, month, day) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // A year that begins in March has the leap day at its end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468)
}

/// The minutes until such a time as `04:36`, which may have seconds.
fn minutes(time: &str) -> Option<i64> {
    let (hours, rest) = time.split_once(':')?;
    let minutes = rest.split(':').next()?;
    Some(hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_counted_from_the_epoch() {
        for (date, due) in [
            ("1970-01-01", Some(0)),
            ("1969-12-31", Some(-1)),
            ("2000-02-29", Some(11_016)),
            ("2000-03-01", Some(11_017)),
            ("2026-03-16", Some(20_528)),
            ("2026-13-16", None),
            ("2026-03", None),
            ("2026-03-16-1", None),
        ] {
            assert_eq!(days(date), due, "{date}");
        }
    }

    #[test]
    fn a_reason_may_be_escaped_and_must_be_there() {
        assert!(has_words(r"  two\nlines", "two\nlines"));
        assert!(!has_words("  two", "two\nlines"));
        assert!(!has_words("  lines two", "two\nlines"));
        assert!(has_words("  tw…", "two\nlines"));
        assert!(has_words("  (no reason)", ""));
    }
}
