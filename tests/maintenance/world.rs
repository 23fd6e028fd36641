//! The fixture of the store tests: a base and some projects, with a clock that is set manually.

use herma_core::disk::{Disk, SystemDisk};
use herma_core::{
    Clock, Config, Environment, Manager, Outcome, PruneOptions, Pruned, RestoreOptions,
};
use herma_harness::sandbox::Scratch;
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;

/// Noon of 16 March 2026, the initial time of every fixture.
pub const NOON: i64 = 1_773_662_400;
/// Seconds of a day.
pub const DAY: i64 = 24 * 60 * 60;

#[derive(Default)]
struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn seconds(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub struct StoreFixture {
    _folder: TempDir,
    /// The canonical path of the folder that contains everything.
    pub root: PathBuf,
    clock: Arc<ManualClock>,
}

impl StoreFixture {
    pub fn new() -> StoreFixture {
        // In memory if possible, since the tests write and sync a lot.
        let folder = Scratch::in_default_directory().temporary().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("home")).unwrap();
        let fixture = StoreFixture { _folder: folder, root, clock: Arc::default() };
        fixture.set_clock(NOON);
        fixture
    }

    pub fn set_clock(&self, seconds: i64) {
        self.clock.0.store(seconds, Ordering::Relaxed);
    }

    pub fn base(&self) -> PathBuf {
        self.root.join("home/.hermes/checkpoints")
    }

    pub fn store(&self) -> PathBuf {
        self.base().join("store")
    }

    pub fn project(&self, name: &str) -> PathBuf {
        self.root.join("code").join(name)
    }

    pub fn manager_on(&self, disk: impl Disk + 'static, config: Config) -> Manager {
        let environment = Environment {
            home: self.root.join("home"),
            current_directory: self.root.clone(),
            base: self.base(),
        };
        Manager::new(Arc::new(disk), self.clock.clone(), environment, config)
    }

    pub fn manager(&self) -> Manager {
        self.manager_on(SystemDisk, Config::default())
    }

    /// Writes the file `a.txt` of a project, which is created if necessary.
    pub fn write(&self, project: &str, content: &str) {
        fs::create_dir_all(self.project(project)).unwrap();
        fs::write(self.project(project).join("a.txt"), content).unwrap();
    }

    /// Changes a project and takes a checkpoint of it, which must be created; returns its id.
    #[track_caller]
    pub fn take(&self, project: &str, content: &str) -> String {
        self.write(project, content);
        take_checkpoint(&self.manager(), &self.project(project), content)
    }

    /// As [`Self::take`], with a limit on the number of checkpoints.
    #[track_caller]
    pub fn take_with_limit(&self, max_snapshots: usize, project: &str, content: &str) -> String {
        self.write(project, content);
        let manager = self.manager_on(SystemDisk, Config { max_snapshots, ..Config::default() });
        // The file may be large, but the reason must not be.
        take_checkpoint(&manager, &self.project(project), content.get(..20).unwrap_or(content))
    }

    /// The reasons of the checkpoints of a project, newest first.
    #[track_caller]
    pub fn list(&self, project: &str) -> Vec<String> {
        let listed = self.manager().list(&self.project(project)).unwrap();
        listed.into_iter().map(|entry| entry.reason).collect()
    }

    /// Restores the newest checkpoint, and asserts that the file then contains the reason of the checkpoint.
    #[track_caller]
    pub fn assert_newest_is_restored(&self, project: &str) {
        let content = self.list(project).remove(0);
        self.write(project, "");
        let options = RestoreOptions::default();
        self.manager().restore(&self.project(project), b"1", options).unwrap();
        let found = fs::read_to_string(self.project(project).join("a.txt")).unwrap();
        assert_eq!(found, content);
    }

    #[track_caller]
    pub fn prune(&self) -> Pruned {
        self.prune_with(&PruneOptions::from(&Config::default()))
    }

    /// Prunes with the default options on that disk.
    #[track_caller]
    pub fn prune_on(&self, disk: impl Disk + 'static) -> Pruned {
        let options = PruneOptions::from(&Config::default());
        self.manager_on(disk, Config::default()).prune(&options, &mut |_| {}).unwrap()
    }

    #[track_caller]
    pub fn prune_with(&self, options: &PruneOptions) -> Pruned {
        self.manager().prune(options, &mut |_| {}).unwrap()
    }

    /// The hash of the project with that directory, read from the metadata.
    #[track_caller]
    pub fn hash(&self, project: &str) -> String {
        let projects = self.manager().status().unwrap().projects;
        let workdir = Some(self.project(project).into());
        let found = projects.into_iter().find(|project| project.workdir == workdir);
        found.unwrap().hash
    }

    pub fn metadata(&self, project: &str) -> PathBuf {
        self.store().join("projects").join(self.hash(project) + ".json")
    }

    pub fn reference(&self, project: &str) -> PathBuf {
        self.store().join("refs/hermes").join(self.hash(project))
    }

    /// The sorted names in the base.
    pub fn names_in_base(&self) -> Vec<String> {
        let entries = fs::read_dir(self.base()).into_iter().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A v1 repository with one commit and no recorded directory, whose files have the modification time
    /// `changed`.
    pub fn v1_repository(&self, name: &str, changed: i64) -> PathBuf {
        let path = self.base().join(name);
        fs::create_dir_all(&path).unwrap();
        let commit = ["commit", "--quiet", "--message", "v1", "--allow-empty"];
        for words in [&["init", "--quiet"], &commit[..]] {
            let mut git = git(&path);
            git.env("GIT_WORK_TREE", &self.root).args(words);
            run_checked(git);
        }
        fs::write(path.join("HERMES_WORKDIR"), "").unwrap();
        let mut touch = Command::new("find");
        touch
            .arg(&path)
            .args(["-exec", "touch", "-d"])
            .arg(format!("@{changed}"))
            .args(["{}", "+"]);
        run_checked(touch);
        path
    }

    /// A v1 archive of that many bytes with a minimal v1 repository.
    pub fn archive(&self, name: &str, bytes: usize) -> PathBuf {
        let repository = self.base().join(name).join("x");
        fs::create_dir_all(repository.join("objects")).unwrap();
        fs::write(repository.join("HEAD"), vec![b'x'; bytes]).unwrap();
        fs::write(repository.join("HERMES_WORKDIR"), "").unwrap();
        repository
    }

    /// Writes a file of the project `project`.
    pub fn write_file(&self, name: &str, content: &str) {
        fs::create_dir_all(self.project("project")).unwrap();
        fs::write(self.project("project").join(name), content).unwrap();
    }

    /// The packs of the store.
    pub fn packs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.store().join("objects/pack")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "pack")).collect()
    }

    /// The blob id of a file in that checkpoint.
    #[track_caller]
    pub fn blob_id(&self, commit: &str, name: &str) -> String {
        self.git(&["rev-parse", &format!("{commit}:{name}")])
    }

    /// The path of that object as a loose object.
    pub fn loose_object(&self, id: &str) -> PathBuf {
        self.store().join("objects").join(&id[..2]).join(&id[2..])
    }

    /// Damages one byte of an object in a pack.
    #[track_caller]
    pub fn corrupt_packed_object(&self, pack: &Path, id: &str) {
        let mut show = git(&self.store());
        show.arg("show-index").stdin(fs::File::open(pack.with_extension("idx")).unwrap());
        let listed = String::from_utf8(run_checked(show).stdout).unwrap();
        let line = listed.lines().find(|line| line.contains(id)).unwrap();
        let offset: usize = line.split(' ').next().unwrap().parse().unwrap();
        let mut bytes = fs::read(pack).unwrap();
        bytes[offset + 8] ^= 0xff;
        replace_file(pack, &bytes);
    }

    /// Asserts that every object of every checkpoint is intact.
    #[track_caller]
    pub fn assert_nothing_is_lost(&self) {
        let verified = self.manager().verify(&mut |_, _| ()).unwrap();
        assert!(verified.damaged.is_empty(), "{:?}", verified.damaged);
    }

    /// The output of plain git, run with these words on the store.
    #[track_caller]
    pub fn git(&self, words: &[&str]) -> String {
        let mut git = git(&self.store());
        git.args(words);
        String::from_utf8(run_checked(git).stdout).unwrap().trim_end().to_owned()
    }

    #[track_caller]
    pub fn assert_fsck_clean(&self) {
        self.git(&["fsck", "--full", "--strict"]);
    }
}

