//! Bugs of scope: which directories are projects, and which are not.

use super::Flaw::{Configured, Intercepted as Intercept};
use super::PlantedBug;
use super::intercepted::{
    Intercepted, checkpoint_answer, refused, rewrite, takes_checkpoint, with_directory,
};
use super::stored::after_checkpoint;
use crate::sandbox::manifest::on_disk;
use herma_model::answer::CheckpointOutcome;
use herma_model::world::MARKERS;
use herma_model::world::hash_of;
use herma_model::{Answer, ByteString, Code, Request, rules};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "a-project-is-hashed-as-typed",
        rule: &rules::SCOPE_IDENTITY,
        about: "A project is identified by its path as typed, even if it is relative.",
        operations_min: 3,
        flaw: Intercept(|subject, request| match request.dir().cloned() {
            Some(dir) => known_as(subject, request, &dir, &on_disk(Path::new(""), &dir)),
            None => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "a-hash-with-a-slash-at-the-end",
        rule: &rules::SCOPE_HASH,
        about: "The hash of a project is computed from its path with a slash at the end.",
        operations_min: 2,
        flaw: Intercept(|subject, request| match subject.directory(request) {
            Some(directory) => {
                let hashed = [directory.as_os_str().as_bytes(), b"/"].concat();
                known_as(subject, request, &hashed, &directory)
            }
            None => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "the-outermost-marker-wins",
        rule: &rules::SCOPE_ROOT_OF_FILE,
        about: "The project of a file is the farthest directory above it with a marker, not the nearest.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            found_project(subject, request, |subject, nearest| {
                let root = subject.sandbox.root();
                let home = subject.sandbox.home();
                let inside =
                    nearest.ancestors().take_while(|directory| directory.starts_with(root));
                let marked =
                    inside.filter(|directory| **directory != home && has_marker(directory));
                marked.last().map(Path::to_owned)
            })
        }),
    },
    PlantedBug {
        name: "no-marker-is-looked-for",
        rule: &rules::SCOPE_ROOT_OF_FILE,
        about: "The project of a file is the directory that contains it, whatever markers exist.",
        operations_min: 2,
        flaw: Intercept(|subject, request| match (subject.ask(request), request) {
            (Answer::Project(Some(_)), Request::ProjectOf { file }) => {
                let typed = subject.path(file);
                let path = typed.canonicalize().unwrap_or(typed);
                let directory = if path.is_dir() { None } else { path.parent() };
                project_answer(directory.unwrap_or(&path))
            }
            (answer, _) => answer,
        }),
    },
    PlantedBug {
        name: "a-marker-in-the-home-counts",
        rule: &rules::SCOPE_ROOT_NEVER_BROAD,
        about: "A marker in the home directory makes it the project of all files below it.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            found_project(subject, request, |subject, nearest| {
                let home = subject.sandbox.home();
                let below = nearest.starts_with(&home) && !has_marker(nearest);
                (below && has_marker(&home)).then_some(home)
            })
        }),
    },
    PlantedBug {
        name: "the-root-is-checkpointed",
        rule: &rules::SCOPE_NEVER_ROOT,
        about: "The root is accepted like any other directory.",
        operations_min: 1,
        flaw: Intercept(|subject, request| match request.dir() {
            Some(dir) if takes_checkpoint(request) && dir.iter().all(|byte| *byte == b'/') => {
                // The sandbox stands for the entire disk; a bug must not touch more.
                let root = subject.sandbox.root().to_owned();
                subject.ask(&with_directory(request, &root))
            }
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "the-home-is-checkpointed",
        rule: &rules::SCOPE_NEVER_HOME,
        about: "The home directory is accepted like any other.",
        operations_min: 1,
        flaw: Intercept(|subject, request| {
            let home = subject.sandbox.home();
            if !takes_checkpoint(request) || subject.directory(request).as_ref() != Some(&home) {
                return subject.ask(request);
            }
            subject.ask_second(&with_directory(request, &home), |environment, settings| {
                environment.home = "/nowhere".into();
                settings.max_files = usize::MAX;
            })
        }),
    },
    PlantedBug {
        name: "no-limit-of-files",
        rule: &rules::SCOPE_TOO_MANY_FILES,
        about: "A directory is checkpointed even if it has more files than the limit.",
        operations_min: 3,
        flaw: Configured(|settings| settings.max_files = usize::MAX),
    },
    PlantedBug {
        name: "what-is-ignored-counts-too",
        rule: &rules::SCOPE_COUNTS_CAPTURED,
        about: "All files of a directory count towards the limit, ignored or not.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let project = subject.project(request).filter(|_| takes_checkpoint(request));
            let crowded =
                project.is_some_and(|project| files(&project) > subject.settings.max_files);
            match subject.ask(request) {
                Answer::Taken {
                    outcome: CheckpointOutcome::Created { .. } | CheckpointOutcome::Unchanged,
                    ..
                } if crowded => refused(Code::TooManyFiles, "too many files"),
                answer => answer,
            }
        }),
    },
    PlantedBug {
        name: "the-base-is-a-project",
        rule: &rules::SCOPE_BASE_NOT_CAPTURED,
        about: "The base is accepted as a project without any files.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let base = subject.sandbox.base();
            unchanged_in(subject, request, |project| project.starts_with(base))
        }),
    },
    PlantedBug {
        name: "the-base-is-captured",
        rule: &rules::SCOPE_BASE_NOT_CAPTURED,
        about: "A checkpoint of a directory that contains the base holds files of the base.",
        operations_min: 1,
        flaw: Intercept(|subject, request| {
            let base = subject.sandbox.base();
            let project = subject.project(request);
            match project.filter(|project| base.starts_with(project) && base != *project) {
                Some(project) => after_checkpoint(subject, request, |subject, id| {
                    let inside = base.strip_prefix(&project).unwrap_or(Path::new("checkpoints"));
                    subject.with_file_below(id, &inside.join("store/HEAD"))
                }),
                None => subject.ask(request),
            }
        }),
    },
    PlantedBug {
        name: "a-file-is-an-empty-project",
        rule: &rules::SCOPE_NO_DIRECTORY,
        about: "A file is accepted as a project without any files.",
        operations_min: 2,
        flaw: Intercept(|subject, request| unchanged_in(subject, request, Path::is_file)),
    },
];

