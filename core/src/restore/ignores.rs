//! Decides, during a restore, which paths the ignore files of the restored checkpoint exclude.

use crate::error::Result;
use crate::ignore::{Excludes, IgnoreFile};
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

    /// Whether they exclude the file at `path`.
    pub fn excludes(&self, path: &[u8]) -> bool {
        self.any(path, |levels| self.excludes.excludes(levels, path, false))
    }

    /// As [`TargetIgnores::excludes`], for a member of a unit.
    pub fn excludes_member(&self, path: &[u8]) -> bool {
        self.any(path, |levels| self.excludes.excludes_member(levels, path))
    }

    /// Whether the ignore files exclude a folder above `path`, or `excludes` holds for those above it.
    fn any(&self, path: &[u8], excludes: impl Fn(&[(&[u8], &IgnoreFile)]) -> bool) -> bool {
        let mut levels: Vec<(&[u8], &IgnoreFile)> = Vec::new();
        for directory in std::iter::once(&b""[..]).chain(ancestors(path)) {
            if !directory.is_empty() && self.excludes.excludes(&levels, directory, true) {
                return true;
            }
            if let Some((directory, file)) = self.files.get_key_value(directory) {
                levels.push((directory, file));
            }
        }
        excludes(&levels)
    }
}
