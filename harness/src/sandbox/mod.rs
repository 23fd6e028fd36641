//! Where a history runs: a fresh directory with a home, projects and sentinels, and everything
//! hostile that a user's machine may hold.
//!
//! ```text
//! home/            HOME, with a git configuration that signs, converts, ignores and hooks
//! home/.hermes/    the checkpoint base is below it
//! hostile/         programs which leave a mark when they are run
//! outside/         sentinels no restore may touch
//! work/alpha/      a project with a repository of its own
//! work/beta/       a project without
//! work/alias       a link to work/alpha; work/homeward a link to home
//! ```

pub mod edits;
pub mod manifest;

use crate::history::History;
use herma_model::ByteString;
use herma_model::world::Layout;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Where sandboxes are made.
#[derive(Clone, Debug)]
pub struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// A place in memory where there is one, since a history writes much and keeps nothing;
    /// otherwise the system's temporary directory.
    pub fn default_place() -> Self {
        let memory = Path::new("/dev/shm");
        let probe = tempfile::Builder::new().prefix("herma-probe-").tempdir_in(memory);
        let root = if probe.is_ok() { memory.to_owned() } else { std::env::temp_dir() };
        Scratch { root }
    }

    /// Sandboxes are made below `root`.
    pub fn at(root: PathBuf) -> Self {
        Scratch { root }
    }

    /// A directory that is removed when it is dropped.
    pub fn temporary(&self) -> io::Result<TempDir> {
        tempfile::Builder::new().prefix("herma-").tempdir_in(&self.root)
    }
}

/// One sandbox; it is removed when this is dropped.
pub struct Sandbox {
    _directory: TempDir,
    root: PathBuf,
}

/// Git settings that each would change a store which let them in.
const HOSTILE_CONFIG: &str = "\
[user]
\tname = Hostile User
\temail = hostile@example.org
\tsigningkey = HOSTILE
[commit]
\tgpgsign = true
\ttemplate = HOSTILE/template
[tag]
\tgpgSign = true
[gpg]
\tprogram = HOSTILE/mark
[core]
\tautocrlf = true
\tsafecrlf = true
\texcludesFile = HOSTILE/ignore
\tattributesFile = HOSTILE/attributes
\thooksPath = HOSTILE/hooks
\tfsmonitor = HOSTILE/mark
\tsymlinks = false
\tfileMode = false
\tlogAllRefUpdates = always
\tsharedRepository = world
\teditor = HOSTILE/mark
\tpager = HOSTILE/mark
[init]
\ttemplateDir = HOSTILE/template.d
\tdefaultBranch = hostile
[credential]
\thelper = HOSTILE/mark
[filter \"hostile\"]
\tclean = HOSTILE/mark
\tsmudge = HOSTILE/mark
\trequired = true
[diff]
\texternal = HOSTILE/mark
\trenames = copies
\tnoprefix = true
[alias]
\tcommit = !HOSTILE/mark
\tadd = !HOSTILE/mark
[transfer]
\tfsckObjects = true
";

impl Sandbox {
    /// Makes a sandbox for `history`.
    pub fn new(scratch: &Scratch, history: &History) -> io::Result<Self> {
        let directory = scratch.temporary()?;
        // Links on the way to the scratch place would give every project a second name.
        let root = directory.path().canonicalize()?;
        let sandbox = Sandbox { _directory: directory, root };
        sandbox.plant_hostility()?;
        sandbox.plant_projects(history.workspace.as_deref())?;
        Ok(sandbox)
    }

    /// The sandbox as an absolute canonical path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A project marker in a directory above the sandbox, where every history would find it.
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

    /// The directory that relative paths start from.
    pub fn current_directory(&self) -> PathBuf {
        self.root.join("work")
    }

    /// The file that exists once a hostile program was run.
    pub fn mark(&self) -> PathBuf {
        self.root.join("hostile/mark-left")
    }

    /// The same fixed points for the model.
    pub fn layout(&self) -> Layout {
        Layout {
            root: ByteString::from(self.root.as_os_str().as_bytes()),
            home: "home".into(),
            current: "work".into(),
            base: "home/.hermes/checkpoints".into(),
        }
    }

    fn plant_hostility(&self) -> io::Result<()> {
        let hostile = self.root.join("hostile");
        let text = HOSTILE_CONFIG.replace("HOSTILE", &hostile.to_string_lossy());
        let mark = format!("#!/bin/sh\n: > '{}'\nexit 1\n", self.mark().display());
        self.write("home/.gitconfig", &text)?;
        self.write("home/.config/git/config", &text)?;
        self.write("home/.config/git/ignore", "*\n")?;
        self.write("home/.config/git/attributes", "* text eol=crlf filter=hostile\n")?;
        self.write("hostile/ignore", "*\n")?;
        self.write("hostile/attributes", "* text eol=crlf filter=hostile\n")?;
        self.write("hostile/template", "hostile\n")?;
        self.write("hostile/template.d/info/exclude", "*\n")?;
        for program in ["mark", "hooks/pre-commit", "hooks/reference-transaction"] {
            self.write(&format!("hostile/{program}"), &mark)?;
            let path = hostile.join(program);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        }
        self.write("outside/secret.txt", "sentinel\n")?;
        self.write("outside/deeper/secret.txt", "sentinel\n")
    }

    fn plant_projects(&self, workspace: Option<&Path>) -> io::Result<()> {
        self.write("home/.hermes/notes.txt", "notes\n")?;
        self.write("home/code/main.py", "print()\n")?;
        fs::create_dir_all(self.root.join("work/beta"))?;
        match workspace {
            Some(workspace) => edits::copy(workspace, &self.root.join("work/alpha"))?,
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

    fn write(&self, path: &str, content: &str) -> io::Result<()> {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
        fs::write(path, content)
    }
}
