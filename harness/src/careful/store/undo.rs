//! Undo and redo: which restores can be undone, and what each of them brought.

use super::{CodedMessage, Store};
use crate::careful::snapshot::Snapshot;
use herma_model::{Answer, ByteString, Code, Request};

/// A full restore that ended.
#[derive(Clone)]
pub(super) struct EndedRestore {
    /// The id of the checkpoint with the state before; `None` if there is none.
    before: Option<String>,
    /// What it restored.
    made: Snapshot,
}

/// The restores of a project, oldest first.
#[derive(Default)]
pub(super) struct AllEnded {
    undo: Vec<EndedRestore>,
    redo: Vec<EndedRestore>,
}

impl Store {
    /// Restores a checkpoint so that it can be undone; with a request, this undoes or redoes another restore.
    pub(super) fn restore_recorded(
        &mut self,
        project: &ByteString,
        index: usize,
        exact: bool,
        step: Option<&Request>,
    ) -> Result<Answer, CodedMessage> {
        let made = self.histories[project][index].captured.snapshot.clone();
        let existed = self.files()?.is_directory(project);
        let newest = self.histories[project].last().map(|newest| newest.id.clone());
        let count = self.histories[project].len();
        let answer = self.restore_all(project, index, exact)?;
        let Answer::Restored(report) = &answer else { return Ok(answer) };
        if self.habits.can("restore.consumes") {
            self.histories.entry(project.clone()).or_default().drain(index..count);
        }
        let before = report.safety.clone().or(newest.filter(|_| existed));
        let changed = !report.restored.is_empty() || !report.removed.is_empty();
        let ended = changed.then_some(EndedRestore { before, made });
        let all = self.ended.entry(project.clone()).or_default();
        match step {
            Some(Request::Undo { .. }) => {
                all.undo.pop();
                all.redo.extend(ended);
            }
            Some(_) => {
                all.redo.pop();
                all.undo.extend(ended);
            }
            None if changed => {
                all.redo.clear();
                all.undo.extend(ended);
            }
            None => {}
        }
        Ok(answer)
    }

    /// Undoes the newest restore, or redoes it.
    pub(super) fn step(
        &mut self,
        project: &ByteString,
        request: &Request,
    ) -> Result<Answer, CodedMessage> {
        let nothing = (Code::NothingToUndo, "there is nothing to undo");
        let all = self.ended.get(project).ok_or(nothing)?;
        let list = if matches!(request, Request::Undo { .. }) { &all.undo } else { &all.redo };
        let EndedRestore { before, made } = list.last().cloned().ok_or(nothing)?;
        let checkpoints = self.histories.get(project).map_or(&[][..], Vec::as_slice);
        let is_before = |id: &String| Some(id) == before.as_ref();
        let index = checkpoints.iter().position(|checkpoint| is_before(&checkpoint.id));
        let index = index.ok_or(nothing)?;
        self.made = Some(made);
        let answer = self.restore_recorded(project, index, true, Some(request));
        self.made = None;
        answer
    }
}
