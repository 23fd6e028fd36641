//! Decides, during a restore, which paths the ignore files of the restored checkpoint exclude.

use crate::error::Result;
use crate::ignore::{EntryKind, Excludes, Exclusion, IgnoreFile};
use crate::path::{ancestors, parent};
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::snapshot::{Mode, Snapshot};
use std::collections::BTreeMap;

/// The ignore files of a checkpoint, with the patterns that hold in every project.
pub struct TargetIgnores {
    excludes: Excludes,
    files: BTreeMap<Vec<u8>, IgnoreFile>,
}

impl TargetIgnores {
    /// Reads the ignore files that `target` holds.
    ///
    /// # Errors
    /// A file that the store has lost.
    pub fn read(objects: &Objects<'_>, target: &Snapshot) -> Result<Self> {
        let mut files = BTreeMap::new();
        for (path, item) in target {
            let is_ignore_file = path == b".gitignore" || path.ends_with(b"/.gitignore");
            if is_ignore_file && item.mode != Mode::Link {
                let text = objects.read(Kind::Blob, item.blob)?;
                files.insert(parent(path).to_vec(), IgnoreFile::parse(&text));
            }
        }
        Ok(TargetIgnores { excludes: Excludes::of_every_project(), files })
    }

    /// The pattern that excludes the entry at `path`, or a folder above it.
    pub fn exclusion(&self, path: &[u8], kind: EntryKind) -> Option<Exclusion> {
        let directories = std::iter::once(&b""[..]).chain(ancestors(path));
        let levels = directories.filter_map(|directory| self.files.get_key_value(directory));
        let levels: Vec<(&[u8], &IgnoreFile)> =
            levels.map(|(directory, file)| (&directory[..], file)).collect();
        self.excludes.exclusion(&levels, path, kind)
    }
}
