//! Remarks on paths, in answers and in checkpoints.

use crate::path::shown;
use serde::{Serialize, Serializer};

/// A path and what happened to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// Relative to the project, as bytes; serialized with all but printable ASCII escaped.
    #[serde(serialize_with = "escaped")]
    pub path: Vec<u8>,
    /// What happened to it, for people.
    pub why: String,
}

impl Remark {
    pub(crate) fn new(path: &[u8], why: String) -> Self {
        Remark { path: path.to_vec(), why }
    }
}

/// A path as it is serialized: with all but printable ASCII escaped.
pub(crate) fn escaped<S: Serializer>(path: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown(path))
}

/// As [`escaped`], for a list of paths.
pub(crate) fn all_escaped<S: Serializer>(
    paths: &[Vec<u8>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| shown(path)))
}
