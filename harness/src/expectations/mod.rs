//! The expected failures of one implementation, and whether a run has exactly these.
//!
//! A file contains the plan of the run (seeds, histories, operations) and every expected failure, each with
//! a reason and a link. `update` writes it and `gate` reads it. Both need a complete run of the plan: if an
//! incomplete run did not reach a failure, the failure is not fixed.

mod gate;
pub mod report;
mod text;
mod update;

pub use gate::{Judgement, judge};
pub use update::{UpdateRefused, update};

use crate::cases::Case;
use crate::divergence::{Fingerprint, Kind};
use crate::generate::Options;
use crate::results::Started;
use crate::share::Share;
use crate::suite::Plan;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The version of the file.
pub const SCHEMA: u32 = 2;

/// The expectations of one implementation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// The version of the file.
    pub schema: u32,
    /// The name that the implementation reports.
    pub subject: String,
    /// The seeds of the generated histories.
    pub seeds: Vec<u64>,
    /// The number of histories for each seed.
    pub histories: u64,
    /// The maximum number of operations of a history.
    pub operations: usize,
    /// Whether every history has injections, not only a few.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inject: bool,
    /// Of the written cases, only those whose name or rules contain this text are run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases_of: Option<String>,
    /// The minimum number of rules that must be held or broken.
    pub judged: usize,
    /// The maximum number of expected known failures; it is only ever lowered. Failures by design do not
    /// count.
    pub most: usize,
    /// Every expected failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expectation>,
    /// Failures that another file of the same subject expects: they may occur here, too, but need not.
    #[serde(skip)]
    pub elsewhere: Vec<Expectation>,
}

/// Why a failure is expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    /// It is known and to be fixed.
    #[default]
    #[serde(rename = "known failure")]
    KnownFailure,
    /// It is intended by the implementation, for a stated reason.
    #[serde(rename = "by design")]
    ByDesign,
}

/// One expected failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The broken rule.
    pub rule: String,
    /// The kind of the failure.
    pub verdict: Kind,
    /// The symptom, as the run reports it.
    pub symptom: String,
    /// Whether it is a known failure or by design.
    #[serde(default, skip_serializing_if = "Expectation::is_known_failure")]
    pub kind: Why,
    /// The versions of the implementation that have the failure.
    pub versions: semver::VersionReq,
    /// Why it is expected, in words.
    pub reason: String,
    /// A link to a description; failures by design need none.
    #[serde(default)]
    pub link: String,
}

impl Expectation {
    fn is_known_failure(why: &Why) -> bool {
        *why == Why::KnownFailure
    }

    /// Whether the failure is by design.
    pub fn is_by_design(&self) -> bool {
        self.kind == Why::ByDesign
    }

    /// The names of the fields that a user must still fill in.
    pub fn wanting(&self) -> impl Iterator<Item = &'static str> {
        let link = !self.is_by_design() && self.link.trim().is_empty();
        let reason = self.reason.trim().is_empty();
        [(reason, "reason"), (link, "link")]
            .into_iter()
            .filter(|field| field.0)
            .map(|field| field.1)
    }

    /// The fingerprint of the failure.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            rule: self.rule.clone(),
            verdict: self.verdict,
            symptom: self.symptom.clone(),
        }
    }

    /// Whether the entry applies to this version; a version that is not semantic is covered by
    /// every entry.
    pub fn covers(&self, version: &str) -> bool {
        semver::Version::parse(version).map_or(true, |version| self.versions.matches(&version))
    }
}

/// Why there are no expectations.
#[derive(Debug, thiserror::Error)]
pub enum ExpectationsError {
    /// The file cannot be read or written.
    #[error("{file}: {source}; nothing was run")]
    File {
        /// The file.
        file: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file is not valid.
    #[error("{file}: {source}")]
    Form {
        /// The file.
        file: String,
        /// The error, with its position.
        source: toml::de::Error,
    },
    /// The file has another version.
    #[error("{file} is of version {found}, and this program reads version {SCHEMA}")]
    OtherVersion {
        /// The file.
        file: String,
        /// Its version.
        found: u32,
    },
}

impl Expectations {
    /// The entry of a failure in a version, from this file or `elsewhere`.
    fn entry_of(&self, failure: &Fingerprint, version: &str) -> Option<&Expectation> {
        let mut entries = self.expect.iter().chain(&self.elsewhere);
        entries.find(|entry| entry.covers(version) && entry.fingerprint() == *failure)
    }

    /// The plan with these cases, without a limit of time. New failures are not shrunk.
    pub fn plan(&self, cases: Vec<Case>, jobs: usize) -> Plan {
        let expected = self.expect.iter().chain(&self.elsewhere);
        let defaults = Options::default();
        let injections = if self.inject { 1 } else { defaults.injections };
        Plan {
            seeds: self.seeds.clone(),
            histories: self.histories,
            options: Options { operations_max: self.operations, injections, ..defaults },
            // A gate is the same on every machine: histories that are kept on one machine are not part of it.
            kept: Vec::new(),
            cases,
            cases_of: self.cases_of.clone(),
            preset: String::new(),
            jobs,
            shrink_budget: 0,
            time_budget: None,
            known: expected.map(Expectation::fingerprint).collect(),
            share: Share::default(),
        }
    }

    /// Whether a run had this plan.
    pub fn is_plan_of(&self, started: &Started) -> bool {
        started.seeds == self.seeds
            && started.histories == self.histories
            && started.operations == self.operations
            && started.inject == self.inject
            && started.cases_of == self.cases_of
            && started.preset.is_empty()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`ExpectationsError`].
    pub fn load(path: &Path) -> Result<Self, ExpectationsError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ExpectationsError::File { file: file.clone(), source })?;
        Expectations::read(&text, file)
    }

    /// Reads the text of a file; `file` is its name in messages.
    ///
    /// # Errors
    /// [`ExpectationsError`].
    pub fn read(text: &str, file: String) -> Result<Self, ExpectationsError> {
        let read: Expectations = toml::from_str(text)
            .map_err(|source| ExpectationsError::Form { file: file.clone(), source })?;
        if read.schema != SCHEMA {
            return Err(ExpectationsError::OtherVersion { file, found: read.schema });
        }
        Ok(read)
    }

    /// The text of the file.
    pub fn to_text(&self) -> String {
        let body = toml::to_string(self).expect("expectations hold only what TOML can say");
        format!(
            "# What is known to be wrong with {}. Written by `herma-conform update`, which keeps\n\
             # what is written about failures that remain, comments too.\n\n{body}",
            self.subject
        )
    }

    /// Writes the file and keeps what a user wrote in it.
    ///
    /// # Errors
    /// [`ExpectationsError::File`].
    pub fn save(&self, path: &Path) -> Result<(), ExpectationsError> {
        let file = path.display().to_string();
        let before = std::fs::read_to_string(path).unwrap_or_default();
        std::fs::write(path, text::rewritten(&before, self))
            .map_err(|source| ExpectationsError::File { file, source })
    }
}
