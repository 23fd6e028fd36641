//! Injections: something happens at a call of a checkpoint, a restore or what looks after the store, and
//! what comes after it shows what that costs.
//!
//! It is rare, since each may cost a second run: one history in a few has any. It comes on top of what
//! else is drawn, and leaves other histories as they are.

use super::content::Sizes;
use super::damage::followed;
use super::idiom::{self, checkpoint, restore, write};
use super::names;
use crate::history::{At, Event, Injection, Left, Operation, Target, What};
use herma_model::{ByteString, Request};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Of so many histories one has any of this.
const ONE_IN: u32 = 6;

/// A few fragments, each with the place in a history where it is to stand.
pub fn fragments(sizes: Sizes) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let some = prop::collection::vec((any::<Index>(), fragment(sizes)), 1..=3).boxed();
    prop_oneof![ONE_IN - 1 => Just(Vec::new()), 1 => some].boxed()
}

/// What happens at which call. Most requests make few calls; some of the core make a hundred.
fn injection() -> BoxedStrategy<Injection> {
    let what = select(What::ALL.to_vec());
    let call = prop_oneof![3 => 1..=8u64, 3 => 1..=40u64, 2 => 1..=120u64].prop_map(At::Call);
    let at_end = Just(At::End);
    (what, prop_oneof![3 => call, 1 => at_end])
        .prop_map(|(what, call)| {
            let can_be = what.ends_process() || call != At::End;
            let call = if can_be { call } else { At::Call(1) };
            // Before the end it leaves what another one leaves at an earlier call.
            let at_end = what == What::PowerLoss(Left::Nothing);
            Injection { call: if at_end { At::End } else { call }, what }
        })
        .boxed()
}

/// A file is checkpointed and changed, something happens, and what follows shows it.
fn fragment(sizes: Sizes) -> BoxedStrategy<Vec<Operation>> {
    (idiom::place(sizes), injection(), 0..12usize, followed())
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

/// The request in which it happens.
fn met_by(request: usize, dir: &ByteString, path: &ByteString) -> Operation {
    let target = Target::Number(1);
    let inside = herma_model::bytes::below(dir, path).unwrap_or_default();
    let dir = dir.clone();
    match request {
        0..4 => checkpoint(&dir),
        4..7 => restore(&dir, 1, request == 4),
        7 => Request::RestoreFile { dir, target, path: inside.into() }.into(),
        8 => Request::Prune { retention_days: 0, max_total_bytes: 0, delete_orphans: true }.into(),
        9 => Request::List { dir }.into(),
        10 => Request::Diff { dir, target }.into(),
        _ => Request::Sweep.into(),
    }
}
