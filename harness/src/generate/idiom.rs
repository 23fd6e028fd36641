//! Idioms: short sequences of operations for situations that random single operations rarely produce.

use super::content::{self, SizeLimits};
use super::names;
use crate::history::{Operation, Target};
use herma_model::{ByteString, Edit, Request};
use proptest::prelude::*;
use std::fmt::Debug;

/// A path in a project, and content for a file at the path.
#[derive(Clone, Debug)]
pub struct ProjectFile {
    pub project: ByteString,
    pub path: ByteString,
    pub content: ByteString,
}

/// A generated file in a project, with a size around these limits.
pub fn project_file(limits: SizeLimits) -> BoxedStrategy<ProjectFile> {
    let project_file = (names::project(), names::file()).prop_flat_map(move |(project, file)| {
        let path = names::join(&project, &file);
        let content = content::content(&path, limits);
        (Just(project), Just(path), content)
    });
    project_file.prop_map(|(project, path, content)| ProjectFile { project, path, content }).boxed()
}

/// A generated idiom with a file size around these limits.
pub fn idiom(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    let project_file = project_file(limits);
    let idioms: [fn(ProjectFile) -> Vec<Operation>; 19] = [
        an_ignore_file_includes_excluded_files,
        an_ignore_file_is_below_the_root,
        a_repository_is_inside_the_project,
        excluded_files_are_previewed,
        a_failed_checkpoint_is_tried_again_in_its_turn,
        a_deleted_project_is_restored,
        a_file_becomes_executable,
        a_link_becomes_a_file,
        a_restore_is_undone,
        a_marker_is_in_the_home,
        a_file_is_used_as_a_project,
        a_project_is_inside_a_project,
        a_directory_becomes_a_link,
        a_file_becomes_a_link_to_another_file,
        a_file_becomes_a_link_out_of_the_project,
        an_ignore_file_is_created_and_removed,
        an_ignored_file_is_restored_alone,
        a_single_restored_file_has_an_obstacle,
        checkpoints_exceed_the_limit,
    ];
    (project_file, prop::sample::select(idioms.to_vec()))
        .prop_map(|(project_file, idiom)| idiom(project_file))
        .boxed()
}

