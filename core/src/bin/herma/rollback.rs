//! `herma rollback`: its list, its previews and the restore itself.

use crate::arguments::Asked;
use crate::commands::{Answer, Ending, Failure, Herma};
use crate::programs::Listing;
use crate::rollback_pages::{self, Alone, Undo};
use crate::{pages, text};
use herma_core::rollback_line::Task;
use herma_core::state::LOCK_FILE;
use herma_core::{Error, Extent, LEFT_OUT, Remark, Restored, Token, Trigger};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What is to be restored.
struct Wanted<'a> {
    target: &'a [u8],
    extent: Extent<'a>,
    token: Option<Token>,
}

impl Herma {
    /// Does what was asked of the project's checkpoints.
    ///
    /// # Errors
    /// Whatever kept it from being done.
    pub fn roll_back(&self, asked: &Asked, task: &Task, project: &Path) -> Result<Answer, Failure> {
        match task {
            Task::List => self.list(asked, project),
            Task::Diff { target } => self.diff(project, target),
            Task::Show { target } => self.show(project, target),
            Task::Restore { target, file, options, dry_run, token } => {
                let extent = match file {
                    Some(file) => Extent::One(file),
                    None => Extent::All(*options),
                };
                let wanted = Wanted { target, extent, token: *token };
                match dry_run {
                    true => self.preview(asked, project, &wanted),
                    false => self.restore(asked, project, &wanted),
                }
            }
        }
    }

    fn list(&self, asked: &Asked, project: &Path) -> Result<Answer, Failure> {
        let checkpoints = self.manager.list(project)?;
        let elsewhere = match asked.dir {
            None if checkpoints.is_empty() => self.projects(),
            _ => Vec::new(),
        };
        let unlisted = self.manager.unlisted(project)?;
        let interrupted = self.manager.interrupted(project)?;
        let listing = Listing {
            checkpoints: &checkpoints,
            unlisted: &unlisted,
            interrupted: interrupted.as_ref(),
            elsewhere: &elsewhere,
        };
        self.done_in(project, &listing, || {
            let mut page = pages::listed(self.style, project, &checkpoints, &unlisted);
            page.extend(rollback_pages::interrupted(self.style, interrupted.as_ref()));
            page.extend(rollback_pages::elsewhere(&elsewhere));
            page
        })
    }

    /// The directories of all projects with checkpoints, as far as the store tells.
    fn projects(&self) -> Vec<String> {
        let projects = self.manager.status().map(|status| status.projects).unwrap_or_default();
        let some = projects.into_iter().filter(|one| one.checkpoints.is_some_and(|n| n > 0));
        some.filter_map(|one| one.workdir).collect()
    }

    fn diff(&self, project: &Path, target: &[u8]) -> Result<Answer, Failure> {
        let diff = self.manager.diff(project, target)?;
        self.done_in(project, &diff, || pages::diff(self.style, project, &diff))
    }

    fn preview(
        &self,
        asked: &Asked,
        project: &Path,
        wanted: &Wanted<'_>,
    ) -> Result<Answer, Failure> {
        let other = self.of_removed_agent(project, wanted.target, wanted.extent);
        let manager = other.as_ref().unwrap_or(&self.manager);
        let preview = manager.preview(project, wanted.target, wanted.extent);
        let preview = preview.map_err(|error| self.refused(project, error))?;
        self.done_in(project, &preview, || {
            let is_named = asked.dir.is_some();
            rollback_pages::preview(self.style, project, is_named, wanted.extent, &preview)
        })
    }

