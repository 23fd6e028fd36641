//! Runs every careful subject for a number of histories (default 800, some 20,000 operations) from a seed,
//! and prints the failures that it is accused of: `cargo run --example careful -- 800 1`. A third
//! argument names the only subject to run.

use herma_harness::careful;
use herma_harness::report::counterexample;
use herma_harness::sandbox::Scratch;
use herma_harness::suite::Verdict;
use herma_model::rules;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.get(2);
    let mut numbers = arguments.iter().take(2).map(|argument| argument.parse::<u64>());
    let histories = numbers.next().transpose()?.unwrap_or(800);
    let seed = numbers.next().transpose()?.unwrap_or(1);
    let mut accused = 0;
    for subject in
        careful::ALL.iter().filter(|subject| name.is_none_or(|name| subject.name == name))
    {
        println!("{}: {}", subject.name, subject.about);
        let found = subject.judge(seed, histories, &Scratch::in_default_directory())?;
        let held = rules::catalogue().filter(|rule| found.verdict(rule) == Verdict::Held).count();
        println!("  {} operations, {held} rules held", found.operations);
        for (fingerprint, failure) in &found.failures {
            accused += 1;
            let shown = &failure.shrunk;
            println!("  {fingerprint}\n{}", counterexample(&shown.history, &shown.divergence));
        }
        for fingerprint in found.following.keys() {
            println!("  may follow: {fingerprint}");
        }
    }
    if accused > 0 {
        return Err(format!("{accused} accusations, seed {seed}").into());
    }
    Ok(())
}
