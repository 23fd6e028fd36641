//! Any bytes as the target of a rollback, any bytes as the path; a newline parts the two.
#![no_main]

use herma_harness::hostile::arguments;
use herma_harness::sandbox::Scratch;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let cut = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (target, path) = (&input[..cut], input.get(cut + 1..).unwrap_or_default());
    if let Err(why) = arguments::judge(target, path, &Scratch::default_place()) {
        panic!("{why}");
    }
});
