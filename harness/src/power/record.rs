//! The results of mutants, as a file of lines. It is written while the mutants run, read to resume an
//! interrupted run, and merged with the files of other shares.

use super::{Mutant, Outcome, PowerError};
use crate::subject::Identity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// The parameters of a run: results belong together if their headers are equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the suite.
    pub suite: String,
    /// The package.
    pub subject: Identity,
    /// The seed of the sample.
    pub seed: u64,
    /// The size of the sample.
    pub sample: usize,
    /// The number of all mutants.
    pub mutants: usize,
    /// The number of mutants on lines that the plan reaches.
    pub reached: usize,
    /// The seeds of the gate's plan.
    pub seeds: Vec<u64>,
    /// The number of histories for each seed.
    pub histories: u64,
    /// The maximum number of operations of a history.
    pub operations: usize,
    /// The number of written cases.
    pub cases: usize,
}

/// A mutant and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// The change.
    pub mutant: Mutant,
    /// Whether it was noticed, and by which failure.
    pub outcome: Outcome,
}

/// One line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Header(Header),
    /// Every other line.
    Judged(Box<Judged>),
}

/// All results of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// The parameters of the run.
    pub header: Header,
    /// Mutants by their id.
    pub judged: BTreeMap<String, Judged>,
}

impl Records {
    /// No results yet.
    pub fn new(header: Header) -> Self {
        Records { header, judged: BTreeMap::new() }
    }

    /// Reads a file; `None` if it does not exist. An incomplete last line is left out.
    ///
    /// # Errors
    /// [`PowerError::File`]: the file cannot be read, or does not begin with a header.
    pub fn read(path: &Path) -> Result<Option<Self>, PowerError> {
        let failed = |error| PowerError::File(path.display().to_string(), error);
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(failed)?,
        };
        let mut lines = text.lines().map_while(|line| serde_json::from_str(line).ok());
        let Some(Line::Header(header)) = lines.next() else {
            let error = io::Error::new(io::ErrorKind::InvalidData, "no results of `power`");
            return Err(failed(error));
        };
        let mut records = Records::new(header);
        for line in lines {
            if let Line::Judged(judged) = line {
                records.judged.insert(judged.mutant.id(), *judged);
            }
        }
        Ok(Some(records))
    }

    /// Adds the results of another file, if it belongs to the same run. The names are those of the two files, for the error.
    ///
    /// # Errors
    /// [`PowerError::Different`].
    pub fn merge(
        &mut self,
        records: Records,
        own_name: &str,
        name: &str,
    ) -> Result<(), PowerError> {
        let left = &self.header;
        let right = &records.header;
        let differs = [
            ("the suite", left.suite != right.suite),
            ("the subject", left.subject != right.subject),
            (
                "the sample",
                (left.seed, left.sample, left.mutants) != (right.seed, right.sample, right.mutants),
            ),
            (
                "the gate",
                (&left.seeds, left.histories, left.operations, left.cases)
                    != (&right.seeds, right.histories, right.operations, right.cases),
            ),
        ];
        if let Some((difference, _)) = differs.into_iter().find(|(_, differs)| *differs) {
            return Err(PowerError::Different(own_name.to_owned(), name.to_owned(), difference));
        }
        self.judged.extend(records.judged);
        Ok(())
    }

    /// The number of noticed mutants.
    pub fn noticed(&self) -> usize {
        self.judged.values().filter(|judged| judged.outcome != Outcome::NotNoticed).count()
    }

    /// Writes all results to a new file, and returns the file to add lines.
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
