//! Bugs of the target of a restore: which checkpoint, and which single file.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::intercepted::{Intercepted, refused, with_target};
use super::stored::EMPTY_TREE;
use crate::sandbox::manifest::on_disk;
use herma_model::answer::Restored;
use herma_model::{Answer, ByteString, Code, Node, Request, rules};
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "short-ids-are-no-ids",
        rule: &rules::RESTORE_TARGET,
        about: "Shortened ids are refused.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            if request.target().is_some_and(|text| is_hexadecimal(text, 4..=39)) {
                return refused(Code::BadTarget, "no id");
            }
            subject.ask(request)
        }),
    },
    PlantedBug {
        name: "numbers-count-from-the-oldest",
        rule: &rules::RESTORE_TARGET,
        about: "A restore counts checkpoints from the oldest, the list from the newest.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            let listed = subject.listed(request).len();
            let text = request.target().map(|text| String::from_utf8_lossy(text).into_owned());
            let number = text.and_then(|text| text.parse().ok());
            match number.filter(|number| request.restores() && (1..=listed).contains(number)) {
                Some(number) => {
                    let number_from_oldest = (listed + 1 - number).to_string();
                    subject.ask(&with_target(request, &number_from_oldest[..]))
                }
                None => subject.ask(request),
            }
        }),
    },
    PlantedBug {
        name: "what-is-listed-cannot-be-restored",
        rule: &rules::RESTORE_TARGET,
        about: "The list also shows checkpoints older than the newest three, which no restore finds.",
        operations_min: 7,
        flaw: Intercept(|subject, request| {
            let Some(id) = subject.target_id(request).filter(|_| request.restores()) else {
                return subject.ask(request);
            };
            match subject.listed(request).iter().take(3).any(|listed| listed.id == id) {
                true => subject.ask(request),
                false => refused(Code::UnknownCheckpoint, "no such checkpoint"),
            }
        }),
    },
    PlantedBug {
        name: "another-projects-checkpoint-is-found",
        rule: &rules::RESTORE_OWN_CHECKPOINT,
        about: "A target may name a checkpoint of another project.",
        operations_min: 3,
        flaw: Intercept(|subject, request| found_in_store(subject, request, "commit")),
    },
    PlantedBug {
        name: "a-tree-is-found",
        rule: &rules::RESTORE_OWN_CHECKPOINT,
        about: "A target may be the id of a tree, since git also checks out trees.",
        operations_min: 3,
        flaw: Intercept(|subject, request| found_in_store(subject, request, "tree")),
    },
    PlantedBug {
        name: "a-bad-target-is-the-newest",
        rule: &rules::RESTORE_BAD_TARGET,
        about: "A target that is neither a number nor an id names the newest checkpoint.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let is_id = request.target().is_some_and(|text| is_hexadecimal(text, 4..=64));
            match subject.ask(request) {
                Answer::Refused { code: Code::BadTarget | Code::UnknownCheckpoint, .. }
                    if !is_id =>
                {
                    subject.ask(&with_target(request, "1"))
                }
                answer => answer,
            }
        }),
    },
    PlantedBug {
        name: "one-file-is-restored-through-a-link",
        rule: &rules::RESTORE_BAD_PATH,
        about: "A single file is written through a directory that has become a link.",
        operations_min: 4,
        flaw: Intercept(|subject, request| match (subject.ask(request), request) {
            (
                answer @ Answer::Refused { code: Code::BadPath, .. },
                Request::RestoreFile { path, .. },
            ) => through_a_link(subject, request, path).unwrap_or(answer),
            (answer, _) => answer,
        }),
    },
    PlantedBug {
        name: "a-path-may-leave-and-come-back",
        rule: &rules::RESTORE_BAD_PATH,
        about: "A path is resolved as text, so it may be absolute, or leave the project and return.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let (Some(project), Request::RestoreFile { path, .. }) =
                (subject.project(request), request)
            else {
                return subject.ask(request);
            };
            let mut resolved = project.clone();
            for name in path.split(|byte| *byte == b'/') {
                match name {
                    b".." => drop(resolved.pop()),
                    b"" | b"." => {}
                    name => resolved = on_disk(&resolved, name),
                }
            }
            match resolved.strip_prefix(&project) {
                Ok(inside) => {
                    subject.ask(&with_path(request, inside.as_os_str().as_bytes().into()))
                }
                Err(_) => subject.ask(request),
            }
        }),
    },
    PlantedBug {
        name: "an-empty-path-is-everything",
        rule: &rules::RESTORE_BAD_PATH,
        about: "An empty path names the entire project.",
        operations_min: 3,
        flaw: Intercept(|subject, request| match request.clone() {
            Request::RestoreFile { dir, target, path } if path.is_empty() => {
                subject.ask(&Request::Restore { dir, target, exact: false, force: false })
            }
            request => subject.ask(&request),
        }),
    },
    PlantedBug {
        name: "a-path-is-a-pattern",
        rule: &rules::RESTORE_FILE_LITERAL,
        about: "The path of a single file is used as a pattern of git: every file that matches it or is below it is restored.",
        operations_min: 3,
        flaw: Intercept(|subject, request| match (subject.ask(request), request) {
            (
                answer @ Answer::Refused { code: Code::NotInCheckpoint, .. },
                Request::RestoreFile { path, .. },
            ) => matching(subject, request, path).unwrap_or(answer),
            (answer, _) => answer,
        }),
    },
    PlantedBug {
        name: "one-file-replaces-what-no-checkpoint-holds",
        rule: &rules::RESTORE_PROTECTS,
        about: "A restore of a single file overwrites a file that is in no checkpoint.",
        operations_min: 5,
        flaw: Intercept(|subject, request| clearing(subject, request, is_itself)),
    },
    PlantedBug {
        name: "one-file-clears-its-way",
        rule: &rules::RESTORE_FILE_ONLY,
        about: "A restore of a single file removes everything in its way.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            clearing(subject, request, |file, obstacle| !is_itself(file, obstacle))
        }),
    },
];

