//! Whether a restore brought back another checkpoint than the one it was asked for: that alone
//! explains every file that is wrong, so nothing else is to blame.

use super::disk::Look;
use herma_model::Answer;
use herma_model::bytes::below;
use herma_model::expected::ExpectedRestore;
use herma_model::rules::{self, RuleRef};
use herma_model::{ByteString, World};

/// The rule broken by a restore that left all of `differing` as another checkpoint has it; none
/// where it did not.
pub fn rule(
    restore: &ExpectedRestore,
    world: &World,
    look: &Look<'_>,
    differing: &[&ByteString],
) -> Option<RuleRef> {
    let Answer::Restored(said) = look.answer else { return None };
    let inside = |full: &ByteString| below(&restore.project, full).map(ByteString::from);
    let (before, after) = (&look.before.files, &look.after.files);
    // A path that was to come back and was changed to something else, or of which nothing was
    // said, was not merely missed.
    let tells = |full: &&&ByteString| {
        inside(full).is_some_and(|path| {
            let due = restore.target.tree.contains_key(&path) && !restore.kept.contains(&path);
            due && (before.get(full) != after.get(full) || !said.restored.contains(&path))
        })
    };
    differing.iter().find(tells)?;
    let others = world.listed(&restore.project).iter().map(|one| &one.captured.tree);
    let explains = others.filter(|tree| **tree != restore.target.tree).any(|tree| {
        differing.iter().all(|full| {
            let found = after.get(full);
            inside(full).is_some_and(|path| match tree.get(&path) {
                Some(entry) => found == Some(&entry.node()),
                None => found.is_none() || found == before.get(full),
            })
        })
    });
    let rule: RuleRef =
        if restore.evicting { &rules::RESTORE_SAFETY_KEEPS_TARGET } else { &rules::RESTORE_TARGET };
    explains.then_some(rule)
}
