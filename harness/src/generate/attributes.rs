//! Attributes of files besides their content: permissions and hard links; and projects in git layouts.
//!
//! These fragments are generated separately, for some histories only, so that all other histories do not
//! change.

use super::content::SizeLimits;
use super::idiom::{ProjectFile, checkpoint, once_in, project_file, restore, write};
use super::operation::path_in_project;
use super::{names, repositories};
use crate::history::Operation;
use herma_model::{ByteString, Edit};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// One history of so many has such fragments.
const ONE_IN: u32 = 4;

/// A few fragments, each with its position in the history.
pub fn fragments(limits: SizeLimits) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let single =
        |operation: BoxedStrategy<Operation>| operation.prop_map(|operation| vec![operation]);
    let file = names::file();
    let fragment = prop_oneof![
        2 => single(permissions(&file)),
        2 => single(hard_link(&file)),
        7 => idiom(limits),
    ];
    let fragments = prop::collection::vec((any::<Index>(), fragment), 1..=4).boxed();
    once_in(ONE_IN, fragments)
}

/// The operations with fragments inserted at their positions.
pub fn among(
    mut operations: Vec<Operation>,
    fragments: Vec<(Index, Vec<Operation>)>,
) -> Vec<Operation> {
    for (index, fragment) in fragments {
        let at = index.index(operations.len() + 1);
        operations.splice(at..at, fragment);
    }
    operations
}

fn idiom(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    let idioms: [fn(ProjectFile) -> Vec<Operation>; 7] = [
        a_private_file_is_restored,
        a_file_became_private,
        a_file_is_hard_linked_outside,
        a_file_is_hard_linked_inside,
        repositories::a_checkout_is_sparse,
        repositories::a_worktree_is_linked,
        repositories::a_submodule_is_inside_the_project,
    ];
    (project_file(limits), select(idioms.to_vec()))
        .prop_map(|(project_file, idiom)| idiom(project_file))
        .boxed()
}

/// The owner may always read and write; otherwise the result would depend on the user who runs this.
fn permissions(file: &BoxedStrategy<ByteString>) -> BoxedStrategy<Operation> {
    const BITS: &[u32] = &[0o600, 0o600, 0o640, 0o644, 0o664, 0o666, 0o700, 0o750];
    (path_in_project(file), select(BITS))
        .prop_map(|(path, bits)| Operation::Edit(Edit::SetPermissions { path, bits }))
        .boxed()
}

/// Mostly within a project, sometimes to a file that no restore may change.
fn hard_link(file: &BoxedStrategy<ByteString>) -> BoxedStrategy<Operation> {
    const OUTSIDE: &[&str] = &["outside/secret.txt", "home/code/main.py", "work/alpha/.git/HEAD"];
    let outside = select(OUTSIDE).prop_map(ByteString::from);
    let linked_to = prop_oneof![2 => path_in_project(file), 1 => outside];
    (path_in_project(file), linked_to)
        .prop_map(|(path, to)| Operation::Edit(Edit::HardLink { path, to }))
        .boxed()
}

fn a_private_file_is_restored(
    ProjectFile { project, path, content }: ProjectFile,
) -> Vec<Operation> {
    vec![
        write(&path, &content, false),
        Edit::SetPermissions { path: path.clone(), bits: 0o600 }.into(),
        checkpoint(&project),
        Edit::Remove { path }.into(),
        restore(&project, 1, false),
    ]
}

fn a_file_became_private(ProjectFile { project, path, content }: ProjectFile) -> Vec<Operation> {
    vec![
        write(&path, &content, false),
        checkpoint(&project),
        write(&path, &"a secret\n".into(), false),
        Edit::SetPermissions { path, bits: 0o600 }.into(),
        restore(&project, 1, false),
    ]
}

fn a_file_is_hard_linked_outside(
    ProjectFile { project, path, content }: ProjectFile,
) -> Vec<Operation> {
    vec![
        write(&path, &content, false),
        checkpoint(&project),
        Edit::HardLink { path, to: "outside/secret.txt".into() }.into(),
        restore(&project, 1, false),
    ]
}

fn a_file_is_hard_linked_inside(project_file: ProjectFile) -> Vec<Operation> {
    let ProjectFile { project, path, content } = &project_file;
    let linked_to = names::join(project, &"b".into());
    vec![
        write(path, content, false),
        checkpoint(project),
        write(&linked_to, &"another\n".into(), false),
        Edit::HardLink { path: path.clone(), to: linked_to }.into(),
        restore(project, 1, false),
    ]
}
