//! The sandbox in which a history runs: a fresh directory with a home, projects and sentinels, and
//! everything hostile that a user's machine may hold.
//!
//! ```text
//! home/            HOME, with a git configuration that signs, converts, ignores and hooks
//! home/.hermes/    the checkpoint base is below it
//! hostile/         programs that leave a mark when they are run
//! outside/         sentinels that no restore may touch
//! work/alpha/      a project with a repository of its own
//! work/beta/       a project without a repository
//! work/alias       a link to work/alpha; work/homeward a link to home
//! ```

pub(crate) mod edits;
pub(crate) mod harm;
pub mod hostility;
pub mod manifest;
pub mod outline;
mod settled;
pub mod stock;
pub(crate) mod store_edits;
mod understood;
pub(crate) mod v1_repository;

use crate::history::History;
use herma_model::ByteString;
use herma_model::world::Layout;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;
pub use understood::AcceptedStores;
use v1_repository::V1Repository;

/// The projects that exist from the start.
const PROJECTS: [&str; 2] = ["work/alpha", "work/beta"];

/// The directory in which sandboxes are made, and options for them.
#[derive(Clone, Debug)]
pub struct Scratch {
    root: PathBuf,
    fresh_processes: bool,
    program: Option<PathBuf>,
    v1_repository: Arc<V1Repository>,
    accepted_stores: AcceptedStores,
}

impl Scratch {
    /// Makes sandboxes in memory (below `/dev/shm`) if possible, since a history writes much and keeps
    /// nothing; otherwise in the system's temporary directory.
    pub fn in_default_directory() -> Self {
        let memory = Path::new("/dev/shm");
        let probe = tempfile::Builder::new().prefix("herma-probe-").tempdir_in(memory);
        let root = if probe.is_ok() { memory.to_owned() } else { std::env::temp_dir() };
        Self::at(root)
    }

    /// Makes sandboxes below `root`.
    pub fn at(root: PathBuf) -> Self {
        Scratch {
            root,
            fresh_processes: false,
            program: None,
            v1_repository: Arc::default(),
            accepted_stores: AcceptedStores::default(),
        }
    }

    /// The same directory, for sandboxes in which every subject is a new process, even if a process
    /// could be reused.
    pub fn with_fresh_processes(&self) -> Self {
        Scratch { fresh_processes: true, ..self.clone() }
    }

    /// The same directory, for sandboxes with a program: the `herma-conform` command at that path. It
    /// serves the core and planted bugs when they need a process of their own.
    pub fn with_program(&self, program: PathBuf) -> Self {
        Scratch { program: Some(program), ..self.clone() }
    }

    /// Makes a new directory, which is removed on drop.
    pub fn temporary(&self) -> io::Result<TempDir> {
        tempfile::Builder::new().prefix("herma-").tempdir_in(&self.root)
    }
}

/// Plain git with an empty environment, so that no configuration applies.
pub fn git_alone() -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A lookup of git in the PATH of the child would fork this process first, which takes longer than
    // git itself.
    let candidates = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let program = candidates.into_iter().find(|program| program.is_absolute() && program.is_file());
    let mut git = Command::new(program.unwrap_or_else(|| "git".into()));
    git.env_clear().env("PATH", path);
    git.env("HOME", "/nowhere").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null");
    // A commit would start a process that goes on after it, beside the observation of the sandbox.
    git.env("GIT_CONFIG_COUNT", "1");
    git.env("GIT_CONFIG_KEY_0", "maintenance.auto").env("GIT_CONFIG_VALUE_0", "false");
    git
}

/// The total size of the files below a folder, in bytes.
///
/// # Errors
/// The folder cannot be read.
pub fn bytes_below(folder: &Path) -> io::Result<u64> {
    let mut total = 0;
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        for entry in fs::read_dir(&path).into_iter().flatten() {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                pending.push(entry.path());
            } else {
                total += entry.metadata()?.len();
            }
        }
    }
    Ok(total)
}

/// A sandbox; it is removed on drop.
pub struct Sandbox {
    /// `None` if another process owns the sandbox.
    _directory: Option<TempDir>,
    root: PathBuf,
    fresh_process: bool,
    /// Whether the home holds a git configuration.
    hostile: bool,
    program: Option<PathBuf>,
    v1_repository: Arc<V1Repository>,
    accepted_stores: AcceptedStores,
}

impl Sandbox {
    /// Makes a sandbox for `history`.
    pub fn new(scratch: &Scratch, history: &History) -> io::Result<Self> {
        let directory = scratch.temporary()?;
        // Links in the path of the scratch directory would give every project a second name.
        let root = directory.path().canonicalize()?;
        let sandbox = Sandbox {
            _directory: Some(directory),
            root,
            fresh_process: scratch.fresh_processes,
            hostile: !history.plain_home,
            program: scratch.program.clone(),
            v1_repository: Arc::clone(&scratch.v1_repository),
            accepted_stores: scratch.accepted_stores.clone(),
        };
        if sandbox.hostile {
            hostility::plant(&sandbox.home(), &sandbox.root.join("hostile"))?;
        }
        sandbox.write("outside/secret.txt", "sentinel\n")?;
        sandbox.write("outside/deeper/secret.txt", "sentinel\n")?;
        sandbox.plant_projects(history.workspace.as_deref())?;
        Ok(sandbox)
    }

    /// The same sandbox, for another subject in it. It is not removed when this value is dropped.
    pub fn shared(&self) -> Self {
        Sandbox {
            _directory: None,
            root: self.root.clone(),
            program: self.program.clone(),
            v1_repository: self.v1_repository.clone(),
            accepted_stores: self.accepted_stores.clone(),
            ..*self
        }
    }

