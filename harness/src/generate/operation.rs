//! One operation of a history, generated from the kinds that its swarm includes.

use super::content::{self, SizeLimits};
use super::names;
use crate::history::{Event, Operation, Target};
use herma_model::commands::{AFTER, BEFORE, COMMANDS};
use herma_model::files::SpecialKind;
use herma_model::{ByteString, Edit, Request};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

/// The kinds of operation that a history includes. A kind is included if its bit or the next one is set, so
/// three in four are.
#[derive(Clone, Copy, Debug)]
pub struct Kinds(pub u64);

impl Kinds {
    /// The number of kinds that do not share bits.
    const MAX: usize = u64::BITS as usize / 2;

    /// Whether the kind with that number is included.
    pub fn has(self, kind: usize) -> bool {
        assert!(kind < Self::MAX, "kind {kind} would share its bits with another");
        (self.0 >> (kind * 2)) & 0b11 != 0
    }
}

/// Generates operations with file sizes around these limits; `workspace_paths` are paths of a real workspace.
pub fn operation(
    limits: SizeLimits,
    kinds: Kinds,
    workspace_paths: Vec<ByteString>,
) -> BoxedStrategy<Operation> {
    let file = if workspace_paths.is_empty() {
        names::file()
    } else {
        prop_oneof![3 => select(workspace_paths), 1 => names::file()].boxed()
    };
    // Writes and checkpoints are never left out: everything else depends on them.
    let mut weighted = vec![(30, write(&file, limits)), (14, checkpoint()), (6, ensure())];
    let optional: Vec<(u32, BoxedStrategy<Operation>)> = vec![
        (6, remove(&file)),
        (4, link(&file)),
        (1, special(&file)),
        (3, readable(&file)),
        (4, rename(&file)),
        (2, make_directory(&file)),
        (5, Just(Operation::Ask(Request::NewTurn)).boxed()),
        (2, Just(Operation::Ask(Request::Reopen)).boxed()),
        (3, advance()),
        (
            3,
            names::file_in_or_outside_projects()
                .prop_map(|file| Operation::Ask(Request::ProjectOf { file }))
                .boxed(),
        ),
        (8, names::dir().prop_map(|dir| Operation::Ask(Request::List { dir })).boxed()),
        (
            6,
            (names::dir(), target())
                .prop_map(|(dir, target)| Operation::Ask(Request::Diff { dir, target }))
                .boxed(),
        ),
        (14, restore()),
        (9, restore_file(&file)),
        (1, names::project().prop_map(|dir| Operation::Event(Event::RestoreEach { dir })).boxed()),
        // Entire projects are removed, moved and restored less often, since that discards the earlier
        // operations.
        (1, entire_project()),
    ];
    let included = optional.into_iter().enumerate().filter(|(kind, _)| kinds.has(*kind));
    weighted.extend(included.map(|(_, weighted)| weighted));
    Union::new_weighted(weighted).boxed()
}

/// Classifies a terminal command, alone or between commands that change nothing.
pub fn command() -> BoxedStrategy<Operation> {
    let around =
        |commands: &'static [&'static str]| prop_oneof![2 => Just(""), 1 => select(commands)];
    (around(BEFORE), select(COMMANDS), around(AFTER))
        .prop_map(|(before, (command, _), after)| {
            Operation::Ask(Request::Classify { command: format!("{before}{command}{after}") })
        })
        .boxed()
}

pub fn path_in_project(file: &BoxedStrategy<ByteString>) -> BoxedStrategy<ByteString> {
    (names::project(), file.clone())
        .prop_map(|(project, file)| names::join(&project, &file))
        .boxed()
}

fn write(file: &BoxedStrategy<ByteString>, limits: SizeLimits) -> BoxedStrategy<Operation> {
    path_in_project(file)
        .prop_flat_map(move |path| {
            (Just(path.clone()), content::content(&path, limits), prop::bool::weighted(0.15))
        })
        .prop_map(|(path, content, executable)| {
            Operation::Edit(Edit::Write { path, content, executable })
        })
        .boxed()
}

fn remove(file: &BoxedStrategy<ByteString>) -> BoxedStrategy<Operation> {
    path_in_project(file).prop_map(|path| Operation::Edit(Edit::Remove { path })).boxed()
}

fn link(file: &BoxedStrategy<ByteString>) -> BoxedStrategy<Operation> {
    let name = prop_oneof![
        2 => file.clone(),
        1 => select(&["link", "out"][..]).prop_map(ByteString::from),
    ];
    (path_in_project(&name.boxed()), content::link_target())
        .prop_map(|(path, target)| Operation::Edit(Edit::Link { path, target }))
        .boxed()
}

fn special(file: &BoxedStrategy<ByteString>) -> BoxedStrategy<Operation> {
    (path_in_project(file), select(&[SpecialKind::Socket, SpecialKind::Fifo][..]))
        .prop_map(|(path, kind)| Operation::Edit(Edit::MakeSpecial { path, kind }))
        .boxed()
}

fn readable(file: &BoxedStrategy<ByteString>) -> BoxedStrategy<Operation> {
    (path_in_project(file), prop::bool::weighted(0.3))
        .prop_map(|(path, readable)| Operation::Edit(Edit::SetReadable { path, readable }))
        .boxed()
}

