//! Bugs of sweeps and prunes: when one is made, what it removes and leaves, and what it counts.

use super::intercepted::{Intercepted, names};
use super::limits::keeping_objects;
use super::{Flaw, PlantedBug};
use herma_model::answer::{Counts, SweepOutcome};
use herma_model::{Answer, Request, rules};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "sweep-forgets-the-last",
        rule: &rules::SWEEP_INTERVAL,
        about: "A sweep is made whenever a process starts, however long ago the last one was.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::Sweep => host.ask_without(request, |path| path.ends_with(MARKER)),
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "a-sweep-in-the-future-counts",
        rule: &rules::SWEEP_INTERVAL,
        about: "Once a clock was wrong, no sweep is made until that time is reached.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| match (request, last_sweep(host)) {
            (Request::Sweep, Some(last)) if last > host.seconds as f64 => not_due(),
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "orphans-are-kept",
        rule: &rules::SWEEP_ORPHANS,
        about: "No sweep looks whether the directory of a project is still there.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| pruning_orphans(host, request, false)),
    },
    PlantedBug {
        name: "orphans-are-never-spared",
        rule: &rules::SWEEP_ORPHANS,
        about: "Orphans are deleted also where they are to be kept.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| pruning_orphans(host, request, true)),
    },
    PlantedBug {
        name: "stale-is-judged-first",
        rule: &rules::SWEEP_ORPHANS,
        about: "A project that is gone and was not used for long counts as stale.",
        operations_min: 5,
        flaw: Flaw::Intercepted(stale_first),
    },
    PlantedBug {
        name: "an-orphan-leaves-its-metadata",
        rule: &rules::SWEEP_ORPHANS,
        about: "What is noted of a project that is gone stays behind.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| leaving(host, request, "projects", false)),
    },
    PlantedBug {
        name: "a-stale-project-leaves-its-index",
        rule: &rules::SWEEP_STALE,
        about: "The index of a project that was not used for long stays behind.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| leaving(host, request, "indexes", true)),
    },
    PlantedBug {
        name: "nothing-is-ever-stale",
        rule: &rules::SWEEP_STALE,
        about: "However long a project was not used, it stays.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::Sweep => host.ask_second(request, |settings| settings.retention_days = 0),
            Request::Prune { max_total_bytes, delete_orphans, .. } => {
                let (max_total_bytes, delete_orphans) = (*max_total_bytes, *delete_orphans);
                host.ask(&Request::Prune { retention_days: 0, max_total_bytes, delete_orphans })
            }
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "no-retention-keeps-nothing",
        rule: &rules::SWEEP_STALE,
        about: "A retention of no days is taken for a bound that everything is beyond.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::Prune { retention_days: 0, max_total_bytes, delete_orphans } => {
                let (max_total_bytes, delete_orphans) = (*max_total_bytes, *delete_orphans);
                let now = host.seconds;
                host.ask(&Request::SetClock { seconds: now + 1_000 * DAY_SECONDS });
                let prune = Request::Prune { retention_days: 1, max_total_bytes, delete_orphans };
                let answer = host.ask(&prune);
                host.ask(&Request::SetClock { seconds: now });
                answer
            }
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "archives-stay-for-ever",
        rule: &rules::SWEEP_STALE,
        about: "No sweep looks at v1 archives.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::Sweep | Request::Prune { .. } => host.ask_without(request, is_archive),
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "freed-bytes-are-not-counted",
        rule: &rules::SWEEP_COUNTS,
        about: "A sweep says that it freed nothing.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            counting(host, request, |counts| Counts { bytes_freed: 0, ..counts })
        }),
    },
    PlantedBug {
        name: "only-what-goes-is-scanned",
        rule: &rules::SWEEP_COUNTS,
        about: "A sweep says that it looked at what it removed and nothing else.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            counting(host, request, |counts| Counts {
                scanned: counts.orphans + counts.stale,
                ..counts
            })
        }),
    },
    PlantedBug {
        name: "what-goes-is-not-counted",
        rule: &rules::SWEEP_COUNTS,
        about: "A sweep says that it removed nothing.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            counting(host, request, |counts| Counts { orphans: 0, stale: 0, ..counts })
        }),
    },
    PlantedBug {
        name: "orphan-frees-nothing",
        rule: &rules::SWEEP_RECLAIMS,
        about: "A sweep drops what projects had and leaves the objects.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::Sweep | Request::Prune { .. } => keeping_objects(
                host,
                request,
                |answer| matches!(answer, Answer::Swept { counts, .. } if counts.orphans > 0),
            ),
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "unmounted-is-deleted",
        rule: &rules::SWEEP_EVIDENCE,
        about: "A project on a disk that is not mounted is taken for deleted.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::Sweep | Request::Prune { .. } => {
                let made = make_missing_parents(host).unwrap_or_default();
                let answer = host.ask(request);
                let _ = made.iter().try_for_each(fs::remove_dir);
                answer
            }
            _ => host.ask(request),
        }),
    },
];

