//! Tests of what authors of agents rely on: checkpoints are taken before tools run, and a failure to
//! take one does not disturb the agent.

use super::*;
use crate::manager::RestoreOptions;
use std::fs;
use tempfile::TempDir;

struct Fixture {
    _folder: TempDir,
    environment: Environment,
}

impl Fixture {
    /// Two projects below a home.
    fn new() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(folder.path()).unwrap();
        for project in ["one", "two"] {
            fs::create_dir_all(home.join(project).join("src")).unwrap();
            fs::write(home.join(project).join("Makefile"), "all:\n").unwrap();
        }
        let environment = Environment {
            base: home.join(".hermes/checkpoints"),
            current_directory: home.join("one"),
            home,
        };
        Fixture { _folder: folder, environment }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.environment.home.join(name)
    }

    fn enabled(&self) -> CheckpointManager {
        let config = Config { enabled: true, ..Config::default() };
        CheckpointManager::with(self.environment.clone(), config)
    }

    fn configure(&self, text: &str) -> CheckpointManager {
        let file = self.environment.configuration_file();
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        CheckpointManager::configured(self.environment.clone())
    }

    /// The reasons of a project's checkpoints, the newest first.
    fn reasons(&self, manager: &CheckpointManager, project: &str) -> Vec<String> {
        let listed = manager.list(&self.path(project)).unwrap();
        listed.into_iter().map(|checkpoint| checkpoint.reason).collect()
    }
}

#[test]
fn before_shares_history_and_turn_between_file_tools_and_the_terminal() {
    let fixture = Fixture::new();
    let mut manager = fixture.enabled();
    let project = fixture.path("one");
    let src = fixture.path("one/src");
    manager.new_turn();
    let write = Tool::WriteFile { path: Path::new("src/deep/new.txt"), directory: &project };
    let taken = manager.before(&write);
    assert_eq!(taken[0].project, project);
    assert!(matches!(taken[0].taken.as_ref().unwrap().outcome, Outcome::Created { .. }));
    fs::write(project.join("src/new.txt"), "new\n").unwrap();
    let remove = Tool::Terminal { command: "rm new.txt", directory: &src };
    assert_eq!(manager.before(&remove)[0].taken.as_ref().unwrap().outcome, Outcome::Deduped);
    manager.new_turn();
    assert!(matches!(
        manager.before(&remove)[0].taken.as_ref().unwrap().outcome,
        Outcome::Created { .. }
    ));
    let expected = ["before terminal: rm new.txt", "before write_file"];
    assert_eq!(fixture.reasons(&manager, "one"), expected);
}

#[test]
fn before_takes_the_directory_of_the_tool_as_project_where_there_is_no_marker() {
    let fixture = Fixture::new();
    let mut manager = fixture.enabled();
    let bare = fixture.path("bare");
    fs::create_dir_all(bare.join("deep")).unwrap();
    fs::create_dir_all(bare.join("nested/.git")).unwrap();
    fs::write(bare.join("deep/a.txt"), "a\n").unwrap();
    fs::write(bare.join("nested/b.txt"), "b\n").unwrap();
    let mut project = |file: &str| {
        let taken = manager.before(&Tool::WriteFile { path: Path::new(file), directory: &bare });
        taken.into_iter().next().map(|protected| protected.project)
    };
    assert_eq!(project("deep/a.txt"), Some(bare.clone()));
    assert_eq!(project("not/yet/there.txt"), Some(bare.clone()));
    assert_eq!(project("nested/b.txt"), Some(bare.join("nested")));
    assert_eq!(project("../one/src/x"), Some(fixture.path("one")));
    assert_eq!(project("/not/there/x"), None);
}

#[test]
fn before_takes_a_checkpoint_of_every_project_that_a_patch_names() {
    let fixture = Fixture::new();
    let mut manager = fixture.enabled();
    let body = "*** Begin Patch\n*** Update File: Makefile\n-all:\n+none:\n\
        *** Delete File: ../two/Makefile\n*** End Patch\n";
    let taken =
        manager.before(&Tool::Patch { body: body.as_bytes(), directory: &fixture.path("one") });
    let projects: Vec<PathBuf> = taken.into_iter().map(|protected| protected.project).collect();
    assert_eq!(projects, [fixture.path("one"), fixture.path("two")]);
    assert_eq!(fixture.reasons(&manager, "two"), ["before patch"]);
}