fn rename(file: &BoxedStrategy<ByteString>) -> BoxedStrategy<Operation> {
    (path_in_project(file), path_in_project(file))
        .prop_map(|(from, to)| Operation::Edit(Edit::Rename { from, to }))
        .boxed()
}

fn make_directory(file: &BoxedStrategy<ByteString>) -> BoxedStrategy<Operation> {
    path_in_project(file).prop_map(|path| Operation::Edit(Edit::MakeDirectory { path })).boxed()
}

fn entire_project() -> BoxedStrategy<Operation> {
    let remove = |path: &str| Edit::Remove { path: path.into() };
    let rename = |from: &str, to: &str| Edit::Rename { from: from.into(), to: to.into() };
    let edits = vec![
        remove("work/alpha"),
        remove("work/beta"),
        rename("work/alpha", "work/missing"),
        rename("work/missing", "work/alpha"),
        rename("work/alpha", "work/beta"),
        Edit::Write { path: "work/beta".into(), content: "a file\n".into(), executable: false },
        Edit::Link { path: "work/alias".into(), target: "beta".into() },
        Edit::Link { path: "work/alias".into(), target: "$SANDBOX/work/beta".into() },
        Edit::MakeDirectory { path: "work/beta".into() },
    ];
    select(edits).prop_map(Operation::Edit).boxed()
}

fn advance() -> BoxedStrategy<Operation> {
    prop_oneof![3 => 1..120i64, 1 => -90_000..90_000i64]
        .prop_map(|seconds| Operation::Event(Event::Advance { seconds }))
        .boxed()
}

fn checkpoint() -> BoxedStrategy<Operation> {
    (names::dir(), content::reason())
        .prop_map(|(dir, reason)| Operation::Ask(Request::Checkpoint { dir, reason }))
        .boxed()
}

fn ensure() -> BoxedStrategy<Operation> {
    (names::dir(), content::reason())
        .prop_map(|(dir, reason)| Operation::Ask(Request::EnsureCheckpoint { dir, reason }))
        .boxed()
}

fn restore() -> BoxedStrategy<Operation> {
    (names::dir(), target(), prop::bool::weighted(0.4), prop::bool::weighted(0.15))
        .prop_map(|(dir, target, exact, force)| {
            Operation::Ask(Request::Restore { dir, target, exact, force })
        })
        .boxed()
}

fn restore_file(file: &BoxedStrategy<ByteString>) -> BoxedStrategy<Operation> {
    let path = prop_oneof![1 => file.clone(), 1 => names::typed_file()];
    (names::dir(), target(), path)
        .prop_map(|(dir, target, path)| Operation::Ask(Request::RestoreFile { dir, target, path }))
        .boxed()
}

/// Mostly existing numbers, then ids of all lengths from this and other projects, then targets that must be
/// refused.
fn target() -> BoxedStrategy<Target> {
    const TEXTS: &[&[u8]] = &[
        b"",
        b"0",
        b"-1",
        b"--patch",
        b"-n",
        b"HEAD",
        b"abc",
        b"abcd\n",
        b"1\0cd",
        b"1\n",
        b" 1",
        b"+1",
        b"1.5",
        b"deadbeef",
        b"DEADBEEF",
        b"ffffffffffffffffffffffffffffffffffffffff",
        b"99999999999999999999",
        b"refs/hermes",
        b"@{1}",
        b"\xff\xff\xff\xff",
        b"1234",
    ];
    let back = 0..3usize;
    let digits = prop_oneof![3 => Just(40usize), 2 => 4..12usize, 1 => 0..4usize];
    prop_oneof![
        8 => Just(Target::Number(1)),
        8 => (2..=3u32).prop_map(Target::Number),
        2 => (0..=22u32).prop_map(Target::Number),
        6 => (names::project(), back.clone(), digits)
            .prop_map(|(of, back, digits)| Target::Id { of, back, digits }),
        1 => (names::project(), back.clone()).prop_map(|(of, back)| Target::TreeOf { of, back }),
        1 => (names::project(), back).prop_map(|(of, back)| Target::BlobOf { of, back }),
        3 => select(TEXTS).prop_map(|text| Target::Text(ByteString::from(text))),
    ]
    .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    #[test]
    fn kinds_has_excludes_each_kind_of_operation_independently_of_the_others() {
        // The kinds of this file, and the two of maintenance.
        let kinds = 18;
        let mut runner = TestRunner::deterministic();
        let mut random = || any::<u64>().new_tree(&mut runner).unwrap().current();
        let swarms: Vec<Kinds> = (0..1_000).map(|_| Kinds(random())).collect();
        for first in 0..kinds {
            for second in 0..first {
                for combination in [(true, true), (true, false), (false, true), (false, false)] {
                    let has = |swarm: &&Kinds| (swarm.has(first), swarm.has(second)) == combination;
                    // Even the exclusion of both has a probability of one in sixteen.
                    let count = swarms.iter().filter(has).count();
                    assert!(
                        count > 20,
                        "kinds {first} and {second}: {combination:?} {count} times"
                    );
                }
            }
        }
    }
}
