//! Where the history of each project begins: `refs/hermes/<hash>`, as plain git reads it.
//!
//! A ref is its own small file; `git gc` may have moved it into `packed-refs`, which is read but
//! never written.

use crate::disk::Disk;
use crate::error::{Context, Error, Result};
use crate::fresh::{replace_file, write_fresh};
use git2::Oid;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// More bytes than the refs of any store take.
const REFS_BYTES_MAX: u64 = 64 * 1024 * 1024;

fn name_of(hash: &str) -> String {
    format!("refs/hermes/{hash}")
}

fn file_of(store: &Path, hash: &str) -> PathBuf {
    store.join(name_of(hash))
}

/// The newest checkpoint of the project, if it has any.
pub fn read(disk: &dyn Disk, store: &Path, hash: &str) -> Result<Option<Oid>> {
    let path = file_of(store, hash);
    match disk.read(&path, 1_024) {
        Ok((content, _)) => parse(&path, &content).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => read_packed(disk, store, hash),
        Err(error) => Err(error).context("reading", &path),
    }
}

fn parse(path: &Path, content: &[u8]) -> Result<Oid> {
    let text = String::from_utf8_lossy(content);
    Oid::from_str(text.trim_end()).map_err(|_| Error::StoreUnusable {
        path: path.to_owned(),
        why: "it holds no object id".into(),
    })
}

fn read_packed(disk: &dyn Disk, store: &Path, hash: &str) -> Result<Option<Oid>> {
    let name = name_of(hash);
    let text = packed_refs(disk, store)?;
    let line = text.lines().find_map(|line| line.strip_suffix(&name)?.strip_suffix(' '));
    line.map(|digits| parse(&store.join("packed-refs"), digits.as_bytes())).transpose()
}

/// Moves the history of the project to `tip`, if it still is where the caller saw it. The caller
/// holds the project's lock, so only another tool can have moved it.
pub fn advance(
    disk: &dyn Disk,
    store: &Path,
    hash: &str,
    seen: Option<Oid>,
    tip: Oid,
) -> Result<()> {
    if read(disk, store, hash)? != seen {
        return Err(Error::Busy(file_of(store, hash)));
    }
    let path = file_of(store, hash);
    let fresh = write_fresh(disk, store, &format!("refs-{hash}"), format!("{tip}\n").as_bytes())?;
    replace_file(disk, &fresh, &path)
}

/// The hashes of all projects that have a history, sorted.
pub fn all(disk: &dyn Disk, store: &Path) -> Result<Vec<String>> {
    let folder = store.join("refs/hermes");
    let mut hashes: Vec<String> = match disk.list(&folder) {
        Ok(names) => names.into_iter().filter_map(|name| name.into_string().ok()).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).context("reading the directory", &folder),
    };
    let packed = packed_refs(disk, store)?;
    hashes.extend(
        packed
            .lines()
            .filter_map(|line| line.split_once(" refs/hermes/").map(|(_, hash)| hash.to_owned())),
    );
    hashes.retain(|hash| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hashes.sort_unstable();
    hashes.dedup();
    Ok(hashes)
}

fn packed_refs(disk: &dyn Disk, store: &Path) -> Result<String> {
    let path = store.join("packed-refs");
    match disk.read(&path, REFS_BYTES_MAX) {
        Ok((content, _)) => Ok(String::from_utf8_lossy(&content).into_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error).context("reading", &path),
    }
}
