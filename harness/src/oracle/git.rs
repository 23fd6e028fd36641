//! The third judge: plain git, reading the store as any other tool would.

use super::plain_git::{Commit, Git};
use super::{Checks, Divergence, Judge, Told, git_objects};
use crate::history::concrete::hash;
use crate::protocol::claims::Claims;
use crate::sandbox::Sandbox;
use herma_model::bytes::ancestors;
use herma_model::capture::rule_for;
use herma_model::rules::{self, RuleRef};
use herma_model::world::Checkpoint;
use herma_model::{ByteString, Entry, World};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const JUDGE: Judge = Judge::Git;

/// What a store holds, as git prints it.
struct Stored<'a> {
    commits: &'a BTreeMap<String, Commit>,
    git: &'a Git,
    /// Whether the subject was told what time it is.
    has_clock: bool,
}

/// Compares the whole store with the world. Trees are compared by their ids; a `thorough` look
/// also has git list each of them, path by path.
pub fn judge(
    world: &World,
    sandbox: &Sandbox,
    claims: &Claims,
    thorough: bool,
    checks: &mut Checks,
) -> io::Result<()> {
    let store = sandbox.store();
    if world.histories().next().is_none() && !store.exists() {
        return Ok(());
    }
    let git = Git::on(store.clone());
    let listed = git.run(&["for-each-ref", "--format=%(refname) %(objectname)"])?;
    checks.check(JUDGE, &rules::LAYOUT_STORE, listed.status.success(), || {
        let complaint = String::from_utf8_lossy(&listed.stderr).into_owned();
        Told::new("git reads nothing", "a repository that plain git reads", complaint)
    });
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let refs: Vec<String> = listed.lines().map(str::to_owned).collect();
    judge_refs(world, &refs, checks);
    let unreadable = checks.failed_here();
    if !store.exists() {
        return Ok(());
    }
    judge_layout(world, &store, checks)?;
    checks.new_part();
    judge_dropped(world, &git, claims, checks)?;
    if unreadable || refs.is_empty() {
        return Ok(());
    }
    let commits = git.commits()?;
    let listed = world.histories().flat_map(|(project, _)| world.listed(project));
    let mut ids = listed.filter_map(|one| one.id.as_ref());
    if ids.any(|id| !commits.contains_key(id)) {
        checks.new_part();
        judge_cuts(world, &git, checks)?;
        if checks.failed_here() {
            return Ok(());
        }
    }
    for (project, _) in world.histories() {
        // What limits dropped need not be there any more.
        let listed = world.listed(project);
        checks.new_part();
        let told = Stored { commits: &commits, git: &git, has_clock: claims.has("test.clock") };
        judge_history(project, listed, &told, thorough, checks)?;
    }
    checks.new_part();
    let fsck = git.check(&["--full", "--no-dangling"])?;
    checks.check(JUDGE, &rules::LAYOUT_FSCK, fsck.status.success(), || {
        let complaint = String::from_utf8_lossy(&fsck.stderr).into_owned();
        Told::new("git fsck complains", "git fsck finds nothing", complaint)
    });
    Ok(())
}

/// The name under which a project's history is stored.
fn ref_name(world: &World, project: &ByteString) -> String {
    format!("refs/hermes/{}", hash(world, project))
}

fn judge_refs(world: &World, refs: &[String], checks: &mut Checks) {
    let found: BTreeMap<&str, &str> = refs.iter().filter_map(|line| line.split_once(' ')).collect();
    let expected: BTreeSet<String> =
        world.histories().map(|(project, _)| ref_name(world, project)).collect();
    for (project, history) in world.histories() {
        let name = ref_name(world, project);
        checks.check(JUDGE, &rules::SCOPE_HASH, found.contains_key(&name[..]), || {
            Told::new("no such ref", format!("{name} for {project}"), format!("{found:?}"))
        });
        let newest = history.last().and_then(|one| one.id.as_deref()).unwrap_or_default();
        let tip = found.get(&name[..]).copied().unwrap_or_default();
        checks.same(JUDGE, &rules::LAYOUT_STORE, "newest checkpoint", &newest, &tip);
    }
    let phantom = found.keys().find(|name| !expected.contains(**name));
    checks.check(JUDGE, &rules::SCOPE_NO_DIRECTORY, phantom.is_none(), || {
        let expected = "no history but those of checkpointed projects";
        Told::new("a history of nothing", expected, format!("{phantom:?}"))
    });
}

