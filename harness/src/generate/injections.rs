//! Injections: something happens at a call of a checkpoint, a restore or what looks after the store, and
//! what comes after it shows what that costs.
//!
//! It is rare, since each may cost a second run: one history in a few has any. It comes on top of what
//! else is drawn, and leaves other histories as they are.

use super::content::Sizes;
use super::damage::followed;
use super::idiom::{self, PRUNE, checkpoint, once_in, prune, restore, write};
use super::names;
use crate::history::{At, Event, Injection, Left, Operation, StoreEvent, Target, What};
use herma_model::{ByteString, Edit, Request};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A few fragments, each with the place in a history where it is to stand; of so many histories one has
/// any.
pub fn fragments(sizes: Sizes, one_in: u32) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let fragment = prop_oneof![4 => fragment(sizes), 2 => edited(sizes), 1 => overlapped(sizes)];
    let some = prop::collection::vec((any::<Index>(), fragment), 1..=3).boxed();
    once_in(one_in, some)
}

/// The same of a store that git packed. It came later, and is drawn by itself so that it changes nothing else.
pub fn of_a_pack(sizes: Sizes, one_in: u32) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let some = (any::<Index>(), reclaimed(sizes)).prop_map(|fragment| vec![fragment]);
    // Much rarer where others are rare: who takes over git's lock from a process that died waits for seconds.
    once_in(2 * one_in * one_in, some)
}

/// What happens at which call. Most requests make few calls; some of the core make a hundred.
fn injection() -> BoxedStrategy<Injection> {
    let what = select(What::ALONE.to_vec());
    let call = prop_oneof![3 => 1..=8u64, 3 => 1..=40u64, 2 => 1..=120u64].prop_map(At::Call);
    let at_end = Just(At::End);
    (what, prop_oneof![3 => call, 1 => at_end])
        .prop_map(|(what, call)| {
            let can_be = what.ends_process() || call != At::End;
            let call = if can_be { call } else { At::Call(1) };
            // Before the end it leaves what another one leaves at an earlier call.
            let at_end = what == What::PowerLoss(Left::Nothing);
            Injection::new(if at_end { At::End } else { call }, what)
        })
        .boxed()
}

/// A file is checkpointed and changed, something happens, and what follows shows it.
fn fragment(sizes: Sizes) -> BoxedStrategy<Vec<Operation>> {
    (idiom::place(sizes), injection(), 0..13usize, followed())
        .prop_map(|((dir, path, content), injection, request, next)| {
            let more = names::join(&dir, &"more.txt".into());
            vec![
                write(&path, &content, false),
                write(&more, &content, false),
                checkpoint(&dir),
                write(&path, &"2".into(), false),
                write(&more, &"2".into(), false),
                Event::Inject(injection).into(),
                met_by(request, &dir, &path),
                write(&path, &"3".into(), true),
                next,
                restore(&dir, 1, false),
            ]
        })
        .boxed()
}

/// How often somebody works in the project, each time one call later.
const EDITS: u64 = 4;

