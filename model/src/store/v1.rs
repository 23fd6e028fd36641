//! The content of the base besides the store: v1 repositories, their archives, and third-party files.

use crate::allowed::{Allowed, AllowedSweep, Cleared};
use crate::observation::Base;
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

/// Compares the content of the base with what must still be there.
///
/// Implements [`rules::MIGRATION_ARCHIVES`], [`rules::MIGRATION_LOSES_NOTHING`] and
/// [`rules::MAINTENANCE_ONLY_OURS`].
pub(super) fn compare(world: &World, allowed: &Allowed, base: &Base, checks: &mut Checks) {
    let sweep = match allowed {
        Allowed::Sweep(sweep) => Some(&**sweep),
        // A request to clear everything removes these as well.
        Allowed::Cleared(Cleared::Everything) => return,
        _ => None,
    };
    let archives_go = matches!(allowed, Allowed::Cleared(Cleared::Archives));
    repositories(world, sweep, archives_go, base, checks);
    for archive in world.archives().keys() {
        let may_go = archives_go
            || sweep
                .and_then(|sweep| sweep.archives.get(archive))
                .is_some_and(|disposition| disposition.may_go());
        let is_intact = may_go || !base.damaged_archives.contains(archive);
        checks.check(Judge::Disk, &rules::MIGRATION_LOSES_NOTHING, is_intact, || {
            let expected = format!("what is in the archive {archive}, as it was");
            Mismatch::new("an archive lost something", expected, "something else")
        });
    }
    for name in world.strays() {
        let exists = base.strays.contains(name);
        checks.check(Judge::Disk, &rules::MIGRATION_LOSES_NOTHING, exists, || {
            Mismatch::new("a stray file is gone", format!("{name} where it was"), "nothing")
        });
    }
    for name in world.lookalikes() {
        let exists = base.lookalikes.contains(name);
        checks.check(Judge::Disk, &rules::MAINTENANCE_ONLY_OURS, exists, || {
            let expected = format!("the folder {name}, which is not the store's, as it was");
            Mismatch::new("a foreign folder was touched", expected, "gone or changed")
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
        let disposition = sweep.and_then(|sweep| sweep.repositories.get(name));
        let archive_goes = repository.archive.as_ref().is_some_and(|archive| {
            let disposition = sweep.and_then(|sweep| sweep.archives.get(archive));
            archives_go || disposition.is_some_and(|disposition| disposition.may_go())
        });
        let locations = base.repositories.get(name).map_or(&[][..], Vec::as_slice);
        let may_go = archive_goes || disposition.is_some_and(|disposition| disposition.may_go());
        if locations.is_empty() && may_go {
            continue;
        }
        let found = locations.iter().find(|location| location.is_intact);
        checks.check(Judge::Disk, &rules::MIGRATION_LOSES_NOTHING, found.is_some(), || {
            let symptom = if locations.is_empty() { "a repository is gone" } else { "it changed" };
            let expected = format!("the v1 repository {name}, as it was");
            Mismatch::new(symptom, expected, plain(&locations))
        });
        let Some(found) = found else { continue };
        let left = repository.due && base.in_use && found.archive.is_none();
        checks.check(Judge::Disk, &rules::MIGRATION_ARCHIVES, !left, || {
            let expected = format!("the repository {name} in an archive once the store is used");
            Mismatch::new("left where it was", expected, "in the base")
        });
        let again = repository.archive.is_some() && repository.archive != found.archive;
        checks.check(Judge::Disk, &rules::MIGRATION_ARCHIVES, !again, || {
            let expected = format!("the repository {name} where it was archived");
            Mismatch::new("archived again", expected, format!("in {}", plain(&found.archive)))
        });
    }
}
