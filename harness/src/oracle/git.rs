//! The third judge: plain git, reading the store as any other tool would.

use super::plain_git::{Commit, Git, HISTORIES};
use super::{Checks, Judge, Mismatch, content, naming, truncated_history};
use crate::history::concrete::hash;
use crate::protocol::capabilities::Capabilities;
use crate::sandbox::Sandbox;
use herma_model::rules::{self, RuleRef};
use herma_model::world::Checkpoint;
use herma_model::{ByteString, World};
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
    capabilities: &Capabilities,
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
        Mismatch::new("git reads nothing", "a repository that plain git reads", complaint)
    });
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let refs: Vec<String> = listed.lines().map(str::to_owned).collect();
    if let Some(cause) = naming::wrong(world, &store, &refs) {
        checks.check(JUDGE, cause.rule, false, || cause.mismatch);
    }
    judge_refs(world, &refs, checks);
    let unreadable = checks.failed_here();
    if !store.exists() {
        return Ok(());
    }
    judge_layout(world, &store, checks)?;
    checks.new_part();
    judge_dropped(world, &git, capabilities, checks)?;
    if unreadable || refs.is_empty() {
        return Ok(());
    }
    let commits = git.commits()?;
    let listed = world.histories().flat_map(|(project, _)| world.listed(project));
    let mut ids = listed.filter_map(|one| one.id.as_ref());
    if ids.any(|id| !commits.contains_key(id)) {
        checks.new_part();
        truncated_history::judge(world, &git, checks)?;
        if checks.failed_here() {
            return Ok(());
        }
    }
    for (project, _) in world.histories() {
        // What limits dropped need not be there any more.
        let listed = world.listed(project);
        checks.new_part();
        let told =
            Stored { commits: &commits, git: &git, has_clock: capabilities.has("test.clock") };
        judge_history(world, listed, &told, thorough, checks)?;
    }
    checks.new_part();
    let fsck = git.check(&["--full", "--no-dangling"])?;
    checks.check(JUDGE, &rules::LAYOUT_FSCK, fsck.status.success(), || {
        let complaint = String::from_utf8_lossy(&fsck.stderr).into_owned();
        Mismatch::new("git fsck complains", "git fsck finds nothing", complaint)
    });
    Ok(())
}

/// The name under which a project's history is stored.
fn ref_name(world: &World, project: &ByteString) -> String {
    format!("{HISTORIES}{}", hash(world, project))
}

fn judge_refs(world: &World, refs: &[String], checks: &mut Checks) {
    let found: BTreeMap<&str, &str> = refs.iter().filter_map(|line| line.split_once(' ')).collect();
    let expected: BTreeSet<String> =
        world.histories().map(|(project, _)| ref_name(world, project)).collect();
    for (project, history) in world.histories() {
        let name = ref_name(world, project);
        let newest = history.last().and_then(|one| one.id.as_deref()).unwrap_or_default();
        checks.held(&rules::SCOPE_HASH, 1);
        checks.check(JUDGE, &rules::LAYOUT_STORE, found.contains_key(&name[..]), || {
            Mismatch::new("no such ref", format!("{name} for {project}"), format!("{found:?}"))
        });
        let tip = found.get(&name[..]).copied().unwrap_or_default();
        checks.same(JUDGE, &rules::LAYOUT_STORE, "newest checkpoint", &newest, &tip);
    }
    let phantom = found.keys().find(|name| !expected.contains(**name));
    checks.check(JUDGE, &rules::SCOPE_NO_DIRECTORY, phantom.is_none(), || {
        let expected = "no history but those of checkpointed projects";
        Mismatch::new("a history of nothing", expected, format!("{phantom:?}"))
    });
}

fn judge_history(
    world: &World,
    history: &[Checkpoint],
    stored: &Stored<'_>,
    thorough: bool,
    checks: &mut Checks,
) -> io::Result<()> {
    let mut before: Option<String> = None;
    for (index, checkpoint) in history.iter().enumerate() {
        let id = checkpoint.id.clone().unwrap_or_default();
        let Some(commit) = stored.commits.get(&id) else {
            let renamed = content::is_renamed(world, checkpoint, stored.commits);
            let rule: RuleRef = if renamed { &rules::LIST_STABLE } else { &rules::LAYOUT_STORE };
            checks.check(JUDGE, rule, false, || content::no_commit(&id));
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
            Mismatch::new("the user's name", "an author of the store's own", commit.author.clone())
        });
        checks.same(JUDGE, &rules::ISOLATION_NO_SIGNING, "signed", &false, &commit.signed);
        if !content::judge(history, index, &commit.tree, stored.git, thorough, checks)? {
            return Ok(());
        }
        for (rule, times) in checkpoint.captured.tested.values() {
            checks.held(rule, *times as u64);
        }
        before = Some(id);
    }
    Ok(())
}

/// What limits dropped is out of sight, and most of it out of the store.
fn judge_dropped(
    world: &World,
    git: &Git,
    capabilities: &Capabilities,
    checks: &mut Checks,
) -> io::Result<()> {
    let limit = world.settings.max_snapshots;
    let dropped = world.histories().any(|(_, all)| all.len() > limit);
    if !capabilities.has("settings.max_snapshots") || !dropped {
        return Ok(());
    }
    let visible = git.visible()?;
    for (hash, ids) in &visible {
        let rule = &rules::LIMIT_NEWEST_REMAIN;
        checks.check(JUDGE, rule, ids.len() <= limit, || {
            let found = format!("{} in the history of {hash}", ids.len());
            Mismatch::new("dropped and still there", format!("at most {limit}"), found)
        });
    }
    let stored = git.text(&["cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"])?;
    let stored = stored.lines().filter(|kind| *kind == "commit").count();
    let seen: BTreeSet<&String> = visible.values().flatten().collect();
    let waiting = stored.saturating_sub(seen.len());
    let allowed = limit * world.known_directories().len();
    checks.check(JUDGE, &rules::LIMIT_NEWEST_REMAIN, waiting <= allowed, || {
        let due = format!("at most {allowed} dropped ones waiting for their space to be reclaimed");
        Mismatch::new("dropped and never reclaimed", due, format!("{waiting} of them"))
    });
    Ok(())
}

fn judge_layout(world: &World, store: &Path, checks: &mut Checks) -> io::Result<()> {
    checks.new_part();
    let alternates = store.join("objects/info/alternates").exists();
    checks.check(JUDGE, &rules::ISOLATION_SELF_CONTAINED, !alternates, || {
        Mismatch::new("alternates", "no alternates", "objects/info/alternates")
    });
    checks.new_part();
    let mut pending = vec![store.to_owned()];
    let (mut open, mut link) = (None, None);
    while let Some(path) = pending.pop() {
        let metadata = std::fs::symlink_metadata(&path)?;
        if metadata.is_symlink() {
            link.get_or_insert(path);
            continue;
        }
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
        Mismatch::new("open to others", "everything in the store for its owner only", found)
    });
    checks.new_part();
    checks.check(JUDGE, &rules::ISOLATION_SELF_CONTAINED, link.is_none(), || {
        Mismatch::new("a link out of the store", "no link in the store", format!("{link:?}"))
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
            Mismatch::new("other metadata", expected, text.clone())
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
        Mismatch::new("a project of nothing", "only directories that are there", found)
    });
    Ok(())
}
