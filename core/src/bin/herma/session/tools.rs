//! The file tools of a session. They write files in the same way as the file tools of an agent.

use herma_core::triggers::patch::{self, FilePatch, Hunk};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Writes a file and the directories it needs.
pub fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, content)
}

/// Applies a patch to the files below a directory, completely or, except for disk errors, not at all.
/// Returns what was done.
pub fn apply_patch(directory: &Path, body: &[u8]) -> Result<Vec<String>, String> {
    let files = patch::read(body);
    if files.is_empty() {
        return Err("it contains no file".to_owned());
    }
    let mut done = Vec::new();
    let mut changes = Vec::new();
    for file in &files {
        changes.push(change(directory, file)?);
        done.push(match (&file.from, &file.to) {
            (Some(from), Some(to)) if from == to => format!("changed {}", shown(to)),
            (Some(from), Some(to)) => format!("moved {} to {}", shown(from), shown(to)),
            (None, Some(to)) => format!("created {}", shown(to)),
            (Some(from), None) => format!("removed {}", shown(from)),
            (None, None) => continue,
        });
    }
    for Change { written, removed } in changes {
        if let Some((path, content)) = written {
            write_file(&path, &content).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        if let Some(path) = removed {
            fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(done)
}

/// The effect of a patch on a single file.
struct Change {
    /// The path and the content to write.
    written: Option<(PathBuf, Vec<u8>)>,
    /// The path to remove.
    removed: Option<PathBuf>,
}

fn change(directory: &Path, file: &FilePatch) -> Result<Change, String> {
    let full = |path: &Vec<u8>| directory.join(OsStr::from_bytes(path));
    let before = match &file.from {
        Some(from) => fs::read(full(from)).map_err(|error| format!("{}: {error}", shown(from)))?,
        None => Vec::new(),
    };
    let name = file.from.as_ref().or(file.to.as_ref()).map(|path| shown(path)).unwrap_or_default();
    let content = replaced(&before, &file.hunks)
        .ok_or_else(|| format!("it does not match the content of {name}"))?;
    let removed = file.from.as_ref().filter(|from| file.to.as_ref() != Some(*from)).map(full);
    let written = file.to.as_ref().map(|to| (full(to), content));
    Ok(Change { written, removed })
}

/// The content with the old lines of each hunk replaced, which are searched for in order; `None` if
/// they are not found.
fn replaced(before: &[u8], hunks: &[Hunk]) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = before.split_inclusive(|byte| *byte == b'\n').collect();
    let mut content = Vec::new();
    let mut at = 0;
    for hunk in hunks {
        let fits = |start: &usize| {
            let found = lines.get(*start..*start + hunk.old.len());
            found.is_some_and(|found| found.iter().zip(&hunk.old).all(|(line, old)| line == old))
        };
        let start = match hunk.old.is_empty() {
            true => lines.len(),
            false => (at..lines.len()).find(fits)?,
        };
        content.extend(lines.get(at..start)?.concat());
        content.extend(hunk.new.concat());
        at = start + hunk.old.len();
    }
    content.extend(lines.get(at..)?.concat());
    Some(content)
}

fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
