//! Bugs of what becomes of a damaged store: what is said to be stored there, what one object costs, and
//! what is said of what did not come back.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::intercepted::{Intercepted, names, refused, takes};
use crate::sandbox::harm::Left;
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
        about: "An object of which the file is there is not stored again, whatever it holds.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            let before = if takes(request) { objects(subject) } else { Ok(Vec::new()) };
            let answer = subject.ask(request);
            // What cannot be put back is whole, and then the bug does not show.
            let _ = before.and_then(|before| before.iter().try_for_each(put_back));
            answer
        }),
    },
    PlantedBug {
        name: "one-damaged-object-refuses-every-list",
        rule: &rules::MAINTENANCE_DAMAGE,
        about: "While any object of the store is no object, no project is listed.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let damaged =
                |objects: Vec<(PathBuf, Left)>| objects.iter().any(|one| !is_object(&one.1));
            if matches!(request, Request::List { .. }) && objects(subject).is_ok_and(damaged) {
                return refused(Code::CorruptCheckpoint, "an object cannot be read");
            }
            subject.ask(request)
        }),
    },
    PlantedBug {
        name: "what-is-lost-is-not-said",
        rule: &rules::RESTORE_HONEST,
        about: "A restore does not say which files it could not read in the store.",
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
        name: "content-that-a-pack-names-is-read-nowhere-else",
        rule: &rules::MAINTENANCE_DAMAGE,
        about: "A restore reads the content that a pack names from there, also where that is damaged and \
            the content was stored again beside it.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            if !matches!(request, Request::Restore { .. }) {
                return subject.ask(request);
            }
            // What cannot be moved is found, and then the bug does not show.
            let aside = beside_packs(&subject.sandbox.store()).unwrap_or_default();
            let moved: Vec<_> =
                aside.iter().filter(|(is, to)| fs::rename(is, to).is_ok()).collect();
            let answer = subject.ask(request);
            for (is, to) in moved.into_iter().filter(|(is, _)| !is.exists()) {
                let _ = fs::rename(to, is);
            }
            answer
        }),
    },
    PlantedBug {
        name: "one-damaged-index-of-a-pack-refuses-every-list",
        rule: &rules::MAINTENANCE_DAMAGE,
        about: "While the index of any pack is none, no project is listed.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            let refuses = matches!(request, Request::List { .. })
                && names(&subject.sandbox.store().join("objects/pack"))
                    .is_ok_and(|all| all.iter().any(|name| is_broken_index(subject, name)));
            match refuses {
                true => refused(Code::CorruptCheckpoint, "a pack has no index"),
                false => subject.ask(request),
            }
        }),
    },
];

/// Whether that is in the place of the index of a pack, and is none.
fn is_broken_index(subject: &Intercepted, name: &OsStr) -> bool {
    let path = subject.sandbox.store().join("objects/pack").join(name);
    let is_index =
        matches!(Left::at(&path), Ok(Left::Bytes(bytes)) if bytes.starts_with(b"\xfftOc"));
    path.extension().is_some_and(|ending| ending == "idx") && !is_index
}

/// The file of each content that a pack names, and where nobody looks for it.
fn beside_packs(store: &Path) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let stock = Stock::of(store)?;
    let named = stock.loose.iter().filter(|id| stock.packs.values().any(|ids| ids.contains(*id)));
    let places = named.map(|id| {
        let (folder, name) = id.split_at(2);
        let folder = store.join("objects").join(folder);
        (folder.join(name), folder.join(format!("tmp_obj_{name}")))
    });
    Ok(places.filter(|(is, _)| is_content(is).unwrap_or_default()).collect())
}

/// Whether that is the file of an object that holds what a file holds.
fn is_content(path: &Path) -> io::Result<bool> {
    // A fifo in its place would be waited for.
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut begin = [0; 5];
    ZlibDecoder::new(fs::File::open(path)?).read_exact(&mut begin)?;
    Ok(begin == *b"blob ")
}

/// What stands in the place of every object with a file of its own.
fn objects(subject: &Intercepted) -> io::Result<Vec<(PathBuf, Left)>> {
    let folder = subject.sandbox.store().join("objects");
    let mut found = Vec::new();
    for name in names(&folder)?.into_iter().filter(|name| name.len() == 2) {
        for object in names(&folder.join(&name))? {
            let path = folder.join(&name).join(object);
            found.push((path.clone(), Left::at(&path)?));
        }
    }
    Ok(found)
}

/// Whether that may be an object: a file that begins as compressed ones do.
fn is_object(left: &Left) -> bool {
    matches!(left, Left::Bytes(bytes) if bytes.starts_with(b"x"))
}

fn put_back((path, was): &(PathBuf, Left)) -> io::Result<()> {
    let now = Left::at(path)?;
    if now == *was || !matches!(now, Left::Bytes(_)) {
        return Ok(());
    }
    let permissions = fs::metadata(path)?.permissions();
    was.put(path, permissions)
}
