//! What was seen around one request, and of a store as a whole: facts, with no opinion on them.
//!
//! Whoever observes fills in what it looked at; what is none was not looked at, and nothing is
//! judged by it.

use crate::answer::{Answer, CheckpointOutcome};
use crate::bytes::ByteString;
use crate::files::Files;
use crate::object::Object;
use crate::request::Request;
use crate::tree::Tree;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The bytes that each object takes on a disk, by its id.
pub type Sizes = BTreeMap<String, u64>;

/// Files that have several names, by each of them, with the others.
pub type Names = BTreeMap<ByteString, BTreeSet<ByteString>>;

/// What was seen around one request.
#[derive(Clone, Debug)]
pub struct Observation {
    /// What the subject was asked.
    pub request: Request,
    /// What it answered.
    pub answer: Answer,
    /// The files afterwards, without the base.
    pub files: Files,
    /// Files whose time of modification is another, though they are as they were.
    pub touched: Vec<ByteString>,
    /// Files that are as they were but for what a file system knows of them, and what that is: their
    /// inode, time of modification or permissions.
    pub rewritten: BTreeMap<ByteString, &'static str>,
    /// The files that had several names before, and those that have several afterwards.
    pub names: (Names, Names),
    /// Paths of the base that changed, where none may.
    pub base_changes: Option<Vec<ByteString>>,
    /// What the store holds of the project as it was before a restore.
    pub held: Option<Arc<Tree>>,
    /// What stands in the base beside the store.
    pub base: Option<Base>,
    /// What the store holds and what that takes.
    pub contents: Option<Contents>,
    /// What is stored as checkpoints.
    pub histories: Option<Histories>,
    /// What a history damaged and is not whole yet, where anything was not before.
    pub lost: Option<BTreeSet<Object>>,
    /// What SQLite reads in each real database around a restore.
    pub databases: BTreeMap<ByteString, DatabaseRows>,
    /// What its processes took.
    pub measured: Option<Measured>,
}

/// What the processes took that answered one request, started for it alone, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The most memory of their own, all together.
    pub memory: u64,
    /// What they read.
    pub bytes_read: u64,
}

/// What SQLite reads in the files of a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rows {
    /// There is no such database.
    Absent,
    /// It passes its integrity check.
    Read {
        /// How many rows it has.
        rows: u64,
        /// A digest of all of them.
        digest: String,
    },
    /// It does not, or cannot be opened.
    Broken(String),
}

/// What SQLite reads in one database around a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DatabaseRows {
    /// In what the checkpoint holds.
    pub then: Rows,
    /// In what was there before.
    pub before: Rows,
    /// In what is there now.
    pub after: Rows,
}

impl Observation {
    /// An answer and the files after it; nothing else was looked at.
    pub fn new(request: Request, answer: Answer, files: Files) -> Self {
        Observation {
            request,
            answer,
            files,
            touched: Vec::new(),
            rewritten: BTreeMap::new(),
            names: Default::default(),
            base_changes: None,
            held: None,
            base: None,
            contents: None,
            histories: None,
            lost: None,
            databases: BTreeMap::new(),
            measured: None,
        }
    }

    /// What is stored as checkpoints, where that was looked at and could be read.
    pub fn readable_histories(&self) -> Option<&Histories> {
        self.histories.as_ref().filter(|stored| stored.unreadable.is_none())
    }

    /// The projects of which something was done before a tool ran, each with the id of the checkpoint
    /// that was taken, if one was.
    pub fn protected(&self) -> impl Iterator<Item = (&ByteString, Option<&String>)> {
        let all = match &self.answer {
            Answer::Protected(all) => &all[..],
            _ => &[],
        };
        all.iter().map(|one| match one.taken.as_ref().map(|taken| &taken.outcome) {
            Some(CheckpointOutcome::Created { id }) => (&one.project, Some(id)),
            _ => (&one.project, None),
        })
    }

    /// The id of the checkpoint that was taken, if one was.
    pub fn taken(&self) -> Option<&String> {
        match &self.answer {
            Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } => Some(id),
            Answer::Restored(restored) => restored.safety.as_ref(),
            _ => None,
        }
    }
}

