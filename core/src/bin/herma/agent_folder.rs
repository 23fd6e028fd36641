//! The projects that the agent's folder belongs to: the projects whose sessions changed the agent's state.
//! Commands in any other project neither capture nor restore that state.
//!
//! Each project is a file of `projects/` with the hash of the project as its name and the directory as its
//! content. A folder without `projects/`, which another program created, belongs to every project.

use herma_core::{Environment, project_hash};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const PROJECTS: &str = "projects";

/// Whether the agent's folder belongs to the project in that canonical directory.
// rule: agent/parts
pub fn belongs_to(environment: &Environment, project: &Path) -> bool {
    let projects = environment.agent_folder().join(PROJECTS);
    !projects.is_dir() || projects.join(project_hash(project)).exists()
}

/// Adds a project to those that the folder belongs to; creates the folder if it is missing.
///
/// # Errors
/// The folder cannot be written.
pub fn register(environment: &Environment, project: &Path) -> io::Result<()> {
    let folder = environment.agent_folder();
    let projects = folder.join(PROJECTS);
    if folder.is_dir() && !projects.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(&projects)?;
    fs::write(projects.join(project_hash(project)), project.as_os_str().as_bytes())
}
