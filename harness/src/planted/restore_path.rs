//! Bugs of restoring one file: what its path is taken for, and what else is touched.

use super::intercepted::{Intercepted, refused, with_target};
use super::stored::EMPTY_TREE;
use super::{Flaw, PlantedBug};
use crate::sandbox::manifest::on_disk;
use crate::subject::Subject;
use herma_model::answer::{Change, Restored};
use herma_model::bytes::join;
use herma_model::{Answer, ByteString, Code, Files, Node, Request, rules};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "a-path-may-leave-and-come-back",
        rule: &rules::RESTORE_BAD_PATH,
        about: "Dots are resolved as text, past links and from outside the project.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            let project = host.project(request);
            at_path(host, request, |path| {
                let mut place = project.clone()?;
                for name in path.split(|byte| *byte == b'/') {
                    match name {
                        b".." => {
                            place.pop();
                        }
                        b"" | b"." => {}
                        name => place = on_disk(&place, name),
                    }
                }
                let inside = place.strip_prefix(project.as_ref()?).ok()?;
                Some(ByteString::from(inside.as_os_str().as_bytes()))
            })
        }),
    },
    PlantedBug {
        name: "an-absolute-path-loses-its-slash",
        rule: &rules::RESTORE_BAD_PATH,
        about: "An absolute path is taken for one that is relative to the project.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            at_path(host, request, |path| path.strip_prefix(b"/").map(ByteString::from))
        }),
    },
    PlantedBug {
        name: "an-empty-path-is-everything",
        rule: &rules::RESTORE_BAD_PATH,
        about: "An empty path stands for the whole project.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::RestoreFile { path, .. } if path.is_empty() => host.ask(&in_full(request)),
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "one-file-is-restored-through-a-link",
        rule: &rules::RESTORE_BAD_PATH,
        about: "A single file is written through a directory that is a link by now.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            let answer = host.ask(request);
            let refused = matches!(answer, Answer::Refused { code: Code::BadPath, .. });
            match request {
                Request::RestoreFile { path, .. } if refused => {
                    through_a_link(host, request, path).unwrap_or(answer)
                }
                _ => answer,
            }
        }),
    },
    PlantedBug {
        name: "a-path-is-a-pattern",
        rule: &rules::RESTORE_FILE_LITERAL,
        about: "The path of a single file is a pattern to git, and every file that fits comes back.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            matching(host, request, |path| {
                path.starts_with(b":") || path.iter().any(|byte| b"*?[".contains(byte))
            })
        }),
    },
    PlantedBug {
        name: "a-directory-is-all-its-files",
        rule: &rules::RESTORE_FILE_LITERAL,
        about: "The path of a directory stands for every file in it.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            matching(host, request, |path| {
                let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._/-".contains(byte);
                // What dots stand for is another matter.
                let mut names = path.split(|byte| *byte == b'/');
                path.iter().all(plain) && !names.any(|name| matches!(name, b"" | b"." | b".."))
            })
        }),
    },
    PlantedBug {
        name: "too-many-files-hide-a-missing-one",
        rule: &rules::RESTORE_FILE_LITERAL,
        about: "That there are too many files is said before whether the checkpoint has this one.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            counted_first(host, request, Code::NotInCheckpoint)
        }),
    },
    PlantedBug {
        name: "too-many-files-hide-what-is-in-the-way",
        rule: &rules::RESTORE_FILE_ONLY,
        about: "That there are too many files is said before what stands in the way of this one.",
        operations_min: 6,
        flaw: Flaw::Intercepted(|host, request| counted_first(host, request, Code::WouldOverwrite)),
    },
    PlantedBug {
        name: "one-file-brings-back-all",
        rule: &rules::RESTORE_FILE_ONLY,
        about: "With a single file everything else of the checkpoint comes back.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| {
            let named = host.named(request);
            let answer = host.ask(request);
            let (
                Request::RestoreFile { path: one, .. },
                Answer::Restored(_),
                Some(id),
                Some(inside),
            ) = (request, &answer, named, host.project_inside(request))
            else {
                return answer;
            };
            let all = host.tree(&id).into_iter().filter(|(path, _)| path != one);
            let all = all.map(|(path, node)| (ByteString(join(&inside, &path)), node));
            let all: Files = all.collect();
            for (path, _) in all.iter() {
                // A bug that cannot be played is no bug; the suite then just does not find it.
                let _ = host.put_back(&all, path);
            }
            answer
        }),
    },
    PlantedBug {
        name: "one-file-replaces-what-no-checkpoint-holds",
        rule: &rules::RESTORE_PROTECTS,
        about: "A single file is written over one that no checkpoint holds.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| clearing(host, request, is_itself)),
    },
    PlantedBug {
        name: "one-file-clears-its-way",
        rule: &rules::RESTORE_FILE_ONLY,
        about: "What stands in the way of a single file is removed.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            clearing(host, request, |full, place| !is_itself(full, place))
        }),
    },
];

