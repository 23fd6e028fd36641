//! Damage to the store: to an object, a ref or another file of it, and requests that show the effect.
//!
//! Only one in four histories has damage, because fewer rules can be judged after it. The damage is
//! followed by a request that may need the damaged file, or that must work without it. These fragments are
//! generated separately, so that all other histories do not change.

use super::content::SizeLimits;
use super::idiom::{self, ProjectFile, checkpoint, once_in, prune, restore, write};
use super::names;
use crate::history::{Event, Operation, StoreEvent, Target};
use herma_model::store_edit::{Damage, StoreFile};
use herma_model::{ByteString, Edit, Piece, Request};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// One history of so many has such fragments.
const ONE_IN: u32 = 4;
/// The follow-up of an idiom that prunes after the objects of a damaged pack were stored again.
const STORED_AGAIN: usize = 4;

/// A few fragments, each with its position in the history.
pub fn fragments(limits: SizeLimits) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let single = (damaged(), follow_up()).prop_map(|(event, follow_up)| vec![event, follow_up]);
    let fragment = prop_oneof![2 => single, 3 => idiom(limits)];
    let fragments = prop::collection::vec((any::<Index>(), fragment), 1..=6).boxed();
    once_in(ONE_IN, fragments)
}

/// A checkpoint before and after damage to a file for which git refuses the store.
pub fn refused_file() -> BoxedStrategy<Vec<Operation>> {
    let file = select(vec![StoreFile::PackedRefs, StoreFile::Config, StoreFile::Head]);
    let fragment = (names::project(), file).prop_map(|(dir, file)| {
        let path = ByteString::from([&dir[..], b"/refused"].concat());
        let write_and_take =
            |content: &str| [write(&path, &content.into(), false), checkpoint(&dir)];
        let mut operations = write_and_take("before").to_vec();
        // Only git makes this file.
        operations.extend((file == StoreFile::PackedRefs).then(|| event(StoreEvent::Collected)));
        operations.push(event(StoreEvent::File { file, damage: Damage::Garbled }));
        operations.extend(write_and_take("after"));
        operations
    });
    fragment.boxed()
}

/// Every kind of damage to a file of the store.
pub fn damage() -> BoxedStrategy<Damage> {
    select(Damage::ALL.to_vec()).boxed()
}

fn event(event: StoreEvent) -> Operation {
    Event::Store(event).into()
}

/// Damages a file of the store, if it exists.
fn damaged() -> BoxedStrategy<Operation> {
    let piece = prop_oneof![
        3 => names::file().prop_map(Piece::File),
        1 => select(vec!["", "b", "src"]).prop_map(|path| Piece::Folder(path.into())),
        1 => Just(Piece::Checkpoint),
        1 => Just(Piece::PackIndex),
    ];
    let stored = (names::project(), 0..3usize, piece, damage())
        .prop_map(|(dir, back, piece, damage)| StoreEvent::Stored { dir, back, piece, damage });
    let ref_file =
        (names::project(), damage()).prop_map(|(dir, damage)| StoreEvent::Ref { dir, damage });
    let index =
        (names::project(), damage()).prop_map(|(dir, damage)| StoreEvent::Index { dir, damage });
    let metadata =
        (names::project(), damage()).prop_map(|(dir, damage)| StoreEvent::Metadata { dir, damage });
    let file = (select(StoreFile::ALL.to_vec()), damage())
        .prop_map(|(file, damage)| StoreEvent::File { file, damage });
    prop_oneof![8 => stored, 2 => ref_file, 1 => index, 1 => metadata, 2 => file]
        .prop_map(event)
        .boxed()
}

/// A request that shows the effect of damage.
pub fn follow_up() -> BoxedStrategy<Operation> {
    let list = names::project().prop_map(|dir| Request::List { dir }.into());
    let take = names::project().prop_map(|dir| checkpoint(&dir));
    let back = (names::project(), 0..3usize, any::<bool>())
        .prop_map(|(dir, back, exact)| restore_by_id(&dir, back, exact));
    prop_oneof![3 => list, 3 => take, 3 => back, 1 => Just(prune())].boxed()
}

/// A restore of a checkpoint by its id, which is independent of what the list contains.
fn restore_by_id(dir: &ByteString, back: usize, exact: bool) -> Operation {
    let target = Target::Id { of: dir.clone(), back, digits: 40 };
    Request::Restore { dir: dir.clone(), target, exact, force: false }.into()
}

/// Damages an existing checkpoint, and shows the effect.
pub fn idiom(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    let damaged = (0..5usize, 0..2usize, damage());
    (idiom::project_file(limits), damaged, 0..5usize)
        .prop_map(|(project_file, (piece, back, damage), follow_up)| {
            let ProjectFile { project: dir, path, content } = project_file;
            let restore_removed =
                [Edit::Remove { path: path.clone() }.into(), restore(&dir, 1, true)];
            let inside = herma_model::bytes::below(&dir, &path).unwrap_or_default();
            let folder = herma_model::bytes::parent(inside);
            let piece = match piece {
                0 => Piece::Checkpoint,
                1 => Piece::Folder(folder.into()),
                2 if follow_up == STORED_AGAIN => Piece::PackIndex,
                _ => Piece::File(inside.into()),
            };
            let more = names::join(&dir, &"more".into());
            let mut operations = vec![write(&path, &content, false), checkpoint(&dir)];
            if back > 0 {
                operations.extend([write(&more, &content, true), checkpoint(&dir)]);
            }
            if follow_up == STORED_AGAIN {
                operations.push(event(StoreEvent::Collected));
            }
            operations.push(event(StoreEvent::Stored { dir: dir.clone(), back, piece, damage }));
            operations.extend(match follow_up {
                0 => [vec![checkpoint(&dir)], restore_removed.into()].concat(),
                STORED_AGAIN => [vec![checkpoint(&dir), prune()], restore_removed.into()].concat(),
                1 => vec![Request::List { dir: dir.clone() }.into(), checkpoint(&dir)],
                2 => vec![Edit::Remove { path }.into(), restore_by_id(&dir, back, false)],
                _ => vec![write(&path, &"2".into(), false), restore_by_id(&dir, 0, false)],
            });
            operations
        })
        .boxed()
}
