//! Any tree in the store, restored into a sandbox with sentinels outside.
#![no_main]

use herma_harness::hostile::stored_tree;
use herma_harness::sandbox::Scratch;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let trees = stored_tree::from_bytes(input);
    if let Err(why) = stored_tree::judge(&trees, &Scratch::default_place()) {
        panic!("{why}\n{trees:?}");
    }
});
