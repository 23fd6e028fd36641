//! `herma rollback`: its list, its previews and the restore itself.

use crate::agent_folder;
use crate::commands::{Answer, Failure, Herma, Rollback};
use crate::completion::VERBS;
use crate::hook;
use crate::look::DiffArguments;
use crate::permitted;
use crate::programs::Listing;
use crate::request::StoreRequest;
use crate::rollback_pages::{self, RestoreRequest};
use crate::text::line;
use crate::{maintenance_pages, pages, text};
use herma_core::printed::short;
use herma_core::rollback_line::{Task, nearest};
use herma_core::state::LOCK_FILE;
use herma_core::{
    Clock, Direction, EXCLUDED, Error, Held, KEPT, LEFT_OUT, Listed, LossyPath, Remark,
    RestoreOptions, Restored, Scope, SystemClock, project_directory,
};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

impl Herma {
    /// Executes a task of `herma rollback`.
    pub fn roll_back(
        &self,
        request: &StoreRequest,
        task: &Task,
        project: &Path,
    ) -> Result<Answer, Failure> {
        match task {
            Task::List => self.list(request, project),
            Task::Diff { target } => self.look_at_diff(project, &DiffArguments::since(target)),
            Task::Show { target } => self.show(project, &self.named_checkpoint(project, target)?),
            Task::Restore { target, paths, options, dry_run, token } => {
                let target = &self.named_checkpoint(project, target)?;
                let is_all =
                    |typed: &Vec<u8>| self.is_project(project, Path::new(OsStr::from_bytes(typed)));
                let paths: Vec<_> = match paths.iter().any(is_all) {
                    true => Vec::new(),
                    false => {
                        let named = |typed: &Vec<u8>| self.named_path(project, target, typed);
                        paths.iter().map(named).collect::<Result<_, _>>()?
                    }
                };
                let step = Direction::parse(target).filter(|_| request.undoes_turns);
                // What happened last may be a turn, not a rollback.
                let turn = match step {
                    Some(Direction::Undo) => self.manager.checkpoint_after_rollback(project)?,
                    _ => None,
                };
                let redone = match step {
                    Some(Direction::Redo) => self.manager.undone_turn(project)?,
                    _ => None,
                };
                let options = RestoreOptions { exact: options.exact || turn.is_some(), ..*options };
                let scope = scope(&paths, options);
                let target = match &redone {
                    // Undoing the undo of a turn brings its files back.
                    Some(_) => Direction::Undo.word().as_bytes(),
                    None => turn.as_ref().map_or(&target[..], |turn| turn.as_bytes()),
                };
                let is_named = request.dir.is_some();
                let continues = self.manager.interrupted(project)?.is_some();
                let token = *token;
                let heading = match (&turn, &redone) {
                    (Some(turn), _) => Some(self.since(project, "Undo", turn)?),
                    (None, Some(turn)) => Some(self.since(project, "Redo", turn)?),
                    (None, None) => None,
                };
                let wanted =
                    RestoreRequest { project, is_named, target, scope, token, continues, heading };
                if *dry_run {
                    return self.preview(&wanted);
                }
                let restored = self.restore(&wanted)?;
                let turn = turn.as_deref();
                let marked = turn.map(|turn| self.manager.mark_undone_turn(project, turn));
                if let Some(Err(error)) = marked {
                    tracing::debug!("redo cannot bring the files of the turn back: {error}");
                }
                Ok(restored)
            }
        }
    }

