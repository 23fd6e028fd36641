//! A test stack with `proptest`: a strategy generates histories, and [`check`] shrinks a failure.
//! `cargo run --example with_proptest` runs it on a core with a planted bug; an implementer opens a
//! subject of their own instead, and writes the test with the macro `proptest!`.

use herma_harness::sandbox::Scratch;
use herma_harness::{check, generate, planted};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// The first failure of at most 500 histories, at its minimum.
fn first_failure(seed: u8) -> Result<(), String> {
    let bug = planted::find("equal-sizes-are-no-change").expect("a planted bug");
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let config = Config { cases: 500, failure_persistence: None, ..Config::default() };
    // `check` shrinks, so that proptest need not.
    let histories = generate::history().no_shrink();
    let result = TestRunner::new_with_rng(config, random).run(&histories, |history| {
        check(&history, &bug.opener(), &Scratch::in_default_directory())
            .map_err(|error| TestCaseError::fail(error.to_string()))
    });
    result.map_err(|error| match error {
        TestError::Fail(reason, _) => reason.message().to_owned(),
        TestError::Abort(reason) => format!("not run: {reason}"),
    })
}

fn main() -> Result<(), String> {
    println!("seed 2");
    first_failure(2).inspect_err(|message| println!("{message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proptest_finds_the_bug_and_prints_it_at_its_minimum() {
        let message = first_failure(2).expect_err("a failure");
        assert!(message.contains("capture/created"), "{message}");
        assert!(message.contains("4 operations"), "{message}");
    }
}
