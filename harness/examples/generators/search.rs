//! The generators, and the search of each for a planted bug: histories run until one fails.

use herma_harness::arbitrary::history_from;
use herma_harness::coverage::Coverage;
use herma_harness::generate::guided::Guided;
use herma_harness::generate::{bytes_for, generate_history, history_of};
use herma_harness::planted::{PlantedBug, hunt};
use herma_harness::sandbox::Scratch;
use herma_harness::{History, RunOptions, run};
use proptest::prelude::{Rng, RngExt};
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// libFuzzer searches for one bug in so many: each search starts a process, whose code is instrumented.
pub const LIBFUZZER_ONE_IN: usize = 12;

/// A way to generate histories.
pub enum Generator {
    /// The strategy that every run of the suite uses.
    Proptest,
    /// `quickcheck`, with its default size for 60 operations.
    Quickcheck,
    /// `arbitrary`, from random bytes.
    Arbitrary,
    /// Bytes that continue those of histories with new behaviour.
    Guided,
    /// `arbitrary`, with bytes from libFuzzer: the built fuzz target `history`.
    LibFuzzer(PathBuf),
}

/// What a search found.
pub enum SearchResult {
    /// The bug.
    Found(Found),
    /// Nothing.
    Missed,
    /// Nothing was searched.
    NotRun,
}

impl SearchResult {
    /// Whether anything was searched.
    pub fn was_run(&self) -> bool {
        !matches!(self, SearchResult::NotRun)
    }

    /// How the bug was found, if it was.
    pub fn found(&self) -> Option<&Found> {
        match self {
            SearchResult::Found(found) => Some(found),
            SearchResult::Missed | SearchResult::NotRun => None,
        }
    }
}

/// How a bug was found.
pub struct Found {
    /// Histories until the first failure, with it.
    pub histories: u64,
    /// Seconds until then.
    pub seconds: f64,
}

impl Generator {
    /// The heading of its column.
    pub fn name(&self) -> &'static str {
        match self {
            Generator::Proptest => "proptest",
            Generator::Quickcheck => "quickcheck",
            Generator::Arbitrary => "arbitrary",
            Generator::Guided => "guided",
            Generator::LibFuzzer(_) => "libFuzzer",
        }
    }

    /// Whether every bug is searched for, or only one in [`LIBFUZZER_ONE_IN`].
    pub fn is_for(&self, number: usize) -> bool {
        !matches!(self, Generator::LibFuzzer(_)) || number.is_multiple_of(LIBFUZZER_ONE_IN)
    }

    /// Searches for a bug.
    ///
    /// # Errors
    /// A run that could not be made.
    pub fn search(
        &self,
        bug: &PlantedBug,
        seed: u64,
        scratch: &Scratch,
    ) -> Result<SearchResult, String> {
        let options = hunt::options(bug);
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut source = quickcheck::Gen::from_size_and_seed(options.operations_max, seed);
        match self {
            Generator::Proptest => {
                first_failure(bug, scratch, |number, _| generate_history(&options, seed, number))
            }
            Generator::Quickcheck => {
                first_failure(bug, scratch, |_, _| history_from(&mut source, &options))
            }
            Generator::Arbitrary => first_failure(bug, scratch, |_, _| {
                let length = random.random_range(0..=bytes_for(options.operations_max));
                let mut bytes = vec![0; length];
                random.fill_bytes(&mut bytes);
                history_of(&options, &bytes)
            }),
            Generator::Guided => {
                let mut guided = Guided::new(options, seed);
                first_failure(bug, scratch, |_, covered| {
                    guided.learn(covered);
                    guided.generate()
                })
            }
            Generator::LibFuzzer(binary) => {
                let length_max = bytes_for(options.operations_max);
                libfuzzer(binary, bug, seed, length_max)
            }
        }
    }
}

/// Runs histories until one fails. Each is generated from its number and what the one before covered.
fn first_failure(
    bug: &PlantedBug,
    scratch: &Scratch,
    mut generate: impl FnMut(u64, &Coverage) -> History,
) -> Result<SearchResult, String> {
    let started = Instant::now();
    let mut covered = Coverage::default();
    for number in 0..hunt::HISTORIES_MAX {
        let history = generate(number, &covered);
        let run = run(&history, &bug.opener(), scratch, RunOptions::default());
        let run = run.map_err(|error| error.to_string())?;
        if !run.divergences.is_empty() {
            let seconds = started.elapsed().as_secs_f64();
            return Ok(SearchResult::Found(Found { histories: number + 1, seconds }));
        }
        covered = run.coverage;
    }
    Ok(SearchResult::Missed)
}

/// The fuzz target fails at the first history that shows the bug named in its environment.
fn libfuzzer(
    binary: &Path,
    bug: &PlantedBug,
    seed: u64,
    length_max: usize,
) -> Result<SearchResult, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let started = Instant::now();
    let output = Command::new(binary)
        .current_dir(folder.path())
        .env("HERMA_PLANTED", bug.name)
        .args([format!("-seed={seed}"), format!("-runs={}", hunt::HISTORIES_MAX)])
        .args([format!("-max_len={length_max}"), "-print_final_stats=1".into()])
        .output()
        .map_err(|error| format!("{binary:?}: {error}"))?;
    if output.status.success() {
        return Ok(SearchResult::Missed);
    }
    let log = String::from_utf8_lossy(&output.stderr);
    let count = log.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let histories = count.and_then(|count| count.trim().parse().ok());
    let histories = histories.ok_or_else(|| format!("{binary:?} ended without figures: {log}"))?;
    Ok(SearchResult::Found(Found { histories, seconds: started.elapsed().as_secs_f64() }))
}