/// Whether what stands in the way of a single file stands exactly where it is to be, and is no
/// directory.
fn is_itself(full: &Path, place: &Path) -> bool {
    place == full && !place.is_dir()
}

/// Restores a single file where something stands in its way, if that is to be removed.
fn clearing(
    host: &mut Intercepted,
    request: &Request,
    is_removed: fn(&Path, &Path) -> bool,
) -> Answer {
    let answer = host.ask(request);
    let refused = matches!(answer, Answer::Refused { code: Code::WouldOverwrite, .. });
    // Nothing else may stand against it, or the refusal would have removed something.
    let room = files_now(host, request) <= Some(host.settings.max_files);
    let held = host.named(request).map(|id| host.tree(&id)).unwrap_or_default();
    let (Some(project), Request::RestoreFile { path, .. }) = (host.project(request), request)
    else {
        return answer;
    };
    if !refused || !room || !held.contains_key(path) {
        return answer;
    }
    let full = on_disk(&project, path);
    let mut places = full.ancestors().take_while(|place| **place != project);
    let in_the_way = places.find(|place| place.symlink_metadata().is_ok());
    let removed = |place: &&Path| is_removed(&full, place);
    match in_the_way.filter(|place| host.is_inside(place)).filter(removed) {
        Some(place) if place.is_dir() => fs::remove_dir_all(place),
        Some(place) => fs::remove_file(place),
        None => return answer,
    }
    .map_or(answer, |()| host.ask(request))
}

/// Says that there are too many files where there are, and something else was to be said.
fn counted_first(host: &mut Intercepted, request: &Request, due: Code) -> Answer {
    let answer = host.ask(request);
    let hidden = matches!(answer, Answer::Refused { code, .. } if code == due);
    if hidden && files_now(host, request) > Some(host.settings.max_files) {
        return refused(Code::NoSafetyCheckpoint, "too many files");
    }
    answer
}

/// How many files a checkpoint of the project would hold now.
fn files_now(host: &Intercepted, request: &Request) -> Option<usize> {
    let (dir, id) = (request.dir()?.clone(), host.named(request)?);
    let target = id.as_str().into();
    match host.another(&host.settings).ask(&Request::Diff { dir, target }) {
        Answer::Diffed { entries, .. } => {
            let count = |change| entries.iter().filter(|one| one.change == change).count();
            Some(host.tree(&id).len() + count(Change::Added) - count(Change::Deleted))
        }
        _ => None,
    }
}

/// The same request for all of the checkpoint.
fn in_full(request: &Request) -> Request {
    match request.clone() {
        Request::RestoreFile { dir, target, .. } => {
            Request::Restore { dir, target, exact: false, force: false }
        }
        request => request,
    }
}

/// Asks the core as if another path had been typed.
fn at_path(
    host: &mut Intercepted,
    request: &Request,
    meant: impl Fn(&[u8]) -> Option<ByteString>,
) -> Answer {
    let mut request = request.clone();
    if let Request::RestoreFile { path, .. } = &mut request
        && let Some(meant) = meant(path)
    {
        *path = meant;
    }
    host.ask(&request)
}

/// Restores every file that git finds by the path of a single one, where that is a pattern.
fn matching(host: &mut Intercepted, request: &Request, is_pattern: fn(&[u8]) -> bool) -> Answer {
    let Request::RestoreFile { path: pattern, .. } = request else { return host.ask(request) };
    let Some(id) = host.named(request).filter(|_| is_pattern(pattern)) else {
        return host.ask(request);
    };
    let arguments = ["diff-tree", "-r", "-z", "--name-only", EMPTY_TREE, &id, "--"];
    let found =
        host.git_bytes(&[&arguments[..], &[&String::from_utf8_lossy(pattern)]].concat(), b"");
    let found = found.unwrap_or_default();
    let names = found.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let paths: Vec<ByteString> = names.map(ByteString::from).collect();
    let mut restored = None;
    for path in paths {
        let request = at_path(host, &with_target(request, &id[..]), |_| Some(path.clone()));
        if let Answer::Restored(one) = request {
            let all: &mut Restored = restored.get_or_insert_default();
            all.restored.extend(one.restored);
            all.safety = all.safety.take().or(one.safety);
        }
    }
    restored.map_or_else(|| host.ask(request), Answer::Restored)
}

/// Writes a file of the checkpoint where its path leads, if that is in the sandbox.
fn through_a_link(host: &Intercepted, request: &Request, path: &ByteString) -> Option<Answer> {
    let tree = host.tree(&host.named(request)?);
    let Some(Node::File { content, .. }) = tree.get(path) else { return None };
    let full = on_disk(&host.project(request)?, path);
    if !host.is_inside(&full) || fs::write(full, content).is_err() {
        return None;
    }
    let restored = vec![path.clone()];
    Some(Answer::Restored(Restored { restored, ..Restored::default() }))
}