/// Somebody works in the project while it is captured or restored: saves a file in its place or by a
/// rename, or puts a link to a folder outside where a folder was.
fn edited(sizes: Sizes) -> BoxedStrategy<Vec<Operation>> {
    (idiom::place(sizes), 1..=24u64, 0..3usize, any::<bool>(), followed())
        .prop_map(|((dir, path, content), call, how, restores, next)| {
            let inside = |name: &str| names::join(&dir, &name.into());
            let (folder, aside) = (inside("moved"), inside("aside"));
            let twin = ByteString::from("outside/twin/in.txt");
            let mut all = vec![
                write(&names::join(&folder, &"in.txt".into()), &"inside".into(), false),
                write(&twin, &"beyond".into(), false),
                write(&path, &content, false),
                checkpoint(&dir),
            ];
            for call in call..call + EDITS {
                let meanwhile = match how {
                    0 => vec![save(&path)],
                    1 => {
                        let (from, to) = (inside("fresh.tmp"), path.clone());
                        vec![save(&from), Edit::Rename { from, to }]
                    }
                    _ => {
                        let target = "$SANDBOX/outside/twin".into();
                        let (from, to) = (folder.clone(), aside.clone());
                        vec![Edit::Rename { from, to }, Edit::Link { path: folder.clone(), target }]
                    }
                };
                let at = Injection::edited(At::Call(call), meanwhile);
                all.extend([
                    write(&path, &"the second version".into(), false),
                    Event::Inject(at).into(),
                    if restores { restore(&dir, 1, false) } else { checkpoint(&dir) },
                ]);
                if how == 2 {
                    let (from, to) = (aside.clone(), folder.clone());
                    all.push(Edit::Remove { path: folder.clone() }.into());
                    all.push(Edit::Rename { from, to }.into());
                }
            }
            all.extend([next, restore(&dir, 1, false)]);
            all
        })
        .boxed()
}

/// Another process takes a checkpoint of the same project, or of another one, or frees space, each time
/// some calls later.
fn overlapped(sizes: Sizes) -> BoxedStrategy<Vec<Operation>> {
    (idiom::place(sizes), 1..=24u64, 0..3usize, 0..13usize, followed())
        .prop_map(|((dir, path, content), call, other, request, next)| {
            let beside = ByteString::from("work/beta");
            let other = match other {
                0 => Request::Checkpoint { dir: dir.clone(), reason: "other".into() },
                1 => Request::Checkpoint { dir: beside.clone(), reason: "other".into() },
                _ => PRUNE,
            };
            let mut all = vec![write(&path, &content, false), checkpoint(&dir)];
            for number in 0..EDITS {
                let call = At::Call(call + 4 * number);
                all.extend([
                    write(&path, &format!("version {number}").as_str().into(), false),
                    write(
                        &names::join(&beside, &"in.txt".into()),
                        &number.to_string().as_str().into(),
                        false,
                    ),
                    Event::Inject(Injection::overlapped(call, other.clone())).into(),
                    met_by(request, &dir, &path),
                ]);
            }
            all.extend([next, restore(&dir, 1, false)]);
            all
        })
        .boxed()
}

/// What looks after a store that git packed is killed where it writes what stays of the pack, each time
/// some calls later.
fn reclaimed(sizes: Sizes) -> impl Strategy<Value = Vec<Operation>> {
    (idiom::place(sizes), 1..=100u64).prop_map(|((dir, path, content), call)| {
        let gone = ByteString::from("work/gone");
        let mut all = vec![write(&path, &content, false), checkpoint(&dir)];
        for number in 0..EDITS {
            let kill = Injection::new(At::Call(call + EDITS * number), What::Kill);
            all.extend([
                write(&names::join(&gone, &"a".into()), &number.to_string().as_str().into(), false),
                checkpoint(&gone),
                Event::Store(StoreEvent::Collected).into(),
                Edit::Remove { path: gone.clone() }.into(),
                Event::Inject(kill).into(),
                prune(),
                prune(),
            ]);
        }
        all.push(restore(&dir, 1, false));
        all
    })
}

/// A file is saved, as long as it was.
fn save(path: &ByteString) -> Edit {
    Edit::Write { path: path.clone(), content: "the third one here".into(), executable: false }
}

/// The request in which it happens.
fn met_by(request: usize, dir: &ByteString, path: &ByteString) -> Operation {
    let target = Target::Number(1);
    let inside = herma_model::bytes::below(dir, path).unwrap_or_default();
    let dir = dir.clone();
    match request {
        0..4 => checkpoint(&dir),
        4..7 => restore(&dir, 1, request == 4),
        7 => Request::RestoreFile { dir, target, path: inside.into() }.into(),
        8 => prune(),
        9 | 10 => Request::List { dir }.into(),
        11 => Request::Diff { dir, target }.into(),
        _ => Request::Sweep.into(),
    }
}