fn judge_history(
    project: &ByteString,
    history: &[Checkpoint],
    stored: &Stored<'_>,
    thorough: bool,
    checks: &mut Checks,
) -> io::Result<()> {
    let mut before: Option<String> = None;
    for checkpoint in history {
        let id = checkpoint.id.clone().unwrap_or_default();
        let Some(commit) = stored.commits.get(&id) else {
            checks.check(JUDGE, &rules::LAYOUT_STORE, false, || {
                let expected = format!("checkpoint {id} of {project}");
                Told::new("no such commit", expected, "no such commit")
            });
            return Ok(());
        };
        if let Some(before) = &before {
            checks.same(JUDGE, &rules::LIST_STABLE, "parent", before, &commit.parent);
        }
        if stored.has_clock {
            let seconds = checkpoint.time.to_string();
            checks.same(JUDGE, &rules::LIST_TIME, "commit time", &seconds, &commit.seconds);
        }
        let ours = commit.author != "Hostile User";
        checks.check(JUDGE, &rules::ISOLATION_USER_CONFIG, ours, || {
            Told::new("the user's name", "an author of the store's own", commit.author.clone())
        });
        checks.same(JUDGE, &rules::ISOLATION_NO_SIGNING, "signed", &false, &commit.signed);
        let tree = tree_of(checkpoint);
        let stands_for_another =
            tree != commit.tree && history.iter().any(|other| tree_of(other) == commit.tree);
        let rule: RuleRef =
            if checkpoint.safety { &rules::RESTORE_UNDO } else { &rules::CAPTURE_HONEST };
        checks.check(JUDGE, rule, !stands_for_another, || {
            let found = format!("tree {} of another time", commit.tree);
            Told::new("the tree of another time", format!("tree {tree} of {id}"), found)
        });
        if thorough || tree != commit.tree {
            let same_listing = judge_listing(checkpoint, &id, stored.git, checks)?;
            let told = || {
                let found = format!("tree {}", commit.tree);
                Told::new("another tree", format!("tree {tree} of {id}"), found)
            };
            checks.check(JUDGE, &rules::LAYOUT_FSCK, tree == commit.tree, told);
            if !same_listing || tree != commit.tree {
                return Ok(());
            }
        }
        for (rule, times) in checkpoint.captured.tested.values() {
            checks.held(rule, *times as u64);
        }
        before = Some(id);
    }
    Ok(())
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
        for checkpoint in world.listed(project) {
            let id = checkpoint.id.clone().unwrap_or_default();
            let stored = commits.get(&id).map(|commit| &commit.tree);
            if stored.is_some_and(|tree| *tree != tree_of(checkpoint)) {
                judge_listing(checkpoint, &id, &git, &mut checks)?;
            }
        }
    }
    Ok(checks.into_parts().1.into_iter().next())
}

/// The first history that was cut too short, or written anew where it was cut, if any: the cause of
/// whatever is wrong with its list, and of checkpoints that are not found. Where a history ends
/// without saying what came before, nobody cut it.
///
/// # Errors
/// Git is not there.
pub fn wrong_cut(world: &World, sandbox: &Sandbox) -> io::Result<Option<Divergence>> {
    if !sandbox.has_store() {
        return Ok(None);
    }
    let mut checks = Checks::default();
    judge_cuts(world, &Git::on(sandbox.store()), &mut checks)?;
    Ok(checks.into_parts().1.into_iter().next())
}

