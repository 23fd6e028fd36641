//! Deliberately broken subjects: the suite finds each, blames the right rule and shows it with as
//! few operations as there can be.

use herma_harness::planted::{catalogue, hunt};
use herma_harness::sandbox::Scratch;
use herma_harness::{History, run};

#[test]
fn every_planted_bug_is_found_blamed_and_shrunk_to_its_minimum() {
    for bug in catalogue() {
        for seed in [1, 2, 3] {
            let score = hunt(bug, seed, &Scratch::default_place()).unwrap();
            assert!(score.is_right(bug), "{}{}", "seed and score: ", score.line(bug));
        }
    }
}

#[test]
fn no_operation_of_a_shortest_history_can_be_left_out() {
    let scratch = Scratch::default_place();
    for bug in catalogue() {
        let score = hunt(bug, 1, &scratch).unwrap();
        let (divergence, shrunk) = score.found.unwrap();
        for at in 0..shrunk.history.operations.len() {
            let mut operations = shrunk.history.operations.clone();
            operations.remove(at);
            let shorter = History { operations, ..shrunk.history.clone() };
            let outcome = run(&shorter, &bug.open, &scratch).unwrap();
            let same =
                outcome.divergences.iter().any(|one| one.fingerprint() == divergence.fingerprint());
            assert!(!same, "{} shows without operation {at}", bug.name);
        }
    }
}
