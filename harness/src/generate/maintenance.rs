//! Maintenance of the store, mixed with everything else: sweeps and prunes, passing days, removed projects
//! and unmounted disks, leftovers of v1, and damage.

use super::content::{self, SizeLimits};
use super::idiom::{checkpoint, write};
use super::names;
use super::operation::Kinds;
use crate::history::{Event, Operation, StoreEvent};
use herma_model::content::noise;
use herma_model::store_edit::{Damage, Likeness};
use herma_model::{ByteString, Edit, Request, Settings};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

/// A project on a separate disk that can be unmounted.
const ON_A_DISK: &str = "work/disk/gamma";

/// Adds limits of the store to generated settings: limits that a history can reach, in steps of `unit`.
pub fn with_bounds(
    settings_and_swarm: BoxedStrategy<(Settings, u64)>,
    is_workspace: bool,
    unit: u64,
) -> BoxedStrategy<(Settings, u64)> {
    let in_bytes = prop_oneof![
        6 => Just(500u64 << 20),
        1 => Just(0u64),
        4 => 400..4_000u64,
        1 => 4_000..40_000u64,
    ];
    let two = unit.saturating_mul(2);
    let in_units = prop_oneof![6 => Just(500 << 20), 1 => Just(0), 4 => Just(unit), 1 => Just(two)];
    // In a real workspace a small limit would leave only the newest checkpoint.
    let bytes = match (is_workspace, unit) {
        (true, _) => Just(500 << 20).boxed(),
        (false, 1) => in_bytes.boxed(),
        (false, _) => in_units.boxed(),
    };
    let other_settings = (
        prop::bool::weighted(0.9),
        prop_oneof![1 => Just(0u64), 4 => 1..10u64],
        prop::bool::weighted(0.8),
        prop_oneof![1 => Just(0u64), 3 => 1..48u64],
    );
    (settings_and_swarm, bytes, other_settings)
        .prop_map(|((settings, swarm), max_total_bytes, other_settings)| {
            let (auto_prune, retention_days, delete_orphans, min_interval_hours) = other_settings;
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

/// The fragments, mixed with maintenance in three of four histories.
pub fn among(
    fragments: BoxedStrategy<Vec<Operation>>,
    limits: SizeLimits,
    kinds: Kinds,
) -> BoxedStrategy<Vec<Operation>> {
    // The numbers continue those of the kinds in `operation`.
    if !kinds.has(16) {
        return fragments;
    }
    let single = |weight: u32, operation: BoxedStrategy<Operation>| {
        (weight, operation.prop_map(|operation| vec![operation]).boxed())
    };
    let common = vec![
        (90, fragments),
        single(3, prune(limits.units.total)),
        single(3, Just(Operation::Ask(Request::Sweep)).boxed()),
        single(2, Just(Operation::Ask(Request::Status)).boxed()),
        single(3, days_pass()),
        single(2, store_event()),
        (2, idiom(limits)),
    ];
    let rare = kinds.has(17).then(|| {
        single(
            1,
            select(vec![Operation::Ask(Request::ClearLegacy), Operation::Ask(Request::Clear)])
                .boxed(),
        )
    });
    Union::new_weighted(common.into_iter().chain(rare).collect()).boxed()
}

fn prune(unit: u64) -> BoxedStrategy<Operation> {
    let bytes = match unit {
        1 => prop_oneof![2 => Just(0u64), 2 => 300..3_000u64, 1 => Just(1 << 30)].boxed(),
        _ => prop_oneof![2 => Just(0), 2 => Just(unit), 1 => Just(unit.saturating_mul(1_000))]
            .boxed(),
    };
    (prop_oneof![1 => Just(0u64), 2 => 1..9u64], bytes, prop::bool::weighted(0.7))
        .prop_map(|(retention_days, max_total_bytes, delete_orphans)| {
            Operation::Ask(Request::Prune { retention_days, max_total_bytes, delete_orphans })
        })
        .boxed()
}

/// Time passes, sometimes exactly as much as a limit allows, sometimes backwards.
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
    let other_directories =
        select(vec![ON_A_DISK, "work/missing", "work/missing/deeper", "home/code"]);
    prop_oneof![2 => names::project(), 1 => other_directories.prop_map(ByteString::from)].boxed()
}

fn damage() -> BoxedStrategy<Damage> {
    select(vec![Damage::Removed, Damage::Emptied, Damage::Halved, Damage::Garbled]).boxed()
}

/// The very end of a history, or nothing: a third-party folder named like a leftover of an interrupted removal,
/// and a request that removes leftovers.
pub fn lookalike_of_leftover() -> BoxedStrategy<Vec<Operation>> {
    let event = StoreEvent::Lookalike { of: Likeness::Leftover, days: 90 };
    let folder = Operation::Event(Event::Store(event));
    let cleanup = select(vec![prunes(7, 0, true), Request::ClearLegacy.into()]);
    let both = cleanup.prop_map(move |cleanup| vec![folder.clone(), cleanup]);
    prop_oneof![3 => Just(Vec::new()), 1 => both].boxed()
}

fn store_event() -> BoxedStrategy<Operation> {
    let likeness = select(vec![Likeness::Name, Likeness::Archive, Likeness::Repository]);
    let hours = prop_oneof![1 => Just(None), 3 => (-30..60i32).prop_map(Some)];
    prop_oneof![
        2 => (directory(), 0..12u16)
            .prop_map(|(dir, days)| StoreEvent::Repository { dir, days }),
        1 => (0..12u16).prop_map(|days| StoreEvent::Archive { days }),
        1 => Just(StoreEvent::Stray),
        1 => (likeness, 0..12u16).prop_map(|(of, days)| StoreEvent::Lookalike { of, days }),
        3 => (directory(), damage())
            .prop_map(|(dir, damage)| StoreEvent::Metadata { dir, damage }),
        1 => (directory(), damage()).prop_map(|(dir, damage)| StoreEvent::Index { dir, damage }),
        2 => hours.prop_map(|hours| StoreEvent::Marker { hours }),
    ]
    .prop_map(|event| Operation::Event(Event::Store(event)))
    .boxed()
}

fn prunes(retention_days: u64, max_total_bytes: u64, delete_orphans: bool) -> Operation {
    Request::Prune { retention_days, max_total_bytes, delete_orphans }.into()
}

fn remove(path: ByteString) -> Operation {
    Edit::Remove { path }.into()
}

fn nine_days() -> Operation {
    Event::Advance { seconds: 9 * 24 * 60 * 60 }.into()
}

fn store_operation(event: StoreEvent) -> Operation {
    Event::Store(event).into()
}

/// Several projects have more than one checkpoint each when a prune must shrink the store.
fn store_shrinks_with_several_projects(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    let checkpoint_of = |project: &str, content: &ByteString| {
        let path = names::join(&project.into(), &"a.txt".into());
        [write(&path, content, false), checkpoint(&project.into())]
    };
    let operations_with = move |contents: [[ByteString; 2]; 3], max_total_bytes| {
        let projects = ["work/alpha", "work/beta"];
        let checkpoint_of_each =
            |(project, content): (&&str, &ByteString)| checkpoint_of(project, content);
        let checkpoints = contents
            .iter()
            .flat_map(|contents| projects.iter().zip(contents).map(checkpoint_of_each));
        let mut operations: Vec<Operation> = checkpoints.flatten().collect();
        operations.push(prunes(0, max_total_bytes, true));
        operations
    };
    let unit = limits.units.total;
    if unit == 1 {
        let texts = ["one\n", "two\n", "three\n"].map(ByteString::from);
        let contents = texts.map(|text| [text.clone(), text]);
        return (500..1_500u64)
            .prop_map(move |bytes| operations_with(contents.clone(), bytes))
            .boxed();
    }
    limits
        .large()
        .prop_map(move |size| {
            let contents =
                [[1, 2], [3, 4], [5, 6]].map(|seeds| seeds.map(|seed| noise(size, seed)));
            operations_with(contents, unit)
        })
        .boxed()
}

/// A project on a separate disk is removed, or its disk is unmounted.
fn on_a_disk(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    let path = || names::join(&ON_A_DISK.into(), &"a.txt".into());
    let removed = select(vec!["work/disk", ON_A_DISK]);
    (content::content(&path(), limits), removed, prop::bool::weighted(0.75))
        .prop_map(move |(content, removed, delete_orphans)| {
            vec![
                write(&path(), &content, false),
                checkpoint(&ON_A_DISK.into()),
                remove(removed.into()),
                Request::Status.into(),
                prunes(0, 0, delete_orphans),
                Request::List { dir: ON_A_DISK.into() }.into(),
            ]
        })
        .boxed()
}

fn v1_repositories() -> BoxedStrategy<Vec<Operation>> {
    let repositories = vec((directory(), 0..12u16), 1..3);
    (repositories, names::project(), any::<bool>())
        .prop_map(|(repositories, project, collides)| {
            // Another archive may already have the name.
            let archive = collides.then_some(StoreEvent::Archive { days: 0 });
            let repositories =
                repositories.into_iter().map(|(dir, days)| StoreEvent::Repository { dir, days });
            let events = archive.into_iter().chain(repositories).map(store_operation);
            events.chain([checkpoint(&project)]).collect()
        })
        .boxed()
}

/// Sequences of operations that random single operations rarely produce.
fn idiom(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    let forgotten = names::project().prop_map(|dir| {
        vec![checkpoint(&dir), nine_days(), prunes(7, 0, false), Request::List { dir }.into()]
    });
    let deleted_long_ago = names::project()
        .prop_map(|dir| vec![checkpoint(&dir), remove(dir), nine_days(), prunes(7, 0, true)]);
    let hours = prop_oneof![Just(None), (-30..60i32).prop_map(Some)];
    let marked = hours.prop_map(|hours| {
        vec![store_operation(StoreEvent::Marker { hours }), Request::Sweep.into()]
    });
    let damaged = (names::project(), damage()).prop_map(|(dir, damage)| {
        let first = checkpoint(&dir);
        vec![first, store_operation(StoreEvent::Metadata { dir, damage }), Request::Sweep.into()]
    });
    // With large units, random single operations rarely fill a store, so this idiom must.
    let shrink_weight = if limits.units.total == 1 { 2 } else { 8 };
    let cleared = select(vec![Request::ClearLegacy, Request::Clear])
        .prop_map(|clear| vec![store_operation(StoreEvent::Archive { days: 3 }), clear.into()]);
    prop_oneof![
        2 => v1_repositories(),
        4 => on_a_disk(limits),
        2 => forgotten,
        2 => deleted_long_ago,
        2 => marked,
        1 => damaged,
        shrink_weight => store_shrinks_with_several_projects(limits),
        1 => cleared,
    ]
    .boxed()
}
