//! A repository as v1 made it: a git repository outside its working tree.
//!
//! Git makes it once, which takes several processes; after that it is copied.

use super::git_alone;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use tempfile::TempDir;

/// The repository from which v1 repositories are copied; made on first use.
#[derive(Debug, Default)]
pub struct V1Repository {
    made: Mutex<Option<TempDir>>,
}

impl V1Repository {
    /// The path of the repository.
    ///
    /// # Errors
    /// Git is missing or fails.
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
    let repository = folder.path().join(REPOSITORY);
    let tree = folder.path().join("tree");
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