    fn restore(
        &self,
        asked: &Asked,
        project: &Path,
        wanted: &Wanted<'_>,
    ) -> Result<Answer, Failure> {
        let was_there = self.is_there(project);
        let Wanted { target, extent, token } = *wanted;
        let alone = match extent {
            Extent::All(_) => None,
            Extent::One(file) => {
                let was_there = self.is_there(&project.join(OsStr::from_bytes(file)));
                Some(Alone { file, was_there })
            }
        };
        let other = self.of_removed_agent(project, target, extent);
        let manager = other.as_ref().unwrap_or(&self.manager);
        let made = other.as_ref().and_then(|_| self.make_agent_folder());
        let restored = manager.restore_extent(project, target, extent, token);
        if let (Err(_), Some(made)) = (&restored, made) {
            // What is refused changes nothing; a folder in which something is stays.
            let _ = self.disk.remove_file(&made.join(LOCK_FILE));
            let _ = self.disk.remove_directory(&made);
        }
        let restored = restored.map_err(|error| self.refused(project, error))?;
        self.restored(asked, project, (was_there, alone), &restored)
    }

    /// Adds a hint, since a file may have been named from a directory inside the project.
    fn refused(&self, project: &Path, error: Error) -> Failure {
        let elsewhere = self.environment.current_directory != project;
        let hint = match error {
            Error::NotInCheckpoint(_) if elsewhere => format!(": files are named from {project:?}"),
            _ => String::new(),
        };
        let failure = Failure::from(error);
        Failure { message: failure.message + &hint, ..failure }
    }

    fn restored(
        &self,
        asked: &Asked,
        project: &Path,
        (was_there, alone): (bool, Option<Alone<'_>>),
        restored: &Restored,
    ) -> Result<Answer, Failure> {
        let answer = self.done_in(project, restored, || {
            let undo = self.undo(project, was_there, restored);
            let named = (project, asked.dir.is_some());
            rollback_pages::restored(self.style, named, restored, &undo, alone)
        })?;
        let ending = match incomplete(restored) {
            None => Ending::Done,
            Some(message) if restored.interrupted => {
                Ending::Incomplete(Failure { code: "interrupted", message })
            }
            Some(message) => Ending::Incomplete(Failure { code: "incomplete", message }),
        };
        let turn = restored.agent.as_ref().and_then(|agent| {
            let stays = !agent.trigger.is_some_and(Trigger::is_before_work);
            Some((agent.turn.clone()?, stays))
        });
        Ok(Answer { ending, undoes_turn: restored.undoes_turn, turn, ..answer })
    }

    /// Where the state before a restore can be found.
    fn undo(&self, project: &Path, was_there: bool, restored: &Restored) -> Undo {
        if let Some(why) = &restored.forced_past {
            return Undo::Impossible(why.clone());
        }
        if let Some(id) = &restored.safety {
            return Undo::Taken(id.clone());
        }
        // None was taken because the newest already was that state.
        let newest = self.manager.list(project).ok().and_then(|all| all.into_iter().next());
        match newest {
            Some(newest) if was_there => Undo::Newest(newest.id),
            _ => Undo::WasGone,
        }
    }
}

/// What is not as recorded after a restore, and what to do about it; none where everything is. What
/// no checkpoint could hold was not touched, so that leaving it out is only said.
fn incomplete(restored: &Restored) -> Option<String> {
    let again = "roll back to the same id again";
    let count = |number: usize| (number > 0).then(|| text::count(number, "path", "paths"));
    if restored.interrupted {
        return Some("interrupted before all was restored; what was done is as listed".into());
    }
    let failed = count(restored.failed.len()).map(|paths| {
        format!(
            "{paths} could not be brought back; the others are as listed: fix the cause and {again}"
        )
    });
    let is_left_out = |remark: &&Remark| remark.why.starts_with(LEFT_OUT);
    let (left_out, kept): (Vec<&Remark>, Vec<&Remark>) =
        restored.kept.iter().chain(&restored.missing).partition(is_left_out);
    let kept = count(kept.len()).map(|paths| {
        format!(
            "not restored, since no checkpoint holds what stands there: {paths}; the others are as \
             listed: move that away and {again}"
        )
    });
    let left_out = count(left_out.len()).map(|paths| {
        format!(
            "left out by the checkpoint, so that nothing restores them: {paths}; the others are as listed"
        )
    });
    failed.or(kept).or(left_out)
}
