//! Tools that keep times: a file is written in place and its modification time is set back, so that neither
//! its time nor its size shows the change.
//!
//! This fragment is generated last, so that the rest of a history does not change.

use super::content::SizeLimits;
use super::idiom::{ProjectFile, checkpoint, once_in, project_file, write};
use crate::history::{Operation, Target};
use herma_model::{Edit, Request};
use proptest::prelude::*;

/// One history of so many has this fragment.
const ONE_IN: u32 = 4;

/// The last operations of a history, or none.
pub fn fragment(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    once_in(ONE_IN, idiom(limits))
}

/// A captured file is rewritten, and one of its two checkpoints is restored afterwards.
fn idiom(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    (project_file(limits), 0..2usize)
        .prop_map(|(project_file, back)| {
            let ProjectFile { project, path, .. } = project_file;
            let target = Target::Id { of: project.clone(), back, digits: 40 };
            let first = write(&path, &"1".into(), false);
            let later = write(&path, &"345".into(), false);
            let mut operations = vec![first, checkpoint(&project)];
            operations.push(Edit::Rewrite { path, content: "2".into() }.into());
            operations.push(checkpoint(&project));
            // Without this write, the older content is restored over a file of the same size and time.
            operations.extend((back == 0).then_some(later));
            operations
                .push(Request::Restore { dir: project, target, exact: false, force: false }.into());
            operations
        })
        .boxed()
}
