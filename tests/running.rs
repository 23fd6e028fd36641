//! `herma-conform run`: its report on how much of the plan ran, the time budget, and exercised rules.

use herma_harness::cases;
use herma_harness::generate::Options;
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::results::Results;
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::share::Share;
use herma_harness::subject::{CoreSubject, Identity, Subject};
use herma_harness::suite::{Plan, Verdict, run_suite};
use herma_model::rules::{self, RuleRef};
use herma_model::{Answer, Request, Settings};
use herma_tests::built_binary;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Runs `herma-conform run`, and returns its exit code, its output and its results.
fn run(arguments: &[&str]) -> (i32, String, Results) {
    let folder = TempDir::new().unwrap();
    let mut run = Command::new(built_binary("herma-conform"));
    let run = run.arg("run").arg("--keep").arg(folder.path()).args(arguments);
    let output = run.output().unwrap();
    let results = fs::read_to_string(folder.path().join("results.jsonl")).unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code().unwrap(), text, Results::read(&results).unwrap())
}

#[test]
fn time_budget_ends_a_run_in_time_and_reports_how_much_was_planned() {
    let start = Instant::now();
    // To read the cases takes a second on a busy machine.
    let plan = ["--seed", "1", "--histories", "1000000", "--jobs", "1"];
    let (code, text, results) = run(&[&plan[..], &["--time-budget", "3"]].concat());
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    // The budget does not suffice for the written cases, which exercise every rule.
    assert_eq!(code, 5, "{text}");
    let ran = results.finished.histories;
    let planned = results.finished.planned;
    assert!(ran > 0 && ran < planned && planned > 1_000_000, "{ran} of {planned}");
    assert!(text.contains(&format!("\n{ran} of {planned} histories, ")), "{text}");
}

#[test]
fn time_budget_also_ends_shrinking() {
    let binary = built_binary("herma-conform").display().to_string();
    let serve = ["--", &binary, "adapter", "serve", "--bug", "list-in-wrong-order"];
    let start = Instant::now();
    // Its case comes first, so that it is found at once on the slowest machine.
    let plan = ["--seed", "1", "--cases-of", "list/", "--histories", "100000"];
    let (code, text, results) = run(&[&plan[..], &["--time-budget", "20"], &serve].concat());
    assert!(start.elapsed() < Duration::from_secs(25), "{:?}", start.elapsed());
    assert_eq!(code, 1, "{text}");
    // A failure found by then is reported, and was reproduced.
    let [failure] = &results.failures[..] else { panic!("{text}") };
    assert_eq!(failure.reproduced, Some((3, 3)));
}

#[test]
fn a_reported_failure_comes_from_the_run_whose_requests_are_shown() {
    let binary = built_binary("herma-conform").display().to_string();
    let serve = ["--", &binary, "adapter", "serve", "--bug", "list-in-wrong-order"];
    let (_, text, results) =
        run(&[&["--seed", "1", "--histories", "1", "--cases-of", "list/"][..], &serve].concat());
    let [failure] = &results.failures[..] else { panic!("{text}") };
    let ids: Vec<&str> = failure.found.split('"').filter(|part| part.len() == 40).collect();
    assert_eq!(ids.len(), 2, "{}", failure.found);
    for id in ids {
        assert!(failure.asked.iter().any(|line| line.contains(id)), "{id}: {:#?}", failure.asked);
    }
}

/// The core, with other capabilities.
struct Claiming {
    core: CoreSubject,
    capabilities: Capabilities,
}

impl Subject for Claiming {
    fn identity(&self) -> Identity {
        self.core.identity()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        self.core.ask(request)
    }
}

/// The rules that are not exercised although the core claims their capabilities.
fn not_exercised(claimed: &[&str], histories: u64) -> Vec<String> {
    // What the numbers of the core mean is claimed in any case.
    let numbers = Capabilities::none().with("target.stable_number");
    let capabilities = claimed.iter().fold(numbers, |capabilities, name| capabilities.with(name));
    let open = |sandbox: &Sandbox, settings: &Settings, seconds| -> Box<dyn Subject> {
        let settings = capabilities.restrict_settings(settings);
        let core = CoreSubject::new(sandbox, &settings, seconds);
        Box::new(Claiming { core, capabilities: capabilities.clone() })
    };
    let plan = Plan {
        seeds: vec![1],
        histories,
        options: Options::default(),
        kept: Vec::new(),
        cases: cases::bundled().unwrap(),
        jobs: 2,
        shrink_budget: 0,
        cases_of: None,
        preset: String::new(),
        time_budget: None,
        known: BTreeSet::new(),
        share: Share::default(),
    };
    let plan = plan.within(&capabilities);
    let found = run_suite(&plan, &open, &Scratch::in_default_directory(), &|_| {}).unwrap();
    assert!(found.failures.is_empty(), "{claimed:?}: {:?}", found.failures.keys());
    let is_not_exercised = |rule: &RuleRef| found.verdict(rule) == Verdict::NotExercised;
    rules::catalogue().filter(is_not_exercised).map(|rule| rule.id.to_owned()).collect()
}

/// The capabilities that describe what the core always leaves out, and `checkpoint`.
const LEAVES_OUT: [&str; 5] = [
    "checkpoint",
    "capture.default_excludes",
    "capture.gitignore",
    "capture.no_repositories",
    "capture.units",
];

#[test]
fn capture_claims_are_exercised_for_a_store_with_an_opaque_layout() {
    let claims = ["files.special", "files.unreadable", "user.ordinary", "settings.max_file_bytes"];
    let not_exercised_rules = not_exercised(&[&LEAVES_OUT[..], &claims].concat(), 60);
    let capture_rules: Vec<_> =
        not_exercised_rules.iter().filter(|id| id.starts_with("capture/")).collect();
    assert!(capture_rules.is_empty(), "{capture_rules:?}");
}
