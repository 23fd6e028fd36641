//! The harness's own look at a disk: every path below a root with its type, bytes, mode and time.
//!
//! Nothing of a subject's code is used, so that what this sees is evidence.

use herma_model::bytes::join;
use herma_model::files::Content;
use herma_model::{ByteString, Files, Node};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// What a disk held at one moment.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// The files, as the model sees files.
    pub files: Files,
    /// When each file that is no directory was last modified: seconds and nanoseconds.
    pub modified: BTreeMap<ByteString, (i64, i64)>,
}

/// Reads everything below `root` but what is the subject's own: what is at or below `base`, and the
/// repositories below `root` where it keeps its store in them.
pub fn read(root: &Path, base: &Path, store_in_repositories: bool) -> io::Result<Manifest> {
    let mut manifest = Manifest::default();
    let mut nodes: Vec<(ByteString, Node)> = Vec::new();
    let mut pending = vec![Vec::new()];
    while let Some(directory) = pending.pop() {
        let full = on_disk(root, &directory);
        let repository = store_in_repositories && full.file_name() == Some(".git".as_ref());
        if full == base || repository {
            continue;
        }
        if !directory.is_empty() {
            nodes.push((ByteString::from(&directory[..]), Node::Directory));
        }
        for entry in fs::read_dir(&full)? {
            let entry = entry?;
            let path = join(&directory, entry.file_name().as_bytes());
            if entry.file_type()?.is_dir() {
                pending.push(path);
                continue;
            }
            let full = entry.path();
            let metadata = fs::symlink_metadata(&full)?;
            let path = ByteString(path);
            nodes.push((path.clone(), node(&full, &metadata)?));
            manifest.modified.insert(path, (metadata.mtime(), metadata.mtime_nsec()));
        }
    }
    manifest.files = nodes.into_iter().collect();
    Ok(manifest)
}

/// The absolute path of a path relative to `root`.
pub fn on_disk(root: &Path, path: &[u8]) -> std::path::PathBuf {
    if path.is_empty() {
        return root.to_owned();
    }
    root.join(std::ffi::OsStr::from_bytes(path))
}

fn node(path: &Path, metadata: &fs::Metadata) -> io::Result<Node> {
    let kind = metadata.file_type();
    if kind.is_symlink() {
        let target = fs::read_link(path)?.into_os_string().into_vec();
        return Ok(Node::Link { target: Content::from(target) });
    }
    if !kind.is_file() {
        return Ok(Node::Special);
    }
    let mode = metadata.mode();
    Ok(Node::File {
        content: Content::from(content(path, mode)?),
        executable: mode & 0o100 != 0,
        readable: mode & 0o400 != 0,
    })
}

/// A file that a history made unreadable is made readable for as long as it is looked at.
fn content(path: &Path, mode: u32) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied && mode & 0o400 == 0 => {
            fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o400))?;
            let content = fs::read(path);
            fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777))?;
            content
        }
        content => content,
    }
}

/// Every path below a root with its size, or a hash of its bytes where it is small and says what
/// others mean; directories have 0.
pub type Outline = BTreeMap<ByteString, u64>;

/// The outline of everything below `root`; empty where there is nothing.
pub fn outline(root: &Path) -> io::Result<Outline> {
    let mut found = BTreeMap::new();
    let mut pending = vec![Vec::new()];
    while let Some(directory) = pending.pop() {
        let entries = match fs::read_dir(on_disk(root, &directory)) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let path = join(&directory, entry.file_name().as_bytes());
            if entry.file_type()?.is_dir() {
                pending.push(path.clone());
                found.insert(ByteString(path), 0);
            } else {
                let size = entry.metadata()?.size();
                let pointer = [&b"store/refs/"[..], b"store/projects/", b"store/packed-refs"]
                    .iter()
                    .any(|folder| path.starts_with(folder));
                let value = if pointer { digest(&fs::read(entry.path())?) } else { size };
                found.insert(ByteString(path), value);
            }
        }
    }
    Ok(found)
}

/// A short hash of these bytes.
pub fn digest(bytes: &[u8]) -> u64 {
    let digest = Sha256::digest(bytes);
    digest.iter().take(8).fold(0, |value, byte| value << 8 | u64::from(*byte))
}