    /// What an undo or a redo that is about no rollback is about: what changed since this checkpoint.
    fn since(&self, project: &Path, step: &str, id: &str) -> Result<String, Failure> {
        let checkpoints = self.manager.list(project)?;
        let named = checkpoints.iter().find(|checkpoint| checkpoint.id == id);
        let details = named.map(|Listed { reason, time, .. }| {
            format!(" ({}, {})", line(reason), text::ago(*time, SystemClock.seconds()))
        });
        let shown = short(self.style, id);
        let mut heading = format!(
            "{step} of what changed since checkpoint {shown}{}",
            details.unwrap_or_default()
        );
        let newest = checkpoints.first().filter(|newest| named.is_some() && newest.id != id);
        if let Some(newest) = newest {
            let newest = short(self.style, &newest.id);
            heading += &format!(
                "\nNothing changed since checkpoint {newest} but what checkpoints exclude: `herma checkpoints \
                 excluded` lists that"
            );
        }
        let failures = named.map(|named| hook::failures(&self.environment, project, named.time));
        for failure in failures.unwrap_or_default() {
            let failure = line(&failure);
            heading += &format!("\nMore than one turn may have changed files: {failure}");
        }
        Ok(heading)
    }

    /// The path that was typed, as the library takes it: relative to the project. If the checkpoint does not hold it,
    /// it may be named as in a shell: absolute, or from the current directory. `./` is always the shell's.
    ///
    /// # Errors
    /// The path names two files of the checkpoint.
    pub(crate) fn named_path(
        &self,
        project: &Path,
        target: &[u8],
        typed: &[u8],
    ) -> Result<NamedPath, Failure> {
        let named = |path: Vec<u8>| {
            let held = self.manager.held(project, target, &path).ok().flatten();
            NamedPath { path, held }
        };
        let as_typed = named(typed.to_vec());
        let as_in_shell = self.in_project_path(project, Path::new(OsStr::from_bytes(typed)));
        if as_in_shell == typed {
            return Ok(as_typed);
        }
        let as_in_shell = named(as_in_shell);
        let is_of_shell = typed.starts_with(b"./") || typed.starts_with(b"../");
        match (as_typed.held, as_in_shell.held) {
            (_, Some(_)) if is_of_shell => Ok(as_in_shell),
            (Some(_), Some(_)) => Err(two_files(typed, &as_in_shell.path)),
            (None, Some(_)) => Ok(as_in_shell),
            (_, None) => Ok(as_typed),
        }
    }

    fn list(&self, request: &StoreRequest, project: &Path) -> Result<Answer, Failure> {
        let checkpoints = self.manager.list(project)?;
        let elsewhere = match request.dir {
            None if checkpoints.is_empty() => self.projects(),
            _ => Vec::new(),
        };
        let moved_from = match checkpoints.is_empty() {
            true => self.manager.moved_from(project)?,
            false => None,
        };
        let unlisted = self.manager.unlisted(project)?;
        let interrupted = self.manager.interrupted(project)?;
        let notices = hook::notices(&self.environment, project);
        let listing = Listing {
            checkpoints: &checkpoints,
            unlisted: &unlisted,
            interrupted: interrupted.as_ref(),
            elsewhere: &elsewhere,
            notices: &notices,
        };
        self.answer_in_project(project, &listing, || {
            let mut page = pages::listed(self.style, project, &checkpoints, &unlisted);
            let dir = request.dir.as_ref().map(|_| project);
            match self.never_checkpointed(project).filter(|_| checkpoints.is_empty()) {
                Some(why) => page += why,
                None => page += &pages::list_commands(!checkpoints.is_empty(), dir),
            }
            page += &rollback_pages::interrupted(
                self.style,
                interrupted.as_ref(),
                request.dir.as_deref(),
            );
            let moved = moved_from.map(|old| maintenance_pages::moved_from(&old, project));
            page += &moved.unwrap_or_default();
            page += &rollback_pages::notices(self.style, &notices);
            page + &rollback_pages::elsewhere(project, &elsewhere)
        })
    }

