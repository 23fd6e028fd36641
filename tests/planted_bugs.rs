//! Planted bugs: the suite finds each, blames the right rule and shrinks the history to the minimum. Here are
//! a few, one for each way to plant a bug; `herma-conform bugs` looks for all of them.

use herma_harness::planted::hunt::hunt;
use herma_harness::planted::{PlantedBug, find};
use herma_harness::sandbox::Scratch;
use herma_harness::{History, RunOptions, run};

fn sample() -> impl Iterator<Item = &'static PlantedBug> {
    ["no-dedup-in-a-turn", "restore-leaves-one-file", "unmounted-is-deleted"]
        .into_iter()
        .map(|name| find(name).unwrap())
}

#[test]
fn hunt_finds_blames_and_shrinks_planted_bugs_to_their_minimum() {
    for (seed, bug) in (1..).zip(sample()) {
        let score = hunt(bug, seed, &Scratch::in_default_directory()).unwrap();
        assert_eq!(score.wrong(bug), None, "seed {seed}");
    }
}

#[test]
fn hunt_returns_a_history_from_which_no_operation_can_be_removed() {
    let scratch = Scratch::in_default_directory();
    for bug in sample() {
        let open = bug.opener();
        let score = hunt(bug, 1, &scratch).unwrap();
        let (divergence, shrunk) = score.found.unwrap();
        for index in 0..shrunk.history.operations.len() {
            let mut operations = shrunk.history.operations.clone();
            operations.remove(index);
            let shorter = History { operations, ..shrunk.history.clone() };
            let outcome = run(&shorter, &open, &scratch, RunOptions::default()).unwrap();
            let is_same = outcome
                .divergences
                .iter()
                .any(|candidate| candidate.fingerprint() == divergence.fingerprint());
            assert!(!is_same, "{} shows without operation {index}", bug.name);
        }
    }
}
