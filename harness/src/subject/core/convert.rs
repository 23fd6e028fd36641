//! Conversions between the core and the protocol that several modules need.

use herma_model::ByteString;
use herma_model::answer::{Answer, Remark, Stats};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(super) const DAY_SECONDS: u64 = 24 * 60 * 60;
pub(super) const HOUR_SECONDS: u64 = 60 * 60;

/// The answer to a request that reports no result.
pub(super) fn done<T>(_result: T) -> Answer {
    Answer::Done
}

pub(super) fn path(bytes: &ByteString) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

pub(super) fn bytes(bytes: &[u8]) -> ByteString {
    ByteString::from(bytes)
}

pub(super) fn paths(paths: &[Vec<u8>]) -> Vec<ByteString> {
    paths.iter().map(|path| bytes(path)).collect()
}

pub(super) fn remarks(remarks: Vec<herma_core::Remark>) -> Vec<Remark> {
    remarks
        .into_iter()
        .map(|remark| Remark { path: bytes(&remark.path), why: remark.why })
        .collect()
}

pub(super) fn stats(stats: &herma_core::Stats) -> Stats {
    Stats { files: stats.files, added: stats.added, removed: stats.removed }
}
