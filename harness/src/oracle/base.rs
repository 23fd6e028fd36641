//! What stands in the base beside the store: v1 repositories, their archives, and
//! what is nobody's business.

use super::{Checks, Judge, Mismatch};
use crate::sandbox::Sandbox;
use crate::sandbox::manifest::digest;
use crate::sandbox::store_edits::ARCHIVED;
use herma_model::bytes::join;
use herma_model::rules;
use herma_model::{ByteString, World};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const JUDGE: Judge = Judge::Disk;

/// What the repositories held when they were put there, by where that is in the base.
pub type Planted = BTreeMap<String, u64>;

/// One number for everything below a folder: every path with its bytes.
///
/// # Errors
/// It cannot be read.
pub fn content(folder: &Path) -> io::Result<u64> {
    let mut all = Vec::new();
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
            all.extend_from_slice(&name);
            all.push(0);
            all.extend_from_slice(&digest(&fs::read(&path)?).to_be_bytes());
        }
    }
    Ok(digest(&all))
}

/// Where a repository of that name stands: in the base itself, or in an archive of that name.
fn places(sandbox: &Sandbox, name: &str) -> io::Result<Vec<(PathBuf, Option<String>)>> {
    let base = sandbox.base();
    let mut found = vec![(base.join(name), None)];
    for archive in archives(sandbox)? {
        found.push((base.join(&archive).join(name), Some(archive)));
    }
    found.retain(|(path, _)| path.join("HEAD").exists());
    Ok(found)
}

/// Compares what stands in the base with the world, and teaches that what was archived.
///
/// # Errors
/// The base cannot be read.
pub fn judge(
    world: &mut World,
    planted: &mut Planted,
    sandbox: &Sandbox,
    checks: &mut Checks,
) -> io::Result<()> {
    let base = sandbox.base();
    // What was in an archive that is rightly gone may be gone, and the name be used again.
    planted.retain(|place, _| {
        place.split_once('/').is_none_or(|(archive, _)| world.archives().contains_key(archive))
    });
    let in_use = sandbox.has_store();
    let mut archived = Vec::new();
    for (name, repository) in world.repositories() {
        let places = places(sandbox, name)?;
        let whole = |path: &Path| content(path).is_ok_and(|now| planted.get(name) == Some(&now));
        let found = places.iter().find(|(path, _)| whole(path));
        checks.check(JUDGE, &rules::MIGRATION_LOSES_NOTHING, found.is_some(), || {
            let symptom = if places.is_empty() { "a repository is gone" } else { "it changed" };
            let due = format!("the repository {name} of the v1, as it was");
            Mismatch::new(symptom, due, format!("{places:?}"))
        });
        let Some((_, archive)) = found else { continue };
        let left = repository.due && in_use && archive.is_none();
        checks.check(JUDGE, &rules::MIGRATION_ARCHIVES, !left, || {
            let due = format!("the repository {name} in an archive once the store is used");
            Mismatch::new("left where it was", due, "in the base")
        });
        let again = repository.archive.is_some() && repository.archive != *archive;
        checks.check(JUDGE, &rules::MIGRATION_ARCHIVES, !again, || {
            let due = format!("the repository {name} where it was archived");
            Mismatch::new("archived again", due, format!("in {archive:?}"))
        });
        if let (Some(archive), None) = (archive, &repository.archive) {
            archived.push((name.clone(), archive.clone()));
        }
    }
    for archive in world.archives().keys() {
        let held = format!("{archive}/{ARCHIVED}");
        let now = content(&base.join(&held)).ok();
        let stands = planted.get(&held).is_none_or(|planted| now == Some(*planted));
        checks.check(JUDGE, &rules::MIGRATION_LOSES_NOTHING, stands, || {
            let due = format!("what is in the archive {archive}, as it was");
            Mismatch::new("an archive lost something", due, "something else")
        });
    }
    for name in world.strays() {
        let stands = fs::read(base.join(name)).is_ok_and(|content| !content.is_empty());
        checks.check(JUDGE, &rules::MIGRATION_LOSES_NOTHING, stands, || {
            Mismatch::new("a stray file is gone", format!("{name} where it was"), "nothing")
        });
    }
    for (name, archive) in archived {
        world.learn_archived(&name, &archive);
    }
    Ok(())
}

/// Archives that stand in the base, by name.
///
/// # Errors
/// The base cannot be read.
pub fn archives(sandbox: &Sandbox) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(sandbox.base()).into_iter().flatten() {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with("legacy-") {
            found.push(name);
        }
    }
    Ok(found)
}

/// The parts of the store that speak of a project of that hash, where they are there.
pub fn traces(sandbox: &Sandbox, hash: &str) -> Vec<ByteString> {
    let names = [format!("store/indexes/{hash}"), format!("store/projects/{hash}.json")];
    let there = names.into_iter().filter(|name| sandbox.base().join(name).exists());
    there.map(|name| ByteString::from(name.as_str())).collect()
}