/// Whether a text is hexadecimal and has as many digits as given.
fn is_hexadecimal(text: &[u8], digits: RangeInclusive<usize>) -> bool {
    digits.contains(&text.len()) && text.iter().all(u8::is_ascii_hexdigit)
}

/// If the core correctly finds no checkpoint: restores the object of the store with that id, if it is of
/// that kind.
fn found_in_store(subject: &mut Intercepted, request: &Request, kind: &str) -> Answer {
    let answer = subject.ask(request);
    // The restore of a single file may also be refused since the checkpoint lacks the file.
    let unknown = matches!(answer, Answer::Refused { code: Code::UnknownCheckpoint, .. })
        && matches!(request, Request::Restore { .. })
        && subject.project(request).is_some();
    let id = request.target().map(|text| String::from_utf8_lossy(text).into_owned());
    match id.filter(|id| unknown && subject.kind_of(id).is_ok_and(|found| found == kind)) {
        Some(id) => restored_from_store(subject, request, &id, kind).unwrap_or(answer),
        None => answer,
    }
}

fn restored_from_store(
    subject: &mut Intercepted,
    request: &Request,
    id: &str,
    kind: &str,
) -> Option<Answer> {
    let history = subject.history_ref(request)?;
    // In a full history or store, the checkpoints added here and by the restore would evict others.
    let count = subject.git(&["rev-list", "--count", &history]).unwrap_or_default();
    let is_bounded = (1..1 << 20).contains(&subject.settings.max_total_bytes);
    if is_bounded || count.trim().parse().unwrap_or(0) + 2 > subject.settings.max_snapshots {
        return None;
    }
    let before = subject.git(&["rev-parse", "--verify", "--quiet", &history]).ok();
    if kind == "tree" {
        subject.commit(&history, id, Some(before.as_deref()?)).ok()?;
    } else if subject.git(&["for-each-ref", "--contains", id]).is_ok_and(|refs| !refs.is_empty()) {
        subject.git(&["update-ref", &history, id]).ok()?;
    } else {
        // Unreachable objects may be collected at any time, so they prove nothing.
        return None;
    }
    let answer = subject.ask(&with_target(request, "1"));
    match before {
        Some(before) => subject.git(&["update-ref", &history, &before]),
        None => subject.git(&["update-ref", "-d", &history]),
    }
    .ok()?;
    Some(answer)
}

