//! Bugs of isolation: what of the user reaches the store, and what of the store reaches the user.

use super::PlantedBug;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[];
