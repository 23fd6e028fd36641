//! What each way to generate histories is worth: how many of the planted bugs it finds, and how
//! many operations it needs. Started as `generation [SEEDS] [HISTORIES]`; prints a table.
//!
//! Each way searches for each bug with each seed until one history fails. Only this search is
//! measured: nothing is shrunk. Its cost is counted in operations, since a history of three is
//! cheaper than one of sixty.

use herma_harness::generate::Options;
use herma_harness::generate::exhaustive::Exhaustive;
use herma_harness::generate::source::{Drawn, Guided, Source};
use herma_harness::parallel;
use herma_harness::planted::{self, PlantedBug, hunt};
use herma_harness::sandbox::Scratch;
use std::error::Error;
use std::thread;

const WAYS: [&str; 4] = ["plain", "swarm", "guided", "exhaustive"];
/// Longer short histories would be too many.
const LENGTH_MAX: u32 = 2;

fn source(way: &str, seed: u64) -> Box<dyn Source> {
    let plain = Options { swarm: false, ..Options::default() };
    match way {
        "plain" => Box::new(Drawn::new(plain, seed)),
        "swarm" => Box::new(Drawn::new(Options::default(), seed)),
        "guided" => Box::new(Guided::new(Options::default(), seed)),
        _ => Box::new(Exhaustive::new(LENGTH_MAX)),
    }
}

/// How many operations each seed needed to find the bug; `None` if it was not found.
fn costs(
    bug: &PlantedBug,
    way: &str,
    seeds: u64,
    histories_max: u64,
) -> Result<Vec<Option<usize>>, String> {
    // What is tried in full is the same for every seed.
    let (seeds, histories_max) =
        if way == "exhaustive" { (1, u64::MAX) } else { (seeds, histories_max) };
    let scratch = Scratch::default_place();
    let look = |seed| {
        let found = hunt::find(bug, &mut *source(way, seed), histories_max, &scratch);
        found.map(|found| found.map(|found| found.operations)).map_err(|error| error.to_string())
    };
    (1..=seeds).map(look).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seeds: u64 = arguments.next().map_or(Ok(2), |seeds| seeds.parse())?;
    let histories_max: u64 = arguments.next().map_or(Ok(600), |histories| histories.parse())?;
    let searches = planted::catalogue().flat_map(|bug| WAYS.map(|way| (bug, way)));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let found =
        parallel::try_map(searches, cores, |(bug, way)| costs(bug, way, seeds, histories_max))?;
    println!("| bug | {} |\n| --- | --- | --- | --- | --- |", WAYS.join(" | "));
    let shown = |cost: &Option<usize>| cost.map_or("-".into(), |cost| cost.to_string());
    for (bug, costs) in planted::catalogue().zip(found.chunks(WAYS.len())) {
        let cells = costs.iter().map(|own| own.iter().map(shown).collect::<Vec<_>>().join(", "));
        println!("| {} | {} |", bug.name, cells.collect::<Vec<_>>().join(" | "));
    }
    println!("\n| way | found | median | mean of the found |\n| --- | --- | --- | --- |");
    for (place, way) in WAYS.iter().enumerate() {
        let all = found.iter().skip(place).step_by(WAYS.len()).flatten();
        let mut costs: Vec<Option<usize>> = all.copied().collect();
        costs.sort_by_key(|cost| cost.unwrap_or(usize::MAX));
        let found: Vec<usize> = costs.iter().flatten().copied().collect();
        let middle = shown(&costs.get(costs.len() / 2).copied().flatten());
        let mean = found.iter().sum::<usize>() / found.len().max(1);
        println!("| {way} | {} of {} | {middle} | {mean} |", found.len(), costs.len());
    }
    Ok(())
}
