//! Bugs of keeping the store by hand and of getting over damage: what is said of the store, what
//! is cleared, and what becomes of bookkeeping that cannot be read.

use super::intercepted::{Intercepted, names, refused, takes};
use super::sweep::{MARKER, is_archive, last_sweep, not_due};
use super::{Flaw, PlantedBug};
use herma_model::answer::{ProjectState, ProjectStatus};
use herma_model::{Answer, Code, Request, rules};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "status-counts-one-more",
        rule: &rules::MAINTENANCE_COMMANDS,
        about: "The status counts one checkpoint more than there is.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            saying(host, request, |project| {
                let checkpoints = project.checkpoints.map(|count| count + 1);
                Some(ProjectStatus { checkpoints, ..project })
            })
        }),
    },
    PlantedBug {
        name: "status-leaves-out-what-is-gone",
        rule: &rules::MAINTENANCE_COMMANDS,
        about: "The status names no project whose directory is gone.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            saying(host, request, |project| {
                Some(project).filter(|project| project.state != ProjectState::Orphan)
            })
        }),
    },
    PlantedBug {
        name: "status-says-that-all-are-there",
        rule: &rules::MAINTENANCE_COMMANDS,
        about: "The status says of every project that its directory is there.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            saying(host, request, |project| {
                Some(ProjectStatus { state: ProjectState::Live, ..project })
            })
        }),
    },
    PlantedBug {
        name: "a-prune-waits-for-the-next-sweep",
        rule: &rules::MAINTENANCE_COMMANDS,
        about: "What is asked for by hand is not done while the last sweep was not long ago.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let interval = (host.settings.min_interval_hours * 60 * 60) as f64;
            let since = last_sweep(host).map(|last| host.seconds as f64 - last);
            match (request, since) {
                (Request::Prune { .. }, Some(since)) if (0.0..interval).contains(&since) => {
                    not_due()
                }
                _ => host.ask(request),
            }
        }),
    },
    PlantedBug {
        name: "clear-leaves-the-archives",
        rule: &rules::MAINTENANCE_COMMANDS,
        about: "Everything is cleared but what v1 left.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::Clear => host.ask_without(request, is_archive),
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "clear-clears-nothing",
        rule: &rules::MAINTENANCE_COMMANDS,
        about: "It is said that everything was cleared, and all of it is there.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::Clear => Answer::Done,
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "clear-legacy-clears-everything",
        rule: &rules::MAINTENANCE_COMMANDS,
        about: "Who clears what v1 left loses the store as well.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::ClearLegacy => {
                let answer = host.ask(request);
                let _ = fs::remove_dir_all(host.sandbox.store());
                answer
            }
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "damaged-metadata-never-heals",
        rule: &rules::MAINTENANCE_HEALS,
        about: "What cannot be read of a project is not written again.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| {
            let damaged = unreadable(host).unwrap_or_default();
            let before: Vec<_> =
                damaged.into_iter().map(|name| (content(host, &name), name)).collect();
            let answer = host.ask(request);
            for (content, name) in before.iter().filter(|_| takes(request)) {
                let _ = fs::write(projects(host).join(name), content);
            }
            answer
        }),
    },
    PlantedBug {
        name: "damaged-metadata-stops-every-take",
        rule: &rules::MAINTENANCE_HEALS,
        about: "While one project's metadata cannot be read, no checkpoint is taken of any.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            if takes(request) && unreadable(host).is_ok_and(|names| !names.is_empty()) {
                return refused(Code::Internal, "the metadata of a project cannot be read");
            }
            host.ask(request)
        }),
    },
    PlantedBug {
        name: "a-sweep-fails-over-a-marker",
        rule: &rules::MAINTENANCE_NEVER_RAISES,
        about: "A sweep fails where the time of the last one cannot be read.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let marker = fs::read_to_string(host.sandbox.base().join(MARKER));
            let is_time = |text: String| text.trim().parse::<f64>().is_ok();
            if *request == Request::Sweep && !marker.map_or(true, is_time) {
                return refused(Code::Internal, "could not convert string to float");
            }
            host.ask(request)
        }),
    },
    PlantedBug {
        name: "a-sweep-fails-over-metadata",
        rule: &rules::MAINTENANCE_NEVER_RAISES,
        about: "A sweep fails where the metadata of a project cannot be read.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            let is_damaged = unreadable(host).is_ok_and(|names| !names.is_empty());
            if *request == Request::Sweep && host.settings.auto_prune && is_damaged {
                return refused(Code::Internal, "the metadata of a project cannot be read");
            }
            host.ask(request)
        }),
    },
];

/// The status with each project said otherwise, or not at all.
fn saying(
    host: &mut Intercepted,
    request: &Request,
    say: fn(ProjectStatus) -> Option<ProjectStatus>,
) -> Answer {
    match host.ask(request) {
        Answer::Status { projects, archives } => {
            Answer::Status { projects: projects.into_iter().filter_map(say).collect(), archives }
        }
        answer => answer,
    }
}

fn projects(host: &Intercepted) -> PathBuf {
    host.sandbox.store().join("projects")
}

fn content(host: &Intercepted, name: &OsString) -> Vec<u8> {
    fs::read(projects(host).join(name)).unwrap_or_default()
}

/// The files of metadata that are there and say nothing.
fn unreadable(host: &Intercepted) -> io::Result<Vec<OsString>> {
    let says_nothing = |path: &Path| {
        fs::read(path).is_ok_and(|text| serde_json::from_slice::<serde_json::Value>(&text).is_err())
    };
    let mut names = names(&projects(host))?;
    names.retain(|name| says_nothing(&projects(host).join(name)));
    Ok(names)
}
