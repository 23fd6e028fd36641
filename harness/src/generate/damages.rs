//! Histories of damaged stores, listed completely instead of at random: every file of a few small stores is
//! damaged in every way, followed by every kind of request. `damage` generates other combinations at
//! random.

use super::idiom::{checkpoint, write};
use crate::history::{Event, History, Operation, StoreEvent, Target};
use herma_model::store_edit::{Damage, StoreFile};
use herma_model::{ByteString, Edit, Piece, Request, Settings};

const ALPHA: &str = "work/alpha";
const BETA: &str = "work/beta";

/// The state of a store before it is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Baseline {
    /// All objects are loose.
    Loose,
    /// After `git gc`.
    Collected,
    /// After `git gc` and one more checkpoint.
    CollectedBefore,
    /// The oldest checkpoints were evicted.
    Evicted,
}

impl Baseline {
    const ALL: [(&str, Baseline); 4] = [
        ("loose objects", Baseline::Loose),
        ("a pack", Baseline::Collected),
        ("a pack and loose objects", Baseline::CollectedBefore),
        ("few checkpoints", Baseline::Evicted),
    ];

    fn is_packed(self) -> bool {
        matches!(self, Baseline::Collected | Baseline::CollectedBefore)
    }

    /// The number of checkpoints of the first project that are kept.
    fn kept(self) -> usize {
        if self == Baseline::Evicted { 2 } else { 3 }
    }

    fn has(self, file: StoreFile) -> bool {
        match file {
            StoreFile::PackedRefs | StoreFile::CommitGraph | StoreFile::ReverseIndex => {
                self.is_packed()
            }
            StoreFile::Shallow => self == Baseline::Evicted,
            _ => true,
        }
    }

    /// Every file of the store with that damage, with its name.
    fn damaged(self, damage: Damage) -> Vec<(String, StoreEvent)> {
        let pieces = [
            ("the commit", Piece::Checkpoint),
            ("the root folder", Piece::Folder("".into())),
            ("a folder", Piece::Folder("src".into())),
            ("a changed file", Piece::File("src/main.rs".into())),
            ("a shared file", Piece::File("same.txt".into())),
            ("the index of the pack", Piece::PackIndex),
        ];
        let dir = || ByteString::from(ALPHA);
        let mut events = Vec::new();
        for back in 0..self.kept() {
            for (name, piece) in pieces.clone() {
                // The last checkpoint has no pack where git collected before it.
                let is_packed = self == Baseline::Collected || self.is_packed() && back > 0;
                if piece != Piece::PackIndex || is_packed {
                    let stored = StoreEvent::Stored { dir: dir(), back, piece, damage };
                    events.push((format!("{name} of checkpoint {back}"), stored));
                }
            }
        }
        events.push(("the metadata".into(), StoreEvent::Metadata { dir: dir(), damage }));
        events.push(("the index".into(), StoreEvent::Index { dir: dir(), damage }));
        if self != Baseline::Collected {
            events.push(("the ref".into(), StoreEvent::Ref { dir: dir(), damage }));
        }
        let files = StoreFile::ALL.into_iter().filter(|file| self.has(*file));
        events.extend(files.map(|file| (format!("{file:?}"), StoreEvent::File { file, damage })));
        events
    }

    /// The operations that produce this state.
    fn operations(self) -> Vec<Operation> {
        let put = |path: &str, content: &str| write(&path.into(), &content.into(), false);
        let collected = || Operation::from(Event::Store(StoreEvent::Collected));
        let mut operations = vec![
            put("work/alpha/same.txt", "the same in all checkpoints"),
            put("work/alpha/src/lib.rs", "pub fn lib() {}"),
            put("work/beta/same.txt", "the same in all checkpoints"),
            put("work/beta/b.txt", "beta"),
            checkpoint(&BETA.into()),
        ];
        for number in 1..=3 {
            operations
                .push(put("work/alpha/src/main.rs", &format!("fn main() {{ do_{number}() }}")));
            operations.push(put(&format!("work/alpha/{number}.txt"), "new"));
            if number == 3 && self == Baseline::CollectedBefore {
                operations.push(collected());
            }
            operations.push(Request::NewTurn.into());
            operations.push(checkpoint(&ALPHA.into()));
        }
        operations.extend((self == Baseline::Collected).then(collected));
        operations
    }
}

/// The number of parts into which the files of any store are divided.
const STORE_PARTS: u8 = 16;

type Probe = fn(Baseline) -> Vec<Operation>;

