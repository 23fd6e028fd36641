//! Fuzz target: restores an arbitrary stored tree into a sandbox with sentinel files outside.
#![no_main]

use herma_harness::hostile::stored_tree;
use herma_harness::sandbox::Scratch;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let trees = stored_tree::from_bytes(input);
    if let Err(violation) = stored_tree::judge(&trees, &Scratch::in_default_directory()) {
        panic!("{violation}\n{trees:?}");
    }
});