    /// Why a checkpoint of this directory would be refused, as a line of the list.
    fn never_checkpointed(&self, project: &Path) -> Option<&'static str> {
        let home = project_directory(self.disk.as_ref(), &self.environment, &self.environment.home);
        if project == home || project == Path::new("/") {
            return Some("\nThis directory is never checkpointed: name a project directory\n");
        }
        self.disk.stat(project).is_err().then_some("\nThis directory does not exist\n")
    }

    /// The directories of all projects with checkpoints, as far as the store records them.
    fn projects(&self) -> Vec<LossyPath> {
        let projects = self.manager.status().map(|status| status.projects).unwrap_or_default();
        let with_checkpoints =
            projects.into_iter().filter(|project| project.checkpoints.is_some_and(|n| n > 0));
        with_checkpoints.filter_map(|project| project.workdir).collect()
    }

    /// The nearest directory with checkpoints that contains this one.
    pub(crate) fn around(&self, project: &Path) -> Option<LossyPath> {
        let contains = |around: &LossyPath| {
            let around: &Path = around;
            around != project && project.starts_with(around)
        };
        let around = self.projects().into_iter().filter(contains);
        around.max_by_key(|around| around.as_os_str().len())
    }

    /// Names the project and where checkpoints are, if a checkpoint was looked for in a project that has none.
    pub(crate) fn elsewhere(&self, project: &Path, failure: Failure) -> Failure {
        let is_search = matches!(failure.code, "unknown_checkpoint" | "nothing_to_undo");
        if !is_search || !self.manager.count(project).is_ok_and(|count| count == 0) {
            return failure;
        }
        let hint = match self.around(project) {
            Some(around) => {
                let around = pages::directory_word(&around);
                format!("{around}, which contains it, has some: add --dir {around}")
            }
            None => match self.projects().is_empty() {
                true => "`herma checkpoint` takes one, and `herma doctor` tells whether hooks do"
                    .to_owned(),
                false => "`herma list` names the projects that have some".to_owned(),
            },
        };
        let message =
            format!("there are no checkpoints of {project:?}; nothing was changed: {hint}");
        Failure { message, ..failure }
    }

    fn preview(&self, wanted: &RestoreRequest<'_>) -> Result<Answer, Failure> {
        let RestoreRequest { project, target, ref scope, .. } = *wanted;
        let agent_manager = self.manager_of_removed_agent(project, target, scope);
        let manager = agent_manager.as_ref().unwrap_or(&self.manager);
        let preview = manager.preview(project, target, scope.clone());
        let mut preview = preview.map_err(|error| self.refused(project, error))?;
        permitted::check(project, &mut preview.would);
        self.answer_in_project(project, &preview, || {
            rollback_pages::preview(self.style, wanted, &preview)
        })
    }

    fn restore(&self, wanted: &RestoreRequest<'_>) -> Result<Answer, Failure> {
        let RestoreRequest { project, target, ref scope, token, .. } = *wanted;
        let project_existed = self.disk.stat(project).is_ok();
        let agent_manager = self.manager_of_removed_agent(project, target, scope);
        let manager = agent_manager.as_ref().unwrap_or(&self.manager);
        let agent_folder = agent_manager.as_ref().and_then(|_| self.create_agent_folder());
        let restored = manager.restore_scope(project, target, scope.clone(), token);
        if let Some(folder) = agent_folder {
            self.settle_agent_folder(&folder, project, restored.is_ok());
        }
        let restored = restored.map_err(|error| self.refused(project, error))?;
        let is_in_newest =
            project_existed && restored.safety.is_none() && restored.forced_past.is_none();
        let newest = || Some(self.manager.list(project).ok()?.first()?.id.clone());
        let newest = is_in_newest.then(newest).flatten();
        let answer = self.answer_in_project(project, &restored, || {
            rollback_pages::restored(self.style, wanted, &restored, newest.as_deref())
        })?;
        let answer = match incomplete(wanted, &restored) {
            None => answer,
            Some(message) if restored.interrupted => answer.incomplete("interrupted", message),
            Some(message) => answer.incomplete("incomplete", message),
        };
        let rollback = Rollback { restored, direction: wanted.direction() };
        Ok(Answer { rollback: Some(rollback), ..answer })
    }

    /// Removes the folder that was created for a restore that was refused, or records that its state belongs
    /// to the restored project.
    fn settle_agent_folder(&self, folder: &Path, project: &Path, is_restored: bool) {
        if !is_restored {
            // A refused restore changes nothing; a folder that is not empty stays.
            let _ = self.disk.remove_file(&folder.join(LOCK_FILE));
            let _ = self.disk.remove_directory(folder);
        } else if let Err(error) = agent_folder::register(&self.environment, project) {
            tracing::debug!("the agent's state belongs to every project: {error}");
        }
    }

    /// Adds a hint: a file may have been named from a directory inside the project, and a verb misspelt.
    fn refused(&self, project: &Path, error: Error) -> Failure {
        let elsewhere = self.environment.current_directory != project;
        let hint = match error {
            Error::NotInCheckpoint(_) if elsewhere => {
                format!(": give its path relative to {project:?}")
            }
            Error::BadTarget(ref typed) => match nearest(&VERBS, typed) {
                Some(verb) => format!("; did you mean `herma rollback {verb}`?"),
                None => String::new(),
            },
            _ => String::new(),
        };
        let failure = Failure::from(error);
        Failure { message: failure.message + &hint, ..failure }
    }
}

