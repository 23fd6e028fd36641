//! What each way to generate histories is worth: how many of the planted bugs it finds, and how
//! many operations that takes. Started as `generation [SEEDS] [HISTORIES]`; prints a table.
//!
//! Each bug is looked for by each way and for each seed until one history fails, so that what is
//! measured is the search alone: nothing is shrunk. Operations are what a search costs, since a
//! history of three is cheaper than one of sixty.

use herma_harness::generate::Options;
use herma_harness::generate::exhaustive::Exhaustive;
use herma_harness::generate::source::{Drawn, Guided, Source};
use herma_harness::planted::{self, hunt};
use herma_harness::sandbox::Scratch;
use std::error::Error;

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

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seeds: u64 = arguments.next().map_or(Ok(2), |seeds| seeds.parse())?;
    let histories_max: u64 = arguments.next().map_or(Ok(600), |histories| histories.parse())?;
    let scratch = Scratch::default_place();
    let mut costs: [Vec<Option<usize>>; 4] = Default::default();
    println!("| bug | {} |\n| --- | --- | --- | --- | --- |", WAYS.join(" | "));
    for bug in planted::catalogue() {
        let mut cells = Vec::new();
        for (way, costs) in WAYS.iter().zip(&mut costs) {
            // What is tried in full is the same for every seed.
            let seeds = if *way == "exhaustive" { 1 } else { seeds };
            let histories_max = if *way == "exhaustive" { u64::MAX } else { histories_max };
            let mut own = Vec::new();
            for seed in 1..=seeds {
                let mut source = source(way, seed);
                let found = hunt::find(bug, &mut *source, histories_max, &scratch)?;
                own.push(found.map(|found| found.operations));
            }
            let shown = |cost: &Option<usize>| cost.map_or("-".into(), |cost| cost.to_string());
            cells.push(own.iter().map(shown).collect::<Vec<_>>().join(", "));
            costs.extend(own);
        }
        println!("| {} | {} |", bug.name, cells.join(" | "));
    }
    println!("\n| way | found | median | mean of the found |\n| --- | --- | --- | --- |");
    for (way, costs) in WAYS.iter().zip(&mut costs) {
        costs.sort_by_key(|cost| cost.unwrap_or(usize::MAX));
        let found: Vec<usize> = costs.iter().flatten().copied().collect();
        let middle = costs.get(costs.len() / 2).copied().flatten();
        let middle = middle.map_or("-".into(), |cost| cost.to_string());
        let mean = found.iter().sum::<usize>() / found.len().max(1);
        println!("| {way} | {} of {} | {middle} | {mean} |", found.len(), costs.len());
    }
    Ok(())
}
