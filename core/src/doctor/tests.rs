//! Everything that can be in the way, on a machine that says what it is told to.

use super::*;
use crate::disk::{Sharing, SystemDisk};
use crate::environment::{Config, MEBIBYTE};
use crate::manager::Manager;
use pretty::assert_verdict;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Says of a finding what it was instead.
mod pretty {
    use super::super::{Check, Examined, Finding, Verdict};

    #[track_caller]
    pub fn assert_verdict(examined: &Examined, check: Check, verdict: Verdict, part: &str) {
        let found = examined.findings.iter().find(|one| one.check == check);
        let Finding { verdict: found, found: text, advice, .. } = found.expect("no such finding");
        let whole = format!("{text} -> {advice:?}");
        assert_eq!(*found, verdict, "{whole}");
        assert!(text.contains(part), "{part}: {whole}");
        assert_eq!(advice.is_some(), verdict != Verdict::Ok, "{whole}");
    }
}

/// A moment in 2026.
const NOW: i64 = 1_780_000_000;

/// A clock that stands.
#[derive(Clone, Copy)]
struct At(i64);

impl Clock for At {
    fn seconds(&self) -> i64 {
        self.0
    }
}

/// A machine on which everything may be done, but where it is said.
struct Machined {
    user: u32,
    closed: Option<PathBuf>,
    space: Space,
}

impl Machine for Machined {
    fn user(&self) -> u32 {
        self.user
    }

    fn may_write(&self, directory: &Path) -> io::Result<()> {
        match &self.closed {
            Some(closed) if closed == directory => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Ok(()),
        }
    }

    fn space(&self, _: &Path) -> io::Result<Space> {
        Ok(self.space)
    }
}

/// A home with a project of one file.
struct World {
    _folder: tempfile::TempDir,
    home: PathBuf,
    now: i64,
    machine: Machined,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        fs::create_dir(home.join("project")).unwrap();
        fs::write(home.join("project/a.txt"), "one").unwrap();
        let user = fs::metadata(&home).unwrap().uid();
        let space = Space { bytes: 1_000 * MEBIBYTE, files: Some(1_000) };
        let machine = Machined { user, closed: None, space };
        World { _folder: folder, home, now: NOW, machine }
    }

    /// One in which a checkpoint was taken.
    fn with_store() -> World {
        let world = World::new();
        let environment = Environment {
            home: world.home.clone(),
            current_directory: world.home.clone(),
            base: world.base(),
        };
        let (disk, clock) = (Arc::new(SystemDisk), Arc::new(At(NOW)));
        let manager = Manager::new(disk, clock, environment, Config::default());
        manager.checkpoint(&world.home.join("project"), "first").unwrap();
        world
    }

    fn base(&self) -> PathBuf {
        self.home.join(".hermes/checkpoints")
    }

    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            disk: &SystemDisk,
            // Only tests read it, and each for a moment.
            clock: Box::leak(Box::new(At(self.now))),
            machine: &self.machine,
            home: Some(self.home.clone()),
            hermes_home: None,
            current_directory: Some(self.home.join("project")),
        }
    }

    fn examined(&self) -> Examined {
        examine(&self.surroundings())
    }

    #[track_caller]
    fn shows(&self, check: Check, verdict: Verdict, part: &str) {
        assert_verdict(&self.examined(), check, verdict, part);
    }

    /// Makes a file of the store that was last changed so long ago.
    fn left(&self, name: &str, text: &str, seconds: u64) {
        let path = self.base().join("store").join(name);
        fs::write(&path, text).unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW as u64 - seconds);
        fs::File::open(&path).unwrap().set_modified(then).unwrap();
    }
}

use Verdict::{Notice, Ok as Fine, Trouble};

#[test]
fn where_all_is_well_only_the_default_is_to_be_noticed() {
    for world in [World::new(), World::with_store()] {
        let examined = world.examined();
        let odd: Vec<_> = examined.findings.iter().filter(|one| one.verdict > Fine).collect();
        assert_eq!(odd.iter().map(|one| one.check).collect::<Vec<_>>(), [Check::Automatic]);
        assert_eq!((examined.findings.len(), examined.verdict), (10, Notice));
        assert_verdict(&examined, Check::Project, Fine, "would hold 1 file");
    }
    let world = World::new();
    world.examined();
    assert!(!world.home.join(".hermes").exists(), "something was made");
}

