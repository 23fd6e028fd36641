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

/// Resolves `path`, given relative to the world's root, which is at the absolute path `root`.
pub fn resolve(files: &Files, root: &[u8], path: &[u8]) -> Place {
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
        let mut target_components = components(target);
        if target.starts_with(b"/") {
            // The components of the root come first, and so last here.
            let Some(inside) = target_components.strip_suffix(&components(root)[..]) else {
                target_components.splice(0..0, pending);
                return absolute(target_components);
            };
            target_components.truncate(inside.len());
            done.clear();
        }
        pending.extend(target_components);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Content, SpecialKind};
    use Standing::{Directory, NoDirectory, Nothing};
    use pretty_assertions::assert_eq;

    fn link(target: &str) -> Node {
        Node::Link { target: Content::from(target.as_bytes()) }
    }

    fn files(nodes: &[(&str, Node)]) -> Files {
        nodes.iter().map(|(path, node)| (ByteString::from(*path), node.clone())).collect()
    }

    fn inside(path: &str, standing: Standing) -> Place {
        Place::Inside(ByteString::from(path), standing)
    }

    /// The path as seen from a world whose root is `/w/r`.
    fn found(files: &Files, path: &str) -> Place {
        resolve(files, b"/w/r", path.as_bytes())
    }

    #[test]
    fn an_absolute_link_into_the_world_is_followed_inside() {
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
        for (typed, place) in [
            ("in", inside("a/b", Directory)),
            ("in/x", inside("a/b/x", Nothing)),
            ("in/..", inside("a", Directory)),
            ("twice/x/..", inside("a/b", Directory)),
            ("top", inside("", Directory)),
            ("top/a/f", inside("a/f", NoDirectory)),
            ("gone/x", inside("a/none/x", Nothing)),
            ("over", inside("a/f", NoDirectory)),
            ("beside", Place::Elsewhere("/w/root/a".into())),
            ("above", Place::Elsewhere("/w".into())),
        ] {
            assert_eq!(found(&files, typed), place, "{typed}");
        }
    }

    #[test]
    fn a_path_is_followed_to_the_one_place_it_means() {
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
        for (typed, place) in [
            ("", inside("", Directory)),
            ("a", inside("a", Directory)),
            ("./a//b/.", inside("a/b", Directory)),
            ("a/b/../fifo", inside("a/fifo", NoDirectory)),
            ("a/none/deeper", inside("a/none/deeper", Nothing)),
            ("a/../../../c", inside("c", Directory)),
            ("a/up", inside("c", Directory)),
            ("a/up/x", inside("c/x", Nothing)),
            ("d/..", inside("a", Directory)),
            ("a/out/z", Place::Elsewhere("/etc/y/z".into())),
            ("a/top", Place::FileSystemRoot),
        ] {
            assert_eq!(found(&files, typed), place, "{typed}");
        }
    }

    #[test]
    fn forty_links_are_followed_and_a_loop_stands_for_itself() {
        let mut chain: Vec<(String, Node)> =
            (0..41).map(|step| (format!("l{step}"), link(&format!("l{}", step + 1)))).collect();
        chain.push(("l41".to_owned(), Node::Directory));
        chain.push(("loop".to_owned(), link("loop")));
        let files: Files =
            chain.into_iter().map(|(path, node)| (ByteString::from(&*path), node)).collect();
        assert_eq!(found(&files, "l1"), inside("l41", Directory));
        assert_eq!(found(&files, "l0"), inside("l40", NoDirectory));
        assert_eq!(found(&files, "loop/x"), inside("loop/x", Nothing));
    }
}
