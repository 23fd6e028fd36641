//! The damage lane notices what is wrong: a store that trusts what is damaged, and every lie.

use herma_harness::damage::harm::{Damage, Harm};
use herma_harness::damage::judge::Rule;
use herma_harness::damage::places::Place;
use herma_harness::damage::{Opened, canary, run_chosen};
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::subject::{CoreSubject, Identity, Subject};
use herma_model::answer::{Answer, Changed, Code, Restored};
use herma_model::{Request, Settings};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn a_store_that_takes_a_damaged_object_for_stored_is_found() {
    let found = canary(&Scratch::default_place()).unwrap();
    assert!(found.contains(&Rule::NotStoredAgain), "{found:?}");
}

/// What a subject answers instead of the core; nothing where it asks the core.
type Lie = fn(&mut CoreSubject, &Request, &Path) -> Option<Answer>;

/// A core that lies once its store was damaged.
struct Liar {
    core: CoreSubject,
    root: PathBuf,
    is_damaged: bool,
    lie: Lie,
}

impl Subject for Liar {
    fn identity(&self) -> Identity {
        self.core.identity()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let lie = self.is_damaged.then(|| (self.lie)(&mut self.core, request, &self.root));
        lie.flatten().unwrap_or_else(|| self.core.ask(request))
    }
}

/// A file that the core does not need.
const DAMAGED: &str = "info/attributes";

/// What is held against a liar where one file that nobody needs was removed.
fn found(lie: Lie) -> BTreeSet<Rule> {
    let open = move |sandbox: &Sandbox, settings: &Settings, seconds| -> Box<dyn Subject> {
        let core = CoreSubject::new(sandbox, settings, seconds);
        let is_damaged = sandbox.has_store() && !sandbox.store().join(DAMAGED).exists();
        Box::new(Liar { core, root: sandbox.root().to_owned(), is_damaged, lie })
    };
    // Two projects are enough to be told apart.
    let capabilities = Capabilities::complete().without("project.any_directory");
    let subject = Identity::default();
    let opened = Opened { open: &open, subject, capabilities };
    let choose = |places: &[Place]| {
        let place = places.iter().find(|place| place.path == Path::new(DAMAGED))?.clone();
        Some(Damage { place, harm: Harm::Removed, spot: 0, other: None })
    };
    let outcome = run_chosen(&opened, 1, 1, &Scratch::default_place(), choose).unwrap();
    assert_eq!(outcome.without_damage, 0);
    outcome.failures.into_iter().map(|failure| failure.rule).collect()
}

fn refused() -> Answer {
    let (message, changed) = ("no".to_owned(), Changed::None);
    Answer::Refused { code: Code::CorruptCheckpoint, message, changed }
}

#[test]
fn nothing_is_held_against_who_does_not_lie() {
    assert_eq!(found(|_, _, _| None), BTreeSet::new());
}

#[test]
fn what_is_not_listed_or_not_taken_is_found() {
    let costs_more = BTreeSet::from([Rule::CostsMore]);
    let hiding: Lie = |core, request, _| match core.ask(request) {
        Answer::Listed(mut listed) => {
            listed.pop();
            Some(Answer::Listed(listed))
        }
        answer => Some(answer),
    };
    assert_eq!(found(hiding), costs_more);
    let idle: Lie = |_, request, _| matches!(request, Request::Checkpoint { .. }).then(refused);
    assert_eq!(found(idle), costs_more);
}

#[test]
fn a_restore_that_does_nothing_destroys_something_or_reaches_too_far_is_found() {
    let nothing: Lie = |_, request, _| {
        let done = || Answer::Restored(Restored::default());
        matches!(request, Request::Restore { .. }).then(done)
    };
    assert!(found(nothing).contains(&Rule::FalseSuccess));
    let destroying: Lie = |_, request, root| {
        let destroyed = ["alpha", "beta", "gamma"].map(|name| root.join("work").join(name));
        matches!(request, Request::Restore { .. }).then(|| {
            // Only the project that is asked about holds one.
            let wrecks = destroyed.map(|project| project.join("wreck/new.txt"));
            wrecks.iter().for_each(|wreck| drop(fs::remove_file(wreck)));
            refused()
        })
    };
    assert!(found(destroying).contains(&Rule::RefusalChanges));
    let reaching: Lie = |_, request, root| {
        if matches!(request, Request::Restore { .. }) {
            let path = root.join("outside/secret.txt");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(path, text + "more\n").unwrap();
        }
        None
    };
    assert_eq!(found(reaching), BTreeSet::from([Rule::ReachesElsewhere]));
}

#[test]
fn upkeep_that_removes_what_is_whole_is_found() {
    let clearing: Lie = |core, request, _| {
        matches!(request, Request::Prune { .. }).then(|| core.ask(&Request::Clear))
    };
    assert_eq!(found(clearing), BTreeSet::from([Rule::UpkeepLoses]));
}

#[test]
fn who_crashes_or_hangs_is_found() {
    let crashing: Lie = |_, request, _| {
        matches!(request, Request::List { .. }).then(|| Answer::Crashed("a panic".into()))
    };
    assert_eq!(found(crashing), BTreeSet::from([Rule::Crashes]));
    let hanging: Lie = |_, request, _| {
        let silence = || Answer::Crashed("silent: no reply to `list` within 20 s".into());
        matches!(request, Request::List { .. }).then(silence)
    };
    assert_eq!(found(hanging), BTreeSet::from([Rule::Hangs]));
}
