//! What the configuration file says.

use crate::allowed::Allowed;
use crate::configuration::Configuration;
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

/// Implements [`rules::CONFIG_KEYS`].
pub(super) fn allows(world: &World) -> Allowed {
    world.configuration().map_or(Allowed::Unknown, Allowed::Configured)
}

/// Compares what was read with what the file says.
pub(super) fn compare(due: &Configuration, found: &Configuration, checks: &mut Checks) {
    checks.check(Judge::Answer, &rules::CONFIG_KEYS, due == found, || {
        Mismatch::new("read otherwise", plain(due), plain(found))
    });
}
