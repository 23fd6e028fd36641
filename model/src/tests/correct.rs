//! The answers that a correct subject gives in these tests, and their effect on the files.

use super::*;
use crate::allowed::{
    AllowedCheckpoint, AllowedDiff, AllowedList, AllowedListed, AllowedRestore, AllowedStatus,
};

impl Scene {
    /// The correct answer; a restore changes `files`.
    pub(super) fn correct_answer(&self, allowed: &Allowed, files: &mut Files) -> Answer {
        match allowed {
            Allowed::State(value) => Answer::State(value.clone().unwrap_or_default()),
            Allowed::Compensated => Answer::Compensated(Default::default()),
            Allowed::Done | Allowed::Cleared(_) | Allowed::Unknown(_) => Answer::Done,
            Allowed::Project { path, .. } => Answer::Project(path.clone()),
            Allowed::Classified(changes_files) => {
                Answer::Classified { changes_files: *changes_files }
            }
            Allowed::Protected(_) => Answer::Protected(Vec::new()),
            Allowed::WithoutBackend => refused(Code::StoreUnusable),
            Allowed::Printed => Answer::Printed { checkpoints: Vec::new(), printed: String::new() },
            Allowed::Configured(configuration) => Answer::Configured(configuration.clone()),
            Allowed::Checkpoint(checkpoint) => self.correct_checkpoint(checkpoint),
            Allowed::List(list) => self.correct_list(list),
            Allowed::Diff(diff) => correct_diff(diff),
            Allowed::Restore(restore) => self.correct_restore(restore, files),
            Allowed::Sweep(sweep) => match sweep.may_decline {
                true => swept(SweepOutcome::NotDue, Counts::default()),
                false => swept(SweepOutcome::Done, Counts::default()),
            },
            Allowed::Status(status) => correct_status(status),
            Allowed::Refused(refusals) => refused(refusals[0].codes[0]),
        }
    }

    fn correct_checkpoint(&self, checkpoint: &AllowedCheckpoint) -> Answer {
        let unreadable = checkpoint.captured.iter().flat_map(|captured| captured.unreadable());
        let outcome = match checkpoint.kind {
            CheckpointKind::Created => {
                CheckpointOutcome::Created { id: checkpoint_id(self.ids + 1) }
            }
            CheckpointKind::Deduped => CheckpointOutcome::Deduped,
            CheckpointKind::Unchanged => CheckpointOutcome::Unchanged,
            CheckpointKind::Disabled => CheckpointOutcome::Disabled,
            CheckpointKind::NotDue => CheckpointOutcome::NotDue,
        };
        Answer::Taken { outcome, skipped: unreadable.cloned().map(remark).collect() }
    }

    fn correct_list(&self, list: &AllowedList) -> Answer {
        let history = self.world.history(&list.project);
        let mut numbered = 0;
        let mut number = |entry: &AllowedListed| {
            let is_before_restore = |id: &str| {
                history.iter().any(|checkpoint| checkpoint.id == id && checkpoint.safety)
            };
            let has_number =
                !(self.world.has("target.stable_number") && is_before_restore(&entry.id));
            numbered += usize::from(has_number);
            if has_number { numbered } else { 0 }
        };
        let listed = list.entries.iter().map(|entry| Listed {
            number: number(entry),
            id: entry.id.clone(),
            time: entry.time,
            reason: entry.reason.clone().unwrap_or_default(),
            stats: match entry.stats {
                AllowedStats::Within(bounds) => Some(stats_within(bounds)),
                AllowedStats::None | AllowedStats::Unknown => None,
            },
        });
        Answer::Listed(listed.collect())
    }

    fn correct_restore(&self, restore: &AllowedRestore, files: &mut Files) -> Answer {
        let mut report = Restored {
            safety: restore.safety.0.then(|| checkpoint_id(self.ids + 1)),
            forced_past: restore.is_forced(),
            undoes_turn: restore.only.is_none() && restore.made.is_none(),
            ..Restored::default()
        };
        let in_world = |path: &ByteString| ByteString::from(bytes::join(&restore.project, path));
        for (path, entry) in restore.target.tree.iter() {
            let is_requested = restore.only.as_ref().is_none_or(|only| only == path);
            if is_requested && files.get(&in_world(path)) != Some(&entry.node()) {
                let world_path = in_world(path);
                let obstacle = files.obstacle(&world_path).map(|(path, _)| path.to_vec());
                files.remove(&obstacle.unwrap_or_else(|| world_path.to_vec()));
                files.make_parents(&world_path);
                files.insert(&world_path, entry.node());
                report.restored.push(path.clone());
            }
        }
        let unrecorded = &restore.target.unrecorded;
        let differs =
            |(path, node): &(&ByteString, &Node)| files.get(&in_world(path)) != Some(*node);
        let kept = unrecorded.iter().filter(differs).map(|(path, _)| path.clone());
        report.kept = kept.map(remark).collect();
        let created = restore.before.tree.keys().filter(|path| {
            !restore.target.tree.contains_key(*path) && !unrecorded.contains_key(*path)
        });
        for path in created {
            let may_go = restore
                .made
                .as_ref()
                .is_none_or(|made| made.tree.get(path) == restore.before.tree.get(path));
            if restore.exact && may_go && !restore.is_forced() {
                files.remove(&in_world(path));
                report.removed.push(path.clone());
            } else {
                report.left.push(path.clone());
            }
        }
        Answer::Restored(report)
    }
}

fn correct_diff(diff: &AllowedDiff) -> Answer {
    let entries = diff.entries.iter();
    let entries = entries.map(|(path, change)| DiffEntry { path: path.clone(), change: *change });
    Answer::Diffed { entries: entries.collect(), stats: stats_within(diff.stats) }
}

fn correct_status(status: &AllowedStatus) -> Answer {
    let projects = status.projects.iter().map(|(workdir, (count, states))| {
        let workdir = Some(workdir.clone());
        ProjectStatus { workdir, checkpoints: Some(*count), state: states[0] }
    });
    let archives = status.archives.iter().cloned().collect();
    Answer::Status { projects: projects.collect(), archives }
}
