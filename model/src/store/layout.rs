//! How the store is laid out: what other tools rely on, who may read it, and what is noted in it.

use crate::object::Object;
use crate::observation::{Histories, Metadata, StoreLayout};
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::store::UNLISTED;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;
use std::collections::BTreeSet;

/// Compares the layout of a store with what must hold of any.
///
/// Implements [`rules::ISOLATION_SELF_CONTAINED`], [`rules::ISOLATION_PRIVATE`] and
/// [`rules::LAYOUT_FSCK`].
pub(super) fn compare(
    world: &World,
    histories: &Histories,
    found: &StoreLayout,
    checks: &mut Checks,
) {
    let rule = &rules::ISOLATION_SELF_CONTAINED;
    checks.check(Judge::Git, rule, !found.alternates, || {
        Mismatch::new("alternates", "no alternates", "objects/info/alternates")
    });
    checks.check(Judge::Git, rule, found.link.is_none(), || {
        Mismatch::new("a link out of the store", "no link in the store", plain(&found.link))
    });
    checks.check(Judge::Git, &rules::ISOLATION_PRIVATE, found.open.is_none(), || {
        let due = "everything in the store for its owner only";
        Mismatch::new("open to others", due, plain(&found.open))
    });
    checks.check(Judge::Git, &rules::LAYOUT_FSCK, found.fsck.is_none(), || {
        let complaint = found.fsck.clone().unwrap_or_default();
        Mismatch::new("git fsck complains", "git fsck finds nothing", complaint)
    });
    metadata(world, found, checks);
    if world.has("settings.max_snapshots") {
        dropped(world, histories, found, checks);
    }
}

/// Implements [`rules::LAYOUT_METADATA`], [`rules::MAINTENANCE_HEALS`] and
/// [`rules::SCOPE_NO_DIRECTORY`].
fn metadata(world: &World, found: &StoreLayout, checks: &mut Checks) {
    for (project, _) in world.histories() {
        // Where it is damaged, nothing was asked since that need have written it anew, and of what nothing
        // names nobody knows whether it is there.
        let unseen = world.is_disturbed(project) && world.listed(project).is_empty();
        if world.damaged().contains(project) || world.is_adrift(project) || unseen {
            continue;
        }
        let nothing = Metadata::default();
        let noted = found.metadata.get(&world.hash(project)).unwrap_or(&nothing);
        let workdir = String::from_utf8_lossy(&world.absolute(project)).into_owned();
        let rule: RuleRef = if world.healed().contains(project) {
            &rules::MAINTENANCE_HEALS
        } else {
            &rules::LAYOUT_METADATA
        };
        let holds = noted.workdir.as_deref() == Some(&workdir[..]) && noted.has_times;
        checks.check(Judge::Git, rule, holds, || {
            let expected = format!("workdir {workdir}, a created_at, a last_touch");
            Mismatch::new("other metadata", expected, noted.text.clone())
        });
    }
    // A directory that is there may be noted before there is anything of it to keep.
    let known: BTreeSet<String> =
        world.known_directories().iter().map(|path| world.hash(path)).collect();
    let phantoms: Vec<_> = found.metadata.keys().filter(|hash| !known.contains(*hash)).collect();
    checks.check(Judge::Git, &rules::SCOPE_NO_DIRECTORY, phantoms.is_empty(), || {
        let found =
            format!("in projects/, of no directory: {phantoms}", phantoms = plain(&phantoms));
        Mismatch::new("a project of nothing", "only directories that are there", found)
    });
}

/// What limits dropped is out of sight, and most of it out of the store.
///
/// Implements [`rules::LIMIT_NEWEST_REMAIN`].
fn dropped(world: &World, stored: &Histories, found: &StoreLayout, checks: &mut Checks) {
    let limit = world.settings.max_snapshots;
    // What cannot be read may keep space from being freed, and what a power loss brought back stands there
    // until the next sweep.
    if world.may_upkeep_fail()
        || world.is_uncounted()
        || !world.histories().any(|(_, all)| all.len() > limit)
    {
        return;
    }
    let rule = &rules::LIMIT_NEWEST_REMAIN;
    // Where some are or were pinned, or a checkpoint came to no end, they may stand there until the next
    // one is taken.
    let may_stand = |project| world.has_pins(project) || world.may_be_over_limit(project);
    for (project, _) in world.histories().filter(|(project, _)| !may_stand(project)) {
        let most = limit.max(world.listed(project).len());
        let ids = stored.visible.get(&world.hash(project)).map_or(0, Vec::len);
        checks.check(Judge::Git, rule, ids <= most, || {
            let found = format!("{ids} in the history of {project}");
            Mismatch::new("dropped and still there", format!("at most {most}"), found)
        });
    }
    let unlisted = stored.refs.iter().filter(|(name, _)| name.starts_with(UNLISTED));
    let unlisted = unlisted.map(|(_, id)| id);
    let seen: BTreeSet<&String> = stored.visible.values().flatten().chain(unlisted).collect();
    // An index of a pack names what the pack has lost.
    let is_checkpoint = |one: &&Object| matches!(one, Object::Checkpoint(_));
    let lost = world.lost().iter().filter(is_checkpoint).count();
    let waiting = found.commits.saturating_sub(seen.len() + lost);
    let allowed = limit * world.known_directories().len();
    checks.check(Judge::Git, rule, waiting <= allowed, || {
        let due = format!("at most {allowed} dropped ones waiting for their space to be reclaimed");
        Mismatch::new("dropped and never reclaimed", due, format!("{waiting} of them"))
    });
}
