//! A deliberately naive store, as a canary: plain git with nothing around it, which takes an object for
//! stored if there is a file of its name. A lane that holds nothing against it would notice nothing.

use crate::protocol::capabilities::Capabilities;
use crate::sandbox::{Sandbox, git_alone};
use crate::subject::{Identity, Subject};
use herma_model::answer::{Answer, Changed, CheckpointOutcome, Code, Listed, Restored};
use herma_model::world::hash_of;
use herma_model::{ByteString, Request, Settings};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// What counts as large, in bytes, and how much is read at once.
const LARGE: u64 = 100_000;
const PIECE: usize = 65_536;

/// Plain git as a subject.
pub struct Naive {
    store: PathBuf,
    seconds: i64,
}

/// As it is served behind an adapter.
pub const NAIVE: &str = "naive";

impl Naive {
    /// Opens it in a sandbox.
    pub fn boxed(sandbox: &Sandbox, _: &Settings, seconds: i64) -> Box<dyn Subject> {
        Box::new(Naive { store: sandbox.store(), seconds })
    }

    /// What it can be asked. That a checkpoint is taken before a restore it only says.
    pub fn able_to() -> Capabilities {
        let all = ["checkpoint", "layout", "project.any_directory", "restore.safety"];
        let all = all.into_iter().chain(["test.clock", "test.store"]);
        all.fold(Capabilities::none(), Capabilities::with)
    }

    fn git(&self, dir: &ByteString, arguments: &[&str]) -> Result<String, String> {
        let mut git = git_alone();
        let date = format!("{} +0000", self.seconds);
        git.env("GIT_DIR", &self.store).env("GIT_WORK_TREE", OsStr::from_bytes(dir));
        git.env("GIT_INDEX_FILE", self.store.join("indexes").join(hash_of(dir)));
        git.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        git.args(["-c", "user.name=Naive", "-c", "user.email=naive@localhost"]).args(arguments);
        let output = git.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn take(&self, dir: &ByteString, reason: &str) -> Result<Answer, String> {
        if !self.store.join("HEAD").exists() {
            fs::create_dir_all(self.store.join("indexes")).map_err(|error| error.to_string())?;
            let store = self.store.to_string_lossy().into_owned();
            let mut git = git_alone();
            git.args(["init", "--quiet", "--bare", "--template=", &store]);
            git.output().map_err(|error| error.to_string())?;
        }
        let name = reference(dir);
        let taken = |outcome| Ok(Answer::Taken { outcome, skipped: Vec::new() });
        self.git(dir, &["add", "--all", "."])?;
        self.add_large(dir).map_err(|error| error.to_string())?;
        let tree = self.git(dir, &["write-tree"])?;
        let parent = self.git(dir, &["rev-parse", "--verify", "--quiet", &name]);
        let stored =
            self.git(dir, &["rev-parse", "--verify", "--quiet", &format!("{name}^{{tree}}")]);
        if stored.is_ok_and(|stored| stored == tree) {
            return taken(CheckpointOutcome::Unchanged);
        }
        let mut commit = vec!["commit-tree", "-m", reason, &tree];
        if let Ok(parent) = &parent {
            commit.extend(["-p", parent]);
        }
        let id = self.git(dir, &commit)?;
        self.point(&name, &id).map_err(|error| error.to_string())?;
        taken(CheckpointOutcome::Created { id })
    }

    /// Stores large files anew, piece by piece, and trusts the pieces to belong together.
    fn add_large(&self, dir: &ByteString) -> io::Result<()> {
        for entry in fs::read_dir(OsStr::from_bytes(dir))? {
            let entry = entry?;
            if entry.metadata()?.len() < LARGE || entry.file_type()?.is_dir() {
                continue;
            }
            let (mut file, mut all) = (File::open(entry.path())?, Vec::new());
            let mut piece = vec![0; PIECE];
            loop {
                let length = file.read(&mut piece)?;
                all.extend_from_slice(&piece[..length]);
                if length == 0 {
                    break;
                }
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let copy = self.store.join("large");
            fs::write(&copy, all)?;
            let copy = copy.to_string_lossy();
            let id = self.git(dir, &["hash-object", "-w", "--no-filters", &copy]);
            let id = id.map_err(io::Error::other)?;
            let entry = format!("100644,{id},{name}");
            self.git(dir, &["update-index", "--add", "--cacheinfo", &entry])
                .map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Moves a ref in the way that comes to mind first.
    fn point(&self, name: &str, id: &str) -> io::Result<()> {
        let reference = self.store.join(name);
        let lock = reference.with_extension("lock");
        fs::create_dir_all(self.store.join("refs/hermes"))?;
        let mut file = File::create_new(&lock)?;
        let _ = file.write(format!("{id}\n").as_bytes())?;
        fs::rename(lock, reference)
    }

    fn list(&self, dir: &ByteString) -> Result<Answer, String> {
        let ids = self.git(dir, &["rev-list", &reference(dir)])?;
        let listed = |(at, id): (usize, &str)| Listed {
            number: at + 1,
            id: id.to_owned(),
            time: 0,
            reason: String::new(),
            stats: None,
        };
        Ok(Answer::Listed(ids.lines().enumerate().map(listed).collect()))
    }

    fn restore(&self, dir: &ByteString, id: &str) -> Result<Answer, String> {
        self.git(dir, &["read-tree", id])?;
        // What git cannot bring back it names here, and nobody reads it.
        let _ = self.git(dir, &["checkout-index", "--all", "--force"]);
        Ok(Answer::Restored(Restored::default()))
    }
}

fn reference(dir: &ByteString) -> String {
    format!("refs/hermes/{}", hash_of(dir))
}

impl Subject for Naive {
    fn identity(&self) -> Identity {
        Identity::new("naive", env!("CARGO_PKG_VERSION"))
    }

    fn capabilities(&self) -> Capabilities {
        Naive::able_to()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let answer = match request {
            Request::SetClock { seconds } => {
                self.seconds = *seconds;
                return Answer::Done;
            }
            Request::Checkpoint { dir, reason } => self.take(dir, reason),
            Request::List { dir } => self.list(dir),
            Request::Restore { dir, target, .. } => {
                self.restore(dir, &String::from_utf8_lossy(target))
            }
            other => Err(format!("{} is not asked of it", other.name())),
        };
        let refused =
            |message| Answer::Refused { code: Code::Internal, message, changed: Changed::Unknown };
        answer.unwrap_or_else(refused)
    }
}
