//! What stands in the base beside the store: v1 repositories, their archives, and what is nobody's
//! business.

use crate::allowed::{Allowed, AllowedSweep, Cleared};
use crate::observation::Base;
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

/// Compares what stands in the base with what must still stand there.
///
/// Implements [`rules::MIGRATION_ARCHIVES`], [`rules::MIGRATION_LOSES_NOTHING`] and
/// [`rules::MAINTENANCE_ONLY_OURS`].
pub(super) fn compare(world: &World, allowed: &Allowed, base: &Base, checks: &mut Checks) {
    let sweep = match allowed {
        Allowed::Sweep(sweep) => Some(&**sweep),
        // Whoever clears everything asks for it.
        Allowed::Cleared(Cleared::Everything) => return,
        _ => None,
    };
    let archives_go = matches!(allowed, Allowed::Cleared(Cleared::Archives));
    repositories(world, sweep, archives_go, base, checks);
    for archive in world.archives().keys() {
        let may_go = archives_go
            || sweep.is_some_and(|due| due.archives.get(archive).is_some_and(|one| one.may_go()));
        let whole = may_go || !base.spoiled_archives.contains(archive);
        checks.check(Judge::Disk, &rules::MIGRATION_LOSES_NOTHING, whole, || {
            let due = format!("what is in the archive {archive}, as it was");
            Mismatch::new("an archive lost something", due, "something else")
        });
    }
    for name in world.strays() {
        let stands = base.strays.contains(name);
        checks.check(Judge::Disk, &rules::MIGRATION_LOSES_NOTHING, stands, || {
            Mismatch::new("a stray file is gone", format!("{name} where it was"), "nothing")
        });
    }
    for name in world.lookalikes() {
        let stands = base.lookalikes.contains(name);
        checks.check(Judge::Disk, &rules::MAINTENANCE_ONLY_OURS, stands, || {
            let due = format!("the folder {name}, which is not the store's, as it was");
            Mismatch::new("a foreign folder was touched", due, "gone or changed")
        });
    }
}

fn repositories(
    world: &World,
    sweep: Option<&AllowedSweep>,
    archives_go: bool,
    base: &Base,
    checks: &mut Checks,
) {
    for (name, repository) in world.repositories() {
        let disposition = sweep.and_then(|due| due.repositories.get(name));
        let archive_goes = repository.archive.as_ref().is_some_and(|archive| {
            let due = sweep.and_then(|due| due.archives.get(archive));
            archives_go || due.is_some_and(|one| one.may_go())
        });
        let places = base.repositories.get(name).map_or(&[][..], Vec::as_slice);
        let may_go = archive_goes || disposition.is_some_and(|one| one.may_go());
        if places.is_empty() && may_go {
            continue;
        }
        let found = places.iter().find(|place| place.whole);
        checks.check(Judge::Disk, &rules::MIGRATION_LOSES_NOTHING, found.is_some(), || {
            let symptom = if places.is_empty() { "a repository is gone" } else { "it changed" };
            let due = format!("the v1 repository {name}, as it was");
            Mismatch::new(symptom, due, plain(&places))
        });
        let Some(found) = found else { continue };
        let left = repository.due && base.in_use && found.archive.is_none();
        checks.check(Judge::Disk, &rules::MIGRATION_ARCHIVES, !left, || {
            let due = format!("the repository {name} in an archive once the store is used");
            Mismatch::new("left where it was", due, "in the base")
        });
        let again = repository.archive.is_some() && repository.archive != found.archive;
        checks.check(Judge::Disk, &rules::MIGRATION_ARCHIVES, !again, || {
            let due = format!("the repository {name} where it was archived");
            Mismatch::new("archived again", due, format!("in {}", plain(&found.archive)))
        });
    }
}