#[test]
fn what_names_the_place_of_the_store() {
    let world = World::new();
    for (home, part) in [(None, "not set"), (Some(""), "not set"), (Some("here"), "no absolute")] {
        let given = Surroundings { home: home.map(PathBuf::from), ..world.surroundings() };
        let examined = examine(&given);
        assert_verdict(&examined, Check::Home, Trouble, part);
        assert_eq!(examined.findings.len(), 2, "what depends on it cannot be told");
    }
    let gone = Surroundings { home: Some("/nobody/here".into()), ..world.surroundings() };
    assert_verdict(&examine(&gone), Check::Home, Notice, "no directory");
    let relative = || Surroundings { hermes_home: Some("here".into()), ..world.surroundings() };
    assert_verdict(&examine(&relative()), Check::Home, Notice, "every directory");
    let nowhere = examine(&Surroundings { current_directory: None, ..relative() });
    assert_verdict(&nowhere, Check::Home, Trouble, "the current one is gone");
    let nowhere = examine(&Surroundings { current_directory: None, ..world.surroundings() });
    assert_verdict(&nowhere, Check::Project, Trouble, "gone");
    assert_verdict(&nowhere, Check::Base, Fine, "not there yet");
}

#[test]
fn what_the_configuration_says() {
    let world = World::new();
    fs::create_dir(world.home.join(".hermes")).unwrap();
    let write = |text: &str| fs::write(world.home.join(".hermes/config.yaml"), text).unwrap();
    write("checkpoints:\n  enabled: true\n");
    assert_eq!(world.examined().verdict, Fine);
    write("checkpoints:\n  enable: true\n");
    world.shows(Check::Configuration, Notice, "is enabled meant?");
    world.shows(Check::Automatic, Notice, "is false");
    write("checkpoints:\n  enabled: yes\n");
    world.shows(Check::Configuration, Trouble, "enabled is");
    assert!(world.examined().findings.iter().all(|one| one.check != Check::Automatic));
}

#[test]
fn a_base_that_cannot_be_made() {
    let mut world = World::new();
    world.machine.closed = Some(world.home.clone());
    world.shows(Check::Base, Trouble, "cannot be made in");
    world.machine.closed = None;
    fs::write(world.home.join(".hermes"), "").unwrap();
    world.shows(Check::Base, Trouble, "is no directory");
    fs::remove_file(world.home.join(".hermes")).unwrap();
    symlink("/nobody/here", world.home.join(".hermes")).unwrap();
    world.shows(Check::Base, Notice, "which is not there");
    world.machine.closed = Some("/".into());
    world.shows(Check::Base, Trouble, "is a link to \"/nobody/here\", which is not there");
    fs::remove_file(world.home.join(".hermes")).unwrap();
    symlink(".hermes", world.home.join(".hermes")).unwrap();
    world.shows(Check::Base, Trouble, "is no directory");
}

#[test]
fn a_base_or_a_store_that_cannot_be_used() {
    let mut world = World::with_store();
    for closed in [world.base(), world.base().join("store")] {
        world.machine.closed = Some(closed);
        world.shows(Check::Base, Trouble, "cannot be read and written");
    }
    world.machine.closed = None;
    let owner = world.machine.user;
    world.machine.user = owner + 1;
    world.shows(Check::Base, Trouble, &format!("belongs to user {owner}"));
    fs::remove_dir_all(world.base().join("store")).unwrap();
    fs::write(world.base().join("store"), "").unwrap();
    world.machine.user = owner;
    world.shows(Check::Base, Trouble, "no directory");
    fs::remove_file(world.base().join("store")).unwrap();
    world.shows(Check::Base, Fine, "without a store yet");
    fs::remove_dir(world.base()).unwrap();
    fs::write(world.base(), "").unwrap();
    world.shows(Check::Base, Trouble, "no directory");
    fs::remove_file(world.base()).unwrap();
    let volume = world.home.join("volume");
    fs::create_dir(&volume).unwrap();
    symlink(&volume, world.base()).unwrap();
    world.shows(Check::Base, Fine, "volume");
}

#[test]
fn who_may_do_what_nobody_else_may_is_only_told_whose_it_is() {
    let mut world = World::with_store();
    if world.machine.user == 0 {
        std::os::unix::fs::chown(world.base(), Some(12_345), None).unwrap();
        world.shows(Check::Base, Notice, "belongs to user 12345, and you are user 0");
    } else {
        world.machine.user = 0;
        world.shows(Check::Base, Notice, "you are user 0");
    }
}

