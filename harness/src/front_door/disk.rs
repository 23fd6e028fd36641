//! The disk, as the judge looks at it: the files of a project at one moment, and how they change while an operation
//! runs.

use super::story::FileTexts;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// How often the files are read while an operation runs.
const INTERVAL: Duration = Duration::from_millis(1);
/// How many different states are kept.
const STATES_MAX: usize = 1000;

/// The files below a folder, but for hidden entries: an agent may keep its own files there.
pub fn read_files(project: &Path) -> FileTexts {
    let mut files = FileTexts::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(folder) = pending.pop() {
        // A folder may vanish while it is read.
        for entry in fs::read_dir(project.join(&folder)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = folder.join(name);
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(path),
                _ => {
                    if let Ok(bytes) = fs::read(entry.path()) {
                        let text = String::from_utf8_lossy(&bytes).into_owned();
                        files.insert(path.display().to_string(), text);
                    }
                }
            }
        }
    }
    files
}

/// Writes these files into an empty folder.
///
/// # Errors
/// The folder cannot be written.
pub fn write_files(project: &Path, files: &FileTexts) -> std::io::Result<()> {
    files.iter().try_for_each(|(path, text)| write_file(project, path, text))
}

/// Writes one file, and the folders that it needs.
///
/// # Errors
/// The file cannot be written.
pub fn write_file(project: &Path, path: &str, text: &str) -> std::io::Result<()> {
    let path = project.join(path);
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, text)
}

/// Does the work, and returns the different states of the files meanwhile, in order.
pub fn watch<R>(project: &Path, work: impl FnOnce() -> R) -> (R, Vec<FileTexts>) {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut states: Vec<FileTexts> = Vec::new();
            while !is_done.load(Relaxed) {
                let files = read_files(project);
                if states.last() != Some(&files) && states.len() < STATES_MAX {
                    states.push(files);
                }
                thread::sleep(INTERVAL);
            }
            states
        });
        let result = work();
        is_done.store(true, Relaxed);
        (result, watcher.join().unwrap_or_default())
    })
}

/// The differences between two states, in words.
pub fn changes(before: &FileTexts, after: &FileTexts) -> Vec<String> {
    let shown = |text: &String| format!("{text:?}");
    let paths = before.keys().chain(after.keys().filter(|path| !before.contains_key(*path)));
    let change = |path: &String| match (before.get(path), after.get(path)) {
        (left, right) if left == right => None,
        (Some(left), Some(right)) => Some(format!("{path}: {} -> {}", shown(left), shown(right))),
        (Some(left), None) => Some(format!("{path}: {} -> removed", shown(left))),
        (None, right) => Some(format!("{path}: created, {}", right.map_or(String::new(), shown))),
    };
    paths.filter_map(change).collect()
}
