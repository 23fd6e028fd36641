//! Judges mutants of the kept inputs of every fuzz target, on stable Rust and without coverage: a smoke test
//! that shares the build of everything else. `cargo run --example fuzz_smoke -- SEED PERCENT
//! [TARGET]` makes so many percent of the usual executions, and prints for each target how many inputs it
//! judged in a second and how many got far.

use herma_harness::hostile::targets::{FuzzTarget, Start, targets};
use proptest::prelude::{Rng, RngExt};
use proptest::test_runner::{RngAlgorithm, TestRng};
use rayon::prelude::*;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// The executions of a target at 100 percent: of texts, of histories, and of stores.
fn executions(target: &FuzzTarget) -> u64 {
    match target.name {
        "command" | "configuration" | "ignore_file" | "request_line" | "reply_line" => 20_000,
        "history" | "injected_history" => 100,
        _ => 1_000,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u64| {
        arguments.get(index).map_or(Ok(default), |argument| argument.parse::<u64>())
    };
    let seed = number(0, 1)?;
    let percent = number(1, 100)?;
    let name = arguments.get(2);
    let start = Start::default();
    let targets = targets();
    let chosen = targets.par_iter().filter(|target| name.is_none_or(|name| target.name == name));
    chosen.try_for_each(|target| {
        smoke(target, &start, seed, executions(target) * percent / 100)
            .map(|line| println!("{line}"))
    })?;
    println!("replay: cargo run --example fuzz_smoke -- {seed} {percent}");
    Ok(())
}

/// Judges so many mutants; returns a line about them.
fn smoke(target: &FuzzTarget, start: &Start, seed: u64, executions: u64) -> Result<String, String> {
    let mut inputs = target.seeds(start);
    let kept = Path::new("fuzz/corpus").join(target.name);
    for file in std::fs::read_dir(kept).into_iter().flatten().flatten() {
        inputs.push(std::fs::read(file.path()).map_err(|error| error.to_string())?);
    }
    inputs.sort();
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let started = Instant::now();
    let mut got_far = 0;
    for _ in 0..executions {
        let input = mutant(&inputs, target.bytes_max, &mut random);
        let seen = target.judge(&input, start).map_err(|violation| {
            format!("{}, seed {seed}: {violation}\ninput: {}", target.name, input.escape_ascii())
        })?;
        got_far += u64::from(seen.got_far);
    }
    let rate = executions as f64 / started.elapsed().as_secs_f64();
    let share = 100 * got_far / executions.max(1);
    Ok(format!("{}: {executions} inputs, {rate:.0} a second, {share}% got far", target.name))
}

/// One of the inputs with a few bytes changed, inserted, removed, or taken from another input.
fn mutant(inputs: &[Vec<u8>], bytes_max: usize, random: &mut TestRng) -> Vec<u8> {
    let mut input = inputs[random.random_range(0..inputs.len())].clone();
    for _ in 0..random.random_range(0..=3) {
        let at = random.random_range(0..=input.len());
        let end = (at + random.random_range(1..=8)).min(input.len());
        match random.random_range(0..4) {
            0 => random.fill_bytes(&mut input[at..end]),
            1 => input.insert(at, random.random_range(0..=255)),
            2 => drop(input.drain(at..end)),
            _ => {
                let other = &inputs[random.random_range(0..inputs.len())];
                input.truncate(at);
                input.extend(other.iter().skip(at));
            }
        }
    }
    input.truncate(bytes_max);
    input
}
