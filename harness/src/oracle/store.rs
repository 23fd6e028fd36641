//! A complete store, as plain git and the disk show it.

use super::plain_git::{BlobContents, Git, LINKS_ONLY};
use crate::git_objects::{self, KnownIds};
use herma_model::answer::{Answer, CheckpointOutcome};
use herma_model::observation::{Commit, Histories, Metadata, StoreLayout};
use herma_model::store::HISTORIES;
use herma_model::{Request, Tree, World};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

/// Trees with known content, by their git ids.
pub type KnownTrees = BTreeMap<String, Arc<Tree>>;

/// The stored checkpoints. Trees with known content are recognized by their ids; git lists every other tree.
///
/// # Errors
/// Git is missing.
pub fn histories(git: &Git, known: &KnownTrees, known_ids: &KnownIds) -> io::Result<Histories> {
    let mut found = match git.refs()? {
        Err(complaint) => Histories { unreadable: Some(complaint), ..Histories::default() },
        Ok(refs) => Histories { workdirs: workdirs(git, &refs), refs, ..Histories::default() },
    };
    if found.unreadable.is_some() || found.refs.is_empty() {
        return Ok(found);
    }
    found.visible = git.contents(true)?.visible;
    let mut blobs = BlobContents::new();
    for (id, stored) in git.commits(&found.visible)? {
        if stored.continues {
            found.continued.insert(id.clone());
        }
        let tree = match known.get(&stored.tree) {
            Some(tree) => Arc::clone(tree),
            None => Arc::new(git.tree(&stored.tree, &mut blobs)?),
        };
        let canonical = git_objects::tree_id(&tree, known_ids).to_string() == stored.tree;
        let commit = Commit {
            tree,
            canonical,
            parent: stored.parent,
            author: stored.author,
            seconds: stored.seconds,
            signed: stored.signed,
        };
        found.commits.insert(id, commit);
    }
    Ok(found)
}

/// The trees of the world's checkpoints, and `captured`, which may just have been captured.
pub fn known_trees(world: &World, captured: Option<Tree>, known_ids: &KnownIds) -> KnownTrees {
    let checkpoints = world.histories().flat_map(|(_, checkpoints)| checkpoints.iter());
    let trees = checkpoints
        .filter_map(|checkpoint| checkpoint.captured.as_ref())
        .map(|captured| captured.tree.clone());
    let with_id = |tree: Tree| (git_objects::tree_id(&tree, known_ids).to_string(), Arc::new(tree));
    trees.chain(captured).map(with_id).collect()
}

fn workdirs(git: &Git, refs: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let hashes = refs.keys().filter_map(|name| name.strip_prefix(HISTORIES));
    hashes.filter_map(|hash| Some((hash.to_owned(), metadata(git, hash)?.workdir?))).collect()
}

fn metadata(git: &Git, hash: &str) -> Option<Metadata> {
    let path = git.store().join("projects").join(format!("{hash}.json"));
    let bytes = std::fs::read(path).ok()?;
    let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    Some(Metadata {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        workdir: value["workdir"].as_str().map(str::to_owned),
        has_times: value["created_at"].is_number() && value["last_touch"].is_number(),
    })
}

/// What git reads of a store at the end of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByGit {
    /// Commits and trees: whether each object that they name is there.
    Links,
    /// Every object.
    Objects,
    /// Every object, and the content of every checkpoint, even if it is recognized by its id.
    Everything,
}

/// The layout of the store, which git checks if it is to read anything.
///
/// # Errors
/// Git or the store is missing.
pub fn layout(git: &Git, world: &World, by_git: Option<ByGit>) -> io::Result<StoreLayout> {
    let store = git.store();
    let mut found = StoreLayout {
        alternates: store.join("objects/info/alternates").exists(),
        ..StoreLayout::default()
    };
    let mut pending = vec![store.to_owned()];
    while let Some(path) = pending.pop() {
        let metadata = std::fs::symlink_metadata(&path)?;
        if metadata.is_symlink() {
            found.link.get_or_insert_with(|| format!("{path:?}"));
            continue;
        }
        if metadata.mode() & 0o077 != 0 {
            found.open.get_or_insert_with(|| format!("{:o} {path:?}", metadata.mode()));
        }
        if metadata.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                pending.push(entry?.path());
            }
        }
    }
    for entry in std::fs::read_dir(store.join("projects")).into_iter().flatten() {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let hash = name.trim_end_matches(".json");
        found.metadata.insert(hash.to_owned(), metadata(git, hash).unwrap_or_default());
    }
    let limit = world.settings.max_snapshots;
    if world.histories().any(|(_, checkpoints)| checkpoints.len() > limit) {
        let kinds = ["cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"];
        found.commits = git.text(&kinds)?.lines().filter(|kind| *kind == "commit").count();
    }
    let Some(by_git) = by_git else { return Ok(found) };
    let links = (by_git == ByGit::Links).then_some(LINKS_ONLY);
    let options = ["--full", "--no-dangling"].into_iter().chain(links);
    let fsck = git.check(&options.collect::<Vec<_>>())?;
    let complaint = String::from_utf8_lossy(&fsck.stderr).into_owned();
    found.fsck = (!fsck.status.success()).then_some(complaint);
    Ok(found)
}

/// The objects that each known checkpoint needs, including a checkpoint just taken.
pub fn needs(
    world: &World,
    request: &Request,
    answer: &Answer,
    known_ids: &KnownIds,
) -> BTreeMap<String, BTreeSet<String>> {
    let objects = |id: &String, tree: &Tree| {
        let ids = git_objects::ids(tree, known_ids).into_iter().map(|id| id.to_string());
        (id.clone(), ids.chain([id.clone()]).collect())
    };
    let checkpoints = world.histories().flat_map(|(project, _)| world.listed(project));
    let mut needs: BTreeMap<String, BTreeSet<String>> = checkpoints
        .filter_map(|checkpoint| Some(objects(&checkpoint.id, &checkpoint.captured.as_ref()?.tree)))
        .collect();
    let taken = match answer {
        Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } => Some(id),
        Answer::Restored(restored) => restored.safety.as_ref(),
        _ => None,
    };
    let project = request.dir().and_then(|dir| world.canonical(dir));
    needs
        .extend(taken.zip(project).map(|(id, project)| objects(id, &world.capture(&project).tree)));
    needs
}
