//! What may happen at a call, at some calls of a checkpoint, a restore and a prune, evenly spread. At each
//! call, of longer stories and of all that may happen, `herma-conform run --every-call 3` does the same.

use herma_harness::generate::stories;
use herma_harness::history::{At, History};
use herma_harness::sandbox::Scratch;
use herma_harness::subject::CoreSubject;
use herma_harness::trial::trial;

/// At so many calls it happens.
const CALLS: u64 = 16;

/// The story of that name.
fn story(name: &str) -> History {
    let mut all = stories(2, At::Spread(CALLS)).into_iter();
    all.find(|(one, _)| one == name).unwrap_or_else(|| panic!("there is no story {name:?}")).1
}

/// Nothing is wrong in these stories, and it happened as often as it was to.
fn holds(request: &str, happens: &[&str]) {
    for what in happens {
        let history = story(&format!("{request}: {what}"));
        let run = trial(&history, &CoreSubject::boxed, &Scratch::default_place()).unwrap().run;
        assert!(run.divergences.is_empty(), "{request}: {what}: {:?}", run.divergences);
        assert!(run.injections > 2, "{request}: {what}, at {} calls only", run.injections);
    }
}

#[test]
fn a_checkpoint() {
    let happens = [
        "error",
        "read error",
        "no space",
        "a file is saved in its place",
        "a folder becomes a link",
        "the project is removed",
    ];
    holds("checkpoint, checkpoint", &happens);
}

#[test]
fn a_restore() {
    let happens = [
        "error",
        "no space",
        "a file is saved in its place",
        "a file is saved by a rename",
        "a file that comes back is saved",
        "a file that goes is saved",
        "the project is removed",
    ];
    holds("checkpoint, restore exactly", &happens);
}

#[test]
fn a_prune() {
    holds("checkpoint, prune", &["kill", "error", "read error"]);
}

#[test]
fn a_checkpoint_beside_another_process() {
    let happens = ["another process takes a checkpoint", "another process prunes"];
    holds("checkpoint, checkpoint", &happens);
}
