//! `herma-conform damage` with one kind of damage for each store file: the file exists and is damaged, and no
//! rule fails for the core. The same for a store of which only the folder is known.

use herma_harness::generate::{damages, damages_of_any_store};
use herma_harness::history::Operation;
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::runner::{Event, RunOptions, Until, run};
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::subject::{CoreSubject, Identity, Subject};
use herma_model::answer::Restored;
use herma_model::{Answer, Request, Settings};
use pretty_assertions::assert_eq;

#[test]
fn damages_finds_each_file_that_it_must_damage() {
    let removed = damages().into_iter().filter(|(name, _)| name.contains("is Removed, then take"));
    let mut count = 0;
    for (name, history) in removed {
        let mut is_damaged = false;
        let mut watch = |event: Event| {
            is_damaged |= matches!(event, Event::StoreEdited(_, Some(_)));
        };
        let scratch = Scratch::in_default_directory();
        let options =
            RunOptions { until: Until::End, watch: Some(&mut watch), ..RunOptions::default() };
        let run = run(&history, &CoreSubject::boxed, &scratch, options).unwrap();
        assert!(run.divergences.is_empty(), "{name}: {:?}", run.divergences);
        assert!(is_damaged, "{name}");
        count += 1;
    }
    assert_eq!(count * 8 * 4, damages().len());
}

/// A core of whose store only the folder is known. If it hides damage, no restore reports what it could not do.
struct UnknownStore {
    subject: Box<dyn Subject>,
    hides_damage: bool,
}

impl Subject for UnknownStore {
    fn ask(&mut self, request: &Request) -> Answer {
        let safety = match (self.subject.ask(request), request) {
            (Answer::Refused { .. }, Request::Restore { .. }) if self.hides_damage => None,
            (Answer::Restored(restored), Request::Restore { .. }) if self.hides_damage => {
                restored.safety
            }
            (answer, _) => return answer,
        };
        Answer::Restored(Restored { safety, ..Restored::default() })
    }

    fn identity(&self) -> Identity {
        self.subject.identity()
    }

    fn capabilities(&self) -> Capabilities {
        let capabilities = self.subject.capabilities().without("layout");
        // An answer without a report cannot be compared with what happened.
        match self.hides_damage {
            true => capabilities.without("restore.report").without("restore.undoes_turn"),
            false => capabilities,
        }
    }
}

/// The failures of every fourth history of damage to an unknown store; with `damages: false` without the damage.
fn failures_of_unknown_store(hides_damage: bool, damages: bool) -> Vec<String> {
    let open = |sandbox: &Sandbox, settings: &Settings, seconds: i64| -> Box<dyn Subject> {
        let subject = CoreSubject::boxed(sandbox, settings, seconds);
        Box::new(UnknownStore { subject, hides_damage })
    };
    let scratch = Scratch::in_default_directory();
    let histories = damages_of_any_store().into_iter().step_by(4);
    let failures = histories.flat_map(|(name, mut history)| {
        let is_damage = |operation: &Operation| {
            matches!(operation, Operation::Event(herma_harness::history::Event::Store(_)))
        };
        history.operations.retain(|operation| damages || !is_damage(operation));
        let options = RunOptions { until: Until::End, ..RunOptions::default() };
        let run = run(&history, &open, &scratch, options).unwrap();
        run.divergences.into_iter().map(move |found| format!("{name}: {}", found.fingerprint()))
    });
    failures.collect()
}

#[test]
fn damage_of_an_unknown_store_accuses_a_silent_restore_and_no_reported_one() {
    assert_eq!(failures_of_unknown_store(false, true), Vec::<String>::new());
    assert_eq!(failures_of_unknown_store(true, false), Vec::<String>::new());
    let failures = failures_of_unknown_store(true, true);
    assert!(failures.iter().any(|failure| failure.contains("restore/")), "{failures:#?}");
}
