//! Attribution: files written by tools of the agent, external edits of files, and restores that must
//! distinguish the two.
//!
//! Only subjects to which tools report their writes get these fragments. They are generated separately, so
//! that the histories of other subjects do not change.

use super::content::SizeLimits;
use super::idiom::{ProjectFile, checkpoint, once_in, project_file, restore, write};
use super::names;
use super::operation::path_in_project;
use crate::history::Operation;
use herma_model::{ByteString, Edit, Request, bytes};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// One history of so many has such fragments.
const ONE_IN: u32 = 4;

/// A few fragments, each with its position in the history.
pub fn fragments(limits: SizeLimits) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let single = (project_file(limits), any::<bool>()).prop_map(|(project_file, begins)| {
        let ProjectFile { project, path, .. } = project_file;
        vec![if begins { tool_begins(&project, &path) } else { tool_ends(&project, &path) }]
    });
    let removed =
        (names::project(), path_in_project(&names::file())).prop_map(|(project, path)| {
            edit_by_agent(&project, &path, Edit::Remove { path: path.clone() })
        });
    let fragment = prop_oneof![2 => single, 1 => removed, 4 => idiom(limits)];
    let fragments = prop::collection::vec((any::<Index>(), fragment), 1..=4).boxed();
    once_in(ONE_IN, fragments)
}

fn idiom(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    let idioms: [fn(ProjectFile) -> Vec<Operation>; 5] = [
        the_agent_writes_a_file,
        an_external_edit_comes_before_the_agent,
        an_external_edit_comes_after_the_agent,
        an_external_file_is_created_alongside,
        a_restore_is_not_an_external_edit,
    ];
    (project_file(limits), select(idioms.to_vec()))
        .prop_map(|(project_file, idiom)| idiom(project_file))
        .boxed()
}

/// The path relative to the project, as a tool names it.
fn relative(project: &ByteString, path: &ByteString) -> ByteString {
    bytes::below(project, path).map_or_else(|| path.clone(), ByteString::from)
}

fn tool_begins(project: &ByteString, path: &ByteString) -> Operation {
    Request::ToolWrites { dir: project.clone(), path: relative(project, path) }.into()
}

fn tool_ends(project: &ByteString, path: &ByteString) -> Operation {
    Request::ToolWrote { dir: project.clone(), path: relative(project, path) }.into()
}

/// A tool of the agent makes this edit.
fn edit_by_agent(project: &ByteString, path: &ByteString, edit: Edit) -> Vec<Operation> {
    vec![tool_begins(project, path), edit.into(), tool_ends(project, path)]
}

fn write_by_agent(project: &ByteString, path: &ByteString, content: &str) -> Vec<Operation> {
    let edit = Edit::Write { path: path.clone(), content: content.into(), executable: false };
    edit_by_agent(project, path, edit)
}

fn the_agent_writes_a_file(ProjectFile { project, path, content }: ProjectFile) -> Vec<Operation> {
    let mut operations = vec![write(&path, &content, false), checkpoint(&project)];
    operations.extend(write_by_agent(&project, &path, "by the agent\n"));
    operations.push(restore(&project, 1, false));
    operations
}

fn an_external_edit_comes_before_the_agent(
    ProjectFile { project, path, content }: ProjectFile,
) -> Vec<Operation> {
    let mut operations = vec![write(&path, &content, false), checkpoint(&project)];
    operations.push(write(&path, &"by somebody\n".into(), false));
    operations.extend(write_by_agent(&project, &path, "by the agent\n"));
    operations.push(restore(&project, 1, false));
    operations
}

fn an_external_edit_comes_after_the_agent(
    ProjectFile { project, path, content }: ProjectFile,
) -> Vec<Operation> {
    let mut operations = vec![write(&path, &content, false), checkpoint(&project)];
    operations.extend(write_by_agent(&project, &path, "by the agent\n"));
    operations.push(write(&path, &"by somebody\n".into(), false));
    operations.push(restore(&project, 1, false));
    operations
}

fn an_external_file_is_created_alongside(
    ProjectFile { project, path, content }: ProjectFile,
) -> Vec<Operation> {
    let by_agent = names::join(&project, &"by-agent".into());
    let by_user = names::join(&project, &"by-somebody".into());
    let mut operations = vec![write(&path, &content, false), checkpoint(&project)];
    operations.extend(write_by_agent(&project, &by_agent, "new\n"));
    operations.push(write(&by_user, &"new\n".into(), false));
    operations.push(restore(&project, 1, true));
    operations
}

fn a_restore_is_not_an_external_edit(
    ProjectFile { project, path, content }: ProjectFile,
) -> Vec<Operation> {
    let mut operations = vec![write(&path, &content, false), checkpoint(&project)];
    operations.extend(write_by_agent(&project, &path, "by the agent\n"));
    operations.push(checkpoint(&project));
    operations.push(restore(&project, 2, false));
    operations.push(restore(&project, 2, false));
    operations
}
