//! What is known of mutants, as a file of lines that is written while they run, read back to go on
//! where a run ended, and merged with those of other shares.

use super::{Mutant, Outcome, PowerError};
use crate::subject::Identity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// What a run was about: results belong together if theirs are the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the suite.
    pub suite: String,
    /// The package.
    pub subject: Identity,
    /// Which mutants are in the sample.
    pub seed: u64,
    /// How many were sampled.
    pub sample: usize,
    /// How many mutants there are in all.
    pub mutants: usize,
    /// How many of them are on lines that the plan reaches.
    pub reached: usize,
    /// The seeds of the gate's plan.
    pub seeds: Vec<u64>,
    /// Its histories for each seed.
    pub histories: u64,
    /// The most operations of one.
    pub operations: usize,
    /// The written cases in it.
    pub cases: usize,
}

/// A mutant, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// The change.
    pub mutant: Mutant,
    /// Whether it was noticed, and by what.
    pub outcome: Outcome,
}

/// One line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first.
    Header(Header),
    /// Every other.
    Judged(Box<Judged>),
}

/// All that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// What the run was about.
    pub header: Header,
    /// Mutants by their id.
    pub judged: BTreeMap<String, Judged>,
}

impl Records {
    /// Nothing yet.
    pub fn new(header: Header) -> Self {
        Records { header, judged: BTreeMap::new() }
    }

    /// Reads a file; `None` if there is none. A last line that was cut short is left out.
    ///
    /// # Errors
    /// [`PowerError::File`]: it cannot be read, or begins with something else.
    pub fn read(path: &Path) -> Result<Option<Self>, PowerError> {
        let failed = |error| PowerError::File(path.display().to_string(), error);
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(failed)?,
        };
        let mut lines = text.lines().map_while(|line| serde_json::from_str(line).ok());
        let Some(Line::Header(header)) = lines.next() else {
            let other = io::Error::new(io::ErrorKind::InvalidData, "no results of `power`");
            return Err(failed(other));
        };
        let mut records = Records::new(header);
        for line in lines {
            if let Line::Judged(judged) = line {
                records.judged.insert(judged.mutant.id(), *judged);
            }
        }
        Ok(Some(records))
    }

    /// Adds what another file knows, if it is of the same run.
    ///
    /// # Errors
    /// [`PowerError::Different`].
    pub fn merge(&mut self, other: Records, names: (&str, &str)) -> Result<(), PowerError> {
        let (one, its) = (&self.header, &other.header);
        let differs = [
            ("the suite", one.suite != its.suite),
            ("the subject", one.subject != its.subject),
            (
                "the sample",
                (one.seed, one.sample, one.mutants) != (its.seed, its.sample, its.mutants),
            ),
            (
                "the gate",
                (&one.seeds, one.histories, one.operations, one.cases)
                    != (&its.seeds, its.histories, its.operations, its.cases),
            ),
        ];
        if let Some((what, _)) = differs.into_iter().find(|(_, differs)| *differs) {
            return Err(PowerError::Different(names.0.to_owned(), names.1.to_owned(), what));
        }
        self.judged.extend(other.judged);
        Ok(())
    }

    /// How many were noticed.
    pub fn noticed(&self) -> usize {
        self.judged.values().filter(|one| one.outcome != Outcome::NotNoticed).count()
    }

    /// Opens the file to add lines to it, after writing anew what is known.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn file(&self, path: &Path) -> io::Result<fs::File> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::File::create(path)?;
        write(&mut file, &Line::Header(self.header.clone()))?;
        for judged in self.judged.values() {
            write(&mut file, &Line::Judged(Box::new(judged.clone())))?;
        }
        Ok(file)
    }
}

/// Adds one line.
///
/// # Errors
/// It cannot be written.
pub fn write(file: &mut fs::File, line: &Line) -> io::Result<()> {
    let text = serde_json::to_string(line).expect("a line holds only what JSON can say");
    writeln!(file, "{text}")
}
