//! The page of what a generated world can be: how many of a thousand histories have each condition of a
//! project, a home, a store, a configuration, a clock, a process and an agent, and which conditions none has, and why.

mod agent;
mod conditions;
mod surroundings;

use crate::docs::assert_page;
use agent::AGENT;
use conditions::Occurrence::{self, Always, In, Never};
use conditions::{HOME, PROJECT};
use herma_harness::generate::{Options, generate_history};
use herma_harness::history::History;
use std::fmt::Write;
use std::ops::Range;
use std::thread;
use surroundings::{CLOCK, CONFIGURATION, PROCESS, STORE};

/// How many histories are generated, and with which seed.
const HISTORIES: u64 = 1_000;
const SEED: u64 = 1;

/// The tables of the page.
const TABLES: [(&str, &[(&str, Occurrence)]); 7] = [
    ("A project", PROJECT),
    ("The home", HOME),
    ("The store", STORE),
    ("The configuration", CONFIGURATION),
    ("The clock", CLOCK),
    ("The process", PROCESS),
    ("The agent", AGENT),
];

/// The page; each condition that should occur, and does not, is added to `absent`.
fn page(absent: &mut Vec<&str>) -> String {
    let generate = |numbers: Range<u64>| -> Vec<History> {
        numbers.map(|number| generate_history(&Options::default(), SEED, number)).collect()
    };
    // Generating takes nearly all of the time of this test.
    let histories = thread::scope(|scope| {
        let first = scope.spawn(|| generate(0..HISTORIES / 2));
        let second = generate(HISTORIES / 2..HISTORIES);
        [first.join().unwrap(), second].concat()
    });
    let mut page = format!(
        "# What a generated world can be\n\nHow many of {HISTORIES} generated histories, those of seed \
         {SEED}, have each condition. A condition that no history has is named with the reason. The page \
         is computed by a test that only generates the histories: do not edit it.\n"
    );
    for (title, conditions) in TABLES {
        write!(page, "\n## {title}\n\n| condition | histories |\n| --- | ---: |\n").unwrap();
        for (condition, occurrence) in conditions {
            let cell = match occurrence {
                In(is_match) => {
                    let count = histories.iter().filter(|history| is_match(history)).count();
                    absent.extend((count == 0).then_some(*condition));
                    count.to_string()
                }
                Always(place) => format!("all: {place}"),
                Never(reason) => format!("none: {reason}"),
            };
            writeln!(page, "| {condition} | {cell} |").unwrap();
        }
    }
    page
}

#[test]
fn the_published_worlds_are_those_that_are_generated_and_none_is_missing() {
    let mut absent = Vec::new();
    let text = page(&mut absent);
    assert_page("worlds.md", &text);
    assert_eq!(absent, [""; 0], "generate these, or name the reason why not");
}
