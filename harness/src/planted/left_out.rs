//! Bugs of restores that forget what a checkpoint left out.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::after_restore::afterwards;
use herma_core::LEFT_OUT;
use herma_model::answer::Remark;
use herma_model::{Request, rules};
use std::fs;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "exact-removes-what-was-left-out",
        rule: &rules::RESTORE_LEFT_OUT,
        about: "An exact restore removes what the checkpoint left out for its size or kind.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            let is_exact = matches!(request, Request::Restore { exact: true, .. });
            afterwards(subject, request, |outcome| {
                let Some(id) = outcome.said.safety.clone().filter(|_| is_exact) else {
                    return Ok(());
                };
                let held = outcome.subject.tree(&id);
                let kept = std::mem::take(&mut outcome.said.kept);
                for remark in kept {
                    if is_left_out(&remark) && held.contains_key(&remark.path) {
                        fs::remove_file(outcome.on_disk(&remark.path))?;
                        outcome.said.removed.push(remark.path);
                    } else {
                        outcome.said.kept.push(remark);
                    }
                }
                Ok(())
            })
        }),
    },
    PlantedBug {
        name: "what-was-left-out-is-called-new",
        rule: &rules::RESTORE_LEFT_OUT,
        about: "What the checkpoint left out and is there now is listed as created since.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            afterwards(subject, request, |outcome| {
                let kept = std::mem::take(&mut outcome.said.kept);
                for remark in kept {
                    match is_left_out(&remark) && outcome.after(&remark.path).is_some() {
                        true => outcome.said.left.push(remark.path),
                        false => outcome.said.kept.push(remark),
                    }
                }
                Ok(())
            })
        }),
    },
    PlantedBug {
        name: "what-was-left-out-and-is-gone-is-not-said",
        rule: &rules::RESTORE_LEFT_OUT,
        about: "A restore says nothing of what the checkpoint left out and is gone now.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            afterwards(subject, request, |outcome| {
                let mut kept = std::mem::take(&mut outcome.said.kept);
                kept.retain(|one| !is_left_out(one) || outcome.after(&one.path).is_some());
                outcome.said.kept = kept;
                Ok(())
            })
        }),
    },
];

fn is_left_out(remark: &Remark) -> bool {
    remark.why.starts_with(LEFT_OUT)
}
