//! The contents of the base other than the store: v1 repositories, their archives, and third-party files.

use crate::sandbox::Sandbox;
use crate::sandbox::manifest::digest;
use crate::sandbox::store_edits::ARCHIVED;
use herma_model::World;
use herma_model::bytes::join;
use herma_model::observation::{Base, RepositoryLocation};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A hash of the content of each planted repository, by its path in the base.
pub type Planted = BTreeMap<String, u64>;

/// A hash of everything below a folder: every path with its bytes.
///
/// # Errors
/// The folder cannot be read.
pub fn content(folder: &Path) -> io::Result<u64> {
    let mut bytes = Vec::new();
    let mut pending: Vec<(PathBuf, Vec<u8>)> = vec![(folder.to_owned(), Vec::new())];
    while let Some((path, name)) = pending.pop() {
        if path.is_dir() {
            let mut entries: Vec<_> = fs::read_dir(&path)?.collect::<Result<_, _>>()?;
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let below = join(&name, entry.file_name().as_encoded_bytes());
                pending.push((entry.path(), below));
            }
        } else {
            bytes.extend_from_slice(&name);
            bytes.push(0);
            bytes.extend_from_slice(&digest(&fs::read(&path)?).to_be_bytes());
        }
    }
    Ok(digest(&bytes))
}

/// The paths of repositories of that name, in the base itself or in archives, each with its archive.
fn paths(sandbox: &Sandbox, name: &str) -> io::Result<Vec<(PathBuf, Option<String>)>> {
    let base = sandbox.base();
    let mut found = vec![(base.join(name), None)];
    for archive in archives(sandbox)? {
        found.push((base.join(&archive).join(name), Some(archive)));
    }
    found.retain(|(path, _)| path.join("HEAD").exists());
    Ok(found)
}

/// Which planted repositories and files are in the base, where they are, and whether they are intact.
///
/// # Errors
/// The base cannot be read.
pub fn observe(world: &World, planted: &mut Planted, sandbox: &Sandbox) -> io::Result<Base> {
    let base = sandbox.base();
    // The content of a rightly removed archive is gone, and its name may be used again.
    planted.retain(|path, _| {
        path.split_once('/').is_none_or(|(archive, _)| world.archives().contains_key(archive))
    });
    let is_intact =
        |name: &String, path: &Path| content(path).is_ok_and(|now| planted.get(name) == Some(&now));
    let is_intact_in_base = |name: &String| is_intact(name, &base.join(name));
    let mut repositories = BTreeMap::new();
    for name in world.repositories().keys() {
        let found = paths(sandbox, name)?.into_iter();
        let found = found.map(|(path, archive)| RepositoryLocation {
            is_intact: is_intact(name, &path),
            archive,
        });
        repositories.insert(name.clone(), found.collect());
    }
    let is_spoiled = |archive: &&String| {
        let planted_path = format!("{archive}/{ARCHIVED}");
        let now = content(&base.join(&planted_path)).ok();
        planted.get(&planted_path).is_some_and(|planted| now != Some(*planted))
    };
    let exists =
        |name: &&String| fs::read(base.join(name)).is_ok_and(|content| !content.is_empty());
    let archives = archives(sandbox)?.into_iter();
    let archives = archives.filter(|name| !world.lookalikes().contains(name));
    Ok(Base {
        in_use: sandbox.has_store(),
        store_exists: sandbox.store().exists(),
        repositories,
        archives: archives.collect(),
        damaged_archives: world.archives().keys().filter(is_spoiled).cloned().collect(),
        marker: base.join(".last_prune").exists(),
        lookalikes: world
            .lookalikes()
            .iter()
            .filter(|name| is_intact_in_base(name))
            .cloned()
            .collect(),
        strays: world.strays().iter().filter(exists).cloned().collect(),
    })
}

/// The names of the archives in the base.
///
/// # Errors
/// The base cannot be read.
fn archives(sandbox: &Sandbox) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(sandbox.base()).into_iter().flatten() {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with("legacy-") {
            found.push(name);
        }
    }
    Ok(found)
}

/// The existing parts of the store that belong to the project with that hash.
pub fn traces(sandbox: &Sandbox, hash: &str) -> Vec<String> {
    let folders = [("indexes", ""), ("projects", ".json"), ("hands", ".json")];
    let names = folders.map(|(folder, end)| format!("store/{folder}/{hash}{end}"));
    names.into_iter().filter(|name| sandbox.base().join(name).exists()).collect()
}
