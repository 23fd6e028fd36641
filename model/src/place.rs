//! From the path a caller gives to the one canonical directory it means.
//!
//! Follows links as a kernel would, but also past the point where something is missing, so that a
//! deleted project keeps its name.

use crate::bytes::{self, ByteString};
use crate::files::{Files, Node};

/// What a caller's path means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The root of the real file system, which holds the whole world.
    FileSystemRoot,
    /// A path inside the world, canonical, and what stands there.
    Inside(ByteString, Standing),
    /// This absolute path somewhere else on the machine, where a history can make nothing; the
    /// model takes it that nothing stands there.
    Elsewhere(ByteString),
}

/// What stands at a canonical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A directory.
    Directory,
    /// Something else.
    NoDirectory,
    /// Nothing.
    Nothing,
}

/// As many links as a kernel follows before it says there is a loop.
const LINKS_MAX: usize = 40;

/// Resolves `path`, given relative to the world's root.
pub fn resolve(files: &Files, path: &[u8]) -> Place {
    let mut pending: Vec<Vec<u8>> = components(path);
    let mut done: Vec<u8> = Vec::new();
    let mut links = 0;
    while let Some(component) = pending.pop() {
        if component == b".." {
            done.truncate(bytes::parent(&done).len());
            continue;
        }
        let next = bytes::join(&done, &component);
        let Some(Node::Link { target }) = files.get(&next).filter(|_| links < LINKS_MAX) else {
            // A link in a loop leads nowhere; it stands for itself.
            done = next;
            continue;
        };
        links += 1;
        if target.starts_with(b"/") {
            let mut all = components(target);
            all.splice(0..0, pending);
            return absolute(all);
        }
        pending.extend(components(target));
    }
    let standing = match files.get(&done) {
        Some(Node::Directory) => Standing::Directory,
        Some(_) => Standing::NoDirectory,
        None => Standing::Nothing,
    };
    Place::Inside(ByteString(done), standing)
}

/// What an absolute path with these components, last first, means.
fn absolute(components: Vec<Vec<u8>>) -> Place {
    let mut path = Vec::new();
    for component in components.into_iter().rev() {
        if component == b".." {
            path.truncate(bytes::parent(&path).len());
        } else {
            path.push(b'/');
            path.extend(component);
        }
    }
    if path.is_empty() { Place::FileSystemRoot } else { Place::Elsewhere(ByteString(path)) }
}

/// The components of `path`, last first, without those that mean nothing.
fn components(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|byte| *byte == b'/')
        .filter(|component| !component.is_empty() && *component != b".")
        .map(<[u8]>::to_vec)
        .rev()
        .collect()
}
