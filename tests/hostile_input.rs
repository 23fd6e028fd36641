//! Hostile input from a user or a damaged store: the oracles of the fuzz targets, run on stable Rust.

use herma_harness::hostile::stored_file::FILES;
use herma_harness::hostile::stored_tree::{Child, MODES, NAMES, StoredEntry};
use herma_harness::hostile::targets::{FuzzTarget, Start, targets};
use herma_harness::hostile::{StartingState, arguments, stored_tree};
use herma_harness::parallel;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::fs;
use std::path::Path;

fn entry() -> impl Strategy<Value = StoredEntry> {
    let name = prop_oneof![
        4 => select(NAMES).prop_map(<[u8]>::to_vec),
        1 => vec(1..=255u8, 1..8),
    ];
    let mode = prop_oneof![6 => select(MODES), 1 => any::<u16>().prop_map(u32::from)];
    let child = prop_oneof![
        3 => Just(Child::Text),
        2 => Just(Child::Outward),
        3 => (0..4u8).prop_map(Child::Tree),
        1 => Just(Child::Missing),
    ];
    (mode, name, child).prop_map(|(mode, name, child)| StoredEntry { mode, name, child })
}

/// Mostly valid trees, so that a restore gets far enough to do harm.
fn plausible_entry() -> impl Strategy<Value = StoredEntry> {
    let names: &[&[u8]] = &[b"a", b"b", b"link", b"src", b"a.txt", b".gitignore", b".GIT"];
    (select(names), 0..4u8).prop_map(|(name, kind)| {
        let (mode, child) = match kind {
            0 => (0o100_644, Child::Text),
            1 => (0o120_000, Child::Outward),
            2 => (0o40_000, Child::Tree(0)),
            _ => (0o100_755, Child::Outward),
        };
        StoredEntry { mode, name: name.to_vec(), child }
    })
}

fn target() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[0-9]{1,3}".prop_map(String::into_bytes),
        "[0-9a-fA-F]{0,66}".prop_map(String::into_bytes),
        "-{0,2}[a-z@{}^~:/]{0,12}".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..12),
    ]
}

/// The words of a `rollback` line in any order, with blanks, quotes and options among them.
fn typed() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        2 => target(),
        2 => path(),
        1 => select(&["diff", "--", "--exact", "--dry-run", "--force", "--dir x", "'", "\"", "\\"][..])
            .prop_map(|word| word.as_bytes().to_vec()),
    ];
    vec(word, 0..4).prop_map(|words| words.join(&b' '))
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "(\\.\\./|\\./|/|a|src/|main\\.rs|\\.git/|:|\\*){0,6}".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..16),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn rollback_arguments_never_escape_panic_or_half_refuse(target in target(), path in path()) {
        arguments::judge(&target, &path, &StartingState::new())
            .map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_typed_line_never_escapes_panics_or_half_refuses(typed in typed()) {
        arguments::judge_line(&typed, &StartingState::new()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_stored_tree_never_escapes_or_panics(trees in vec(vec(entry(), 0..5), 1..5)) {
        stored_tree::judge(&trees, &StartingState::new()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_plausible_stored_tree_never_escapes(
        trees in vec(vec(plausible_entry(), 0..5), 1..5),
    ) {
        stored_tree::judge(&trees, &StartingState::new()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn from_bytes_returns_trees_for_every_fuzz_input(bytes in vec(any::<u8>(), 0..64)) {
        let trees = stored_tree::from_bytes(&bytes);
        prop_assert!(!trees.is_empty());
        stored_tree::judge(&trees, &StartingState::new()).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn every_request_and_verify_end_with_exponentially_nested_trees() {
    let bomb: Vec<Vec<StoredEntry>> = (0..16)
        .map(|_| {
            let name = |index: u8| vec![b'a' + index];
            (0..8)
                .map(|i| StoredEntry { mode: 0o40_000, name: name(i), child: Child::Tree(0) })
                .collect()
        })
        .collect();
    stored_tree::judge(&bomb, &StartingState::new()).unwrap();
}

/// Every input that fuzzing kept for a target: `fuzz/corpus/TARGET`.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
}

/// Every kept input of a target, and its seeds.
fn inputs(target: &FuzzTarget, start: &Start) -> Vec<Vec<u8>> {
    [corpus(target.name), target.seeds(start)].concat()
}

#[test]
fn every_input_that_fuzzing_kept_and_every_seed_is_judged_again() {
    let start = Start::default();
    let targets = targets();
    let all: Vec<(&FuzzTarget, Vec<u8>)> = targets
        .iter()
        .flat_map(|target| inputs(target, &start).into_iter().map(move |input| (target, input)))
        .collect();
    // Some of them wait for a lock.
    parallel::map(all.into_iter(), 4, |(target, input)| {
        if let Err(violation) = target.judge(&input, &start) {
            panic!("{}: {violation}\ninput: {}", target.name, input.escape_ascii());
        }
    });
}

#[test]
fn a_store_that_the_core_calls_intact_is_read_by_git() {
    let state = StartingState::new();
    let start = Start::default();
    for target in targets() {
        let Some(file) = FILES.iter().find(|file| file.name == target.name) else { continue };
        // Git is a process, so only some of the inputs are given to it.
        let inputs = inputs(&target, &start);
        let step = inputs.len().div_ceil(20).max(1);
        for input in inputs.iter().step_by(step) {
            if let Err(violation) = file.judge_by_git(input, &state) {
                panic!("{}: {violation}\ninput: {}", file.name, input.escape_ascii());
            }
        }
    }
}
