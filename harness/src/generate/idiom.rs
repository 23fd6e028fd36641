//! Idioms: short runs of operations that belong together, for situations that random single
//! operations rarely produce.

use super::content::{self, Sizes};
use super::names;
use crate::history::{Operation, Target};
use herma_model::{ByteString, Edit, Request};
use proptest::prelude::*;
use std::fmt::Debug;

/// A project, a path in it and a content for it.
pub type Place = (ByteString, ByteString, ByteString);

/// A place of an idiom, with a file of about these sizes.
pub fn place(sizes: Sizes) -> BoxedStrategy<Place> {
    let place = (names::project(), names::file()).prop_flat_map(move |(project, file)| {
        let path = names::join(&project, &file);
        let content = content::content(&path, sizes);
        (Just(project), Just(path), content)
    });
    place.boxed()
}

/// One idiom, drawn with a file of about these sizes.
pub fn idiom(sizes: Sizes) -> BoxedStrategy<Vec<Operation>> {
    let place = place(sizes);
    let idioms: [fn(Place) -> Vec<Operation>; 19] = [
        an_ignore_file_takes_back_what_is_left_out,
        an_ignore_file_stands_below_the_root,
        a_repository_stands_in_the_project,
        what_is_left_out_is_previewed,
        an_attempt_fails_and_the_turn_goes_on,
        a_project_is_deleted_and_comes_back,
        a_file_becomes_executable,
        a_link_becomes_a_file,
        a_rollback_is_undone,
        a_marker_stands_in_the_home,
        a_file_is_given_for_a_project,
        a_project_lies_in_a_project,
        a_directory_becomes_a_link,
        a_file_becomes_a_link_to_another,
        a_file_becomes_a_link_out_of_the_project,
        an_ignore_file_goes,
        a_file_is_ignored_and_asked_for_alone,
        something_is_in_the_way_of_one_file,
        work_goes_on_beyond_the_limit,
    ];
    (place, prop::sample::select(idioms.to_vec())).prop_map(|(place, idiom)| idiom(place)).boxed()
}

