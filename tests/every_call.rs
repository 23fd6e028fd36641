//! Injections at every call of short scenarios, or at calls that are spread evenly over it where there are
//! hundreds. `herma-conform faults --requests 3` runs longer scenarios with all injections at every call.

use herma_harness::generate::scenarios;
use herma_harness::history::{CallPosition, History};
use herma_harness::runner::Until;
use herma_harness::sandbox::Scratch;
use herma_harness::subject::CoreSubject;
use herma_harness::trial::trial;
use std::thread;

/// So many calls, spread evenly.
const SOME: CallPosition = CallPosition::Spread(40);

/// The scenario of that name, with its injection at these calls.
fn scenario(name: &str, calls: CallPosition) -> History {
    let mut scenarios = scenarios(2, calls).into_iter();
    scenarios
        .find(|(candidate, _)| candidate == name)
        .unwrap_or_else(|| panic!("there is no story {name:?}"))
        .1
}

/// Asserts that no rule fails for an injection at these calls of the requests, and that each kind of injection
/// occurs at least as often as given.
fn assert_no_failure_at(calls: CallPosition, request: &str, injections: &[(&str, u64)]) {
    for (injection, least) in injections {
        let history = scenario(&format!("{request}: {injection}"), calls);
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
    let at_all = [("error", 30), ("no space", 5), ("a file is saved in its place", 20)];
    assert_no_failure_at(CallPosition::Every, "checkpoint, checkpoint", &at_all);
    let at_some =
        [("read error", 30), ("a folder becomes a link", 20), ("the project is removed", 20)];
    assert_no_failure_at(SOME, "checkpoint, checkpoint", &at_some);
}

#[test]
fn a_restore_holds_every_rule_with_an_injection_at_every_call() {
    let at_all = [("error", 40), ("no space", 5)];
    assert_no_failure_at(CallPosition::Every, "checkpoint, restore exactly", &at_all);
    let at_some = [
        ("a file is saved in its place", 20),
        ("a file is saved by a rename", 20),
        ("a file that comes back is saved", 20),
        ("a file that goes is saved", 20),
        ("a folder becomes a link", 20),
        ("the project is removed", 20),
    ];
    assert_no_failure_at(SOME, "checkpoint, restore exactly", &at_some);
}

#[test]
fn a_prune_holds_every_rule_with_an_injection_at_every_call() {
    assert_no_failure_at(CallPosition::Every, "checkpoint, prune", &[("kill", 3), ("error", 3)]);
    assert_no_failure_at(SOME, "checkpoint, prune", &[("read error", 30)]);
}

#[test]
fn a_checkpoint_holds_every_rule_with_another_process_at_every_call() {
    // Side by side, since a call mostly waits for the other process.
    thread::scope(|scope| {
        for injection in ["another process takes a checkpoint", "another process prunes"] {
            scope.spawn(move || {
                assert_no_failure_at(
                    CallPosition::Every,
                    "checkpoint, checkpoint",
                    &[(injection, 20)],
                );
            });
        }
    });
}
