//! A repository as v1 made them: a git repository outside its working tree.
//!
//! Git makes it once, which takes several processes; from then on it is copied.

use super::git_alone;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use tempfile::TempDir;

/// The repository that others are copies of; made when the first is needed.
#[derive(Debug, Default)]
pub struct FirstLayout {
    made: Mutex<Option<TempDir>>,
}

impl FirstLayout {
    /// Where the repository is.
    ///
    /// # Errors
    /// Git is not there or fails.
    pub fn repository(&self) -> io::Result<PathBuf> {
        let mut made = self.made.lock().expect("no thread panics while it holds this");
        let folder = match made.take() {
            Some(folder) => folder,
            None => make()?,
        };
        Ok(made.insert(folder).path().join(REPOSITORY))
    }
}

const REPOSITORY: &str = "repository";

fn make() -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let (repository, tree) = (folder.path().join(REPOSITORY), folder.path().join("tree"));
    fs::create_dir(&repository)?;
    // The captured content does not matter here.
    fs::create_dir(&tree)?;
    fs::write(tree.join("a.txt"), "of the v1\n")?;
    let author = ["-c", "user.name=Hermes Checkpoint", "-c", "user.email=hermes@local"];
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "--all"],
        &[&author[..], &["commit", "--quiet", "--message=v1"]].concat(),
    ] {
        let mut git = git_alone();
        git.env("GIT_DIR", &repository).env("GIT_WORK_TREE", &tree).args(arguments);
        let output = git.current_dir(&tree).output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)));
        }
    }
    Ok(folder)
}
