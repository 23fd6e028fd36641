//! Bugs of scope: what is a project, and which directories are none.

use super::intercepted::{Intercepted, about, none_taken, refused, rewrite, takes, write_private};
use super::{Flaw, PlantedBug};
use crate::sandbox::manifest::on_disk;
use crate::subject::Subject;
use herma_model::answer::CheckpointOutcome;
use herma_model::world::MARKERS;
use herma_model::world::hash_of;
use herma_model::{Answer, ByteString, Code, Request, rules};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "a-tilde-is-a-directory-name",
        rule: &rules::SCOPE_IDENTITY,
        about: "A tilde before a directory is taken for the name of one.",
        operations_min: 1,
        flaw: Flaw::Intercepted(|host, request| match request.dir() {
            Some(dir) if **dir == *b"~" || dir.starts_with(b"~/") => {
                let literal = on_disk(&host.sandbox.current_directory(), dir);
                host.ask(&about(request, &literal))
            }
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "a-link-to-a-project-is-another",
        rule: &rules::SCOPE_IDENTITY,
        about: "A project is known by its absolute path, with the links in that as they are.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| match request.dir() {
            Some(dir) => {
                let name = without_dots(&host.path(dir));
                known_as(host, request, name.as_os_str().as_bytes(), &name)
            }
            None => host.ask(request),
        }),
    },
    PlantedBug {
        name: "a-project-is-hashed-as-typed",
        rule: &rules::SCOPE_IDENTITY,
        about: "A project is known by the path that was typed, relative or not.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| match request.dir().cloned() {
            Some(dir) => known_as(host, request, &dir, &on_disk(Path::new(""), &dir)),
            None => host.ask(request),
        }),
    },
    PlantedBug {
        name: "a-hash-with-a-slash-at-the-end",
        rule: &rules::SCOPE_HASH,
        about: "What is hashed for a project is its path with a slash at its end.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| match host.directory(request) {
            Some(directory) => {
                let hashed = [directory.as_os_str().as_bytes(), b"/"].concat();
                known_as(host, request, &hashed, &directory)
            }
            None => host.ask(request),
        }),
    },
    PlantedBug {
        name: "the-outermost-marker-wins",
        rule: &rules::SCOPE_ROOT_OF_FILE,
        about: "A file's project is the farthest ancestor that holds a marker.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| match host.ask(request) {
            Answer::Project(Some(found)) => {
                let nearest = on_disk(Path::new("/"), &found);
                let inside =
                    nearest.ancestors().take_while(|one| one.starts_with(host.sandbox.root()));
                let home = host.sandbox.home();
                let marked = inside.filter(|one| **one != home && has_marker(one)).last();
                project(marked.unwrap_or(&nearest))
            }
            answer => answer,
        }),
    },
    PlantedBug {
        name: "no-marker-is-looked-for",
        rule: &rules::SCOPE_ROOT_OF_FILE,
        about: "A file's project is the directory it lies in.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| match (host.ask(request), request) {
            (Answer::Project(Some(_)), Request::ProjectOf { file }) => {
                let typed = host.path(file);
                let path = typed.canonicalize().unwrap_or(typed);
                let directory = if path.is_dir() { None } else { path.parent() };
                project(directory.unwrap_or(&path))
            }
            (answer, _) => answer,
        }),
    },
    PlantedBug {
        name: "a-marker-in-the-home-counts",
        rule: &rules::SCOPE_ROOT_NEVER_BROAD,
        about: "A marker in the home directory makes it the project of all files below.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| match host.ask(request) {
            Answer::Project(Some(found)) => {
                let found = on_disk(Path::new("/"), &found);
                let home = host.sandbox.home();
                let below = found.starts_with(&home) && !has_marker(&found);
                project(if below && has_marker(&home) { &home } else { &found })
            }
            answer => answer,
        }),
    },
    PlantedBug {
        name: "a-file-in-the-home-belongs-to-it",
        rule: &rules::SCOPE_ROOT_NEVER_BROAD,
        about: "The project of a file that lies in the home directory is the home directory.",
        operations_min: 1,
        flaw: Flaw::Intercepted(|host, request| match (host.ask(request), request) {
            (Answer::Project(None), Request::ProjectOf { file }) => {
                let home = host.sandbox.home();
                let inside = host.path(file).starts_with(&home);
                if inside { project(&home) } else { Answer::Project(None) }
            }
            (answer, _) => answer,
        }),
    },
    PlantedBug {
        name: "the-root-is-checkpointed",
        rule: &rules::SCOPE_NEVER_ROOT,
        about: "The root is a directory like any other.",
        operations_min: 1,
        flaw: Flaw::Intercepted(|host, request| match request.dir() {
            Some(dir) if takes(request) && dir.iter().all(|byte| *byte == b'/') => {
                // The sandbox stands for the whole disk, of which a bug must not touch more.
                let whole = host.sandbox.root().to_owned();
                host.ask(&about(request, &whole))
            }
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "the-home-is-checkpointed",
        rule: &rules::SCOPE_NEVER_HOME,
        about: "The home directory is one like any other.",
        operations_min: 1,
        flaw: Flaw::Intercepted(|host, request| homeless(host, request, |_, _| true)),
    },
    PlantedBug {
        name: "a-link-to-the-home-is-not-the-home",
        rule: &rules::SCOPE_NEVER_HOME,
        about: "The home directory is known by its path, so that a link leads past that.",
        operations_min: 1,
        flaw: Flaw::Intercepted(|host, request| {
            homeless(host, request, |host, dir| host.path(dir) != host.sandbox.home())
        }),
    },
    PlantedBug {
        name: "no-limit-of-files",
        rule: &rules::SCOPE_TOO_MANY_FILES,
        about: "A directory is checkpointed however many files it holds.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| match host.ask(request) {
            Answer::Refused { code: Code::TooManyFiles, .. } if takes(request) => {
                host.elsewhere(|_| {}).ask(request)
            }
            answer => answer,
        }),
    },
    PlantedBug {
        name: "what-is-ignored-counts-too",
        rule: &rules::SCOPE_COUNTS_CAPTURED,
        about: "All files of a directory count towards the limit, ignored or not.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let project = host.project(request).filter(|_| takes(request));
            let crowded = project.is_some_and(|one| files(&one) > host.settings.max_files);
            match host.ask(request) {
                Answer::Taken { outcome, .. } if crowded && looks(&outcome) => {
                    refused(Code::TooManyFiles, "too many files")
                }
                answer => answer,
            }
        }),
    },
    PlantedBug {
        name: "the-base-is-captured-into-itself",
        rule: &rules::SCOPE_BASE_NOT_CAPTURED,
        about: "A checkpoint of a directory that holds the base holds the base as well.",
        operations_min: 1,
        flaw: Flaw::Intercepted(|host, request| {
            let answer = host.ask(request);
            if host.project(request).as_deref() != host.sandbox.base().parent() {
                return answer;
            }
            host.retell(answer, |text| {
                let tree = text.lines().find_map(|line| line.strip_prefix("tree "));
                let tree = tree.unwrap_or_default();
                let head = host.write("blob", b"ref: refs/heads/main\n")?;
                let head = format!("100644 blob {head}\tHEAD\n");
                let base = host.git_given(&["mktree"], head.as_bytes())?;
                let base = format!("040000 tree {base}\tcheckpoints\0");
                let mut all = host.git_bytes(&["ls-tree", "-z", tree], b"")?;
                all.extend(base.bytes());
                Ok(text.replacen(tree, &host.git_given(&["mktree", "-z"], &all)?, 1))
            })
        }),
    },
    PlantedBug {
        name: "the-base-is-a-project",
        rule: &rules::SCOPE_BASE_NOT_CAPTURED,
        about: "The base and what is in it are directories like any other.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| match host.project(request) {
            Some(project) if takes(request) && project.starts_with(host.sandbox.base()) => {
                let Ok(base) = host.aside().map(Path::to_owned) else { return host.ask(request) };
                host.elsewhere(|environment| environment.base = base).ask(request)
            }
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "a-phantom-of-a-missing-directory",
        rule: &rules::SCOPE_NO_DIRECTORY,
        about: "A directory is noted as a project before anybody looks whether it is there.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            let answer = host.ask(request);
            let missing = matches!(&answer, Answer::Refused { code: Code::MissingDirectory, .. });
            if let (true, true, Some(directory)) =
                (missing, takes(request), host.directory(request))
            {
                let known = serde_json::json!({
                    "workdir": directory.to_string_lossy(),
                    "created_at": host.seconds,
                    "last_touch": host.seconds,
                });
                let name = format!("{}.json", hash_of(directory.as_os_str().as_bytes()));
                let projects = host.sandbox.store().join("projects");
                if projects.is_dir() {
                    let _ = write_private(&projects.join(name), known.to_string().as_bytes());
                }
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-file-is-an-empty-project",
        rule: &rules::SCOPE_NO_DIRECTORY,
        about: "A file is walked like a directory, in which nothing is found to save.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| match host.project(request) {
            Some(file) if takes(request) && file.is_file() => {
                none_taken(CheckpointOutcome::Unchanged)
            }
            _ => host.ask(request),
        }),
    },
];