/// What stands in the base, as far as a history put it there or a subject moves it.
#[derive(Clone, Debug, Default)]
pub struct Base {
    /// Whether the store was made.
    pub in_use: bool,
    /// Whether anything stands where the store belongs.
    pub store_stands: bool,
    /// Where each v1 repository stands that was put there, by its name.
    pub repositories: BTreeMap<String, Vec<Place>>,
    /// Every archive that stands there.
    pub archives: BTreeSet<String>,
    /// Archives of which something is gone or changed that was put into them.
    pub spoiled_archives: BTreeSet<String>,
    /// Whether the mark of the last sweep stands there.
    pub marker: bool,
    /// What else was put there and still stands.
    pub strays: BTreeSet<String>,
    /// Folders that only look like something of the store, and still stand as they were.
    pub lookalikes: BTreeSet<String>,
}

/// Where a v1 repository stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The archive it is in; none where it stands in the base itself.
    pub archive: Option<String>,
    /// Whether it is as it was put there.
    pub whole: bool,
}

/// What a store holds, and what that takes.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The checkpoints that are seen of each project, by its hash, newest first.
    pub visible: BTreeMap<String, Vec<String>>,
    /// What each object takes now.
    pub sizes: Sizes,
    /// The most that each object ever took: one may be stored in another form by now.
    pub sizes_max: Sizes,
    /// The objects that each known checkpoint needs, by its id.
    pub needs: BTreeMap<String, BTreeSet<String>>,
    /// Parts of the store that speak of a project, by its hash.
    pub traces: BTreeMap<String, Vec<String>>,
    /// Objects that nothing needs, where that was asked.
    pub unreachable: Option<Vec<String>>,
    /// Whether the files in the base take as many bytes as before, or more.
    pub no_smaller: bool,
}

/// What is stored as checkpoints.
#[derive(Clone, Debug, Default)]
pub struct Histories {
    /// What git says where it reads nothing.
    pub unreadable: Option<String>,
    /// Where each ref points, by its name.
    pub refs: BTreeMap<String, String>,
    /// The checkpoints that are seen of each project, by its hash, newest first.
    pub visible: BTreeMap<String, Vec<String>>,
    /// Checkpoints that name one before them, whether or not that is stored.
    pub continued: BTreeSet<String>,
    /// Every checkpoint that a ref leads to, by its id.
    pub commits: BTreeMap<String, Commit>,
    /// The directory that is noted for a project, by its hash.
    pub workdirs: BTreeMap<String, String>,
}

/// One checkpoint as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// What it holds.
    pub tree: Arc<Tree>,
    /// Whether that is stored as git stores such a tree.
    pub canonical: bool,
    /// The checkpoint before it, or nothing.
    pub parent: String,
    /// The name of its author.
    pub author: String,
    /// When it was committed, in seconds of Unix time, as written.
    pub seconds: String,
    /// Whether it carries a signature.
    pub signed: bool,
}

/// How a store is laid out on the disk.
#[derive(Clone, Debug, Default)]
pub struct StoreLayout {
    /// Whether it borrows objects from another repository.
    pub alternates: bool,
    /// A path that others than its owner may use, with its mode.
    pub open: Option<String>,
    /// A link in it.
    pub link: Option<String>,
    /// What `projects/<hash>.json` says, by the hash.
    pub metadata: BTreeMap<String, Metadata>,
    /// How many commits are stored, seen or not.
    pub commits: usize,
    /// What `git fsck` complains about.
    pub fsck: Option<String>,
}

/// What is noted of a project.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// The text as it stands there.
    pub text: String,
    /// Its directory.
    pub workdir: Option<String>,
    /// Whether it says when the project was first and last used.
    pub has_times: bool,
}

/// Whether a path of the base is part of what is stored, not of what is noted about it.
pub fn is_stored(path: &[u8]) -> bool {
    [&b"store/refs/"[..], b"store/objects/", b"store/packed-refs"]
        .iter()
        .any(|part| path.starts_with(part))
}