    /// The sandbox that another process made and will remove.
    pub fn adopt(root: PathBuf) -> Self {
        Sandbox {
            _directory: None,
            root,
            fresh_process: true,
            hostile: true,
            program: None,
            v1_repository: Arc::default(),
            accepted_stores: AcceptedStores::default(),
        }
    }

    /// Whether a subject in this sandbox needs a new process, not one that served another sandbox.
    pub fn wants_fresh_process(&self) -> bool {
        self.fresh_process
    }

    /// The path of the `herma-conform` command, if it is to serve subjects that need a process of their
    /// own.
    pub fn program(&self) -> Option<&Path> {
        self.program.as_deref()
    }

    /// Whether the home holds a git configuration that a store must not follow.
    pub fn is_hostile(&self) -> bool {
        self.hostile
    }

    /// The sandbox as an absolute canonical path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The git repository that is copied to make a v1 repository.
    pub fn v1_repository(&self) -> &V1Repository {
        &self.v1_repository
    }

    /// The stores that git is known to accept as a repository.
    pub fn accepted_stores(&self) -> &AcceptedStores {
        &self.accepted_stores
    }

    /// A project marker in a directory above the sandbox, which every history would find.
    pub fn marker_above(&self) -> Option<PathBuf> {
        let markers = self.root.ancestors().skip(1).flat_map(|directory| {
            herma_model::world::MARKERS.iter().map(|marker| directory.join(marker))
        });
        markers.into_iter().find(|marker| marker.exists())
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The checkpoint base.
    pub fn base(&self) -> PathBuf {
        self.root.join("home/.hermes/checkpoints")
    }

    /// The path of the git repository in the documented layout; it need not exist.
    pub fn store(&self) -> PathBuf {
        self.base().join("store")
    }

    /// Whether the git repository of the documented layout exists.
    pub fn has_store(&self) -> bool {
        // A history may have damaged its head.
        ["HEAD", "objects"].iter().any(|name| self.store().join(name).exists())
    }

    /// The directory that relative paths start from.
    pub fn current_directory(&self) -> PathBuf {
        self.root.join("work")
    }

    /// The file that exists once a signing or prompting program was run.
    pub fn mark(&self) -> PathBuf {
        hostility::mark(&self.root.join("hostile"))
    }

    /// The file that exists once a hook or another configured program was run.
    pub fn hooked(&self) -> PathBuf {
        hostility::hooked(&self.root.join("hostile"))
    }

    /// The paths of the sandbox for the model.
    pub fn layout(&self) -> Layout {
        Layout {
            root: ByteString::from(self.root.as_os_str().as_bytes()),
            home: "home".into(),
            current: "work".into(),
            base: "home/.hermes/checkpoints".into(),
        }
    }

    fn plant_projects(&self, workspace: Option<&Path>) -> io::Result<()> {
        self.write("home/.hermes/notes.txt", "notes\n")?;
        self.write("home/code/main.py", "print()\n")?;
        fs::create_dir_all(self.root.join("work/beta"))?;
        match workspace {
            Some(workspace) => {
                edits::copy(workspace, &self.root.join("work/alpha"))?;
                forget_tracked(&self.root.join("work/alpha/.git"))?;
            }
            None => {
                let git = "work/alpha/.git";
                self.write(&format!("{git}/HEAD"), "ref: refs/heads/main\n")?;
                self.write(&format!("{git}/config"), "[core]\n\tbare = false\n")?;
                self.write(&format!("{git}/index"), "an index\n")?;
                self.write(&format!("{git}/refs/stash"), "a stash\n")?;
                self.write(&format!("{git}/hooks/pre-commit"), "#!/bin/sh\nexit 1\n")?;
            }
        }
        symlink("alpha", self.root.join("work/alias"))?;
        symlink("../home", self.root.join("work/homeward"))
    }

    /// Makes the folder in every project in which a subject keeps its store.
    ///
    /// # Errors
    /// A folder cannot be made.
    pub fn make_stores(&self, folder: &str) -> io::Result<()> {
        if folder == ".git" {
            return self.make_repositories();
        }
        for project in PROJECTS {
            fs::create_dir(self.root.join(project).join(folder))?;
        }
        Ok(())
    }

    /// Makes every project a git repository with one empty commit, for a subject that keeps its
    /// store there. The user's git configuration rightly applies to these, so the hostile configuration
    /// is removed.
    ///
    /// # Errors
    /// Git is missing or fails.
    fn make_repositories(&self) -> io::Result<()> {
        for configuration in [".gitconfig", ".config/git"] {
            let path = self.home().join(configuration);
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
        for project in PROJECTS {
            let project = self.root.join(project);
            let _ = fs::remove_dir_all(project.join(".git"));
            let author = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"];
            let commit = ["commit", "--quiet", "--allow-empty", "--message=start"];
            for arguments in [
                &["init", "--quiet", "--initial-branch=main"][..],
                &[&author[..], &commit].concat(),
            ] {
                let mut git = git_alone();
                let output = git.current_dir(&project).args(arguments).output()?;
                if !output.status.success() {
                    return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)));
                }
            }
        }
        Ok(())
    }

    fn write(&self, path: &str, content: &str) -> io::Result<()> {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
        fs::write(path, content)
    }
}

/// Makes the repository of a copied project track nothing: no rule says what becomes of a file that git tracks
/// although a default exclude names it. The index of a linked worktree, which is elsewhere, is left alone.
fn forget_tracked(repository: &Path) -> io::Result<()> {
    let index = match fs::symlink_metadata(repository) {
        Ok(found) if found.is_dir() => repository.join("index"),
        _ => repository.to_owned(),
    };
    match fs::remove_file(index) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
