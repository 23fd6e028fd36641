//! What happens to a store as a whole, drawn in among everything else: sweeps and prunes, days that
//! pass, projects that go and disks that are not mounted, what v1 left, and damage.

use super::operation::Kinds;
use super::{content, names};
use crate::history::{Event, Operation, StoreEvent};
use herma_model::store_edit::Damage;
use herma_model::{ByteString, Edit, Request, Settings};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

/// A project on a disk of its own, which can be taken away.
const ON_A_DISK: &str = "work/disk/gamma";

/// Settings as `drawn`, with bounds for the store that a history can meet.
pub fn with_bounds(
    drawn: BoxedStrategy<(Settings, u64)>,
    real: bool,
) -> BoxedStrategy<(Settings, u64)> {
    let bytes = prop_oneof![
        6 => Just(500u64 << 20),
        1 => Just(0u64),
        4 => 400..4_000u64,
        1 => 4_000..40_000u64,
    ];
    // A real tree would meet no small bound with any of its checkpoints but the newest.
    let bytes = if real { Just(500 << 20).boxed() } else { bytes.boxed() };
    let rest = (
        prop::bool::weighted(0.9),
        prop_oneof![1 => Just(0u64), 4 => 1..10u64],
        prop::bool::weighted(0.8),
        prop_oneof![1 => Just(0u64), 3 => 1..48u64],
    );
    (drawn, bytes, rest)
        .prop_map(|((settings, swarm), max_total_bytes, rest)| {
            let (auto_prune, retention_days, delete_orphans, min_interval_hours) = rest;
            let settings = Settings {
                max_total_bytes,
                auto_prune,
                retention_days,
                delete_orphans,
                min_interval_hours,
                ..settings
            };
            (settings, swarm)
        })
        .boxed()
}

/// Fragments as they are, with maintenance among them in three of four histories.
pub fn among(
    fragments: BoxedStrategy<Vec<Operation>>,
    cap: u64,
    kinds: Kinds,
) -> BoxedStrategy<Vec<Operation>> {
    // The numbers follow those of the other kinds of operation.
    if !kinds.has(16) {
        return fragments;
    }
    let of = |weight: u32, one: BoxedStrategy<Operation>| {
        (weight, one.prop_map(|operation| vec![operation]).boxed())
    };
    let all = vec![
        (90, fragments),
        of(3, prune()),
        of(3, Just(Operation::Ask(Request::Sweep)).boxed()),
        of(2, Just(Operation::Ask(Request::Status)).boxed()),
        of(3, days_pass()),
        of(2, store_event()),
        (2, idiom(cap)),
    ];
    let rare = kinds.has(17).then(|| {
        of(
            1,
            select(vec![Operation::Ask(Request::ClearLegacy), Operation::Ask(Request::Clear)])
                .boxed(),
        )
    });
    Union::new_weighted(all.into_iter().chain(rare).collect()).boxed()
}

fn prune() -> BoxedStrategy<Operation> {
    let bytes = prop_oneof![2 => Just(0u64), 2 => 300..3_000u64, 1 => Just(1 << 30)];
    (prop_oneof![1 => Just(0u64), 2 => 1..9u64], bytes, prop::bool::weighted(0.7))
        .prop_map(|(retention_days, max_total_bytes, delete_orphans)| {
            Operation::Ask(Request::Prune { retention_days, max_total_bytes, delete_orphans })
        })
        .boxed()
}

/// Also such that something is exactly as old as a bound allows, or the clock is set back.
fn days_pass() -> BoxedStrategy<Operation> {
    const DAY: i64 = 24 * 60 * 60;
    let seconds = prop_oneof![
        3 => (1..12i64).prop_map(|days| days * DAY),
        2 => 0..2 * DAY,
        1 => -12 * DAY..0,
    ];
    seconds.prop_map(|seconds| Operation::Event(Event::Advance { seconds })).boxed()
}

fn directory() -> BoxedStrategy<ByteString> {
    let others = select(vec![ON_A_DISK, "work/missing", "work/missing/deeper", "home/code"]);
    prop_oneof![2 => names::project(), 1 => others.prop_map(ByteString::from)].boxed()
}

fn store_event() -> BoxedStrategy<Operation> {
    let damage = select(vec![Damage::Removed, Damage::Emptied, Damage::Halved, Damage::Garbled]);
    let hours = prop_oneof![1 => Just(None), 3 => (-30..60i32).prop_map(Some)];
    prop_oneof![
        2 => (directory(), 0..12u16)
            .prop_map(|(dir, days)| StoreEvent::Repository { dir, days }),
        1 => (0..12u16).prop_map(|days| StoreEvent::Archive { days }),
        1 => Just(StoreEvent::Stray),
        3 => (directory(), damage.clone())
            .prop_map(|(dir, damage)| StoreEvent::Metadata { dir, damage }),
        1 => (directory(), damage).prop_map(|(dir, damage)| StoreEvent::Index { dir, damage }),
        2 => hours.prop_map(|hours| StoreEvent::Marker { hours }),
    ]
    .prop_map(|event| Operation::Event(Event::Store(event)))
    .boxed()
}

