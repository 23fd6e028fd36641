//! What may happen at a call, at some calls of a checkpoint, a restore and a prune. At each call, of longer
//! stories, and of everything that may happen, `herma-conform faults` does the same.

use herma_harness::generate::stories;
use herma_harness::history::{At, History};
use herma_harness::sandbox::Scratch;
use herma_harness::subject::CoreSubject;
use herma_harness::trial::trial;

/// How many calls of a story, at most.
const CALLS: u64 = 12;

/// The story of that name.
fn story(name: &str) -> History {
    let mut all = stories(2, At::Spread(CALLS)).into_iter();
    all.find(|(one, _)| one == name).unwrap_or_else(|| panic!("there is no story {name:?}")).1
}

/// Nothing is wrong at these calls of these stories, of which there are at least so many.
fn holds(request: &str, happens: &[(&str, u64)]) {
    for (what, least) in happens {
        let history = story(&format!("{request}: {what}"));
        let run = trial(&history, &CoreSubject::boxed, &Scratch::default_place()).unwrap().run;
        assert!(run.divergences.is_empty(), "{request}: {what}: {:?}", run.divergences);
        assert!(run.injections >= *least, "{request}: {what}, at {} calls only", run.injections);
    }
}

#[test]
fn a_checkpoint() {
    let happens = [
        ("error", 6),
        ("read error", 6),
        ("no space", 5),
        ("a file is saved in its place", 6),
        ("a folder becomes a link", 6),
        ("the project is removed", 6),
    ];
    holds("checkpoint, checkpoint", &happens);
}

#[test]
fn a_restore() {
    let happens = [
        ("error", 6),
        ("no space", 5),
        ("a file is saved in its place", 6),
        ("a file is saved by a rename", 6),
        ("a file that comes back is saved", 6),
        ("a file that goes is saved", 6),
        ("a folder becomes a link", 6),
        ("the project is removed", 6),
    ];
    holds("checkpoint, restore exactly", &happens);
}

#[test]
fn a_prune() {
    holds("checkpoint, prune", &[("kill", 3), ("error", 3), ("read error", 6)]);
}

#[test]
fn a_checkpoint_beside_another_process() {
    let happens = [("another process takes a checkpoint", 6), ("another process prunes", 6)];
    holds("checkpoint, checkpoint", &happens);
}
