//! Tools of the agent that write files, beside those who edit them anyway, and restores that must
//! tell the two apart.
//!
//! It comes on top of what else is drawn, for subjects that are told, and leaves other histories as
//! they are.

use super::content::Sizes;
use super::idiom::{Place, checkpoint, once_in, place, restore, write};
use super::names;
use super::operation::path_in_project;
use crate::history::Operation;
use herma_model::{ByteString, Edit, Request, bytes};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Of so many histories one has any of this.
const ONE_IN: u32 = 4;

/// A few fragments, each with the place in a history where it is to stand.
pub fn fragments(sizes: Sizes) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let single = (place(sizes), any::<bool>()).prop_map(|((project, path, _), begins)| {
        vec![if begins { begins_in(&project, &path) } else { ends_in(&project, &path) }]
    });
    let removed =
        (names::project(), path_in_project(&names::file())).prop_map(|(project, path)| {
            the_agent(&project, &path, Edit::Remove { path: path.clone() })
        });
    let fragment = prop_oneof![2 => single, 1 => removed, 4 => idiom(sizes)];
    let some = prop::collection::vec((any::<Index>(), fragment), 1..=4).boxed();
    once_in(ONE_IN, some)
}

fn idiom(sizes: Sizes) -> BoxedStrategy<Vec<Operation>> {
    let idioms: [fn(Place) -> Vec<Operation>; 5] = [
        the_agent_wrote,
        somebody_wrote_before_the_agent,
        somebody_wrote_after_the_agent,
        somebody_made_a_file_beside,
        a_rollback_is_nobody_elses,
    ];
    (place(sizes), select(idioms.to_vec())).prop_map(|(place, idiom)| idiom(place)).boxed()
}

/// The path as a tool names it.
fn relative(project: &ByteString, path: &ByteString) -> ByteString {
    bytes::below(project, path).map_or_else(|| path.clone(), ByteString::from)
}

fn begins_in(project: &ByteString, path: &ByteString) -> Operation {
    Request::ToolWrites { dir: project.clone(), path: relative(project, path) }.into()
}

fn ends_in(project: &ByteString, path: &ByteString) -> Operation {
    Request::ToolWrote { dir: project.clone(), path: relative(project, path) }.into()
}

/// A tool of the agent makes this edit.
fn the_agent(project: &ByteString, path: &ByteString, edit: Edit) -> Vec<Operation> {
    vec![begins_in(project, path), edit.into(), ends_in(project, path)]
}

fn the_agent_writes(project: &ByteString, path: &ByteString, content: &str) -> Vec<Operation> {
    let edit = Edit::Write { path: path.clone(), content: content.into(), executable: false };
    the_agent(project, path, edit)
}

fn the_agent_wrote((project, path, content): Place) -> Vec<Operation> {
    let mut all = vec![write(&path, &content, false), checkpoint(&project)];
    all.extend(the_agent_writes(&project, &path, "by the agent\n"));
    all.push(restore(&project, 1, false));
    all
}

fn somebody_wrote_before_the_agent((project, path, content): Place) -> Vec<Operation> {
    let mut all = vec![write(&path, &content, false), checkpoint(&project)];
    all.push(write(&path, &"by somebody\n".into(), false));
    all.extend(the_agent_writes(&project, &path, "by the agent\n"));
    all.push(restore(&project, 1, false));
    all
}

fn somebody_wrote_after_the_agent((project, path, content): Place) -> Vec<Operation> {
    let mut all = vec![write(&path, &content, false), checkpoint(&project)];
    all.extend(the_agent_writes(&project, &path, "by the agent\n"));
    all.push(write(&path, &"by somebody\n".into(), false));
    all.push(restore(&project, 1, false));
    all
}

fn somebody_made_a_file_beside((project, path, content): Place) -> Vec<Operation> {
    let (one, other) = ("by-agent", "by-somebody");
    let [one, other] = [one, other].map(|name| names::join(&project, &name.into()));
    let mut all = vec![write(&path, &content, false), checkpoint(&project)];
    all.extend(the_agent_writes(&project, &one, "new\n"));
    all.push(write(&other, &"new\n".into(), false));
    all.push(restore(&project, 1, true));
    all
}

fn a_rollback_is_nobody_elses((project, path, content): Place) -> Vec<Operation> {
    let mut all = vec![write(&path, &content, false), checkpoint(&project)];
    all.extend(the_agent_writes(&project, &path, "by the agent\n"));
    all.push(checkpoint(&project));
    all.push(restore(&project, 2, false));
    all.push(restore(&project, 2, false));
    all
}
