//! Changes of a checkpoint base (the folder that contains the store) that no request makes: leftovers of the v1
//! layout, third-party files and damage.
//!
//! The module describes the changes only; the harness makes them on a disk.

use crate::bytes::ByteString;
use crate::object::Piece;
use serde::{Deserialize, Serialize};

/// The way in which a file is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// It is removed.
    Removed,
    /// It is truncated to zero bytes.
    Emptied,
    /// Its second half is cut off.
    Halved,
    /// Its content is replaced.
    Garbled,
    /// One byte is changed.
    Flipped,
    /// It is replaced by a dangling link.
    Link,
    /// It is replaced by a fifo.
    Fifo,
    /// It is replaced by a folder.
    Folder,
}

impl Damage {
    /// Every damage.
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
    /// The file by which git recognizes a repository.
    Head,
    /// The settings of git.
    Config,
    /// The packed refs.
    PackedRefs,
    /// The commits at which histories end.
    Shallow,
    /// The estimated size of the store.
    Usage,
    /// The patterns of paths that are not captured.
    Exclude,
    /// The rules by which content is converted.
    Attributes,
    /// The parents of all commits, a cache that git derives.
    CommitGraph,
    /// The order of the objects in a pack, a cache that git derives.
    ReverseIndex,
}

impl StoreFile {
    /// Every file of a store.
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

/// What a third-party folder in the base looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Likeness {
    /// A v1 archive by the prefix of its name; the rest is not a time.
    Name,
    /// A v1 archive by its complete name, without a v1 repository in it.
    Archive,
    /// A v1 repository, without the file that names its directory.
    Repository,
    /// The leftover of an interrupted removal, by the prefix of its name.
    Leftover,
}

/// One change of the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreEdit {
    /// Adds a v1 repository.
    Repository {
        /// Its name in the base.
        name: String,
        /// The directory it keeps, relative to the world's root.
        project: ByteString,
        /// When it last changed, in seconds since the epoch.
        changed: i64,
    },
    /// Adds an archive of v1 repositories.
    Archive {
        /// Its name.
        name: String,
        /// When it was made, in seconds since the epoch.
        made: i64,
    },
    /// Adds a file that is neither.
    Stray {
        /// Its name.
        name: String,
    },
    /// Adds an unrelated folder that looks like a part of the store.
    Lookalike {
        /// Its name.
        name: String,
        /// What it looks like.
        of: Likeness,
        /// When it last changed, in seconds since the epoch.
        changed: i64,
    },
    /// Damages the metadata of a project.
    Metadata {
        /// The project.
        project: ByteString,
        /// The damage.
        damage: Damage,
    },
    /// Damages the index of a project.
    Index {
        /// The project.
        project: ByteString,
        /// The damage.
        damage: Damage,
    },
    /// Damages a piece of a checkpoint where it is stored: in its own file, or in its pack.
    Stored {
        /// The project.
        project: ByteString,
        /// The id of the checkpoint.
        id: String,
        /// The piece.
        piece: Piece,
        /// The damage.
        damage: Damage,
    },
    /// Damages the ref of a project's newest checkpoint.
    Ref {
        /// The project.
        project: ByteString,
        /// The damage.
        damage: Damage,
    },
    /// Damages a file of the store that belongs to no project.
    File {
        /// The file.
        file: StoreFile,
        /// The damage.
        damage: Damage,
    },
    /// Damages a file of a store of which only the folder is known.
    AnyFile {
        /// The part of the files, sorted by their paths, at whose beginning it is: of 16, from 0.
        part: u8,
        /// The damage.
        damage: Damage,
    },
    /// Runs plain `git gc` in the store.
    Collected,
    /// Rewrites the marker of the last sweep.
    Marker {
        /// The new time, in seconds since the epoch; `None` for content that is not a time.
        says: Option<i64>,
    },
}
