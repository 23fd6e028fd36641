//! Deliberately broken subjects: the suite finds each, blames the right rule and shows it with as
//! few operations as there can be. All of them are looked for by `herma-conform bugs`; here a few,
//! one for each way in which a bug is made.

use herma_harness::planted::hunt::hunt;
use herma_harness::planted::{PlantedBug, find};
use herma_harness::sandbox::Scratch;
use herma_harness::{History, run};

fn some() -> impl Iterator<Item = &'static PlantedBug> {
    ["no-dedup-in-a-turn", "restore-leaves-one-file", "unmounted-is-deleted"]
        .into_iter()
        .map(|name| find(name).unwrap())
}

#[test]
fn some_planted_bugs_are_found_blamed_and_shrunk_to_their_minimum() {
    for bug in some() {
        for seed in [1, 2, 3] {
            let score = hunt(bug, seed, &Scratch::default_place()).unwrap();
            assert_eq!(score.wrong(bug), None, "seed {seed}");
        }
    }
}

#[test]
fn no_operation_of_a_shortest_history_can_be_left_out() {
    let scratch = Scratch::default_place();
    for bug in some() {
        let open = bug.opener();
        let score = hunt(bug, 1, &scratch).unwrap();
        let (divergence, shrunk) = score.found.unwrap();
        for at in 0..shrunk.history.operations.len() {
            let mut operations = shrunk.history.operations.clone();
            operations.remove(at);
            let shorter = History { operations, ..shrunk.history.clone() };
            let outcome = run(&shorter, &open, &scratch).unwrap();
            let same =
                outcome.divergences.iter().any(|one| one.fingerprint() == divergence.fingerprint());
            assert!(!same, "{} shows without operation {at}", bug.name);
        }
    }
}
