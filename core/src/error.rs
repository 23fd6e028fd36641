//! The errors of this crate, one variant per reason, each with a stable code.

use crate::io_error::{is_absence, is_another_kind};
use std::io;
use std::path::{Path, PathBuf};

/// The result of everything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The name of the folder that holds the store.
const BASE_FOLDER: &str = "checkpoints";

/// The stable code of an error, as the command prints it and a protocol sends it.
pub type Code = &'static str;

/// Why a request was refused. Where a message says so, nothing was changed; a request that failed on
/// the disk may be partly done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory is the file system's root.
    #[error(
        "/ is the root of the file system, which is never checkpointed; nothing was changed: name a \
         project directory"
    )]
    ScopeRoot,
    /// The directory is the home directory.
    #[error(
        "{0:?} is the home directory, which is never checkpointed; nothing was changed: name a project directory inside it"
    )]
    ScopeHome(PathBuf),
    /// The directory lies inside the checkpoint base.
    #[error(
        "{0:?} is inside the checkpoint store or the agent's own folder, which are never checkpointed; nothing was changed"
    )]
    ScopeBase(PathBuf),
    /// The directory holds more files than the limit.
    #[error(
        "{dir:?} has more than {limit} files to capture, the most that a checkpoint may contain; no \
         checkpoint was taken: exclude some in its .gitignore, or checkpoint a smaller directory"
    )]
    TooManyFiles {
        /// The project.
        dir: PathBuf,
        /// The limit, in files.
        limit: usize,
    },
    /// The directory does not exist.
    #[error("{0:?} does not exist; nothing was changed")]
    MissingDirectory(PathBuf),
    /// The path exists and is not a directory.
    #[error("{0:?} is not a directory; nothing was changed")]
    NotADirectory(PathBuf),
    /// The target is neither a number nor an id.
    #[error(
        "\"{0}\" is not a checkpoint; nothing was changed: give a number of the list, a label, or 4 to 64 \
         digits of an id"
    )]
    BadTarget(String),
    /// The target is well formed, but is not a checkpoint of this project.
    #[error(
        "this project has no checkpoint \"{0}\"; nothing was changed: `herma rollback` lists its checkpoints"
    )]
    UnknownCheckpoint(String),
    /// The short id stands for more than one checkpoint.
    #[error("\"{0}\" matches more than one checkpoint; nothing was changed: give more digits")]
    AmbiguousCheckpoint(String),
    /// The label stands for more than one checkpoint.
    #[error(
        "more than one checkpoint has the label \"{label}\" ({}); nothing was changed: give an id instead",
        .candidates.join(", ")
    )]
    AmbiguousLabel {
        /// The label.
        label: String,
        /// Their short ids, newest first.
        candidates: Vec<String>,
    },
    /// A checkpoint cannot have such a label.
    #[error("{label:?} cannot be a label: {why}; no checkpoint was taken")]
    BadLabel {
        /// The label.
        label: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A part of the agent's state cannot be captured or restored.
    #[error(
        "the agent's {part} cannot be used: {why}; nothing was changed: `herma doctor` names the file to fix or \
         to move away, and a restore of named files leaves the agent's state alone"
    )]
    BadState {
        /// The part.
        part: String,
        /// What is wrong.
        why: String,
    },
    /// A restore was interrupted before it began.
    #[error("interrupted before anything was restored; no file was changed")]
    Interrupted,
    /// A restore of the agent state failed, and was undone.
    #[error("{why}; {}", .left.as_deref().unwrap_or("the restore was undone: fix the cause and try again"))]
    RestoreUndone {
        /// What could not be done.
        why: String,
        /// What could not be undone either, if anything, as a clause for people.
        left: Option<String>,
    },
    /// The path is empty, absolute or leaves the project.
    #[error("\"{path}\" {why}; nothing was changed: give the path of a file of the project")]
    BadPath {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The checkpoint has no such file.
    #[error("the checkpoint has no file or folder \"{0}\"; nothing was changed")]
    NotInCheckpoint(String),
    /// The checkpoint left the file out.
    #[error("\"{path}\" was left out of the checkpoint ({why}); nothing was changed")]
    LeftOut {
        /// The path as given.
        path: String,
        /// Why it was left out.
        why: String,
    },
    /// Restoring the file would destroy something that no checkpoint holds.
    #[error("restoring \"{path}\" would destroy {what}; nothing was changed: move it away first")]
    WouldOverwrite {
        /// The path as given.
        path: String,
        /// What would be lost.
        what: &'static str,
    },
    /// There is no restore to undo or redo.
    #[error("{0}; nothing was changed")]
    NothingToUndo(&'static str),
    /// The history of a directory cannot be moved to another one.
    #[error("the checkpoints of {old:?} were not moved: {why}; nothing was changed")]
    CannotMove {
        /// The directory.
        old: PathBuf,
        /// The reason.
        why: String,
    },
    /// The restore would not do what the preview showed.
    #[error(
        "the project changed since the preview, or the preview was of another restore, so this one would not do \
         what was shown; nothing was restored: preview it again"
    )]
    ChangedSincePreview,
    /// The pre-restore checkpoint could not be taken.
    #[error(
        "the present files could not be saved first ({}), so nothing was restored: with --force it is \
         made anyway, and cannot be undone",
        .0.cause()
    )]
    NoPreRestoreCheckpoint(#[source] Box<Error>),
    /// The stored checkpoint cannot be read, or names paths that must not be written.
    #[error("checkpoint {id} is damaged: {why}; nothing was changed")]
    CorruptCheckpoint {
        /// Its full id.
        id: String,
        /// What is wrong.
        why: String,
    },
    /// An object of the store is missing or damaged.
    #[error("object {id} of the store {why}; nothing was changed")]
    DamagedObject {
        /// Its full id.
        id: String,
        /// What is wrong, to follow its name.
        why: String,
    },
    /// The store is not a store.
    #[error("the checkpoint store cannot be used, because of {path:?}: {why}; nothing was changed")]
    StoreUnusable {
        /// The path in question.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The configuration file is not YAML, or holds an invalid value.
    #[error("{path:?}, line {line}, column {column}: {why}; nothing was changed")]
    BadConfig {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The column in characters, from 1.
        column: u64,
        /// Which key has which value and what is allowed, or why it is not YAML.
        why: String,
    },
    /// The configuration cannot be read, so that an agent has no checkpoints.
    #[error("checkpoints are off, because the configuration cannot be read: {0}")]
    SwitchedOff(String),
    /// Another process holds the store.
    #[error("another process is using {0:?}; nothing was changed: try again")]
    Busy(PathBuf),
    /// A part could not be removed.
    #[error(
        "not everything could be removed ({}); the rest was removed: fix the cause and try again",
        .0.cause_with_path()
    )]
    PartlyCleared(#[source] Box<Error>),
    /// Input or output failed.
    #[error("{}; no checkpoint was lost: {}", io_failure(.action, .path, .source), io_advice(.source))]
    Io {
        /// What was being done.
        action: &'static str,
        /// To which path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn unusable(path: &Path, why: impl Into<String>) -> Self {
        Error::StoreUnusable { path: path.to_owned(), why: why.into() }
    }

    /// Whether it means that stored data is damaged or missing, and not that the data could not be
    /// read.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Error::CorruptCheckpoint { .. }
            | Error::DamagedObject { .. }
            | Error::StoreUnusable { .. } => true,
            Error::Io { source, .. } => is_another_kind(source),
            _ => false,
        }
    }

    /// Whether it means that the disk, or the quota of the user, is full.
    pub(crate) fn is_full_disk(&self) -> bool {
        matches!(self, Error::Io { source, .. } if io_code(source) == "no_space")
    }

    /// Whether it means that a file or a folder is missing.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Error::Io { source, .. } if is_absence(source))
    }

    /// Whether it means that a permission is missing.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }

    /// What went wrong, without the consequence for the request; for a remark on one path.
    pub(crate) fn cause(&self) -> String {
        match self {
            Error::Io { action, source, .. } => match no_space(source) {
                Some(why) => format!("the disk {why}"),
                None => format!("{action}: {source}"),
            },
            Error::CorruptCheckpoint { why, .. } => why.clone(),
            Error::DamagedObject { id, why } => format!("object {id} {why}"),
            Error::BadState { part, why } => format!("the {part}: {why}"),
            error => error.to_string(),
        }
    }

    /// As [`Self::cause`], with the path of an I/O error.
    fn cause_with_path(&self) -> String {
        match self {
            Error::Io { action, path, source } => format!("{action} {path:?}: {source}"),
            error => error.cause(),
        }
    }

    /// The stable code of this error.
    pub fn code(&self) -> Code {
        match self {
            Error::ScopeRoot => "scope_root",
            Error::ScopeHome(_) => "scope_home",
            Error::ScopeBase(_) => "scope_base",
            Error::TooManyFiles { .. } => "too_many_files",
            Error::MissingDirectory(_) => "missing_directory",
            Error::NotADirectory(_) => "not_a_directory",
            Error::BadTarget(_) => "bad_target",
            Error::UnknownCheckpoint(_) => "unknown_checkpoint",
            Error::AmbiguousCheckpoint(_) => "ambiguous_checkpoint",
            Error::AmbiguousLabel { .. } => "ambiguous_checkpoint",
            Error::BadLabel { .. } => "bad_label",
            Error::BadState { .. } => "bad_state",
            Error::RestoreUndone { .. } => "rolled_back_nothing",
            Error::Interrupted => "interrupted",
            Error::BadPath { .. } => "bad_path",
            Error::NotInCheckpoint(_) | Error::LeftOut { .. } => "not_in_checkpoint",
            Error::WouldOverwrite { .. } => "would_overwrite",
            Error::NothingToUndo(_) => "nothing_to_undo",
            Error::CannotMove { .. } => "cannot_move",
            Error::ChangedSincePreview => "changed_since_preview",
            Error::NoPreRestoreCheckpoint(_) => "no_safety_checkpoint",
            Error::CorruptCheckpoint { .. } | Error::DamagedObject { .. } => "corrupt_checkpoint",
            Error::StoreUnusable { .. } => "store_unusable",
            Error::BadConfig { .. } => "bad_config",
            Error::SwitchedOff(_) => "switched_off",
            Error::Busy(_) => "busy",
            Error::PartlyCleared(_) => "partly_cleared",
            Error::Io { source, .. } => io_code(source),
        }
    }
}