fn project_answer(path: &Path) -> Answer {
    Answer::Project(Some(ByteString::from(path.as_os_str().as_bytes())))
}

/// Asks the core, and replaces the project that it found for a file.
fn found_project(
    subject: &mut Intercepted,
    request: &Request,
    replace: impl Fn(&Intercepted, &Path) -> Option<PathBuf>,
) -> Answer {
    match subject.ask(request) {
        Answer::Project(Some(found)) => {
            let found = on_disk(Path::new("/"), &found);
            project_answer(&replace(subject, &found).unwrap_or(found))
        }
        answer => answer,
    }
}

/// Answers that nothing changed where the core correctly refuses a directory that `is_refused` selects.
fn unchanged_in(
    subject: &mut Intercepted,
    request: &Request,
    is_refused: impl FnOnce(&Path) -> bool,
) -> Answer {
    match (subject.ask(request), subject.project(request)) {
        (Answer::Refused { .. }, Some(project))
            if takes_checkpoint(request) && is_refused(&project) =>
        {
            checkpoint_answer(CheckpointOutcome::Unchanged)
        }
        (answer, _) => answer,
    }
}

fn has_marker(directory: &Path) -> bool {
    MARKERS.iter().any(|marker| directory.join(marker).exists())
}

/// The number of files below a directory.
fn files(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let count = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files(&entry.path()),
        _ => 1,
    };
    entries.map(count).sum()
}

/// A hash that no path has, for files that are temporarily renamed.
const UNUSED_HASH: &str = "0000000000000000";

/// Asks as if the project's hash were the hash of `hashed` and its recorded directory were `name`. The core
/// computes the hash itself, so the files stored under the two hashes are swapped during the request.
fn known_as(subject: &mut Intercepted, request: &Request, hashed: &[u8], name: &Path) -> Answer {
    let Some(directory) = subject.directory(request) else { return subject.ask(request) };
    let right = hash_of(directory.as_os_str().as_bytes());
    let wrong = hash_of(hashed);
    if right == wrong {
        return subject.ask(request);
    }
    let store = subject.sandbox.store();
    rename(&store, &right, UNUSED_HASH);
    rename(&store, &wrong, &right);
    let answer = subject.ask(request);
    let metadata = store.join("projects").join(format!("{right}.json"));
    // Without metadata there is nothing to change.
    let _ = rewrite(&metadata, |text| {
        let old = directory.to_string_lossy();
        let new = name.to_string_lossy();
        text.replace(&format!("\"{old}\""), &format!("\"{new}\""))
    });
    rename(&store, &right, &wrong);
    rename(&store, UNUSED_HASH, &right);
    answer
}

/// Renames the files of the store from one hash to another, if they exist.
fn rename(store: &Path, from: &str, to: &str) {
    for (folder, extension) in [("refs/hermes", ""), ("indexes", ""), ("projects", ".json")] {
        let file = |hash: &str| store.join(folder).join(format!("{hash}{extension}"));
        let _ = fs::rename(file(from), file(to));
    }
}
