//! What may be wrong with a machine: every refusal is typed, has a code, says what was not
//! changed, and nothing panics.

use herma_core::disk::Disk;
use herma_core::{
    Clock, Config, Environment, Error, Manager, Outcome, ProjectState, RestoreOptions,
};
use herma_harness::subject::{Call, HookedDisk};
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

struct Noon;

impl Clock for Noon {
    fn seconds(&self) -> i64 {
        1_773_662_400
    }
}

/// A home, a base and one project, and managers over them.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(machine.project().join("src")).unwrap();
        machine.write("a.txt", "one\n");
        machine.write("src/b.txt", "two\n");
        machine
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    fn base(&self) -> PathBuf {
        self.root().join("home/.hermes/checkpoints")
    }

    fn write(&self, path: &str, content: &str) {
        fs::write(self.project().join(path), content).unwrap();
    }

    fn on(&self, disk: impl Disk + 'static) -> Manager {
        self.with(disk, Config::default())
    }

    fn with(&self, disk: impl Disk + 'static, config: Config) -> Manager {
        let environment = Environment {
            home: self.root().join("home"),
            current_directory: self.root(),
            base: self.base(),
        };
        let config = Config { enabled: true, ..config };
        Manager::new(Arc::new(disk), Arc::new(Noon), environment, config)
    }

    fn manager(&self) -> Manager {
        self.on(HookedDisk::of_an_ordinary_user())
    }

    fn take(&self) -> String {
        match self.manager().checkpoint(&self.project(), "taken").unwrap().outcome {
            Outcome::Created { id } => id,
            outcome => panic!("{outcome:?}"),
        }
    }

    fn git_finds_nothing_broken(&self) -> bool {
        let mut git = std::process::Command::new("git");
        git.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        git.env("HOME", self.root()).arg("--git-dir").arg(self.base().join("store"));
        git.args(["fsck", "--full"]).output().unwrap().status.success()
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    result.unwrap_err().code()
}

#[test]
fn a_file_in_the_place_of_the_base_or_the_store_is_no_store() {
    for place in ["home/.hermes", "home/.hermes/checkpoints", "home/.hermes/checkpoints/store"] {
        let machine = Machine::new();
        let file = machine.root().join(place);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "mine\n").unwrap();
        let manager = machine.manager();
        let taken = manager.checkpoint(&machine.project(), "r");
        assert!(["store_unusable", "io"].contains(&code(taken)), "{place}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
        assert_eq!(fs::read_to_string(machine.project().join("a.txt")).unwrap(), "one\n");
    }
}

#[test]
fn folders_missing_from_the_store_are_made_again() {
    for folder in ["refs", "indexes", "projects", "locks", "info", "fresh", "objects/pack"] {
        let machine = Machine::new();
        let id = machine.take();
        let path = machine.base().join("store").join(folder);
        if folder != "refs" {
            fs::remove_dir_all(&path).unwrap();
            assert_eq!(machine.manager().list(&machine.project()).unwrap()[0].id, id, "{folder}");
        } else {
            fs::remove_dir_all(&path).unwrap();
        }
        machine.write("a.txt", "two\n");
        machine.take();
        assert!(machine.git_finds_nothing_broken(), "{folder}");
    }
}

#[test]
fn damaged_parts_of_one_project_leave_the_others_alone_and_heal() {
    let machine = Machine::new();
    let other = machine.root().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("x"), "x\n").unwrap();
    machine.take();
    let manager = machine.manager();
    manager.checkpoint(&other, "other").unwrap();
    let hash = manager.status().unwrap().projects;
    let hash = &hash.iter().find(|one| one.workdir.as_deref() == machine.project().to_str());
    let hash = hash.unwrap().hash.clone();
    let store = machine.base().join("store");
    for (file, garbage) in [
        (format!("projects/{hash}.json"), "{\"workdir\": 3"),
        (format!("indexes/{hash}"), "DIRC garbage"),
    ] {
        fs::write(store.join(&file), garbage).unwrap();
        machine.write("a.txt", &file);
        machine.take();
        assert_ne!(fs::read(store.join(&file)).unwrap(), garbage.as_bytes(), "{file} healed");
    }
    fs::write(store.join(format!("refs/hermes/{hash}")), "no id\n").unwrap();
    assert_eq!(code(manager.list(&machine.project())), "store_unusable");
    assert_eq!(manager.list(&other).unwrap().len(), 1);
    let status = manager.status().unwrap();
    assert_eq!(status.projects.len(), 2);
    let damaged = status.projects.iter().find(|one| one.hash == hash).unwrap();
    assert_eq!((damaged.checkpoints, damaged.state), (None, ProjectState::Live));
}