/// The stable code of an input or output error.
fn io_code(error: &io::Error) -> Code {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "no_space",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "permission",
        _ => "io",
    }
}

/// How a disk is called that has no more space for this user, if that is the error.
fn no_space(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::StorageFull => Some("is full"),
        io::ErrorKind::QuotaExceeded => Some("has no space left in your quota"),
        _ => None,
    }
}

/// What failed, for people: of a full disk whose it is, since the path is that of a temporary file.
fn io_failure(action: &str, path: &Path, source: &io::Error) -> String {
    let Some(why) = no_space(source) else {
        return format!("{action} {path:?} failed: {source}");
    };
    let is_base = |folder: &&Path| folder.file_name() == Some(BASE_FOLDER.as_ref());
    match path.ancestors().find(is_base) {
        Some(base) => format!("the disk of the checkpoint store {base:?} {why}"),
        None => format!("the disk of {path:?} {why}"),
    }
}

fn io_advice(source: &io::Error) -> &'static str {
    match no_space(source) {
        Some(_) => {
            "make room, for example with `herma checkpoints prune` or a smaller retention_days, and try again"
        }
        None => "fix the cause and try again",
    }
}

/// Adds to an I/O error what was being done to which path.
pub(crate) trait Context<T> {
    /// Converts an I/O error into an [`Error`].
    fn context(self, action: &'static str, path: &Path) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, action: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io { action, path: path.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_as_that_of_the_store_with_what_makes_room() {
        let told = |path: &str| {
            let full: io::Result<()> = Err(io::ErrorKind::StorageFull.into());
            full.context("writing", Path::new(path)).unwrap_err()
        };
        let of_store = told("/h/checkpoints/store/objects/tmp_obj_6c9a-0");
        assert_eq!(
            of_store.to_string(),
            "the disk of the checkpoint store \"/h/checkpoints\" is full; no checkpoint was lost: make room, \
             for example with `herma checkpoints prune` or a smaller retention_days, and try again"
        );
        assert_eq!(of_store.cause(), "the disk is full");
        let of_project = told("/p/a").to_string();
        assert!(of_project.starts_with("the disk of \"/p/a\" is full; "), "{of_project}");
    }

    #[test]
    fn io_code_distinguishes_a_full_disk_and_a_missing_permission() {
        use io::ErrorKind::{
            Other, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
        };
        let code = |kind: io::ErrorKind| io_code(&kind.into());
        assert_eq!([StorageFull, QuotaExceeded].map(code), ["no_space"; 2]);
        assert_eq!([PermissionDenied, ReadOnlyFilesystem].map(code), ["permission"; 2]);
        assert_eq!(code(Other), "io");
    }
}
