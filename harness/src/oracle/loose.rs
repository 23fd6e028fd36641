//! Reads a store from its plain files alone, for the many observations that need no git: git costs
//! a process for every question, and a history observes the store after every other request.
//!
//! Only the simple case is read: refs that are files, and commits and objects with a file each. For
//! anything else git is asked instead.

use super::rollbacks;
use super::stored::{Commit, Found, Refs};
use crate::git_objects::object_id;
use flate2::bufread::ZlibDecoder;
use herma_model::observation::Sizes;
use herma_model::store::{BESIDE, HISTORIES};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The files that decide how git reads a store, without being part of its content.
const DECIDING: [&str; 2] = ["HEAD", "config"];

/// Files and folders by which git may see other refs, objects or parents than the plain files show.
const ELSEWHERE: [&str; 3] = ["packed-refs", "info/grafts", "commondir"];

/// The bytes of the [`DECIDING`] files.
pub fn deciding(store: &Path) -> Option<Vec<Vec<u8>>> {
    let all: Option<Vec<Vec<u8>>> =
        DECIDING.iter().map(|name| fs::read(store.join(name)).ok()).collect();
    // A configuration that includes another file does not decide alone.
    all.filter(|all| {
        !all.iter().any(|text| text.windows(8).any(|word| word.eq_ignore_ascii_case(b"[include")))
    })
}

/// What the store holds; `None` if plain files do not show it.
pub fn read(store: &Path) -> Option<Found> {
    let refs = refs(store)?;
    let objects = store.join("objects");
    let sizes = sizes(&objects)?;
    let boundary = boundary(store)?;
    let mut visible = BTreeMap::new();
    for (name, tip) in &refs {
        if let Some(hash) = name.strip_prefix(HISTORIES) {
            visible.insert(hash.to_owned(), history(&objects, &boundary, tip.clone())?);
        }
    }
    rollbacks::insert(&mut visible, &refs);
    Some(Found { visible, alone: sizes.clone(), sizes })
}

/// Where each ref points, by its name; `None` if plain files do not show it.
pub fn refs(store: &Path) -> Option<Refs> {
    let head = fs::read(store.join("HEAD")).ok()?;
    let elsewhere = ELSEWHERE.iter().any(|name| store.join(name).exists());
    if !head.starts_with(b"ref: ") || elsewhere {
        return None;
    }
    let mut found = Refs::new();
    for (kind, is_folder) in names(&store.join("refs"))? {
        is_folder.then_some(())?;
        refs_below(store, &format!("refs/{kind}/"), &mut found)?;
    }
    Some(found)
}

/// The refs in a folder of them, which are those of histories and what stands beside them.
fn refs_below(store: &Path, folder: &str, found: &mut Refs) -> Option<()> {
    for (name, is_folder) in names(&store.join(folder))? {
        let path = format!("{folder}{name}");
        if is_folder && BESIDE.contains(&folder) {
            refs_below(store, &format!("{path}/"), found)?;
            continue;
        }
        let is_history = folder == HISTORIES && are_digits(&name, name.len());
        let is_beside =
            BESIDE.iter().any(|one| folder.starts_with(one)) && !name.ends_with(".lock");
        let text = fs::read_to_string(store.join(&path)).ok()?;
        let id = text.strip_suffix('\n').filter(|id| are_digits(id, 40))?;
        (is_history || is_beside).then_some(())?;
        found.insert(path, id.to_owned());
    }
    Some(())
}

/// The names in a folder, each with whether it is a folder itself.
fn names(folder: &Path) -> Option<Vec<(String, bool)>> {
    let entries = fs::read_dir(folder).ok()?.map(|entry| {
        let entry = entry.ok()?;
        Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?.is_dir()))
    });
    entries.collect()
}

fn are_digits(text: &str, count: usize) -> bool {
    text.len() == count && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The size of each object's file, in bytes.
fn sizes(objects: &Path) -> Option<Sizes> {
    let mut sizes = Sizes::new();
    for (folder, is_folder) in names(objects)? {
        let inside = objects.join(&folder);
        match &folder[..] {
            // Packs, the indexes over them, and other places to look for objects.
            "pack" | "info" => names(&inside)?.is_empty().then_some(())?,
            _ if is_folder && are_digits(&folder, 2) => {
                for entry in fs::read_dir(&inside).ok()? {
                    let entry = entry.ok()?;
                    let name = entry.file_name().into_string().ok()?;
                    let file = entry.metadata().ok()?;
                    (file.is_file() && are_digits(&name, 38)).then_some(())?;
                    sizes.insert(format!("{folder}{name}"), file.size());
                }
            }
            _ => return None,
        }
    }
    Some(sizes)
}

/// The commits that git treats as the oldest, whatever parent they name.
fn boundary(store: &Path) -> Option<BTreeSet<String>> {
    let path = store.join("shallow");
    let text = if path.exists() { fs::read_to_string(path).ok()? } else { String::new() };
    text.lines().map(|id| are_digits(id, 40).then(|| id.to_owned())).collect()
}

/// The checkpoints from `tip` to the oldest.
fn history(objects: &Path, boundary: &BTreeSet<String>, tip: String) -> Option<Vec<String>> {
    let mut ids = vec![tip];
    loop {
        let id = ids.last()?;
        let commit = commit(objects, id)?;
        let mut lines = commit.split(|byte| *byte == b'\n');
        lines.next().filter(|line| line.starts_with(b"tree "))?;
        let parent = lines.next()?.strip_prefix(b"parent ");
        let Some(parent) = parent.filter(|_| !boundary.contains(id)) else {
            return Some(ids);
        };
        let parent = std::str::from_utf8(parent).ok().filter(|id| are_digits(id, 40))?;
        ids.push(parent.to_owned());
    }
}

/// Every visible commit of a project; `None` if plain files do not show it.
pub fn commits<'a>(
    store: &Path,
    visible: impl Iterator<Item = &'a String>,
) -> Option<BTreeMap<String, Commit>> {
    let objects = store.join("objects");
    let parsed = visible.map(|id| {
        let text = String::from_utf8_lossy(&commit(&objects, id)?).into_owned();
        Some((id.clone(), Commit::parse(&text)))
    });
    parsed.collect()
}

