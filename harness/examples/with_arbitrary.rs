//! A test stack with `arbitrary`: any bytes are a history, here random ones; a target of `cargo-fuzz` has
//! `fuzz_target!(|history: History| …)` with the same body. `cargo run --example with_arbitrary
//! --features arbitrary` runs it on a core with a planted bug; an implementer opens a subject of their own.

use arbitrary::{Arbitrary, Unstructured};
use herma_harness::sandbox::Scratch;
use herma_harness::{CheckError, History, check, planted};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// The first failure of at most 500 histories from random bytes, at its minimum.
fn first_failure(seed: u8) -> Result<(), CheckError> {
    let bug = planted::find("equal-sizes-are-no-change").expect("a planted bug");
    let scratch = Scratch::in_default_directory();
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    for _ in 0..500 {
        let mut bytes = [0; 250];
        random.fill_bytes(&mut bytes);
        let history = History::arbitrary_take_rest(Unstructured::new(&bytes));
        check(&history.expect("no input is rejected"), &bug.opener(), &scratch)?;
    }
    Ok(())
}

fn main() -> Result<(), CheckError> {
    println!("seed 1");
    first_failure(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arbitrary_finds_the_bug_and_prints_it_at_its_minimum() {
        let message = first_failure(1).expect_err("a failure").to_string();
        assert!(message.contains("capture/created"), "{message}");
        assert!(message.contains("4 operations"), "{message}");
    }

    #[test]
    fn a_short_input_is_a_short_history() {
        let history = History::arbitrary(&mut Unstructured::new(&[]));
        assert!(history.expect("no input is rejected").operations.is_empty());
    }
}
