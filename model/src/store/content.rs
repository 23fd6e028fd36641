//! The content of the checkpoints in a store, compared with what was captured.

use super::explain::{self, Wrong};
use super::truncated_history::is_truncated;
use crate::capture::Captured;
use crate::excuse::Excuse;
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
/// captured, which [`explain`] distinguishes.
pub(super) fn compare(world: &World, stored: &Histories, checks: &mut Checks) {
    let mut content_is_right = true;
    for (project, _) in world.histories() {
        let listed = world.listed(project);
        for (index, checkpoint) in listed.iter().enumerate() {
            if let Some(commit) = stored.commits.get(&checkpoint.id) {
                content_is_right &= compare_checkpoint(listed, index, commit, checks);
            }
        }
    }
    // A wrong id is considered only where all content is right.
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

/// Compares one checkpoint, and returns whether its content is right.
fn compare_checkpoint(
    listed: &[Checkpoint],
    index: usize,
    commit: &Commit,
    checks: &mut Checks,
) -> bool {
    let checkpoint = &listed[index];
    let rule: RuleRef =
        if checkpoint.safety { &rules::RESTORE_UNDO } else { &rules::CAPTURE_HONEST };
    let Some(captured) = &checkpoint.captured else {
        checks.excused(rule, Excuse::Unobserved, 1);
        return true;
    };
    checks.held(rule, 1);
    let wrong = wrong(captured, &commit.tree);
    checks.check(Judge::Git, &rules::LAYOUT_FSCK, !wrong.is_empty() || commit.canonical, || {
        Mismatch::new("another tree", "the tree as git stores it", "another form of the tree")
    });
    if wrong.is_empty() {
        return commit.canonical;
    }
    let blamed = explain::rule_for(captured, &wrong);
    let is_other_state = is_of_another_time(listed, index, &commit.tree, blamed);
    checks.check(Judge::Git, rule, !is_other_state, || {
        let found = "the content of the project at another time";
        Mismatch::new("the content of another time", "the current content of the project", found)
    });
    checks.check(Judge::Git, blamed, is_other_state, || mismatch(captured, &wrong));
    false
}

/// Every path in which a stored tree differs from what was captured, with the stored entry.
fn wrong(captured: &Captured, stored: &Tree) -> Vec<Wrong> {
    let paths = differences(&captured.tree, stored).into_keys();
    paths.map(|path| (path.clone(), stored.get(path).cloned())).collect()
}

/// The mismatch of a wrong checkpoint, by its first wrong path.
pub(crate) fn mismatch(captured: &Captured, wrong: &[Wrong]) -> Mismatch {
    let expected = |path| captured.tree.get(path);
    let first = wrong.iter().find(|(path, _)| expected(path).is_some());
    let Some((path, found)) = first.or(wrong.first()) else {
        return Mismatch::new("other bytes", "", "");
    };
    let is_executable = |entry: &Entry| match entry {
        Entry::File { executable, .. } => Some(*executable),
        Entry::Link { .. } => None,
    };
    let symptom = match (expected(path), found) {
        (None, _) => "captured, not left out",
        (_, None) => "left out, not captured",
        (Some(expected), Some(found)) if is_executable(expected) != is_executable(found) => {
            "another mode"
        }
        _ => "other bytes",
    };
    let side =
        |entry: Option<&Entry>| format!("{path}: {}", shown(entry.map(Entry::node).as_ref()));
    Mismatch::new(symptom, side(expected(path)), side(found.as_ref()))
}

/// Whether a wrong tree is that of an earlier checkpoint, or empty: it is that of the checkpoint before,
/// which a subject that had read the files would not repeat, or of any earlier one where nothing about
/// the wrong paths explains the difference.
fn is_of_another_time(listed: &[Checkpoint], index: usize, stored: &Tree, blamed: RuleRef) -> bool {
    let empty = Tree::default();
    let tree = |checkpoint: &'_ Checkpoint| {
        checkpoint.captured.as_ref().map(|captured| captured.tree.clone())
    };
    let before = index.checked_sub(1).and_then(|before| tree(&listed[before]));
    if before.as_ref().unwrap_or(&empty) == stored {
        return true;
    }
    // The paths do not explain a wrong pre-restore checkpoint: the restore changes what was read.
    let explained = !listed[index].safety && explain::is_specific(blamed);
    let mut earlier = listed[..index].iter().filter_map(tree);
    !explained && (stored.is_empty() || earlier.any(|tree| tree == *stored))
}

