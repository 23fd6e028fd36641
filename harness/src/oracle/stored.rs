//! What is found in a store, by whichever way it is read.

use herma_model::observation::Sizes;
use std::collections::BTreeMap;

/// One commit of the store as git prints it.
pub struct Commit {
    /// The tree it holds.
    pub tree: String,
    /// The commit before it, or nothing.
    pub parent: String,
    /// Whether it names a parent, stored or not.
    pub continues: bool,
    /// The name of its author.
    pub author: String,
    /// When it was committed, in seconds of Unix time.
    pub seconds: String,
    /// Whether it carries a signature.
    pub signed: bool,
}

impl Commit {
    /// Reads what git prints of a commit.
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

/// What a store holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The visible checkpoints of each project, by its hash, newest first.
    pub visible: BTreeMap<String, Vec<String>>,
    /// The size of each stored object on the disk, in bytes.
    pub sizes: Sizes,
    /// The most that each may take outside of a pack, in bytes.
    pub alone: Sizes,
}

/// Where each ref points, by its name.
pub type Refs = BTreeMap<String, String>;
