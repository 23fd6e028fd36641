//! A test stack with `quickcheck`: histories are arguments of a property, and a failure is shrunk by the steps
//! of our search. `cargo run --example with_quickcheck --features quickcheck` runs it on a core with
//! a planted bug; an implementer opens a subject of their own instead.

use herma_harness::sandbox::Scratch;
use herma_harness::{CheckError, History, check_unshrunk, planted};
use quickcheck::{Gen, QuickCheck, TestResult};

/// Prints the failure at its end: the last failing history that quickcheck tries is the shortest.
fn keeps_the_rules(history: History) -> TestResult {
    let bug = planted::find("equal-sizes-are-no-change").expect("a planted bug");
    match check_unshrunk(&history, &bug.opener(), &Scratch::in_default_directory()) {
        Ok(()) => TestResult::passed(),
        Err(CheckError::Broken(broken)) => TestResult::error(broken.to_string()),
        // A run that cannot be made says nothing about the subject.
        Err(CheckError::NotRun(_)) => TestResult::discard(),
    }
}

fn quickcheck() -> QuickCheck {
    QuickCheck::new().rng(Gen::from_size_and_seed(60, 1)).tests(500)
}

fn main() {
    println!("seed 1");
    quickcheck().quickcheck(keeps_the_rules as fn(History) -> TestResult);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn quickcheck_finds_the_bug_and_prints_it_at_its_minimum() {
        let property = keeps_the_rules as fn(History) -> TestResult;
        let panic = catch_unwind(|| quickcheck().quickcheck(property)).expect_err("a failure");
        let message = panic.downcast_ref::<String>().expect("a message");
        assert!(message.contains("capture/created"), "{message}");
        assert!(message.contains("4 operations"), "{message}");
    }
}
