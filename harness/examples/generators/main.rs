//! Compares the generators: how many histories does each need until it finds each planted bug?
//!
//! `cargo run --example generators --features quickcheck,arbitrary -- docs/generation.md` computes
//! the page and its plot; with `--libfuzzer FILE` also for the fuzz target `history`, of which FILE is the
//! built binary. `--before LOG` takes results from the output of a run that was ended, or from the page, and
//! after `--minutes N` no further search starts. `--check N` compares a sample with the page instead: of the
//! bugs that every generator finds soon, each 40th, starting at the N-th.

mod challenge;
mod page;
mod plot;
mod search;

use herma_harness::planted::{self, PlantedBug};
use herma_harness::{parallel, sandbox::Scratch};
use page::BugRow;
use search::{Found, Generator, SearchResult};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The seed of every search.
const SEED: u64 = 1;
/// Of so many bugs, a sample contains one.
const SAMPLE: usize = 40;
/// A bug is found soon within so many histories.
const SOON: u64 = 30;

/// The arguments of the command.
struct CommandArguments {
    page: PathBuf,
    libfuzzer: Option<PathBuf>,
    /// The output of a run that was ended.
    before: String,
    /// After so long no search starts.
    most: Duration,
    /// The first bug of a sample; `None` computes the page.
    check: Option<usize>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let CommandArguments { page, libfuzzer, before, most, check } = arguments()?;
    let mut generators =
        vec![Generator::Proptest, Generator::Quickcheck, Generator::Arbitrary, Generator::Guided];
    generators.extend(libfuzzer.map(Generator::LibFuzzer));
    let mut bugs: Vec<&PlantedBug> = planted::catalogue().collect();
    if let Some(number) = check {
        let text = std::fs::read_to_string(&page)?;
        bugs.retain(|bug| is_found_soon(&text, bug, generators.len()));
        bugs = bugs.into_iter().skip(number % SAMPLE).step_by(SAMPLE).collect();
    }
    println!("seed {SEED}, {} bugs, {} generators", bugs.len(), generators.len());
    let rows = rows(&bugs, &generators, &before, most)?;
    if check.is_some() {
        return check_sample(&rows, &page);
    }
    std::fs::write(page.with_extension("svg"), plot::plot(&generators, &rows))?;
    std::fs::write(&page, page::page(&generators, &rows, &challenge::results()))?;
    Ok(())
}

fn arguments() -> Result<CommandArguments, String> {
    let mut read = CommandArguments {
        page: PathBuf::new(),
        libfuzzer: None,
        before: String::new(),
        most: Duration::MAX,
        check: None,
    };
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--libfuzzer" => read.libfuzzer = Some(value()?.into()),
            "--before" => {
                let file = value()?;
                read.before = std::fs::read_to_string(&file)
                    .map_err(|error| format!("{file} cannot be read: {error}"))?;
            }
            "--minutes" => {
                let minutes: u64 = value()?.parse().map_err(|_| "--minutes needs a number")?;
                read.most = Duration::from_secs(minutes * 60);
            }
            "--check" => read.check = Some(value()?.parse().map_err(|_| "--check needs a number")?),
            _ => read.page = argument.into(),
        }
    }
    if read.page.as_os_str().is_empty() {
        return Err("the file of the page is missing, such as docs/generation.md".into());
    }
    Ok(read)
}

/// Searches for each bug with each generator, unless the output `before` has its results; prints each result.
fn rows(
    bugs: &[&'static PlantedBug],
    generators: &[Generator],
    before: &str,
    most: Duration,
) -> Result<Vec<BugRow>, Box<dyn Error>> {
    let started = Instant::now();
    let scratch = Scratch::in_default_directory();
    let done = AtomicUsize::new(0);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let searched = parallel::try_map(bugs.iter().enumerate(), jobs, |(number, bug)| {
        let published = page::published(before, bug.name);
        if let Some(results) = published.filter(|results| results.iter().any(SearchResult::was_run))
        {
            return Ok(BugRow { bug, results });
        }
        let results = generators.iter().map(|generator| match generator.is_for(number) {
            true if started.elapsed() < most => generator.search(bug, SEED, &scratch),
            _ => Ok(SearchResult::NotRun),
        });
        let row = BugRow { bug, results: results.collect::<Result<_, String>>()? };
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        let seconds = started.elapsed().as_secs();
        println!("{done} of {}, {seconds} s: {}", bugs.len(), row.line());
        Ok::<BugRow, String>(row)
    });
    Ok(searched?)
}

/// Whether a page says that the first so many generators found this bug soon.
fn is_found_soon(page: &str, bug: &PlantedBug, generators: usize) -> bool {
    let results = page::published(page, bug.name).unwrap_or_default();
    let is_soon = |found: &Found| found.histories <= SOON;
    let soon = results.iter().take(generators).filter(|result| result.found().is_some_and(is_soon));
    soon.count() == generators
}

/// Compares a sample with the page: what the page says was found is found again, within ten times as many
/// histories and 100 more, since every change of the generator moves the numbers.
fn check_sample(rows: &[BugRow], file: &Path) -> Result<(), Box<dyn Error>> {
    let page = std::fs::read_to_string(file)?;
    let mut compared = 0;
    for row in rows {
        let published = page::published(&page, row.bug.name)
            .ok_or_else(|| format!("{file:?} has no row for {}", row.bug.name))?;
        for (outcome, published) in row.results.iter().zip(published) {
            let Some(published) = published.found().map(|found| found.histories) else { continue };
            let most = 10 * published + 100;
            if outcome.found().is_none_or(|found| found.histories > most) {
                let line = row.line();
                return Err(format!("{file:?} says {published} histories, not: {line}").into());
            }
            compared += 1;
        }
    }
    println!("{compared} figures of the page are confirmed");
    if compared == 0 { Err("nothing was compared".into()) } else { Ok(()) }
}