/// The text of a commit, if its file is whole.
pub(super) fn commit(objects: &Path, id: &str) -> Option<Vec<u8>> {
    object(objects, id).filter(|(kind, _)| kind == "commit").map(|(_, commit)| commit)
}

/// Whether an object has a whole file of its own.
pub(super) fn is_whole(objects: &Path, id: &str) -> bool {
    object(objects, id).is_some()
}

/// The kind and the bytes of an object, if its file is whole.
fn object(objects: &Path, id: &str) -> Option<(String, Vec<u8>)> {
    let (folder, name) = id.split_at(2);
    let path = objects.join(folder).join(name);
    // Nobody waits for a fifo.
    fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let compressed = fs::read(path).ok()?;
    let mut bytes = Vec::new();
    let mut decoder = ZlibDecoder::new(&compressed[..]);
    decoder.read_to_end(&mut bytes).ok()?;
    let ends = decoder.total_in() == compressed.len() as u64;
    let zero = bytes.iter().position(|byte| *byte == 0)?;
    let content = bytes.split_off(zero + 1);
    let kind = String::from_utf8_lossy(bytes.split(|byte| *byte == b' ').next()?).into_owned();
    let is_header = bytes == format!("{kind} {}\0", content.len()).as_bytes();
    let whole = ends && is_header && object_id(&kind, &content).to_string() == id;
    whole.then_some((kind, content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::plain_git::Git;
    use crate::sandbox::Understood;

    /// A store with a history of two, and its newest commit.
    fn store() -> (tempfile::TempDir, Git, String) {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::on(folder.path().to_owned(), Understood::default());
        assert!(git.run(&["init", "--quiet", "--bare", "--template="]).unwrap().status.success());
        let tree = git.text(&["write-tree"]).unwrap();
        let author = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        let commit = |more: &[&str]| {
            let text = git.text(&[&author[..], &["commit-tree", "-m", "x"], more].concat());
            text.unwrap().trim().to_owned()
        };
        let first = commit(&[tree.trim()]);
        let second = commit(&["-p", &first, tree.trim()]);
        git.run(&["update-ref", "refs/hermes/0123456789abcdef", &second]).unwrap();
        (folder, git, second)
    }

    #[test]
    fn a_plain_store_is_read_as_git_reads_it() {
        let (folder, git, second) = store();
        let Found { visible, sizes, alone } = read(folder.path()).unwrap();
        assert_eq!(visible, git.visible().unwrap());
        assert_eq!(visible["0123456789abcdef"].len(), 2);
        assert_eq!(refs(folder.path()), git.listed_refs().unwrap().ok());
        assert_eq!((sizes, alone), git.sizes().unwrap());
        fs::write(folder.path().join("shallow"), format!("{second}\n")).unwrap();
        assert_eq!(read(folder.path()), git.contents(true).ok());
        assert_eq!(git.visible().unwrap()["0123456789abcdef"], [second]);
    }

    #[test]
    fn what_is_not_plainly_whole_is_left_to_git() {
        type Harm = fn(&Path, &Path) -> std::io::Result<()>;
        let harms: [Harm; 7] = [
            |store: &Path, commit: &Path| fs::write(store.join("HEAD"), commit.to_str().unwrap()),
            |_, commit| fs::remove_file(commit),
            |_, commit| {
                let halved = fs::read(commit)?;
                fs::remove_file(commit)?;
                fs::write(commit, &halved[..halved.len() / 2])
            },
            |store, _| fs::write(store.join("refs/hermes/0123456789abcdef"), ""),
            |store, _| fs::write(store.join("refs/heads/main"), ""),
            |store, _| fs::write(store.join("packed-refs"), ""),
            |store, _| fs::write(store.join("objects/pack/pack-0.idx"), ""),
        ];
        for harm in harms {
            let (folder, _, second) = store();
            assert!(read(folder.path()).is_some());
            let commit = folder.path().join("objects").join(&second[..2]).join(&second[2..]);
            harm(folder.path(), &commit).unwrap();
            assert!(read(folder.path()).is_none());
        }
    }
}
