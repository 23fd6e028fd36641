//! Bugs of limits: what is dropped when there is too much.

use super::PlantedBug;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[];
