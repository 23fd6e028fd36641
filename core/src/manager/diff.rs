//! Compares a project with one of its checkpoints.

use super::patch::{self, Compared};
use super::{Manager, OpenProject};
use crate::error::{Context, Result};
use crate::path::on_disk;
use crate::project::Project;
use crate::report::Diff;
use crate::restore::Unrecorded;
use crate::store::commit;
use crate::store::left_out::covering;
use crate::store::object::{IN_MEMORY_BYTES_MAX, Kind};
use crate::store::objects::Objects;
use crate::store::snapshot::{self, Item, Mode};
use std::path::Path;

impl Manager {
    /// What changed in the project since a checkpoint.
    ///
    /// # Errors
    /// A target that names no checkpoint of the project; a project that cannot be read.
    pub fn diff(&self, dir: &Path, target: &[u8]) -> Result<Diff> {
        let project = self.project(dir);
        let store = self.store_with(target)?;
        let open = OpenProject::new(&store, &project);
        let history = self.history(&open)?;
        let checkpoint = open.find(&history, target)?.intact()?;
        let old = snapshot::read(&open.objects, checkpoint.id, checkpoint.tree)?;
        let left_out = commit::left_out(&open.objects, checkpoint.id)?;
        let new = self.current(&open)?.snapshot;
        let stored_content = stored_bytes(&open.objects);
        let on_disk = |path: &[u8], item: &Item| self.read_again(&project, path, item);
        let mut compared: Vec<Compared> = Vec::new();
        // rule: diff/preview
        for (path, difference) in snapshot::differences(&old, &new) {
            // rule: restore/left-out
            if difference.old.is_none() && covering(&left_out, path).is_some() {
                continue;
            }
            compared.push(patch::compare(path, &difference, &stored_content, &on_disk)?);
        }
        Ok(Diff {
            id: checkpoint.id.to_string(),
            // rule: diff/stats
            stats: patch::total(compared.iter().map(|path| &path.entry)),
            left_out: {
                let Unrecorded { kept, missing } =
                    Unrecorded::of(self.disk.as_ref(), &project.directory, &left_out);
                [kept, missing].concat()
            },
            patch: compared.iter().flat_map(|path| path.patch.iter().copied()).collect(),
            entries: compared.into_iter().map(|path| path.entry).collect(),
        })
    }

    /// The present bytes of a captured path on the disk.
    fn read_again(&self, project: &Project, path: &[u8], item: &Item) -> Result<Option<Vec<u8>>> {
        let full = on_disk(&project.directory, path);
        let bytes = match item.mode {
            Mode::Link => self.disk.read_link(&full),
            _ => self.disk.read(&full, IN_MEMORY_BYTES_MAX + 1).map(|(content, _)| content),
        };
        let bytes = bytes.context("reading", &full)?;
        Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= IN_MEMORY_BYTES_MAX))
    }
}

/// Returns the stored bytes of a file, to be compared.
pub(super) fn stored_bytes(
    objects: &Objects<'_>,
) -> impl Fn(&[u8], &Item) -> Result<Option<Vec<u8>>> {
    |_, item| objects.read_up_to(Kind::Blob, item.blob, IN_MEMORY_BYTES_MAX)
}