/// One of these in one case of so many, and nothing in the others; never for 0.
pub fn once_in<T>(cases: u32, some: impl Strategy<Value = T> + 'static) -> BoxedStrategy<T>
where
    T: Clone + Debug + Default + 'static,
{
    match cases {
        0 => Just(T::default()).boxed(),
        1 => some.boxed(),
        _ => prop_oneof![cases - 1 => Just(T::default()), 1 => some].boxed(),
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

/// Frees space, where nothing else is due.
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

fn an_attempt_fails_and_the_turn_goes_on((project, path, content): Place) -> Vec<Operation> {
    vec![
        Request::NewTurn.into(),
        Edit::Remove { path: project.clone() }.into(),
        ensure(&project),
        write(&path, &content, false),
        ensure(&project),
    ]
}

fn a_project_is_deleted_and_comes_back((project, path, content): Place) -> Vec<Operation> {
    vec![
        write(&path, &content, false),
        checkpoint(&project),
        Edit::Remove { path: project.clone() }.into(),
        Request::List { dir: project.clone() }.into(),
        restore(&project, 1, false),
    ]
}

fn a_file_becomes_executable((project, path, content): Place) -> Vec<Operation> {
    vec![
        write(&path, &content, true),
        checkpoint(&project),
        write(&path, &content, false),
        restore(&project, 1, false),
    ]
}

fn a_link_becomes_a_file((project, path, content): Place) -> Vec<Operation> {
    vec![
        Edit::Link { path: path.clone(), target: "b".into() }.into(),
        checkpoint(&project),
        write(&path, &content, false),
        restore(&project, 1, false),
    ]
}

fn a_rollback_is_undone((project, path, content): Place) -> Vec<Operation> {
    vec![
        checkpoint(&project),
        write(&path, &content, false),
        restore(&project, 1, true),
        restore(&project, 1, true),
    ]
}

/// A file with the same content in the project of a place.
fn beside((project, _, content): &Place, name: &str) -> Operation {
    write(&names::join(project, &name.into()), content, false)
}

fn an_ignore_file_takes_back_what_is_left_out(place: Place) -> Vec<Operation> {
    let path = names::join(&place.0, &".gitignore".into());
    vec![
        write(&path, &"*.txt\n!a.txt\n!dist/\n!.env\n".into(), false),
        beside(&place, "a.txt"),
        beside(&place, "dist/x"),
        beside(&place, ".env"),
        checkpoint(&place.0),
    ]
}

fn an_ignore_file_stands_below_the_root(place: Place) -> Vec<Operation> {
    let path = names::join(&place.0, &"src/.gitignore".into());
    vec![
        write(&path, &"main.rs\n".into(), false),
        beside(&place, "src/main.rs"),
        checkpoint(&place.0),
    ]
}

fn a_repository_stands_in_the_project(place: Place) -> Vec<Operation> {
    let files = ["nested/.git/HEAD", "nested/code.rs"].map(|name| beside(&place, name));
    files.into_iter().chain([checkpoint(&place.0)]).collect()
}

fn what_is_left_out_is_previewed(place: Place) -> Vec<Operation> {
    let previews = Request::Diff { dir: place.0.clone(), target: Target::Number(1) }.into();
    vec![beside(&place, "b"), beside(&place, "node_modules/m.js"), checkpoint(&place.0), previews]
}

fn a_marker_stands_in_the_home((_, _, content): Place) -> Vec<Operation> {
    vec![
        write(&"home/Makefile".into(), &content, false),
        Request::ProjectOf { file: "~/code/main.py".into() }.into(),
    ]
}

fn a_file_is_given_for_a_project((_, path, content): Place) -> Vec<Operation> {
    vec![write(&path, &content, false), checkpoint(&path), ensure(&path)]
}

fn a_project_lies_in_a_project((project, _, content): Place) -> Vec<Operation> {
    let inner = |name: &str| names::join(&project, &name.into());
    vec![
        write(&inner("sub/package.json"), &content, false),
        Request::ProjectOf { file: inner("sub/deep/er/x") }.into(),
    ]
}

fn a_directory_becomes_a_link((project, _, content): Place) -> Vec<Operation> {
    let (directory, inner) = (names::join(&project, &"b".into()), ByteString::from("b/c"));
    let target = Target::Number(1);
    vec![
        write(&names::join(&project, &inner), &content, false),
        checkpoint(&project),
        Edit::Link { path: directory, target: "../../outside".into() }.into(),
        Request::RestoreFile { dir: project.clone(), target, path: inner }.into(),
        restore(&project, 1, false),
    ]
}

fn a_file_becomes_a_link(place: &Place, target: &str) -> Vec<Operation> {
    let (dir, path) = (place.0.clone(), names::join(&place.0, &"a.txt".into()));
    let link = Edit::Link { path: path.clone(), target: target.into() };
    vec![
        beside(place, "b"),
        write(&path, &"as it was\n".into(), false),
        checkpoint(&dir),
        link.clone().into(),
        Request::RestoreFile { dir, target: Target::Number(1), path: "a.txt".into() }.into(),
        link.into(),
        restore(&place.0, 1, false),
    ]
}

fn a_file_becomes_a_link_to_another(place: Place) -> Vec<Operation> {
    a_file_becomes_a_link(&place, "b")
}

fn a_file_becomes_a_link_out_of_the_project(place: Place) -> Vec<Operation> {
    a_file_becomes_a_link(&place, "../../outside/secret.txt")
}

fn an_ignore_file_goes((project, _, content): Place) -> Vec<Operation> {
    let path = |name: &str| names::join(&project, &name.into());
    let (ignored, ignores) = (path("a.txt"), path(".gitignore"));
    vec![
        write(&path("b"), &content, false),
        Edit::Remove { path: ignored.clone() }.into(),
        Edit::Remove { path: ignores.clone() }.into(),
        checkpoint(&project),
        write(&ignores, &"*.txt\n".into(), false),
        write(&ignored, &content, false),
        restore(&project, 1, true),
    ]
}

fn a_file_is_ignored_and_asked_for_alone((project, _, content): Place) -> Vec<Operation> {
    let path = |name: &str| names::join(&project, &name.into());
    let (dir, target) = (project.clone(), Target::Number(1));
    vec![
        write(&path("a.txt"), &"as it was\n".into(), false),
        checkpoint(&project),
        write(&path(".gitignore"), &"*.txt\n".into(), false),
        write(&path("a.txt"), &content, false),
        Request::RestoreFile { dir, target, path: "a.txt".into() }.into(),
    ]
}

fn something_is_in_the_way_of_one_file((project, _, content): Place) -> Vec<Operation> {
    let path = |name: &str| names::join(&project, &name.into());
    let (dir, target) = (project.clone(), Target::Number(1));
    vec![
        write(&path("b/c"), &content, false),
        checkpoint(&project),
        Edit::Remove { path: path("b") }.into(),
        write(&path("b"), &content, false),
        Request::RestoreFile { dir, target, path: "b/c".into() }.into(),
    ]
}

fn work_goes_on_beyond_the_limit((project, path, content): Place) -> Vec<Operation> {
    let takes = |text: &str| [write(&path, &text.into(), false), checkpoint(&project)];
    let first = [write(&path, &content, false), checkpoint(&project)];
    let more = ["two\n", "three\n", "four\n", "five\n", "six\n"].map(takes);
    first.into_iter().chain(more.into_iter().flatten()).collect()
}
