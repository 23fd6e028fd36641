//! The content of the base outside the store: v1 repositories, their archives, and third-party files.

use crate::allowed::{Allowed, Cleared, Disposition};
use crate::observation::Base;
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::{Repository, World};

/// Compares the content of the base with what must still be there.
///
/// Implements [`rules::MIGRATION_ARCHIVES`], [`rules::MIGRATION_LOSES_NOTHING`] and
/// [`rules::MAINTENANCE_ONLY_OURS`].
pub(super) fn compare(world: &World, allowed: &Allowed, base: &Base, checks: &mut Checks) {
    // A request to clear everything removes these as well.
    if let Allowed::Cleared(Cleared::Everything) = allowed {
        return;
    }
    let removable = Removable(allowed);
    repositories(world, &removable, base, checks);
    for archive in world.archives().keys() {
        let is_intact = removable.has_archive(archive) || !base.damaged_archives.contains(archive);
        checks.check(Judge::Disk, &rules::MIGRATION_LOSES_NOTHING, is_intact, || {
            let expected = format!("the content of the archive {archive}, as it was");
            Mismatch::new("an archive lost something", expected, "other content")
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
            Mismatch::new("an unrelated folder was changed", expected, "gone or changed")
        });
    }
}

/// The archives and v1 repositories that a request may remove.
struct Removable<'a>(&'a Allowed);

impl Removable<'_> {
    fn has_archive(&self, name: &str) -> bool {
        match self.0 {
            Allowed::Cleared(Cleared::Archives) => true,
            Allowed::Sweep(sweep) => sweep.archives.get(name).is_some_and(Disposition::may_go),
            _ => false,
        }
    }

    fn has_repository(&self, name: &str, repository: &Repository) -> bool {
        let is_swept = match self.0 {
            Allowed::Sweep(sweep) => sweep.repositories.get(name).is_some_and(Disposition::may_go),
            _ => false,
        };
        is_swept || repository.archive.as_ref().is_some_and(|archive| self.has_archive(archive))
    }
}

fn repositories(world: &World, removable: &Removable<'_>, base: &Base, checks: &mut Checks) {
    for (name, repository) in world.repositories() {
        let locations = base.repositories.get(name).map_or(&[][..], Vec::as_slice);
        if locations.is_empty() && removable.has_repository(name, repository) {
            continue;
        }
        let found = locations.iter().find(|location| location.is_intact);
        checks.check(Judge::Disk, &rules::MIGRATION_LOSES_NOTHING, found.is_some(), || {
            let symptom =
                if locations.is_empty() { "a repository is gone" } else { "a repository changed" };
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
