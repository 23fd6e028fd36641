//! Checks whether checkpoints of the project of the current directory can be taken.

use super::{Check, Finding};
use crate::capture;
use crate::disk::Disk;
use crate::environment::{Config, Environment};
use crate::own_folders::OwnFolders;
use crate::path::shown;
use crate::project::{Project, hash_of, project_of_file};
use crate::report::Interrupted;
use crate::store::restoring;
use crate::text;
use std::path::{Path, PathBuf};

/// The directory of the project of which a checkpoint in the directory `current` would be taken.
pub fn directory(disk: &dyn Disk, environment: &Environment, current: &Path) -> PathBuf {
    let root = project_of_file(disk, environment, current).unwrap_or_else(|| current.to_owned());
    Project::resolve(disk, environment, &root).directory
}

/// Reports an interrupted restore of the project, if there is one. The directory is canonical.
pub fn interrupted(disk: &dyn Disk, base: &Path, directory: &Path) -> Option<Finding> {
    let record = restoring::interrupted(disk, &base.join("store"), &hash_of(directory))?;
    let found = Interrupted::from(record).told(None);
    let (found, advice) = found.split_once(": ")?;
    Some(Check::Project.notice(found, advice))
}

/// Checks the project as a checkpoint would, but without reading its files.
pub fn check(
    disk: &dyn Disk,
    environment: &Environment,
    config: &Config,
    directory: &Path,
) -> Finding {
    let default_advice = "change to the directory of a project";
    let project = Project::resolve(disk, environment, directory);
    if let Err(error) = project.check_scope(disk, environment) {
        return Check::Project.refusal(&error, default_advice);
    }
    let own_folders = OwnFolders::of(disk, environment);
    let surveyed = capture::survey(disk, &project.directory, &own_folders, config);
    let (count, left_out) = match surveyed {
        Ok(surveyed) => surveyed,
        Err(error) => return Check::Project.refusal(&error, default_advice),
    };
    let directory = &project.directory;
    let files = text::count(count, "file", "files");
    let found = format!("a checkpoint of {directory:?} would contain {files}");
    let Some(first) = left_out.first() else { return Check::Project.ok(found) };
    let paths = text::count(left_out.len(), "path", "paths");
    let found =
        format!("{found} and leave out {paths}, such as {} ({})", shown(&first.path), first.reason);
    let advice = "`herma checkpoint` lists all of them; no rollback can restore them";
    Check::Project.notice(found, advice)
}
