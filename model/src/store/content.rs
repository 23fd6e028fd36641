//! What the checkpoints of a store hold, against what was captured.

use super::explain::{self, Wrong};
use super::truncated_history::is_truncated;
use crate::capture::Captured;
use crate::observation::{Commit, Histories};
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::tree::{Entry, Tree, differences};
use crate::verdict::{Checks, Judge, Mismatch, shown};
use crate::world::{Checkpoint, World};
use std::collections::BTreeSet;

/// Compares each checkpoint that is stored under its id with what was captured.
///
/// Implements [`rules::CAPTURE_HONEST`], [`rules::RESTORE_UNDO`] and the rules about what is
/// captured, which [`explain`] tells apart.
pub(super) fn compare(world: &World, stored: &Histories, checks: &mut Checks) {
    let mut content_is_right = true;
    for (project, _) in world.histories() {
        let listed = world.listed(project);
        for (index, checkpoint) in listed.iter().enumerate() {
            if let Some(commit) = stored.commits.get(&checkpoint.id) {
                content_is_right &= compare_one(listed, index, commit, checks);
            }
        }
    }
    // Only where all content is right may another id be what is wrong.
    if !content_is_right {
        return;
    }
    for (project, _) in world.histories() {
        for checkpoint in world.listed(project) {
            let renamed = is_renamed(world, checkpoint, stored);
            checks.check(Judge::Git, &rules::LIST_STABLE, !renamed, || no_commit(checkpoint));
        }
    }
}

/// Compares one checkpoint; answers whether it holds what it should.
fn compare_one(listed: &[Checkpoint], index: usize, commit: &Commit, checks: &mut Checks) -> bool {
    let checkpoint = &listed[index];
    let Some(captured) = &checkpoint.captured else { return true };
    let rule: RuleRef =
        if checkpoint.safety { &rules::RESTORE_UNDO } else { &rules::CAPTURE_HONEST };
    checks.held(rule, 1);
    let wrong = wrong(captured, &commit.tree);
    checks.check(Judge::Git, &rules::LAYOUT_FSCK, !wrong.is_empty() || commit.canonical, || {
        Mismatch::new("another tree", "the tree as git stores it", "another form of it")
    });
    if wrong.is_empty() {
        return commit.canonical;
    }
    let blamed = explain::rule_for(captured, &wrong);
    let another = is_of_another_time(listed, index, &commit.tree, blamed);
    checks.check(Judge::Git, rule, !another, || {
        let found = "what the project held at another time";
        Mismatch::new("the tree of another time", "what it holds now", found)
    });
    checks.check(Judge::Git, blamed, another, || mismatch(captured, &wrong));
    false
}

/// Every path in which a stored tree differs from what was captured, with what is stored there.
fn wrong(captured: &Captured, stored: &Tree) -> Vec<Wrong> {
    let paths = differences(&captured.tree, stored).into_keys();
    paths.map(|path| (path.clone(), stored.get(path).cloned())).collect()
}

/// What is wrong with a checkpoint, by the first path of which that is so.
pub(crate) fn mismatch(captured: &Captured, wrong: &[Wrong]) -> Mismatch {
    let due = |path| captured.tree.get(path);
    let first = wrong.iter().find(|(path, _)| due(path).is_some());
    let Some((path, found)) = first.or(wrong.first()) else {
        return Mismatch::new("other bytes", "", "");
    };
    let is_executable = |entry: &Entry| match entry {
        Entry::File { executable, .. } => Some(*executable),
        Entry::Link { .. } => None,
    };
    let symptom = match (due(path), found) {
        (None, _) => "captured, not left out",
        (_, None) => "left out, not captured",
        (Some(due), Some(found)) if is_executable(due) != is_executable(found) => "another mode",
        _ => "other bytes",
    };
    let side =
        |entry: Option<&Entry>| format!("{path}: {}", shown(entry.map(Entry::node).as_ref()));
    Mismatch::new(symptom, side(due(path)), side(found.as_ref()))
}

