//! Cost of requests, as `herma-conform cost` and `--measure` judge it: both rules for the core, and for a
//! process behind an adapter.

use herma_harness::cases;
use herma_harness::generate::measured;
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::subject::{AdapterCommand, CoreSubject, Identity, Subject};
use herma_harness::{History, RunOptions, run};
use herma_model::{Answer, Request, Settings, rules};
use herma_tests::{assert_rules_held, built_binary};
use pretty_assertions::assert_eq;
use std::fs;
use std::path::{Path, PathBuf};

/// The history of a written case.
fn history(id: &str) -> History {
    let cases = cases::bundled().unwrap();
    cases.iter().find(|case| case.id == id).unwrap().history()
}

#[test]
fn cost_judges_both_rules_on_the_core() {
    // The first shard has a checkpoint of large files and one of unchanged files.
    let output = assert_rules_held(
        &["cost", "--large", "80", "--shard", "1/5"],
        &[&rules::COST_MEMORY, &rules::COST_UNCHANGED],
    );
    assert!(output.contains("replay: herma-conform run --measure 80"), "{output}");
}

#[test]
fn cost_of_files_below_80_mebibytes_judges_reading_alone() {
    let output = assert_rules_held(&["cost", "--large", "20"], &[&rules::COST_UNCHANGED]);
    assert!(output.contains("it needs files of 80 MiB"), "{output}");
}

#[test]
fn measure_runs_only_if_with_program_names_the_program() {
    let plain = Scratch::in_default_directory();
    let with_program = plain.with_program(built_binary("herma-conform"));
    let history = history("an-unchanged-file-is-not-read-again");
    for (scratch, checks) in [(with_program, Some(1)), (plain, None)] {
        let run = run(&history, &CoreSubject::boxed, &scratch, RunOptions::default()).unwrap();
        assert_eq!(run.divergences.len(), 0, "{:?}", run.divergences);
        assert_eq!(run.checks.get(rules::COST_UNCHANGED.id).copied(), checks);
        assert_eq!(run.capabilities.lacking(&rules::COST_UNCHANGED).is_none(), checks.is_some());
    }
}

#[test]
fn measure_finds_a_planted_bug_behind_an_adapter() {
    let program = built_binary("herma-conform");
    let bug = "unchanged-files-are-read-again";
    let start = AdapterCommand::bundled_core(Path::new(&program), Some(bug)).unwrap();
    let history = history("an-unchanged-file-is-not-read-again");
    let run =
        run(&history, &start.opener(), &Scratch::in_default_directory(), RunOptions::default())
            .unwrap();
    let broken: Vec<&str> = run.divergences.iter().map(|divergence| divergence.rule.id).collect();
    assert_eq!(broken, ["cost/unchanged"]);
}

/// A store that silently leaves out files above 1 MiB, and removes them in a restore.
struct RemovesLargeFiles {
    core: CoreSubject,
    project: PathBuf,
}

impl Subject for RemovesLargeFiles {
    fn identity(&self) -> Identity {
        Identity::new("removes-large-files", "1.0.0")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of_the_core()
            .without("layout")
            .without("restore.safety")
            .without("settings.max_file_bytes")
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let mut answer = self.core.ask(request);
        match &mut answer {
            Answer::Taken { skipped, .. } => skipped.clear(),
            Answer::Restored(_) => {
                for file in fs::read_dir(&self.project).unwrap().map(Result::unwrap) {
                    if file.metadata().unwrap().len() > 1 << 20 {
                        fs::remove_file(file.path()).unwrap();
                    }
                }
            }
            _ => {}
        }
        answer
    }
}

#[test]
fn cost_accuses_a_store_that_removes_large_files() {
    let histories = measured(80 << 20);
    let (_, history) = histories.iter().find(|(name, _)| name == "measured: restore").unwrap();
    let open = |sandbox: &Sandbox, settings: &Settings, seconds| {
        let settings = Settings { max_file_bytes: 1 << 20, ..settings.clone() };
        let core = CoreSubject::new(sandbox, &settings, seconds);
        let project = sandbox.root().join("work/alpha");
        Box::new(RemovesLargeFiles { core, project }) as Box<dyn Subject>
    };
    let run = run(history, &open, &Scratch::in_default_directory(), RunOptions::default()).unwrap();
    let broken: Vec<String> =
        run.divergences.iter().map(|divergence| divergence.fingerprint().to_string()).collect();
    assert_eq!(broken, ["restore/bytes (fail: nothing, not a file)"]);
}
