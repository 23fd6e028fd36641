//! The layout of the store: what other tools rely on, who may read it, and its metadata.

use crate::excuse::Excuse;
use crate::object::Object;
use crate::observation::{Histories, Metadata, StoreLayout};
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::store::UNLISTED;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;
use std::collections::BTreeSet;

/// Compares the layout of a store with what must hold of every store.
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
        let expected = "everything in the store for its owner only";
        Mismatch::new("open to others", expected, plain(&found.open))
    });
    checks.check(Judge::Git, &rules::LAYOUT_FSCK, found.fsck.is_none(), || {
        let complaint = found.fsck.clone().unwrap_or_default();
        Mismatch::new("git fsck complains", "git fsck finds nothing", complaint)
    });
    compare_metadata(world, found, checks);
    if world.has("settings.max_snapshots") {
        compare_evicted(world, histories, found, checks);
    }
}

/// Implements [`rules::LAYOUT_METADATA`], [`rules::MAINTENANCE_HEALS`] and
/// [`rules::SCOPE_NO_DIRECTORY`].
fn compare_metadata(world: &World, found: &StoreLayout, checks: &mut Checks) {
    for (project, _) in world.histories() {
        // Damaged metadata need not have been rewritten, and it is unknown whether a project without a ref
        // has any.
        let is_invisible =
            world.is_partially_corrupted(project) && world.listed(project).is_empty();
        let is_damaged = world.damaged().contains(project);
        if is_damaged || world.is_history_unknown(project) || is_invisible {
            checks.excused(&rules::LAYOUT_METADATA, Excuse::Damage, 1);
            continue;
        }
        let empty = Metadata::default();
        let metadata = found.metadata.get(&world.hash(project)).unwrap_or(&empty);
        let workdir = String::from_utf8_lossy(&world.absolute(project)).into_owned();
        let rule: RuleRef = if world.healed().contains(project) {
            &rules::MAINTENANCE_HEALS
        } else {
            &rules::LAYOUT_METADATA
        };
        let holds = metadata.workdir.as_deref() == Some(&workdir[..]) && metadata.has_times;
        checks.check(Judge::Git, rule, holds, || {
            let expected = format!("workdir {workdir}, a created_at, a last_touch");
            Mismatch::new("other metadata", expected, metadata.text.clone())
        });
    }
    // An existing directory may have metadata before it has a checkpoint.
    let known_hashes: BTreeSet<String> =
        world.known_directories().iter().map(|path| world.hash(path)).collect();
    let phantoms: Vec<_> =
        found.metadata.keys().filter(|hash| !known_hashes.contains(*hash)).collect();
    checks.check(Judge::Git, &rules::SCOPE_NO_DIRECTORY, phantoms.is_empty(), || {
        let found =
            format!("in projects/, without a directory: {phantoms}", phantoms = plain(&phantoms));
        Mismatch::new("a project of nothing", "only directories that exist", found)
    });
}

/// Compares whether evicted checkpoints are invisible, and most of them removed from the store.
///
/// Implements [`rules::LIMIT_NEWEST_REMAIN`].
fn compare_evicted(world: &World, stored: &Histories, found: &StoreLayout, checks: &mut Checks) {
    let limit = world.settings.max_snapshots;
    // Unreadable files may prevent freeing space, and what a power loss restored stays until the next
    // sweep.
    if !world.histories().any(|(_, history)| history.len() > limit) {
        return;
    }
    let rule = &rules::LIMIT_NEWEST_REMAIN;
    if world.may_maintenance_fail() {
        return checks.excused(rule, Excuse::Damage, 1);
    }
    if world.is_size_uncertain() {
        return checks.excused(rule, Excuse::Injection, 1);
    }
    // With pinned checkpoints, or after an interrupted one, too many may stay until the next one is taken.
    let may_exceed = |project| world.has_pins(project) || world.may_be_over_limit(project);
    for (project, _) in world.histories().filter(|(project, _)| !may_exceed(project)) {
        let most = limit.max(world.listed(project).len());
        let ids = stored.visible.get(&world.hash(project)).map_or(0, Vec::len);
        checks.check(Judge::Git, rule, ids <= most, || {
            let found = format!("{ids} in the history of {project}");
            Mismatch::new("evicted and still visible", format!("at most {most}"), found)
        });
    }
    let unlisted = stored.refs.iter().filter(|(name, _)| name.starts_with(UNLISTED));
    let unlisted = unlisted.map(|(_, id)| id);
    let visible: BTreeSet<&String> = stored.visible.values().flatten().chain(unlisted).collect();
    // The index of a pack names objects that the pack lost.
    let is_checkpoint = |object: &&Object| matches!(object, Object::Checkpoint(_));
    let lost = world.lost().iter().filter(is_checkpoint).count();
    let waiting = found.commits.saturating_sub(visible.len() + lost);
    let allowed = limit * world.known_directories().len();
    checks.check(Judge::Git, rule, waiting <= allowed, || {
        let expected =
            format!("at most {allowed} evicted checkpoints whose space is not collected");
        Mismatch::new("evicted and never collected", expected, format!("{waiting} of them"))
    });
}
