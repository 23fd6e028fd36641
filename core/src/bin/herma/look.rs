//! `herma diff`, `cat` and `log`: looking at what checkpoints hold. Paths are typed as for a restore.

use crate::commands::{Answer, Failure, Herma};
use crate::pages::{self, NamedRows, Page};
use crate::rollback_arguments::ProjectArguments;
use crate::text::{ago, line};
use clap::Args;
use herma_core::printed;
use herma_core::{
    Change, Clock, Comparison, DiffEntry, Error, FileChange, Held, Listed, SystemClock,
    project_directory,
};
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

fn file_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

#[derive(Debug, Args)]
pub struct DiffArguments {
    /// One checkpoint or two, each by its number, label or id [default: 1]
    #[arg(value_name = "N", num_args = 0..=2)]
    pub targets: Vec<OsString>,
    /// Only these files and folders
    #[arg(last = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Only which files changed, and how much
    #[arg(long)]
    pub stat: bool,
    #[command(flatten)]
    pub project: ProjectArguments,
}

impl DiffArguments {
    /// What changed since a checkpoint, as it was typed.
    pub fn since(target: &[u8]) -> Self {
        let targets = vec![OsStr::from_bytes(target).to_owned()];
        DiffArguments {
            targets,
            paths: Vec::new(),
            stat: false,
            project: ProjectArguments { dir: None },
        }
    }
}

#[derive(Debug, Args)]
pub struct CatArguments {
    /// The checkpoint, by its number, label or id
    #[arg(value_name = "N")]
    pub target: OsString,
    /// The file
    file: PathBuf,
    #[command(flatten)]
    pub project: ProjectArguments,
}

#[derive(Debug, Args)]
pub struct LogArguments {
    /// The file
    file: PathBuf,
    #[command(flatten)]
    pub project: ProjectArguments,
}

#[derive(Serialize)]
struct Printed<'a> {
    content: &'a str,
    is_text: bool,
}

#[derive(Serialize)]
struct Changes<'a> {
    changes: &'a [FileChange],
}

impl Herma {
    /// What changed since a checkpoint, or between two.
    ///
    /// # Errors
    /// A checkpoint that is not there; a project that cannot be read.
    pub fn look_at_diff(
        &self,
        project: &Path,
        arguments: &DiffArguments,
    ) -> Result<Answer, Failure> {
        let targets = arguments.targets.iter().map(|typed| typed.as_bytes());
        let targets: Vec<_> =
            targets.map(|typed| self.named_checkpoint(project, typed)).collect::<Result<_, _>>()?;
        let since = targets.first().map_or(&b"1"[..], |since| since);
        let is_all = |path: &PathBuf| self.is_project(project, path);
        let paths: Vec<Vec<u8>> = match arguments.paths.iter().any(is_all) {
            true => Vec::new(),
            false => {
                let looked = |path: &PathBuf| self.looked_path(project, since, path);
                arguments.paths.iter().map(looked).collect::<Result<_, _>>()?
            }
        };
        let comparison =
            Comparison { since, until: targets.get(1).map(|until| &until[..]), paths: &paths };
        let diff = self.manager.compare(project, comparison)?;
        self.check_paths(project, comparison, &diff.entries)?;
        self.answer_in_project(project, &diff, || match arguments.stat {
            true => pages::changed(self.style, project, &diff, NamedRows::ALL).into_bytes(),
            false => pages::diff(self.style, project, &diff),
        })
    }

    /// Checks that each path has a difference, or is in a compared checkpoint, or in the project and not excluded.
    fn check_paths(
        &self,
        project: &Path,
        comparison: Comparison<'_>,
        entries: &[DiffEntry],
    ) -> Result<(), Failure> {
        let Comparison { since, until, paths } = comparison;
        let differs = |path: &[u8]| {
            let below = |entry: &DiffEntry| file_path(&entry.path).starts_with(file_path(path));
            entries.iter().any(below)
        };
        let is_held = |path: &[u8]| {
            [Some(since), until].into_iter().flatten().any(|target| {
                self.manager.held(project, target, path).is_ok_and(|held| held.is_some())
            })
        };
        let exists = |path: &[u8]| std::fs::symlink_metadata(project.join(file_path(path))).is_ok();
        let is_odd = |path: &&Vec<u8>| !differs(path) && !is_held(path);
        let odd: Vec<_> = paths.iter().filter(is_odd).map(Vec::as_slice).collect();
        let message = match odd.iter().find(|path| until.is_some() || !exists(path)) {
            Some(path) => Some(format!("there is no {:?} on either side", line(path))),
            // A shell's `*` also names what no checkpoint takes.
            None if entries.is_empty() => self.not_taken(project, &odd),
            None => None,
        };
        message.map_or(Ok(()), |message| Err(Failure::new("not_in_checkpoint", message)))
    }

    /// Says which of these paths a pattern keeps out of checkpoints, if one does.
    fn not_taken(&self, project: &Path, paths: &[&[u8]]) -> Option<String> {
        // This reads the project.
        let excluded = (!paths.is_empty()).then(|| self.manager.excluded(project).ok())??;
        paths.iter().find_map(|path| {
            let exclusion = excluded.exclusion_of(path)?;
            Some(format!("no checkpoint takes {:?}: it is {exclusion}", line(path)))
        })
    }

