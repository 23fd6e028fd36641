//! Names of checkpoints by time: `@10m` is the newest checkpoint that is at least ten minutes old, and `@14:30` the
//! newest up to the end of that minute, as the list shows its time.

use crate::commands::{Failure, Herma};
use crate::text::ago;
use herma_core::{Clock, ListName, Listed, SystemClock};
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use std::borrow::Cow;
use std::path::Path;

const UNITS: [(char, i64); 5] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400), ('w', 604_800)];

impl Herma {
    /// The checkpoint that was typed, with its id instead of an age or a time. Those from before rollbacks do not count:
    /// what they hold was rolled back.
    ///
    /// # Errors
    /// A time before which no checkpoint was taken; what is no time; a store that cannot be read.
    pub(crate) fn named_checkpoint<'a>(
        &self,
        project: &Path,
        typed: &'a [u8],
    ) -> Result<Cow<'a, [u8]>, Failure> {
        let Some(when) = typed.strip_prefix(b"@") else { return Ok(Cow::Borrowed(typed)) };
        let checkpoints = self.manager.list(project)?;
        let is_label = |checkpoint: &Listed| {
            checkpoint.label.as_ref().is_some_and(|label| label.as_bytes() == typed)
        };
        if checkpoints.iter().any(is_label) {
            return Ok(Cow::Borrowed(typed));
        }
        let when = String::from_utf8_lossy(when);
        let now = SystemClock.seconds();
        let latest = latest(&when, now, TimeZone::system).ok_or_else(|| {
            let advice = "give an age such as 10m, 2h or 1d, or a time of day such as 14:30";
            Failure::new("bad_target", format!("{when:?} is no time: {advice}"))
        })?;
        let is_numbered = |checkpoint: &&Listed| matches!(checkpoint.name, ListName::Number(_));
        let mut numbered = checkpoints.iter().filter(is_numbered);
        match numbered.find(|checkpoint| checkpoint.time <= latest) {
            Some(checkpoint) => Ok(Cow::Owned(checkpoint.id.clone().into_bytes())),
            None => {
                let oldest = checkpoints.iter().rev().find(is_numbered).map(|oldest| oldest.time);
                let message = match oldest {
                    None => "this project has no checkpoint in the list".to_owned(),
                    Some(oldest) => format!(
                        "no checkpoint of this project is that old ({when}): the oldest is from {}",
                        ago(oldest, now)
                    ),
                };
                Err(Failure::new("unknown_checkpoint", message))
            }
        }
    }
}

/// The latest time that an age or a time of day means, in seconds; of a time of day, its last occurrence.
fn latest(when: &str, now: i64, zone: impl Fn() -> TimeZone) -> Option<i64> {
    if let Some((number, unit)) =
        UNITS.iter().find_map(|(letter, unit)| Some((when.strip_suffix(*letter)?, unit)))
    {
        return now.checked_sub(number.parse::<u32>().ok().map(i64::from)?.checked_mul(*unit)?);
    }
    let is_minute = when.len() == 5;
    let time: Time =
        if is_minute { format!("{when}:00").parse().ok()? } else { when.parse().ok()? };
    let now = Timestamp::from_second(now).ok()?.to_zoned(zone());
    let today = now.date().to_datetime(time).to_zoned(now.time_zone().clone()).ok()?;
    let last = if today > now { today.yesterday().ok()? } else { today };
    Some(last.timestamp().as_second() + if is_minute { 59 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_takes_ages_and_times_of_day_and_nothing_else() {
        // 2025-07-01 12:00 in UTC.
        let now = 1_751_371_200;
        let latest = |when: &str| super::latest(when, now, || TimeZone::UTC).map(|at| now - at);
        assert_eq!(latest("90s"), Some(90));
        assert_eq!(latest("10m"), Some(600));
        assert_eq!(latest("2h"), Some(7_200));
        assert_eq!(latest("1d"), Some(86_400));
        assert_eq!(latest("1w"), Some(604_800));
        // A minute lasts until its last second.
        assert_eq!(latest("11:30"), Some(1_800 - 59));
        assert_eq!(latest("11:30:20"), Some(1_800 - 20));
        assert_eq!(latest("12:00"), Some(-59));
        assert_eq!(latest("14:30"), Some(86_400 - 9_000 - 59));
        for other in ["", "m", "-1m", "{1}", "1", "25:00", "10 m", "99999999999w", "ten", "now"] {
            assert_eq!(latest(other), None, "{other}");
        }
    }
}