fn judge_cuts(world: &World, git: &Git, checks: &mut Checks) -> io::Result<()> {
    let visible = git.visible()?;
    for (project, _) in world.histories() {
        // One that should have been taken just now may not be what the others made room for.
        let taken = world.history(project).iter().rev().filter_map(|one| one.id.as_ref());
        let due: Vec<&String> = taken.take(world.settings.max_snapshots).collect();
        let ids = visible.get(&hash(world, project)).map_or(&[][..], Vec::as_slice);
        let same_length = ids.len() == due.len() && ids.first() == due.first().copied();
        let renamed = same_length && due.iter().zip(ids).any(|(one, other)| *one != other);
        checks.check(JUDGE, &rules::LIST_STABLE, !renamed, || {
            Told::new("renamed", format!("{due:?} of {project}"), format!("{ids:?}"))
        });
        let Some(oldest) = ids.last().filter(|_| ids.len() < due.len()) else { continue };
        let goes_on = git.text(&["cat-file", "commit", oldest])?.contains("\nparent ");
        let was_cut = goes_on && due.iter().zip(ids).all(|(one, other)| *one == other);
        checks.check(JUDGE, &rules::LIMIT_NEWEST_REMAIN, !was_cut, || {
            let (due, found) = (due.len(), ids.len());
            let due = format!("the newest {due} checkpoints of {project}");
            Told::new("dropped too early", due, format!("the newest {found}"))
        });
    }
    Ok(())
}

/// What limits dropped is out of sight, and most of it out of the store.
fn judge_dropped(world: &World, git: &Git, claims: &Claims, checks: &mut Checks) -> io::Result<()> {
    let limit = world.settings.max_snapshots;
    let dropped = world.histories().any(|(_, all)| all.len() > limit);
    if !claims.has("settings.max_snapshots") || !dropped {
        return Ok(());
    }
    let visible = git.visible()?;
    for (hash, ids) in &visible {
        let rule = &rules::LIMIT_NEWEST_REMAIN;
        checks.check(JUDGE, rule, ids.len() <= limit, || {
            let found = format!("{} in the history of {hash}", ids.len());
            Told::new("dropped and still there", format!("at most {limit}"), found)
        });
    }
    let stored = git.text(&["cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"])?;
    let stored = stored.lines().filter(|kind| *kind == "commit").count();
    let seen: BTreeSet<&String> = visible.values().flatten().collect();
    let waiting = stored.saturating_sub(seen.len());
    let allowed = limit * world.known_directories().len();
    checks.check(JUDGE, &rules::LIMIT_NEWEST_REMAIN, waiting <= allowed, || {
        let due = format!("at most {allowed} dropped ones waiting for their space to be reclaimed");
        Told::new("dropped and never reclaimed", due, format!("{waiting} of them"))
    });
    Ok(())
}

fn tree_of(checkpoint: &Checkpoint) -> String {
    git_objects::tree_id(&checkpoint.captured.tree).to_string()
}

/// Compares a stored checkpoint with what it should hold, path by path, as `git ls-tree` lists it;
/// answers whether they are the same.
fn judge_listing(
    checkpoint: &Checkpoint,
    id: &str,
    git: &Git,
    checks: &mut Checks,
) -> io::Result<bool> {
    let stored = git.tree(id)?;
    let captured = &checkpoint.captured;
    let expected: BTreeMap<&ByteString, (String, String)> = captured
        .tree
        .iter()
        .map(|(path, entry)| {
            let blob = git_objects::blob_id(entry.bytes()).to_string();
            (path, (git_objects::mode(entry).to_owned(), blob))
        })
        .collect();
    let mut paths = expected.keys().copied().chain(stored.keys());
    let Some(path) = paths.find(|path| expected.get(path) != stored.get(*path)) else {
        return Ok(true);
    };
    let left_out = || {
        // What lies in a place that is left out as a whole is left out for the same reason.
        let places = ancestors(path).chain(std::iter::once(&path[..]));
        let mut rules = places.filter_map(|place| captured.left_out.get(&ByteString::from(place)));
        rules.next().copied().unwrap_or(&rules::CAPTURE_GITIGNORE)
    };
    let rule: RuleRef = captured.tree.get(path).map_or_else(left_out, |entry| {
        rule_for(path, entry, stored_entry(entry, stored.get(path)).as_ref())
    });
    checks.check(JUDGE, rule, false, || {
        let side = |side: Option<&(String, String)>| format!("{path} in {id}: {side:?}");
        let sign = match (expected.get(path), stored.get(path)) {
            (None, _) => "captured, not left out",
            (_, None) => "left out, not captured",
            (Some((mode, _)), Some((other, _))) if mode != other => "another mode",
            _ => "other bytes",
        };
        Told::new(sign, side(expected.get(path)), side(stored.get(path)))
    });
    Ok(false)
}

