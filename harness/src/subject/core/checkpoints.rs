//! The core's answers about checkpoints: what it takes, lists, compares and restores.

use super::CoreSubject;
use super::convert::{bytes, path, paths, remarks, stats};
use crate::subject::agent::action;
use crate::subject::patch;
use herma_core::text::Style;
use herma_core::{Change, Environment, Error, ListName, Outcome, RestoreOptions};
use herma_model::Code;
use herma_model::answer::{
    self, Answer, Changed, CheckpointOutcome, DiffEntry, Listed, Protected, Taken,
};
use herma_model::tool::Tool;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

impl CoreSubject {
    pub(super) fn project_of(&self, file: &Path) -> Answer {
        let found = herma_core::project_of_file(self.disk.as_ref(), &self.environment, file);
        Answer::Project(found.map(|path| bytes(path.as_os_str().as_bytes())))
    }

    pub(super) fn list(&self, directory: &Path) -> Result<Answer, Error> {
        let checkpoints = self.manager().list(directory)?;
        Ok(Answer::Listed(checkpoints.into_iter().map(listed).collect()))
    }

    pub(super) fn print_list(&self, directory: &Path) -> Result<Answer, Error> {
        let checkpoints = self.manager().list(directory)?;
        let style = Style::of_output(false, |_| None);
        let printed = herma_core::printed::list(style, &checkpoints, None).join("\n");
        let checkpoints = checkpoints.into_iter().map(listed).collect();
        Ok(Answer::Printed { checkpoints, printed })
    }

    pub(super) fn protect(&mut self, directory: &Path, tool: &Tool) -> Answer {
        let body;
        let tool = match tool {
            Tool::WriteFile { path: file } => {
                herma_core::agent::Tool::WriteFile { path: path(file), directory }
            }
            Tool::Patch { form, files } => {
                body = patch::body(*form, files);
                herma_core::agent::Tool::Patch { body: &body, directory }
            }
            Tool::Terminal { command } => herma_core::agent::Tool::Terminal { command, directory },
        };
        let protected = |protected: herma_core::agent::Protected| Protected {
            project: bytes(protected.project.as_os_str().as_bytes()),
            taken: protected.taken.map(model_taken),
        };
        Answer::Protected(self.checkpoints.protect(&tool).into_iter().map(protected).collect())
    }

    /// Lets an agent take a checkpoint where no store can be made: below a path that is not a folder.
    pub(super) fn without_backend(&self, directory: &Path, reason: &str) -> Answer {
        let base = "/dev/null/checkpoints".into();
        let mut checkpoints = self.new_manager(Environment { base, ..self.environment.clone() });
        match checkpoints.ensure_checkpoint(directory, reason) {
            Some(checkpoint) => taken(checkpoint),
            None => {
                let message = checkpoints.trouble().join("; ");
                Answer::Refused { code: Code::StoreUnusable, message, changed: Changed::None }
            }
        }
    }

    pub(super) fn restore(
        &mut self,
        directory: &Path,
        target: &[u8],
        options: RestoreOptions,
    ) -> Result<Answer, Error> {
        let report = self.manager().restore(directory, target, options)?;
        self.checkpoints.rolled_back();
        Ok(restored(report))
    }
}

pub(super) fn classified(command: &str) -> Answer {
    Answer::Classified { changes_files: !herma_core::triggers::reasons(command).is_empty() }
}

pub(super) fn taken(taken: herma_core::Taken) -> Answer {
    let Taken { outcome, skipped } = model_taken(taken);
    Answer::Taken { outcome, skipped }
}

pub(super) fn model_taken(taken: herma_core::Taken) -> Taken {
    let outcome = match taken.outcome {
        Outcome::Created { id } => CheckpointOutcome::Created { id },
        Outcome::Deduped => CheckpointOutcome::Deduped,
        Outcome::Unchanged { .. } => CheckpointOutcome::Unchanged,
        Outcome::Disabled => CheckpointOutcome::Disabled,
    };
    Taken { outcome, skipped: remarks(taken.skipped) }
}

pub(super) fn listed(checkpoint: herma_core::Listed) -> Listed {
    Listed {
        number: match checkpoint.name {
            ListName::Number(number) => number,
            ListName::BeforeRollback(_) => 0,
        },
        id: checkpoint.id,
        time: checkpoint.time,
        reason: checkpoint.reason,
        stats: checkpoint.stats.as_ref().map(stats),
    }
}

pub(super) fn diffed(diff: herma_core::Diff) -> Answer {
    let model_change = |change| match change {
        Change::Added => answer::Change::Added,
        Change::Deleted => answer::Change::Deleted,
        Change::Modified => answer::Change::Modified,
    };
    let entries = diff
        .entries
        .iter()
        .map(|entry| DiffEntry { path: bytes(&entry.path), change: model_change(entry.change) })
        .collect();
    Answer::Diffed { entries, stats: stats(&diff.stats) }
}

pub(super) fn restored(report: herma_core::Restored) -> Answer {
    Answer::Restored(answer::Restored {
        restored: paths(&report.restored),
        removed: paths(&report.removed),
        left: paths(&report.left),
        kept: remarks([report.kept, report.missing].concat()),
        failed: remarks(report.failed),
        safety: report.safety,
        forced_past: report.forced_past.is_some(),
        undoes_turn: report.undoes_turn,
        others: report.others.as_deref().map(paths),
        external: report.agent.map(|agent| {
            agent.external_actions.iter().map(|listed| action(&listed.note)).collect()
        }),
    })
}