/// Why a path is not taken that the project and the current directory both have.
fn two_files(typed: &[u8], in_shell: &[u8]) -> Failure {
    let typed = line(typed);
    let message = format!(
        "{typed:?} may be that of the project or {:?}: type `./{typed}` for the second, or go to the \
         project's directory for the first; nothing was changed",
        line(in_shell)
    );
    Failure::new("ambiguous_path", message)
}

/// A path that was typed, and what the checkpoint holds there.
pub(crate) struct NamedPath {
    pub(crate) path: Vec<u8>,
    pub(crate) held: Option<Held>,
}

/// How much is restored. The restore of a single file touches no other path.
fn scope(paths: &[NamedPath], options: RestoreOptions) -> Scope<&[u8]> {
    let is_plain = options == RestoreOptions::default();
    match paths {
        [] => Scope::All(options),
        [NamedPath { path, held }] if is_plain && *held != Some(Held::Folder) => Scope::File(path),
        paths => Scope::Below(paths.iter().map(|named| named.path.as_slice()).collect(), options),
    }
}

/// What differs from the checkpoint after a restore, and what to do about it; `None` where nothing
/// does. Paths that no checkpoint could hold were not touched, and are only reported.
fn incomplete(wanted: &RestoreRequest<'_>, restored: &Restored) -> Option<String> {
    if restored.interrupted {
        return Some("interrupted before everything was restored; what was done is listed".into());
    }
    let again = wanted.again(restored);
    let count = |number: usize| (number > 0).then(|| text::count(number, "path was", "paths were"));
    let failed = count(restored.failed.len())
        .map(|paths| format!("{paths} not restored: fix the cause, then run `{again}`"));
    let is_left_out = |remark: &&Remark| remark.why.starts_with(LEFT_OUT);
    let differing = restored.kept.iter().chain(&restored.missing);
    let differing = differing.filter(|remark| !remark.why.starts_with(EXCLUDED));
    let (left_out, kept): (Vec<&Remark>, Vec<&Remark>) = differing.partition(is_left_out);
    let is_in_the_way = kept.iter().all(|remark| remark.why == KEPT);
    let kept = count(kept.len()).map(|paths| match is_in_the_way {
        true => format!(
            "{paths} not restored, because the present content is in no checkpoint: move that \
             content away, then run `{again}`"
        ),
        false => format!(
            "{paths} not restored, for the reason that is listed with each: fix that, then run \
             `{again}`"
        ),
    });
    let left_out = count(left_out.len())
        .map(|paths| format!("{paths} not restored, being left out of the checkpoint"));
    let is_exact = matches!(wanted.scope, Scope::All(options) if options.exact);
    let removes = restored.forced_past.is_some() && (is_exact || wanted.direction().is_some());
    let unremoved = count(if removes { restored.left.len() } else { 0 }).map(|paths| {
        format!("{paths} not removed, since the present files could not be saved first")
    });
    failed.or(kept).or(left_out).or(unremoved)
}
