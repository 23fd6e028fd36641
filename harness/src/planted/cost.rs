//! Bugs of the cost of a checkpoint: memory that grows with file sizes, and unchanged files read again.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::intercepted::{Intercepted, takes_checkpoint};
use herma_model::{Request, rules};
use std::fs::{self, File};
use std::hint::black_box;
use std::io;
use std::path::PathBuf;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "a-buffer-is-as-large-as-the-file",
        rule: &rules::COST_MEMORY,
        about: "A checkpoint reads each file completely into memory.",
        operations_min: 9,
        flaw: Intercept(|subject, request| {
            let sizes =
                files(subject, request).filter_map(|file| Some(fs::metadata(file).ok()?.len()));
            let buffers: Vec<Vec<u8>> = sizes.map(|size| vec![1; size as usize]).collect();
            let answer = subject.ask(request);
            black_box(buffers);
            answer
        }),
    },
    PlantedBug {
        name: "unchanged-files-are-read-again",
        rule: &rules::COST_UNCHANGED,
        about: "Each checkpoint reads every file of the project, also those with an unchanged modification time.",
        operations_min: 9,
        flaw: Intercept(|subject, request| {
            for mut file in files(subject, request).filter_map(|file| File::open(file).ok()) {
                // A file that cannot be read adds nothing.
                let _ = io::copy(&mut file, &mut io::sink());
            }
            subject.ask(request)
        }),
    },
];

/// The regular files directly in the project, if the request is for a checkpoint.
fn files(subject: &Intercepted, request: &Request) -> impl Iterator<Item = PathBuf> + use<> {
    let project = subject.project(request).filter(|_| takes_checkpoint(request));
    let entries =
        project.and_then(|project| project.read_dir().ok()).into_iter().flatten().flatten();
    let is_file = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|file| file.is_file());
    entries.map(|entry| entry.path()).filter(is_file)
}
