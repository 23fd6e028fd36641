//! Bugs of sweeps and prunes: when they are made, what they remove and keep, and what they count.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::intercepted::{Intercepted, names, takes_checkpoint};
use super::stored::keeping_objects;
use herma_model::answer::{Counts, SweepOutcome};
use herma_model::{Answer, Request, Settings, rules};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "sweep-forgets-the-last",
        rule: &rules::SWEEP_INTERVAL,
        about: "Every start of a process sweeps the store, however recent the last sweep is.",
        operations_min: 2,
        flaw: Intercept(|subject, request| match request {
            Request::Sweep => subject.ask_without(request, |path| path.ends_with(MARKER)),
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "orphans-are-kept",
        rule: &rules::SWEEP_ORPHANS,
        about: "No sweep checks whether the directory of a project still exists.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            reconfigured(subject, request, |settings| settings.delete_orphans = false)
        }),
    },
    PlantedBug {
        name: "orphans-are-never-spared",
        rule: &rules::SWEEP_ORPHANS,
        about: "Orphans are deleted even if they are configured to be kept.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            reconfigured(subject, request, |settings| settings.delete_orphans = true)
        }),
    },
    PlantedBug {
        name: "nothing-is-ever-stale",
        rule: &rules::SWEEP_STALE,
        about: "Unused projects are never removed.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            reconfigured(subject, request, |settings| settings.retention_days = 0)
        }),
    },
    PlantedBug {
        name: "no-retention-keeps-nothing",
        rule: &rules::SWEEP_STALE,
        about: "A retention of 0 days removes everything, although it means no limit.",
        operations_min: 3,
        flaw: Intercept(|subject, request| match request {
            Request::Prune { retention_days: 0, max_total_bytes, delete_orphans } => {
                let max_total_bytes = *max_total_bytes;
                let delete_orphans = *delete_orphans;
                let now = subject.seconds;
                subject.ask(&Request::SetClock { seconds: now + 1_000 * DAY_SECONDS });
                let prune = Request::Prune { retention_days: 1, max_total_bytes, delete_orphans };
                let answer = subject.ask(&prune);
                subject.ask(&Request::SetClock { seconds: now });
                answer
            }
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "what-goes-is-not-counted",
        rule: &rules::SWEEP_COUNTS,
        about: "A sweep reports that it removed nothing.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            counting(subject, request, |counts| Counts { orphans: 0, stale: 0, ..counts })
        }),
    },
    PlantedBug {
        name: "nothing-is-freed-after-a-git-gc",
        rule: &rules::SWEEP_RECLAIMS,
        about: "Once git has packed the refs, the objects that they named are never removed.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            match subject.sandbox.store().join("packed-refs").exists() {
                true => keeping_objects(subject, request, |_| true),
                false => subject.ask(request),
            }
        }),
    },
    PlantedBug {
        name: "orphan-frees-nothing",
        rule: &rules::SWEEP_RECLAIMS,
        about: "A sweep removes projects whose directory is gone, but not their objects.",
        operations_min: 4,
        flaw: Intercept(|subject, request| match request {
            Request::Sweep | Request::Prune { .. } => keeping_objects(
                subject,
                request,
                |answer| matches!(answer, Answer::Swept { counts, .. } if counts.orphans > 0),
            ),
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "unmounted-is-deleted",
        rule: &rules::SWEEP_EVIDENCE,
        about: "A project on a disk that is not mounted counts as deleted.",
        operations_min: 4,
        flaw: Intercept(|subject, request| match request {
            Request::Sweep | Request::Prune { .. } => {
                let made = make_missing_parents(subject).unwrap_or_default();
                let answer = subject.ask(request);
                let _ = made.iter().try_for_each(fs::remove_dir);
                answer
            }
            _ => subject.ask(request),
        }),
    },
];

/// The file that records the time of the last sweep.
pub const MARKER: &str = ".last_prune";

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// The time of the last sweep, if it can be read.
pub fn last_sweep(subject: &Intercepted) -> Option<f64> {
    fs::read_to_string(subject.sandbox.base().join(MARKER)).ok()?.trim().parse().ok()
}

/// The answer that no sweep is due yet.
pub fn not_due() -> Answer {
    Answer::Swept { outcome: SweepOutcome::NotDue, counts: Counts::default() }
}

/// Asks the core, with other settings if the request is for a checkpoint, a sweep or a prune.
pub fn reconfigured(
    subject: &mut Intercepted,
    request: &Request,
    change: fn(&mut Settings),
) -> Answer {
    match request.clone() {
        Request::Prune { retention_days, max_total_bytes, delete_orphans } => {
            let configured = subject.settings.clone();
            let mut settings =
                Settings { retention_days, max_total_bytes, delete_orphans, ..configured };
            change(&mut settings);
            let Settings { retention_days, max_total_bytes, delete_orphans, .. } = settings;
            subject.ask(&Request::Prune { retention_days, max_total_bytes, delete_orphans })
        }
        other_request if takes_checkpoint(&other_request) || other_request == Request::Sweep => {
            subject.ask_second(request, |_, settings| change(settings))
        }
        _ => subject.ask(request),
    }
}

/// The hash and the directory of every project recorded in the store. They are sorted by directory, since
/// hashes differ between sandboxes.
pub fn workdirs(subject: &Intercepted) -> io::Result<Vec<(String, PathBuf)>> {
    let folder = subject.sandbox.store().join("projects");
    let mut found = Vec::new();
    for name in names(&folder)? {
        let text = fs::read(folder.join(&name))?;
        let Ok(metadata) = serde_json::from_slice::<serde_json::Value>(&text) else { continue };
        if let (Some(workdir), Some(name)) = (metadata["workdir"].as_str(), name.to_str()) {
            found.push((name.trim_end_matches(".json").to_owned(), workdir.into()));
        }
    }
    found.sort_by(|(_, left): &(String, PathBuf), (_, right)| left.cmp(right));
    Ok(found)
}

/// Asks the core, and changes the counts of a sweep in its answer.
fn counting(subject: &mut Intercepted, request: &Request, change: fn(Counts) -> Counts) -> Answer {
    match subject.ask(request) {
        Answer::Swept { outcome: SweepOutcome::Done, counts } => {
            Answer::Swept { outcome: SweepOutcome::Done, counts: change(counts) }
        }
        answer => answer,
    }
}

/// Creates the missing parent directories of projects, so that nothing shows that their disk is not
/// mounted. Returns the created directories.
fn make_missing_parents(subject: &Intercepted) -> io::Result<Vec<PathBuf>> {
    let mut made = Vec::new();
    for (_, workdir) in workdirs(subject)? {
        let Some(parent) = workdir.parent().filter(|parent| !parent.exists()) else { continue };
        if parent.starts_with(subject.sandbox.root()) && parent.parent().is_some_and(Path::is_dir) {
            fs::create_dir(parent)?;
            made.push(parent.to_owned());
        }
    }
    Ok(made)
}
