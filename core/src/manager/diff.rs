//! Compares a project with one of its checkpoints, or two of its checkpoints.

use super::literal_path::literal_path;
use super::patch::{self, Compared};
use super::{Manager, OpenProject};
use crate::disk::Kind as FileKind;
use crate::error::{Context, Result};
use crate::path::{is_at_or_below, on_disk};
use crate::project::Project;
use crate::report::{Diff, Remark};
use crate::restore::Unrecorded;
use crate::store::commit;
use crate::store::left_out::{LeftOut, covering};
use crate::store::object::{IN_MEMORY_BYTES_MAX, Kind};
use crate::store::objects::Objects;
use crate::store::snapshot::{self, Item, Mode};
use std::path::Path;

/// What is compared with what.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// The checkpoint that is compared, by its number, label or id.
    pub since: &'a [u8],
    /// The checkpoint that it is compared with; `None` for the project as it is.
    pub until: Option<&'a [u8]>,
    /// Only these typed paths, and what is below them; all if there are none.
    pub paths: &'a [Vec<u8>],
}

impl Manager {
    /// What changed in the project since a checkpoint.
    ///
    /// # Errors
    /// A target that names no checkpoint of the project; a project that cannot be read.
    pub fn diff(&self, dir: &Path, target: &[u8]) -> Result<Diff> {
        self.compare(dir, Comparison { since: target, until: None, paths: &[] })
    }

    /// What changed in the project since a checkpoint, or between two of them.
    ///
    /// # Errors
    /// As [`Manager::diff`].
    pub fn compare(&self, dir: &Path, comparison: Comparison<'_>) -> Result<Diff> {
        let project = self.project(dir);
        let store = self.store_with(comparison.since)?;
        let open = OpenProject::new(&store, &project);
        let history = self.history(&open)?;
        let checkpoint = open.find(&history, comparison.since)?.intact()?;
        let old = snapshot::read(&open.objects, checkpoint.id, checkpoint.tree)?;
        let mut left_out = commit::left_out(&open.objects, checkpoint.id)?;
        let until = comparison.until.map(|target| open.find(&history, target)?.intact());
        let until = until.transpose()?;
        let left_out_until =
            until.map_or(Ok(Vec::new()), |until| commit::left_out(&open.objects, until.id))?;
        let mut left_out_now = Vec::new();
        let new = match until {
            None => {
                let captured = self.captured(&open)?;
                left_out_now = captured.left_out;
                captured.current.snapshot
            }
            Some(until) => {
                left_out.extend_from_slice(&left_out_until);
                snapshot::read(&open.objects, until.id, until.tree)?
            }
        };
        let stored_content = stored_bytes(&open.objects);
        let new_content = |path: &[u8], item: &Item| match until {
            None => self.read_again(&project, path, item),
            Some(_) => stored_content(path, item),
        };
        let literal = |typed: &Vec<u8>| literal_path(self.disk.as_ref(), &project, typed);
        let only: Vec<Vec<u8>> = comparison.paths.iter().map(literal).collect::<Result<_>>()?;
        let is_meant =
            |path: &[u8]| only.is_empty() || only.iter().any(|above| is_at_or_below(path, above));
        let mut compared: Vec<Compared> = Vec::new();
        // rule: diff/preview
        for (path, difference) in snapshot::differences(&old, &new) {
            // rule: restore/left-out
            let is_unknown = difference.old.is_none() && covering(&left_out, path).is_some();
            if is_unknown || !is_meant(path) {
                continue;
            }
            let mut one = patch::compare(path, &difference, &stored_content, &new_content)?;
            // rule: restore/left-out
            one.entry.uncaptured = difference.new.is_none()
                && match until {
                    None => self.is_file_at(&project, path),
                    Some(_) => covering(&left_out_until, path).is_some(),
                };
            compared.push(one);
        }
        // What the checkpoint left out or held is reported as such.
        left_out_now.retain(|entry| {
            let is_compared = |path: &Compared| is_at_or_below(&path.entry.path, &entry.path);
            let is_reported = covering(&left_out, &entry.path).is_some();
            is_meant(&entry.path) && !is_reported && !compared.iter().any(is_compared)
        });
        Ok(Diff {
            id: checkpoint.id.to_string(),
            until: until.map(|until| until.id.to_string()),
            // rule: diff/stats
            stats: patch::total(compared.iter().map(|path| &path.entry)),
            left_out: self.left_out_then(&project, &left_out),
            left_out_now: left_out_now.iter().map(LeftOut::remark).collect(),
            patch: compared.iter().flat_map(|path| path.patch.iter().copied()).collect(),
            entries: compared.into_iter().map(|path| path.entry).collect(),
        })
    }

    /// The remarks on what a checkpoint left out, by whether it is there now.
    fn left_out_then(&self, project: &Project, left_out: &[LeftOut]) -> Vec<Remark> {
        let Unrecorded { kept, missing } =
            Unrecorded::of(self.disk.as_ref(), &project.directory, left_out);
        [kept, missing].concat()
    }

    /// Whether anything but a folder is there.
    fn is_file_at(&self, project: &Project, path: &[u8]) -> bool {
        let stat = self.disk.stat(&on_disk(&project.directory, path));
        stat.is_ok_and(|stat| stat.kind != FileKind::Directory)
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