#[test]
fn a_directory_that_vanishes_at_any_step_gives_an_answer_and_a_sound_store() {
    let operations: [fn(&Manager, &Path); 4] = [
        |manager, project| drop(manager.checkpoint(project, "r")),
        |manager, project| drop(manager.diff(project, b"1")),
        |manager, project| {
            drop(manager.restore(project, b"2", RestoreOptions { exact: true, force: false }));
        },
        |manager, project| drop(manager.restore_file(project, b"2", b"a.txt")),
    ];
    for operation in operations {
        let mut steps = 0;
        loop {
            let machine = Machine::new();
            machine.take();
            machine.write("a.txt", "two\n");
            let newest = machine.take();
            machine.write("src/c.txt", "three\n");
            let (doomed, calls) = (machine.project(), Arc::new(AtomicUsize::new(0)));
            let counted = Arc::clone(&calls);
            let disk = HookedDisk::new(move |_, _| {
                if counted.fetch_add(1, Ordering::Relaxed) == steps {
                    fs::remove_dir_all(&doomed)?;
                }
                Ok(())
            });
            operation(&machine.on(disk), &machine.project());
            let vanished = calls.load(Ordering::Relaxed) > steps;
            let listed = machine.manager().list(&machine.project()).unwrap();
            assert!(listed.iter().any(|one| one.id == newest), "step {steps}");
            assert!(machine.git_finds_nothing_broken(), "step {steps}");
            if !vanished {
                break;
            }
            steps += 1;
        }
        assert!(steps > 20, "only {steps} steps were interrupted");
    }
}

#[test]
fn every_call_may_fail_and_what_was_stored_stays() {
    for kind in [io::ErrorKind::StorageFull, io::ErrorKind::PermissionDenied] {
        let mut step = 0;
        loop {
            let machine = Machine::new();
            let before = machine.take();
            machine.write("a.txt", "two\n");
            let calls = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&calls);
            let disk = HookedDisk::new(move |_, _| {
                let now = counted.fetch_add(1, Ordering::Relaxed);
                if now == step { Err(kind.into()) } else { Ok(()) }
            });
            let taken = machine.on(disk).checkpoint(&machine.project(), "r");
            let failed = calls.load(Ordering::Relaxed) > step;
            let listed = machine.manager().list(&machine.project()).unwrap();
            assert_eq!(listed.last().map(|one| &one.id), Some(&before), "step {step}");
            match taken {
                Ok(taken) => {
                    let Outcome::Created { id } = taken.outcome else { panic!("step {step}") };
                    assert_eq!(listed[0].id, id, "step {step}");
                    // What is not reported as left out is in the checkpoint.
                    let diff = machine.manager().diff(&machine.project(), b"1").unwrap();
                    assert_eq!(diff.entries.is_empty(), taken.skipped.is_empty(), "step {step}");
                }
                Err(error) => {
                    // The take after the fault succeeds, unless the checkpoint is there already.
                    machine.manager().checkpoint(&machine.project(), "again").unwrap();
                    assert!(!error.code().is_empty());
                    assert_eq!(machine.manager().list(&machine.project()).unwrap().len(), 2);
                }
            }
            assert!(machine.git_finds_nothing_broken(), "step {step}");
            if !failed {
                break;
            }
            step += 1;
        }
        assert!(step > 20, "only {step} steps failed");
    }
}

