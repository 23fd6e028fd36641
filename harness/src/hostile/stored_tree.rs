//! Stored trees: any content of a checkpoint in a damaged or malicious store. Such a tree may contain:
//!
//! - names that lead out of the project, repeat, contain slashes or name a repository
//! - modes that git does not have
//! - the same trees many times
//! - links in the way of later paths
//!
//! In all cases nothing panics, a refusal changes nothing, and nothing changes outside the project or in
//! its own repository.

use super::targets::Judgement;
use super::{BASE, CALLS_MAX, Fixture, StartingState, hash_of_project, hexadecimal, project};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use herma_model::Request;
use sha1::{Digest, Sha1};
use std::io::{self, Write};
use std::path::Path;

/// The object that an entry of a tree names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// A blob with the text `../../outside/secret.txt`, which as a link leads out of the project.
    Outward,
    /// A blob with another text.
    Text,
    /// An earlier tree, counted back from the tree of this entry.
    Tree(u8),
    /// An object that does not exist.
    Missing,
}

/// One entry of a stored tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// Its mode, as git prints it.
    pub mode: u32,
    /// Its name, which may be invalid.
    pub name: Vec<u8>,
    /// The object that it names.
    pub child: Child,
}

/// Trees, each of which may contain earlier ones; the last is the root tree of the checkpoint.
pub type Trees = Vec<Vec<StoredEntry>>;

/// Names that are or may be harmful.
pub const NAMES: &[&[u8]] = &[
    b"..",
    b".",
    b"",
    b".git",
    b"a",
    b"b",
    b"a/b",
    b"../x",
    b"/etc",
    b"link",
    b".GIT",
    b".git ",
    b"git~1",
    b"src",
    b"a.txt",
    b".gitignore",
    b"HEAD",
    b"a\nb",
    b"\xff",
];

/// Modes that git knows, and some that it does not.
pub const MODES: &[u32] =
    &[0o100_644, 0o100_755, 0o120_000, 0o40_000, 0o160_000, 0o100_777, 0o104_755, 0, 0o60_000];

/// Reads trees from the bytes of a fuzzer; every input is valid.
pub fn from_bytes(bytes: &[u8]) -> Trees {
    let mut trees: Trees = vec![Vec::new()];
    let mut rest = bytes.iter().copied();
    while let (Some(kind), Some(name), Some(mode)) = (rest.next(), rest.next(), rest.next()) {
        if kind & 0x80 != 0 && trees.len() < 16 {
            trees.push(Vec::new());
        }
        let child = match kind & 3 {
            0 => Child::Outward,
            1 => Child::Text,
            2 => Child::Tree((kind >> 2) & 7),
            _ => Child::Missing,
        };
        let name = match NAMES.get(usize::from(name)) {
            Some(name) => name.to_vec(),
            None => rest.by_ref().take(usize::from(name & 7) + 1).collect(),
        };
        // A NUL would end the name and truncate the tree.
        let name = name.into_iter().filter(|byte| *byte != 0).collect();
        let mode = MODES.get(usize::from(mode)).copied().unwrap_or(u32::from(mode) << 8);
        if let Some(tree) = trees.last_mut() {
            tree.push(StoredEntry { mode, name, child });
        }
    }
    trees
}

/// Stores the trees as the newest checkpoint of a project and judges the answers of the core.
///
/// # Errors
/// The violated expectation, as a text.
pub fn judge(trees: &Trees, state: &StartingState) -> Judgement {
    let mut fixture = Fixture::new(state);
    let id = plant(trees, &fixture).map_err(|error| format!("not planted: {error}"))?;
    let dir = project();
    let target = herma_model::ByteString::from(id.as_str());
    let mut restored = false;
    for request in [
        Request::List { dir: dir.clone() },
        Request::Diff { dir: dir.clone(), target: target.clone() },
        Request::RestoreFile { dir: dir.clone(), target: target.clone(), path: "a".into() },
        Request::Restore { dir, target, exact: true, force: true },
    ] {
        let asked = fixture.ask(&request)?;
        restored = matches!(asked.answer, herma_model::Answer::Restored(_));
    }
    let calls = fixture.disk.calls();
    // Whatever it finds: it ends.
    let _ = fixture.subject.manager().verify(&mut |_, _| {});
    match fixture.disk.calls() - calls {
        calls if calls > CALLS_MAX => Err(format!("verify: {calls} calls to the disk")),
        _ => Ok(restored.into()),
    }
}

fn plant(trees: &Trees, fixture: &Fixture) -> io::Result<String> {
    let outward = write_object(fixture, "blob", b"../../outside/secret.txt")?;
    let text = write_object(fixture, "blob", b"planted\n")?;
    let mut ids: Vec<[u8; 20]> = Vec::new();
    for tree in trees {
        let mut bytes = Vec::new();
        for entry in tree {
            let id = match entry.child {
                Child::Outward => outward,
                Child::Text => text,
                Child::Missing => [0x42; 20],
                Child::Tree(back) => {
                    let index = ids.len().checked_sub(usize::from(back) + 1);
                    index.map_or(text, |index| ids[index])
                }
            };
            bytes.extend_from_slice(format!("{:o} ", entry.mode).as_bytes());
            bytes.extend_from_slice(&entry.name);
            bytes.push(0);
            bytes.extend_from_slice(&id);
        }
        ids.push(write_object(fixture, "tree", &bytes)?);
    }
    let tree = hexadecimal(&ids.pop().unwrap_or(text));
    let parent = fixture.ids.last().map(String::as_str).unwrap_or_default();
    plant_commit(fixture, commit_of(&tree, parent).as_bytes())
}

/// The text of a commit of a tree.
pub(super) fn commit_of(tree: &str, parent: &str) -> String {
    let author = "Planted <planted@localhost> 1773635760 +0000";
    format!("tree {tree}\nparent {parent}\nauthor {author}\ncommitter {author}\n\nplanted\n")
}

/// Stores the text of a commit as the newest checkpoint of the project, and returns its id.
pub(super) fn plant_commit(fixture: &Fixture, commit: &[u8]) -> io::Result<String> {
    let id = hexadecimal(&write_object(fixture, "commit", commit)?);
    let path = Path::new(BASE).join("store/refs/hermes").join(hash_of_project());
    fixture.disk.place(&path, format!("{id}\n").as_bytes());
    Ok(id)
}

/// Writes a loose object without checking its content.
pub(super) fn write_object(fixture: &Fixture, kind: &str, bytes: &[u8]) -> io::Result<[u8; 20]> {
    let object = [format!("{kind} {}\0", bytes.len()).as_bytes(), bytes].concat();
    let id: [u8; 20] = Sha1::digest(&object).into();
    let digits = hexadecimal(&id);
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&object)?;
    let path = Path::new(BASE).join("store/objects").join(&digits[..2]).join(&digits[2..]);
    fixture.disk.place(&path, &encoder.finish()?);
    Ok(id)
}
