//! What the checkpoints of a store hold, as plain git lists it, against what the model says was
//! captured; and whether that is the cause of something that showed elsewhere first.

use super::plain_git::{Commit, Git};
use super::{Checks, Divergence, Judge, Mismatch, git_objects};
use crate::sandbox::Sandbox;
use herma_model::answer::{Answer, CheckpointOutcome};
use herma_model::blame::{self, Wrong};
use herma_model::capture::Captured;
use herma_model::expected::{CheckpointKind, Expected};
use herma_model::rules::{self, RuleRef};
use herma_model::tree::differences;
use herma_model::world::Checkpoint;
use herma_model::{ByteString, Entry, Request, Tree, World};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

const JUDGE: Judge = Judge::Git;

/// The git id of what a checkpoint should hold.
pub fn tree_of(captured: &Captured) -> String {
    git_objects::tree_id(&captured.tree).to_string()
}

/// Compares the checkpoint at `index` of a history with what is stored as its tree, by their ids;
/// a `thorough` look also has git list it, path by path. Answers whether they are the same.
///
/// # Errors
/// Git is not there.
pub fn judge(
    history: &[Checkpoint],
    index: usize,
    stored: &str,
    git: &Git,
    thorough: bool,
    checks: &mut Checks,
) -> io::Result<bool> {
    let checkpoint = &history[index];
    let tree = tree_of(&checkpoint.captured);
    let rule: RuleRef =
        if checkpoint.safety { &rules::RESTORE_UNDO } else { &rules::CAPTURE_HONEST };
    if tree == *stored && !thorough {
        checks.held(rule, 1);
        return Ok(true);
    }
    let wrong = Difference::of(&checkpoint.captured, stored, git)?;
    let another = tree != *stored && is_of_another_time(history, index, stored, &wrong);
    checks.check(JUDGE, rule, !another, || {
        let found = format!("tree {stored} of another time");
        Mismatch::new("the tree of another time", format!("tree {tree}"), found)
    });
    wrong.told(checks);
    checks.check(JUDGE, &rules::LAYOUT_FSCK, tree == *stored, || {
        Mismatch::new("another tree", format!("tree {tree}"), format!("tree {stored}"))
    });
    Ok(wrong.is_none() && tree == *stored)
}

/// Whether a tree that is not the right one stands for an earlier or an empty one: it is that of
/// the checkpoint before, from which a subject that had read the files would tell them apart, or of
/// any earlier one where nothing of the paths themselves explains what is wrong with them.
fn is_of_another_time(
    history: &[Checkpoint],
    index: usize,
    stored: &str,
    wrong: &Difference<'_>,
) -> bool {
    let nothing = Captured::default();
    let before = index.checked_sub(1).map_or(&nothing, |before| &history[before].captured);
    if tree_of(before) == *stored {
        return true;
    }
    let mut others = history[..index].iter().map(|other| &*other.captured).chain([&nothing]);
    // Before a restore there is no doubt about what was read: that is what the restore changes.
    let explained = !history[index].safety && wrong.blamed().is_some_and(blame::explains);
    !explained && others.any(|other| tree_of(other) == *stored)
}

/// The first stored checkpoint that does not hold what the model says was captured, if any: the
/// cause of whatever is wrong with its preview or restore, or with what was said when it was taken.
///
/// # Errors
/// Git is not there.
pub fn wrong_capture(world: &World, sandbox: &Sandbox) -> io::Result<Option<Divergence>> {
    if !sandbox.has_store() {
        return Ok(None);
    }
    let git = Git::on(sandbox.store());
    let commits = git.commits()?;
    let mut checks = Checks::default();
    for (project, _) in world.histories() {
        let listed = world.listed(project);
        for (index, checkpoint) in listed.iter().enumerate() {
            if let Some(commit) = checkpoint.id.as_ref().and_then(|id| commits.get(id)) {
                judge(listed, index, &commit.tree, &git, false, &mut checks)?;
            }
        }
    }
    // Only where all content is right may another id be what is wrong.
    for (project, _) in world.histories() {
        for checkpoint in world.listed(project) {
            let renamed = is_renamed(world, checkpoint, &commits);
            let id = checkpoint.id.as_deref().unwrap_or_default();
            checks.check(JUDGE, &rules::LIST_STABLE, !renamed, || no_commit(id));
        }
    }
    Ok(checks.into_parts().1.into_iter().next())
}

/// Whether a checkpoint that is not stored under its id is there under another, given since.
pub(super) fn is_renamed(
    world: &World,
    checkpoint: &Checkpoint,
    commits: &BTreeMap<String, Commit>,
) -> bool {
    let told = |id: &String| {
        let mut all = world.histories().flat_map(|(_, history)| history);
        all.any(|one| one.id.as_ref() == Some(id))
    };
    let (tree, seconds) = (tree_of(&checkpoint.captured), checkpoint.time.to_string());
    let mut same = commits.iter().filter(|(_, one)| one.tree == tree && one.seconds == seconds);
    let gone = checkpoint.id.as_ref().is_some_and(|id| !commits.contains_key(id));
    gone && same.any(|(id, _)| !told(id))
}

