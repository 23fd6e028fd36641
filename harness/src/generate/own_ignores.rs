//! Fragments about ignore files of the store's own, alone and next to a `.gitignore`.

use super::content::SizeLimits;
use super::idiom::{ProjectFile, checkpoint, project_file, restore, restore_file, write};
use super::names::join;
use crate::history::Operation;
use herma_model::ignore::OWN_IGNORE_FILE;
use herma_model::{ByteString, Edit};
use proptest::prelude::*;
use proptest::sample::select;

/// Texts for both kinds of ignore file.
const TEXTS: &[&str] = &[
    "*.txt\n",
    "!*.txt\n",
    "*.txt\n!a.txt\n",
    "!dist/\n!*.log\n!.env\n",
    "/dist/*\n!/dist/x\n",
    "src/\n",
    "!src/\nmain.rs\n",
    "/b\n",
    "*\n!.gitignore\n!.hermaignore\n",
    "",
];

/// The files that the texts name, and others.
const FILES: &[&str] = &["a.txt", "b", "dist/x", "dist/a.log", ".env", "src/a.txt", "src/main.rs"];

/// What becomes of the files and of the own ignore file after the checkpoint.
#[derive(Clone, Copy, Debug)]
enum Since {
    FilesRemoved,
    FilesChanged,
    IgnoreFileRemoved,
    IgnoreFileChanged(&'static str),
}

/// A checkpoint of a project with an own ignore file, an edit, and a restore.
pub fn fragment(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    let folder = prop_oneof![3 => Just(""), 1 => Just("src/")];
    let gitignore = prop_oneof![1 => Just(None), 1 => select(TEXTS).prop_map(Some)];
    let since = prop_oneof![
        2 => Just(Since::FilesRemoved),
        1 => Just(Since::FilesChanged),
        2 => Just(Since::IgnoreFileRemoved),
        1 => select(TEXTS).prop_map(Since::IgnoreFileChanged),
    ];
    let choices = (project_file(limits), folder, select(TEXTS), gitignore, since, 0..4u32);
    choices
        .prop_map(|(file, folder, own, gitignore, since, ending)| {
            let ProjectFile { project, content, .. } = file;
            let path = |name: &str| join(&project, &name.into());
            let in_folder = |name: &str| path(&format!("{folder}{name}"));
            let text = |text: &str| ByteString::from(text);
            let mut operations: Vec<Operation> =
                FILES.iter().map(|name| write(&path(name), &content, false)).collect();
            operations.push(write(&in_folder(OWN_IGNORE_FILE), &text(own), false));
            operations.extend(
                gitignore.map(|lines| write(&in_folder(".gitignore"), &text(lines), false)),
            );
            operations.push(checkpoint(&project));
            operations.extend(edits(since, &path, in_folder(OWN_IGNORE_FILE)));
            operations.push(match ending {
                0 => restore_file(&project, "a.txt".into()),
                1 => restore(&project, 1, false),
                _ => restore(&project, 1, true),
            });
            operations
        })
        .boxed()
}

fn edits(
    since: Since,
    path: &dyn Fn(&str) -> ByteString,
    ignore_file: ByteString,
) -> Vec<Operation> {
    let changed = |name: &&str| write(&path(name), &"changed since\n".into(), false);
    match since {
        Since::FilesRemoved => {
            FILES.iter().map(|name| Edit::Remove { path: path(name) }.into()).collect()
        }
        Since::FilesChanged => FILES.iter().map(changed).collect(),
        Since::IgnoreFileRemoved => {
            let removed = Edit::Remove { path: ignore_file }.into();
            FILES.iter().map(changed).chain([removed]).collect()
        }
        Since::IgnoreFileChanged(text) => vec![write(&ignore_file, &text.into(), false)],
    }
}
