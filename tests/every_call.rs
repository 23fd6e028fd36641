//! What may happen at a call, at each call of a checkpoint and of a restore. Of longer stories and of
//! everything that may happen `herma-conform run --every-call 3` does the same.

use herma_harness::generate::stories;
use herma_harness::history::{At, History};
use herma_harness::sandbox::Scratch;
use herma_harness::subject::CoreSubject;
use herma_harness::trial::trial;

/// The story of that name.
fn story(name: &str) -> History {
    let mut all = stories(2, At::Every).into_iter();
    all.find(|(one, _)| one == name).unwrap_or_else(|| panic!("there is no story {name:?}")).1
}

/// Nothing is wrong at any call of these stories, of which there are at least so many.
fn holds_at_every_call(request: &str, happens: &[(&str, u64)]) {
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
        ("error", 30),
        ("read error", 50),
        ("no space", 5),
        ("a file is saved in its place", 20),
        ("a folder becomes a link", 20),
        ("the project is removed", 20),
    ];
    holds_at_every_call("checkpoint, checkpoint", &happens);
}

#[test]
fn a_restore() {
    let happens = [
        ("error", 40),
        ("no space", 5),
        ("a file is saved in its place", 30),
        ("a file is saved by a rename", 30),
        ("a file that comes back is saved", 30),
        ("a file that goes is saved", 30),
        ("a folder becomes a link", 30),
        ("the project is removed", 30),
    ];
    holds_at_every_call("checkpoint, restore exactly", &happens);
}

#[test]
fn a_prune() {
    holds_at_every_call("checkpoint, prune", &[("kill", 3), ("error", 3), ("read error", 10)]);
}

#[test]
fn a_checkpoint_beside_another_process() {
    let happens = [("another process takes a checkpoint", 20), ("another process prunes", 20)];
    holds_at_every_call("checkpoint, checkpoint", &happens);
}
