//! Somebody runs plain `git gc` in the store: objects and refs are packed from then on, for whoever
//! reads them, and for who loses them.
//!
//! It comes on top of what else is drawn, and leaves other histories as they are.

use super::content::Sizes;
use super::damage::{followed, idiom};
use super::idiom::once_in;
use crate::history::{Event, Operation, StoreEvent};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// Of so many histories one has any of this.
const ONE_IN: u32 = 6;

/// A few fragments, each with the place in a history where it is to stand; with `damages` what is
/// packed is also lost.
pub fn fragments(sizes: Sizes, damages: bool) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let single = followed().prop_map(|next| vec![collected(), next]).boxed();
    let fragment = match damages {
        true => prop_oneof![3 => single, 2 => idiom(sizes).prop_map(packed)].boxed(),
        false => single,
    };
    let some = vec((any::<Index>(), fragment), 1..=3).boxed();
    once_in(ONE_IN, some)
}

fn collected() -> Operation {
    Event::Store(StoreEvent::Collected).into()
}

/// The same with what is damaged in a pack.
fn packed(mut operations: Vec<Operation>) -> Vec<Operation> {
    let at = operations.iter().position(damages).unwrap_or_default();
    operations.insert(at, collected());
    operations
}

/// Whether something that is stored is damaged.
pub fn damages(operation: &Operation) -> bool {
    matches!(operation, Operation::Event(Event::Store(StoreEvent::Stored { .. })))
}
