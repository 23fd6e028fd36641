//! What a checkpoint of a project would hold and what it would not, found without reading the files or changing
//! the store.

use super::together::Scan;
use super::tracked::Tracked;
use super::walk::{Bounds, walk};
use crate::disk::Disk;
use crate::environment::Config;
use crate::error::Result;
use crate::ignore::{Excludes, Exclusion};
use crate::own_folders::OwnFolders;
use crate::store::left_out::LeftOut;
use std::path::Path;

/// The number of files and links that a checkpoint of a project would hold if all of them can be read,
/// and what it would leave out. `root` is canonical.
///
/// # Errors
/// Those of [`super::Capture::run`] that occur without reading a file.
pub fn survey(
    disk: &dyn Disk,
    root: &Path,
    own_folders: &OwnFolders,
    config: &Config,
) -> Result<(usize, Vec<LeftOut>)> {
    let Config { max_file_bytes, max_files, .. } = *config;
    let bounds = &Bounds { max_file_bytes, max_files, own_folders, started: None };
    let excludes = &Excludes::except(&config.include);
    let tracked = Tracked::default();
    let mut walked = walk(&Scan { disk, root, bounds, excludes, tracked, lists_excluded: false })?;
    walked.left_out.sort_unstable_by(|left, right| left.path.cmp(&right.path));
    Ok((walked.candidates.len() + walked.members, walked.left_out))
}

/// The entries of a project that no checkpoint would hold, each with its pattern; an excluded folder is one
/// entry, and its path ends in a slash. Sorted. `root` is canonical.
///
/// # Errors
/// The root cannot be read, or the disk fails.
pub fn excluded(
    disk: &dyn Disk,
    root: &Path,
    own_folders: &OwnFolders,
    config: &Config,
) -> Result<Vec<(Exclusion, Vec<u8>)>> {
    let bounds = &Bounds { max_file_bytes: 0, max_files: usize::MAX, own_folders, started: None };
    let excludes = &Excludes::except(&config.include);
    let tracked = Tracked::default();
    let walked = walk(&Scan { disk, root, bounds, excludes, tracked, lists_excluded: true })?;
    let mut excluded = walked.excluded;
    excluded.sort_unstable();
    Ok(excluded)
}