/// Probes of a damaged store; each scenario begins with another probe.
const PROBES: [(&str, Probe); 4] =
    [("look", look), ("take", take), ("restore", restore), ("maintain", maintain)];

/// The checkpoint of the first project with `back` newer ones, by its id, which does not depend on the list.
fn target(back: usize) -> Target {
    Target::Id { of: ALPHA.into(), back, digits: 40 }
}

fn look(baseline: Baseline) -> Vec<Operation> {
    let lists = [ALPHA, BETA].map(|dir| Request::List { dir: dir.into() }.into());
    let diff = |back| Request::Diff { dir: ALPHA.into(), target: target(back) }.into();
    lists.into_iter().chain((0..baseline.kept()).map(diff)).collect()
}

/// Checkpoints of an unchanged project, of a changed one, and of another project with the same content.
fn take(_: Baseline) -> Vec<Operation> {
    let ensure = |dir: &str| Request::EnsureCheckpoint { dir: dir.into(), reason: "probe".into() };
    let put = |path: &str, content: &str| write(&path.into(), &content.into(), false);
    vec![
        Request::NewTurn.into(),
        ensure(ALPHA).into(),
        put("work/alpha/probe.txt", "probe"),
        checkpoint(&ALPHA.into()),
        Request::List { dir: ALPHA.into() }.into(),
        put("work/beta/src/main.rs", "fn main() { do_3() }"),
        checkpoint(&BETA.into()),
        Event::RestoreEach { dir: BETA.into() }.into(),
    ]
}

fn restore(baseline: Baseline) -> Vec<Operation> {
    let change_and_restore = |back| {
        let wrecked = [
            Edit::Remove { path: "work/alpha/same.txt".into() }.into(),
            write(&"work/alpha/src/main.rs".into(), &"wrecked".into(), false),
        ];
        let dir = ALPHA.into();
        let target = target(back);
        let restored = Request::Restore { dir, target, exact: true, force: false };
        wrecked.into_iter().chain([restored.into()])
    };
    (0..baseline.kept()).rev().flat_map(change_and_restore).collect()
}

fn maintain(_: Baseline) -> Vec<Operation> {
    let prune = Request::Prune { retention_days: 0, max_total_bytes: 0, delete_orphans: true };
    vec![Request::Status.into(), Request::Sweep.into(), prune.into()]
}

/// The histories of every damage, with their names.
pub fn damages() -> Vec<(String, History)> {
    let mut histories = Vec::new();
    for (baseline_name, baseline) in Baseline::ALL {
        for damage in Damage::ALL {
            for (file, event) in baseline.damaged(damage) {
                for (first, (probe, _)) in PROBES.into_iter().enumerate() {
                    let name = format!("{baseline_name}: {file} is {damage:?}, then {probe}");
                    histories.push((name, scenario(baseline, event.clone(), first)));
                }
            }
        }
    }
    histories
}

fn scenario(baseline: Baseline, damage: StoreEvent, first: usize) -> History {
    let mut operations = baseline.operations();
    operations.push(Event::Store(damage).into());
    for (_, probe) in PROBES.iter().cycle().skip(first).take(PROBES.len()) {
        operations.extend(probe(baseline));
    }
    operations.push(Event::RestoreEach { dir: ALPHA.into() }.into());
    let kept = if baseline == Baseline::Evicted { baseline.kept() } else { 0 };
    let max_snapshots = if kept > 0 { kept } else { Settings::default().max_snapshots };
    let settings = Settings { max_snapshots, ..Settings::default() };
    History { plain_home: true, settings, operations, ..History::default() }
}

/// The histories of damage to stores of which only the folder is known, with their names: every part of their
/// files is damaged in each way that a file shows by itself. Whatever needs the file, a restore must report what
/// it could not restore.
pub fn damages_of_any_store() -> Vec<(String, History)> {
    let ways = [Damage::Removed, Damage::Emptied, Damage::Halved, Damage::Garbled];
    let parts = 0..STORE_PARTS;
    let each = parts.flat_map(|part| ways.map(|damage| (part, damage)));
    let named = each.map(|(part, damage)| {
        let name = format!("a file of part {part} is {damage:?}, then restore");
        let mut operations = Baseline::Loose.operations();
        operations.push(Event::Store(StoreEvent::AnyFile { part, damage }).into());
        operations.extend(restore(Baseline::Loose));
        operations.extend(take(Baseline::Loose));
        (name, History { plain_home: true, operations, ..History::default() })
    });
    named.collect()
}
