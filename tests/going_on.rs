//! Runs continue after a failure: a known failure hides no other failure, and its mere consequences are not
//! reported as failures.
#![allow(clippy::unwrap_used)]

use herma_harness::apart::apart;
use herma_harness::divergence::Divergence;
use herma_harness::history::file::from_yaml;
use herma_harness::runner::{RunOptions, Until};
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::subject::{CoreSubject, Identity, Subject};
use herma_harness::{History, run};
use herma_model::answer::CheckpointOutcome;
use herma_model::{Answer, Request, Settings};

/// A core that falsifies some of its answers.
struct LyingCore {
    core: CoreSubject,
    /// Whether an earlier answer was falsified.
    lied: bool,
    lie: fn(&Request, &mut Answer, bool) -> bool,
}

impl Subject for LyingCore {
    fn identity(&self) -> Identity {
        Identity::new("lies", "1.0.0")
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let mut answer = self.core.ask(request);
        self.lied |= (self.lie)(request, &mut answer, self.lied);
        answer
    }
}

fn lying_core(
    lie: fn(&Request, &mut Answer, bool) -> bool,
) -> impl Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync {
    move |sandbox, settings, seconds| {
        let core = CoreSubject::new(sandbox, settings, seconds);
        Box::new(LyingCore { core, lied: false, lie })
    }
}

/// Answers that nothing changed although a manual checkpoint was created.
fn denies_checkpoints(request: &Request, answer: &mut Answer, _: bool) -> bool {
    let Answer::Taken { outcome, .. } = answer else { return false };
    let manual = matches!(request, Request::Checkpoint { .. });
    let created = manual && matches!(outcome, CheckpointOutcome::Created { .. });
    if created {
        *outcome = CheckpointOutcome::Unchanged;
    }
    created
}

/// As above, and a list lacks its oldest checkpoint.
fn denies_the_oldest_too(request: &Request, answer: &mut Answer, lied: bool) -> bool {
    if let Answer::Listed(listed) = answer {
        listed.pop();
    }
    denies_checkpoints(request, answer, lied)
}

/// As above, and every later list is empty.
fn denies_all_afterwards(request: &Request, answer: &mut Answer, lied: bool) -> bool {
    match answer {
        Answer::Listed(listed) if lied => listed.clear(),
        _ => {}
    }
    denies_checkpoints(request, answer, lied)
}

fn history() -> History {
    let text = "operations:
- write: {path: work/alpha/a, content: one}
- checkpoint: {dir: work/alpha, reason: r}
- write: {path: work/alpha/a, content: two}
- ensure_checkpoint: {dir: work/alpha, reason: r}
- list: {dir: work/alpha}
";
    from_yaml(text, "here".as_ref()).unwrap()
}

fn rules(divergences: &[Divergence]) -> Vec<(&str, bool)> {
    divergences
        .iter()
        .map(|divergence| (divergence.rule.id, divergence.follows.is_some()))
        .collect()
}

/// Runs a history to its end.
fn to_the_end<'a>() -> RunOptions<'a> {
    RunOptions { until: Until::End, ..RunOptions::default() }
}

#[test]
fn run_finds_a_failure_after_another_and_apart_isolates_it() {
    let open = lying_core(denies_the_oldest_too);
    let scratch = Scratch::in_default_directory();
    let first = run(&history(), &open, &scratch, RunOptions::default()).unwrap();
    assert_eq!(rules(&first.divergences), [("capture/created", false)]);
    let complete = run(&history(), &open, &scratch, to_the_end()).unwrap();
    assert_eq!(rules(&complete.divergences), [("capture/created", false), ("list/complete", true)]);
    assert_eq!(
        (complete.depth.drawn, complete.depth.judged, complete.depth.after_failure),
        (5, 5, 3)
    );
    let second = complete.divergences[1].fingerprint();
    let (isolated, divergence) = apart(&history(), &second, &open, &scratch).unwrap().unwrap();
    assert_eq!((divergence.rule.id, divergence.follows), ("list/complete", None));
    assert_eq!(isolated.operations.len(), 4);
}

#[test]
fn apart_returns_none_for_a_mere_consequence_of_another_failure() {
    let open = lying_core(denies_all_afterwards);
    let scratch = Scratch::in_default_directory();
    let complete = run(&history(), &open, &scratch, to_the_end()).unwrap();
    assert_eq!(rules(&complete.divergences)[1], ("list/complete", true));
    let second = complete.divergences[1].fingerprint();
    assert!(apart(&history(), &second, &open, &scratch).unwrap().is_none());
}

#[test]
fn run_continues_with_the_actual_state_of_the_store() {
    let open = lying_core(denies_checkpoints);
    let scratch = Scratch::in_default_directory();
    let complete = run(&history(), &open, &scratch, to_the_end()).unwrap();
    // The denied checkpoint is in the list, and that is not a second failure.
    assert_eq!(rules(&complete.divergences), [("capture/created", false)]);
}
