//! Plain git as a program that answers questions about one store; the answers are judged elsewhere.
//!
//! Git runs with an empty environment, so that neither the user's nor the sandbox's configuration
//! applies.

use super::loose;
use super::rollbacks;
use super::stored::{Commit, Found, Refs};
use crate::sandbox::{Understood, git_alone};
use herma_model::files::Content;
use herma_model::observation::{Contents, Sizes};
use herma_model::store::HISTORIES;
use herma_model::{ByteString, Entry, Tree};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Bytes of the empty tree in a pack: a type byte and an empty compressed stream.
const EMPTY_TREE_PACKED: u64 = 9;

/// The most that an object of so many bytes takes outside of a pack: what cannot be compressed grows
/// by a few bytes for each block of it.
fn alone_max(bytes: u64) -> u64 {
    bytes + bytes / 1000 + 64
}

/// Plain git on one store.
pub struct Git {
    store: PathBuf,
    understood: Understood,
}

impl Git {
    /// Git on the store at that path.
    pub fn on(store: PathBuf, understood: Understood) -> Self {
        Git { store, understood }
    }

    /// The store's folder.
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// What the store holds now, if it exists (`stands`). Git itself is only asked if plain files
    /// do not show it, or if it may not accept them as a repository.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn contents(&self, stands: bool) -> io::Result<Found> {
        if !stands {
            return Ok(Found::default());
        }
        if !self.is_plain() {
            let _ = self.listed_refs()?;
        }
        let plain = self.is_plain().then(|| loose::read(&self.store)).flatten();
        if let Some(plain) = plain {
            return Ok(plain);
        }
        let visible = self.visible()?;
        let (sizes, alone) = self.sizes()?;
        Ok(Found { visible, sizes, alone })
    }

    /// Where each ref points, by its name; or what git complains about.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn refs(&self) -> io::Result<Result<Refs, String>> {
        let plain = self.is_plain().then(|| loose::refs(&self.store)).flatten();
        plain.map_or_else(|| self.listed_refs(), |refs| Ok(Ok(refs)))
    }

    /// The same as listed by git itself.
    pub(super) fn listed_refs(&self) -> io::Result<Result<Refs, String>> {
        let listed = self.run(&["for-each-ref", "--format=%(refname) %(objectname)"])?;
        if !listed.status.success() {
            return Ok(Err(String::from_utf8_lossy(&listed.stderr).into_owned()));
        }
        if let Some(deciding) = loose::deciding(&self.store) {
            self.understood.add(deciding);
        }
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let refs = text.lines().filter_map(|line| line.split_once(' '));
        Ok(Ok(refs.map(|(name, id)| (name.to_owned(), id.to_owned())).collect()))
    }

    /// Whether git is known to accept a store with such a head and configuration as a repository.
    fn is_plain(&self) -> bool {
        loose::deciding(&self.store).is_some_and(|deciding| self.understood.has(&deciding))
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
    /// Git is not there.
    pub fn run(&self, arguments: &[&str]) -> io::Result<Output> {
        let mut command = git_alone();
        command.arg("--git-dir").arg(&self.store).args(arguments);
        command.output()
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
        rollbacks::insert(&mut visible, &refs);
        Ok(visible)
    }

    /// The path of the file of an object, if it has one of its own.
    fn loose(&self, id: &str) -> PathBuf {
        let (folder, name) = id.split_at(2);
        self.store.join("objects").join(folder).join(name)
    }

    /// Runs a check of the whole store.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn check(&self, options: &[&str]) -> io::Result<Output> {
        let speeds = ["info/commit-graph", "info/commit-graphs", "pack/multi-pack-index"];
        // Git starts two more processes to verify these, even if there are none.
        let has_any = speeds.iter().any(|name| self.store.join("objects").join(name).exists());
        let without = ["-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false"];
        let settings = if has_any { &[][..] } else { &without };
        self.run(&[settings, &["fsck", "--no-progress"], options].concat())
    }

    /// Every stored object that nothing needs, in a store with these contents.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn unreachable(&self, contents: &Contents) -> io::Result<Vec<String>> {
        if contents.visible.is_empty() && self.text(&["for-each-ref"])?.is_empty() {
            // Without any ref git reports nothing as unreachable.
            return Ok(contents.sizes.keys().cloned().collect());
        }
        let output = self.check(&["--unreachable", "--no-reflogs"])?;
        let found = String::from_utf8_lossy(&output.stdout);
        let unreachable = found.lines().filter(|line| line.starts_with("unreachable "));
        Ok(unreachable.map(str::to_owned).collect())
    }

    /// What each object takes, and the most that it may take outside of a pack, in bytes.
    pub(super) fn sizes(&self) -> io::Result<(Sizes, Sizes)> {
        let format = "--batch-check=%(objectname) %(objectsize:disk) %(objectsize)";
        let lines = self.text(&["cat-file", "--batch-all-objects", "--unordered", format])?;
        let size = |line: &str| {
            let mut words = line.split(' ');
            let id = words.next()?;
            let [size, whole] = [words.next()?.parse().ok()?, words.next()?.parse::<u64>().ok()?];
            let loose = self.loose(id).metadata().map(|file| file.size());
            // In a pack it may be a small difference to another one, which says nothing of what it
            // takes without that one.
            let alone = *loose.as_ref().unwrap_or(&alone_max(whole));
            // The empty tree is built into git, which reports its size as 0.
            let size = if size == 0 { loose.unwrap_or(EMPTY_TREE_PACKED) } else { size };
            Some(((id.to_owned(), size), (id.to_owned(), alone)))
        };
        Ok(lines.lines().filter_map(size).unzip())
    }

    /// Every commit that a ref leads to, by its id. Git itself is only asked if a `visible` one has
    /// no plain file.
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

    /// What a tree holds.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn tree(&self, id: &str) -> io::Result<Tree> {
        let output = self.run(&["ls-tree", "-r", "-z", "--full-tree", id])?;
        let mut found = Tree::new();
        for record in output.stdout.split(|byte| *byte == 0) {
            let Some(tab) = record.iter().position(|byte| *byte == b'\t') else { continue };
            let head = String::from_utf8_lossy(&record[..tab]).into_owned();
            let mut words = head.split(' ');
            if let (Some(mode), _, Some(blob)) = (words.next(), words.next(), words.next()) {
                // Only blobs have bytes.
                let content = Content::from(self.run(&["cat-file", "blob", blob])?.stdout);
                let entry = match mode {
                    "120000" => Entry::Link { target: content },
                    mode => Entry::File { content, executable: mode == "100755" },
                };
                found.insert(ByteString::from(&record[tab + 1..]), entry);
            }
        }
        Ok(found)
    }
}
