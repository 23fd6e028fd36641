//! Resolves the path that a caller gives to a canonical path.
//!
//! Symbolic links are followed as a kernel follows them. Unlike a kernel, this module continues after a
//! missing component, so that a deleted project keeps its canonical path.

use crate::bytes::{self, ByteString};
use crate::files::{Files, Node};

/// Where a caller's path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// The root of the real file system, which contains the world.
    FileSystemRoot,
    /// A canonical path inside the world, and what exists there.
    Inside(ByteString, PathKind),
    /// An absolute path outside the world, where a history can make nothing; the model assumes that
    /// nothing exists there.
    Elsewhere(ByteString),
}

/// What exists at a canonical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A directory.
    Directory,
    /// Something else.
    NotADirectory,
    /// Nothing.
    Missing,
}

/// The number of links that a kernel follows before it reports a loop.
const LINKS_MAX: usize = 40;

/// Resolves `path`, given relative to the world's root, which is at the absolute path `root`.
pub fn resolve(files: &Files, root: &[u8], path: &[u8]) -> Location {
    let mut pending: Vec<Vec<u8>> = components(path);
    let mut resolved: Vec<u8> = Vec::new();
    let mut links = 0;
    while let Some(component) = pending.pop() {
        if component == b".." {
            resolved.truncate(bytes::parent(&resolved).len());
            continue;
        }
        let next = bytes::join(&resolved, &component);
        let Some(Node::Link { target }) = files.get(&next).filter(|_| links < LINKS_MAX) else {
            // A link in a loop resolves to itself.
            resolved = next;
            continue;
        };
        links += 1;
        let mut target_components = components(target);
        if target.starts_with(b"/") {
            // The components of the root come first in the path, and so last in this order.
            let Some(inside) = target_components.strip_suffix(&components(root)[..]) else {
                target_components.splice(0..0, pending);
                return absolute(target_components);
            };
            target_components.truncate(inside.len());
            resolved.clear();
        }
        pending.extend(target_components);
    }
    let kind = match files.get(&resolved) {
        Some(Node::Directory) => PathKind::Directory,
        Some(_) => PathKind::NotADirectory,
        None => PathKind::Missing,
    };
    Location::Inside(ByteString::from(resolved), kind)
}

/// The location of an absolute path with these components, last first.
fn absolute(components: Vec<Vec<u8>>) -> Location {
    let mut path = Vec::new();
    for component in components.into_iter().rev() {
        if component == b".." {
            path.truncate(bytes::parent(&path).len());
        } else {
            path.push(b'/');
            path.extend(component);
        }
    }
    if path.is_empty() {
        Location::FileSystemRoot
    } else {
        Location::Elsewhere(ByteString::from(path))
    }
}

/// The components of `path`, last first, without empty ones and `.`.
fn components(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|byte| *byte == b'/')
        .filter(|component| !component.is_empty() && *component != b".")
        .map(<[u8]>::to_vec)
        .rev()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::SpecialKind;
    use PathKind::{Directory, Missing, NotADirectory};
    use pretty_assertions::assert_eq;

    fn link(target: &str) -> Node {
        Node::Link { target: ByteString::from(target.as_bytes()) }
    }

    fn files(nodes: &[(&str, Node)]) -> Files {
        nodes.iter().map(|(path, node)| (ByteString::from(*path), node.clone())).collect()
    }

    fn inside(path: &str, kind: PathKind) -> Location {
        Location::Inside(ByteString::from(path), kind)
    }

    /// The path as seen from a world whose root is `/w/r`.
    fn found(files: &Files, path: &str) -> Location {
        resolve(files, b"/w/r", path.as_bytes())
    }

    #[test]
    fn resolve_follows_an_absolute_link_into_the_world() {
        let files = files(&[
            ("a", Node::Directory),
            ("a/b", Node::Directory),
            ("a/f", Node::Special(SpecialKind::Fifo)),
            ("in", link("/w/r/a/b")),
            ("twice", link("//w/./r//in/")),
            ("top", link("/w/r")),
            ("beside", link("/w/root/a")),
            ("above", link("/w")),
            ("gone", link("/w/r/a/none")),
            ("over", link("/w/r/a/../a/f")),
        ]);
        for (typed, location) in [
            ("in", inside("a/b", Directory)),
            ("in/x", inside("a/b/x", Missing)),
            ("in/..", inside("a", Directory)),
            ("twice/x/..", inside("a/b", Directory)),
            ("top", inside("", Directory)),
            ("top/a/f", inside("a/f", NotADirectory)),
            ("gone/x", inside("a/none/x", Missing)),
            ("over", inside("a/f", NotADirectory)),
            ("beside", Location::Elsewhere("/w/root/a".into())),
            ("above", Location::Elsewhere("/w".into())),
        ] {
            assert_eq!(found(&files, typed), location, "{typed}");
        }
    }

    #[test]
    fn resolve_removes_dots_and_follows_relative_links() {
        let files = files(&[
            ("a", Node::Directory),
            ("a/b", Node::Directory),
            ("a/fifo", Node::Special(SpecialKind::Fifo)),
            ("a/up", link("../c")),
            ("a/out", link("/etc//x/../y")),
            ("a/top", link("/..")),
            ("c", Node::Directory),
            ("d", link("a/b/")),
        ]);
        for (typed, location) in [
            ("", inside("", Directory)),
            ("a", inside("a", Directory)),
            ("./a//b/.", inside("a/b", Directory)),
            ("a/b/../fifo", inside("a/fifo", NotADirectory)),
            ("a/none/deeper", inside("a/none/deeper", Missing)),
            ("a/../../../c", inside("c", Directory)),
            ("a/up", inside("c", Directory)),
            ("a/up/x", inside("c/x", Missing)),
            ("d/..", inside("a", Directory)),
            ("a/out/z", Location::Elsewhere("/etc/y/z".into())),
            ("a/top", Location::FileSystemRoot),
        ] {
            assert_eq!(found(&files, typed), location, "{typed}");
        }
    }

    #[test]
    fn resolve_follows_forty_links_and_resolves_a_loop_to_itself() {
        let mut chain: Vec<(String, Node)> =
            (0..41).map(|step| (format!("l{step}"), link(&format!("l{}", step + 1)))).collect();
        chain.push(("l41".to_owned(), Node::Directory));
        chain.push(("loop".to_owned(), link("loop")));
        let files: Files =
            chain.into_iter().map(|(path, node)| (ByteString::from(&*path), node)).collect();
        assert_eq!(found(&files, "l1"), inside("l41", Directory));
        assert_eq!(found(&files, "l0"), inside("l40", NotADirectory));
        assert_eq!(found(&files, "loop/x"), inside("loop/x", Missing));
    }
}
