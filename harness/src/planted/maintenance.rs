//! Bugs of maintenance commands and of recovery from damage: what the status reports, what is cleared,
//! and how unreadable metadata is handled.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::intercepted::{Intercepted, names, refused, takes_checkpoint};
use super::sweep::{MARKER, last_sweep, not_due};
use herma_model::answer::ProjectStatus;
use herma_model::configuration::Configuration;
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
        about: "The status counts one checkpoint too many.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            with_status(subject, request, |project| {
                let checkpoints = project.checkpoints.map(|count| count + 1);
                Some(ProjectStatus { checkpoints, ..project })
            })
        }),
    },
    PlantedBug {
        name: "a-prune-waits-for-the-next-sweep",
        rule: &rules::MAINTENANCE_COMMANDS,
        about: "A manual prune does nothing if the last sweep was recent.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let interval = (subject.settings.min_interval_hours * 60 * 60) as f64;
            let since = last_sweep(subject).map(|last| subject.seconds as f64 - last);
            match (request, since) {
                (Request::Prune { .. }, Some(since)) if (0.0..interval).contains(&since) => {
                    not_due()
                }
                _ => subject.ask(request),
            }
        }),
    },
    PlantedBug {
        name: "a-prune-has-defaults-of-its-own",
        rule: &rules::MAINTENANCE_DEFAULTS,
        about: "A prune without options uses the default limits instead of the configured ones.",
        operations_min: 5,
        flaw: Intercept(|subject, request| match request {
            Request::PruneAsConfigured => {
                let default = Configuration::default();
                subject.ask(&Request::Prune {
                    retention_days: default.retention_days,
                    max_total_bytes: default.max_total_bytes(),
                    delete_orphans: default.delete_orphans,
                })
            }
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "clear-clears-nothing",
        rule: &rules::MAINTENANCE_COMMANDS,
        about: "Clearing reports success and removes nothing.",
        operations_min: 2,
        flaw: Intercept(|subject, request| match request {
            Request::Clear => Answer::Done,
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "clear-legacy-clears-everything",
        rule: &rules::MAINTENANCE_COMMANDS,
        about: "Clearing the v1 archives removes the store as well.",
        operations_min: 3,
        flaw: Intercept(|subject, request| match request {
            Request::ClearLegacy => {
                let answer = subject.ask(request);
                let _ = fs::remove_dir_all(subject.sandbox.store());
                answer
            }
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "clear-legacy-goes-by-the-name",
        rule: &rules::MAINTENANCE_ONLY_OURS,
        about: "Unrelated entries whose names look like archives are cleared with the archives.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            if *request == Request::ClearLegacy {
                remove_with_prefix(&subject.sandbox.base(), b"legacy-");
            }
            answer
        }),
    },
    PlantedBug {
        name: "what-begins-like-a-leftover-is-removed",
        rule: &rules::MAINTENANCE_ONLY_OURS,
        about: "Unrelated entries whose names look like unfinished removals are removed by the next prune.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            if matches!(request, Request::Prune { .. }) {
                remove_with_prefix(&subject.sandbox.base(), b".removing-");
            }
            subject.ask(request)
        }),
    },
    PlantedBug {
        name: "damaged-metadata-stops-every-checkpoint",
        rule: &rules::MAINTENANCE_HEALS,
        about: "If the metadata of one project cannot be read, no checkpoint of any project is taken.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            if takes_checkpoint(request) && unreadable(subject).is_ok_and(|names| !names.is_empty())
            {
                return refused(Code::Internal, "the metadata of a project cannot be read");
            }
            subject.ask(request)
        }),
    },
    PlantedBug {
        name: "a-sweep-fails-over-a-marker",
        rule: &rules::MAINTENANCE_NEVER_RAISES,
        about: "A sweep fails if the time of the last sweep cannot be read.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let marker = fs::read_to_string(subject.sandbox.base().join(MARKER));
            let is_time = |text: String| text.trim().parse::<f64>().is_ok();
            if *request == Request::Sweep && !marker.map_or(true, is_time) {
                return refused(Code::Internal, "could not convert string to float");
            }
            subject.ask(request)
        }),
    },
    PlantedBug {
        name: "a-sweep-fails-over-metadata",
        rule: &rules::MAINTENANCE_NEVER_RAISES,
        about: "A sweep fails if the metadata of a project cannot be read.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let is_damaged = unreadable(subject).is_ok_and(|names| !names.is_empty());
            if *request == Request::Sweep && subject.settings.auto_prune && is_damaged {
                return refused(Code::Internal, "the metadata of a project cannot be read");
            }
            subject.ask(request)
        }),
    },
];

/// Asks the core, and changes or leaves out each project in the status that it answers.
fn with_status(
    subject: &mut Intercepted,
    request: &Request,
    change: fn(ProjectStatus) -> Option<ProjectStatus>,
) -> Answer {
    match subject.ask(request) {
        Answer::Status { projects, archives } => {
            Answer::Status { projects: projects.into_iter().filter_map(change).collect(), archives }
        }
        answer => answer,
    }
}

fn projects(subject: &Intercepted) -> PathBuf {
    subject.sandbox.store().join("projects")
}

/// Removes the folders of the base whose names have this prefix.
fn remove_with_prefix(base: &Path, prefix: &[u8]) {
    for name in names(base).unwrap_or_default() {
        if name.as_encoded_bytes().starts_with(prefix) {
            let _ = fs::remove_dir_all(base.join(name));
        }
    }
}

/// The metadata files that exist but cannot be parsed.
fn unreadable(subject: &Intercepted) -> io::Result<Vec<OsString>> {
    let is_damaged = |path: &Path| {
        fs::read(path).is_ok_and(|text| serde_json::from_slice::<serde_json::Value>(&text).is_err())
    };
    let mut names = names(&projects(subject))?;
    names.retain(|name| is_damaged(&projects(subject).join(name)));
    Ok(names)
}
