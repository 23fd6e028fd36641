//! Bugs of scope: what is a project, and which directories are none.

use super::PlantedBug;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[];
