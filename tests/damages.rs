//! `herma-conform damage` with one kind of damage for each store file: the file exists and is damaged, and no
//! rule fails for the core. The same for a store of which only the folder is known.

use herma_harness::generate::{damages, damages_of_any_store};
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::runner::{Event, RunOptions, Until, run};
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::subject::{CoreSubject, Identity, Subject};
use herma_model::answer::Restored;
use herma_model::{Answer, Request, Settings};
use pretty_assertions::assert_eq;
use std::collections::BTreeSet;

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

/// What a store says of the paths that a restore did not write.
#[derive(Clone, Copy, PartialEq)]
enum Report {
    Complete,
    /// It claims to report, and leaves out what it did not do.
    Silent,
    /// It does not claim to report.
    None,
}

/// A core of whose store only the folder is known.
struct UnknownStore {
    core: Box<dyn Subject>,
    report: Report,
}

impl Subject for UnknownStore {
    fn ask(&mut self, request: &Request) -> Answer {
        match self.core.ask(request) {
            Answer::Restored(report) if self.report != Report::Complete => {
                Answer::Restored(Restored { kept: Vec::new(), failed: Vec::new(), ..report })
            }
            answer => answer,
        }
    }

    fn identity(&self) -> Identity {
        self.core.identity()
    }

    fn capabilities(&self) -> Capabilities {
        let known = self.core.capabilities().without("layout");
        if self.report == Report::None { known.without("restore.report") } else { known }
    }
}

/// The failures of a store for damages of which it is unknown what they cost.
fn failures(report: Report) -> impl Iterator<Item = String> {
    let open = move |sandbox: &Sandbox, settings: &Settings, seconds: i64| -> Box<dyn Subject> {
        let core = CoreSubject::boxed(sandbox, settings, seconds);
        Box::new(UnknownStore { core, report })
    };
    damages_of_any_store().into_iter().flat_map(move |(_, history)| {
        let options = RunOptions { until: Until::End, ..RunOptions::default() };
        let run = run(&history, &open, &Scratch::in_default_directory(), options).unwrap();
        run.divergences.into_iter().map(|found| found.fingerprint().to_string())
    })
}

#[test]
fn damage_of_an_unknown_store_accuses_no_restore_that_reports_what_it_could_not_do() {
    assert_eq!(failures(Report::Complete).collect::<BTreeSet<_>>(), BTreeSet::new());
}

/// Which files are damaged depends on the order of their names, and so on the path of the sandbox, which is new
/// in each run. In one run of seven, none of them is needed by a restore.
const RUNS_MAX: usize = 8;

#[test]
fn damage_of_an_unknown_store_accuses_a_restore_that_is_silent_about_what_it_did_not_do() {
    let found = || failures(Report::Silent).any(|found| found.starts_with("restore/honest"));
    assert!((0..RUNS_MAX).any(|_| found()));
}

#[test]
fn damage_of_an_unknown_store_accuses_a_restore_without_report_that_did_not_do_everything() {
    let found = || failures(Report::None).any(|found| found.starts_with("restore/bytes"));
    assert!((0..RUNS_MAX).any(|_| found()));
}
