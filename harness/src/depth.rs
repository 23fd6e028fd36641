//! How many of the generated operations were judged; every run reports this. The time that the subject took
//! to answer is for people only: no verdict depends on it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many operations were generated, judged, and not judged, and why not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Depth {
    /// Operations of the histories.
    pub drawn: u64,
    /// Applied, and judged where there is something to judge.
    pub judged: u64,
    /// Of the judged operations, those after world and subject first disagreed.
    pub after_failure: u64,
    /// Left out, since the subject lacks the capability.
    pub not_asked: u64,
    /// Not reached, since the subject had ended or hung before.
    pub not_reached: u64,
    /// How many histories ended early at each failure.
    pub ended_early: BTreeMap<String, u64>,
    /// The time that the subject took to answer, in seconds.
    #[serde(rename = "answering_seconds", with = "seconds")]
    pub answering: Duration,
}

/// A time as a number of seconds, as programs expect it.
mod seconds {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(time.as_secs_f64())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
    }
}

impl Depth {
    /// Counts one operation: whether the subject was asked, whether the operation was judged, and
    /// whether world and subject agreed before.
    pub fn count(&mut self, is_asked: bool, judged: bool, agreed: bool) {
        self.not_asked += u64::from(!is_asked);
        self.judged += u64::from(judged);
        self.after_failure += u64::from(judged && !agreed);
    }

    /// Records that the subject no longer answers since `failure`, with `remaining` operations left.
    pub fn end_early(&mut self, failure: &str, remaining: u64) {
        *self.ended_early.entry(failure.to_owned()).or_default() += 1;
        self.not_reached += remaining;
    }

    /// Adds the figures of another run.
    pub fn add(&mut self, added: &Depth) {
        self.drawn += added.drawn;
        self.judged += added.judged;
        self.after_failure += added.after_failure;
        self.not_asked += added.not_asked;
        self.not_reached += added.not_reached;
        for (failure, histories) in &added.ended_early {
            *self.ended_early.entry(failure.clone()).or_default() += histories;
        }
        self.answering += added.answering;
    }
}
