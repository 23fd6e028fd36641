//! Correct stores with habits that are not ours: nothing may be held against any of them.
//!
//! `HERMA_CAREFUL=950` judges each by so many histories, which are 28,000 operations or more.
#![allow(clippy::unwrap_used)]

use herma_harness::careful;
use herma_harness::history::file::to_yaml;
use herma_harness::sandbox::Scratch;
use herma_harness::suite::Verdict;
use herma_model::rules;

#[test]
fn no_careful_subject_is_accused() {
    let histories = std::env::var("HERMA_CAREFUL").map_or(40, |text| text.parse().unwrap());
    for one in careful::ALL {
        let found = one.judge(1, histories, &Scratch::default_place()).unwrap();
        println!("{}: {} operations", one.name, found.operations);
        let accused: Vec<String> = found
            .failures
            .iter()
            .map(|(failure, found)| format!("{failure}\n{}", to_yaml(&found.shrunk.history)))
            .collect();
        assert!(accused.is_empty(), "{}: {}", one.name, accused.join("\n"));
        let held = rules::catalogue().filter(|rule| found.verdict(rule) == Verdict::Held).count();
        assert!(held >= 12, "{}: only {held} rules held", one.name);
        assert!(found.operations > 20 * histories, "{}: {} operations", one.name, found.operations);
    }
}
