//! `herma-conform damage` with one kind of damage for each store file: the file exists and is damaged, and no
//! rule fails for the core. The same for a store of which only the folder is known.

use herma_harness::generate::{damages, damages_of_any_store};
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::runner::{Event, RunOptions, Until, run};
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::subject::{CoreSubject, Identity, Subject};
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

/// A core of whose store only the folder is known.
struct UnknownStore(Box<dyn Subject>);

impl Subject for UnknownStore {
    fn ask(&mut self, request: &Request) -> Answer {
        self.0.ask(request)
    }

    fn identity(&self) -> Identity {
        self.0.identity()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities().without("layout")
    }
}

#[test]
fn damage_of_an_unknown_store_accuses_no_restore_that_reports_what_it_could_not_do() {
    let open = |sandbox: &Sandbox, settings: &Settings, seconds: i64| -> Box<dyn Subject> {
        Box::new(UnknownStore(CoreSubject::boxed(sandbox, settings, seconds)))
    };
    let scratch = Scratch::in_default_directory();
    let mut failures = Vec::new();
    for (name, history) in damages_of_any_store().into_iter().step_by(4) {
        let options = RunOptions { until: Until::End, ..RunOptions::default() };
        let run = run(&history, &open, &scratch, options).unwrap();
        failures
            .extend(run.divergences.iter().map(|found| format!("{name}: {}", found.fingerprint())));
    }
    assert_eq!(failures, Vec::<String>::new());
}