fn project(path: &Path) -> Answer {
    Answer::Project(Some(ByteString::from(path.as_os_str().as_bytes())))
}

/// The path without its dots, as far as those can be told from its text.
fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut done, part| {
        match part {
            Component::ParentDir => drop(done.pop()),
            part => done.push(part),
        }
        done
    })
}

/// Whether the files were looked at to come to this.
fn looks(outcome: &CheckpointOutcome) -> bool {
    matches!(outcome, CheckpointOutcome::Created { .. } | CheckpointOutcome::Unchanged)
}

fn has_marker(directory: &Path) -> bool {
    MARKERS.iter().any(|marker| directory.join(marker).exists())
}

/// Takes a checkpoint of the home directory as if it were none, where `misses` it.
fn homeless(
    host: &mut Intercepted,
    request: &Request,
    misses: fn(&Intercepted, &ByteString) -> bool,
) -> Answer {
    let is_home = host.directory(request) == Some(host.sandbox.home());
    match request.dir() {
        Some(dir) if takes(request) && is_home && misses(host, dir) => {
            let answer = host.ask(request);
            if !matches!(&answer, Answer::Refused { .. }) {
                // Declined before anybody looked where it is.
                return answer;
            }
            let home = host.sandbox.home();
            let other = host.sandbox.root().join("outside");
            host.elsewhere(|environment| environment.home = other).ask(&about(request, &home))
        }
        _ => host.ask(request),
    }
}

