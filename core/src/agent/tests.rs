//! What an author of an agent may rely on: checkpoints before tools, and no trouble from them.

use super::*;
use crate::manager::RestoreOptions;
use std::fs;
use tempfile::TempDir;

struct World {
    _folder: TempDir,
    environment: Environment,
}

impl World {
    /// Two projects below a home.
    fn new() -> World {
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
        World { _folder: folder, environment }
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
        listed.into_iter().map(|one| one.reason).collect()
    }
}

#[test]
fn file_tools_and_the_terminal_share_the_history_and_the_turn_of_a_project() {
    let world = World::new();
    let mut manager = world.enabled();
    let (one, src) = (world.path("one"), world.path("one/src"));
    manager.new_turn();
    let write = Tool::WriteFile { path: Path::new("src/deep/new.txt"), directory: &one };
    let taken = manager.before(&write);
    assert_eq!(taken[0].project, one);
    assert!(matches!(taken[0].taken.as_ref().unwrap().outcome, Outcome::Created { .. }));
    fs::write(one.join("src/new.txt"), "new\n").unwrap();
    let remove = Tool::Terminal { command: "rm new.txt", directory: &src };
    assert_eq!(manager.before(&remove)[0].taken.as_ref().unwrap().outcome, Outcome::Deduped);
    manager.new_turn();
    assert!(matches!(
        manager.before(&remove)[0].taken.as_ref().unwrap().outcome,
        Outcome::Created { .. }
    ));
    let expected = ["before terminal: rm new.txt", "before write_file"];
    assert_eq!(world.reasons(&manager, "one"), expected);
}

#[test]
fn without_a_marker_the_directory_of_the_tool_is_the_project() {
    let world = World::new();
    let mut manager = world.enabled();
    let bare = world.path("bare");
    fs::create_dir_all(bare.join("deep")).unwrap();
    fs::create_dir_all(bare.join("nested/.git")).unwrap();
    fs::write(bare.join("deep/a.txt"), "a\n").unwrap();
    fs::write(bare.join("nested/b.txt"), "b\n").unwrap();
    let mut project = |file: &str| {
        let taken = manager.before(&Tool::WriteFile { path: Path::new(file), directory: &bare });
        taken.into_iter().next().map(|one| one.project)
    };
    assert_eq!(project("deep/a.txt"), Some(bare.clone()));
    assert_eq!(project("not/yet/there.txt"), Some(bare.clone()));
    assert_eq!(project("nested/b.txt"), Some(bare.join("nested")));
    assert_eq!(project("../one/src/x"), Some(world.path("one")));
    assert_eq!(project("/not/there/x"), None);
}

#[test]
fn every_project_that_a_patch_names_has_its_checkpoint() {
    let world = World::new();
    let mut manager = world.enabled();
    let body = "*** Begin Patch\n*** Update File: Makefile\n-all:\n+none:\n\
        *** Delete File: ../two/Makefile\n*** End Patch\n";
    let taken =
        manager.before(&Tool::Patch { body: body.as_bytes(), directory: &world.path("one") });
    let projects: Vec<PathBuf> = taken.into_iter().map(|one| one.project).collect();
    assert_eq!(projects, [world.path("one"), world.path("two")]);
    assert_eq!(world.reasons(&manager, "two"), ["before patch"]);
}

#[test]
fn a_command_that_changes_no_file_needs_no_checkpoint() {
    let world = World::new();
    let mut manager = world.enabled();
    let look = Tool::Terminal { command: "ls # rm x", directory: &world.path("one") };
    assert_eq!(manager.before(&look), []);
    assert!(!world.path(".hermes").exists());
}

#[test]
fn switched_off_it_makes_no_file_and_says_nothing() {
    let world = World::new();
    let mut manager = CheckpointManager::configured(world.environment.clone());
    manager.new_turn();
    assert_eq!(
        manager.before(&Tool::WriteFile { path: Path::new("a"), directory: &world.path("one") }),
        []
    );
    let taken = manager.ensure_checkpoint(&world.path("one"), "r").unwrap();
    assert_eq!(taken.outcome, Outcome::Disabled);
    assert_eq!(manager.trouble(), [""; 0]);
    assert!(!world.path(".hermes").exists());
}

#[test]
fn what_cannot_be_stored_is_told_once_and_disturbs_nothing() {
    let world = World::new();
    fs::create_dir(world.path(".hermes")).unwrap();
    fs::write(world.path(".hermes/checkpoints"), "no directory\n").unwrap();
    let mut manager = world.enabled();
    let write = Tool::WriteFile { path: Path::new("a"), directory: &world.path("one") };
    for turn in 0..3 {
        manager.new_turn();
        assert_eq!(manager.before(&write)[0].taken, None);
        assert_eq!(manager.trouble().len(), usize::from(turn == 0));
    }
    assert_eq!(fs::read_to_string(world.path(".hermes/checkpoints")).unwrap(), "no directory\n");
}

