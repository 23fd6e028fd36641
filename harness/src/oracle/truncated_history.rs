//! Where a history was cut: whether what limits dropped from it is what they should have.

use super::plain_git::Git;
use super::{Checks, Divergence, Judge, Mismatch};
use crate::history::concrete::hash;
use crate::sandbox::Sandbox;
use herma_model::World;
use herma_model::rules;
use std::io;

const JUDGE: Judge = Judge::Git;

/// The first history that was cut too short, or written anew where it was cut, if any: the cause of
/// whatever is wrong with its list, and of checkpoints that are not found. Where a history ends
/// without saying what came before, nobody cut it.
///
/// # Errors
/// Git is not there.
pub fn find(world: &World, sandbox: &Sandbox) -> io::Result<Option<Divergence>> {
    if !sandbox.has_store() {
        return Ok(None);
    }
    let mut checks = Checks::default();
    judge(world, &Git::on(sandbox.store()), &mut checks)?;
    Ok(checks.into_parts().1.into_iter().next())
}

pub(super) fn judge(world: &World, git: &Git, checks: &mut Checks) -> io::Result<()> {
    let visible = git.visible()?;
    for (project, _) in world.histories() {
        // One that should have been taken just now may not be what the others made room for.
        let taken = world.history(project).iter().rev().filter_map(|one| one.id.as_ref());
        let due: Vec<&String> = taken.take(world.settings.max_snapshots).collect();
        let ids = visible.get(&hash(world, project)).map_or(&[][..], Vec::as_slice);
        let same_length = ids.len() == due.len() && ids.first() == due.first().copied();
        let renamed = same_length && due.iter().zip(ids).any(|(one, other)| *one != other);
        checks.check(JUDGE, &rules::LIST_STABLE, !renamed, || {
            Mismatch::new("renamed", format!("{due:?} of {project}"), format!("{ids:?}"))
        });
        let Some(oldest) = ids.last().filter(|_| ids.len() < due.len()) else { continue };
        let goes_on = git.text(&["cat-file", "commit", oldest])?.contains("\nparent ");
        let was_cut = goes_on && due.iter().zip(ids).all(|(one, other)| *one == other);
        checks.check(JUDGE, &rules::LIMIT_NEWEST_REMAIN, !was_cut, || {
            let (due, found) = (due.len(), ids.len());
            let due = format!("the newest {due} checkpoints of {project}");
            Mismatch::new("dropped too early", due, format!("the newest {found}"))
        });
    }
    Ok(())
}
