//! Tests of all findings, on a simulated machine whose answers each test sets.

use super::*;
use crate::disk::{Sharing, SystemDisk};
use crate::environment::{Config, MEBIBYTE};
use crate::manager::Manager;
use crate::project::hash_of;
use crate::store::lock;
use pretty::assert_verdict;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Assertions that print the finding.
mod pretty {
    use super::super::{Check, Examined, Finding, Verdict};

    #[track_caller]
    pub fn assert_verdict(examined: &Examined, check: Check, verdict: Verdict, part: &str) {
        let finding = examined.findings.iter().find(|finding| finding.check == check);
        let Finding { verdict: actual, found, advice, .. } = finding.expect("no such finding");
        let text = format!("{found} -> {advice:?}");
        assert_eq!(*actual, verdict, "{text}");
        assert!(found.contains(part), "{part}: {text}");
        assert_eq!(advice.is_some(), verdict != Verdict::Ok, "{text}");
    }
}

/// A moment in 2026.
const NOW: i64 = 1_780_000_000;

/// A clock that always returns the same time.
#[derive(Clone, Copy)]
struct FixedClock(i64);

impl Clock for FixedClock {
    fn seconds(&self) -> i64 {
        self.0
    }
}

/// A machine with the given user and space, on which only the directory `closed` is not writable.
struct FakeMachine {
    user: u32,
    closed: Option<PathBuf>,
    space: Space,
}

impl Machine for FakeMachine {
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

/// A home directory with a project of one file.
struct Fixture {
    _folder: tempfile::TempDir,
    home: PathBuf,
    now: i64,
    machine: FakeMachine,
}

impl Fixture {
    fn new() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        fs::create_dir(home.join("project")).unwrap();
        fs::write(home.join("project/a.txt"), "one").unwrap();
        let user = fs::metadata(&home).unwrap().uid();
        let space = Space { bytes: 1_000 * MEBIBYTE, files: Some(1_000) };
        let machine = FakeMachine { user, closed: None, space };
        Fixture { _folder: folder, home, now: NOW, machine }
    }

    /// A home directory in which a checkpoint was taken.
    fn with_store() -> Fixture {
        let fixture = Fixture::new();
        let environment = Environment {
            home: fixture.home.clone(),
            current_directory: fixture.home.clone(),
            base: fixture.base(),
        };
        let disk = Arc::new(SystemDisk);
        let clock = Arc::new(FixedClock(NOW));
        let manager = Manager::new(disk, clock, environment, Config::default());
        manager.checkpoint(&fixture.home.join("project"), "first").unwrap();
        fixture
    }

    fn base(&self) -> PathBuf {
        self.home.join(".hermes/checkpoints")
    }

    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            disk: &SystemDisk,
            // The leak is small, and only in tests.
            clock: Box::leak(Box::new(FixedClock(self.now))),
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
    fn assert_finding(&self, check: Check, verdict: Verdict, part: &str) {
        assert_verdict(&self.examined(), check, verdict, part);
    }

    /// Makes a file of the store that was last changed `seconds` ago.
    fn write_old_file(&self, name: &str, text: &str, seconds: u64) {
        let path = self.base().join("store").join(name);
        fs::write(&path, text).unwrap();
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW as u64 - seconds);
        fs::File::open(&path).unwrap().set_modified(modified).unwrap();
    }
}

use Verdict::{Notice, Ok as Fine, Trouble};

#[test]
fn examine_notices_only_that_checkpoints_are_not_automatic_where_all_is_well() {
    for fixture in [Fixture::new(), Fixture::with_store()] {
        let examined = fixture.examined();
        let notable = examined.findings.iter().filter(|finding| finding.verdict > Fine);
        let checks: Vec<_> = notable.map(|finding| finding.check).collect();
        assert_eq!(checks, [Check::Automatic]);
        assert_eq!((examined.findings.len(), examined.verdict), (10, Notice));
        assert_verdict(&examined, Check::Project, Fine, "would contain 1 file");
    }
    let fixture = Fixture::new();
    fixture.examined();
    assert!(!fixture.home.join(".hermes").exists(), "something was made");
}

#[test]
fn examine_checks_home_hermes_home_and_the_current_directory() {
    let fixture = Fixture::new();
    for (home, part) in
        [(None, "not set"), (Some(""), "not set"), (Some("here"), "not an absolute")]
    {
        let surroundings = Surroundings { home: home.map(PathBuf::from), ..fixture.surroundings() };
        let examined = examine(&surroundings);
        assert_verdict(&examined, Check::Home, Trouble, part);
        assert_eq!(examined.findings.len(), 2, "what depends on it cannot be told");
    }
    let gone = Surroundings { home: Some("/nobody/here".into()), ..fixture.surroundings() };
    assert_verdict(&examine(&gone), Check::Home, Notice, "not an accessible directory");
    let relative = || Surroundings { hermes_home: Some("here".into()), ..fixture.surroundings() };
    assert_verdict(&examine(&relative()), Check::Home, Notice, "each directory");
    let nowhere = examine(&Surroundings { current_directory: None, ..relative() });
    assert_verdict(&nowhere, Check::Home, Trouble, "the current directory no longer exists");
    let nowhere = examine(&Surroundings { current_directory: None, ..fixture.surroundings() });
    assert_verdict(&nowhere, Check::Project, Trouble, "no longer exists");
    assert_verdict(&nowhere, Check::Base, Fine, "does not exist yet");
}