/// Where it is noted when the last sweep was.
pub const MARKER: &str = ".last_prune";

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// When the last sweep was, where that can be read.
pub fn last_sweep(host: &Intercepted) -> Option<f64> {
    fs::read_to_string(host.sandbox.base().join(MARKER)).ok()?.trim().parse().ok()
}

/// The answer that it is too early for a sweep.
pub fn not_due() -> Answer {
    Answer::Swept { outcome: SweepOutcome::NotDue, counts: Counts::default() }
}

/// Whether that is an v1 archive.
pub fn is_archive(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"legacy-"))
}

/// Sweeps and prunes with what is asked of orphans replaced.
fn pruning_orphans(host: &mut Intercepted, request: &Request, delete_orphans: bool) -> Answer {
    match request {
        Request::Sweep if delete_orphans => {
            host.ask_second(request, |settings| settings.delete_orphans = true)
        }
        Request::Sweep => host.ask_second(request, |settings| settings.delete_orphans = false),
        Request::Prune { retention_days, max_total_bytes, .. } => {
            let (retention_days, max_total_bytes) = (*retention_days, *max_total_bytes);
            host.ask(&Request::Prune { retention_days, max_total_bytes, delete_orphans })
        }
        _ => host.ask(request),
    }
}

/// Two prunes instead of one: the first for what is stale, the second for what is left.
fn stale_first(host: &mut Intercepted, request: &Request) -> Answer {
    let whole = match request {
        Request::Sweep => Request::Prune {
            retention_days: host.settings.retention_days,
            max_total_bytes: host.settings.max_total_bytes,
            delete_orphans: host.settings.delete_orphans,
        },
        Request::Prune { .. } => request.clone(),
        _ => return host.ask(request),
    };
    let first = pruning_orphans(host, request, false);
    let Answer::Swept { outcome: SweepOutcome::Done, counts: first } = first else {
        return first;
    };
    let second = host.ask(&whole);
    let Answer::Swept { counts, outcome } = second else {
        return second;
    };
    let counts = Counts {
        scanned: first.scanned,
        orphans: counts.orphans,
        stale: first.stale,
        errors: counts.errors,
        bytes_freed: first.bytes_freed + counts.bytes_freed,
    };
    Answer::Swept { outcome, counts }
}

/// A sweep or prune after which something of projects that went is there again: of those whose
/// directory is there, or of those whose directory is not.
fn leaving(
    host: &mut Intercepted,
    request: &Request,
    folder: &str,
    of_those_there: bool,
) -> Answer {
    if !matches!(request, Request::Sweep | Request::Prune { .. }) {
        return host.ask(request);
    }
    let folder = host.sandbox.store().join(folder);
    let known = workdirs(host).unwrap_or_default();
    let mut before = Vec::new();
    for (hash, workdir) in known {
        for name in [hash.clone(), format!("{hash}.json")] {
            let path = folder.join(name);
            if let (true, Ok(content)) = (workdir.is_dir() == of_those_there, fs::read(&path)) {
                before.push((path, content));
            }
        }
    }
    let answer = host.ask(request);
    for (path, content) in before.into_iter().filter(|(path, _)| !path.exists()) {
        let _ = fs::write(path, content);
    }
    answer
}

/// The hash and the directory of every project, as they are noted in the store, by directory: a hash
/// is another one in every sandbox.
pub fn workdirs(host: &Intercepted) -> io::Result<Vec<(String, PathBuf)>> {
    let folder = host.sandbox.store().join("projects");
    let mut found = Vec::new();
    for name in names(&folder)? {
        let text = fs::read(folder.join(&name))?;
        let Ok(known) = serde_json::from_slice::<serde_json::Value>(&text) else { continue };
        if let (Some(workdir), Some(name)) = (known["workdir"].as_str(), name.to_str()) {
            found.push((name.trim_end_matches(".json").to_owned(), workdir.into()));
        }
    }
    found.sort_by(|(_, one): &(String, PathBuf), (_, other)| one.cmp(other));
    Ok(found)
}

fn counting(host: &mut Intercepted, request: &Request, count: fn(Counts) -> Counts) -> Answer {
    match host.ask(request) {
        Answer::Swept { outcome: SweepOutcome::Done, counts } => {
            Answer::Swept { outcome: SweepOutcome::Done, counts: count(counts) }
        }
        answer => answer,
    }
}

/// Makes the directories that projects were in where they are missing, so that nothing shows that
/// they were; a bug that is not that one looks at no more than the project.
fn make_missing_parents(host: &Intercepted) -> io::Result<Vec<PathBuf>> {
    let mut made = Vec::new();
    for (_, workdir) in workdirs(host)? {
        let Some(parent) = workdir.parent().filter(|parent| !parent.exists()) else { continue };
        if parent.starts_with(host.sandbox.root()) && parent.parent().is_some_and(Path::is_dir) {
            fs::create_dir(parent)?;
            made.push(parent.to_owned());
        }
    }
    Ok(made)
}