/// Writes a file of the checkpoint through the links of its path, if they stay in the sandbox.
fn through_a_link(subject: &Intercepted, request: &Request, path: &ByteString) -> Option<Answer> {
    let tree = subject.tree(&subject.target_id(request)?);
    let Some(Node::File { content, .. }) = tree.get(path) else { return None };
    let absolute = on_disk(&subject.project(request)?, path);
    if !subject.is_inside(&absolute) || fs::write(absolute, content).is_err() {
        return None;
    }
    Some(Answer::Restored(Restored { restored: vec![path.clone()], ..Restored::default() }))
}

/// The same request for another file.
fn with_path(request: &Request, new_path: ByteString) -> Request {
    let mut request = request.clone();
    if let Request::RestoreFile { path, .. } = &mut request {
        *path = new_path;
    }
    request
}

/// Restores every file of the checkpoint that matches a git pattern; reports them as one restore.
fn matching(subject: &mut Intercepted, request: &Request, pattern: &ByteString) -> Option<Answer> {
    let id = subject.target_id(request)?;
    let pattern = String::from_utf8_lossy(pattern);
    let found = ["diff-tree", "-r", "-z", "--name-only", EMPTY_TREE, &id, "--", &pattern];
    let found = subject.git_bytes(&found, b"").ok()?;
    let mut report: Option<Restored> = None;
    for path in found.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        let request = with_path(&with_target(request, &id[..]), path.into());
        if let Answer::Restored(of_file) = subject.ask(&request) {
            let report = report.get_or_insert_default();
            report.restored.extend(of_file.restored);
            report.safety = report.safety.take().or(of_file.safety);
        }
    }
    report.map(Answer::Restored)
}

/// Whether the obstacle to a single file is at exactly its path and is not a directory.
fn is_itself(file: &Path, obstacle: &Path) -> bool {
    obstacle == file && !obstacle.is_dir()
}

/// Restores a single file after removing the obstacle that `is_removed` selects.
fn clearing(
    subject: &mut Intercepted,
    request: &Request,
    is_removed: fn(&Path, &Path) -> bool,
) -> Answer {
    let answer = subject.ask(request);
    let (
        Answer::Refused { code: Code::WouldOverwrite, .. },
        Request::RestoreFile { path, .. },
        Some(project),
        Ok(scratch),
    ) = (&answer, request, subject.project(request), subject.scratch_folder())
    else {
        return answer;
    };
    let file = on_disk(&project, path);
    let removed = scratch.join("in-the-way");
    let mut paths = file.ancestors().take_while(|ancestor| **ancestor != project);
    let existing = paths.find(|ancestor| ancestor.symlink_metadata().is_ok());
    let obstacle = existing.filter(|found| subject.is_inside(found) && is_removed(&file, found));
    let Some(obstacle) = obstacle.filter(|found| fs::rename(found, &removed).is_ok()) else {
        return answer;
    };
    let again = subject.ask(request);
    if !matches!(again, Answer::Restored(_)) {
        // The restore is also refused for another reason.
        let _ = fs::rename(&removed, obstacle);
        return answer;
    }
    let _ = if removed.is_symlink() || removed.is_file() {
        fs::remove_file(removed)
    } else {
        fs::remove_dir_all(removed)
    };
    again
}
