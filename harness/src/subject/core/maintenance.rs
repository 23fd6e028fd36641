//! The core's answers about maintenance: sweeps, the configuration that they follow, and the status of a store.

use super::CoreSubject;
use super::convert::{DAY_SECONDS, HOUR_SECONDS, bytes};
use herma_core::{Config, Error, ProjectState, PruneOptions, Pruned, Swept};
use herma_model::answer::{self, Answer, Counts, ProjectStatus, SweepOutcome};
use herma_model::configuration::Configuration;
use std::os::unix::ffi::OsStrExt;

const MEGABYTE: u64 = 1024 * 1024;

impl CoreSubject {
    pub(super) fn prune(&self, options: &PruneOptions) -> Result<Answer, Error> {
        let pruned = self.manager().prune(options, &mut |_| {})?;
        Ok(Answer::Swept { outcome: SweepOutcome::Done, counts: counts(&pruned) })
    }

    pub(super) fn configured(&self) -> Result<Config, Error> {
        let file = self.environment.configuration_file();
        Ok(herma_core::configuration::read(self.disk.as_ref(), &file)?.config)
    }
}

pub(super) fn prune_options(
    retention_days: u64,
    max_total_bytes: u64,
    delete_orphans: bool,
) -> PruneOptions {
    let retention_seconds = retention_days.saturating_mul(DAY_SECONDS);
    PruneOptions { retention_seconds, max_total_bytes, delete_orphans }
}

pub(super) fn configuration(config: &Config) -> Configuration {
    Configuration {
        enabled: config.enabled,
        max_snapshots: config.max_snapshots as u64,
        max_total_size_mb: config.max_total_bytes / MEGABYTE,
        max_file_size_mb: config.max_file_bytes / MEGABYTE,
        auto_prune: config.auto_prune,
        retention_days: config.retention_seconds / DAY_SECONDS,
        delete_orphans: config.delete_orphans,
        min_interval_hours: config.min_interval_seconds / HOUR_SECONDS,
    }
}

fn counts(pruned: &Pruned) -> Counts {
    Counts {
        scanned: pruned.scanned,
        orphans: pruned.orphans,
        stale: pruned.stale,
        errors: pruned.errors,
        bytes_freed: pruned.bytes_freed,
    }
}

pub(super) fn swept(swept: &Swept) -> Answer {
    let (outcome, counts) = match swept {
        Swept::Off => (SweepOutcome::Off, Counts::default()),
        Swept::NotDue => (SweepOutcome::NotDue, Counts::default()),
        Swept::Done(pruned) => (SweepOutcome::Done, counts(pruned)),
    };
    Answer::Swept { outcome, counts }
}

pub(super) fn status(status: herma_core::Status) -> Answer {
    let model_state = |state| match state {
        ProjectState::Live => answer::ProjectState::Live,
        ProjectState::Orphan => answer::ProjectState::Orphan,
        ProjectState::Unknown => answer::ProjectState::Unknown,
    };
    let project = |project: herma_core::ProjectStatus| ProjectStatus {
        workdir: project.workdir.map(|workdir| bytes(workdir.as_os_str().as_bytes())),
        checkpoints: project.checkpoints,
        state: model_state(project.state),
    };
    Answer::Status {
        projects: status.projects.into_iter().map(project).collect(),
        archives: status.legacy.into_iter().map(|(name, _)| name).collect(),
    }
}
