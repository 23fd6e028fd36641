//! The ignore files above a path, and the names of the ignore files that an implementation reads. What their
//! lines mean is in [`crate::ignore`].

use crate::bytes::ByteString;
use crate::ignore::{GITIGNORE, IgnoreFile, OWN_IGNORE_FILE};
use std::rc::Rc;

/// A kind of ignore file that an implementation reads.
#[derive(Clone)]
pub(super) struct IgnoreFileName {
    pub(super) name: ByteString,
    /// Whether it is the store's own kind.
    pub(super) is_own: bool,
}

/// The ignore files from the project's root down to one directory, innermost first.
pub(super) struct IgnoreChain {
    pub(super) directory: ByteString,
    pub(super) file: IgnoreFile,
    /// Whether it is of the store's own kind.
    pub(super) is_own: bool,
    pub(super) above: Option<Rc<IgnoreChain>>,
}

/// The ignore files that an implementation with these capabilities reads, in their order in each directory.
pub(super) fn names(has: &dyn Fn(&str) -> bool) -> Vec<IgnoreFileName> {
    let own = OWN_IGNORE_FILE.as_bytes();
    let names = [
        ("capture.gitignore", IgnoreFileName { name: GITIGNORE.into(), is_own: false }),
        ("capture.own_ignore_file", IgnoreFileName { name: own.into(), is_own: true }),
    ];
    let names = names.into_iter().filter(|(capability, _)| has(capability));
    names.map(|(_, name)| name).collect()
}

/// The files of a chain, innermost first.
pub(super) fn files_of(chain: &Option<Rc<IgnoreChain>>) -> impl Iterator<Item = &IgnoreChain> {
    std::iter::successors(chain.as_deref(), |file| file.above.as_deref())
}

/// The files of a chain, each with its directory, the root first, with or without those of the own kind.
pub(super) fn levels(chain: &Option<Rc<IgnoreChain>>, with_own: bool) -> Vec<(&[u8], &IgnoreFile)> {
    let counted = files_of(chain).filter(|file| with_own || !file.is_own);
    let mut levels: Vec<_> = counted.map(|file| (&file.directory[..], &file.file)).collect();
    levels.reverse();
    levels
}
