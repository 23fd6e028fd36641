//! Damage to what is stored: an object, a ref or the head of the store, and what shows what that costs.
//!
//! It is rare, since what is damaged leaves less to be said of everything else: one in four histories
//! has any, and there a damage is followed by something that needs what may be lost, or must not. It
//! comes on top of what else is drawn, and leaves other histories as they are.

use super::content::Sizes;
use super::idiom::{self, checkpoint, once_in, prune, restore, write};
use super::names;
use crate::history::{Event, Operation, StoreEvent, Target};
use herma_model::store_edit::{Damage, StoreFile};
use herma_model::{ByteString, Edit, Piece, Request};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Of so many histories one has any of this.
const ONE_IN: u32 = 4;
/// Shown by a prune after what a damaged pack names was stored again beside it.
const STORED_AGAIN: usize = 4;

/// A few fragments, each with the place in a history where it is to stand.
pub fn fragments(sizes: Sizes) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let single = (stored(), followed()).prop_map(|(event, next)| vec![event, next]);
    let fragment = prop_oneof![2 => single, 3 => idiom(sizes)];
    let some = prop::collection::vec((any::<Index>(), fragment), 1..=6).boxed();
    once_in(ONE_IN, some)
}

/// What becomes of a file of the store, but for what may be believed.
pub fn damage() -> BoxedStrategy<Damage> {
    select(Damage::ALL.to_vec()).boxed()
}

fn event(event: StoreEvent) -> Operation {
    Event::Store(event).into()
}

/// Something is damaged that may be there.
fn stored() -> BoxedStrategy<Operation> {
    let piece = prop_oneof![
        3 => names::file().prop_map(Piece::File),
        1 => select(vec!["", "b", "src"]).prop_map(|path| Piece::Folder(path.into())),
        1 => Just(Piece::Checkpoint),
        1 => Just(Piece::PackIndex),
    ];
    let stored = (names::project(), 0..3usize, piece, damage())
        .prop_map(|(dir, back, piece, damage)| StoreEvent::Stored { dir, back, piece, damage });
    let named =
        (names::project(), damage()).prop_map(|(dir, damage)| StoreEvent::Ref { dir, damage });
    let index =
        (names::project(), damage()).prop_map(|(dir, damage)| StoreEvent::Index { dir, damage });
    let metadata =
        (names::project(), damage()).prop_map(|(dir, damage)| StoreEvent::Metadata { dir, damage });
    let file = (select(StoreFile::ALL.to_vec()), damage())
        .prop_map(|(file, damage)| StoreEvent::File { file, damage });
    prop_oneof![8 => stored, 2 => named, 1 => index, 1 => metadata, 2 => file]
        .prop_map(event)
        .boxed()
}

/// What shows what a damage costs.
pub fn followed() -> BoxedStrategy<Operation> {
    let list = names::project().prop_map(|dir| Request::List { dir }.into());
    let take = names::project().prop_map(|dir| checkpoint(&dir));
    let back = (names::project(), 0..3usize, any::<bool>())
        .prop_map(|(dir, back, exact)| restore_of(&dir, back, exact));
    prop_oneof![3 => list, 3 => take, 3 => back, 1 => Just(prune())].boxed()
}

/// A restore that means the same checkpoint whatever a list leaves out.
fn restore_of(dir: &ByteString, back: usize, exact: bool) -> Operation {
    let target = Target::Id { of: dir.clone(), back, digits: 40 };
    Request::Restore { dir: dir.clone(), target, exact, force: false }.into()
}

/// A checkpoint is damaged for sure, and shown.
pub fn idiom(sizes: Sizes) -> BoxedStrategy<Vec<Operation>> {
    let what = (0..5usize, 0..2usize, damage());
    (idiom::place(sizes), what, 0..5usize)
        .prop_map(|((dir, path, content), (piece, back, damage), shown)| {
            let take_back = [Edit::Remove { path: path.clone() }.into(), restore(&dir, 1, true)];
            let inside = herma_model::bytes::below(&dir, &path).unwrap_or_default();
            let folder = herma_model::bytes::parent(inside);
            let piece = match piece {
                0 => Piece::Checkpoint,
                1 => Piece::Folder(folder.into()),
                2 if shown == STORED_AGAIN => Piece::PackIndex,
                _ => Piece::File(inside.into()),
            };
            let more = names::join(&dir, &"more".into());
            let mut operations = vec![write(&path, &content, false), checkpoint(&dir)];
            if back > 0 {
                operations.extend([write(&more, &content, true), checkpoint(&dir)]);
            }
            if shown == STORED_AGAIN {
                operations.push(event(StoreEvent::Collected));
            }
            operations.push(event(StoreEvent::Stored { dir: dir.clone(), back, piece, damage }));
            operations.extend(match shown {
                0 => [vec![checkpoint(&dir)], take_back.into()].concat(),
                STORED_AGAIN => [vec![checkpoint(&dir), prune()], take_back.into()].concat(),
                1 => vec![Request::List { dir: dir.clone() }.into(), checkpoint(&dir)],
                2 => vec![Edit::Remove { path }.into(), restore_of(&dir, back, false)],
                _ => vec![write(&path, &"2".into(), false), restore_of(&dir, 0, false)],
            });
            operations
        })
        .boxed()
}
