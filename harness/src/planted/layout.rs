//! Bugs of the layout: what other tools find in the store.

use super::PlantedBug;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[];
