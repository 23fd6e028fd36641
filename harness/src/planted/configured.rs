//! Bugs of the configuration file: keys that are not read.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use herma_model::configuration::Configuration;
use herma_model::{Answer, rules};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[PlantedBug {
    name: "a-key-is-not-read",
    rule: &rules::CONFIG_KEYS,
    about: "The configured retention is ignored, and the default is used.",
    operations_min: 2,
    flaw: Intercept(|subject, request| {
        let mut answer = subject.ask(request);
        if let Answer::Configured(read) = &mut answer {
            read.retention_days = Configuration::default().retention_days;
        }
        answer
    }),
}];