/// The stored entry as far as it is needed to tell what is wrong: the same bytes with another
/// mode, or other bytes.
fn stored_entry(entry: &Entry, stored: Option<&(String, String)>) -> Option<Entry> {
    let (mode, blob) = stored?;
    let same_bytes = *blob == git_objects::blob_id(entry.bytes()).to_string();
    let content = if same_bytes { entry.bytes().clone() } else { (&b""[..]).into() };
    Some(match &mode[..] {
        "120000" => Entry::Link { target: content },
        mode => Entry::File { content, executable: mode == "100755" },
    })
}

fn judge_layout(world: &World, store: &Path, checks: &mut Checks) -> io::Result<()> {
    checks.new_part();
    let alternates = store.join("objects/info/alternates").exists();
    checks.check(JUDGE, &rules::ISOLATION_SELF_CONTAINED, !alternates, || {
        Told::new("alternates", "no alternates", "objects/info/alternates")
    });
    checks.new_part();
    let mut pending = vec![store.to_owned()];
    let mut open = None;
    while let Some(path) = pending.pop() {
        let metadata = std::fs::symlink_metadata(&path)?;
        if metadata.mode() & 0o077 != 0 {
            open.get_or_insert((metadata.mode(), path.clone()));
        }
        if metadata.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                pending.push(entry?.path());
            }
        }
    }
    checks.check(JUDGE, &rules::ISOLATION_PRIVATE, open.is_none(), || {
        let found = format!("{open:?}");
        Told::new("open to others", "everything in the store for its owner only", found)
    });
    checks.new_part();
    for (project, _) in world.histories() {
        let path = store.join("projects").join(format!("{}.json", hash(world, project)));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let workdir = String::from_utf8_lossy(&world.absolute(project)).into_owned();
        if world.damaged().contains(project) {
            // Nothing was asked since that need have written it anew.
            continue;
        }
        let rule: RuleRef = if world.healed().contains(project) {
            &rules::MAINTENANCE_HEALS
        } else {
            &rules::LAYOUT_METADATA
        };
        let holds = value["workdir"] == workdir.as_str()
            && value["created_at"].is_number()
            && value["last_touch"].is_number();
        checks.check(JUDGE, rule, holds, || {
            let expected = format!("workdir {workdir}, a created_at, a last_touch");
            Told::new("other metadata", expected, text.clone())
        });
    }
    checks.new_part();
    // A directory that is there may be noted before there is anything of it to keep.
    let known: BTreeSet<String> =
        world.known_directories().iter().map(|path| hash(world, path)).collect();
    let mut phantoms = Vec::new();
    for entry in std::fs::read_dir(store.join("projects")).into_iter().flatten() {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !known.contains(name.trim_end_matches(".json")) {
            phantoms.push(name);
        }
    }
    checks.check(JUDGE, &rules::SCOPE_NO_DIRECTORY, phantoms.is_empty(), || {
        let found = format!("in projects/, of no directory: {phantoms:?}");
        Told::new("a project of nothing", "only directories that are there", found)
    });
    Ok(())
}
