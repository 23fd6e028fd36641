//! After a failure a run goes on: what is known hides nothing, and what only follows from it is no
//! accusation.
#![allow(clippy::unwrap_used)]

use herma_harness::apart::apart;
use herma_harness::divergence::Divergence;
use herma_harness::history::file::from_yaml;
use herma_harness::runner::{Until, run_until};
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::subject::{CoreSubject, Identity, Subject};
use herma_harness::{History, run};
use herma_model::answer::CheckpointOutcome;
use herma_model::{Answer, Request, Settings};

/// A core whose answers are changed, with how many requests it was asked before.
struct Lies {
    core: CoreSubject,
    /// Whether it lied before.
    lied: bool,
    lie: fn(&Request, &mut Answer, bool) -> bool,
}

impl Subject for Lies {
    fn identity(&self) -> Identity {
        Identity::new("lies", "1.0.0")
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let mut answer = self.core.ask(request);
        self.lied |= (self.lie)(request, &mut answer, self.lied);
        answer
    }
}

fn lies(
    lie: fn(&Request, &mut Answer, bool) -> bool,
) -> impl Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync {
    move |sandbox, settings, seconds| {
        let core = CoreSubject::new(sandbox, settings, seconds);
        Box::new(Lies { core, lied: false, lie })
    }
}

/// Says that nothing changed where a checkpoint was taken.
fn denies_checkpoints(request: &Request, answer: &mut Answer, _: bool) -> bool {
    let Answer::Taken { outcome, .. } = answer else { return false };
    let manual = matches!(request, Request::Checkpoint { .. });
    let created = manual && matches!(outcome, CheckpointOutcome::Created { .. });
    if created {
        *outcome = CheckpointOutcome::Unchanged;
    }
    created
}

/// And a list lacks its oldest checkpoint.
fn denies_the_oldest_too(request: &Request, answer: &mut Answer, lied: bool) -> bool {
    if let Answer::Listed(listed) = answer {
        listed.pop();
    }
    denies_checkpoints(request, answer, lied)
}

/// And from then on a list is empty.
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
    divergences.iter().map(|one| (one.rule.id, one.follows.is_some())).collect()
}

#[test]
fn a_failure_behind_another_one_is_seen_and_shown_by_itself() {
    let (open, scratch) = (lies(denies_the_oldest_too), Scratch::default_place());
    let first = run(&history(), &open, &scratch).unwrap();
    assert_eq!(rules(&first.divergences), [("capture/created", false)]);
    let whole = run_until(Until::End, &history(), &open, &scratch).unwrap();
    assert_eq!(rules(&whole.divergences), [("capture/created", false), ("list/complete", true)]);
    assert_eq!((whole.depth.drawn, whole.depth.judged, whole.depth.after_failure), (5, 5, 3));
    let behind = whole.divergences[1].fingerprint();
    let (alone, divergence) = apart(&history(), &behind, &open, &scratch).unwrap().unwrap();
    assert_eq!((divergence.rule.id, divergence.follows), ("list/complete", None));
    assert_eq!(alone.operations.len(), 4);
}

#[test]
fn what_only_follows_from_a_failure_is_no_accusation() {
    let (open, scratch) = (lies(denies_all_afterwards), Scratch::default_place());
    let whole = run_until(Until::End, &history(), &open, &scratch).unwrap();
    assert_eq!(rules(&whole.divergences)[1], ("list/complete", true));
    let behind = whole.divergences[1].fingerprint();
    assert!(apart(&history(), &behind, &open, &scratch).unwrap().is_none());
}

#[test]
fn the_world_goes_on_with_what_is_really_stored() {
    let (open, scratch) = (lies(denies_checkpoints), Scratch::default_place());
    let whole = run_until(Until::End, &history(), &open, &scratch).unwrap();
    // The checkpoint that was denied is in the list, and nobody is blamed for that.
    assert_eq!(rules(&whole.divergences), [("capture/created", false)]);
}