#[test]
fn before_takes_no_checkpoint_for_a_command_that_changes_no_file() {
    let fixture = Fixture::new();
    let mut manager = fixture.enabled();
    let look = Tool::Terminal { command: "ls # rm x", directory: &fixture.path("one") };
    assert_eq!(manager.before(&look), []);
    assert!(!fixture.path(".hermes").exists());
}

#[test]
fn before_writes_no_file_and_reports_no_trouble_while_switched_off() {
    let fixture = Fixture::new();
    let mut manager = CheckpointManager::configured(fixture.environment.clone());
    manager.new_turn();
    assert_eq!(
        manager.before(&Tool::WriteFile { path: Path::new("a"), directory: &fixture.path("one") }),
        []
    );
    let taken = manager.ensure_checkpoint(&fixture.path("one"), "r").unwrap();
    assert_eq!(taken.outcome, Outcome::Disabled);
    assert_eq!(manager.trouble(), [""; 0]);
    assert!(!fixture.path(".hermes").exists());
}

#[test]
fn trouble_reports_a_failing_checkpoint_once_and_before_never_fails() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path(".hermes")).unwrap();
    fs::write(fixture.path(".hermes/checkpoints"), "no directory\n").unwrap();
    let mut manager = fixture.enabled();
    let write = Tool::WriteFile { path: Path::new("a"), directory: &fixture.path("one") };
    for turn in 0..3 {
        manager.new_turn();
        assert_eq!(manager.before(&write)[0].taken, None);
        assert_eq!(manager.trouble().len(), usize::from(turn == 0));
    }
    assert_eq!(fs::read_to_string(fixture.path(".hermes/checkpoints")).unwrap(), "no directory\n");
}

#[test]
fn configured_by_an_unreadable_file_takes_no_checkpoint_and_refuses_requests() {
    let fixture = Fixture::new();
    let mut manager = fixture.configure("checkpoints:\n  enabled: 7\n");
    assert!(!manager.is_enabled());
    assert_eq!(manager.trouble().len(), 1);
    assert_eq!(manager.ensure_checkpoint(&fixture.path("one"), "r"), None);
    let scope = Scope::All(RestoreOptions::default());
    let refused = manager.restore(&fixture.path("one"), b"1", scope, None).unwrap_err();
    assert_eq!(refused.code(), "switched_off");
    let mut manager = fixture.configure("checkpoints:\n  enabled: true\n");
    assert!(manager.is_enabled() && manager.trouble().is_empty());
}

#[test]
fn diff_preview_and_restore_answer_as_the_manager_does() {
    let fixture = Fixture::new();
    let mut manager = fixture.enabled();
    let project = fixture.path("one");
    let scope = || Scope::All(RestoreOptions::default());
    assert_eq!(manager.diff(&project, b"1").unwrap_err().code(), "unknown_checkpoint");
    manager.before(&Tool::WriteFile { path: Path::new("Makefile"), directory: &project });
    fs::write(project.join("Makefile"), "none:\n").unwrap();
    assert_eq!(manager.diff(&project, b"1").unwrap().entries.len(), 1);
    let preview = manager.preview(&project, b"1", scope()).unwrap();
    fs::write(project.join("Makefile"), "saved since:\n").unwrap();
    let refused = manager.restore(&project, b"1", scope(), Some(preview.token)).unwrap_err();
    assert_eq!(refused.code(), "changed_since_preview");
    let restored = manager.restore(&project, b"1", Scope::File(b"Makefile"), None).unwrap();
    assert_eq!((restored.restored, restored.undoes_turn), (vec![b"Makefile".to_vec()], false));
    let unreadable = fixture.configure("checkpoints:\n  enabled: 7\n");
    assert_eq!(unreadable.list(&project).unwrap_err().code(), "switched_off");
    assert_eq!(unreadable.diff(&project, b"1").unwrap_err().code(), "switched_off");
    assert_eq!(unreadable.preview(&project, b"1", scope()).unwrap_err().code(), "switched_off");
}

