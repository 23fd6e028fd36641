//! Tools that keep times: a file is written where it stands and its time of modification set back, so
//! that neither that time nor its size says that it changed.
//!
//! It comes after what else is drawn, and leaves all of that as it is.

use super::content::Sizes;
use super::idiom::{checkpoint, once_in, place, write};
use crate::history::{Operation, Target};
use herma_model::{Edit, Request};
use proptest::prelude::*;

/// Of so many histories one has any of this.
const ONE_IN: u32 = 4;

/// What comes last in a history, or nothing.
pub fn fragment(sizes: Sizes) -> BoxedStrategy<Vec<Operation>> {
    once_in(ONE_IN, idiom(sizes))
}

/// A captured file is rewritten, and each of its two contents may be asked for afterwards.
fn idiom(sizes: Sizes) -> BoxedStrategy<Vec<Operation>> {
    (place(sizes), 0..2usize)
        .prop_map(|((project, path, _), back)| {
            let target = Target::Id { of: project.clone(), back, digits: 40 };
            let [one, other] = ["1", "345"].map(|content| write(&path, &content.into(), false));
            let mut all = vec![one, checkpoint(&project)];
            all.push(Edit::Rewrite { path, content: "2".into() }.into());
            all.push(checkpoint(&project));
            // Without it the older content comes back over a file of the same size and time.
            all.extend((back == 0).then_some(other));
            all.push(Request::Restore { dir: project, target, exact: false, force: false }.into());
            all
        })
        .boxed()
}
