//! An undo or redo that changed the files of another project, and none of its own.

use crate::answer::Answer;
use crate::bytes::{ByteString, below};
use crate::observation::Observation;
use crate::plain::plain;
use crate::request::Request;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

impl World {
    /// Compares whether an undo or redo is of its own project; returns whether it is of another project, of which
    /// everything else about the request is a consequence.
    ///
    /// Implements [`rules::RESTORE_UNDO_REDO`].
    pub(super) fn compare_undone_project(&self, seen: &Observation, checks: &mut Checks) -> bool {
        let is_step = matches!(seen.request, Request::Undo { .. } | Request::Redo { .. });
        if !is_step || !matches!(seen.answer, Answer::Restored(_)) {
            return false;
        }
        let Some(elsewhere) = self.project_changed_instead(seen) else { return false };
        checks.check(Judge::Disk, &rules::RESTORE_UNDO_REDO, false, || {
            let found = format!("changed: the files of {}", plain(&elsewhere));
            Mismatch::new("another project", "a change of the files of the project", found)
        });
        true
    }

    /// The only project of which any file changed, if that is not the project of the request.
    fn project_changed_instead(&self, seen: &Observation) -> Option<&ByteString> {
        let requested = self.canonical(seen.request.dir()?)?;
        let changed = self.files.differences(&seen.files);
        let is_instead = |path: &[u8], project: &[u8]| {
            below(project, path).is_some() && below(&requested, path).is_none()
        };
        let holds_all = |project: &&ByteString| {
            **project != requested && changed.iter().all(|found| is_instead(found.path, project))
        };
        if changed.is_empty() {
            return None;
        }
        self.histories().map(|(project, _)| project).find(holds_all)
    }
}
