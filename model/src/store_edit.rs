//! What happens to a checkpoint base behind the back of whoever keeps it: what the v1
//! left, what somebody put there, and damage.
//!
//! It ends at what is meant; how that comes onto a disk is for the harness to say.

use crate::bytes::ByteString;
use crate::object::Piece;
use serde::{Deserialize, Serialize};

/// How a file is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// It is gone.
    Removed,
    /// It holds nothing.
    Emptied,
    /// Its second half is gone.
    Halved,
    /// It holds something else.
    Garbled,
    /// One byte of it is another one.
    Flipped,
    /// A link to nothing stands in its place.
    Link,
    /// A fifo stands in its place.
    Fifo,
    /// A folder stands in its place.
    Folder,
}

impl Damage {
    /// All of them.
    pub const ALL: [Damage; 8] = [
        Damage::Removed,
        Damage::Emptied,
        Damage::Halved,
        Damage::Garbled,
        Damage::Flipped,
        Damage::Link,
        Damage::Fifo,
        Damage::Folder,
    ];
}

/// A file of the store that belongs to no project, and in which no object is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreFile {
    /// By which git recognizes a repository.
    Head,
    /// The settings of git.
    Config,
    /// Many refs in one file.
    PackedRefs,
    /// The commits at which histories end.
    Shallow,
    /// The estimated size of the store.
    Usage,
    /// The names that are not captured.
    Exclude,
    /// How contents are converted.
    Attributes,
    /// The parents of all commits, which git derives to be faster.
    CommitGraph,
    /// The order of the objects in a pack, which git derives to be faster.
    ReverseIndex,
}

impl StoreFile {
    /// All of them.
    pub const ALL: [StoreFile; 9] = [
        StoreFile::Head,
        StoreFile::Config,
        StoreFile::PackedRefs,
        StoreFile::Shallow,
        StoreFile::Usage,
        StoreFile::Exclude,
        StoreFile::Attributes,
        StoreFile::CommitGraph,
        StoreFile::ReverseIndex,
    ];
}

/// What a foreign folder in the base looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Likeness {
    /// A v1 archive by the begin of its name; what follows is no time.
    Name,
    /// A v1 archive by its whole name; no v1 repository is in it.
    Archive,
    /// A v1 repository, without the file that names its directory.
    Repository,
    /// What a removal that died leaves, by the begin of its name.
    Leftover,
}

/// One change of the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreEdit {
    /// A v1 repository stands in the base.
    Repository {
        /// What it is called there.
        name: String,
        /// The directory it keeps, relative to the world's root.
        project: ByteString,
        /// When it changed last, in seconds since the epoch.
        changed: i64,
    },
    /// An archive of such repositories stands there.
    Archive {
        /// What it is called.
        name: String,
        /// When it was made, in seconds since the epoch.
        made: i64,
    },
    /// Something stands there that is none of these.
    Stray {
        /// What it is called.
        name: String,
    },
    /// A folder stands there that is nobody's of ours, and only looks like it.
    Lookalike {
        /// What it is called.
        name: String,
        /// Like what.
        of: Likeness,
        /// When it changed last, in seconds since the epoch.
        changed: i64,
    },
    /// What is noted of a project is damaged.
    Metadata {
        /// The project.
        project: ByteString,
        /// How.
        damage: Damage,
    },
    /// The index of a project is damaged.
    Index {
        /// The project.
        project: ByteString,
        /// How.
        damage: Damage,
    },
    /// A piece of a checkpoint is damaged where it is stored: its own file, or the pack that it is in.
    Stored {
        /// The project.
        project: ByteString,
        /// The id of the checkpoint.
        id: String,
        /// Which piece of it.
        piece: Piece,
        /// How.
        damage: Damage,
    },
    /// What names the newest checkpoint of a project is damaged.
    Ref {
        /// The project.
        project: ByteString,
        /// How.
        damage: Damage,
    },
    /// A file of the store is damaged that belongs to no project.
    File {
        /// Which file.
        file: StoreFile,
        /// How.
        damage: Damage,
    },
    /// Somebody runs plain `git gc` in the store.
    Collected,
    /// The mark of the last sweep says something else.
    Marker {
        /// Seconds since the epoch; none for what is no time.
        says: Option<i64>,
    },
}
