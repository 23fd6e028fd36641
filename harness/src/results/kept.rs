//! The folder that keeps failing histories: one file for each, which the next run repeats first.

use super::RecordError;
use crate::cases;
use crate::history::History;
use std::io;
use std::path::{Path, PathBuf};

/// The name of the file that keeps a history with this description.
pub fn file_name(description: &str) -> String {
    let description = description.to_lowercase();
    let words: Vec<&str> = description
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    format!("{}.yaml", words.join("-"))
}

/// The failing histories of earlier runs, by name.
///
/// # Errors
/// The folder or a file in it cannot be read.
pub fn kept_histories(folder: &Path) -> Result<Vec<(String, History)>, RecordError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RecordError::Folder(folder.to_owned(), error)),
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let load = |path: PathBuf| Ok((path.display().to_string(), cases::load_history(&path)?));
    files.into_iter().map(load).collect()
}
