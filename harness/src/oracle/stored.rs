//! The contents of a store, independent of how they are read.

use herma_model::observation::Sizes;
use std::collections::BTreeMap;

/// A commit of the store as git prints it.
pub struct Commit {
    /// Its tree.
    pub tree: String,
    /// Its first parent, or the empty string.
    pub parent: String,
    /// Whether it names a parent, whether that is stored or not.
    pub continues: bool,
    /// The name of its author.
    pub author: String,
    /// When it was committed, in seconds of Unix time.
    pub seconds: String,
    /// Whether it carries a signature.
    pub signed: bool,
}

impl Commit {
    /// Parses what git prints of a commit.
    pub fn parse(text: &str) -> Self {
        let headers = text.split("\n\n").next().unwrap_or_default();
        let header = |name: &str| {
            headers.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default()
        };
        // "Name <address> seconds zone"
        let committer = header("committer ");
        Commit {
            tree: header("tree ").to_owned(),
            parent: header("parent ").to_owned(),
            continues: !header("parent ").is_empty(),
            author: header("author ").split(" <").next().unwrap_or_default().to_owned(),
            seconds: committer.rsplit(' ').nth(1).unwrap_or_default().to_owned(),
            signed: headers.lines().any(|line| line.starts_with("gpgsig")),
        }
    }
}

/// The contents of a store.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StoreContents {
    /// The visible checkpoints of each project, by its hash, newest first.
    pub visible: BTreeMap<String, Vec<String>>,
    /// The size of each stored object on the disk, in bytes.
    pub sizes: Sizes,
    /// The largest size that each object may have as a loose object, in bytes.
    pub loose_sizes_max: Sizes,
}

/// The target of each ref, by its name.
pub type Refs = BTreeMap<String, String>;
