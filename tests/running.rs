//! What a run says of itself: how much of what was planned ran.

use herma_harness::results::Results;
use herma_tests::built_binary;
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