/// Generates from the strategy in one of so many cases, and the default value in the others; 0 is never.
pub fn once_in<T>(cases: u32, strategy: impl Strategy<Value = T> + 'static) -> BoxedStrategy<T>
where
    T: Clone + Debug + Default + 'static,
{
    match cases {
        0 => Just(T::default()).boxed(),
        1 => strategy.boxed(),
        _ => prop_oneof![cases - 1 => Just(T::default()), 1 => strategy].boxed(),
    }
}

pub fn write(path: &ByteString, content: &ByteString, executable: bool) -> Operation {
    Edit::Write { path: path.clone(), content: content.clone(), executable }.into()
}

fn ensure(dir: &ByteString) -> Operation {
    Operation::Ask(Request::EnsureCheckpoint {
        dir: dir.clone(),
        reason: "before write_file".into(),
    })
}

pub fn checkpoint(dir: &ByteString) -> Operation {
    Request::Checkpoint { dir: dir.clone(), reason: "before patch".into() }.into()
}

/// A prune that only collects space, since neither age nor size is limited.
pub const PRUNE: Request<Target> =
    Request::Prune { retention_days: 0, max_total_bytes: 0, delete_orphans: true };

pub fn prune() -> Operation {
    PRUNE.into()
}

pub fn restore(dir: &ByteString, number: u32, exact: bool) -> Operation {
    Operation::Ask(Request::Restore {
        dir: dir.clone(),
        target: Target::Number(number),
        exact,
        force: false,
    })
}

/// Restores one file of the newest checkpoint.
pub fn restore_file(dir: &ByteString, path: ByteString) -> Operation {
    Request::RestoreFile { dir: dir.clone(), target: Target::Number(1), path }.into()
}

/// Restores the newest checkpoint: of four `drawn` numbers one means that file alone, and one an exact restore.
pub fn last_restore(dir: &ByteString, path: ByteString, drawn: u32) -> Operation {
    match drawn {
        0 => restore_file(dir, path),
        1 => restore(dir, 1, true),
        _ => restore(dir, 1, false),
    }
}

fn a_failed_checkpoint_is_tried_again_in_its_turn(
    ProjectFile { project, path, content }: ProjectFile,
) -> Vec<Operation> {
    vec![
        Request::NewTurn.into(),
        Edit::Remove { path: project.clone() }.into(),
        ensure(&project),
        write(&path, &content, false),
        ensure(&project),
    ]
}

fn a_deleted_project_is_restored(
    ProjectFile { project, path, content }: ProjectFile,
) -> Vec<Operation> {
    vec![
        write(&path, &content, false),
        checkpoint(&project),
        Edit::Remove { path: project.clone() }.into(),
        Request::List { dir: project.clone() }.into(),
        restore(&project, 1, false),
    ]
}

fn a_file_becomes_executable(
    ProjectFile { project, path, content }: ProjectFile,
) -> Vec<Operation> {
    vec![
        write(&path, &content, true),
        checkpoint(&project),
        write(&path, &content, false),
        restore(&project, 1, false),
    ]
}

fn a_link_becomes_a_file(ProjectFile { project, path, content }: ProjectFile) -> Vec<Operation> {
    vec![
        Edit::Link { path: path.clone(), target: "b".into() }.into(),
        checkpoint(&project),
        write(&path, &content, false),
        restore(&project, 1, false),
    ]
}

fn a_restore_is_undone(ProjectFile { project, path, content }: ProjectFile) -> Vec<Operation> {
    vec![
        checkpoint(&project),
        write(&path, &content, false),
        restore(&project, 1, true),
        restore(&project, 1, true),
    ]
}

/// Writes another file with the same content in the project.
fn write_in_project(project_file: &ProjectFile, name: &str) -> Operation {
    write(&names::join(&project_file.project, &name.into()), &project_file.content, false)
}

fn an_ignore_file_includes_excluded_files(project_file: ProjectFile) -> Vec<Operation> {
    let path = names::join(&project_file.project, &".gitignore".into());
    vec![
        write(&path, &"*.txt\n!a.txt\n!dist/\n!.env\n".into(), false),
        write_in_project(&project_file, "a.txt"),
        write_in_project(&project_file, "dist/x"),
        write_in_project(&project_file, ".env"),
        checkpoint(&project_file.project),
    ]
}

fn an_ignore_file_is_below_the_root(project_file: ProjectFile) -> Vec<Operation> {
    let path = names::join(&project_file.project, &"src/.gitignore".into());
    vec![
        write(&path, &"main.rs\n".into(), false),
        write_in_project(&project_file, "src/main.rs"),
        checkpoint(&project_file.project),
    ]
}

fn a_repository_is_inside_the_project(project_file: ProjectFile) -> Vec<Operation> {
    let files =
        ["nested/.git/HEAD", "nested/code.rs"].map(|name| write_in_project(&project_file, name));
    files.into_iter().chain([checkpoint(&project_file.project)]).collect()
}

fn excluded_files_are_previewed(project_file: ProjectFile) -> Vec<Operation> {
    let preview =
        Request::Diff { dir: project_file.project.clone(), target: Target::Number(1) }.into();
    vec![
        write_in_project(&project_file, "b"),
        write_in_project(&project_file, "node_modules/m.js"),
        checkpoint(&project_file.project),
        preview,
    ]
}

fn a_marker_is_in_the_home(ProjectFile { content, .. }: ProjectFile) -> Vec<Operation> {
    vec![
        write(&"home/Makefile".into(), &content, false),
        Request::ProjectOf { file: "~/code/main.py".into() }.into(),
    ]
}

fn a_file_is_used_as_a_project(ProjectFile { path, content, .. }: ProjectFile) -> Vec<Operation> {
    vec![write(&path, &content, false), checkpoint(&path), ensure(&path)]
}

fn a_project_is_inside_a_project(
    ProjectFile { project, content, .. }: ProjectFile,
) -> Vec<Operation> {
    let inner = |name: &str| names::join(&project, &name.into());
    vec![
        write(&inner("sub/package.json"), &content, false),
        Request::ProjectOf { file: inner("sub/deep/er/x") }.into(),
    ]
}

fn a_directory_becomes_a_link(ProjectFile { project, content, .. }: ProjectFile) -> Vec<Operation> {
    let directory = names::join(&project, &"b".into());
    let inner = ByteString::from("b/c");
    vec![
        write(&names::join(&project, &inner), &content, false),
        checkpoint(&project),
        Edit::Link { path: directory, target: "../../outside".into() }.into(),
        restore_file(&project, inner),
        restore(&project, 1, false),
    ]
}

fn a_file_becomes_a_link(project_file: &ProjectFile, target: &str) -> Vec<Operation> {
    let dir = project_file.project.clone();
    let path = names::join(&project_file.project, &"a.txt".into());
    let link = Edit::Link { path: path.clone(), target: target.into() };
    vec![
        write_in_project(project_file, "b"),
        write(&path, &"as it was\n".into(), false),
        checkpoint(&dir),
        link.clone().into(),
        restore_file(&dir, "a.txt".into()),
        link.into(),
        restore(&project_file.project, 1, false),
    ]
}

fn a_file_becomes_a_link_to_another_file(project_file: ProjectFile) -> Vec<Operation> {
    a_file_becomes_a_link(&project_file, "b")
}

fn a_file_becomes_a_link_out_of_the_project(project_file: ProjectFile) -> Vec<Operation> {
    a_file_becomes_a_link(&project_file, "../../outside/secret.txt")
}

fn an_ignore_file_is_created_and_removed(
    ProjectFile { project, content, .. }: ProjectFile,
) -> Vec<Operation> {
    let path = |name: &str| names::join(&project, &name.into());
    let ignored = path("a.txt");
    let ignore_file = path(".gitignore");
    vec![
        write(&path("b"), &content, false),
        Edit::Remove { path: ignored.clone() }.into(),
        Edit::Remove { path: ignore_file.clone() }.into(),
        checkpoint(&project),
        write(&ignore_file, &"*.txt\n".into(), false),
        write(&ignored, &content, false),
        restore(&project, 1, true),
    ]
}

fn an_ignored_file_is_restored_alone(
    ProjectFile { project, content, .. }: ProjectFile,
) -> Vec<Operation> {
    let path = |name: &str| names::join(&project, &name.into());
    vec![
        write(&path("a.txt"), &"as it was\n".into(), false),
        checkpoint(&project),
        write(&path(".gitignore"), &"*.txt\n".into(), false),
        write(&path("a.txt"), &content, false),
        restore_file(&project, "a.txt".into()),
    ]
}

fn a_single_restored_file_has_an_obstacle(
    ProjectFile { project, content, .. }: ProjectFile,
) -> Vec<Operation> {
    let path = |name: &str| names::join(&project, &name.into());
    vec![
        write(&path("b/c"), &content, false),
        checkpoint(&project),
        Edit::Remove { path: path("b") }.into(),
        write(&path("b"), &content, false),
        restore_file(&project, "b/c".into()),
    ]
}

fn checkpoints_exceed_the_limit(
    ProjectFile { project, path, content }: ProjectFile,
) -> Vec<Operation> {
    let takes = |text: &str| [write(&path, &text.into(), false), checkpoint(&project)];
    let first = [write(&path, &content, false), checkpoint(&project)];
    let more = ["two\n", "three\n", "four\n", "five\n", "six\n"].map(takes);
    first.into_iter().chain(more.into_iter().flatten()).collect()
}
