//! What is wrong with the answer of the operation that the fault came in, or with what it did to the
//! files.

use super::operation::ONE;
use super::{Acted, Fault, Operation, SUBJECT};
use crate::damage::ground::{changed_elsewhere, tree_in};
use crate::damage::judge::{self, Broken, Rule, Seen, said};
use crate::damage::past::Past;
use herma_model::answer::{Answer, Changed, CheckpointOutcome};
use herma_model::{ByteString, Tree};

/// All that is wrong.
pub(super) fn judged(
    operation: Operation,
    past: &Past,
    acted: &Acted,
    fault: Option<Fault>,
) -> Vec<Broken> {
    let Acted { answer, meanwhile, before, after, .. } = acted;
    let name = past.projects[SUBJECT].name;
    let mut broken = Vec::new();
    let elsewhere = match operation.restores() {
        true => changed_elsewhere(before, after, name),
        false if fault.is_some_and(|fault| fault.actor().is_some()) => {
            changed_elsewhere(before, after, name)
        }
        false => (before != after).then(|| name.into()),
    };
    if let Some(path) = elsewhere {
        let due = "nothing else is changed".to_owned();
        let found = format!("{path:?} is another");
        broken.push(Broken { rule: Rule::ReachesElsewhere, due, found });
    }
    if fault.is_some_and(Fault::ends_it) {
        return broken;
    }
    let answers = meanwhile.iter().map(|(_, answer)| answer).chain([answer]);
    for text in answers.filter_map(crashed) {
        let rule = if text.starts_with("silent:") { Rule::Hangs } else { Rule::Crashes };
        broken.push(Broken { rule, due: "an answer".into(), found: text.to_owned() });
    }
    let (before, after) = (tree_in(before, name), tree_in(after, name));
    broken.extend(match operation {
        // Who came first may have taken it, whatever it answered.
        Operation::Take if meanwhile.iter().any(|(of, _)| *of == Some(SUBJECT)) => None,
        Operation::Take => not_taken(answer),
        Operation::List => match answer {
            Answer::Listed(_) => {
                let due = past.of(SUBJECT).map(|(which, _)| (which, Rule::NotAsBefore));
                judge::listed(past, due, answer).into_iter().next()
            }
            _ => None,
        },
        Operation::Diff => match answer {
            Answer::Diffed { .. } => {
                let due = &past.projects[SUBJECT].checkpoints[0].tree;
                judge::diffed(Rule::NotAsBefore, due, &before, answer)
            }
            _ => None,
        },
        Operation::Restore | Operation::RestoreFile | Operation::Prune | Operation::Sweep => None,
    });
    // Beside somebody who works in the project, it may be as they left it.
    if operation.restores() && fault.is_none_or(|fault| fault.actor().is_none()) {
        broken.extend(restored(operation, past, (&before, &after), answer));
    }
    broken
}

fn crashed(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Crashed(text) => Some(text),
        _ => None,
    }
}

fn not_taken(answer: &Answer) -> Option<Broken> {
    match answer {
        Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. } => None,
        Answer::Taken { .. } => {
            let due = "a checkpoint of what was edited, or a refusal".to_owned();
            Some(Broken { rule: Rule::FalseSuccess, due, found: said(answer) })
        }
        _ => None,
    }
}

fn restored(
    operation: Operation,
    past: &Past,
    (before, after): (&Tree, &Tree),
    answer: &Answer,
) -> Vec<Broken> {
    let recorded = &past.projects[SUBJECT].checkpoints[0].tree;
    let one = ByteString::from(ONE);
    let mut only_one = before.clone();
    only_one.extend(recorded.get(&one).map(|entry| (one, entry.clone())));
    let (due, exact) = match operation {
        Operation::RestoreFile => (&only_one, true),
        _ => (recorded, false),
    };
    let seen = Seen { due, exact, before, after };
    match answer {
        Answer::Crashed(_) => Vec::new(),
        Answer::Refused { changed: Changed::Partial | Changed::Unknown, .. } => {
            judge::half_restored(&seen, answer).into_iter().collect()
        }
        _ => judge::restored(None, &seen, answer),
    }
}
