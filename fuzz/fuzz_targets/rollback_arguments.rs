//! Any bytes as what is typed after `rollback`.
#![no_main]

use herma_harness::hostile::arguments;
use herma_harness::sandbox::Scratch;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|typed: &[u8]| {
    if let Err(why) = arguments::judge_line(typed, &Scratch::default_place()) {
        panic!("{why}");
    }
});
