//! Fragments with plain `git gc` in the store. After it, objects and refs are packed when requests read
//! them and when a history damages them.
//!
//! These fragments are generated separately, for some histories only, so that all other histories do not
//! change.

use super::content::SizeLimits;
use super::damage::{follow_up, idiom};
use super::idiom::once_in;
use crate::history::{Event, Operation, StoreEvent};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// One history of so many has such fragments.
const ONE_IN: u32 = 6;

/// A few fragments, each with its position in the history. With `damages` some of them damage packed objects.
pub fn fragments(limits: SizeLimits, damages: bool) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let single = follow_up().prop_map(|follow_up| vec![collected(), follow_up]).boxed();
    let fragment = match damages {
        true => prop_oneof![3 => single, 2 => idiom(limits).prop_map(packed)].boxed(),
        false => single,
    };
    let fragments = vec((any::<Index>(), fragment), 1..=3).boxed();
    once_in(ONE_IN, fragments)
}

fn collected() -> Operation {
    Event::Store(StoreEvent::Collected).into()
}

/// The same operations with a `git gc` before the damage, so that it affects a pack.
fn packed(mut operations: Vec<Operation>) -> Vec<Operation> {
    let at = operations.iter().position(damages).unwrap_or_default();
    operations.insert(at, collected());
    operations
}

/// Whether an operation damages a stored object.
pub fn damages(operation: &Operation) -> bool {
    matches!(operation, Operation::Event(Event::Store(StoreEvent::Stored { .. })))
}
