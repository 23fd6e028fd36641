//! Plain git as a program that answers queries about one store; the answers are judged elsewhere.
//!
//! Git runs with an empty environment, so that neither the user's nor the sandbox's configuration
//! applies.

use super::loose;
use super::pre_restore;
use super::stored::{Commit, Refs, StoreContents};
use crate::sandbox::{AcceptedStores, git_alone};
use herma_model::observation::{Contents, Sizes};
use herma_model::store::HISTORIES;
use herma_model::{ByteString, Entry, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Bytes of the empty tree in a pack: a type byte and an empty compressed stream.
const EMPTY_TREE_PACKED: u64 = 9;

/// The option with which a check reads commits and trees alone.
pub const LINKS_ONLY: &str = "--connectivity-only";

/// The largest size of a loose object with so many bytes of content: incompressible content grows by a
/// few bytes per block.
fn loose_size_max(bytes: u64) -> u64 {
    bytes + bytes / 1000 + 64
}

/// Plain git on one store.
pub struct Git {
    store: PathBuf,
    accepted_stores: AcceptedStores,
}

impl Git {
    /// Git on the store at that path.
    pub fn on(store: PathBuf, accepted_stores: AcceptedStores) -> Self {
        Git { store, accepted_stores }
    }

    /// The store's folder.
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// The contents of the store, if it exists. Git itself is only run if plain files do not show the
    /// contents, or if git may not accept them as a repository.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn contents(&self, exists: bool) -> io::Result<StoreContents> {
        if !exists {
            return Ok(StoreContents::default());
        }
        if !self.is_plain() {
            let _ = self.listed_refs()?;
        }
        let plain = self.is_plain().then(|| loose::read(&self.store)).flatten();
        if let Some(plain) = plain {
            return Ok(plain);
        }
        let visible = self.visible()?;
        let (sizes, loose_sizes_max) = self.sizes()?;
        Ok(StoreContents { visible, sizes, loose_sizes_max })
    }

    /// The target of each ref, by its name; or the error message of git.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn refs(&self) -> io::Result<Result<Refs, String>> {
        let plain = self.is_plain().then(|| loose::refs(&self.store)).flatten();
        plain.map_or_else(|| self.listed_refs(), |refs| Ok(Ok(refs)))
    }

    /// As [`Git::refs`], but always listed by git.
    pub(super) fn listed_refs(&self) -> io::Result<Result<Refs, String>> {
        let listed = self.run(&["for-each-ref", "--format=%(refname) %(objectname)"])?;
        if !listed.status.success() {
            return Ok(Err(String::from_utf8_lossy(&listed.stderr).into_owned()));
        }
        if let Some(deciding) = loose::deciding(&self.store) {
            self.accepted_stores.add(deciding);
        }
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let refs = text.lines().filter_map(|line| line.split_once(' '));
        Ok(Ok(refs.map(|(name, id)| (name.to_owned(), id.to_owned())).collect()))
    }

    /// Whether git is known to accept a store with this head and configuration as a repository.
    fn is_plain(&self) -> bool {
        loose::deciding(&self.store).is_some_and(|deciding| self.accepted_stores.has(&deciding))
    }

    /// The id of the tree that a commit holds, if there is such a commit.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn tree_of(&self, id: &str) -> io::Result<Option<String>> {
        if let Some(commit) = loose::commit(&self.store.join("objects"), id) {
            let text = String::from_utf8_lossy(&commit).into_owned();
            return Ok(text
                .strip_prefix("tree ")
                .and_then(|rest| rest.get(..40))
                .map(str::to_owned));
        }
        let found = self.run(&["rev-parse", "--verify", "--quiet", &format!("{id}^{{tree}}")])?;
        let text = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        Ok(Some(text).filter(|_| found.status.success()))
    }

    /// Runs git with these arguments.
    ///
    /// # Errors
    /// Git is missing.
    pub fn run(&self, arguments: &[&str]) -> io::Result<Output> {
        self.command(arguments).output()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = git_alone();
        command.arg("--git-dir").arg(&self.store).args(arguments);
        command
    }

    /// The standard output of git with these arguments.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn text(&self, arguments: &[&str]) -> io::Result<String> {
        let output = self.run(arguments)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The visible checkpoints of each project, by its hash, newest first.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn visible(&self) -> io::Result<BTreeMap<String, Vec<String>>> {
        let lines = self.text(&["rev-list", "--ignore-missing", "--all", "--parents"])?;
        let parents: BTreeMap<&str, Option<&str>> = lines
            .lines()
            .filter_map(|line| {
                let mut ids = line.split(' ');
                Some((ids.next()?, ids.next()))
            })
            .collect();
        let refs = self.listed_refs()?.unwrap_or_default();
        let mut visible = BTreeMap::new();
        for (name, tip) in &refs {
            let Some(hash) = name.strip_prefix(HISTORIES) else { continue };
            let mut next = Some(tip.as_str());
            let mut ids = Vec::new();
            while let Some(id) = next.filter(|id| parents.contains_key(id)) {
                ids.push(id.to_owned());
                next = parents[id];
            }
            visible.insert(hash.to_owned(), ids);
        }
        pre_restore::insert(&mut visible, &refs);
        Ok(visible)
    }

    /// The path that an object has if it is loose.
    fn loose_path(&self, id: &str) -> PathBuf {
        let (folder, name) = id.split_at(2);
        self.store.join("objects").join(folder).join(name)
    }

    /// Runs a check of the whole store.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn check(&self, options: &[&str]) -> io::Result<Output> {
        let caches = ["info/commit-graph", "info/commit-graphs", "pack/multi-pack-index"];
        // Git starts two more processes to verify these files, even if they do not exist.
        let has_any = caches.iter().any(|name| self.store.join("objects").join(name).exists());
        let without = ["-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false"];
        let settings = if has_any { &[][..] } else { &without };
        self.run(&[settings, &["fsck", "--no-progress"], options].concat())
    }

    /// Every unreachable object in a store with these contents.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn unreachable(&self, contents: &Contents) -> io::Result<Vec<String>> {
        if contents.visible.is_empty() && self.text(&["for-each-ref"])?.is_empty() {
            // Without any ref git reports nothing as unreachable.
            return Ok(contents.sizes.keys().cloned().collect());
        }
        let output = self.check(&["--unreachable", "--no-reflogs", LINKS_ONLY])?;
        let found = String::from_utf8_lossy(&output.stdout);
        let unreachable = found.lines().filter(|line| line.starts_with("unreachable "));
        Ok(unreachable.map(str::to_owned).collect())
    }

    /// The size of each stored object, and its largest size as a loose object, in bytes.
    pub(super) fn sizes(&self) -> io::Result<(Sizes, Sizes)> {
        let format = "--batch-check=%(objectname) %(objectsize:disk) %(objectsize)";
        let lines = self.text(&["cat-file", "--batch-all-objects", "--unordered", format])?;
        let size = |line: &str| {
            let mut words = line.split(' ');
            let id = words.next()?;
            let stored = words.next()?.parse::<u64>().ok()?;
            let uncompressed = words.next()?.parse::<u64>().ok()?;
            let loose = self.loose_path(id).metadata().map(|file| file.size());
            // In a pack it may be a small delta against another object, which does not bound its size
            // as a loose object.
            let loose_max = *loose.as_ref().unwrap_or(&loose_size_max(uncompressed));
            // The empty tree is built into git, which reports its size as 0.
            let size = if stored == 0 { loose.unwrap_or(EMPTY_TREE_PACKED) } else { stored };
            Some(((id.to_owned(), size), (id.to_owned(), loose_max)))
        };
        Ok(lines.lines().filter_map(size).unzip())
    }

    /// Every commit reachable from a ref, by its id. Git itself is only run if a `visible` commit is not
    /// loose.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn commits(
        &self,
        visible: &BTreeMap<String, Vec<String>>,
    ) -> io::Result<BTreeMap<String, Commit>> {
        let plain =
            self.is_plain().then(|| loose::commits(&self.store, visible.values().flatten()));
        if let Some(commits) = plain.flatten() {
            return Ok(commits);
        }
        let text = self.text(&["rev-list", "--all", "--header"])?;
        let records = text.split('\0').filter_map(|record| record.split_once('\n'));
        Ok(records.map(|(id, text)| (id.to_owned(), Commit::parse(text))).collect())
    }

    /// The entries of a tree; `contents` are those of its blobs.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn tree(&self, id: &str, contents: &mut BlobContents) -> io::Result<Tree> {
        let output = self.run(&["ls-tree", "-r", "-z", "--full-tree", id])?;
        let listed: Vec<_> = output.stdout.split(|byte| *byte == 0).filter_map(listed).collect();
        self.read_blobs(listed.iter().map(|(_, _, blob)| blob), contents)?;
        let mut found = Tree::default();
        for (path, mode, blob) in listed {
            // Only blobs have bytes.
            let content = contents.get(&blob).cloned().unwrap_or_default();
            let entry = match mode.as_str() {
                "120000" => Entry::Link { target: content },
                mode => Entry::File { content, executable: mode == "100755" },
            };
            found.insert(path, entry);
        }
        Ok(found)
    }

    /// Adds those of the blobs that are not in `contents` and can be read. One process of git reads them all.
    fn read_blobs<'a>(
        &self,
        blobs: impl Iterator<Item = &'a String>,
        contents: &mut BlobContents,
    ) -> io::Result<()> {
        let missing: BTreeSet<&String> =
            blobs.filter(|blob| !contents.contains_key(*blob)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        // The names are in a file: with two pipes, git and this process could wait for each other.
        let mut names = tempfile::tempfile()?;
        missing.iter().try_for_each(|blob| writeln!(names, "{blob}"))?;
        names.rewind()?;
        let mut git = self.command(&["cat-file", "--batch", "--buffer"]);
        let output = git.stdin(names).output()?.stdout;
        let mut rest = output.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            rest = &rest[end + 1..];
            // "id kind size", or "id missing" without any content.
            let words: Vec<&str> = head.split(' ').collect();
            let [id, kind, size] = words[..] else { continue };
            let size = size.parse().unwrap_or(usize::MAX).min(rest.len());
            if kind == "blob" {
                contents.insert(id.to_owned(), ByteString::from(rest[..size].to_vec()));
            }
            rest = rest.get(size + 1..).unwrap_or_default();
        }
        Ok(())
    }
}

/// The content of each blob, by its id.
pub type BlobContents = BTreeMap<String, ByteString>;

/// The path, mode and id of an entry as `git ls-tree -z` prints it.
fn listed(record: &[u8]) -> Option<(ByteString, String, String)> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    let head = String::from_utf8_lossy(&record[..tab]).into_owned();
    let mut words = head.split(' ');
    let mode = words.next()?.to_owned();
    Some((ByteString::from(&record[tab + 1..]), mode, words.nth(1)?.to_owned()))
}