/// Takes a checkpoint, which must be created, and returns its id.
#[track_caller]
pub fn take_checkpoint(manager: &Manager, project: &Path, reason: &str) -> String {
    match manager.checkpoint(project, reason).unwrap().outcome {
        Outcome::Created { id } => id,
        outcome => panic!("{outcome:?}"),
    }
}

/// Replaces a read-only file by one with other bytes.
pub fn replace_file(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A disk on which `action` runs before each call of this kind whose path matches; an error of the action fails
/// the call.
pub fn before_call(
    hooked_call: Call,
    matches: impl Fn(&Path) -> bool + Send + Sync + 'static,
    action: impl Fn(&Path) -> io::Result<()> + Send + Sync + 'static,
) -> HookedDisk {
    HookedDisk::new(
        move |call, path| if call == hooked_call && matches(path) { action(path) } else { Ok(()) },
    )
}

/// A disk on which each call of this kind whose path matches fails with this error.
pub fn fail_calls(
    failing_call: Call,
    kind: ErrorKind,
    matches: impl Fn(&Path) -> bool + Send + Sync + 'static,
) -> HookedDisk {
    before_call(failing_call, matches, move |_| Err(kind.into()))
}

/// That many bytes which hardly compress, different for each `seed`.
pub fn noise(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + (state >> 58) as u8)
    };
    (0..bytes).map(|_| next()).collect()
}

/// Git on that repository, isolated from the configuration of the machine.
pub fn git(repository: &Path) -> Command {
    let mut git = Command::new("git");
    git.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    git.env("HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "a").env(format!("GIT_{role}_EMAIL"), "a@b");
    }
    git.arg("--git-dir").arg(repository);
    git
}

#[track_caller]
pub fn run_checked(mut command: Command) -> Output {
    let output = command.output().unwrap();
    // Git reports missing objects on standard output.
    let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?}: {}: {text}", output.status);
    output
}

/// Removes the record of checkpoints from the metadata of a project.
pub fn forget_checkpoints(metadata: &Path) {
    let text = fs::read(metadata).unwrap();
    let mut value: serde_json::Value = serde_json::from_slice(&text).unwrap();
    value.as_object_mut().unwrap().remove("checkpoints").unwrap();
    fs::write(metadata, value.to_string()).unwrap();
}