#[test]
fn whatever_call_fails_a_restore_destroys_nothing_that_is_not_held() {
    let mut step = 0;
    loop {
        let machine = Machine::new();
        machine.write("big.txt", "small\n");
        machine.take();
        // Ignored by now, so that no checkpoint holds what is in it.
        machine.write(".gitignore", "big.txt\n");
        machine.write("big.txt", "the only copy\n");
        machine.write("a.txt", "the newest copy\n");
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let disk = HookedDisk::new(move |_, _| {
            let now = counted.fetch_add(1, Ordering::Relaxed);
            if now == step { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
        });
        let options = RestoreOptions { exact: true, force: false };
        let restored = machine.on(disk).restore(&machine.project(), b"1", options);
        let failed = calls.load(Ordering::Relaxed) > step;
        let text = |path: &str| fs::read_to_string(machine.project().join(path)).unwrap();
        for (path, content) in [("big.txt", "the only copy\n"), ("a.txt", "the newest copy\n")] {
            if text(path) == content {
                continue;
            }
            let safety = restored.as_ref().ok().and_then(|restored| restored.safety.clone());
            let safety = safety.unwrap_or_else(|| panic!("step {step}: {path} is not held"));
            let (project, id) = (machine.project(), safety.as_bytes());
            machine.manager().restore_file(&project, id, path.as_bytes()).unwrap();
            assert_eq!(text(path), content, "step {step}: {path} is lost");
        }
        if !failed {
            break;
        }
        step += 1;
    }
    assert!(step > 40, "only {step} steps failed");
}

#[test]
fn an_unreadable_directory_is_left_out_and_named() {
    let machine = Machine::new();
    fs::set_permissions(machine.project().join("src"), fs::Permissions::from_mode(0o000)).unwrap();
    let taken = machine.manager().checkpoint(&machine.project(), "r").unwrap();
    assert!(matches!(taken.outcome, Outcome::Created { .. }));
    assert_eq!(taken.skipped[0].path, b"src");
    fs::set_permissions(machine.project().join("src"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn files_that_cannot_be_read_do_not_count_towards_the_limit() {
    let machine = Machine::new();
    symlink("nowhere", machine.project().join("link")).unwrap();
    for closed in ["closed.txt", "other.txt"] {
        machine.write(closed, "mine\n");
        let closed = machine.project().join(closed);
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    }
    let limited = |max_files| {
        let config = Config { max_files, ..Config::default() };
        machine.with(HookedDisk::of_an_ordinary_user(), config)
    };
    assert_eq!(code(limited(2).checkpoint(&machine.project(), "r")), "too_many_files");
    let taken = limited(3).checkpoint(&machine.project(), "r").unwrap();
    assert!(matches!(taken.outcome, Outcome::Created { .. }), "{taken:?}");
    let skipped: Vec<&[u8]> = taken.skipped.iter().map(|one| &one.path[..]).collect();
    assert_eq!(skipped, [&b"closed.txt"[..], b"other.txt"]);
}

#[test]
fn a_folder_that_another_process_makes_at_the_same_moment_is_as_good() {
    let machine = Machine::new();
    let disk = HookedDisk::new(|call, path| match call {
        Call::MakeDirectory => fs::create_dir(path),
        _ => Ok(()),
    });
    let taken = machine.on(disk).checkpoint(&machine.project(), "r").unwrap();
    assert!(matches!(taken.outcome, Outcome::Created { .. }), "{taken:?}");
    assert!(machine.git_finds_nothing_broken());
}

#[test]
fn a_file_that_vanishes_before_it_is_looked_at_is_simply_not_there() {
    let machine = Machine::new();
    let vanishing = machine.project().join("a.txt");
    let disk = HookedDisk::new(move |call, path| match call {
        Call::Stat if path == vanishing && path.exists() => fs::remove_file(path),
        _ => Ok(()),
    });
    let taken = machine.on(disk).checkpoint(&machine.project(), "r").unwrap();
    assert!(matches!(taken.outcome, Outcome::Created { .. }), "{taken:?}");
    assert!(taken.skipped.is_empty(), "{taken:?}");
}

#[test]
fn a_project_whose_name_is_no_text_is_one_like_any_other() {
    use std::os::unix::ffi::OsStrExt;
    let machine = Machine::new();
    let project = machine.root().join(std::ffi::OsStr::from_bytes(b"p\xff\n\"x"));
    fs::create_dir(&project).unwrap();
    fs::write(project.join("a"), "a\n").unwrap();
    symlink("nowhere", project.join("dangling")).unwrap();
    let manager = machine.manager();
    manager.checkpoint(&project, "r").unwrap();
    fs::remove_file(project.join("dangling")).unwrap();
    let restored = manager.restore(&project, b"1", RestoreOptions::default()).unwrap();
    assert_eq!(restored.restored, [b"dangling".to_vec()]);
    assert_eq!(fs::read_link(project.join("dangling")).unwrap(), Path::new("nowhere"));
    assert_eq!(manager.status().unwrap().projects[0].state, ProjectState::Live);
}

#[test]
fn a_restore_that_fails_half_way_names_what_it_could_not_bring_back() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "two\n");
    machine.write("src/b.txt", "three\n");
    let project = machine.project();
    let failing = project.join("src");
    let disk = HookedDisk::new(move |call, path| {
        let writes = matches!(call, Call::WriteNew | Call::MakeLink);
        if writes && path.starts_with(&failing) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    });
    let restored = machine.on(disk).restore(&project, b"1", RestoreOptions::default()).unwrap();
    assert_eq!(restored.restored, [b"a.txt".to_vec()]);
    assert_eq!(restored.failed[0].path, b"src/b.txt");
    assert!(!restored.undoes_turn);
    assert_eq!(fs::read_to_string(project.join("src/b.txt")).unwrap(), "three\n");
    let again = machine.manager().restore(&project, b"2", RestoreOptions::default()).unwrap();
    assert!(again.failed.is_empty());
    assert_eq!(fs::read_to_string(project.join("src/b.txt")).unwrap(), "two\n");
}

/// Runs git on the store, with the project as its work tree.
fn git(machine: &Machine, arguments: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", machine.root());
    let store = machine.base().join("store");
    git.arg("--git-dir").arg(&store).arg("--work-tree").arg(machine.project());
    let index = fs::read_dir(store.join("indexes")).unwrap().next().unwrap().unwrap().path();
    let ended = git.env("GIT_INDEX_FILE", index).args(arguments).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn an_index_that_git_wrote_is_not_taken_for_the_bytes_of_files() {
    let machine = Machine::new();
    machine.take();
    fs::remove_file(machine.base().join("store/info/attributes")).unwrap();
    machine.write(".gitattributes", "* text=auto\n");
    machine.write("crlf.txt", "one\r\ntwo\r\n");
    // Git trusts only what is older than its index.
    std::thread::sleep(std::time::Duration::from_millis(30));
    git(&machine, &["add", "--all"]);
    machine.take();
    machine.write("crlf.txt", "changed\n");
    machine.manager().restore(&machine.project(), b"1", RestoreOptions::default()).unwrap();
    assert_eq!(fs::read(machine.project().join("crlf.txt")).unwrap(), b"one\r\ntwo\r\n");
}

#[test]
fn a_blob_that_the_store_has_lost_is_made_again() {
    let machine = Machine::new();
    std::thread::sleep(std::time::Duration::from_millis(30));
    machine.take();
    let store = machine.base().join("store");
    for entry in fs::read_dir(store.join("refs/hermes")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    // Git would keep what the index names, so that is put back afterwards.
    let indexes = store.join("indexes");
    fs::rename(&indexes, store.join("aside")).unwrap();
    let mut prune = std::process::Command::new("git");
    prune.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", machine.root());
    prune.arg("--git-dir").arg(&store).args(["gc", "--quiet", "--prune=now"]);
    assert!(prune.status().unwrap().success());
    fs::rename(store.join("aside"), &indexes).unwrap();
    machine.take();
    assert!(machine.git_finds_nothing_broken());
}

#[test]
fn a_link_that_cannot_be_removed_is_not_written_through() {
    let machine = Machine::new();
    machine.take();
    let (outside, link) = (machine.root().join("outside"), machine.project().join("src"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("b.txt"), "not ours\n").unwrap();
    fs::remove_dir_all(&link).unwrap();
    symlink(&outside, &link).unwrap();
    let disk = HookedDisk::new(move |call, path| {
        if call == Call::RemoveFile && path == link {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    });
    let restored =
        machine.on(disk).restore(&machine.project(), b"1", RestoreOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(outside.join("b.txt")).unwrap(), "not ours\n");
    assert!(restored.restored.is_empty());
    assert!(restored.failed.iter().any(|failed| failed.path == b"src/b.txt"));
}

#[test]
fn what_somebody_writes_while_a_restore_runs_is_kept() {
    let machine = Machine::new();
    machine.take();
    machine.write("a.txt", "mine\n");
    machine.write("src/b.txt", "mine\n");
    let (project, raced) = (machine.project(), machine.project().join("src/b.txt"));
    let disk = HookedDisk::new(move |call, path| {
        if call == Call::WriteNew && path.starts_with(&project) {
            fs::write(&raced, "written just now\n")?;
        }
        Ok(())
    });
    let options = RestoreOptions { exact: true, force: false };
    let restored = machine.on(disk).restore(&machine.project(), b"1", options).unwrap();
    assert_eq!(restored.kept[0].path, b"src/b.txt");
    let text = fs::read_to_string(machine.project().join("src/b.txt")).unwrap();
    assert_eq!(text, "written just now\n");
}

#[test]
fn a_file_that_only_its_owner_may_read_stays_that_way() {
    let machine = Machine::new();
    let path = machine.project().join("a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    machine.take();
    machine.write("a.txt", "two\n");
    machine.manager().restore(&machine.project(), b"1", RestoreOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
