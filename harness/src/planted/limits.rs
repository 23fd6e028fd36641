//! Bugs of limits: what is evicted when a limit is exceeded.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::intercepted::{Intercepted, takes_checkpoint};
use super::stored::{after_checkpoint, keeping_objects};
use super::sweep::{reconfigured, workdirs};
use herma_model::{Request, Settings, rules};
use std::fs;
use std::io;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "one-checkpoint-too-few-stays",
        rule: &rules::LIMIT_NEWEST_REMAIN,
        about: "One checkpoint less than the limit is kept.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            reconfigured(subject, request, |settings| {
                settings.max_snapshots = (settings.max_snapshots - 1).max(1);
            })
        }),
    },
    PlantedBug {
        name: "dropped-checkpoints-stay-stored",
        rule: &rules::LIMIT_NEWEST_REMAIN,
        about: "Checkpoints that the limit evicted are no longer listed, but stay in the store.",
        operations_min: 6,
        flaw: Intercept(|subject, request| match request {
            Request::Sweep | Request::Prune { .. } | Request::Clear => subject.ask(request),
            // With a small store size limit, that limit decides what is evicted.
            _ if subject.settings.max_total_bytes < Settings::default().max_total_bytes => {
                subject.ask(request)
            }
            _ => keeping_objects(subject, request, |_| true),
        }),
    },
    PlantedBug {
        name: "dropping-renames-what-stays",
        rule: &rules::LIST_STABLE,
        about: "Eviction by the limit rewrites the history, so that every checkpoint gets another id.",
        operations_min: 6,
        flaw: Intercept(|subject, request| after_checkpoint(subject, request, rewrite_history)),
    },
    PlantedBug {
        name: "the-total-size-is-never-kept",
        rule: &rules::LIMIT_TOTAL_SIZE,
        about: "No checkpoint is evicted when the store exceeds its size limit.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            reconfigured(subject, request, |settings| settings.max_total_bytes = 0)
        }),
    },
    PlantedBug {
        name: "the-cap-drops-the-newest-too",
        rule: &rules::LIMIT_NEWEST_STAYS,
        about: "The store size limit also evicts the newest checkpoint of a project.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            if takes_checkpoint(request) && subject.settings.max_total_bytes > 0 {
                let _ = drop_projects(subject, subject.settings.max_total_bytes);
            }
            answer
        }),
    },
    PlantedBug {
        name: "the-cap-is-half-of-what-it-should-be",
        rule: &rules::LIMIT_NO_MORE_THAN_NEEDED,
        about: "The store is kept below half of the store size limit.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            reconfigured(subject, request, |settings| settings.max_total_bytes /= 2)
        }),
    },
];

/// Rewrites a history from which the limit evicted checkpoints: its oldest checkpoint loses its parent.
/// Returns the id of the newest checkpoint.
fn rewrite_history(subject: &Intercepted, newest: &str) -> io::Result<String> {
    let ids = subject.git(&["rev-list", "--reverse", newest])?;
    let oldest = subject.commit_text(ids.lines().next().unwrap_or(newest))?;
    let was_cut = oldest.lines().any(|line| line.starts_with("parent "));
    if !was_cut || ids.lines().count() != subject.settings.max_snapshots {
        return Err(io::Error::other("the limit dropped nothing"));
    }
    let mut parent = String::new();
    for id in ids.lines() {
        let commit = subject.commit_text(id)?;
        let (tree, rest) = commit.split_once('\n').unwrap_or_default();
        let rest: String =
            rest.split_inclusive('\n').filter(|line| !line.starts_with("parent ")).collect();
        let new = subject.write("commit", format!("{tree}\n{parent}{rest}").as_bytes())?;
        subject.move_envelope(id, &new)?;
        parent = format!("parent {new}\n");
    }
    let id = parent["parent ".len()..].trim_end().to_owned();
    for name in subject.ref_of(newest)?.lines() {
        subject.git(&["update-ref", name, &id])?;
    }
    Ok(id)
}

/// The size of all reachable objects, in bytes.
fn reachable_bytes(subject: &Intercepted) -> io::Result<u64> {
    let bytes = subject.git(&["rev-list", "--objects", "--all", "--disk-usage"])?;
    bytes.parse().map_err(io::Error::other)
}

/// Removes one project after the other until the reachable objects take at most `bytes_max`.
fn drop_projects(subject: &Intercepted, bytes_max: u64) -> io::Result<()> {
    for (hash, _) in workdirs(subject)? {
        if reachable_bytes(subject)? <= bytes_max {
            break;
        }
        subject.git(&["update-ref", "-d", &format!("refs/hermes/{hash}")])?;
        fs::remove_file(subject.sandbox.store().join("projects").join(format!("{hash}.json")))?;
        fs::remove_file(subject.sandbox.store().join("indexes").join(hash))?;
    }
    Ok(())
}