#[test]
fn examine_checks_the_configuration() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.home.join(".hermes")).unwrap();
    let write = |text: &str| fs::write(fixture.home.join(".hermes/config.yaml"), text).unwrap();
    write("checkpoints:\n  enabled: true\n");
    assert_eq!(fixture.examined().verdict, Fine);
    write("checkpoints:\n  enable: true\n");
    fixture.assert_finding(Check::Configuration, Notice, "did you mean enabled?");
    fixture.assert_finding(Check::Automatic, Notice, "is false");
    write("checkpoints:\n  enabled: yes\n");
    fixture.assert_finding(Check::Configuration, Trouble, "enabled is");
    assert!(fixture.examined().findings.iter().all(|finding| finding.check != Check::Automatic));
}

#[test]
fn examine_reports_a_base_that_cannot_be_made() {
    let mut fixture = Fixture::new();
    fixture.machine.closed = Some(fixture.home.clone());
    fixture.assert_finding(Check::Base, Trouble, "cannot be created in");
    fixture.machine.closed = None;
    fs::write(fixture.home.join(".hermes"), "").unwrap();
    fixture.assert_finding(Check::Base, Trouble, "is not a directory");
    fs::remove_file(fixture.home.join(".hermes")).unwrap();
    symlink("/nobody/here", fixture.home.join(".hermes")).unwrap();
    fixture.assert_finding(Check::Base, Notice, "which does not exist");
    fixture.machine.closed = Some("/".into());
    fixture.assert_finding(
        Check::Base,
        Trouble,
        "is a link to \"/nobody/here\", which does not exist",
    );
    fs::remove_file(fixture.home.join(".hermes")).unwrap();
    symlink(".hermes", fixture.home.join(".hermes")).unwrap();
    fixture.assert_finding(Check::Base, Trouble, "is not a directory");
}

#[test]
fn examine_reports_a_base_or_a_store_that_cannot_be_used() {
    let mut fixture = Fixture::with_store();
    fixture.machine.closed = Some(fixture.base());
    fixture.assert_finding(Check::Base, Trouble, "checkpoints\" cannot be written");
    fixture.machine.closed = Some(fixture.base().join("store"));
    fixture.assert_finding(Check::Base, Trouble, "are listed and compared, but none is taken");
    fixture.machine.closed = None;
    let owner = fixture.machine.user;
    fixture.machine.user = owner + 1;
    fixture.assert_finding(Check::Base, Trouble, &format!("belongs to user {owner}"));
    fs::remove_dir_all(fixture.base().join("store")).unwrap();
    fs::write(fixture.base().join("store"), "").unwrap();
    fixture.machine.user = owner;
    fixture.assert_finding(Check::Base, Trouble, "is not a directory");
    fs::remove_file(fixture.base().join("store")).unwrap();
    fixture.assert_finding(Check::Base, Fine, "without a store yet");
    fs::remove_dir(fixture.base()).unwrap();
    fs::write(fixture.base(), "").unwrap();
    fixture.assert_finding(Check::Base, Trouble, "is not a directory");
    fs::remove_file(fixture.base()).unwrap();
    let volume = fixture.home.join("volume");
    fs::create_dir(&volume).unwrap();
    symlink(&volume, fixture.base()).unwrap();
    fixture.assert_finding(Check::Base, Fine, "volume");
}

#[test]
fn examine_only_notices_for_root_that_the_base_belongs_to_another_user() {
    let mut fixture = Fixture::with_store();
    if fixture.machine.user == 0 {
        std::os::unix::fs::chown(fixture.base(), Some(12_345), None).unwrap();
        fixture.assert_finding(Check::Base, Notice, "belongs to user 12345, and you are user 0");
    } else {
        fixture.machine.user = 0;
        fixture.assert_finding(Check::Base, Notice, "you are user 0");
    }
}

