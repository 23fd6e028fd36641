//! What a run says of itself: how much of what was planned ran.

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

/// What a run says, and what it leaves.
fn run(arguments: &[&str]) -> (i32, String, Results) {
    let folder = TempDir::new().unwrap();
    let mut run = Command::new(built_binary("herma-conform"));
    let run = run.arg("run").arg("--keep").arg(folder.path()).args(arguments);
    let output = run.output().unwrap();
    let results = fs::read_to_string(folder.path().join("results.jsonl")).unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code().unwrap(), said, Results::read(&results).unwrap())
}

#[test]
fn a_time_budget_ends_a_run_in_time_and_what_did_not_run_is_said() {
    let begun = Instant::now();
    let (code, said, results) =
        run(&["--seed", "1", "--histories", "1000000", "--time-budget", "1"]);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    // Not even the written cases are through, which put every rule to the test.
    assert_eq!(code, 5, "{said}");
    let (ran, planned) = (results.finished.histories, results.finished.planned);
    assert!(ran > 0 && ran < planned && planned > 1_000_000, "{ran} of {planned}");
    assert!(said.contains(&format!("\n{ran} of {planned} histories, ")), "{said}");
}

#[test]
fn a_search_for_a_short_history_ends_with_the_time_budget_too() {
    let binary = built_binary("herma-conform").display().to_string();
    let serve = ["--", &binary, "adapter", "serve", "--bug", "list-in-wrong-order"];
    let begun = Instant::now();
    let (code, said, results) = run(&[
        &["--seed", "1", "--time-budget", "2", "--histories", "100000"][..],
        &serve,
    ]
    .concat());
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(code, 1, "{said}");
    // What was found by then is shown, and was run again.
    let [failure] = &results.failures[..] else { panic!("{said}") };
    assert_eq!(failure.reproduced, Some((3, 3)));
}

#[test]
fn what_was_found_is_of_the_run_that_is_shown() {
    let binary = built_binary("herma-conform").display().to_string();
    let serve = ["--", &binary, "adapter", "serve", "--bug", "list-in-wrong-order"];
    let (_, said, results) = run(&[&["--seed", "1", "--histories", "1"][..], &serve].concat());
    let [failure] = &results.failures[..] else { panic!("{said}") };
    let ids: Vec<&str> = failure.found.split('"').filter(|part| part.len() == 40).collect();
    assert_eq!(ids.len(), 2, "{}", failure.found);
    for id in ids {
        assert!(failure.asked.iter().any(|line| line.contains(id)), "{id}: {:#?}", failure.asked);
    }
}

/// The core, with a few capabilities.
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

/// The rules that nothing puts to the test although the core claims what they need.
fn not_exercised(claimed: &[&str], histories: u64) -> Vec<String> {
    let capabilities = claimed.iter().fold(Capabilities::none(), |all, claim| all.with(claim));
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
        time_budget: None,
        known: BTreeSet::new(),
        share: Share::default(),
    };
    let plan = plan.within(&capabilities);
    let found = run_suite(&plan, &open, &Scratch::default_place(), &|_| {}).unwrap();
    assert!(found.failures.is_empty(), "{claimed:?}: {:?}", found.failures.keys());
    let is_open = |rule: &RuleRef| found.verdict(rule) == Verdict::NotExercised;
    rules::catalogue().filter(is_open).map(|rule| rule.id.to_owned()).collect()
}

/// What the core leaves out in any case.
const LEAVES_OUT: [&str; 5] = [
    "checkpoint",
    "capture.default_excludes",
    "capture.gitignore",
    "capture.no_repositories",
    "capture.units",
];

#[test]
fn a_claim_about_what_is_captured_can_be_met_by_a_store_that_nobody_can_read() {
    let claims = ["files.special", "files.unreadable", "user.ordinary", "settings.max_file_bytes"];
    let open = not_exercised(&[&LEAVES_OUT[..], &claims].concat(), 60);
    let of_capture: Vec<_> = open.iter().filter(|id| id.starts_with("capture/")).collect();
    assert!(of_capture.is_empty(), "{of_capture:?}");
}
