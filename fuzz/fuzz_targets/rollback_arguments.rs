//! Fuzz target: arbitrary bytes as the arguments that a user types after `rollback`.
#![no_main]

use herma_harness::hostile::arguments;
use herma_harness::sandbox::Scratch;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|typed: &[u8]| {
    if let Err(violation) = arguments::judge_line(typed, &Scratch::in_default_directory()) {
        panic!("{violation}");
    }
});
