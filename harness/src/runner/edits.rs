//! Edits in a run: what changes the world apart from requests, in the files and in the base of the store.

use super::{Event, RunError, Runner, notify};
use crate::oracle::Context;
use crate::sandbox::edits;
use crate::sandbox::store_edits::{self, EditOutcome};
use herma_model::{Edit, StoreEdit};

impl Runner<'_> {
    /// Edits the files without the subject.
    pub(super) fn edit(&mut self, step: usize, edit: &Edit) -> Result<(), RunError> {
        self.run.operations += 1;
        let changes = self.world.edit(edit);
        for change in &changes {
            edits::apply(self.sandbox.root(), change)
                .map_err(|source| RunError::Edit { step, source })?;
            self.oracle.edited();
        }
        notify(&mut self.watch, || Event::Edited(changes));
        Ok(())
    }

    /// Edits the base of the store without the subject.
    pub(super) fn edit_store(&mut self, edit: &StoreEdit) -> Result<(), RunError> {
        self.run.operations += 1;
        let in_use = self.sandbox.has_store();
        // Git waits for a fifo forever, and its results on a damaged store judge nothing.
        if matches!(edit, StoreEdit::Collected) && self.oracle.is_damaged() {
            return Ok(());
        }
        let outcome = store_edits::apply(&self.sandbox, &self.world, edit)?;
        if matches!(outcome, EditOutcome::Nothing) {
            return Ok(());
        }
        self.world.edit_store(edit, in_use);
        self.oracle.planted(&self.sandbox, store_edits::content_of(edit))?;
        let mut file = None;
        if let EditOutcome::Damaged(damaged) = outcome {
            file = Some(damaged.object_path.clone());
            let context = Context { world: &self.world, sandbox: &self.sandbox };
            let (lost, unnamed) = self.oracle.damaged(context, damaged)?;
            self.world.lose(lost, unnamed);
        }
        notify(&mut self.watch, || Event::StoreEdited(edit.clone(), file));
        Ok(())
    }
}
