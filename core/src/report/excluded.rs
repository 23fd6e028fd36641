//! The report about what no checkpoint of a project holds, because patterns exclude it.

use crate::ignore::Exclusion;
use crate::path::is_at_or_below;
use crate::remark::all_escaped;
use serde::Serialize;

/// The excluded entries of a project, by pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Excluded {
    /// How many entries there are; an excluded folder is one entry.
    pub count: usize,
    /// The patterns, the built-in ones first.
    pub patterns: Vec<ExcludedBy>,
}

/// A pattern, and the entries that it excludes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExcludedBy {
    /// The pattern, and where it is.
    #[serde(flatten)]
    pub exclusion: Exclusion,
    /// How many entries it excludes.
    pub count: usize,
    /// Their paths relative to the project, sorted; that of a folder ends in a slash.
    #[serde(serialize_with = "all_escaped")]
    pub paths: Vec<Vec<u8>>,
}

impl Excluded {
    /// What excludes a path, or a folder above it.
    pub fn exclusion_of(&self, path: &[u8]) -> Option<&Exclusion> {
        let covers =
            |found: &Vec<u8>| is_at_or_below(path, found.strip_suffix(b"/").unwrap_or(found));
        let by = self.patterns.iter().find(|pattern| pattern.paths.iter().any(covers));
        by.map(|pattern| &pattern.exclusion)
    }

    /// The report about these entries, which are sorted.
    pub(crate) fn of(entries: Vec<(Exclusion, Vec<u8>)>) -> Self {
        let count = entries.len();
        let mut patterns: Vec<ExcludedBy> = Vec::new();
        for (exclusion, path) in entries {
            match patterns.last_mut().filter(|last| last.exclusion == exclusion) {
                Some(last) => {
                    last.count += 1;
                    last.paths.push(path);
                }
                None => patterns.push(ExcludedBy { exclusion, count: 1, paths: vec![path] }),
            }
        }
        Excluded { count, patterns }
    }
}