/// How many files are below a directory.
fn files(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let count = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files(&entry.path()),
        _ => 1,
    };
    entries.map(count).sum()
}

/// A hash that no path has, for what steps aside.
const ASIDE: &str = "0000000000000000";

/// Asks as if `hashed` were what is hashed for the project, and `name` its directory. The core
/// still knows it by its own hash: what is kept under the other changes places with what is kept
/// under that for as long as it is asked.
fn known_as(host: &mut Intercepted, request: &Request, hashed: &[u8], name: &Path) -> Answer {
    let Some(directory) = host.directory(request) else { return host.ask(request) };
    let (right, wrong) = (hash_of(directory.as_os_str().as_bytes()), hash_of(hashed));
    if right == wrong {
        return host.ask(request);
    }
    let store = host.sandbox.store();
    rename(&store, &right, ASIDE);
    rename(&store, &wrong, &right);
    let answer = host.ask(request);
    let workdir = |text: String| match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(mut known) => {
            known["workdir"] = name.to_string_lossy().into();
            known.to_string()
        }
        Err(_) => text,
    };
    // Where nothing was noted of it there is nothing to change.
    let _ = rewrite(&store.join("projects").join(format!("{right}.json")), workdir);
    rename(&store, &right, &wrong);
    rename(&store, ASIDE, &right);
    answer
}

/// Gives what the store keeps under one hash another, as far as it is there.
fn rename(store: &Path, from: &str, to: &str) {
    for (folder, extension) in [("refs/hermes", ""), ("indexes", ""), ("projects", ".json")] {
        let file = |hash: &str| store.join(folder).join(format!("{hash}{extension}"));
        let _ = fs::rename(file(from), file(to));
    }
}
