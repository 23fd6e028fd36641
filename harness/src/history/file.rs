//! Histories as YAML files. Reading reports the line of an error.

use super::{History, reading};
use std::path::{Path, PathBuf};

/// Why a history could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file cannot be read.
    #[error("cannot read the history {path:?}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write the history {path:?}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The text is not a valid history.
    #[error("{path:?} is no history: {why}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// The error, with its position.
        why: String,
    },
}

/// The history as a YAML document.
pub fn to_yaml(history: &History) -> String {
    serde_saphyr::to_string(history).expect("a history holds only what YAML can say")
}

/// Reads a history from a YAML document; `path` is its origin in messages.
///
/// # Errors
/// [`HistoryError::Parse`].
///
/// ```
/// use herma_harness::history::file::{from_yaml, to_yaml};
///
/// let text = "settings: {max_snapshots: 3}
/// operations:
/// - write: {path: work/alpha/a, content: one}
/// - link: {path: work/alpha/to-a, target: $SANDBOX/work/alpha/a}
/// - checkpoint: {dir: work/alpha, reason: before patch}
/// - restore: {dir: work/alpha, target: {number: 1}, exact: true}
/// ";
/// let history = from_yaml(text, "here".as_ref())?;
/// assert_eq!(from_yaml(&to_yaml(&history), "there".as_ref())?, history);
/// # Ok::<(), herma_harness::history::file::HistoryError>(())
/// ```
pub fn from_yaml(text: &str, path: &Path) -> Result<History, HistoryError> {
    let read: Result<History, String> = reading::read(text);
    let inside = read.and_then(|history| history.stays_inside().map(|()| history));
    inside.map_err(|why| HistoryError::Parse { path: path.to_owned(), why })
}

/// Reads the text of a history file.
///
/// # Errors
/// [`HistoryError::Read`].
pub fn read(path: &Path) -> Result<String, HistoryError> {
    std::fs::read_to_string(path)
        .map_err(|source| HistoryError::Read { path: path.to_owned(), source })
}

/// Writes a history to a file, after comment lines.
///
/// # Errors
/// [`HistoryError::Write`].
pub fn save(path: &Path, history: &History, comment: &str) -> Result<(), HistoryError> {
    let failed = |source| HistoryError::Write { path: path.to_owned(), source };
    let mut text: String = comment.lines().map(|line| format!("# {line}\n")).collect();
    text.push_str(&to_yaml(history));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)
}