#[test]
fn a_configuration_that_cannot_be_read_switches_checkpoints_off_and_refuses_the_rest() {
    let world = World::new();
    let mut manager = world.configure("checkpoints:\n  enabled: 7\n");
    assert!(!manager.is_enabled());
    assert_eq!(manager.trouble().len(), 1);
    assert_eq!(manager.ensure_checkpoint(&world.path("one"), "r"), None);
    let all = Extent::All(RestoreOptions::default());
    let refused = manager.restore(&world.path("one"), b"1", all, None).unwrap_err();
    assert_eq!(refused.code(), "switched_off");
    let mut manager = world.configure("checkpoints:\n  enabled: true\n");
    assert!(manager.is_enabled() && manager.trouble().is_empty());
}

#[test]
fn what_a_person_asks_is_answered_as_by_the_manager() {
    let world = World::new();
    let mut manager = world.enabled();
    let one = world.path("one");
    let all = || Extent::All(RestoreOptions::default());
    assert_eq!(manager.diff(&one, b"1").unwrap_err().code(), "unknown_checkpoint");
    manager.before(&Tool::WriteFile { path: Path::new("Makefile"), directory: &one });
    fs::write(one.join("Makefile"), "none:\n").unwrap();
    assert_eq!(manager.diff(&one, b"1").unwrap().entries.len(), 1);
    let preview = manager.preview(&one, b"1", all()).unwrap();
    fs::write(one.join("Makefile"), "saved since:\n").unwrap();
    let refused = manager.restore(&one, b"1", all(), Some(preview.token)).unwrap_err();
    assert_eq!(refused.code(), "changed_since_preview");
    let restored = manager.restore(&one, b"1", Extent::One(b"Makefile"), None).unwrap();
    assert_eq!((restored.restored, restored.undoes_turn), (vec![b"Makefile".to_vec()], false));
    let none = world.configure("checkpoints:\n  enabled: 7\n");
    assert_eq!(none.list(&one).unwrap_err().code(), "switched_off");
    assert_eq!(none.diff(&one, b"1").unwrap_err().code(), "switched_off");
    assert_eq!(none.preview(&one, b"1", all()).unwrap_err().code(), "switched_off");
}

#[test]
fn the_work_of_tools_is_told_from_that_of_others() {
    let world = World::new();
    let mut manager = world.enabled();
    let one = world.path("one");
    let write = Tool::WriteFile { path: Path::new("a"), directory: &one };
    let run = Tool::Terminal { command: "make", directory: &one };
    let others = |manager: &CheckpointManager| {
        let all = Extent::All(RestoreOptions::default());
        let would = manager.preview(&one, b"1", all).unwrap().would;
        would.others.map(|paths| paths.iter().map(|one| one.escape_ascii().to_string()).collect())
    };
    let named =
        |paths: &[&str]| Some(paths.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
    manager.ensure_checkpoint(&one, "r");
    fs::write(one.join("before"), "x\n").unwrap();
    assert_eq!(others(&manager), None, "no agent told anything yet");
    manager.before(&write);
    fs::write(one.join("a"), "a\n").unwrap();
    manager.after(&write);
    manager.before(&run);
    fs::write(one.join("made"), "m\n").unwrap();
    manager.after(&run);
    assert_eq!(others(&manager), named(&["before"]));
    fs::write(one.join("a"), "by a person\n").unwrap();
    fs::remove_file(one.join("made")).unwrap();
    assert_eq!(others(&manager), named(&["a", "before"]), "what is not there needs no restore");
    let hands = world.path(".hermes/checkpoints/store/hands");
    let file = fs::read_dir(&hands).unwrap().next().unwrap().unwrap().path();
    fs::write(file, "no JSON").unwrap();
    assert_eq!(others(&manager), None, "what is damaged is not known");
}

#[test]
fn switched_off_nothing_is_noted_and_what_cannot_be_noted_disturbs_nobody() {
    let world = World::new();
    let one = world.path("one");
    let write = Tool::WriteFile { path: Path::new("a"), directory: &one };
    let mut manager = world.enabled();
    manager.ensure_checkpoint(&one, "r");
    let store = world.path(".hermes/checkpoints/store");
    let mut off = CheckpointManager::configured(world.environment.clone());
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
fn each_event_has_one_checkpoint_and_what_is_of_high_risk_the_one_of_the_turn() {
    let world = World::new();
    let mut manager = world.enabled();
    let one = world.path("one");
    let mut happens = |content: &str, event: Event<'_>| {
        fs::write(one.join("Makefile"), content).unwrap();
        manager.happens(&one, &event).1.map(|taken| taken.outcome)
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
    assert!(manager.happens(&one, &done).1.is_some(), "it happens again");
    assert_eq!(world.reasons(&manager, "one")[0], "Card c is done");
    let config = Config::default();
    let mut off = CheckpointManager::with(world.environment.clone(), config);
    assert!(off.happens(&one, &half).1.is_none() && off.explain(&half).trigger.is_some());
    let mut broken = world.configure("checkpoints: 3\n");
    assert!(broken.happens(&one, &half).1.is_none() && broken.explain(&half).trigger.is_none());
}

// rule: agent/triggers
#[test]
fn an_event_whose_checkpoint_fails_is_told_and_may_have_one_later() {
    let world = World::new();
    let mut manager = world.enabled();
    let done = Event::Card { id: "c", from: "doing", to: "done" };
    assert!(manager.happens(&world.path("nowhere"), &done).1.is_none());
    assert_eq!(manager.trouble().len(), 1);
    assert!(manager.happens(&world.path("one"), &done).1.is_some());
}
