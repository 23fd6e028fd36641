//! What is known to be wrong with one implementation, and whether a run shows exactly that.
//!
//! A file names the run (seeds, histories, operations) and every failure it is expected to show,
//! each with a reason and a link. It is written by `update` and read by `gate`; both need a whole
//! run of that plan, since a failure that was not reached is not fixed.

mod gate;
pub mod report;
mod text;
mod update;

pub use gate::{Judgement, judge};
pub use update::{UpdateRefused, update};

use crate::divergence::{Fingerprint, Kind};
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
    /// The name that the implementation gives itself.
    pub subject: String,
    /// Which histories are drawn, one set for each seed.
    pub seeds: Vec<u64>,
    /// How many for each seed.
    pub histories: u64,
    /// The most operations of one history.
    pub operations: usize,
    /// Whether something is made to happen at a call in each history, not in a few.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inject: bool,
    /// How many rules must be judged, held or broken: fewer is too little.
    pub judged: usize,
    /// How many known failures may be expected at most; it is only ever lowered. What is by design
    /// does not count.
    pub most: usize,
    /// Every expected failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Entry>,
    /// What another file of the same subject expects: it may show here, too, and need not.
    #[serde(skip)]
    pub elsewhere: Vec<Entry>,
}

/// Why a failure is expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    /// It is known and to be mended.
    #[default]
    #[serde(rename = "known failure")]
    KnownFailure,
    /// The implementation does so on purpose, and says why.
    #[serde(rename = "by design")]
    ByDesign,
}

/// One expected failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The broken rule.
    pub rule: String,
    /// How it is broken.
    pub verdict: Kind,
    /// What is wrong, as the run words it.
    pub symptom: String,
    /// Whether it is to be mended.
    #[serde(default, skip_serializing_if = "Entry::is_usual")]
    pub kind: Why,
    /// The versions of the implementation that this is about.
    pub versions: semver::VersionReq,
    /// Why it is expected, in words.
    pub reason: String,
    /// Where it is written about; what is by design needs none.
    #[serde(default)]
    pub link: String,
}

impl Entry {
    fn is_usual(why: &Why) -> bool {
        *why == Why::KnownFailure
    }

    /// Whether the implementation does so on purpose.
    pub fn is_by_design(&self) -> bool {
        self.kind == Why::ByDesign
    }

    /// What a person has still to write, if anything.
    pub fn wanting(&self) -> impl Iterator<Item = &'static str> {
        let link = !self.is_by_design() && self.link.trim().is_empty();
        let reason = self.reason.trim().is_empty();
        [(reason, "reason"), (link, "link")].into_iter().filter(|one| one.0).map(|one| one.1)
    }

    /// What identifies the failure.
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
        /// Which.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not of the form.
    #[error("{file}: {source}")]
    Form {
        /// Which.
        file: String,
        /// What is wrong, with the place.
        source: toml::de::Error,
    },
    /// It is of another version.
    #[error("{file} is of version {found}, and this program reads version {SCHEMA}")]
    OtherVersion {
        /// Which.
        file: String,
        /// Its version.
        found: u32,
    },
}

impl Expectations {
    /// The entry of a failure of that version, if it is known here or elsewhere.
    fn known(&self, failure: &Fingerprint, version: &str) -> Option<&Entry> {
        let mut all = self.expect.iter().chain(&self.elsewhere);
        all.find(|entry| entry.covers(version) && entry.fingerprint() == *failure)
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

    /// Reads the text of a file; `file` is what it is called in messages.
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

    /// Writes the file; what a person wrote in it stays.
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
