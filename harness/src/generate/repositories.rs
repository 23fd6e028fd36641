//! Idioms of projects in git layouts: a sparse checkout, a linked worktree, a submodule.
//!
//! A checkpoint must not depend on how git sees a path: it must capture the files that exist, and must
//! neither capture nor change a repository. Git itself accepts these repositories. So if a store wrongly
//! asks git about the project, git's answer reflects the layout, and the checkpoint is wrong.

use super::idiom::{ProjectFile, checkpoint, restore, write};
use super::names::join;
use crate::history::Operation;
use herma_model::{ByteString, Edit};

/// An index of version 3 with one entry: an empty `src/lib.rs`, marked `skip-worktree`.
const SPARSE_INDEX: &[u8] = b"DIRC\0\0\0\x03\0\0\0\x01\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x81\xa4\0\0\0\0\0\0\0\0\0\0\0\0\
    \xe6\x9d\xe2\x9b\xb2\xd1\xd6CK\x8b)\xaewZ\xd8\xc2\xe4\x8cS\x91\x40\x0a\x40\0src/lib.rs\0\0\0\0\0\0\
    \xc4F\x92\x86|u\x88\xf8\x11S\xc0\x90\x17u\xdb\x12\x7fw\xbb\xf9";

fn file(directory: &ByteString, name: &str, content: impl Into<ByteString>) -> Operation {
    write(&join(directory, &name.into()), &content.into(), false)
}

/// A repository with this configuration and without commits.
fn repository(directory: &ByteString, configuration: &str) -> Vec<Operation> {
    let folder = |name: &str| Edit::MakeDirectory { path: join(directory, &name.into()) }.into();
    vec![
        folder("objects"),
        folder("refs"),
        file(directory, "HEAD", "ref: refs/heads/main\n"),
        file(directory, "config", configuration),
    ]
}

/// A file of the project is captured, changed and restored.
fn captured_and_restored(project: &ByteString, name: &str, content: &ByteString) -> Vec<Operation> {
    vec![
        file(project, name, &content[..]),
        checkpoint(project),
        file(project, name, "changed since\n"),
        restore(project, 1, true),
    ]
}

pub fn a_checkout_is_sparse(ProjectFile { project, content, .. }: ProjectFile) -> Vec<Operation> {
    let git = join(&project, &".git".into());
    let configuration = "[core]\n\tbare = false\n\tsparseCheckout = true\n";
    let mut operations = repository(&git, configuration);
    operations.push(file(&git, "info/sparse-checkout", "/*\n!/src/\n"));
    operations.push(file(&git, "index", SPARSE_INDEX));
    operations.extend(captured_and_restored(&project, "src/lib.rs", &content));
    operations
}

pub fn a_worktree_is_linked(ProjectFile { project, content, .. }: ProjectFile) -> Vec<Operation> {
    let git = ByteString::from("outside/repository/.git");
    let worktree = join(&git, &"worktrees/linked".into());
    let mut operations = repository(&git, "[core]\n\tbare = false\n");
    operations.extend([
        file(&worktree, "HEAD", "ref: refs/heads/linked\n"),
        file(&worktree, "commondir", "../..\n"),
        file(&worktree, "gitdir", "../../../../../work/alpha/.git\n"),
        file(&project, ".git", "gitdir: ../../outside/repository/.git/worktrees/linked\n"),
    ]);
    operations.extend(captured_and_restored(&project, "src/main.rs", &content));
    operations
}

/// The user's own list of paths that git ignores, which is no ignore file of the project.
pub fn a_path_is_excluded_by_git_only(
    ProjectFile { project, path, content }: ProjectFile,
) -> Vec<Operation> {
    let mut operations = vec![
        file(&join(&project, &".git".into()), "info/exclude", "*\n"),
        write(&path, &content, false),
        checkpoint(&project),
    ];
    operations.push(Edit::Remove { path }.into());
    operations.push(restore(&project, 1, true));
    operations
}

/// A folder with a repository replaces a captured file, which is restored.
pub fn a_repository_is_in_the_way(project: &ByteString, exact: bool) -> Vec<Operation> {
    let path = join(project, &"b".into());
    vec![
        write(&path, &"1\n".into(), false),
        checkpoint(project),
        Edit::Remove { path: path.clone() }.into(),
        file(&join(&path, &".git".into()), "HEAD", "ref: refs/heads/main\n"),
        restore(project, 1, exact),
    ]
}

pub fn a_submodule_is_inside_the_project(
    ProjectFile { project, content, .. }: ProjectFile,
) -> Vec<Operation> {
    let git = join(&project, &".git/modules/nested".into());
    let mut operations = repository(&git, "[core]\n\tworktree = ../../../nested\n");
    let modules = "[submodule \"nested\"]\n\tpath = nested\n\turl = ../nested\n";
    operations.extend([
        file(&project, ".gitmodules", modules),
        Edit::Remove { path: join(&project, &"nested/.git".into()) }.into(),
        file(&project, "nested/.git", "gitdir: ../.git/modules/nested\n"),
    ]);
    operations.extend(captured_and_restored(&project, "nested/code.rs", &content));
    operations
}
