//! Injections at every call of short scenarios. `herma-conform run --every-call 3` runs longer scenarios with
//! all injections.

use herma_harness::generate::scenarios;
use herma_harness::history::{CallPosition, History};
use herma_harness::runner::Until;
use herma_harness::sandbox::Scratch;
use herma_harness::subject::CoreSubject;
use herma_harness::trial::trial;

/// The scenario of that name.
fn scenario(name: &str) -> History {
    let mut scenarios = scenarios(2, CallPosition::Every).into_iter();
    scenarios
        .find(|(candidate, _)| candidate == name)
        .unwrap_or_else(|| panic!("there is no story {name:?}"))
        .1
}

/// Asserts that no rule fails for an injection at any call of these requests, and that each kind of injection
/// occurs at least as often as given.
fn assert_no_failure_at_every_call(request: &str, injections: &[(&str, u64)]) {
    for (injection, least) in injections {
        let history = scenario(&format!("{request}: {injection}"));
        let run = trial(
            &history,
            &CoreSubject::boxed,
            &Scratch::in_default_directory(),
            Until::Disagreement,
        )
        .unwrap()
        .run;
        assert!(run.divergences.is_empty(), "{request}: {injection}: {:?}", run.divergences);
        assert!(
            run.injections >= *least,
            "{request}: {injection}, at {} calls only",
            run.injections
        );
    }
}

#[test]
fn a_checkpoint_holds_every_rule_with_an_injection_at_every_call() {
    let injections = [
        ("error", 30),
        ("read error", 50),
        ("no space", 5),
        ("a file is saved in its place", 20),
        ("a folder becomes a link", 20),
        ("the project is removed", 20),
    ];
    assert_no_failure_at_every_call("checkpoint, checkpoint", &injections);
}

#[test]
fn a_restore_holds_every_rule_with_an_injection_at_every_call() {
    let injections = [
        ("error", 40),
        ("no space", 5),
        ("a file is saved in its place", 30),
        ("a file is saved by a rename", 30),
        ("a file that comes back is saved", 30),
        ("a file that goes is saved", 30),
        ("a folder becomes a link", 30),
        ("the project is removed", 30),
    ];
    assert_no_failure_at_every_call("checkpoint, restore exactly", &injections);
}

#[test]
fn a_prune_holds_every_rule_with_an_injection_at_every_call() {
    assert_no_failure_at_every_call(
        "checkpoint, prune",
        &[("kill", 3), ("error", 3), ("read error", 10)],
    );
}

#[test]
fn a_checkpoint_holds_every_rule_with_another_process_at_every_call() {
    let injections = [("another process takes a checkpoint", 20), ("another process prunes", 20)];
    assert_no_failure_at_every_call("checkpoint, checkpoint", &injections);
}
