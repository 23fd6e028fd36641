//! Oracles for hostile input: any input from a user, a file or a damaged store, and the properties that hold
//! for all input. Fuzz targets and tests only call these oracles, through [`targets`].
//!
//! Where an input concerns a store, the core runs on a disk in memory, which starts with two checkpoints of
//! one project; whole histories run in a sandbox.

pub mod arguments;
pub mod external_log;
mod memory_disk;
mod planted;
mod seeds;
pub mod stored_file;
pub mod stored_tree;
pub mod targets;
pub mod texts;

use crate::subject::{CoreSubject, Subject};
use herma_core::Environment;
use herma_core::disk::{Disk, SystemDisk};
use herma_model::answer::{CheckpointOutcome, Code};
use herma_model::{Answer, ByteString, Request, Settings};
use memory_disk::{MemoryDisk, Tree};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The project with the checkpoints.
const PROJECT: &str = "/root/work/alpha";
/// The base of its store.
const BASE: &str = "/root/home/.hermes/checkpoints";
/// What must never change: files that a link or a name may lead to.
const OUTSIDE: [&str; 3] =
    ["/root/outside/secret.txt", "/root/work/beta/b.txt", "/root/work/alpha/.git/HEAD"];
/// The most calls to the disk for one request; every request on the starting state needs fewer than 400.
const CALLS_MAX: u64 = 20_000;

/// A disk with a project and its checkpoints, from which each oracle starts.
pub struct StartingState {
    disk: MemoryDisk,
    /// The ids of the checkpoints, oldest first.
    ids: Vec<String>,
}

impl Default for StartingState {
    fn default() -> Self {
        StartingState::new()
    }
}

impl StartingState {
    /// Takes the checkpoints.
    ///
    /// # Panics
    /// If the core cannot take a checkpoint.
    pub fn new() -> Self {
        let disk = MemoryDisk::new();
        for path in OUTSIDE {
            disk.place(Path::new(path), b"ref: refs/heads/main\n");
        }
        disk.place(&Path::new(BASE).join("agent/goal.json"), b"{\"goal\":\"done\"}");
        let mut fixture = Fixture::on(disk, Vec::new());
        for content in ["one\n", "two\n"] {
            fixture.place("a.txt", content.as_bytes());
            fixture.place("src/main.rs", content.as_bytes());
            let request = Request::Checkpoint { dir: PROJECT.into(), reason: "start".into() };
            match fixture.subject.ask(&request) {
                Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } => {
                    fixture.ids.push(id);
                }
                answer => panic!("no checkpoint in memory: {answer:?}"),
            }
        }
        fixture.subject.ask(&Request::Sweep);
        StartingState { disk: fixture.disk.copy(), ids: fixture.ids }
    }
}

/// A copy of the starting state, with the core on it.
struct Fixture {
    disk: Arc<MemoryDisk>,
    subject: CoreSubject,
    ids: Vec<String>,
}

/// An answer, and what the request did.
struct Asked {
    answer: Answer,
    /// Everything on the disk afterwards.
    after: Tree,
    /// Every path that changed, appeared or disappeared.
    changed: Vec<PathBuf>,
}

impl Fixture {
    fn new(state: &StartingState) -> Self {
        Fixture::on(state.disk.copy(), state.ids.clone())
    }

    fn on(disk: MemoryDisk, ids: Vec<String>) -> Self {
        let disk = Arc::new(disk);
        let environment = Environment {
            home: "/root/home".into(),
            current_directory: "/root/work".into(),
            base: BASE.into(),
        };
        let settings = Settings::default();
        let seconds = crate::runner::FIRST_SECOND;
        let subject = CoreSubject::in_environment(disk.clone(), environment, &settings, seconds);
        Fixture { disk, subject, ids }
    }

    /// Writes a file of the project.
    fn place(&self, path: &str, content: &[u8]) {
        self.disk.place(&Path::new(PROJECT).join(path), content);
    }

    /// Makes a request, and judges what must be true of every request.
    ///
    /// # Errors
    /// The violated expectation, as a text.
    fn ask(&mut self, request: &Request) -> Result<Asked, String> {
        let failed = |why: String| Err(format!("{request:?}: {why}"));
        let before = self.disk.tree();
        let calls = self.disk.calls();
        let answer = self.subject.ask(request);
        let calls = self.disk.calls() - calls;
        let after = self.disk.tree();
        let changed = changed(&before, &after);
        if let Some(path) = changed.iter().find(|path| !is_allowed(path)) {
            return failed(format!("{} changed", path.display()));
        }
        if calls > CALLS_MAX {
            return failed(format!("{calls} calls to the disk"));
        }
        match &answer {
            Answer::Crashed(why) => failed(format!("crashed: {why}")),
            Answer::Refused { code: Code::Internal, message, .. } => {
                failed(format!("refused as an internal error: {message}"))
            }
            Answer::Refused { message, .. }
                if changed.iter().any(|path| path.starts_with(PROJECT)) =>
            {
                failed(format!("refused ({message}), but files changed"))
            }
            _ => Ok(Asked { answer, after, changed }),
        }
    }
}

