//! Observations of a store and around one request: facts without a verdict.
//!
//! An observer fills in the fields that it examined. A field that is `None` was not examined, and is not
//! judged.

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

/// The hard-linked files: for each name of such a file, its other names.
pub type Names = BTreeMap<ByteString, BTreeSet<ByteString>>;

/// What was observed around one request.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The request to the subject.
    pub request: Request,
    /// The subject's answer.
    pub answer: Answer,
    /// The files afterwards, without the base.
    pub files: Files,
    /// Files whose modification time changed, though their content did not.
    pub touched: Vec<ByteString>,
    /// Files with the same content but other metadata, and which: their inode, modification time or
    /// permissions.
    pub rewritten: BTreeMap<ByteString, &'static str>,
    /// The hard-linked files before and afterwards.
    pub names: (Names, Names),
    /// Paths of the base that changed, where none may.
    pub base_changes: Option<Vec<ByteString>>,
    /// What the store holds of the project's state before a restore.
    pub held: Option<Arc<Tree>>,
    /// The content of the base outside the store.
    pub base: Option<Base>,
    /// The objects of the store and their sizes.
    pub contents: Option<Contents>,
    /// The stored checkpoints.
    pub histories: Option<Histories>,
    /// The damaged objects that are not intact yet; `None` where no object was damaged before.
    pub lost: Option<BTreeSet<Object>>,
    /// The damaged files for which git still refuses the store after a checkpoint; `None` where no such
    /// file was damaged before.
    pub refused_files: Option<Vec<String>>,
    /// The rows that SQLite reads in each real database around a restore.
    pub databases: BTreeMap<ByteString, DatabaseRows>,
    /// The resource use of the subject's processes.
    pub measured: Option<Measured>,
}

/// The resource use of the processes started to answer one request, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Their peak private memory, in total.
    pub memory: u64,
    /// The bytes that they read.
    pub bytes_read: u64,
}

/// The rows that SQLite reads in the files of a database.
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
    /// It fails its integrity check, or cannot be opened.
    Broken(String),
}

/// The rows that SQLite reads in one database around a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DatabaseRows {
    /// In the files of the checkpoint.
    pub then: Rows,
    /// In the files before the restore.
    pub before: Rows,
    /// In the files after the restore.
    pub after: Rows,
}

impl Observation {
    /// An answer and the files after it; nothing else was examined.
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
            refused_files: None,
            databases: BTreeMap::new(),
            measured: None,
        }
    }

    /// The stored checkpoints, where they were examined and could be read.
    pub fn readable_histories(&self) -> Option<&Histories> {
        self.histories.as_ref().filter(|stored| stored.unreadable.is_none())
    }

    /// The projects that were protected before a tool ran, each with the id of the new checkpoint, if
    /// there is one.
    pub fn protected(&self) -> impl Iterator<Item = (&ByteString, Option<&String>)> {
        let projects = match &self.answer {
            Answer::Protected(projects) => &projects[..],
            _ => &[],
        };
        projects.iter().map(|protected| {
            match protected.taken.as_ref().map(|taken| &taken.outcome) {
                Some(CheckpointOutcome::Created { id }) => (&protected.project, Some(id)),
                _ => (&protected.project, None),
            }
        })
    }

    /// The id of the new checkpoint, if there is one.
    pub fn taken(&self) -> Option<&String> {
        match &self.answer {
            Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } => Some(id),
            Answer::Restored(restored) => restored.safety.as_ref(),
            _ => None,
        }
    }
}

/// The content of the base, as far as a history put it there or a subject moves it.
#[derive(Clone, Debug, Default)]
pub struct Base {
    /// Whether the store was made.
    pub in_use: bool,
    /// Whether anything exists at the path of the store.
    pub store_exists: bool,
    /// The locations of each v1 repository that a history added, by its name.
    pub repositories: BTreeMap<String, Vec<RepositoryLocation>>,
    /// Every archive.
    pub archives: BTreeSet<String>,
    /// Archives whose original content is missing or changed in part.
    pub damaged_archives: BTreeSet<String>,
    /// Whether the marker of the last sweep exists.
    pub marker: bool,
    /// The other added files that still exist.
    pub strays: BTreeSet<String>,
    /// The unrelated folders that look like a part of the store and are unchanged.
    pub lookalikes: BTreeSet<String>,
}

/// The location of a v1 repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepositoryLocation {
    /// The archive it is in; `None` where it is in the base itself.
    pub archive: Option<String>,
    /// Whether it is unchanged.
    pub is_intact: bool,
}

/// The objects of a store and their sizes.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The visible checkpoints of each project, by its hash, newest first.
    pub visible: BTreeMap<String, Vec<String>>,
    /// The current size of each object.
    pub sizes: Sizes,
    /// The largest size that each object ever had: its stored form may have changed since.
    pub sizes_max: Sizes,
    /// The objects that each known checkpoint needs, by its id.
    pub needs: BTreeMap<String, BTreeSet<String>>,
    /// Parts of the store that refer to a project, by its hash.
    pub traces: BTreeMap<String, Vec<String>>,
    /// Unreachable objects, where they were examined.
    pub unreachable: Option<Vec<String>>,
    /// Whether the files in the base take as many bytes as before, or more.
    pub no_smaller: bool,
}

/// The stored checkpoints.
#[derive(Clone, Debug, Default)]
pub struct Histories {
    /// The error of git where it cannot read the store.
    pub unreadable: Option<String>,
    /// The target of each ref, by its name.
    pub refs: BTreeMap<String, String>,
    /// The visible checkpoints of each project, by its hash, newest first.
    pub visible: BTreeMap<String, Vec<String>>,
    /// Checkpoints with a parent, whether or not the parent is stored.
    pub continued: BTreeSet<String>,
    /// Every checkpoint reachable from a ref, by its id.
    pub commits: BTreeMap<String, Commit>,
    /// The directory that is recorded for a project, by its hash.
    pub workdirs: BTreeMap<String, String>,
}

/// One checkpoint as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its content.
    pub tree: Arc<Tree>,
    /// Whether the tree is stored in git's canonical form.
    pub canonical: bool,
    /// The id of the checkpoint before it; empty where there is none.
    pub parent: String,
    /// The name of its author.
    pub author: String,
    /// When it was committed, in seconds of Unix time, as written.
    pub seconds: String,
    /// Whether it carries a signature.
    pub signed: bool,
}

/// The layout of a store on the disk.
#[derive(Clone, Debug, Default)]
pub struct StoreLayout {
    /// Whether it borrows objects from another repository.
    pub alternates: bool,
    /// A path that users other than its owner may access, with its mode.
    pub open: Option<String>,
    /// A link in the store.
    pub link: Option<String>,
    /// The content of `projects/<hash>.json`, by the hash.
    pub metadata: BTreeMap<String, Metadata>,
    /// The number of stored commits, visible or not.
    pub commits: usize,
    /// The complaint of `git fsck`.
    pub fsck: Option<String>,
}

/// The metadata of a project.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// The text of the file.
    pub text: String,
    /// The project's directory.
    pub workdir: Option<String>,
    /// Whether it records when the project was first and last used.
    pub has_times: bool,
}

/// Whether a path of the base is part of the stored data, not of the bookkeeping.
pub fn is_stored(path: &[u8]) -> bool {
    [&b"store/refs/"[..], b"store/objects/", b"store/packed-refs"]
        .iter()
        .any(|part| path.starts_with(part))
}
