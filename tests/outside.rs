//! Injections from outside: what happens at a call of another process is judged as what happens in this one.

use super::faults::{can_supervise, started};
use herma_harness::divergence::Divergence;
use herma_harness::history::file::from_yaml;
use herma_harness::sandbox::Scratch;
use herma_harness::subject::AdapterCommand;
use herma_harness::trial::trial;
use pretty_assertions::assert_eq;
use std::path::Path;

/// The core behind an adapter, or a planted bug, whose process is supervised.
fn supervised(bug: &[&str]) -> AdapterCommand {
    let (start, supervisor) = started(bug);
    AdapterCommand { supervisor: Some(supervisor.to_vec()), ..start }
}

/// What is wrong with a checkpoint of a change at one of whose calls that happens, and with what follows;
/// and how often it happened.
fn met(injection: &str, start: &AdapterCommand) -> (Vec<&'static str>, u64) {
    let text = format!(
        "operations:
- write: {{path: work/alpha/a, content: '1'}}
- checkpoint: {{dir: work/alpha, reason: r}}
- write: {{path: work/alpha/a, content: '2'}}
- inject: {{{injection}}}
- checkpoint: {{dir: work/alpha, reason: r}}
- write: {{path: work/alpha/a, content: '3'}}
- restore: {{dir: work/alpha, target: {{number: 1}}, exact: false}}"
    );
    let history = from_yaml(&text, Path::new("here")).unwrap();
    let run = trial(&history, &start.opener(), &Scratch::default_place()).unwrap().run;
    let rule = |one: &Divergence| one.rule.id;
    (run.divergences.iter().map(rule).collect(), run.injections)
}

#[test]
fn whatever_happens_at_any_call_of_the_core_in_another_process_costs_nothing() {
    if !can_supervise() {
        return;
    }
    let core = supervised(&[]);
    let saved = "meanwhile: [{write: {path: work/alpha/a, content: saved}}]";
    for (what, least) in [("what: error".to_owned(), 30), (format!("what: hold, {saved}"), 10)] {
        let (broken, injections) = met(&format!("call: every, {what}"), &core);
        assert_eq!(broken, Vec::<&str>::new(), "{what}");
        assert!(injections >= least, "{what}: {injections}");
    }
    for injection in
        ["call: 20, what: kill", "call: end, what: kill", "call: end, what: {power_loss: names}"]
    {
        assert_eq!(met(injection, &core), (Vec::new(), 1), "{injection}");
    }
}

#[test]
fn what_is_not_synced_is_lost_in_another_process_too() {
    if !can_supervise() {
        return;
    }
    let bug = supervised(&["--bug", "nothing-is-synced"]);
    let (broken, _) = met("call: end, what: {power_loss: nothing}", &bug);
    assert_eq!(broken, ["crash/power-loss"]);
}
