//! The part of a run that is about the store as a whole: changing it behind the subject's back, and
//! judging what a request left of it.

use super::{Event, RunError, Runner};
use crate::oracle::plain_git::StoreContents;
use crate::oracle::total::{self, Sizes};
use crate::oracle::{base, maintenance};
use crate::sandbox::store_edits;
use herma_model::answer::Answer;
use herma_model::expected::Expected;
use herma_model::{Request, StoreEdit};
use std::io;

/// A bound on the total size above this many bytes is met by no history.
const BOUND_MET_MAX: u64 = 1 << 20;

impl Runner<'_> {
    /// Changes the base of the store as nobody was asked to.
    pub(super) fn edit_store(&mut self, edit: &StoreEdit) -> Result<(), RunError> {
        let in_use = self.sandbox.has_store();
        if store_edits::apply(&self.sandbox, &self.world, edit)? {
            self.world.edit_store(edit, in_use);
            let held = match edit {
                StoreEdit::Repository { name, .. } => Some(name.clone()),
                StoreEdit::Archive { name, .. } => {
                    Some(format!("{name}/{}", store_edits::ARCHIVED))
                }
                _ => None,
            };
            if let Some(held) = held {
                let content = base::content(&self.sandbox.base().join(&held))?;
                self.planted.insert(held, content);
            }
            // The base may have been made for it.
            self.seen = None;
            (self.watch)(Event::StoreEdited(edit.clone()));
        }
        Ok(())
    }

    /// The bound on the total size that holds for what a request leaves, where it is one that a
    /// history can meet.
    pub(super) fn total_bound(&self, request: &Request) -> Option<u64> {
        let settings = self.world.settings.max_total_bytes;
        let bytes = match request {
            Request::EnsureCheckpoint { .. }
            | Request::Checkpoint { .. }
            | Request::Restore { .. }
            | Request::RestoreFile { .. }
            | Request::Sweep => settings,
            Request::Prune { max_total_bytes, .. } => *max_total_bytes,
            _ => 0,
        };
        let judged =
            self.capabilities.has("layout") && self.capabilities.has("settings.max_total_bytes");
        (judged && (1..=BOUND_MET_MAX).contains(&bytes)).then_some(bytes)
    }

    /// What the store holds, as far as there is one.
    pub(super) fn held(&mut self) -> io::Result<StoreContents> {
        if self.sandbox.has_store() { self.git.held() } else { Ok(StoreContents::default()) }
    }

    /// What a request did to the store as a whole.
    pub(super) fn judge_store(
        &mut self,
        (expected, answer): (&Expected, &Answer),
        bound: Option<u64>,
        mut sizes: Sizes,
        only_looked: bool,
    ) -> Result<(), RunError> {
        if self.checks.diverged() {
            return Ok(());
        }
        // What was seen before is only all there was while every request is followed.
        let followed = bound.is_some() || only_looked && !sizes.is_empty();
        self.checks.new_part();
        let (world, sandbox, checks) = (&mut self.world, &self.sandbox, &mut self.checks);
        match (expected, answer) {
            (Expected::Sweep(sweep), Answer::Swept { outcome, counts }) => {
                let said = (*outcome, counts);
                let places = (sandbox, &mut self.git);
                maintenance::judge_sweep(world, sweep, said, &mut sizes, places, checks)?;
            }
            (Expected::Cleared(cleared), _) => {
                maintenance::judge_cleared(world, *cleared, sandbox, checks)?;
            }
            (
                Expected::Checkpoint(_) | Expected::Restore(_),
                Answer::Taken { .. } | Answer::Restored(_),
            ) => {
                if let Some(bytes) = bound.filter(|_| sandbox.has_store()) {
                    total::judge(world, bytes, &mut sizes, &self.git.held()?, checks);
                }
            }
            _ => {}
        }
        self.sizes = followed.then_some(sizes);
        if !self.planted.is_empty() || !self.world.strays().is_empty() {
            self.checks.new_part();
            base::judge(&mut self.world, &mut self.planted, &self.sandbox, &mut self.checks)?;
        }
        Ok(())
    }
}