#[test]
fn a_base_that_is_open_to_others() {
    let world = World::with_store();
    let hermes = world.home.join(".hermes");
    for (home, above, mode, verdict, part) in [
        (0o755, 0o755, 0o700, Fine, "only its owner may look"),
        (0o755, 0o755, 0o750, Notice, "750"),
        (0o755, 0o755, 0o755, Notice, "755"),
        (0o755, 0o755, 0o777, Trouble, "anybody may replace"),
        (0o711, 0o711, 0o777, Trouble, "anybody may replace"),
        // Those of its group may not get further than this.
        (0o755, 0o750, 0o777, Notice, "777"),
        (0o750, 0o755, 0o777, Notice, "777"),
        (0o755, 0o700, 0o777, Fine, ".hermes\" to"),
        (0o700, 0o755, 0o777, Fine, "gets through"),
    ] {
        let at = [(&world.home, home), (&hermes, above), (&world.base(), mode)];
        for (path, mode) in at {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        world.shows(Check::Privacy, verdict, part);
    }
}

#[test]
fn what_is_above_a_base_outside_the_home_is_the_systems() {
    let world = World::new();
    let (outside, inside) = (world.home.join("shared"), world.home.join("shared/checkpoints"));
    fs::create_dir_all(&inside).unwrap();
    for (path, mode) in [(&world.home, 0o700), (&outside, 0o755), (&inside, 0o755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let given = || {
        let (home, hermes_home) = (Some(world.home.join("project")), Some(outside.clone()));
        Surroundings { home, hermes_home, ..world.surroundings() }
    };
    assert_verdict(&examine(&given()), Check::Privacy, Notice, "755");
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o700)).unwrap();
    assert_verdict(&examine(&given()), Check::Privacy, Fine, "shared");
}

#[test]
fn a_file_system_that_is_nearly_full() {
    let mut world = World::new();
    for (bytes, files, verdict, part) in [
        (10 * MEBIBYTE - 1, None, Trouble, "9 MB"),
        (10 * MEBIBYTE, None, Notice, "may grow to 500 MB"),
        (500 * MEBIBYTE - 1, None, Notice, "may grow"),
        (500 * MEBIBYTE, None, Fine, "500 MB"),
        (500 * MEBIBYTE, Some(99), Trouble, "99 more files"),
        (500 * MEBIBYTE, Some(100), Fine, "500 MB"),
    ] {
        world.machine.space = Space { bytes, files };
        world.shows(Check::Space, verdict, part);
    }
    fs::create_dir(world.home.join(".hermes")).unwrap();
    let file = world.home.join(".hermes/config.yaml");
    fs::write(file, "checkpoints:\n  max_total_size_mb: 0\n").unwrap();
    world.machine.space.bytes = 10 * MEBIBYTE;
    world.shows(Check::Space, Fine, "10 MB");
}

#[test]
fn a_clock_that_goes_wrong() {
    let mut world = World::with_store();
    for (now, verdict, part) in [
        (0, Notice, "1970-01-01 00:00 UTC"),
        (1_577_836_799, Notice, "2019-12-31 23:59 UTC"),
        (1_577_836_800, Notice, "the store was used at"),
        (NOW - 61, Notice, "the store was used at 2026-05-28"),
        (NOW - 60, Fine, "2026"),
        (i64::MAX, Fine, "@"),
    ] {
        world.now = now;
        world.shows(Check::Clock, verdict, part);
    }
}

#[test]
fn locks_that_were_left_behind() {
    let world = World::with_store();
    world.left("packed-refs.lock", "", 60);
    world.shows(Check::Locks, Fine, "nobody");
    world.left("packed-refs.lock", "", 61);
    world.shows(Check::Locks, Notice, "packed-refs.lock\" was left");
    world.left("refs/hermes/0123456789abcdef.lock", "", 61);
    world.shows(Check::Locks, Notice, "packed-refs.lock\" and 1 more was left");
    fs::remove_file(world.base().join("store/packed-refs.lock")).unwrap();
    world.shows(Check::Locks, Notice, "cdef.lock\" was left");
    fs::remove_file(world.base().join("store/refs/hermes/0123456789abcdef.lock")).unwrap();
    world.left("gc.pid", "1 elsewhere", 61);
    world.shows(Check::Locks, Notice, "another machine");
    world.left("gc.pid", "1 elsewhere", 13 * 60 * 60);
    world.shows(Check::Locks, Notice, "gc.pid\" was left");
    let stuck = world.base().join("store/refs/hermes/0123456789abcdef.lock");
    fs::create_dir(&stuck).unwrap();
    world.shows(Check::Locks, Notice, "gc.pid\" was left");
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW as u64 - 61);
    fs::File::open(&stuck).unwrap().set_modified(then).unwrap();
    world.shows(Check::Locks, Trouble, "is a directory");
}