#[test]
fn before_and_after_attribute_changes_to_tools_or_to_others() {
    let fixture = Fixture::new();
    let mut manager = fixture.enabled();
    let project = fixture.path("one");
    let write = Tool::WriteFile { path: Path::new("a"), directory: &project };
    let run = Tool::Terminal { command: "make", directory: &project };
    let changed_by_others = |manager: &CheckpointManager| {
        let scope = Scope::All(RestoreOptions::default());
        let would = manager.preview(&project, b"1", scope).unwrap().would;
        would.others.map(|paths| paths.iter().map(|path| path.escape_ascii().to_string()).collect())
    };
    let named =
        |paths: &[&str]| Some(paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
    manager.ensure_checkpoint(&project, "r");
    fs::write(project.join("before"), "x\n").unwrap();
    assert_eq!(changed_by_others(&manager), None, "no agent told anything yet");
    manager.before(&write);
    fs::write(project.join("a"), "a\n").unwrap();
    manager.after(&write);
    manager.before(&run);
    fs::write(project.join("made"), "m\n").unwrap();
    manager.after(&run);
    assert_eq!(changed_by_others(&manager), named(&["before"]));
    fs::write(project.join("a"), "by a person\n").unwrap();
    fs::remove_file(project.join("made")).unwrap();
    assert_eq!(
        changed_by_others(&manager),
        named(&["a", "before"]),
        "what is not there needs no restore"
    );
    let attribution = fixture.path(".hermes/checkpoints/store/hands");
    let file = fs::read_dir(&attribution).unwrap().next().unwrap().unwrap().path();
    fs::write(file, "no JSON").unwrap();
    assert_eq!(changed_by_others(&manager), None, "what is damaged is not known");
}

#[test]
fn before_and_after_record_nothing_while_off_and_ignore_failures() {
    let fixture = Fixture::new();
    let project = fixture.path("one");
    let write = Tool::WriteFile { path: Path::new("a"), directory: &project };
    let mut manager = fixture.enabled();
    manager.ensure_checkpoint(&project, "r");
    let store = fixture.path(".hermes/checkpoints/store");
    let mut off = CheckpointManager::configured(fixture.environment.clone());
    off.before(&write);
    off.after(&write);
    assert!(!store.join("hands").exists());
    fs::write(store.join("hands"), "in the way\n").unwrap();
    manager.before(&write);
    manager.after(&write);
    assert_eq!(manager.trouble(), [""; 0]);
}

// rule: agent/triggers
#[test]
fn happens_takes_one_checkpoint_per_event_and_for_high_risk_one_per_turn() {
    let fixture = Fixture::new();
    let mut manager = fixture.enabled();
    let project = fixture.path("one");
    let mut happens = |content: &str, event: Event<'_>| {
        fs::write(project.join("Makefile"), content).unwrap();
        manager.happens(&project, &event).1.map(|taken| taken.outcome)
    };
    let is_new = |outcome: Option<Outcome>| matches!(outcome, Some(Outcome::Created { .. }));
    let done = Event::Card { id: "c", from: "doing", to: "done" };
    assert!(is_new(happens("1", done)));
    assert_eq!(happens("2", done), None, "the same event");
    let half = Event::Progress { goal: "g", from: 0.4, to: 0.6 };
    assert!(is_new(happens("3", half)));
    assert!(is_new(happens("4", Event::Command("rm -rf build"))));
    let slow = Event::LongCall { what: "make", seconds: 60 };
    assert_eq!(happens("5", slow), Some(Outcome::Deduped), "the turn has its own");
    assert_eq!(happens("6", Event::Command("ls")), None);
    manager.rolled_back();
    assert!(manager.happens(&project, &done).1.is_some(), "it happens again");
    assert_eq!(fixture.reasons(&manager, "one")[0], "Card c is done");
    let config = Config::default();
    let mut off = CheckpointManager::with(fixture.environment.clone(), config);
    assert!(off.happens(&project, &half).1.is_none() && off.explain(&half).trigger.is_some());
    let mut broken = fixture.configure("checkpoints: 3\n");
    assert!(broken.happens(&project, &half).1.is_none() && broken.explain(&half).trigger.is_none());
}

// rule: agent/triggers
#[test]
fn happens_reports_a_failing_checkpoint_and_may_take_it_later() {
    let fixture = Fixture::new();
    let mut manager = fixture.enabled();
    let done = Event::Card { id: "c", from: "doing", to: "done" };
    assert!(manager.happens(&fixture.path("nowhere"), &done).1.is_none());
    assert_eq!(manager.trouble().len(), 1);
    assert!(manager.happens(&fixture.path("one"), &done).1.is_some());
}
