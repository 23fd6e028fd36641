//! Bugs of damaged stores: what counts as stored, which requests one damaged object affects, and what is
//! reported of files that could not be restored.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::intercepted::{Intercepted, names, refused, takes_checkpoint};
use crate::sandbox::harm::Replacement;
use crate::sandbox::stock::Stock;
use flate2::read::ZlibDecoder;
use herma_model::{Answer, Code, Request, rules};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "what-is-there-is-taken-for-whole",
        rule: &rules::CAPTURE_STORED,
        about: "An object whose file exists is not stored again, even if the file is damaged.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            let before = if takes_checkpoint(request) { objects(subject) } else { Ok(Vec::new()) };
            let answer = subject.ask(request);
            // An object that cannot be put back stays intact, and the bug does not show.
            let _ = before
                .and_then(|before| before.iter().try_for_each(|(path, left)| put_back(path, left)));
            answer
        }),
    },
    PlantedBug {
        name: "what-git-refuses-stays",
        rule: &rules::MAINTENANCE_HEALS,
        about: "A file full of zeros, for which git refuses the store, is never repaired.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let store = subject.sandbox.store();
            let paths = ["HEAD", "config", "packed-refs"].map(|name| store.join(name));
            let before = paths.map(|path| (Replacement::at(&path), path));
            let answer = subject.ask(request);
            for (before, path) in &before {
                if let Ok(before @ Replacement::Bytes(bytes)) = before
                    && bytes.contains(&0)
                {
                    // A file that cannot be put back stays repaired, and the bug does not show.
                    let _ = put_back(path, before);
                }
            }
            answer
        }),
    },
    PlantedBug {
        name: "one-damaged-object-refuses-every-list",
        rule: &rules::MAINTENANCE_DAMAGE,
        about: "If any object of the store is damaged, no project can be listed.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let damaged = |objects: Vec<(PathBuf, Replacement)>| {
                objects.iter().any(|(_, left)| !is_object(left))
            };
            if matches!(request, Request::List { .. }) && objects(subject).is_ok_and(damaged) {
                return refused(Code::CorruptCheckpoint, "an object cannot be read");
            }
            subject.ask(request)
        }),
    },
    PlantedBug {
        name: "a-lost-folder-refuses-every-file",
        rule: &rules::MAINTENANCE_DAMAGE,
        about: "A file is not restored if any folder of any checkpoint of its project is lost.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            if let Request::RestoreFile { dir, .. } = request {
                for listed in subject.listed(request) {
                    // A diff needs every folder.
                    let diff =
                        Request::Diff { dir: dir.clone(), target: listed.id.as_str().into() };
                    let answer = subject.core_answer(&diff);
                    if matches!(answer, Answer::Refused { code: Code::CorruptCheckpoint, .. }) {
                        return answer;
                    }
                }
            }
            subject.ask(request)
        }),
    },
    PlantedBug {
        name: "what-is-lost-is-not-said",
        rule: &rules::RESTORE_HONEST,
        about: "A restore does not report files whose stored content is damaged.",
        operations_min: 5,
        flaw: Intercept(|subject, request| match subject.ask(request) {
            Answer::Restored(mut restored) => {
                restored.failed.clear();
                Answer::Restored(restored)
            }
            answer => answer,
        }),
    },
    PlantedBug {
        name: "damage-is-a-missing-directory",
        rule: &rules::MAINTENANCE_DAMAGE,
        about: "A refusal because of damage reports that the directory does not exist.",
        operations_min: 4,
        flaw: Intercept(|subject, request| match subject.ask(request) {
            Answer::Refused { code: Code::CorruptCheckpoint, .. } => {
                refused(Code::MissingDirectory, "there is no such directory")
            }
            answer => answer,
        }),
    },
    PlantedBug {
        name: "content-that-a-pack-names-is-read-nowhere-else",
        rule: &rules::MAINTENANCE_DAMAGE,
        about: "A restore reads content from a damaged pack, even if an intact copy exists outside it.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            if !matches!(request, Request::Restore { .. }) {
                return subject.ask(request);
            }
            // A copy that cannot be moved is found, and the bug does not show.
            let copies = loose_copies(&subject.sandbox.store()).unwrap_or_default();
            let moved: Vec<_> =
                copies.iter().filter(|(path, hidden)| fs::rename(path, hidden).is_ok()).collect();
            let answer = subject.ask(request);
            for (path, hidden) in moved.into_iter().filter(|(path, _)| !path.exists()) {
                let _ = fs::rename(hidden, path);
            }
            answer
        }),
    },
    PlantedBug {
        name: "one-damaged-index-of-a-pack-refuses-every-list",
        rule: &rules::MAINTENANCE_DAMAGE,
        about: "If the index of any pack is damaged, no project can be listed.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            let refuses = matches!(request, Request::List { .. })
                && names(&subject.sandbox.store().join("objects/pack"))
                    .is_ok_and(|files| files.iter().any(|name| is_broken_index(subject, name)));
            match refuses {
                true => refused(Code::CorruptCheckpoint, "a pack has no index"),
                false => subject.ask(request),
            }
        }),
    },
];

/// Whether a file is named like a pack index and is not a valid one.
fn is_broken_index(subject: &Intercepted, name: &OsStr) -> bool {
    let path = subject.sandbox.store().join("objects/pack").join(name);
    let is_index = matches!(Replacement::at(&path), Ok(Replacement::Bytes(bytes)) if bytes.starts_with(b"\xfftOc"));
    path.extension().is_some_and(|ending| ending == "idx") && !is_index
}

/// The loose copy of each blob that a pack also names, with a path at which git does not look for it.
fn loose_copies(store: &Path) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let stock = Stock::of(store)?;
    let copies = stock.loose.iter().filter(|id| stock.packs.values().any(|ids| ids.contains(*id)));
    let paths = copies.map(|id| {
        let (folder, name) = id.split_at(2);
        let folder = store.join("objects").join(folder);
        (folder.join(name), folder.join(format!("tmp_obj_{name}")))
    });
    Ok(paths.filter(|(path, _)| is_blob(path).unwrap_or_default()).collect())
}

/// Whether a file is a loose blob.
fn is_blob(path: &Path) -> io::Result<bool> {
    // Opening a fifo would block.
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut start = [0; 5];
    ZlibDecoder::new(fs::File::open(path)?).read_exact(&mut start)?;
    Ok(start == *b"blob ")
}

/// The path of every loose object, with what exists there.
fn objects(subject: &Intercepted) -> io::Result<Vec<(PathBuf, Replacement)>> {
    let folder = subject.sandbox.store().join("objects");
    let mut found = Vec::new();
    for name in names(&folder)?.into_iter().filter(|name| name.len() == 2) {
        for object in names(&folder.join(&name))? {
            let path = folder.join(&name).join(object);
            found.push((path.clone(), Replacement::at(&path)?));
        }
    }
    Ok(found)
}

/// Whether a file may be an object: it begins like compressed data.
fn is_object(left: &Replacement) -> bool {
    matches!(left, Replacement::Bytes(bytes) if bytes.starts_with(b"x"))
}

/// Puts the earlier file of an object back if another file is there now.
fn put_back(path: &Path, before: &Replacement) -> io::Result<()> {
    let now = Replacement::at(path)?;
    if now == *before || !matches!(now, Replacement::Bytes(_)) {
        return Ok(());
    }
    let permissions = fs::metadata(path)?.permissions();
    before.put(path, permissions)
}