#[test]
fn a_store_that_somebody_holds() {
    let world = World::with_store();
    let path = world.base().join("store/locks/store");
    let lock = |sharing| SystemDisk.try_lock(&path, sharing).unwrap().unwrap();
    let held = lock(Sharing::Exclusive);
    world.shows(Check::Locks, Notice, "another process holds");
    drop(held);
    let shared = lock(Sharing::Shared);
    world.shows(Check::Locks, Fine, "nobody");
    drop(shared);
    fs::remove_file(&path).unwrap();
    world.shows(Check::Locks, Fine, "nobody");
    assert!(!path.exists(), "it was made");
    fs::create_dir(&path).unwrap();
    world.shows(Check::Locks, Fine, "nobody");
}

#[test]
fn a_directory_of_which_no_checkpoint_is_taken() {
    let world = World::with_store();
    let project = world.home.join("project");
    for (here, part) in [
        (PathBuf::from("/"), "root is never checkpointed"),
        (world.home.clone(), "is the home directory"),
        (world.base().join("store"), "inside the checkpoint store"),
    ] {
        let given = Surroundings { current_directory: Some(here), ..world.surroundings() };
        assert_verdict(&examine(&given), Check::Project, Trouble, part);
    }
    fs::create_dir(project.join("sub")).unwrap();
    fs::write(project.join("Makefile"), "").unwrap();
    fs::write(project.join("large"), vec![0; 10 * MEBIBYTE as usize + 1]).unwrap();
    let inside = Some(project.join("sub"));
    let given = Surroundings { current_directory: inside, ..world.surroundings() };
    let part = "project\" would hold 2 files and leave out 1 path, such as large (";
    assert_verdict(&examine(&given), Check::Project, Notice, part);
}

#[test]
fn a_base_that_no_file_system_can_have() {
    let world = World::new();
    let hermes_home = Some(world.home.join("x".repeat(300)));
    let examined = examine(&Surroundings { hermes_home, ..world.surroundings() });
    assert_verdict(&examined, Check::Base, Trouble, "cannot be looked at");
    assert_verdict(&examined, Check::Space, Notice, "cannot be told");
}

#[test]
fn what_an_agent_has_beside_its_files() {
    let world = World::with_store();
    assert!(world.examined().findings.iter().all(|one| one.check != Check::Agent));
    let agent = world.home.join(".hermes/agent");
    fs::create_dir(&agent).unwrap();
    world.shows(Check::Agent, Fine, "can go into checkpoints");
    fs::write(agent.join("goal.json"), "{").unwrap();
    fs::write(agent.join("external.json"), "{\"version\": 2}").unwrap();
    world.shows(Check::Agent, Notice, "goal.json is no JSON");
    world.shows(Check::Agent, Notice, "external actions: it is of version 2");
}

#[test]
fn a_rollback_that_died_and_one_that_goes_on() {
    let world = World::with_store();
    let (store, hash) = (world.base().join("store"), "0123456789abcdef");
    let undo = store.join("undo");
    fs::create_dir(&undo).unwrap();
    let note = undo.join(format!("{hash}.json"));
    // Its directory is noted as bytes: `/p`.
    let text = r#"{"directory":[47,112],"target":"","before":null,"creates":[],"parts":{}}"#;
    fs::write(&note, text).unwrap();
    world.shows(Check::Agent, Trouble, "a rollback of /p was interrupted");
    let lock = store.join("locks").join(hash);
    assert!(!lock.exists(), "it was made");
    let held = SystemDisk.try_lock(&lock, Sharing::Exclusive).unwrap().unwrap();
    assert!(world.examined().findings.iter().all(|one| one.check != Check::Agent));
    drop(held);
    fs::write(&note, "{").unwrap();
    world.shows(Check::Agent, Trouble, "how to undo it is lost");
}

#[test]
fn this_machine_answers() {
    let world = World::new();
    assert_eq!(SystemMachine.user(), world.machine.user, "who made it owns it");
    SystemMachine.may_write(&world.home).unwrap();
    let gone = SystemMachine.may_write(&world.home.join("gone")).unwrap_err();
    assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    let space = SystemMachine.space(&world.home).unwrap();
    assert!(space.bytes > 0 && space.files != Some(0), "{space:?}");
    SystemMachine.space(&world.home.join("gone")).unwrap_err();
}
