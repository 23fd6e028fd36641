//! Bugs of restores that ignore which files a checkpoint left out.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::after_restore::{RestoreOutcome, after_restore};
use super::intercepted::Intercepted;
use herma_core::LEFT_OUT;
use herma_model::answer::Remark;
use herma_model::bytes::below;
use herma_model::{Answer, ByteString, Node, Request, rules};
use std::collections::BTreeMap;
use std::{fs, io};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "exact-removes-what-was-left-out",
        rule: &rules::RESTORE_LEFT_OUT,
        about: "An exact restore removes files that the checkpoint left out because of their size or kind.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            after_exact_restore(subject, request, |outcome, captured| {
                let kept = std::mem::take(&mut outcome.report.kept);
                for remark in kept {
                    if is_left_out(&remark) && captured.contains_key(&remark.path) {
                        fs::remove_file(outcome.on_disk(&remark.path))?;
                        outcome.report.removed.push(remark.path);
                    } else {
                        outcome.report.kept.push(remark);
                    }
                }
                Ok(())
            })
        }),
    },
    PlantedBug {
        name: "what-is-in-an-unreadable-folder-is-new",
        rule: &rules::RESTORE_LEFT_OUT,
        about: "An exact restore removes files in a folder that could not be read for the checkpoint.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            after_exact_restore(subject, request, |outcome, captured| {
                let left_out: Vec<ByteString> = outcome
                    .report
                    .kept
                    .iter()
                    .filter(|remark| is_left_out(remark))
                    .map(|remark| remark.path.clone())
                    .collect();
                for path in captured.keys() {
                    if left_out.iter().any(|folder| below(folder, path).is_some()) {
                        fs::remove_file(outcome.on_disk(path))?;
                        outcome.report.removed.push(path.clone());
                    }
                }
                Ok(())
            })
        }),
    },
    PlantedBug {
        name: "what-was-left-out-is-called-new",
        rule: &rules::RESTORE_LEFT_OUT,
        about: "Existing files that the checkpoint left out are listed as created since.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            after_restore(subject, request, |outcome| {
                let kept = std::mem::take(&mut outcome.report.kept);
                for remark in kept {
                    match is_left_out(&remark) && outcome.after(&remark.path).is_some() {
                        true => outcome.report.left.push(remark.path),
                        false => outcome.report.kept.push(remark),
                    }
                }
                Ok(())
            })
        }),
    },
    PlantedBug {
        name: "what-was-left-out-and-is-gone-is-not-said",
        rule: &rules::RESTORE_LEFT_OUT,
        about: "A restore does not report files that the checkpoint left out and that no longer exist.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            after_restore(subject, request, |outcome| {
                let mut kept = std::mem::take(&mut outcome.report.kept);
                kept.retain(|remark| !is_left_out(remark) || outcome.after(&remark.path).is_some());
                outcome.report.kept = kept;
                Ok(())
            })
        }),
    },
];

/// Asks the core, and changes the files after an exact restore that took a safety checkpoint, whose tree is given.
fn after_exact_restore(
    subject: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&mut RestoreOutcome<'_>, &BTreeMap<ByteString, Node>) -> io::Result<()>,
) -> Answer {
    let is_exact = matches!(request, Request::Restore { exact: true, .. });
    after_restore(subject, request, |outcome| {
        let safety = outcome.report.safety.clone().filter(|_| is_exact);
        let captured = safety.map(|id| outcome.subject.tree(&id));
        captured.map_or(Ok(()), |captured| change(outcome, &captured))
    })
}

fn is_left_out(remark: &Remark) -> bool {
    remark.why.starts_with(LEFT_OUT)
}