#[test]
fn examine_reports_a_base_that_is_open_to_other_users() {
    let fixture = Fixture::with_store();
    let hermes = fixture.home.join(".hermes");
    for (home, above, mode, verdict, part) in [
        (0o755, 0o755, 0o700, Fine, "readable by its owner only"),
        (0o755, 0o755, 0o750, Notice, "750"),
        (0o755, 0o755, 0o755, Notice, "755"),
        (0o755, 0o755, 0o777, Trouble, "any user can replace"),
        (0o711, 0o711, 0o777, Trouble, "any user can replace"),
        // The group cannot pass the directories above.
        (0o755, 0o750, 0o777, Notice, "777"),
        (0o750, 0o755, 0o777, Notice, "777"),
        (0o755, 0o700, 0o777, Fine, ".hermes\" is closed"),
        (0o700, 0o755, 0o777, Fine, "closed to others"),
    ] {
        let modes = [(&fixture.home, home), (&hermes, above), (&fixture.base(), mode)];
        for (path, mode) in modes {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        fixture.assert_finding(Check::Privacy, verdict, part);
    }
}

#[test]
fn examine_checks_only_the_parent_directory_above_a_base_outside_the_home() {
    let fixture = Fixture::new();
    let shared = fixture.home.join("shared");
    let base = fixture.home.join("shared/checkpoints");
    fs::create_dir_all(&base).unwrap();
    for (path, mode) in [(&fixture.home, 0o700), (&shared, 0o755), (&base, 0o755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let surroundings = || Surroundings {
        home: Some(fixture.home.join("project")),
        hermes_home: Some(shared.clone()),
        ..fixture.surroundings()
    };
    assert_verdict(&examine(&surroundings()), Check::Privacy, Notice, "755");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o700)).unwrap();
    assert_verdict(&examine(&surroundings()), Check::Privacy, Fine, "shared");
}

#[test]
fn examine_reports_a_file_system_that_is_nearly_full() {
    let mut fixture = Fixture::new();
    for (bytes, files, verdict, part) in [
        (10 * MEBIBYTE - 1, None, Trouble, "store is nearly full: 9 MB"),
        (10 * MEBIBYTE, None, Notice, "may grow to 500 MB"),
        (500 * MEBIBYTE - 1, None, Notice, "may grow"),
        (500 * MEBIBYTE, None, Fine, "500 MB"),
        (500 * MEBIBYTE, Some(99), Trouble, "99 more files"),
        (500 * MEBIBYTE, Some(100), Fine, "500 MB"),
    ] {
        fixture.machine.space = Space { bytes, files };
        fixture.assert_finding(Check::Space, verdict, part);
    }
    fs::create_dir(fixture.home.join(".hermes")).unwrap();
    let file = fixture.home.join(".hermes/config.yaml");
    fs::write(file, "checkpoints:\n  max_total_size_mb: 0\n").unwrap();
    fixture.machine.space.bytes = 10 * MEBIBYTE;
    fixture.assert_finding(Check::Space, Fine, "10 MB");
}

#[test]
fn examine_reports_a_clock_that_is_wrong() {
    let mut fixture = Fixture::with_store();
    for (now, verdict, part) in [
        (0, Notice, "1970-01-01 00:00 UTC"),
        (1_577_836_799, Notice, "2019-12-31 23:59 UTC"),
        (1_577_836_800, Notice, "the store was last used at"),
        (NOW - 61, Notice, "the store was last used at 2026-05-28"),
        (NOW - 60, Fine, "2026"),
        (i64::MAX, Fine, "@"),
    ] {
        fixture.now = now;
        fixture.assert_finding(Check::Clock, verdict, part);
    }
}

#[test]
fn examine_reports_locks_that_were_left_behind() {
    let fixture = Fixture::with_store();
    fixture.write_old_file("packed-refs.lock", "", 60);
    fixture.assert_finding(Check::Locks, Fine, "no process");
    fixture.write_old_file("packed-refs.lock", "", 61);
    fixture.assert_finding(Check::Locks, Notice, "packed-refs.lock\" was left");
    fixture.write_old_file("refs/hermes/0123456789abcdef.lock", "", 61);
    fixture.assert_finding(Check::Locks, Notice, "packed-refs.lock\" and 1 more was left");
    fs::remove_file(fixture.base().join("store/packed-refs.lock")).unwrap();
    fixture.assert_finding(Check::Locks, Notice, "cdef.lock\" was left");
    fs::remove_file(fixture.base().join("store/refs/hermes/0123456789abcdef.lock")).unwrap();
    fixture.write_old_file("gc.pid", "1 elsewhere", 61);
    fixture.assert_finding(Check::Locks, Notice, "another machine");
    fixture.write_old_file("gc.pid", "1 elsewhere", 13 * 60 * 60);
    fixture.assert_finding(Check::Locks, Notice, "gc.pid\" was left");
    let stuck = fixture.base().join("store/refs/hermes/0123456789abcdef.lock");
    fs::create_dir(&stuck).unwrap();
    fixture.assert_finding(Check::Locks, Notice, "gc.pid\" was left");
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW as u64 - 61);
    fs::File::open(&stuck).unwrap().set_modified(modified).unwrap();
    fixture.assert_finding(Check::Locks, Trouble, "is a directory");
}

