//! Bugs of the way from v1: what becomes of its repositories, of what stands beside
//! them, and of archives that are there.

use super::intercepted::{Intercepted, names, takes};
use super::sweep::is_archive;
use super::{Flaw, PlantedBug};
use herma_model::rules;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "v1-repositories-stay",
        rule: &rules::MIGRATION_ARCHIVES,
        about: "What v1 left stays where it was.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| match takes(request) {
            true => host.ask_without(request, is_repository),
            false => host.ask(request),
        }),
    },
    PlantedBug {
        name: "one-repository-is-archived",
        rule: &rules::MIGRATION_ARCHIVES,
        about: "The first v1 repository is archived, and the others stay.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| match takes(request) {
            true => host.ask_without(request, is_another_repository),
            false => host.ask(request),
        }),
    },
    PlantedBug {
        name: "archives-are-archived-again",
        rule: &rules::MIGRATION_ARCHIVES,
        about: "Each checkpoint moves what was archived before into an archive of its own.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            let archived = archived(host).unwrap_or_default();
            let answer = host.ask(request);
            if takes(request) {
                let _ = archived.iter().try_for_each(|path| archive_again(host, path));
            }
            answer
        }),
    },
    PlantedBug {
        name: "v1-repositories-are-lost",
        rule: &rules::MIGRATION_LOSES_NOTHING,
        about: "What v1 left is removed where it should be archived.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            for path in entries(host).into_iter().filter(|_| takes(request)) {
                if is_repository(&path) {
                    // A bug that cannot be played is no bug; the suite then just does not find it.
                    let _ = fs::remove_dir_all(path);
                }
            }
            host.ask(request)
        }),
    },
    PlantedBug {
        name: "only-some-files-are-archived",
        rule: &rules::MIGRATION_LOSES_NOTHING,
        about: "What says which directory a repository was of is not archived with it.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let answer = host.ask(request);
            for path in archived(host).unwrap_or_default() {
                let _ = fs::remove_file(path.join(WORKDIR));
            }
            answer
        }),
    },
    PlantedBug {
        name: "stray-files-are-swept-up",
        rule: &rules::MIGRATION_LOSES_NOTHING,
        about: "The store begins with an empty base, whatever stood there.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            if takes(request) && !host.sandbox.has_store() {
                for path in entries(host).into_iter().filter(|path| path.is_file()) {
                    let _ = fs::remove_file(path);
                }
            }
            host.ask(request)
        }),
    },
    PlantedBug {
        name: "an-archive-of-that-name-is-replaced",
        rule: &rules::MIGRATION_LOSES_NOTHING,
        about: "An archive that was made in the same second is lost.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            let before: Vec<PathBuf> =
                entries(host).into_iter().filter(|path| is_archive(path)).collect();
            let answer = host.ask(request);
            for old in before.iter().filter(|_| takes(request)) {
                let Some(name) = old.file_name().and_then(|name| name.to_str()) else { continue };
                let beside = old.with_file_name(format!("{name}-1"));
                if beside.is_dir() && !before.contains(&beside) {
                    let _ = fs::remove_dir_all(old).and_then(|()| fs::rename(&beside, old));
                }
            }
            answer
        }),
    },
];

/// The file by which the v1 knew the directory of a repository.
const WORKDIR: &str = "HERMES_WORKDIR";

fn is_repository(path: &Path) -> bool {
    path.join(WORKDIR).exists()
}

/// Whether that is a repository, and not the first one beside it.
fn is_another_repository(path: &Path) -> bool {
    let beside = path.parent().and_then(|base| names(base).ok()).unwrap_or_default();
    let mut repositories = beside.iter().map(|name| path.with_file_name(name));
    let first = repositories.find(|path| is_repository(path));
    is_repository(path) && first.is_some_and(|first| first != path)
}

/// What stands in the base.
fn entries(host: &Intercepted) -> Vec<PathBuf> {
    let base = host.sandbox.base();
    names(&base).unwrap_or_default().into_iter().map(|name| base.join(name)).collect()
}

/// The repositories that are in an archive.
fn archived(host: &Intercepted) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for archive in entries(host).into_iter().filter(|path| is_archive(path)) {
        found.extend(names(&archive)?.into_iter().map(|name| archive.join(name)));
    }
    found.retain(|path| is_repository(path));
    Ok(found)
}

fn archive_again(host: &Intercepted, path: &Path) -> io::Result<()> {
    let (Some(name), Some(archive)) = (path.file_name(), path.parent()) else { return Ok(()) };
    let number = entries(host).iter().filter(|path| is_archive(path)).count();
    let place = archive.with_file_name(format!("legacy-again-{number}"));
    fs::create_dir(&place)?;
    fs::rename(path, place.join(name))?;
    // It stays where it is not empty.
    let _ = fs::remove_dir(archive);
    Ok(())
}
