//! Decides, during a restore, which paths the ignore files of the restored checkpoint exclude.

use crate::error::Result;
use crate::ignore::{EntryKind, Excludes, Exclusion, IGNORE_FILES, IgnoreFile};
use crate::path::{ancestors, name_of, parent};
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::snapshot::{Mode, Snapshot};
use std::collections::BTreeMap;

/// The ignore files of a checkpoint, with the patterns that hold in every project.
pub struct TargetIgnores {
    excludes: Excludes,
    /// Those of each directory, in the order in which they are read.
    files: BTreeMap<Vec<u8>, Vec<IgnoreFile>>,
}

impl TargetIgnores {
    /// Reads the ignore files that `target` holds; the default excludes hold except for the patterns `include`.
    ///
    /// # Errors
    /// A file that the store has lost.
    pub fn read(objects: &Objects<'_>, target: &Snapshot, include: &[String]) -> Result<Self> {
        let mut files: BTreeMap<Vec<u8>, Vec<IgnoreFile>> = BTreeMap::new();
        // Those of one directory are read in the order of their names, which is that of `IGNORE_FILES`.
        for (path, item) in target {
            let name = IGNORE_FILES.into_iter().find(|name| name_of(path) == name.as_bytes());
            if let Some(name) = name.filter(|_| item.mode != Mode::Link) {
                let text = objects.read(Kind::Blob, item.blob)?;
                files.entry(parent(path).to_vec()).or_default().push(IgnoreFile::of(name, &text));
            }
        }
        Ok(TargetIgnores { excludes: Excludes::except(include), files })
    }

    /// The pattern that excludes the entry at `path`, or a folder above it.
    pub fn exclusion(&self, path: &[u8], kind: EntryKind) -> Option<Exclusion> {
        let directories = std::iter::once(&b""[..]).chain(ancestors(path));
        let levels = directories.filter_map(|directory| self.files.get_key_value(directory));
        let levels: Vec<(&[u8], &IgnoreFile)> = levels
            .flat_map(|(directory, files)| files.iter().map(|file| (&directory[..], file)))
            .collect();
        self.excludes.exclusion(&levels, path, kind)
    }
}