    /// The content of a file in a checkpoint; in JSON lossily as UTF-8.
    ///
    /// # Errors
    /// A checkpoint or a file that is not there.
    pub fn print_file(&self, project: &Path, arguments: &CatArguments) -> Result<Answer, Failure> {
        let target = self.named_checkpoint(project, arguments.target.as_bytes())?;
        let path = self.looked_path(project, &target, &arguments.file)?;
        let content = self.manager.stored_content(project, &target, &path).map_err(|error| {
            let why = match error {
                Error::NotInCheckpoint(_) => self
                    .folder(project, &target, &path)
                    .or_else(|| self.not_taken(project, &[&path])),
                _ => None,
            };
            let failure = Failure::from(error);
            Failure { message: why.unwrap_or(failure.message), ..failure }
        })?;
        let text = String::from_utf8_lossy(&content);
        let is_text = std::str::from_utf8(&content).is_ok();
        self.answer_in_project(project, &Printed { content: &text, is_text }, || content.clone())
    }

    /// Why a path of a checkpoint is not one of a file, if it is a folder of files.
    fn folder(&self, project: &Path, target: &[u8], path: &[u8]) -> Option<String> {
        let held = self.manager.held(project, target, path).ok()?;
        (held == Some(Held::Folder)).then(|| {
            let path = line(path);
            format!(
                "{path:?} is a folder: name a file in it, or compare it with `herma diff -- {path}`"
            )
        })
    }

    /// The checkpoints that changed a file.
    ///
    /// # Errors
    /// A path that is not one below the project; a store that cannot be read.
    pub fn log_file(&self, project: &Path, arguments: &LogArguments) -> Result<Answer, Failure> {
        let path = self.looked_path(project, b"1", &arguments.file)?;
        let changes = self.manager.file_changes(project, &path)?;
        if changes.is_empty() {
            let listed = self.manager.list(project)?;
            if listed.is_empty() {
                return Err(Failure::new("unknown_checkpoint", "this project has no checkpoints"));
            }
            let in_checkpoint = |listed: &Listed| self.folder(project, listed.id.as_bytes(), &path);
            if let Some(message) = listed.iter().find_map(in_checkpoint) {
                return Err(Failure::new("not_in_checkpoint", message));
            }
        }
        self.answer_in_project(project, &Changes { changes: &changes }, || {
            let now = SystemClock.seconds();
            let mut page = Page::default();
            if changes.is_empty() {
                writeln!(page, "No checkpoint holds {}", line(&path));
                if let Some(message) = self.not_taken(project, &[&path]) {
                    writeln!(page, "  {message}");
                }
            }
            for FileChange { change, checkpoint } in &changes {
                let change = match change {
                    Change::Added => "added",
                    Change::Modified => "changed",
                    Change::Deleted => "removed",
                };
                let id = printed::short(self.style, &checkpoint.id);
                let name = checkpoint.name.to_string();
                let age = ago(checkpoint.time, now);
                let reason = line(&checkpoint.reason);
                writeln!(page, "{name:>3}. {id}  {age:<8}  {change:<7}  {reason}");
            }
            page.0
        })
    }

    /// A typed path of a checkpoint, named as for a restore; one that the checkpoint does not hold, as in a shell.
    fn looked_path(&self, project: &Path, target: &[u8], typed: &Path) -> Result<Vec<u8>, Failure> {
        let named = self.named_path(project, target, typed.as_os_str().as_bytes())?;
        Ok(match named.held {
            Some(_) => named.path,
            None => self.in_project_path(project, typed),
        })
    }

    /// Whether a typed path is the project's own directory.
    pub(crate) fn is_project(&self, project: &Path, typed: &Path) -> bool {
        let full = std::fs::canonicalize(self.environment.current_directory.join(typed));
        // An empty word is a variable that was not set.
        !typed.as_os_str().is_empty() && full.is_ok_and(|full| full == project)
    }

    /// A typed path as the library takes it: relative to the project. One that leads elsewhere is left to the
    /// library, which refuses it.
    pub(crate) fn in_project_path(&self, project: &Path, typed: &Path) -> Vec<u8> {
        let here = &self.environment.current_directory;
        let from = if here.starts_with(project) { here } else { project };
        let full = from.join(typed);
        // The project is named without links; a folder of the checkpoint may not exist any more.
        let parent = full
            .parent()
            .filter(|_| typed.is_absolute() || typed.starts_with(".."))
            .map(|parent| project_directory(self.disk.as_ref(), &self.environment, parent));
        let full = match (parent, full.file_name()) {
            (Some(parent), Some(name)) => parent.join(name),
            _ => full,
        };
        match full.strip_prefix(project) {
            // An empty path is a variable that was not set.
            Ok(inside) if inside.as_os_str().is_empty() && !typed.as_os_str().is_empty() => {
                b".".to_vec()
            }
            Ok(inside) => inside.as_os_str().as_bytes().to_vec(),
            Err(_) => typed.as_os_str().as_bytes().to_vec(),
        }
    }
}
