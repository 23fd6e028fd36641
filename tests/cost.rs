//! The cost lane as a person uses it: what reads whole files into memory is found, and what does not is
//! not.

use herma_harness::concurrent::Opened;
use herma_harness::cost::{Lane, canary};
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::sandbox::Scratch;
use herma_harness::subject::{AdapterCommand, Identity};
use herma_tests::built_binary;
use pretty_assertions::assert_eq;
use std::ffi::OsString;
use std::process::Command;

#[test]
fn a_store_that_reads_every_file_into_memory_is_found() {
    let program = built_binary("herma-conform").into();
    assert!(canary(&program, &Scratch::default_place()).unwrap());
}

#[test]
fn the_core_takes_no_more_for_a_large_file_and_reads_nothing_that_did_not_change() {
    let program: OsString = built_binary("herma-conform").into();
    let command = [program].into_iter().chain(["adapter", "serve"].map(OsString::from)).collect();
    let directory = std::env::current_dir().unwrap();
    let start = AdapterCommand { command, directory, ..AdapterCommand::default() };
    let (subject, capabilities) = (Identity::default(), Capabilities::complete());
    let opened = Opened { open: &start.opener(), subject, capabilities };
    let lane = Lane { opened: &opened, start: &start, bytes: 48 << 20 };
    let outcome = lane.run(&Scratch::default_place(), &|_| {}).unwrap();
    assert_eq!(outcome.broken().count(), 0, "{}", outcome.text());
    assert_eq!((outcome.figures.len(), outcome.not_judged.len()), (6, 0));
}

#[test]
fn of_a_subject_that_brings_nothing_back_nothing_is_said() {
    let program = built_binary("herma-conform");
    let words = ["adapter", "serve", "--bug", "hasty"];
    let output = Command::new(&program)
        .args(["cost", "--large", "32", "--"])
        .arg(&program)
        .args(words)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("not run: "));
}