/// Several projects have more than one checkpoint each when there must be less.
fn projects_make_room() -> BoxedStrategy<Vec<Operation>> {
    let takes = |project: &str, content: &str| {
        let path = names::join(&project.into(), &"a.txt".into());
        [
            Operation::Edit(Edit::Write { path, content: content.into(), executable: false }),
            Operation::Ask(Request::Checkpoint {
                dir: project.into(),
                reason: "before patch".into(),
            }),
        ]
    };
    (500..1_500u64)
        .prop_map(move |max_total_bytes| {
            let projects = ["work/alpha", "work/beta"];
            let all =
                ["one\n", "two\n", "three\n"].map(|text| projects.map(|one| takes(one, text)));
            let mut operations: Vec<Operation> = all.into_iter().flatten().flatten().collect();
            operations.push(Operation::Ask(Request::Prune {
                retention_days: 0,
                max_total_bytes,
                delete_orphans: true,
            }));
            operations
        })
        .boxed()
}

/// Runs that single operations drawn at random meet too seldom.
fn idiom(cap: u64) -> BoxedStrategy<Vec<Operation>> {
    let path = || names::join(&ON_A_DISK.into(), &"a.txt".into());
    let place = content::content(&path(), cap).prop_map(move |content| (path(), content));
    let repositories = vec((directory(), 0..12u16), 1..3);
    let v1_repository = (repositories, names::project(), any::<bool>()).prop_map(|drawn| {
        let (repositories, project, collides) = drawn;
        // Their archive may find its name taken.
        let archive = collides.then_some(StoreEvent::Archive { days: 0 });
        let stands =
            repositories.into_iter().map(|(dir, days)| StoreEvent::Repository { dir, days });
        let first =
            Operation::Ask(Request::Checkpoint { dir: project, reason: "before patch".into() });
        archive
            .into_iter()
            .chain(stands)
            .map(|event| Operation::Event(Event::Store(event)))
            .chain([first])
            .collect()
    });
    let prunes = |delete_orphans| {
        vec![
            Operation::Ask(Request::Status),
            Operation::Ask(Request::Prune {
                retention_days: 0,
                max_total_bytes: 0,
                delete_orphans,
            }),
            Operation::Ask(Request::List { dir: ON_A_DISK.into() }),
        ]
    };
    let taken = |(path, content): (ByteString, ByteString)| {
        vec![
            Operation::Edit(Edit::Write { path, content, executable: false }),
            Operation::Ask(Request::Checkpoint {
                dir: ON_A_DISK.into(),
                reason: "before patch".into(),
            }),
        ]
    };
    let unmounted = place.clone().prop_map(move |place| {
        let gone = Operation::Edit(Edit::Remove { path: "work/disk".into() });
        [taken(place), vec![gone], prunes(true)].concat()
    });
    let deleted = (place, any::<bool>()).prop_map(move |(place, delete_orphans)| {
        let gone = Operation::Edit(Edit::Remove { path: ON_A_DISK.into() });
        [taken(place), vec![gone], prunes(delete_orphans)].concat()
    });
    let forgotten = names::project().prop_map(|dir| {
        vec![
            Operation::Ask(Request::Checkpoint { dir: dir.clone(), reason: "before patch".into() }),
            Operation::Event(Event::Advance { seconds: 9 * 24 * 60 * 60 }),
            Operation::Ask(Request::Prune {
                retention_days: 7,
                max_total_bytes: 0,
                delete_orphans: false,
            }),
            Operation::Ask(Request::List { dir }),
        ]
    });
    let deleted_long_ago = names::project().prop_map(|dir| {
        vec![
            Operation::Ask(Request::Checkpoint { dir: dir.clone(), reason: "before patch".into() }),
            Operation::Edit(Edit::Remove { path: dir }),
            Operation::Event(Event::Advance { seconds: 9 * 24 * 60 * 60 }),
            Operation::Ask(Request::Prune {
                retention_days: 7,
                max_total_bytes: 0,
                delete_orphans: true,
            }),
        ]
    });
    let hours = prop_oneof![Just(None), (-30..60i32).prop_map(Some)];
    let marked = hours.prop_map(|hours| {
        vec![
            Operation::Event(Event::Store(StoreEvent::Marker { hours })),
            Operation::Ask(Request::Sweep),
        ]
    });
    let cleared =
        select(vec![Operation::Ask(Request::ClearLegacy), Operation::Ask(Request::Clear)])
            .prop_map(|clear| {
                vec![Operation::Event(Event::Store(StoreEvent::Archive { days: 3 })), clear]
            });
    prop_oneof![
        2 => v1_repository,
        2 => unmounted,
        2 => deleted,
        2 => forgotten,
        2 => deleted_long_ago,
        2 => marked,
        2 => projects_make_room(),
        1 => cleared,
    ]
    .boxed()
}
