//! Reads a store from its plain files alone, for the many observations that need no git: git costs
//! a process for every query, and a history observes the store after every other request.
//!
//! Only the simple case is read: refs that are files, and loose commits and objects. Everything else is
//! left to git.

use super::pre_restore;
use super::stored::{Commit, Refs, StoreContents};
use crate::git_objects::object_id;
use flate2::bufread::ZlibDecoder;
use herma_model::observation::Sizes;
use herma_model::store::{BESIDE, HISTORIES};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The files that decide how git reads a store, but are not part of its content.
const DECIDING: [&str; 2] = ["HEAD", "config"];

/// Files and folders through which git may find other refs, objects or parents than the plain files show.
const ELSEWHERE: [&str; 3] = ["packed-refs", "info/grafts", "commondir"];

/// The bytes of the [`DECIDING`] files.
pub fn deciding(store: &Path) -> Option<Vec<Vec<u8>>> {
    let contents: Option<Vec<Vec<u8>>> =
        DECIDING.iter().map(|name| fs::read(store.join(name)).ok()).collect();
    // A configuration that includes another file depends on that file, too.
    contents.filter(|contents| {
        !contents
            .iter()
            .any(|text| text.windows(8).any(|word| word.eq_ignore_ascii_case(b"[include")))
    })
}

/// The contents of the store; `None` if plain files do not show them.
pub fn read(store: &Path) -> Option<StoreContents> {
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
    pre_restore::insert(&mut visible, &refs);
    Some(StoreContents { visible, loose_sizes_max: sizes.clone(), sizes })
}

/// The target of each ref, by its name; `None` if plain files do not show it.
pub fn refs(store: &Path) -> Option<Refs> {
    let head = fs::read(store.join("HEAD")).ok()?;
    let has_other_refs = ELSEWHERE.iter().any(|name| store.join(name).exists());
    if !head.starts_with(b"ref: ") || has_other_refs {
        return None;
    }
    let mut found = Refs::new();
    for (kind, is_folder) in names(&store.join("refs"))? {
        is_folder.then_some(())?;
        refs_below(store, &format!("refs/{kind}/"), &mut found)?;
    }
    Some(found)
}

/// Adds the refs in a folder to `found`: those of histories, and those in the folders [`BESIDE`] them.
fn refs_below(store: &Path, folder: &str, found: &mut Refs) -> Option<()> {
    for (name, is_folder) in names(&store.join(folder))? {
        let path = format!("{folder}{name}");
        if is_folder && BESIDE.contains(&folder) {
            refs_below(store, &format!("{path}/"), found)?;
            continue;
        }
        let is_history = folder == HISTORIES && are_digits(&name, name.len());
        let is_beside =
            BESIDE.iter().any(|prefix| folder.starts_with(prefix)) && !name.ends_with(".lock");
        let text = fs::read_to_string(store.join(&path)).ok()?;
        let id = text.strip_suffix('\n').filter(|id| are_digits(id, 40))?;
        (is_history || is_beside).then_some(())?;
        found.insert(path, id.to_owned());
    }
    Some(())
}

/// The names in a folder, each with whether it is a folder.
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

/// The size of each loose object, in bytes.
fn sizes(objects: &Path) -> Option<Sizes> {
    let mut sizes = Sizes::new();
    for (folder, is_folder) in names(objects)? {
        let inside = objects.join(&folder);
        match &folder[..] {
            // Packs, their indexes, and other locations of objects.
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

/// The text of a loose commit, if its file is intact.
pub(super) fn commit(objects: &Path, id: &str) -> Option<Vec<u8>> {
    object(objects, id).filter(|(kind, _)| kind == "commit").map(|(_, commit)| commit)
}

/// Whether an object is stored loose and intact.
pub(super) fn is_intact(objects: &Path, id: &str) -> bool {
    object(objects, id).is_some()
}

/// The kind and the bytes of a loose object, if its file is intact.
fn object(objects: &Path, id: &str) -> Option<(String, Vec<u8>)> {
    let (folder, name) = id.split_at(2);
    let path = objects.join(folder).join(name);
    // Reading a fifo would block.
    fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let compressed = fs::read(path).ok()?;
    let mut bytes = Vec::new();
    let mut decoder = ZlibDecoder::new(&compressed[..]);
    decoder.read_to_end(&mut bytes).ok()?;
    let is_complete = decoder.total_in() == compressed.len() as u64;
    let zero = bytes.iter().position(|byte| *byte == 0)?;
    let content = bytes.split_off(zero + 1);
    let kind = String::from_utf8_lossy(bytes.split(|byte| *byte == b' ').next()?).into_owned();
    let is_header = bytes == format!("{kind} {}\0", content.len()).as_bytes();
    let is_intact = is_complete && is_header && object_id(&kind, &content).to_string() == id;
    is_intact.then_some((kind, content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::plain_git::Git;
    use crate::sandbox::AcceptedStores;

    /// A store with a history of two commits, and the newest commit.
    fn store() -> (tempfile::TempDir, Git, String) {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::on(folder.path().to_owned(), AcceptedStores::default());
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
    fn read_of_a_plain_store_returns_what_git_returns() {
        let (folder, git, second) = store();
        let StoreContents { visible, sizes, loose_sizes_max } = read(folder.path()).unwrap();
        assert_eq!(visible, git.visible().unwrap());
        assert_eq!(visible["0123456789abcdef"].len(), 2);
        assert_eq!(refs(folder.path()), git.listed_refs().unwrap().ok());
        assert_eq!((sizes, loose_sizes_max), git.sizes().unwrap());
        fs::write(folder.path().join("shallow"), format!("{second}\n")).unwrap();
        assert_eq!(read(folder.path()), git.contents(true).ok());
        assert_eq!(git.visible().unwrap()["0123456789abcdef"], [second]);
    }

    #[test]
    fn read_leaves_damaged_unusual_and_packed_stores_to_git() {
        type Damage = fn(&Path, &Path) -> std::io::Result<()>;
        let damages: [Damage; 7] = [
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
        for damage in damages {
            let (folder, _, second) = store();
            assert!(read(folder.path()).is_some());
            let commit = folder.path().join("objects").join(&second[..2]).join(&second[2..]);
            damage(folder.path(), &commit).unwrap();
            assert!(read(folder.path()).is_none());
        }
    }
}