/// Whether a tree that is not the right one stands for an earlier or an empty one: it is that of the
/// checkpoint before, from which a subject that had read the files would tell them apart, or of any
/// earlier one where nothing of the paths themselves explains what is wrong with them.
fn is_of_another_time(listed: &[Checkpoint], index: usize, stored: &Tree, blamed: RuleRef) -> bool {
    let nothing = Tree::new();
    let tree = |one: &'_ Checkpoint| one.captured.as_ref().map(|captured| captured.tree.clone());
    let before = index.checked_sub(1).and_then(|before| tree(&listed[before]));
    if before.as_ref().unwrap_or(&nothing) == stored {
        return true;
    }
    // Before a restore there is no doubt about what was read: that is what the restore changes.
    let explained = !listed[index].safety && explain::is_specific(blamed);
    let mut others = listed[..index].iter().filter_map(tree);
    !explained && (stored.is_empty() || others.any(|other| other == *stored))
}

/// Whether a checkpoint that is not stored under its id is there under another, given since.
fn is_renamed(world: &World, checkpoint: &Checkpoint, stored: &Histories) -> bool {
    let Some(captured) = &checkpoint.captured else { return false };
    if stored.commits.contains_key(&checkpoint.id) {
        return false;
    }
    let told: BTreeSet<&String> =
        world.histories().flat_map(|(_, history)| history.iter().map(|one| &one.id)).collect();
    let seconds = checkpoint.time.to_string();
    stored
        .commits
        .iter()
        .any(|(id, one)| !told.contains(id) && one.seconds == seconds && *one.tree == captured.tree)
}

fn no_commit(checkpoint: &Checkpoint) -> Mismatch {
    Mismatch::new("no such commit", format!("checkpoint {}", checkpoint.id), "no such commit")
}

/// Compares what is noted with each checkpoint, and that each is stored.
///
/// Implements [`rules::LAYOUT_STORE`], [`rules::LIST_TIME`], [`rules::ISOLATION_USER_CONFIG`] and
/// [`rules::ISOLATION_NO_SIGNING`].
pub(super) fn compare_commits(world: &World, stored: &Histories, checks: &mut Checks) {
    // What was damaged may be stood on by nothing that came after it.
    for (project, _) in world.histories().filter(|(project, _)| !world.is_disturbed(project)) {
        // What a restore took may stand beside the history: what comes after it goes on from it, or
        // from what was there before.
        let mut before: Vec<&Checkpoint> = Vec::new();
        // What limits dropped need not be there any more.
        for checkpoint in world.listed(project) {
            let Some(commit) = stored.commits.get(&checkpoint.id) else {
                if is_truncated(world, project, stored) {
                    break;
                }
                let renamed = is_renamed(world, checkpoint, stored);
                let rule: RuleRef =
                    if renamed { &rules::LIST_STABLE } else { &rules::LAYOUT_STORE };
                checks.check(Judge::Git, rule, false, || no_commit(checkpoint));
                break;
            };
            // Where they begin with such a one, what came before is out of sight; and what one of
            // them followed may have made room, as it may where some are pinned.
            let may_follow_none = checkpoint.safety || world.has_pins(project);
            if !may_follow_none && before.first().is_some_and(|first| !first.safety) {
                let goes_on = before.iter().any(|one| one.id == commit.parent);
                checks.check(Judge::Git, &rules::LIST_STABLE, goes_on, || {
                    let due: Vec<&String> = before.iter().map(|one| &one.id).collect();
                    Mismatch::new(
                        "parent",
                        format!("one of {due}", due = plain(&due)),
                        commit.parent.clone(),
                    )
                });
            }
            if world.has("test.clock") {
                let (due, what) = (checkpoint.time.to_string(), "commit time");
                checks.same(Judge::Git, &rules::LIST_TIME, what, &due, &commit.seconds);
            }
            let ours = commit.author != "Hostile User";
            checks.check(Judge::Git, &rules::ISOLATION_USER_CONFIG, ours, || {
                let found = commit.author.clone();
                Mismatch::new("the user's name", "an author of the store's own", found)
            });
            let signed = &commit.signed;
            checks.same(Judge::Git, &rules::ISOLATION_NO_SIGNING, "signed", &false, signed);
            for (rule, times) in checkpoint.captured.iter().flat_map(|one| one.tested.values()) {
                checks.held(rule, *times as u64);
            }
            if !checkpoint.safety {
                before.clear();
            }
            before.push(checkpoint);
        }
    }
}
