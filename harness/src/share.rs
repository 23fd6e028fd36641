//! One machine's part of a run that several machines share.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A part of a run that several machines share: the `index`th of `count`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Which part.
    pub index: usize,
    /// How many there are.
    pub count: usize,
}

impl Default for Share {
    fn default() -> Self {
        Share { index: 1, count: 1 }
    }
}

impl Share {
    /// Whether the history with this number, from 0, belongs to the part.
    pub fn holds(self, number: u64) -> bool {
        number % self.count as u64 == self.index as u64 - 1
    }

    /// Whether the part is the complete run.
    pub fn is_whole(self) -> bool {
        self.count == 1
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = text.split_once('/').and_then(|(index, count)| {
            Some(Share { index: index.parse().ok()?, count: count.parse().ok()? })
        });
        let is_valid = |share: &Share| (1..=share.count).contains(&share.index);
        share.filter(is_valid).ok_or_else(|| "a part is written 1/4: the first of four".to_owned())
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.index, self.count)
    }
}
