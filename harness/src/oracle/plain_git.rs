//! Plain git as a program that answers questions about one store; what the answers mean is judged
//! elsewhere.
//!
//! Git runs with an empty environment, so that neither the user's nor the sandbox's configuration
//! has a say in what it sees.

use crate::sandbox::git_alone;
use herma_model::ByteString;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Output;

/// Bytes of the empty tree in a pack: a byte that says what it is, and nothing, compressed.
const EMPTY_TREE_PACKED: u64 = 9;

/// One commit of the store as git prints it.
pub struct Commit {
    /// The tree it holds.
    pub tree: String,
    /// The commit before it, or nothing.
    pub parent: String,
    /// The name of its author.
    pub author: String,
    /// When it was committed, in seconds of Unix time.
    pub seconds: String,
    /// Whether it carries a signature.
    pub signed: bool,
}

/// Plain git on one store.
pub struct Git {
    /// Where it is.
    pub store: PathBuf,
}

impl Git {
    /// What git says to these arguments.
    ///
    /// # Errors
    /// Git is not there.
    pub fn run(&self, arguments: &[&str]) -> io::Result<Output> {
        let mut command = git_alone();
        command.arg("--git-dir").arg(&self.store).args(arguments);
        command.output()
    }

    /// What git prints.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn text(&self, arguments: &[&str]) -> io::Result<String> {
        let output = self.run(arguments)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The checkpoints that git sees of each project, by its hash, newest first.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn visible(&self) -> io::Result<BTreeMap<String, Vec<String>>> {
        let lines = self.text(&["rev-list", "--all", "--parents"])?;
        let parents: BTreeMap<&str, Option<&str>> = lines
            .lines()
            .filter_map(|line| {
                let mut ids = line.split(' ');
                Some((ids.next()?, ids.next()))
            })
            .collect();
        let refs = self.text(&["for-each-ref", "--format=%(refname) %(objectname)"])?;
        let mut visible = BTreeMap::new();
        for line in refs.lines() {
            let named = line.strip_prefix("refs/hermes/").and_then(|line| line.split_once(' '));
            let Some((hash, tip)) = named else { continue };
            let mut next = Some(tip);
            let mut ids = Vec::new();
            while let Some(id) = next.filter(|id| parents.contains_key(id)) {
                ids.push(id.to_owned());
                next = parents[id];
            }
            visible.insert(hash.to_owned(), ids);
        }
        Ok(visible)
    }

    /// Where an object is that has a file of its own.
    fn loose(&self, id: &str) -> PathBuf {
        let (folder, name) = id.split_at(2);
        self.store.join("objects").join(folder).join(name)
    }

    /// Every stored object that nothing needs.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn unreachable(&self) -> io::Result<Vec<String>> {
        if self.text(&["for-each-ref"])?.is_empty() {
            // Without any ref git does not say what it cannot reach.
            return Ok(self.sizes()?.into_keys().collect());
        }
        let found = self.text(&["fsck", "--unreachable", "--no-reflogs", "--no-progress"])?;
        let unreachable = found.lines().filter(|line| line.starts_with("unreachable "));
        Ok(unreachable.map(str::to_owned).collect())
    }

    /// The bytes that each stored object takes on the disk.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn sizes(&self) -> io::Result<BTreeMap<String, u64>> {
        let format = "--batch-check=%(objectname) %(objectsize:disk)";
        let lines = self.text(&["cat-file", "--batch-all-objects", "--unordered", format])?;
        let size = |line: &str| {
            let (id, size) = line.split_once(' ')?;
            // Git knows the empty tree by heart, and so says that it takes nothing.
            let loose = || self.loose(id).metadata().map(|file| file.size());
            let size = size.parse().ok()?;
            Some((
                id.to_owned(),
                if size == 0 { loose().unwrap_or(EMPTY_TREE_PACKED) } else { size },
            ))
        };
        Ok(lines.lines().filter_map(size).collect())
    }

    /// Every commit that a ref leads to, by its id.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn commits(&self) -> io::Result<BTreeMap<String, Commit>> {
        let text = self.text(&["rev-list", "--all", "--header"])?;
        let mut commits = BTreeMap::new();
        for record in text.split('\0') {
            let Some((id, rest)) = record.split_once('\n') else { continue };
            let headers = rest.split("\n\n").next().unwrap_or_default();
            let header = |name: &str| {
                headers.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default()
            };
            // "Name <address> seconds zone"
            let committer = header("committer ");
            let commit = Commit {
                tree: header("tree ").to_owned(),
                parent: header("parent ").to_owned(),
                author: header("author ").split(" <").next().unwrap_or_default().to_owned(),
                seconds: committer.rsplit(' ').nth(1).unwrap_or_default().to_owned(),
                signed: headers.lines().any(|line| line.starts_with("gpgsig")),
            };
            commits.insert(id.to_owned(), commit);
        }
        Ok(commits)
    }

    /// What a commit or tree holds, path by path: the mode and the blob of each.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn tree(&self, id: &str) -> io::Result<BTreeMap<ByteString, (String, String)>> {
        let output = self.run(&["ls-tree", "-r", "-z", "--full-tree", id])?;
        let mut found = BTreeMap::new();
        for record in output.stdout.split(|byte| *byte == 0) {
            let Some(tab) = record.iter().position(|byte| *byte == b'\t') else { continue };
            let head = String::from_utf8_lossy(&record[..tab]).into_owned();
            let mut words = head.split(' ');
            if let (Some(mode), _, Some(blob)) = (words.next(), words.next(), words.next()) {
                let path = ByteString::from(&record[tab + 1..]);
                found.insert(path, (mode.to_owned(), blob.to_owned()));
            }
        }
        Ok(found)
    }
}