#[test]
fn examine_reports_a_store_that_another_process_holds() {
    let fixture = Fixture::with_store();
    let path = fixture.base().join("store/locks/store");
    let lock = |sharing| lock::take(&SystemDisk, &path, sharing).unwrap();
    let held = lock(Sharing::Exclusive);
    fixture.assert_finding(Check::Locks, Notice, "another process holds");
    drop(held);
    let shared = lock(Sharing::Shared);
    fixture.assert_finding(Check::Locks, Fine, "no process");
    drop(shared);
    fs::remove_file(&path).unwrap();
    fixture.assert_finding(Check::Locks, Fine, "no process");
    assert!(!path.exists(), "it was made");
    fs::create_dir(&path).unwrap();
    fixture.assert_finding(Check::Locks, Fine, "no process");
}

#[test]
fn examine_reports_a_directory_of_which_no_checkpoint_is_taken() {
    let fixture = Fixture::with_store();
    let project = fixture.home.join("project");
    for (directory, part) in [
        (PathBuf::from("/"), "root of the file system"),
        (fixture.home.clone(), "is the home directory"),
        (fixture.base().join("store"), "inside the checkpoint store"),
    ] {
        let surroundings =
            Surroundings { current_directory: Some(directory), ..fixture.surroundings() };
        assert_verdict(&examine(&surroundings), Check::Project, Trouble, part);
    }
    fs::create_dir(project.join("sub")).unwrap();
    fs::write(project.join("Makefile"), "").unwrap();
    fs::write(project.join("large"), vec![0; 10 * MEBIBYTE as usize + 1]).unwrap();
    let inside = Some(project.join("sub"));
    let surroundings = Surroundings { current_directory: inside, ..fixture.surroundings() };
    let part = "project\" would contain 2 files and leave out 1 path, such as large (";
    assert_verdict(&examine(&surroundings), Check::Project, Notice, part);
}

#[test]
fn examine_reports_a_base_whose_name_is_too_long() {
    let fixture = Fixture::new();
    let hermes_home = Some(fixture.home.join("x".repeat(300)));
    let examined = examine(&Surroundings { hermes_home, ..fixture.surroundings() });
    assert_verdict(&examined, Check::Base, Trouble, "cannot be accessed");
    assert_verdict(&examined, Check::Space, Notice, "is not known");
}

#[test]
fn examine_checks_the_state_of_an_agent() {
    let fixture = Fixture::with_store();
    assert!(fixture.examined().findings.iter().all(|finding| finding.check != Check::Agent));
    let agent = fixture.home.join(".hermes/agent");
    fs::create_dir(&agent).unwrap();
    fixture.assert_finding(Check::Agent, Fine, "can be captured");
    fs::write(agent.join("goal.json"), "{").unwrap();
    fs::write(agent.join("external.json"), "{\"version\": 2}").unwrap();
    fixture.assert_finding(Check::Agent, Notice, "goal.json is not JSON");
    fixture.assert_finding(Check::Agent, Notice, "external actions: it has the unknown version 2");
}

#[test]
fn examine_reports_a_restore_of_an_agent_that_was_interrupted_but_not_one_that_runs() {
    let fixture = Fixture::with_store();
    let store = fixture.base().join("store");
    let hash = &hash_of(Path::new("/p"));
    let undo = store.join("undo");
    fs::create_dir(&undo).unwrap();
    let journal = undo.join(format!("{hash}.json"));
    // Its directory is recorded as bytes: `/p`.
    let text = r#"{"directory":[47,112],"target":"","before":null,"creates":[],"parts":{}}"#;
    fs::write(&journal, text).unwrap();
    fixture.assert_finding(Check::Agent, Trouble, "a rollback of /p was interrupted");
    let lock = store.join("locks").join(hash);
    assert!(!lock.exists(), "it was made");
    let held = lock::take(&SystemDisk, &lock, Sharing::Exclusive).unwrap();
    assert!(fixture.examined().findings.iter().all(|finding| finding.check != Check::Agent));
    drop(held);
    fs::write(&journal, "{").unwrap();
    fixture.assert_finding(Check::Agent, Trouble, "its journal is damaged");
}

#[test]
fn system_machine_answers_for_this_user_and_disk() {
    let fixture = Fixture::new();
    assert_eq!(SystemMachine.user(), fixture.machine.user, "who made it owns it");
    SystemMachine.may_write(&fixture.home).unwrap();
    let gone = SystemMachine.may_write(&fixture.home.join("gone")).unwrap_err();
    assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    let space = SystemMachine.space(&fixture.home).unwrap();
    assert!(space.bytes > 0 && space.files != Some(0), "{space:?}");
    SystemMachine.space(&fixture.home.join("gone")).unwrap_err();
}