/// That there is no commit of that id.
pub fn no_commit(id: &str) -> Mismatch {
    Mismatch::new("no such commit", format!("checkpoint {id}"), "no such commit")
}

/// Why a checkpoint was taken where nothing is new or too much is there, or none where something
/// is new: what of the files was seen that should not have been, or was not seen.
///
/// # Errors
/// Git is not there.
pub fn wrong_checkpoint(
    world: &World,
    request: &Request,
    (expected, answer): (&Expected, &Answer),
    sandbox: &Sandbox,
) -> io::Result<Option<Divergence>> {
    let project = request.dir().and_then(|dir| world.canonical(dir));
    let (Some(project), Answer::Taken { outcome, .. }) = (project, answer) else {
        return Ok(None);
    };
    let due = match expected {
        Expected::Checkpoint(take) => Some(take.kind),
        _ => None,
    };
    let captured = world.capture(&project);
    let mut checks = Checks::default();
    match (due, outcome) {
        (Some(CheckpointKind::Unchanged) | None, CheckpointOutcome::Created { id })
            if sandbox.has_store() =>
        {
            let git = Git::on(sandbox.store());
            if let Some(commit) = git.commits()?.get(id) {
                Difference::of(&captured, &commit.tree, &git)?.told(&mut checks);
            }
        }
        (Some(CheckpointKind::Created), CheckpointOutcome::Unchanged) => {
            let nothing = Tree::new();
            let before = world.history(&project).iter().rev().nth(1);
            let before = before.map_or(&nothing, |one| &one.captured.tree);
            let unseen = Difference::unseen(&captured, before);
            if unseen.blamed().is_some_and(blame::explains) {
                unseen.told(&mut checks);
            }
        }
        _ => {}
    }
    Ok(checks.into_parts().1.into_iter().next())
}

/// The paths in which what is stored differs from what was to be captured.
struct Difference<'a> {
    captured: &'a Captured,
    wrong: Vec<(ByteString, Option<Entry>)>,
}

impl<'a> Difference<'a> {
    /// That of a stored tree, as git lists it.
    fn of(captured: &'a Captured, stored: &str, git: &Git) -> io::Result<Self> {
        let stored = git.tree(stored)?;
        let paths: BTreeSet<&ByteString> = captured.tree.keys().chain(stored.keys()).collect();
        let mut wrong = Vec::new();
        for path in paths {
            let expected = captured.tree.get(path).map(named);
            if expected.as_ref() != stored.get(path) {
                let found = stored.get(path).map(|named| read(named, git)).transpose()?;
                wrong.push((path.clone(), found));
            }
        }
        Ok(Difference { captured, wrong })
    }

    /// That of the files before, for who did not see that they changed.
    fn unseen(captured: &'a Captured, before: &Tree) -> Self {
        let paths = differences(before, &captured.tree).into_keys().cloned();
        let wrong = paths.map(|path| (path.clone(), before.get(&path).cloned())).collect();
        Difference { captured, wrong }
    }

    fn is_none(&self) -> bool {
        self.wrong.is_empty()
    }

    /// The rule to blame, where there is a difference.
    fn blamed(&self) -> Option<RuleRef> {
        let wrong: Vec<Wrong<'_>> =
            self.wrong.iter().map(|(path, found)| (path, found.clone())).collect();
        (!wrong.is_empty()).then(|| blame::rule_for(self.captured, &wrong))
    }

    /// Compares it with none.
    fn told(&self, checks: &mut Checks) {
        let Some(rule) = self.blamed() else { return };
        let due = |path: &ByteString| self.captured.tree.get(path);
        let first = self.wrong.iter().find(|(path, _)| due(path).is_some());
        let Some((path, found)) = first.or(self.wrong.first()) else { return };
        checks.check(JUDGE, rule, false, || {
            let mode = git_objects::mode;
            let symptom = match (due(path), found) {
                (None, _) => "captured, not left out",
                (_, None) => "left out, not captured",
                (Some(due), Some(found)) if mode(due) != mode(found) => "another mode",
                _ => "other bytes",
            };
            let side = |entry: Option<&Entry>| format!("{path}: {}", shown(entry));
            Mismatch::new(symptom, side(due(path)), side(found.as_ref()))
        });
    }
}

fn shown(entry: Option<&Entry>) -> String {
    super::disk::shown(entry.map(Entry::node).as_ref())
}

/// The mode and the blob by which git lists an entry.
fn named(entry: &Entry) -> (String, String) {
    (git_objects::mode(entry).to_owned(), git_objects::blob_id(entry.bytes()).to_string())
}

/// What git lists, with its bytes; what is no blob has none.
fn read((mode, blob): &(String, String), git: &Git) -> io::Result<Entry> {
    let content = git.run(&["cat-file", "blob", blob])?.stdout;
    Ok(match &mode[..] {
        "120000" => Entry::Link { target: content.into() },
        mode => Entry::File { content: content.into(), executable: mode == "100755" },
    })
}
