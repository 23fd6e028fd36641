//! Careful subjects: correct stores that behave differently from the core. No rule may fail for any of them.
//!
//! `HERMA_CAREFUL=950` judges each by that many histories, which are 28,000 operations or more.
#![allow(clippy::unwrap_used)]

use herma_harness::careful;
use herma_harness::history::file::to_yaml;
use herma_harness::sandbox::Scratch;
use herma_harness::suite::Verdict;
use herma_model::rules;

#[test]
fn no_careful_subject_fails_a_rule() {
    let histories = std::env::var("HERMA_CAREFUL").map_or(20, |text| text.parse().unwrap());
    for subject in careful::ALL {
        let findings = subject.judge(1, histories, &Scratch::in_default_directory()).unwrap();
        println!("{}: {} operations", subject.name, findings.operations);
        let failures: Vec<String> = findings
            .failures
            .iter()
            .map(|(fingerprint, failure)| {
                format!("{fingerprint}\n{}", to_yaml(&failure.shrunk.history))
            })
            .collect();
        assert!(failures.is_empty(), "{}: {}", subject.name, failures.join("\n"));
        let held =
            rules::catalogue().filter(|rule| findings.verdict(rule) == Verdict::Held).count();
        assert!(held >= 12, "{}: only {held} rules held", subject.name);
        assert!(
            findings.operations > 20 * histories,
            "{}: {} operations",
            subject.name,
            findings.operations
        );
    }
}
