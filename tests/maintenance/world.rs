//! A base and some projects on a clock that is set by hand.

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

/// Noon of 16 March 2026, when every world begins.
pub const NOON: i64 = 1_773_662_400;
/// Seconds of a day.
pub const DAY: i64 = 24 * 60 * 60;

#[derive(Default)]
struct HandClock(AtomicI64);

impl Clock for HandClock {
    fn seconds(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub struct World {
    _folder: TempDir,
    /// The canonical path of the folder that all of it is in.
    pub root: PathBuf,
    clock: Arc<HandClock>,
}

impl World {
    pub fn new() -> World {
        // In memory where there is one: much is written here, and waited for until it is durable.
        let folder = Scratch::default_place().temporary().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("home")).unwrap();
        let world = World { _folder: folder, root, clock: Arc::default() };
        world.set_clock(NOON);
        world
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

    pub fn on(&self, disk: impl Disk + 'static, config: Config) -> Manager {
        let environment = Environment {
            home: self.root.join("home"),
            current_directory: self.root.clone(),
            base: self.base(),
        };
        Manager::new(Arc::new(disk), self.clock.clone(), environment, config)
    }

    pub fn manager(&self) -> Manager {
        self.on(SystemDisk, Config::default())
    }

    /// Writes a file of a project, which is made for it.
    pub fn write(&self, project: &str, content: &str) {
        fs::create_dir_all(self.project(project)).unwrap();
        fs::write(self.project(project).join("a.txt"), content).unwrap();
    }

    /// Changes a project and takes a checkpoint of it, which must be taken.
    #[track_caller]
    pub fn take(&self, project: &str, content: &str) -> String {
        self.write(project, content);
        created(&self.manager(), &self.project(project), content)
    }

    /// The same where only so many are kept.
    #[track_caller]
    pub fn take_keeping(&self, max_snapshots: usize, project: &str, content: &str) -> String {
        self.write(project, content);
        let manager = self.on(SystemDisk, Config { max_snapshots, ..Config::default() });
        // The file may be large, and only it is to be.
        created(&manager, &self.project(project), content.get(..20).unwrap_or(content))
    }

    /// The reasons of the checkpoints of a project, newest first.
    #[track_caller]
    pub fn list(&self, project: &str) -> Vec<String> {
        let listed = self.manager().list(&self.project(project)).unwrap();
        listed.into_iter().map(|one| one.reason).collect()
    }

    /// Brings the newest checkpoint back, whose reason is what the file must then hold.
    #[track_caller]
    pub fn restores(&self, project: &str) {
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

    /// Prunes as that is by itself, on that disk.
    #[track_caller]
    pub fn prune_on(&self, disk: impl Disk + 'static) -> Pruned {
        let options = PruneOptions::from(&Config::default());
        self.on(disk, Config::default()).prune(&options, &mut |_| {}).unwrap()
    }

    #[track_caller]
    pub fn prune_with(&self, options: &PruneOptions) -> Pruned {
        self.manager().prune(options, &mut |_| {}).unwrap()
    }

    /// The hash of a project, by the metadata of the one that has that directory.
    #[track_caller]
    pub fn hash(&self, project: &str) -> String {
        let all = self.manager().status().unwrap().projects;
        let workdir = self.project(project).to_str().unwrap().to_owned();
        let found = all.into_iter().find(|one| one.workdir.as_ref() == Some(&workdir));
        found.unwrap().hash
    }

    pub fn metadata(&self, project: &str) -> PathBuf {
        self.store().join("projects").join(self.hash(project) + ".json")
    }

    pub fn reference(&self, project: &str) -> PathBuf {
        self.store().join("refs/hermes").join(self.hash(project))
    }

    /// The names in the base.
    pub fn in_base(&self) -> Vec<String> {
        let entries = fs::read_dir(self.base()).into_iter().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A v1 repository with one commit that says no directory, whose files last changed at `changed`.
    pub fn v1_repository(&self, name: &str, changed: i64) -> PathBuf {
        let path = self.base().join(name);
        fs::create_dir_all(&path).unwrap();
        let commit = ["commit", "--quiet", "--message", "v1", "--allow-empty"];
        for words in [&["init", "--quiet"], &commit[..]] {
            let mut git = git(&path);
            git.env("GIT_WORK_TREE", &self.root).args(words);
            succeeds(git);
        }
        fs::write(path.join("HERMES_WORKDIR"), "").unwrap();
        let mut touch = Command::new("find");
        touch
            .arg(&path)
            .args(["-exec", "touch", "-d"])
            .arg(format!("@{changed}"))
            .args(["{}", "+"]);
        succeeds(touch);
        path
    }

    /// A v1 archive with the least that is a repository of v1 in it, of so many bytes.
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

    /// The id of a file as that checkpoint has it.
    #[track_caller]
    pub fn blob(&self, commit: &str, name: &str) -> String {
        self.git(&["rev-parse", &format!("{commit}:{name}")])
    }

    /// Where that object has its own file.
    pub fn loose(&self, id: &str) -> PathBuf {
        self.store().join("objects").join(&id[..2]).join(&id[2..])
    }

    /// Damages one byte of an object in a pack.
    #[track_caller]
    pub fn spoil(&self, pack: &Path, id: &str) {
        let mut show = git(&self.store());
        show.arg("show-index").stdin(fs::File::open(pack.with_extension("idx")).unwrap());
        let listed = String::from_utf8(succeeds(show).stdout).unwrap();
        let line = listed.lines().find(|line| line.contains(id)).unwrap();
        let offset: usize = line.split(' ').next().unwrap().parse().unwrap();
        let mut bytes = fs::read(pack).unwrap();
        bytes[offset + 8] ^= 0xff;
        put(pack, &bytes);
    }

    /// All that every checkpoint needs is whole.
    #[track_caller]
    pub fn nothing_is_lost(&self) {
        let verified = self.manager().verify(&mut |_, _| ()).unwrap();
        assert!(verified.damaged.is_empty(), "{:?}", verified.damaged);
    }

    /// What plain git says to this about the store.
    #[track_caller]
    pub fn git(&self, words: &[&str]) -> String {
        let mut git = git(&self.store());
        git.args(words);
        String::from_utf8(succeeds(git).stdout).unwrap().trim_end().to_owned()
    }

    #[track_caller]
    pub fn git_finds_nothing_broken(&self) {
        self.git(&["fsck", "--full", "--strict"]);
    }
}

/// Takes a checkpoint, which must be taken, and answers its id.
#[track_caller]
pub fn created(manager: &Manager, project: &Path, reason: &str) -> String {
    match manager.checkpoint(project, reason).unwrap().outcome {
        Outcome::Created { id } => id,
        outcome => panic!("{outcome:?}"),
    }
}

/// Puts other bytes in the place of a file that nobody may write.
pub fn put(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A disk on which something happens before such a call where the path is such a one, and fails it
/// by failing.
pub fn before(
    step: Call,
    is_one: impl Fn(&Path) -> bool + Send + Sync + 'static,
    happening: impl Fn(&Path) -> io::Result<()> + Send + Sync + 'static,
) -> HookedDisk {
    HookedDisk::new(
        move |call, path| if call == step && is_one(path) { happening(path) } else { Ok(()) },
    )
}

/// A disk on which such a call fails so where the path is such a one.
pub fn failing(
    step: Call,
    kind: ErrorKind,
    is_one: impl Fn(&Path) -> bool + Send + Sync + 'static,
) -> HookedDisk {
    before(step, is_one, move |_| Err(kind.into()))
}

/// So many bytes that hardly compress, and are no others' of another `seed`.
pub fn noise(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + (state >> 58) as u8)
    };
    (0..bytes).map(|_| next()).collect()
}

/// Git on that repository, with nothing of this machine's configuration.
pub fn git(repository: &Path) -> Command {
    let mut git = Command::new("git");
    git.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    git.env("HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@b");
    }
    git.arg("--git-dir").arg(repository);
    git
}

#[track_caller]
pub fn succeeds(mut command: Command) -> Output {
    let ended = command.output().unwrap();
    // Git says on standard output what is missing.
    let said = String::from_utf8_lossy(&[&ended.stdout[..], &ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "{command:?}: {}: {said}", ended.status);
    ended
}

/// Takes out of the metadata of a project what it notes of its checkpoints.
pub fn forget_checkpoints(metadata: &Path) {
    let text = fs::read(metadata).unwrap();
    let mut noted: serde_json::Value = serde_json::from_slice(&text).unwrap();
    noted.as_object_mut().unwrap().remove("checkpoints").unwrap();
    fs::write(metadata, noted.to_string()).unwrap();
}
