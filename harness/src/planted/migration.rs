//! Bugs of the migration from v1: what happens to its repositories.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::intercepted::{Intercepted, names, takes_checkpoint};
use crate::sandbox::store_edits::WORKDIR;
use herma_model::rules;
use std::fs;
use std::path::{Path, PathBuf};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "v1-repositories-stay",
        rule: &rules::MIGRATION_ARCHIVES,
        about: "v1 repositories are not archived.",
        operations_min: 2,
        flaw: Intercept(|subject, request| match takes_checkpoint(request) {
            true => subject.ask_without(request, is_repository),
            false => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "v1-repositories-are-lost",
        rule: &rules::MIGRATION_LOSES_NOTHING,
        about: "v1 repositories are removed instead of archived.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            for path in entries(subject).into_iter().filter(|_| takes_checkpoint(request)) {
                if is_repository(&path) {
                    let _ = fs::remove_dir_all(path);
                }
            }
            subject.ask(request)
        }),
    },
];

fn is_repository(path: &Path) -> bool {
    path.join(WORKDIR).exists()
}

/// The entries of the base.
fn entries(subject: &Intercepted) -> Vec<PathBuf> {
    let base = subject.sandbox.base();
    names(&base).unwrap_or_default().into_iter().map(|name| base.join(name)).collect()
}
