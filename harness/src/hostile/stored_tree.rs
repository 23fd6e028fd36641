//! Stored trees: anything a damaged or malicious store may hold as a checkpoint's content.
//!
//! Names that climb, repeat, hold slashes or name a repository; modes that git does not have; trees
//! that contain each other's entries over and over; links planted in the way of later paths.
//! Whatever it is, nothing panics, a refusal changes nothing, and nothing changes outside the
//! project or in the project's own repository.

use super::{Ground, escaped};
use crate::sandbox::Scratch;
use crate::subject::Subject;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use herma_model::Request;
use herma_model::answer::{Answer, Code};
use sha1::{Digest, Sha1};
use sha2::Sha256;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// What an entry of a tree leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// A blob with the text `../../outside/secret.txt`, which as a link leads out.
    Outward,
    /// A blob with some other text.
    Text,
    /// The tree before the one that this entry is in, counted back.
    Tree(u8),
    /// An object that is not there.
    Missing,
}

/// One entry of a stored tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its mode, as git would print it.
    pub mode: u32,
    /// Its name, which may be invalid.
    pub name: Vec<u8>,
    /// What it leads to.
    pub child: Child,
}

/// Trees, each able to contain those before it; the last is the checkpoint's.
pub type Trees = Vec<Vec<Entry>>;

/// Names that do harm, or might.
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

/// Reads trees from bytes, as a fuzzer makes them: every input is valid.
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
        // A NUL would end the name; the tree would only be cut short there.
        let name = name.into_iter().filter(|byte| *byte != 0).collect();
        let mode = MODES.get(usize::from(mode)).copied().unwrap_or(u32::from(mode) << 8);
        if let Some(tree) = trees.last_mut() {
            tree.push(Entry { mode, name, child });
        }
    }
    trees
}

/// Stores the trees as the newest checkpoint of a project and judges what the core makes of it.
///
/// # Errors
/// What went wrong, as a text.
pub fn judge(trees: &Trees, scratch: &Scratch) -> Result<(), String> {
    let mut ground = Ground::new(scratch).map_err(|error| format!("no sandbox: {error}"))?;
    let store = ground.sandbox.store();
    let id = plant(&store, trees, &ground).map_err(|error| format!("not planted: {error}"))?;
    let dir = ground.project();
    let target = herma_model::ByteString::from(id.as_str());
    for request in [
        Request::List { dir: dir.clone() },
        Request::Diff { dir: dir.clone(), target: target.clone() },
        Request::RestoreFile { dir: dir.clone(), target: target.clone(), path: "a".into() },
        Request::Restore { dir, target, exact: true, force: true },
    ] {
        let failed = |why: String| Err(format!("{request:?}: {why}"));
        let before = ground.look().map_err(|error| error.to_string())?;
        let answer = ground.subject.ask(&request);
        let after = ground.look().map_err(|error| error.to_string())?;
        if let Some(path) = escaped(&before, &after) {
            return failed(format!("{path} changed"));
        }
        match answer {
            Answer::Crashed(why) => return failed(format!("crashed: {why}")),
            Answer::Refused { code: Code::Internal, message, .. } => {
                return failed(format!("refused as an internal error: {message}"));
            }
            Answer::Refused { message, .. } if before.files != after.files => {
                return failed(format!("refused ({message}), but files changed"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn plant(store: &Path, trees: &Trees, ground: &Ground) -> io::Result<String> {
    let outward = write_object(store, "blob", b"../../outside/secret.txt")?;
    let text = write_object(store, "blob", b"planted\n")?;
    let mut ids: Vec<[u8; 20]> = Vec::new();
    for tree in trees {
        let mut bytes = Vec::new();
        for entry in tree {
            let id = match entry.child {
                Child::Outward => outward,
                Child::Text => text,
                Child::Missing => [0x42; 20],
                Child::Tree(back) => {
                    let place = ids.len().checked_sub(usize::from(back) + 1);
                    place.map_or(text, |place| ids[place])
                }
            };
            bytes.extend_from_slice(format!("{:o} ", entry.mode).as_bytes());
            bytes.extend_from_slice(&entry.name);
            bytes.push(0);
            bytes.extend_from_slice(&id);
        }
        ids.push(write_object(store, "tree", &bytes)?);
    }
    let tree = hexadecimal(&ids.pop().unwrap_or(text));
    let parent = ground.ids.last().map(|id| format!("parent {id}\n")).unwrap_or_default();
    let author = "Planted <planted@localhost> 1773635760 +0000";
    let commit = format!("tree {tree}\n{parent}author {author}\ncommitter {author}\n\nplanted\n");
    let id = hexadecimal(&write_object(store, "commit", commit.as_bytes())?);
    let digest = Sha256::digest(&ground.project()[..]);
    let hash = hexadecimal(&digest[..8]);
    fs::write(store.join("refs/hermes").join(hash), format!("{id}\n"))?;
    Ok(id)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a loose object without any check that it makes sense.
fn write_object(store: &Path, kind: &str, bytes: &[u8]) -> io::Result<[u8; 20]> {
    let whole = [format!("{kind} {}\0", bytes.len()).as_bytes(), bytes].concat();
    let id: [u8; 20] = Sha1::digest(&whole).into();
    let digits = hexadecimal(&id);
    let folder = store.join("objects").join(&digits[..2]);
    fs::create_dir_all(&folder)?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&whole)?;
    let path = folder.join(&digits[2..]);
    if !path.exists() {
        fs::write(path, encoder.finish()?)?;
    }
    Ok(id)
}
