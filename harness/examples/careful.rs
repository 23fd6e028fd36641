//! Runs every careful subject for a number of histories (default 800, some 20,000 operations), and
//! prints what is held against it: `cargo run --release --example careful -- 800 1`.

use herma_harness::careful;
use herma_harness::cases;
use herma_harness::generate::Options;
use herma_harness::sandbox::Scratch;
use herma_harness::suite::{Plan, Verdict, introduce, run_suite};
use herma_model::rules;
use std::collections::BTreeSet;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|one| one.parse::<u64>());
    let histories = numbers.next().transpose()?.unwrap_or(800);
    let seed = numbers.next().transpose()?.unwrap_or(1);
    let mut accused = 0;
    for one in careful::ALL {
        let (open, scratch) = (one.opener(), Scratch::default_place());
        let (_, capabilities) = introduce(&open, &scratch)?;
        let (options, known) = (Options::default(), BTreeSet::new());
        let (cases, kept) = (cases::bundled()?, Vec::new());
        let plan = Plan {
            seeds: vec![seed],
            histories,
            options,
            kept,
            cases,
            jobs: 2,
            shrink_budget: 300,
            known,
        };
        let found = run_suite(&plan.within(&capabilities), &open, &scratch, &|_| {})?;
        let held = rules::catalogue().filter(|rule| found.verdict(rule) == Verdict::Held).count();
        println!("{:<18} {:>6} operations, {held} rules held", one.name, found.operations);
        for (fingerprint, failure) in &found.failures {
            accused += 1;
            let shown = &failure.shrunk;
            println!(
                "  {fingerprint}\n{}",
                herma_harness::report::counterexample(&shown.history, &shown.divergence)
            );
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