/// Whether a checkpoint that is not stored under its id is stored under a new id.
fn is_renamed(world: &World, checkpoint: &Checkpoint, stored: &Histories) -> bool {
    let Some(captured) = &checkpoint.captured else { return false };
    if stored.commits.contains_key(&checkpoint.id) {
        return false;
    }
    let histories = world.histories();
    let reported_ids: BTreeSet<&String> = histories
        .flat_map(|(_, history)| history.iter().map(|checkpoint| &checkpoint.id))
        .collect();
    let seconds = checkpoint.time.to_string();
    stored.commits.iter().any(|(id, commit)| {
        !reported_ids.contains(id) && commit.seconds == seconds && *commit.tree == captured.tree
    })
}

fn no_commit(checkpoint: &Checkpoint) -> Mismatch {
    Mismatch::new("no such commit", format!("checkpoint {}", checkpoint.id), "no such commit")
}

/// Compares the metadata of each checkpoint, and whether each is stored.
///
/// Implements [`rules::LAYOUT_STORE`], [`rules::LIST_TIME`], [`rules::ISOLATION_USER_CONFIG`] and
/// [`rules::ISOLATION_NO_SIGNING`] (decides).
pub(super) fn compare_commits(world: &World, stored: &Histories, checks: &mut Checks) {
    let corrupted = world.histories().filter(|(project, _)| world.is_partially_corrupted(project));
    checks.excused(&rules::LAYOUT_STORE, Excuse::Damage, corrupted.count() as u64);
    // A damaged checkpoint need not be the parent of the next one.
    let is_intact = |project: &[u8]| !world.is_partially_corrupted(project);
    for (project, _) in world.histories().filter(|(project, _)| is_intact(project)) {
        // A pre-restore checkpoint may be outside the history: the parent of the next checkpoint is the
        // pre-restore checkpoint, or the one before it.
        let mut before: Vec<&Checkpoint> = Vec::new();
        // Evicted checkpoints need not be stored any more.
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
            // Where the list begins with a pre-restore checkpoint, the one before it is evicted; and the
            // parent of a pre-restore checkpoint may be evicted, as with pinned checkpoints.
            let may_lack_parent = checkpoint.safety || world.has_pins(project);
            if !may_lack_parent && before.first().is_some_and(|first| !first.safety) {
                let has_parent = before.iter().any(|parent| parent.id == commit.parent);
                checks.check(Judge::Git, &rules::LIST_STABLE, has_parent, || {
                    let expected: Vec<&String> = before.iter().map(|parent| &parent.id).collect();
                    Mismatch::new(
                        "parent",
                        format!("one of {expected}", expected = plain(&expected)),
                        commit.parent.clone(),
                    )
                });
            }
            if world.has("test.clock") {
                let expected = checkpoint.time.to_string();
                let symptom = "commit time";
                checks.same(Judge::Git, &rules::LIST_TIME, symptom, &expected, &commit.seconds);
            }
            let ours = commit.author != "Hostile User";
            checks.check(Judge::Git, &rules::ISOLATION_USER_CONFIG, ours, || {
                let found = commit.author.clone();
                Mismatch::new("the user's name", "an author of the store's own", found)
            });
            let signed = &commit.signed;
            checks.same(Judge::Git, &rules::ISOLATION_NO_SIGNING, "signed", &false, signed);
            let tested = checkpoint.captured.iter().flat_map(|captured| captured.tested.values());
            for (rule, times) in tested {
                checks.held(rule, *times as u64);
            }
            if !checkpoint.safety {
                before.clear();
            }
            before.push(checkpoint);
        }
    }
}