/// Whether a request may change this path: one of the base, or of the project but for its own repository.
fn is_allowed(path: &Path) -> bool {
    let is_in_project = path.starts_with(PROJECT);
    let is_own_repository = path.starts_with(Path::new(PROJECT).join(".git"));
    path.starts_with(BASE) || is_in_project && !is_own_repository
}

/// Whether this is one of the objects, refs and metadata of a store, and not a lock or derived from them.
fn is_stored(path: &Path) -> bool {
    let store = Path::new(BASE).join("store");
    let names = ["objects", "refs", "projects", "packed-refs"];
    names.iter().any(|name| path.starts_with(store.join(name)))
}

/// Every path in which two trees differ.
fn changed(before: &Tree, after: &Tree) -> Vec<PathBuf> {
    let old = before.iter().filter(|(key, node)| after.get(key) != Some(node));
    let new = after.iter().filter(|(key, _)| !before.contains_key(key));
    old.chain(new).map(|(key, _)| key.path()).collect()
}

/// The name of the project in its store.
fn hash_of_project() -> String {
    hexadecimal(&Sha256::digest(PROJECT)[..8])
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The project as a request names it.
fn project() -> ByteString {
    PROJECT.into()
}

/// Writes everything below the base of a store to an empty directory, so that git can read it.
fn export(disk: &MemoryDisk, directory: &Path) -> std::io::Result<()> {
    for (key, node) in disk.tree() {
        let path = key.path();
        let Ok(below) = path.strip_prefix(BASE) else { continue };
        let target = directory.join(below);
        match disk.stat(&path)?.kind {
            herma_core::disk::Kind::Directory => std::fs::create_dir_all(target)?,
            _ => SystemDisk.write_soon(&target, &node.content, 0o644)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::memory_disk::Key;
    use super::*;

    #[test]
    fn is_allowed_holds_for_the_project_and_the_base_without_the_projects_repository() {
        let fixture = Fixture::new(&StartingState::new());
        for path in OUTSIDE {
            let before = fixture.disk.tree();
            fixture.disk.place(Path::new(path), b"harm\n");
            assert_eq!(changed(&before, &fixture.disk.tree()), [Path::new(path)]);
            assert!(!is_allowed(Path::new(path)), "{path}");
        }
        for path in [&format!("{PROJECT}/a.txt"), &format!("{BASE}/store/HEAD")] {
            assert!(is_allowed(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn the_core_restores_in_memory_what_it_captured_there() {
        let mut fixture = Fixture::new(&StartingState::new());
        let target = fixture.ids[0].as_str().into();
        let request = Request::Restore { dir: project(), target, exact: true, force: false };
        let asked = fixture.ask(&request).expect("nothing else changes");
        assert!(matches!(asked.answer, Answer::Restored(_)), "{:?}", asked.answer);
        let restored = &asked.after[&Key::of(&Path::new(PROJECT).join("src/main.rs"))];
        assert_eq!(&restored.content[..], b"one\n");
    }

    // rule: cost/unchanged
    #[test]
    fn an_unchanged_project_costs_one_call_for_each_file_and_folder_and_a_few() {
        let mut fixture = Fixture::new(&StartingState::new());
        let folders = 100;
        let files = 20;
        for folder in 0..folders {
            for file in 0..files {
                let path = format!("{folder}/{file}.txt");
                fixture.place(&path, path.as_bytes());
            }
        }
        let mut calls = || {
            let before = fixture.disk.calls();
            let request = Request::Checkpoint { dir: project(), reason: "r".into() };
            fixture.subject.ask(&request);
            fixture.disk.calls() - before
        };
        let first = calls();
        // The index is written again once the clock has advanced beyond the first one.
        calls();
        let unchanged = calls();
        // A listing and a stat of each folder, a stat of each file. This number only falls.
        let at_most = folders * (2 + files) + 149;
        assert!(unchanged <= at_most, "{unchanged} calls, at most {at_most}");
        assert!(first > 2 * unchanged, "{first} calls for the first checkpoint");
    }
}
