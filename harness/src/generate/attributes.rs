//! What histories do to files beside what they hold: permissions and other names; and projects that
//! git laid out.
//!
//! It comes on top of what else is drawn, in some histories, and leaves the others as they are.

use super::content::Sizes;
use super::idiom::{Place, checkpoint, once_in, place, restore, write};
use super::operation::path_in_project;
use super::{names, repositories};
use crate::history::Operation;
use herma_model::{ByteString, Edit};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Of so many histories one has any of this.
const ONE_IN: u32 = 4;

/// A few fragments, each with the place in a history where it is to stand.
pub fn fragments(sizes: Sizes) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let single = |operation: BoxedStrategy<Operation>| operation.prop_map(|one| vec![one]);
    let file = names::file();
    let fragment = prop_oneof![
        2 => single(permissions(&file)),
        2 => single(hard_link(&file)),
        7 => idiom(sizes),
    ];
    let some = prop::collection::vec((any::<Index>(), fragment), 1..=4).boxed();
    once_in(ONE_IN, some)
}

/// The history with these fragments in it.
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

fn idiom(sizes: Sizes) -> BoxedStrategy<Vec<Operation>> {
    let idioms: [fn(Place) -> Vec<Operation>; 7] = [
        a_private_file_comes_back,
        a_file_became_private,
        a_file_has_another_name_outside,
        a_file_has_another_name_inside,
        repositories::a_checkout_is_sparse,
        repositories::a_worktree_is_linked,
        repositories::a_submodule_stands_in_the_project,
    ];
    (place(sizes), select(idioms.to_vec())).prop_map(|(place, idiom)| idiom(place)).boxed()
}

/// The owner may always read and write: otherwise what comes of it would depend on who runs this.
fn permissions(file: &BoxedStrategy<ByteString>) -> BoxedStrategy<Operation> {
    const BITS: &[u32] = &[0o600, 0o600, 0o640, 0o644, 0o664, 0o666, 0o700, 0o750];
    (path_in_project(file), select(BITS))
        .prop_map(|(path, bits)| Operation::Edit(Edit::SetPermissions { path, bits }))
        .boxed()
}

/// Mostly within a project; then of a file that no restore may change.
fn hard_link(file: &BoxedStrategy<ByteString>) -> BoxedStrategy<Operation> {
    const OUTSIDE: &[&str] = &["outside/secret.txt", "home/code/main.py", "work/alpha/.git/HEAD"];
    let outside = select(OUTSIDE).prop_map(ByteString::from);
    let other = prop_oneof![2 => path_in_project(file), 1 => outside];
    (path_in_project(file), other)
        .prop_map(|(path, to)| Operation::Edit(Edit::HardLink { path, to }))
        .boxed()
}

fn a_private_file_comes_back((project, path, content): Place) -> Vec<Operation> {
    vec![
        write(&path, &content, false),
        Edit::SetPermissions { path: path.clone(), bits: 0o600 }.into(),
        checkpoint(&project),
        Edit::Remove { path }.into(),
        restore(&project, 1, false),
    ]
}

fn a_file_became_private((project, path, content): Place) -> Vec<Operation> {
    vec![
        write(&path, &content, false),
        checkpoint(&project),
        write(&path, &"a secret\n".into(), false),
        Edit::SetPermissions { path, bits: 0o600 }.into(),
        restore(&project, 1, false),
    ]
}

fn a_file_has_another_name_outside((project, path, content): Place) -> Vec<Operation> {
    vec![
        write(&path, &content, false),
        checkpoint(&project),
        Edit::HardLink { path, to: "outside/secret.txt".into() }.into(),
        restore(&project, 1, false),
    ]
}

fn a_file_has_another_name_inside(place: Place) -> Vec<Operation> {
    let (project, path, content) = &place;
    let other = names::join(project, &"b".into());
    vec![
        write(path, content, false),
        checkpoint(project),
        write(&other, &"another\n".into(), false),
        Edit::HardLink { path: path.clone(), to: other }.into(),
        restore(project, 1, false),
    ]
}
