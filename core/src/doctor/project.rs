//! Whether the project of the current directory can be checkpointed.

use super::{Check, Finding};
use crate::capture;
use crate::disk::Disk;
use crate::environment::{Config, Environment};
use crate::own_folders::OwnFolders;
use crate::path::shown;
use crate::project::{Project, hash_of, project_of_file};
use crate::report::Interrupted;
use crate::store::restoring;
use std::path::{Path, PathBuf};

/// The directory of the project that a checkpoint taken here would be of.
pub fn directory(disk: &dyn Disk, environment: &Environment, here: &Path) -> PathBuf {
    let root = project_of_file(disk, environment, here).unwrap_or_else(|| here.to_owned());
    Project::resolve(disk, environment, &root).directory
}

/// A restore of the project that was interrupted. The directory is canonical.
pub fn interrupted(disk: &dyn Disk, base: &Path, directory: &Path) -> Option<Finding> {
    let record = restoring::interrupted(disk, &base.join("store"), &hash_of(directory))?;
    let found = Interrupted::from(record).to_string();
    let (found, advice) = found.split_once(": ")?;
    Some(Finding::notice(Check::Project, found, advice))
}

/// Looks at the project as a checkpoint would, but for reading its files.
pub fn look(
    disk: &dyn Disk,
    environment: &Environment,
    config: &Config,
    directory: &Path,
) -> Finding {
    let otherwise = "change to the directory of a project";
    let project = Project::resolve(disk, environment, directory);
    if let Err(error) = project.check_scope(disk, environment) {
        return Finding::refusal(Check::Project, &error, otherwise);
    }
    let own = OwnFolders::of(disk, environment);
    let (files, left_out) = match capture::survey(disk, &project.directory, &own, config) {
        Ok(surveyed) => surveyed,
        Err(error) => return Finding::refusal(Check::Project, &error, otherwise),
    };
    let directory = &project.directory;
    let what = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    let found = format!("a checkpoint of {directory:?} would hold {what}");
    let Some(first) = left_out.first() else { return Finding::ok(Check::Project, found) };
    let paths =
        if left_out.len() == 1 { "1 path".to_owned() } else { format!("{} paths", left_out.len()) };
    let found =
        format!("{found} and leave out {paths}, such as {} ({})", shown(&first.path), first.reason);
    let advice = "`herma checkpoint` names them all: no restore brings them back";
    Finding::notice(Check::Project, found, advice)
}
