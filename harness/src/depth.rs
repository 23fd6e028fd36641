//! How much of what was drawn is judged: a figure of every run. The time is for people alone; no
//! verdict depends on it.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How many operations were drawn, and what became of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Depth {
    /// Operations of the histories.
    pub drawn: u64,
    /// Carried out, and judged where there is something to judge.
    pub judged: u64,
    /// Of those judged, the ones after world and subject first disagreed.
    pub after_failure: u64,
    /// Left out, since the subject cannot be asked them.
    pub not_asked: u64,
    /// The time that the subject took to answer.
    pub answering: Duration,
}

impl Depth {
    /// Counts one operation: whether the subject can be asked it, whether it was judged, and
    /// whether world and subject agreed before.
    pub fn count(&mut self, is_asked: bool, judged: bool, agreed: bool) {
        self.not_asked += u64::from(!is_asked);
        self.judged += u64::from(judged);
        self.after_failure += u64::from(judged && !agreed);
    }

    /// Adds that of another run.
    pub fn add(&mut self, other: &Depth) {
        self.drawn += other.drawn;
        self.judged += other.judged;
        self.after_failure += other.after_failure;
        self.not_asked += other.not_asked;
        self.answering += other.answering;
    }
}
