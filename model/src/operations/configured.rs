//! The configuration that a subject reads from the file.

use crate::allowed::Allowed;
use crate::configuration::Configuration;
use crate::excuse::Excuse;
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

/// Implements [`rules::CONFIG_KEYS`].
pub(super) fn allows(world: &World) -> Allowed {
    world.configuration().map_or(Allowed::Unknown(Excuse::NoRule), Allowed::Configured)
}

/// Compares the reported configuration with that of the file.
pub(super) fn compare(expected: &Configuration, found: &Configuration, checks: &mut Checks) {
    checks.check(Judge::Answer, &rules::CONFIG_KEYS, expected == found, || {
        Mismatch::new("other values", plain(expected), plain(found))
    });
}
