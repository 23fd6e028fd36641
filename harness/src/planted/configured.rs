//! Bugs of the configuration file: keys that are not read, and defaults that are others.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::intercepted::Intercepted;
use herma_model::configuration::Configuration;
use herma_model::{Answer, Request, rules};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[PlantedBug {
    name: "a-key-is-not-read",
    rule: &rules::CONFIG_KEYS,
    about: "The file may say anything of the retention: it is the usual one.",
    operations_min: 2,
    flaw: Intercept(|subject, request| {
        read(subject, request, |read| {
            read.retention_days = Configuration::default().retention_days;
        })
    }),
}];

/// What the core read, changed.
fn read(
    subject: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&mut Configuration),
) -> Answer {
    let mut answer = subject.ask(request);
    if let Answer::Configured(read) = &mut answer {
        change(read);
    }
    answer
}
