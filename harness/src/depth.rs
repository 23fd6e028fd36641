//! How much of what was drawn is judged: a figure of every run. The time is for people alone; no
//! verdict depends on it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many operations were drawn, and what became of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Depth {
    /// Operations of the histories.
    pub drawn: u64,
    /// Carried out, and judged where there is something to judge.
    pub judged: u64,
    /// Of those judged, the ones after world and subject first disagreed.
    pub after_failure: u64,
    /// Left out, since the subject cannot be asked them.
    pub not_asked: u64,
    /// Not reached, since the subject had ended or hung before.
    pub not_reached: u64,
    /// How many histories ended early at each failure.
    pub ended_early: BTreeMap<String, u64>,
    /// The time that the subject took to answer, in seconds.
    #[serde(rename = "answering_seconds", with = "seconds")]
    pub answering: Duration,
}

/// A time as a number, which is what programs expect.
mod seconds {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(time.as_secs_f64())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(from)?;
        Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
    }
}

impl Depth {
    /// Counts one operation: whether the subject can be asked it, whether it was judged, and
    /// whether world and subject agreed before.
    pub fn count(&mut self, is_asked: bool, judged: bool, agreed: bool) {
        self.not_asked += u64::from(!is_asked);
        self.judged += u64::from(judged);
        self.after_failure += u64::from(judged && !agreed);
    }

    /// Notes that the subject does not answer any more since that failure, with so many operations to
    /// come.
    pub fn end_early(&mut self, failure: &str, to_come: u64) {
        *self.ended_early.entry(failure.to_owned()).or_default() += 1;
        self.not_reached += to_come;
    }

    /// Adds that of another run.
    pub fn add(&mut self, other: &Depth) {
        self.drawn += other.drawn;
        self.judged += other.judged;
        self.after_failure += other.after_failure;
        self.not_asked += other.not_asked;
        self.not_reached += other.not_reached;
        for (failure, histories) in &other.ended_early {
            *self.ended_early.entry(failure.clone()).or_default() += histories;
        }
        self.answering += other.answering;
    }
}
