//! Which part of a run is made here, where several machines share it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A part of something that several machines do together: the `index`th of `count`, from 1.
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
    /// Whether what has this number, from 0, is in the part.
    pub fn holds(self, number: u64) -> bool {
        number % self.count as u64 == self.index as u64 - 1
    }

    /// Whether it is everything.
    pub fn is_whole(self) -> bool {
        self.count == 1
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = text.split_once('/').and_then(|(index, count)| {
            Some(Share { index: index.parse().ok()?, count: count.parse().ok()? })
        });
        let is_one = |share: &Share| (1..=share.count).contains(&share.index);
        read.filter(is_one).ok_or_else(|| "a part is written 1/4: the first of four".to_owned())
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.index, self.count)
    }
}
