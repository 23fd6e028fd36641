//! A part of the agent state in a JSON file that a person can read and edit. Without a file, the part
//! is `null`.

use super::kinds::Kind;
use super::parts::{PART_BYTES_MAX, Part};
use crate::disk::atomic_write::{replace_file, write_new_named};
use crate::disk::{Disk, folder, is_another_kind};
use crate::error::{Context, Error};
use crate::text::size;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NOTHING: &str = "null";
/// The file next to those of the parts whose lock they share.
pub const LOCK_FILE: &str = "state.lock";

/// One of the parts that many agents have, in a file of its own.
pub struct FilePart {
    disk: Arc<dyn Disk>,
    kind: Kind,
    folder: PathBuf,
}

impl FilePart {
    /// The part of that kind in a file of its name below `folder`, an absolute path.
    pub fn new(disk: Arc<dyn Disk>, kind: Kind, folder: &Path) -> Self {
        FilePart { disk, kind, folder: folder.to_owned() }
    }

    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        path(self.kind, &self.folder)
    }

    /// The prefix of the names of drafts, which are to replace the file.
    fn draft_prefix(&self) -> String {
        format!(".herma-{}", self.kind.name())
    }

    /// Removes the drafts of a process that died. A draft of a live process is not among them, since the
    /// lock is held.
    fn tidy(&self) {
        let names = folder::text_names(self.disk.as_ref(), &self.folder).unwrap_or_default();
        let prefix = format!("{}-", self.draft_prefix());
        for name in names.iter().filter(|name| name.starts_with(&prefix)) {
            let _ = self.disk.remove_file(&self.folder.join(name));
        }
    }

    fn write(&self, state: &str) -> crate::error::Result<()> {
        let disk = self.disk.as_ref();
        let path = self.path();
        if state == NOTHING {
            folder::remove_file(disk, &path)?;
            // Otherwise a power loss could bring the file back after the journal that would undo that is gone.
            return disk.sync_directory(&self.folder).context("removing a file from", &self.folder);
        }
        if folder::stat(disk, &self.folder)?.is_none() {
            // Removing the folder has removed the part, which is restored now.
            disk.make_directory(&self.folder, 0o700).context("making", &self.folder)?;
            let _ = disk.sync_directory(self.folder.parent().unwrap_or(&self.folder));
        }
        let prefix = self.draft_prefix();
        let draft = write_new_named(disk, &self.folder, &prefix, state.as_bytes(), 0o600)?;
        replace_file(disk, &draft, &path)
    }
}

impl Part for FilePart {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn describe(&self, state: &str) -> Vec<(String, Value)> {
        self.kind.describe(state)
    }

    fn capture(&self) -> Result<String, String> {
        read(self.disk.as_ref(), &self.path())
    }

    fn check(&self, state: &str) -> Result<(), String> {
        parse(state).map_err(|why| format!("the stored state is not JSON: {why}"))?;
        folder::is_file_or_nothing(self.disk.as_ref(), &self.path())
            .map_err(|error| error.cause())
            .and_then(|is_file| match is_file {
                true => Ok(()),
                false => Err(format!("{} is not a regular file", self.path().display())),
            })
    }

    fn restore(&self, state: &str) -> Result<(), String> {
        self.tidy();
        if self.capture().is_ok_and(|now| now == state) {
            return Ok(());
        }
        self.write(state).map_err(|error| error.cause())
    }

    fn lock_file(&self) -> Option<PathBuf> {
        Some(self.folder.join(LOCK_FILE))
    }
}

/// Reads the part from its file.
///
/// # Errors
/// Why it cannot be read, for people.
fn read(disk: &dyn Disk, path: &Path) -> Result<String, String> {
    let read = folder::read_file(disk, path, PART_BYTES_MAX + 1).map_err(|error| match &error {
        Error::Io { source, .. } if is_another_kind(source) => {
            format!("{} is not a regular file", path.display())
        }
        error => error.cause(),
    });
    let Some(bytes) = read? else { return Ok(NOTHING.into()) };
    if bytes.len() as u64 > PART_BYTES_MAX {
        return Err(format!("{} is larger than {}", path.display(), size(PART_BYTES_MAX)));
    }
    let text = String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))?;
    parse(&text).map_err(|why| format!("{} is not JSON: {why}", path.display()))?;
    Ok(text)
}

/// Checks that the part in its file below `folder` can be read.
///
/// # Errors
/// Why not, for people.
pub(super) fn readable(disk: &dyn Disk, kind: Kind, folder: &Path) -> Result<(), String> {
    read(disk, &path(kind, folder)).map(drop)
}

fn path(kind: Kind, folder: &Path) -> PathBuf {
    folder.join(format!("{}.json", kind.name()))
}

fn parse(text: &str) -> Result<(), String> {
    let parsed: Result<serde::de::IgnoredAny, _> = serde_json::from_str(text);
    parsed.map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use std::fs;

    #[test]
    fn restore_writes_a_part_byte_for_byte_and_removes_the_file_for_null() {
        let folder = tempfile::tempdir().unwrap();
        let part = FilePart::new(Arc::new(SystemDisk), Kind::Goal, folder.path());
        assert_eq!(part.capture().unwrap(), "null");
        let text = "{\n  \"active\": \"Ship\"\n}\n";
        fs::write(part.path(), text).unwrap();
        let before = part.capture().unwrap();
        assert_eq!(before, text);
        fs::write(part.path(), "{}").unwrap();
        part.check(&before).unwrap();
        part.restore(&before).unwrap();
        assert_eq!(fs::read_to_string(part.path()).unwrap(), text);
        part.restore("null").unwrap();
        assert!(!part.path().exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn restore_creates_the_folder_that_was_removed() {
        let above = tempfile::tempdir().unwrap();
        let part = FilePart::new(Arc::new(SystemDisk), Kind::Goal, &above.path().join("agent"));
        part.check("{}").unwrap();
        part.restore("null").unwrap();
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);
        part.restore("{}").unwrap();
        assert_eq!(part.capture().unwrap(), "{}");
    }

    #[test]
    fn capture_and_check_refuse_a_file_that_is_not_json() {
        let folder = tempfile::tempdir().unwrap();
        let part = FilePart::new(Arc::new(SystemDisk), Kind::Goal, folder.path());
        fs::write(part.path(), "{\"active\": ").unwrap();
        assert!(part.capture().unwrap_err().contains("not JSON"));
        fs::write(part.path(), [0xff]).unwrap();
        assert!(part.capture().unwrap_err().contains("not UTF-8"));
        assert!(part.check("{").is_err());
        fs::remove_file(part.path()).unwrap();
        fs::create_dir(part.path()).unwrap();
        assert!(part.check("{}").unwrap_err().contains("is not a regular file"));
    }
}
